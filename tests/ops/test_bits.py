"""Lines on boards of bit words, compared with sets of cells: on Python ints, scalars and Tensors."""

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tinygrad import Tensor

from tensor_envs.ops.bits import completed, shift_down
from tensor_envs.ops.lines import line_directions, placements, strides
from tensor_envs.rules import pack, scalar, uint32, unpack
from tests.games.hyper_tic_tac_toe.reference import lines

SIZES = (1, 31, 32, 33, 64, 95)
KINDS: dict[str, Callable[[int], Any]] = {
    "int": int,
    "scalar": uint32,
    "tensor": lambda value: Tensor(np.array([value], dtype=np.uint32), device="CPU"),
}


def some_cells(size: int, seed: int, share: float = 0.5) -> list[int]:
    chance = random.Random(seed)
    return [cell for cell in range(size) if chance.random() < share]


def plain(x: Any) -> int:
    """Return a word of any kind as an int; words beyond a board are ints in every kind."""
    return int(x.item() if isinstance(x, Tensor) else scalar(x).value if not isinstance(x, int) else x) & 0xFFFFFFFF


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", SIZES)
def test_shift_down(size: int, kind: str) -> None:
    cells = some_cells(size, seed=size)
    words = [KINDS[kind](value) for value in pack(cells, size)]
    for amount in (0, 1, 31, 32, 33, size - 1, size):
        shifted = [plain(x) for x in shift_down(words, amount)]
        assert unpack(shifted, size) == [cell - amount for cell in cells if cell >= amount]


BOARDS = [((7,), 3), ((3, 3), 3), ((6, 7), 4), ((4, 2, 5, 3), 3), ((3,) * 4, 3), ((2, 3), 1), ((1, 40), 33)]


@pytest.mark.parametrize("kind", ("int", "scalar"))
@pytest.mark.parametrize(("shape", "k"), BOARDS)
def test_completed_lines_are_the_references(shape: tuple[int, ...], k: int, kind: str) -> None:
    size, steps = int(np.prod(shape)), strides(shape)
    directions = [d for d in line_directions(len(shape)) if placements(shape, k, d)]
    total = 0
    for seed in range(20):
        cells = some_cells(size, seed, share=0.97 if k > 4 else 0.6)
        completed_lines, board = set(), [KINDS[kind](value) for value in pack(cells, size)]
        for d, words in zip(directions, completed(board, shape, k), strict=True):
            step = sum(e * s for e, s in zip(d, steps, strict=True))
            starts = unpack([plain(x) for x in words], size)
            completed_lines |= {frozenset(start + t * step for t in range(k)) for start in starts}
        expected = {frozenset(line) for line in lines(shape, k) if set(line) <= set(cells)}
        assert completed_lines == expected
        total += len(expected)
    assert total


def test_completed_lines_of_tensors() -> None:
    """Words can be Tensors with an entry for each board."""
    shape, k, size, boards = (6, 7), 4, 42, [some_cells(42, seed, 0.6) for seed in range(30)]
    columns = np.array([pack(cells, size) for cells in boards], dtype=np.uint32).T
    results = completed([Tensor(column, device="CPU") for column in columns], shape, k)
    numbers = [np.stack([x.numpy() for x in words], axis=1) for words in results]
    for row, cells in enumerate(boards):
        plainly = completed(pack(cells, size), shape, k)
        assert [words[row].tolist() for words in numbers] == plainly
    assert any(words.any() for words in numbers)
