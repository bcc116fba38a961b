"""Sets as bit words against sets in plain Python: functions of plain numbers and, in a compiled kernel, of nodes."""

import random

import numpy as np
import pytest

from tensor_envs.rules import (
    MemoryArray,
    Scalar,
    bit,
    halves,
    has_bit,
    joined,
    nth_bit,
    num_words,
    pack,
    pack_flags,
    popcount,
    select,
    uint32,
    uint64,
    unpack,
)
from tests.rules.traced import agree, numbers

SIZES = (1, 31, 32, 33, 64, 95)
WIDTHS = {"uint32": 32, "uint64": 64}


def some_members(size: int, seed: int) -> list[int]:
    chance = random.Random(seed)
    return [member for member in range(size) if chance.random() < 0.5]


def ints(values: list[int]) -> np.ndarray:
    return np.array(values, np.int32)


@pytest.mark.parametrize("size", SIZES)
def test_pack_and_unpack(size: int) -> None:
    members = some_members(size, seed=size)
    words = pack(members, size)
    assert len(words) == num_words(size) == (size + 31) // 32
    assert sum(w << 32 * i for i, w in enumerate(words)) == sum(1 << member for member in members)
    assert unpack(words, size) == members


@pytest.mark.parametrize("kind", WIDTHS)
def test_count_and_find_bits(kind: str) -> None:
    values = numbers(kind, 64, seed=1)
    counts = [int(value).bit_count() for value in values]
    assert agree(popcount, values)[0].tolist() == counts
    for n in (0, 5, WIDTHS[kind] - 1):
        large_enough = values[np.array(counts) > n]
        assert len(large_enough)
        (result,) = agree(nth_bit, large_enough, ints([n] * len(large_enough)))
        assert result.tolist() == [[i for i in range(WIDTHS[kind]) if int(x) >> i & 1][n] for x in large_enough]


@pytest.mark.parametrize("width", (1, 2, 8, 16))
def test_count_and_find_bits_in_narrow_words(width: int) -> None:
    values = list(range(1, 2 ** min(width, 8)))
    column = np.array(values, np.uint32)
    assert agree(lambda x: popcount(x, width), column)[0].tolist() == [x.bit_count() for x in values]
    last = ints([x.bit_count() - 1 for x in values])
    (result,) = agree(lambda x, n: nth_bit(x, n, width), column, last)
    assert result.tolist() == [x.bit_length() - 1 for x in values]


@pytest.mark.parametrize("size", (20, 64, 70))
def test_has_a_bit_at_a_computed_index(size: int) -> None:
    members, every = some_members(size, seed=3), ints(list(range(size)))
    words, is_member = [uint32(w) for w in pack(members, size)], [i in members for i in every]
    memory = MemoryArray(lambda w: select(words, w), len(words))
    assert agree(lambda i: has_bit(words, i), every)[0].tolist() == is_member
    assert agree(lambda i: has_bit(memory, i), every)[0].tolist() == is_member
    if size <= 64:
        whole = joined(*words) if size > 32 else words[0]
        assert agree(lambda i: has_bit(whole, i), every)[0].tolist() == is_member


def test_single_bits() -> None:
    assert agree(bit, ints(list(range(32))))[0].tolist() == [1 << i for i in range(32)]


def test_pack_flags() -> None:
    values = numbers("uint64", 30)

    def packed(x: Scalar) -> list[Scalar]:
        return pack_flags([x >> i & 1 != 0 for i in range(40)])

    low, high = agree(packed, values)
    assert [int(a) | int(b) << 32 for a, b in zip(low, high, strict=True)] == [int(x) & (1 << 40) - 1 for x in values]
    members = some_members(40, seed=4)
    assert [w.value for w in pack_flags([i in members for i in range(40)])] == pack(members, 40)


def test_halves_of_wide_words() -> None:
    values = numbers("uint64", 30)
    low, high, whole = agree(lambda x: [*halves(x), joined(*halves(x))], values)
    assert (whole == values).all()
    assert ((high.astype(np.uint64) << np.uint64(32)) + low == values).all()


def test_bits_of_ints_are_refused() -> None:
    with pytest.raises(TypeError, match="counted in a uint32"):
        popcount(5)
    assert popcount(uint32(5)).value == popcount(uint64(5)).value == 2
