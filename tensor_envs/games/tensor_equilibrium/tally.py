"""Five small numbers, one for each tile type (four for the operation cards), in one 32-bit word of six bits each.

A number is 0..31, so the sixth bit is spare, and all five are compared at once: with the spare bits set, a subtraction
clears those of the numbers that are too small. "Flags" are tallies of 0 and 1. Everything works alike on uint32 scalars
of a kernel, uint32 Tensors and, for tables, Python ints.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tinygrad import dtypes

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


def unpack(word: int, size: int = SLOTS) -> list[int]:
    return [word >> BITS * i & LOWEST for i in range(size)]


def one(slot: Any) -> Any:
    """1 in a computed slot; any word for what is no slot."""
    amount = (slot * BITS & 31).cast(dtypes.uint32)
    return amount.const_like(1) << amount


def number(word: Any, slot: int) -> Any:
    """A number, int32."""
    return (word >> BITS * slot & LOWEST).cast(dtypes.int32)


def total(word: Any) -> Any:
    """The sum of all, at most 63, int32."""
    return (word * ONES >> BITS * (SLOTS - 1) & LOWEST).cast(dtypes.int32)


def at_least(word: Any, least: int) -> Any:
    """Flags of the numbers that are 0..32 or more."""
    return ((word | SPARE) - least * ONES & SPARE) >> BITS - 1


def squeeze(flags: Any) -> Any:
    """Flags -> bits 0..4."""
    return flags * SQUEEZE >> SQUEEZED & (1 << SLOTS) - 1


def rotate(word: Any, slots: int) -> Any:
    """Slot i gets the number of slot (i + slots) % 5."""
    return (word >> BITS * slots | word << BITS * (SLOTS - slots)) & WHOLE
