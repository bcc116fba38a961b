"""Dictionaries, and names of cards, melds and actions, of gin rummy."""

from collections.abc import Collection
from functools import cache
from typing import Any

from tensor_envs._validate import instance, one_of, repeated, shown
from tensor_envs.games.gin_rummy.melds import CARDS, RANKS, RUNS, SUITS, value_of
from tensor_envs.games.gin_rummy.rules import DECK, HAND, MAX_MELDS, WALL_CARDS, GinRummy, HandPhase
from tensor_envs.rules import uint64
from tensor_envs.rules.plain import checked, ended, field_limits, legal_actions

RANK_NAMES = "A23456789TJQK"
SUIT_NAMES = "scdh"
WORDS = ("Draw upcard", "Draw stock", "Pass", "Knock")
# "discard the Td" and "lay AsAcAd"
SYNONYMS = ((r"(?i)\b(?:discard|lay(?:\s+(?:down|off))?)\s+(?:the\s+)?(?=\S)", ""),)
PHASES = tuple(phase.name.lower().replace("_", " ") for phase in HandPhase)
NUMBERS = ("upcards", "knock_card", "current_player")
# no symmetries but the identity: with suits exchanged, the same chance deals other cards


def card_name(card: int) -> str:
    """Return a card's rank and suit, such as "Td"; "" for no card (G1)."""
    return RANK_NAMES[card % RANKS] + SUIT_NAMES[card // RANKS] if card >= 0 else ""


CARD_NAMES = [card_name(card) for card in range(CARDS)]


def names_of(cards: int) -> list[str]:
    """Return the names of the cards of a set."""
    return [name for card, name in enumerate(CARD_NAMES) if cards >> card & 1]


@cache
def meld_cards() -> dict[str, int]:
    """Return the cards of each meld by its name, in the order of their numbers (G3)."""
    suits = range(SUITS)
    sets = [
        [RANKS * suit + rank for suit in suits if suit != missing] for rank in range(RANKS) for missing in (*suits, -1)
    ]
    runs = [
        [RANKS * suit + lowest + k for k in range(length)]
        for length in RUNS
        for suit in suits
        for lowest in range(RANKS + 1 - length)
    ]
    melds = [sum(1 << card for card in meld) for meld in sets + runs]
    return {"".join(names_of(cards)): cards for cards in melds}


def action_to_string(rules: GinRummy, action: int) -> str:
    """Return OpenSpiel's name of an action: "Td", "Draw upcard", "AsAcAd" (G3)."""
    return [*CARD_NAMES, *WORDS, *meld_cards()][action]


def to_dict(rules: GinRummy, s: dict[str, Any]) -> dict[str, Any]:
    """Return hands, melds and the table by the names of cards for a game's fields (G15)."""
    melds = [*meld_cards()]
    return {
        **{name: [names_of(cards) for cards in s[name]] for name in ("hands", "known")},
        **{name: card_name(s[name]) for name in ("upcard", "taken")},
        **{name: names_of(s[name]) for name in ("discards", "layoffs")},
        "laid": [[melds[meld] for meld in laid if meld >= 0] for laid in s["laid"]],
        "phase": PHASES[s["phase"]],
        "returned": s["returned"],
        **{name: s[name] for name in NUMBERS},
    }


def from_dict(rules: GinRummy, game: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a dictionary: the inverse of `to_dict`."""
    numbers = checked(game, field_limits(rules, *NUMBERS))
    instance("returned", game["returned"], bool)
    one_of("phase", game["phase"], PHASES)
    check_names("upcard and taken", [game["upcard"], game["taken"]], (*CARD_NAMES, ""), "cards such as 'Td', or ''")
    # Lists are checked first, since all that follows reads their names.
    for name in ("hands", "known", "laid"):
        instance(name, game[name], list)
        if len(game[name]) != 2:
            raise ValueError(f"{name} must have a list for each of two players, got {shown(game[name])}")
    for player in (0, 1):
        for name in ("hands", "known"):
            check_names(f"{name}[{player}]", game[name][player], CARD_NAMES, "cards such as 'Td'")
        wanted = f"at most {MAX_MELDS} melds such as 'AsAcAd'"
        check_names(f"laid[{player}]", game["laid"][player], meld_cards(), wanted, MAX_MELDS)
    for name in ("discards", "layoffs"):
        check_names(name, game[name], CARD_NAMES, "cards such as 'Td'")
    # Every card is in one place, and the stock has those that are nowhere else.
    laid = [name for own in game["laid"] for meld in own for name in names_of(meld_cards()[meld])]
    seen = [*game["hands"][0], *game["hands"][1], *game["discards"], *game["layoffs"], *laid]
    seen += [game["upcard"]] if game["upcard"] else []
    if twice := repeated(seen):
        raise ValueError(f"{twice[0]} must be in one place, got it in several")
    fields = numbers | fields_of(game) | {"stock": DECK - sum(1 << CARD_NAMES.index(card) for card in seen)}
    check(rules, fields)
    return fields | ended(fields["phase"] == HandPhase.OVER)


def check_names(name: str, values: Any, allowed: Collection[str], wanted: str, most: int = CARDS) -> None:
    """Raise TypeError or ValueError unless an entry is a list of allowed names."""
    instance(name, values, list)
    for value in values:
        instance(f"an entry of {name}", value, str)
    if len(values) > most or not {*values} <= {*allowed}:
        raise ValueError(f"{name} must be {wanted}, got {shown(values)}")


def fields_of(game: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a dictionary but for numbers and the stock; hidden cards are left out."""

    def cards(names: list[str]) -> int:
        return sum(1 << CARD_NAMES.index(name) for name in {*names} & {*CARD_NAMES})

    melds = [*meld_cards()]
    return {
        **{name: [*map(cards, game[name])] for name in ("hands", "known")},
        **{name: cards(game[name]) for name in ("discards", "layoffs")},
        **{name: CARD_NAMES.index(game[name]) if game[name] else -1 for name in ("upcard", "taken")},
        "laid": [[*map(melds.index, own)] + [-1] * (MAX_MELDS - len(own)) for own in game["laid"]],
        "returned": game["returned"],
        "phase": PHASES.index(game["phase"]),
    }


def knocker_of(phase: int, player: int) -> int:
    """Return the player who has knocked, after a knock."""
    return player if phase in (HandPhase.KNOCK, HandPhase.MELD) else 1 - player


def check(rules: GinRummy, s: dict[str, Any]) -> None:
    """Raise ValueError unless a position agrees with its phase (G2, G4 to G10)."""
    phase = s["phase"]
    player = s["current_player"]
    knocker = knocker_of(phase, player)
    # A hand has ten cards with those that were laid, and one more before a discard.
    melds = [*meld_cards().values()]
    laid = [sum(melds[meld] for meld in own if meld >= 0) for own in s["laid"]]
    sizes = [(cards | laid[p]).bit_count() for p, cards in enumerate(s["hands"])]
    sizes[player] += s["layoffs"].bit_count()
    wanted = [HAND, HAND]
    wanted[player] += phase in (HandPhase.DISCARD, HandPhase.KNOCK)
    # The stock is whole at the start, and at the wall it has the cards that are never drawn.
    starts = phase <= HandPhase.FIRST_STOCK
    whole = CARDS - 2 * HAND - 1
    least = whole if starts else WALL_CARDS + (phase == HandPhase.DRAW)
    most = WALL_CARDS if phase == HandPhase.WALL else whole
    # There is an upcard unless the player to move has drawn, or somebody has knocked.
    has_upcard = phase < HandPhase.DISCARD or phase == HandPhase.WALL
    fits = phase == HandPhase.OVER or has_upcard == (s["upcard"] >= 0)
    takes = phase == HandPhase.DISCARD and s["known"][player] >> max(s["taken"], 0) & 1
    # Cards are laid off only on melds, and these have left little deadwood.
    has_laid = laid[knocker] > 0 and phase >= HandPhase.LAYOFF
    fields = s | {"stock": s["stock"].bit_count()}
    for name, fact, holds in (
        ("hands", f"have {wanted[0]} and {wanted[1]} cards with melds and layoffs", sizes == wanted),
        ("known", "be cards in hand", not any(known & ~s["hands"][p] for p, known in enumerate(s["known"]))),
        ("stock", f"have {least} to {most} cards", least <= fields["stock"] <= most),
        ("current_player", "be the one whose turn it is", not starts or player == (phase == HandPhase.SECOND_UPCARD)),
        ("upcard", f"be {'a card' if has_upcard else 'empty'}", fits),
        ("taken", "be empty or a known card of the player", s["taken"] < 0 or takes),
        ("laid", "be empty before a knock", phase >= HandPhase.MELD or not any(laid)),
        ("laid", "be empty for the opponent", phase >= HandPhase.ANSWER or not laid[1 - knocker]),
        ("laid", "have melds", has_laid or phase not in (HandPhase.LAYOFF, HandPhase.ANSWER)),
        ("layoffs", "be empty before melds are laid", has_laid or not s["layoffs"]),
        ("knock_card", f"be {rules.knock_card}", rules.oklahoma or s["knock_card"] == rules.knock_card),
        ("hands", "have little deadwood", not has_laid or total(s["hands"][knocker]) <= s["knock_card"]),
        ("hands", "allow a knock", phase not in (HandPhase.KNOCK, HandPhase.MELD) or legal_actions(rules, s)),
    ):
        if not holds:
            raise ValueError(f"{name} must {fact} in the phase {PHASES[phase]!r}, got {shown(fields[name])}")


def total(cards: int) -> int:
    """Return the sum of the values of cards."""
    return int(value_of(uint64(cards)).value)
