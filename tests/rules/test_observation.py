"""Observations in parts: their entries in plain numbers, and invalid parts."""

from __future__ import annotations

from typing import Any

import pytest

from tensor_envs.rules import (
    MemoryArray,
    bits,
    constant,
    digits,
    entries,
    float32,
    int32,
    number,
    one_hot,
    uint32,
    uint64,
)


def test_sets() -> None:
    assert entries([bits(uint32(0b1011), 5)]) == [1, 1, 0, 1, 0]
    assert entries([bits([0b11, 1 << 31, 5], 67)]) == [1, 1, *[0] * 61, 1, 1, 0, 1]
    assert entries([bits(uint64(1 << 40 | 1), 41)]) == [1, *[0] * 39, 1]
    assert entries([bits(uint64(1 << 40 | 1), 8)]) == [1, *[0] * 7]
    assert entries([bits([int32(3) == 3, True, int32(3) > 3], 3)]) == [1, 1, 0]
    assert entries([bits(MemoryArray(lambda i: uint32(i), 3), 70)])[32:36] == [1, 0, 0, 0]
    assert entries([bits([1, 2, 3], 33)]) == [1, *[0] * 32], "further words do not count"


def test_conditions_and_digits_as_planes() -> None:
    assert entries([constant(int32(3) > 2, 70), constant(False, 33)]) == [1] * 70 + [0] * 33
    assert entries(digits(int32(0b101), 4, 2)) == [1, 1, 0, 0, 1, 1, 0, 0]


def test_numbers() -> None:
    assert entries([one_hot(2, 4), one_hot(int32(0), 2), one_hot(True, 2)]) == [0, 0, 1, 0, 1, 0, 0, 1]
    assert entries([one_hot(-1, 3), one_hot(3, 3)]) == [0] * 6, "a value out of range has no entry"
    assert entries([number(7), number(uint32(3)), number(True), number(float32(1) * 0.5)]) == [7, 3, 1, 0.5]


@pytest.mark.parametrize(
    ("words", "size", "message"),
    [
        (uint32(1), 33, "33 entries need 2 words, got 1"),
        (uint64(1), 65, "65 entries need 3 words, got 2"),
        ([1, 2], 65, "65 entries need 3 words, got 2"),
        ([True, False], 3, "2 conditions are no 3 entries"),
    ],
)
def test_too_little_for_its_entries(words: Any, size: int, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        bits(words, size)
    assert "bits(words, size)" in str(caught.value), "the author's line"
