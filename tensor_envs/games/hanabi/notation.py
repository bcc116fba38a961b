"""Dictionaries, and names of cards, hints and actions, of Hanabi."""

from collections.abc import Sequence
from typing import Any

from tensor_envs._validate import instance, one_of, shown
from tensor_envs.games.hanabi.rules import Hanabi
from tensor_envs.rules.plain import checked, ended, field_limits

COLORS = "RYGWB"
RANKS = "12345"
# "play card 0", "hint player +1 color R" and "colour red"
SYNONYMS = (
    (r"(?i)\b(play|discard)\s+(?:(?:my|the)\s+)?card\s+(?=\d)", r"\1 "),
    (r"(?i)\b(?:hint|clue)(?=\s+player\b)", "Reveal"),
    (r"(?i)\bcolou?r\s+([rygwb])(?:ed|ellow|reen|hite|lue)?\b", r"color \1"),
)
UNKNOWN = "X"  # a colour or a rank
NUMBERS = ("fireworks", "information_tokens", "life_tokens", "turns", "current_player", "last_action")
FLAGS = ("scored", "regained")
# no symmetries but the identity: with colours exchanged, the same chance deals other cards


def to_dict(rules: Hanabi, s: dict[str, Any]) -> dict[str, Any]:
    """Return the hands with the hints about each card, the table and the last action for a game's fields (H13)."""
    names = [*card_names(rules), ""]
    hands = [zip(*rows, strict=True) for rows in zip(s["hands"], s["hints"], strict=True)]
    return {
        "hands": [[f"{names[card]} || {hint_text(rules, hint)}" for card, hint in hand if hint] for hand in hands],
        "discards": [names[card] for copy, card in enumerate(sorted_deck(rules)) if s["discards"] >> copy & 1],
        **{name: s[name] for name in (*NUMBERS, *FLAGS)},
        "last_card": names[s["last_card"]],
    }


def from_dict(rules: Hanabi, game: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a dictionary: the inverse of `to_dict`."""
    fields = checked(game, field_limits(rules, *NUMBERS))
    names = [*card_names(rules), ""]
    # Types come first, since the counts below read the cards.
    for name in FLAGS:
        instance(name, game[name], bool)
    for cards in (game["discards"], game["hands"], *game["hands"]):
        instance("hands, discards and each hand", cards, list)
    hands = [[card_and_hint(rules, text) for text in hand] for hand in game["hands"]]
    lengths = [*map(len, hands)]
    if len(hands) != rules.players or not {*lengths} <= {rules.size - 1, rules.size}:
        raise ValueError(f"hands must be {rules.players} lists of {rules.size} cards or one less, got {lengths}")
    discards = [names.index(one_of("an entry of discards", name, (*names[:-1],))) for name in game["discards"]]
    played = [card for card in range(rules.cards) if card % rules.ranks < fields["fireworks"][card // rules.ranks]]
    # Every copy is in a hand, played, discarded or in the deck.
    elsewhere = [*(card for hand in hands for card, _ in hand), *played, *discards]
    deck = [sorted_deck(rules).count(card) - elsewhere.count(card) for card in range(rules.cards)]
    if min(deck) < 0:
        raise ValueError(f"hands, fireworks and discards have too many cards {names[deck.index(min(deck))]}")
    # A hand is short only after the last card was drawn, or after an action that has ended the game.
    over = is_over(rules, game)
    if any(deck) and not over and (fields["turns"] < rules.players or min(lengths) < rules.size):
        raise ValueError(f"hands must have {rules.size} cards and turns be {rules.players} while the deck has cards")
    one_of("last_card", game["last_card"], (*names,))
    check_last_action(rules, game)
    # The fields have an entry for every place of a hand.
    hands = [hand + [(rules.cards, 0)] * (rules.size - len(hand)) for hand in hands]
    return {
        **fields,
        **{name: game[name] for name in FLAGS},
        "hands": [[card for card, _ in hand] for hand in hands],
        "hints": [[hint for _, hint in hand] for hand in hands],
        "deck": copies_of(rules, deck),
        "discards": copies_of(rules, [discards.count(card) for card in range(rules.cards)]),
        "last_card": names.index(game["last_card"]),
        **ended(over),
    }


def check_last_action(rules: Hanabi, game: dict[str, Any]) -> None:
    """Raise ValueError unless the card and the score of the last action agree with it and with the table (H4, H5)."""
    action = game["last_action"]
    card = game["last_card"]
    plays = rules.size <= action < 2 * rules.size
    has_card = 0 <= action < 2 * rules.size
    if (card != "") != has_card:
        wanted = "that of the last discard or play" if has_card else '"" without one'
        raise ValueError(f"last_card must be {wanted}, got {shown(card)} with last_action {action}")
    if game["scored"] and not plays:
        raise ValueError(f"scored must be False unless the last action is a play, got True with last_action {action}")
    if game["scored"] and game["fireworks"][COLORS.index(card[0])] != int(card[1]):
        raise ValueError(f"scored must be False unless last_card is the last of its fireworks, got True with {card}")
    if has_card and not game["scored"] and card not in game["discards"]:
        raise ValueError(f"last_card must be among discards unless it has scored, got {shown(card)}")
    if game["regained"] and not (game["scored"] and int(card[1]) == rules.ranks):
        raise ValueError(
            f"regained must be False unless a card of rank {rules.ranks} has scored, got True with last_card "
            f"{shown(card)} and scored {game['scored']}"
        )


def is_over(rules: Hanabi, game: dict[str, Any]) -> bool:
    """Return whether a game has ended by H8 or H9."""
    return 0 in (game["life_tokens"], game["turns"]) or sum(game["fireworks"]) == rules.cards


def sorted_deck(rules: Hanabi) -> list[int]:
    """Return the card of each copy."""
    return [card for card in range(rules.cards) for _ in range(rules.copies[card % rules.ranks])]


def copies_of(rules: Hanabi, counts: Sequence[int]) -> int:
    """Return the set of copies with so many copies of each card."""
    deck = sorted_deck(rules)
    return sum((1 << count) - 1 << deck.index(card) for card, count in enumerate(counts))


def letters_of(rules: Hanabi) -> str:
    """Return the names of all colours and then of all ranks, which are the lowest bits of a hint."""
    return COLORS[: rules.colors] + RANKS[: rules.ranks]


def card_names(rules: Hanabi) -> list[str]:
    """Return the names of all different cards by their numbers: "R1", "R2" (H1)."""
    return [color + rank for color in COLORS[: rules.colors] for rank in RANKS[: rules.ranks]]


def hint_text(rules: Hanabi, hint: int) -> str:
    """Return what hints have told of a card, and the colours and ranks that they allow: "X2|RGWB2" (H13)."""
    colors = "".join(name for k, name in enumerate(COLORS[: rules.colors]) if hint >> k & 1)
    ranks = "".join(name for k, name in enumerate(RANKS[: rules.ranks]) if hint >> rules.colors + k & 1)
    told = hint >> rules.colors + rules.ranks
    return f"{colors if told & 1 else UNKNOWN}{ranks if told & 2 else UNKNOWN}|{colors}{ranks}"


def card_and_hint(rules: Hanabi, text: Any) -> tuple[int, int]:
    """Return a card in a hand and the hint about it. TypeError or ValueError unless the hint allows the card."""
    instance("a card in a hand", text, str)
    name, _, about = text.partition(" || ")
    told, _, possible = about.partition("|")
    letters = letters_of(rules)
    hint = sum(1 << k for k, letter in enumerate(letters) if letter in possible)
    hint |= sum(1 << len(letters) + k for k, letter in enumerate(told) if letter != UNKNOWN)
    names = card_names(rules)
    if name not in names or hint_text(rules, hint) != about or not {*name} <= {*possible}:
        raise ValueError(f"a card in a hand must be like 'R1 || XX|RYGWB12345', which allows R1, got {shown(text)}")
    return names.index(name), hint


def action_to_string(rules: Hanabi, action: int) -> str:
    """Return OpenSpiel's name of an action, such as "Play 0" or "Reveal player +1 color R" (H3)."""
    if action < 2 * rules.size:
        return f"{'Play' if action >= rules.size else 'Discard'} {action % rules.size}"
    turns, letter = hint_of(rules, action)
    return f"Reveal player +{turns} {'color' if letter in COLORS else 'rank'} {letter}"


def hint_of(rules: Hanabi, action: int) -> tuple[int, str]:
    """Return the turns from a hint's giver to its receiver, and the colour or rank that it names."""
    kinds = {"color": COLORS[: rules.colors], "rank": RANKS[: rules.ranks]}
    kind = "color" if action in rules.actions["color"] else "rank"
    turns, value = divmod(action - rules.actions[kind].start, len(kinds[kind]))
    return turns + 1, kinds[kind][value]
