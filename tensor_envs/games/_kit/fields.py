"""Fields of a state and entries of a dictionary: checks, and rules evaluated on plain numbers."""

from collections.abc import Mapping
from typing import Any

from tensor_envs._validate import nested
from tensor_envs.rules import GameState, scalar, unpack

Limits = tuple[tuple[int | None, ...], int, int]  # lengths of nested lists, least and greatest value


def checked(game: Mapping[str, Any], limits: Mapping[str, Limits]) -> dict[str, Any]:
    """Return the entries that `limits` names. TypeError or ValueError for other lengths or values."""
    return {name: nested(name, game[name], *allowed) for name, allowed in limits.items()}


def ended(terminated: bool) -> dict[str, bool]:
    """Return both flags of a game that has ended by its rules or goes on."""
    return {"terminated": terminated, "truncated": False}


def legal_actions(rules: Any, fields: dict[str, Any]) -> list[int]:
    """Return the actions that the rules allow, ascending; `fields` are the scalars that the mask depends on."""
    mask = [int(scalar(part).value) for part in rules.legal_action_mask(GameState(fields))]
    count = rules.spec.num_actions
    return [a for a in range(count) if mask[a]] if len(mask) == count else unpack(mask, count)
