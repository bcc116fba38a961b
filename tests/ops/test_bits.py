"""Boards as bit words against sets of cells in plain Python, on Python ints and on Tensors."""

import random

import numpy as np
import pytest
from tinygrad import Tensor, dtypes

from tensor_envs.ops.bits import (
    completed,
    has,
    nth_bit,
    num_words,
    pack,
    pack_flags,
    popcount,
    shift_down,
    unpack,
)
from tensor_envs.ops.lines import line_directions, placements, strides
from tests.games.hyper_tic_tac_toe.reference import lines

SIZES = (1, 31, 32, 33, 64, 95)


def some_cells(size: int, seed: int, share: float = 0.5) -> list[int]:
    chance = random.Random(seed)
    return [cell for cell in range(size) if chance.random() < share]


def words_of(values: list[int]) -> Tensor:
    return Tensor(np.array(values, dtype=np.uint32), device="CPU").realize()


@pytest.mark.parametrize("size", SIZES)
def test_pack_and_unpack(size: int) -> None:
    cells = some_cells(size, seed=size)
    words = pack(cells, size)
    assert len(words) == num_words(size) == (size + 31) // 32
    assert sum(word << 32 * i for i, word in enumerate(words)) == sum(1 << cell for cell in cells)
    assert unpack(words, size) == cells


@pytest.mark.parametrize("size", SIZES)
def test_shift_down(size: int) -> None:
    cells = some_cells(size, seed=size)
    for amount in (0, 1, 31, 32, 33, size - 1, size):
        shifted = [int(word) & 0xFFFFFFFF for word in shift_down(pack(cells, size), amount)]
        assert unpack(shifted, size) == [cell - amount for cell in cells if cell >= amount]


def test_count_and_find_bits() -> None:
    values = [0, 1, 0x80000000, 0xFFFFFFFF, *(random.Random(1).getrandbits(32) for _ in range(60))]
    words = words_of(values)
    assert popcount(words).numpy().tolist() == [value.bit_count() for value in values]
    for n in (0, 5, 31):
        known = [i for i, value in enumerate(values) if value.bit_count() > n]
        found = nth_bit(words, Tensor.full((len(values),), n, dtype=dtypes.int32, device="CPU")).numpy()
        assert known
        for i in known:
            assert found[i] == unpack([values[i]], 32)[n]


@pytest.mark.parametrize("width", [1, 2, 8, 16])
def test_count_and_find_bits_in_narrow_words(width: int) -> None:
    values = list(range(2 ** min(width, 8)))
    words = words_of(values)
    assert popcount(words, width).numpy().tolist() == [value.bit_count() for value in values]
    last = [max(value.bit_count() - 1, 0) for value in values]
    found = nth_bit(words, Tensor(last, dtype=dtypes.int32, device="CPU"), width).numpy().tolist()
    assert found[1:] == [value.bit_length() - 1 for value in values[1:]]


def test_has_a_bit_at_a_computed_index() -> None:
    cells = some_cells(70, seed=3)
    columns = [words_of([word] * 70) for word in pack(cells, 70)]
    index = Tensor.arange(70, dtype=dtypes.int32).clone("CPU").realize()
    assert np.flatnonzero(has(columns, index).numpy()).tolist() == cells


def test_pack_flags() -> None:
    cells = some_cells(40, seed=4)
    flags = [Tensor([i in cells], device="CPU") for i in range(40)]
    assert [int(word.item()) for word in pack_flags(flags)] == pack(cells, 40)


@pytest.mark.parametrize(
    ("shape", "k"),
    [((7,), 3), ((3, 3), 3), ((6, 7), 4), ((4, 2, 5, 3), 3), ((3,) * 4, 3), ((2, 3), 1), ((1, 40), 33)],
)
def test_completed_lines_are_the_references(shape: tuple[int, ...], k: int) -> None:
    size, steps = int(np.prod(shape)), strides(shape)
    directions = [d for d in line_directions(len(shape)) if placements(shape, k, d)]
    total = 0
    for seed in range(20):
        cells = some_cells(size, seed, share=0.97 if k > 4 else 0.6)
        found = set()
        for d, words in zip(directions, completed(pack(cells, size), shape, k), strict=True):
            step = sum(e * s for e, s in zip(d, steps, strict=True))
            found |= {frozenset(start + t * step for t in range(k)) for start in unpack(words, size)}
        expected = {frozenset(line) for line in lines(shape, k) if set(line) <= set(cells)}
        assert found == expected
        total += len(expected)
    assert total
