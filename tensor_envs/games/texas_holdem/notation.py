"""Dictionaries, and names of cards and actions, of Texas hold'em."""

from collections.abc import Sequence
from typing import Any

from tensor_envs._validate import nested
from tensor_envs.games._kit import poker
from tensor_envs.games.texas_holdem.hands import RANKS
from tensor_envs.games.texas_holdem.rules import RAISE, TexasHoldem
from tensor_envs.rules.plain import values_of

RANK_NAMES = "23456789TJQKA"
SUIT_NAMES = "cdhs"
# no symmetries but the identity: an exchange of suits maps deals, which are no actions


def to_dict(rules: TexasHoldem, s: dict[str, Any]) -> dict[str, Any]:
    """Return {"hands": of each player, "board": all its cards, "history": actions in order} (T12)."""
    history = [action - 1 for action in s["history"] if action]
    return {"hands": [list(hand) for hand in s["hands"]], "board": list(s.get("board", [])), "history": history}


def from_dict(rules: TexasHoldem, game: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a dictionary by playing its actions: the inverse of `to_dict`."""
    hands = nested("hands", game["hands"], (2, rules.hole_cards), 0, rules.deck - 1)
    board = nested("board", game["board"], (rules.board_cards,), 0, rules.deck - 1)
    history = nested("history", game["history"], (None,), 0, rules.num_actions - 1)
    if len({*hands[0], *hands[1], *board}) < 2 * rules.hole_cards + rules.board_cards:
        raise ValueError(f"hands and board must be different cards, got {hands} and {board}")
    first, second, *streets = rules.grouped([*hands[0], *hands[1], *board], (rules.hole_cards,) * 2 + rules.streets)
    cards = values_of({"hands": [first, second], **rules.board_field(streets)})
    return poker.betting(rules, history) | cards


def action_to_string(rules: TexasHoldem, action: int) -> str:
    """Return "fold", "call", "raise 50%" of the pot, "all-in", or "raise" with a limit (T3, T4)."""
    raises = ["raise"] if rules.limit else [*(f"raise {percent}%" for percent in rules.raises), "all-in"]
    return ["fold", "call", *raises][action]


def spellings(rules: TexasHoldem, s: dict[str, Any], legal: Sequence[int]) -> dict[str, int]:
    """Return more names of legal actions: "check", "bet 50%", "all in", "raise pot", and "raise to 6" as in texts."""
    names = {action: action_to_string(rules, action) for action in legal}
    history = [action - 1 for action in s["history"] if action]
    chips = {action: poker.betting(rules, [*history, action])["bets"][s["current_player"]] for action in legal}
    # raises to the same number of chips, such as two that are cut to all-in, share no such name
    totals = [chips[action] for action in legal if action >= RAISE]
    amounts = {f"raise to {chips[a]}": a for a in legal if a >= RAISE and totals.count(chips[a]) == 1}
    return poker.spellings(names, s["bets"]) | amounts


def card_name(rules: TexasHoldem, card: int) -> str:
    """Return a card's rank and suit, such as "Td" (T1)."""
    return RANK_NAMES[RANKS - rules.ranks + card // rules.suits] + SUIT_NAMES[card % rules.suits]
