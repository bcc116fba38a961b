"""What follows from a player's tokens, and the order of players."""

from __future__ import annotations

from collections.abc import Sequence

from tensor_envs.games.tensor_equilibrium import tally
from tensor_envs.games.tensor_equilibrium.data import RuleFields
from tensor_envs.rules import Scalar, integer, maximum, where


def wrapped(rules: RuleFields, index: Scalar) -> Scalar:
    """0..2P-1 -> modulo P."""
    if rules.players in (2, 4):
        return index & rules.players - 1
    return where(index < rules.players, index, index - rules.players)


def by_tier(rules: RuleFields, level: Scalar, values: Sequence[int]) -> Scalar:
    """What a player's highest token gives (F13, G7): the value of the last tier that it has reached."""
    found = integer(values[0])
    for least, value in zip(rules.tier_level[1:], values[1:], strict=True):
        steps = least - rules.level_min
        if steps <= rules.level_max - rules.level_min:
            found = where(tally.at_least(level, max(steps, 0)) != 0, value, found)
    return found


def storage_space(rules: RuleFields, level: Scalar, storage: Scalar) -> Scalar:
    """Tiles that still fit into storage (F16, G16)."""
    return maximum(by_tier(rules, level, rules.tier_storage) - tally.total(storage), 0)


def at_top(rules: RuleFields, level: Scalar) -> Scalar:
    """Flags of the tokens at the top of the track (G20)."""
    return tally.at_least(level, rules.level_max - rules.level_min)
