"""Dictionaries, action names and the written notation of Shed."""

import re
from collections.abc import Sequence
from typing import Any

from tensor_envs._validate import integer, nested
from tensor_envs.games.shed.rules import MAX_CARDS, Shed
from tensor_envs.rules import WORD_BITS, pack, unpack
from tensor_envs.rules.plain import ended

PICK_UP = "pick up"
SYNONYMS = ((r"(?i)\b\d+(?=\s+cards?\b)", ""),)  # a number of cards, which is no card
# no symmetries but the identity: all cards differ in rank


def cards_of(word: int) -> list[int]:
    """Return the cards of a set, ascending."""
    return [bit + 1 for bit in unpack([word], WORD_BITS)]


def word_of(cards: Sequence[int]) -> int:
    """Return a set of cards as a bit word."""
    return pack((card - 1 for card in cards), WORD_BITS)[0]


def to_dict(rules: Shed, s: dict[str, Any]) -> dict[str, Any]:
    """Convert the fields of a game to the dictionary of G4: hands by player, pile, talon and current_player."""
    player = s["current_player"]
    hands = [cards_of(s["own"]), cards_of(s["other"])]
    return {
        "hands": hands if player == 0 else hands[::-1],
        "pile": cards_of(s["pile"]),
        "talon": cards_of(rules.all_cards & ~(s["own"] | s["other"] | s["pile"])),
        "current_player": player,
    }


def from_dict(rules: Shed, game: dict[str, Any]) -> dict[str, Any]:
    """Convert a dictionary to the fields of a game, which is over if the other player holds all cards (F4, F6).

    Raises:
        ValueError, TypeError: an entry of another type or range, or cards that are missing or stand twice.
    """
    player = integer("current_player", game["current_player"], 0, 1)
    places = nested("hands", game["hands"], (2, None), 1, rules.cards)
    places += [nested(name, game[name], (None,), 1, rules.cards) for name in ("pile", "talon")]
    if sorted(card for place in places for card in place) != list(range(1, rules.cards + 1)):
        raise ValueError(f"hands, pile and talon must hold each of the cards 1..{rules.cards} once, got {places}")
    words = [word_of(place) for place in places]
    own = words[player]
    other = words[1 - player]
    fields = {"own": own, "other": other, "pile": words[2], "current_player": player}
    return fields | ended(other == rules.all_cards)


def action_to_string(rules: Shed, action: int) -> str:
    """Return a card's number, or "pick up" (G2)."""
    return PICK_UP if action == rules.cards else str(action + 1)


# *** written positions: hands with a box between, "+" after the hand of the player who has just moved ***

POSITION = re.compile(r"\(?\s*(?P<left>[^\[□]*?)\s*(?:\[(?P<pile>[^\]]*)\]|□)\s*(?P<right>[^\])]*?)\s*\)?\s*")


def _hand(text: str) -> list[int]:
    """Return the cards of "10-7-2", or none for "-"."""
    if text in ("", "-"):
        return []
    if not re.fullmatch(r"\d+(-\d+)*", text):
        raise ValueError(f"a hand must be cards joined by hyphens, such as 7-2, or - for none; got {text!r}")
    return sorted(int(card) for card in text.split("-"))


def from_string(rules: Shed, text: str) -> dict[str, Any]:
    """Return the dictionary of a written position, see `parse`."""
    return parse(text, rules.cards)


def parse(text: str, cards: int | None = None) -> dict[str, Any]:
    """Parse a written position such as "7-2+ [] 6-3".

    The left hand is player 0's. The box between the hands holds the pile. "+" follows the hand of the player who has
    just moved.

    Args:
        text: the position.
        cards: the number of cards; default: the highest card in the text. Cards that are not named lie in the talon.

    Returns:
        A state dictionary (G4).

    Raises:
        ValueError: text that is no position.

    Examples:
        >>> parse("7+ [4] 6-3")
        {'hands': [[7], [3, 6]], 'pile': [4], 'talon': [1, 2, 5], 'current_player': 1}
    """
    plain = text.replace("−", "-").replace("^+", "+")
    match = POSITION.fullmatch(plain)
    if match is None:
        raise ValueError(f'a position is written "7-2+ [] 6-3", with a box between the hands; got {text!r}')
    sides = [match["left"], match["right"]]
    plus = [match[side].endswith("+") for side in ("left", "right")]
    if sum(plus) != 1:
        raise ValueError(f"exactly one hand must end in +, that of the player who has just moved; got {text!r}")
    hands = [_hand(side.removesuffix("+").strip()) for side in sides]
    pile = _hand((match["pile"] or "").strip())
    named = sorted([*hands[0], *hands[1], *pile])
    count = max(named, default=1) if cards is None else cards
    if len(set(named)) < len(named) or not all(1 <= card <= count for card in named) or count > MAX_CARDS:
        raise ValueError(
            f"the cards must be different and in 1..{min(count, MAX_CARDS)}, got {', '.join(map(str, named))}"
        )
    talon = [card for card in range(1, count + 1) if card not in named]
    return {"hands": hands, "pile": pile, "talon": talon, "current_player": int(plus[0])}


def write(game: dict[str, Any]) -> str:
    """Return the written position of a state dictionary, highest cards first; `parse` reads it.

    Examples:
        >>> write(parse("2-7+ [] 6-3"))
        '7-2+ [] 6-3'
    """
    hands = ["-".join(map(str, sorted(hand, reverse=True))) or "-" for hand in game["hands"]]
    hands[1 - game["current_player"]] += "+"
    return f"{hands[0]} [{'-'.join(map(str, sorted(game['pile'], reverse=True)))}] {hands[1]}"
