"""Limits that follow from a player's tokens, and arithmetic modulo the number of players."""

from __future__ import annotations

from collections.abc import Sequence

from tensor_envs.games.tensor_equilibrium import tally
from tensor_envs.games.tensor_equilibrium.data import RuleFields
from tensor_envs.rules import Scalar, int32, maximum, where


def wrapped(rules: RuleFields, index: Scalar) -> Scalar:
    """Return an index in 0..2P-1 modulo P."""
    if rules.players in (2, 4):
        return index & rules.players - 1
    return where(index < rules.players, index, index - rules.players)


def by_tier(rules: RuleFields, level: Scalar, values: Sequence[int]) -> Scalar:
    """Return the value of the last tier that the player's highest token has reached (F13, G7)."""
    reached = int32(values[0])
    for tier_level, value in zip(rules.tier_level[1:], values[1:], strict=True):
        steps = tier_level - rules.level_min
        if steps <= rules.level_max - rules.level_min:
            reached = where(tally.at_least(level, max(steps, 0)) != 0, value, reached)
    return reached


def storage_space(rules: RuleFields, level: Scalar, storage: Scalar) -> Scalar:
    """Return the number of tiles that still fit into storage (F16, G16)."""
    return maximum(by_tier(rules, level, rules.tier_storage) - tally.total(storage), 0)


def at_top(rules: RuleFields, level: Scalar) -> Scalar:
    """Return the flags of the tokens at the top of the track (G20)."""
    return tally.at_least(level, rules.level_max - rules.level_min)
