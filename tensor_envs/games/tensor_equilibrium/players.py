"""Helpers for arrays with an entry a player, and for what follows from a player's tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import or_
from typing import Any

from tinygrad import dtypes

from tensor_envs.core.spec import Scalar
from tensor_envs.games.tensor_equilibrium import tally
from tensor_envs.games.tensor_equilibrium.data import RuleFields

SEAT_BITS = 2  # of a seat in a word of seats


def change(array: Sequence[Scalar], seat: Scalar, to: Callable[[Scalar], Scalar]) -> list[Scalar]:
    """The array with the entry of a computed seat changed."""
    return [seat.eq(p).where(to(old), old) for p, old in enumerate(array)]


def seat_at(order: Scalar, position: Scalar) -> Scalar:
    """A seat of a word of seats, two bits each."""
    return order >> position * SEAT_BITS & (1 << SEAT_BITS) - 1


def has_bit(bits: Scalar, index: Scalar | int) -> Scalar:
    return (bits >> index & 1).ne(0)


def wrapped(rules: RuleFields, index: Scalar) -> Scalar:
    """0..2P-1 -> modulo P."""
    if rules.players == 2:
        return index & 1
    if rules.players == 4:
        return index & 3
    return (index < rules.players).where(index, index - rules.players)


def bits_of(flags: Sequence[Scalar]) -> Scalar:
    """Booleans -> bits, int32."""
    return reduce(or_, [flag.cast(dtypes.int32) << i for i, flag in enumerate(flags)])


def by_tier(rules: RuleFields, level: Any, values: Sequence[int]) -> Any:
    """What a player's highest token gives (F13, G7): the value of the last tier that it has reached. Tensors too."""
    found = level.cast(dtypes.int32).const_like(values[0])
    for least, value in zip(rules.tier_level[1:], values[1:], strict=True):
        steps = least - rules.level_min
        if steps <= rules.level_max - rules.level_min:
            reached = tally.at_least(level, max(steps, 0)).ne(0)
            found = reached.where(value, found)
    return found


def storage_space(rules: RuleFields, level: Scalar, storage: Scalar) -> Scalar:
    """Tiles that still fit into storage (F16, G16)."""
    left = by_tier(rules, level, rules.tier_storage) - tally.total(storage)
    return (left < 0).where(0, left)


def at_top(rules: RuleFields, level: Scalar) -> Scalar:
    """Flags of the tokens at the top of the track (G20)."""
    return tally.at_least(level, rules.level_max - rules.level_min)
