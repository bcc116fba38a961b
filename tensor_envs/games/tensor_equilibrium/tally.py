"""Tallies: five small counts, one for each tile type (four for operation cards), packed into six bits each of a word.

A count is in 0..31, so its sixth bit is spare. With the spare bits set, one subtraction compares all five counts: it
clears the spare bits of those that are too small. A tally of 0 and 1 is called *flags*.
"""

from __future__ import annotations

from collections.abc import Sequence

from tensor_envs.rules import Scalar, Value, has_bit, int32, uint32

BITS = 6
SLOTS = 5
LOWEST = (1 << BITS) - 1
ONES = sum(1 << BITS * i for i in range(SLOTS))  # 1 in every slot
SPARE = ONES << BITS - 1
WHOLE = ONES * LOWEST
# Multiplying by SQUEEZE brings bit 6 i to bit SQUEEZED + i; no two products meet.
SQUEEZED = 20
SQUEEZE = sum(1 << SQUEEZED - (BITS - 1) * i for i in range(SLOTS))


def pack(numbers: Sequence[int]) -> int:
    """Pack counts into a tally."""
    return sum(n << BITS * i for i, n in enumerate(numbers))


def every(count: int, slots: int = SLOTS) -> int:
    """Return a tally with the same count in every slot."""
    return pack([count] * slots)


def unpack(tally: int, size: int = SLOTS) -> list[int]:
    """Return the counts of a tally."""
    return [tally >> BITS * i & LOWEST for i in range(size)]


def one(slot: Scalar | int) -> Scalar:
    """Return a tally of 1 in one slot, which may be computed; any word for a number that is no slot."""
    return uint32(1) << (slot * BITS & 31)


def number(tally: Scalar, slot: int) -> Scalar:
    """Return the count of a slot."""
    return int32(tally >> BITS * slot & LOWEST)


def total(tally: Scalar) -> Scalar:
    """Return the sum of all counts, at most 63."""
    return int32(tally * ONES >> BITS * (SLOTS - 1) & LOWEST)


def not_less(tally: Scalar, other: Value) -> Scalar:
    """Return the flags of the counts that are not less than those of another tally, which are in 0..32."""
    return ((tally | SPARE) - other & SPARE) >> BITS - 1


def at_least(tally: Scalar, count: int) -> Scalar:
    """Return the flags of the counts that are at least a number in 0..32."""
    return not_less(tally, count * ONES)


def has(flags: Scalar, slot: int) -> Scalar:
    """Return whether a slot's flag is set."""
    return has_bit(flags, BITS * slot)


def squeeze(flags: Scalar) -> Scalar:
    """Return flags as bits 0 to 4."""
    return flags * SQUEEZE >> SQUEEZED & (1 << SLOTS) - 1


def rotate(tally: Scalar, slots: int) -> Scalar:
    """Return the tally in which slot i has the count of slot (i + slots) % 5."""
    return (tally >> BITS * slots | tally << BITS * (SLOTS - slots)) & WHOLE
