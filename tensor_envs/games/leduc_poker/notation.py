"""Dictionaries and action names of Leduc poker."""

from typing import Any

from tensor_envs._validate import nested
from tensor_envs.games.leduc_poker.rules import ANTE, CALL, CARDS, FOLD, RAISE, ROUND_BITS, LeducPoker
from tensor_envs.rules import int32, scalar
from tensor_envs.rules.chance import NoChance
from tensor_envs.rules.plain import ended, legal_actions, state_of, values_of

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
    cards = nested("cards", game["cards"], (2,), 0, CARDS - 1)
    public = nested("public", game["public"], (), 0, CARDS - 1)
    history = nested("history", game["history"], (None,), 0, len(NAMES) - 1)
    if len({*cards, public}) != 3:
        raise ValueError(f"cards and public must be three different cards, got {[*cards, public]}")
    s = state_of(rules, {"cards": cards, "public": public, "bets": [ANTE] * 2})
    over = False
    for ply, action in enumerate(history):
        legal = [] if over else legal_actions(rules, s.asdict())
        if action not in legal:
            raise ValueError(f"history[{ply}] must be one of {legal}, got {action}")
        outcome = rules.step(s, int32(action), NoChance())
        s = outcome.state.replace(ply=int32(ply + 1))
        over = bool(scalar(outcome.terminated).value)
    return values_of(s.asdict()) | ended(over)


def action_to_string(rules: LeducPoker, action: int) -> str:
    """Return "fold", "call" or "raise" (L3)."""
    return NAMES[action]
