"""Dictionaries and action names of Leduc poker."""

from collections.abc import Sequence
from typing import Any

from tensor_envs._validate import nested
from tensor_envs.games._kit import poker
from tensor_envs.games.leduc_poker.rules import CALL, FOLD, RAISE, ROUND_BITS, LeducPoker
from tensor_envs.rules.plain import checked, field_limits

NAMES = ("fold", "call", "raise")
# no symmetries but the identity: an exchange of suits maps deals, which are no actions


def to_dict(rules: LeducPoker, s: dict[str, Any]) -> dict[str, Any]:
    """Return {"cards": [of player 0, of player 1], "public": card, "history": actions in order} (L7)."""
    pairs = [s["history"] >> bit & 3 for bit in range(0, 2 * ROUND_BITS, 2)]
    history = [(CALL, RAISE)[pair - 1] for pair in pairs if pair]
    folded = [FOLD] * (s["ply"] - len(history))  # the field `history` has no bit for it
    return {"cards": list(s["cards"]), "public": s["public"], "history": history + folded}


def from_dict(rules: LeducPoker, game: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a dictionary by playing its actions: the inverse of `to_dict`."""
    fields = checked(game, field_limits(rules, "cards", "public"))
    history = nested("history", game["history"], (None,), 0, len(NAMES) - 1)
    cards = [*fields["cards"], fields["public"]]
    if len({*cards}) < len(cards):
        raise ValueError(f"cards and public must be three different cards, got {cards}")
    return poker.betting(rules, history) | fields


def action_to_string(rules: LeducPoker, action: int) -> str:
    """Return "fold", "call" or "raise" (L3)."""
    return NAMES[action]


def spellings(rules: LeducPoker, s: dict[str, Any], legal: Sequence[int]) -> dict[str, int]:
    """Return more names of legal actions: "check" and "bet" where there is nothing to call."""
    return poker.spellings({action: NAMES[action] for action in legal}, s["bets"])
