"""Dictionaries and action names of liar's dice."""

from typing import Any

from tensor_envs._validate import nested
from tensor_envs.games.liars_dice.rules import LiarsDice
from tensor_envs.rules import pack, unpack
from tensor_envs.rules.plain import ended

# no symmetries but the identity: faces differ in rank, and the players in their turns


def to_dict(rules: LiarsDice, s: dict[str, Any]) -> dict[str, Any]:
    """Return {"dice": ascending faces of each player, "history": actions in order} for the fields of a game (L6)."""
    dice = [[die + 1 for die in own] for own in s["dice"]]
    return {"dice": dice, "history": unpack(s["bids"], rules.bids + 1)}


def from_dict(rules: LiarsDice, game: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a dictionary: the inverse of `to_dict`."""
    dice = nested("dice", game["dice"], (rules.players, rules.dice), 1, rules.sides)
    history = nested("history", game["history"], (None,), 0, rules.bids)
    if history != sorted(set(history)):
        raise ValueError(f"history must ascend, got {history}")
    if history == [rules.bids]:
        raise ValueError("history must have a bid before the call")
    return {
        "dice": [[die - 1 for die in sorted(own)] for own in dice],
        "bid": max((action for action in history if action < rules.bids), default=-1),
        "bids": pack(history, rules.bids + 1),
        "current_player": len(history) % rules.players,
        "ply": len(history),
        **ended(rules.bids in history),
    }


def action_to_string(rules: LiarsDice, action: int) -> str:
    """Return the number of dice and the face of a bid, "3-5", or "liar" (L8)."""
    quantity, face = divmod(action, rules.sides)
    return "liar" if action == rules.bids else f"{quantity + 1}-{face + 1}"
