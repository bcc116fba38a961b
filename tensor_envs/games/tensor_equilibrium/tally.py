"""Five small numbers, one for each tile type (four for the operation cards), in one word of six bits each.

A number is 0..31, so the sixth bit is spare, and all five are compared at once: with the spare bits set, a subtraction
clears those of the numbers that are too small. "Flags" are tallies of 0 and 1.
"""

from __future__ import annotations

from collections.abc import Sequence

from tensor_envs.rules import Scalar, Value, has_bit, integer, word

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
    return sum(n << BITS * i for i, n in enumerate(numbers))


def every(count: int, slots: int = SLOTS) -> int:
    """The same count in every slot."""
    return pack([count] * slots)


def unpack(tally: int, size: int = SLOTS) -> list[int]:
    return [tally >> BITS * i & LOWEST for i in range(size)]


def one(slot: Scalar | int) -> Scalar:
    """1 in a slot, which may be computed; any word for what is no slot."""
    return word(1) << (slot * BITS & 31)


def number(tally: Scalar, slot: int) -> Scalar:
    return integer(tally >> BITS * slot & LOWEST)


def total(tally: Scalar) -> Scalar:
    """The sum of all, at most 63."""
    return integer(tally * ONES >> BITS * (SLOTS - 1) & LOWEST)


def not_less(tally: Scalar, other: Value) -> Scalar:
    """Flags of the numbers that are not less than those of another tally, which are 0..32."""
    return ((tally | SPARE) - other & SPARE) >> BITS - 1


def at_least(tally: Scalar, least: int) -> Scalar:
    """Flags of the numbers that are 0..32 or more."""
    return not_less(tally, least * ONES)


def has(flags: Scalar, slot: int) -> Scalar:
    return has_bit(flags, BITS * slot)


def squeeze(flags: Scalar) -> Scalar:
    """Flags -> bits 0..4."""
    return flags * SQUEEZE >> SQUEEZED & (1 << SLOTS) - 1


def rotate(tally: Scalar, slots: int) -> Scalar:
    """Slot i gets the number of slot (i + slots) % 5."""
    return (tally >> BITS * slots | tally << BITS * (SLOTS - slots)) & WHOLE
