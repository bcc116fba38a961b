"""Sets of a grid's cells, in kernels and in plain Python, compared with Python's sets."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest

from tensor_envs.rules import CORNERS, SIDES, Grid, Scalar, Value, int32, scalar, uint32, uint64, union_of, where
from tests.rules.traced import agree, numbers

SIZE = 40
HEXAGON = (*SIDES, (-1, 1), (1, -1))
KNIGHT = ((2, 1), (-1, 2))
SHAPES = [(1, 1, "uint32"), (3, 3, "uint32"), (4, 8, "uint32"), (6, 7, "uint32"), (5, 13, "uint32"), (9, 9, "uint32")]
SHAPES += [(8, 8, "uint64"), (1, 40, "uint64"), (10, 10, "uint64"), (12, 3, "uint64")]
# of one and of several words of both kinds
telling = pytest.mark.few(*(str(shape) for shape in SHAPES if shape[:2] in ((1, 1), (6, 7), (5, 13), (8, 8), (12, 3))))
Cells = set[int]


class Board:
    """Reference: cells in Python sets."""

    def __init__(self, rows: int, columns: int):
        self.rows, self.columns = rows, columns

    def shift(self, cells: Iterable[int], down: int, right: int) -> Cells:
        moved = ((cell // self.columns + down, cell % self.columns + right) for cell in cells)
        return {r * self.columns + c for r, c in moved if 0 <= r < self.rows and 0 <= c < self.columns}

    def around(self, cells: Cells, steps: Any) -> Cells:
        return set().union(*(self.shift(cells, *step) for step in steps))

    def flood(self, seed: Cells, through: Cells, steps: Any) -> Cells:
        reached = seed & through
        while more := self.around(reached, steps) & through - reached:
            reached |= more
        return reached

    def ray(self, start: Cells, through: Cells, step: Any) -> Cells:
        ray, front = set(), start
        while front := self.shift(front, *step) & through:
            ray |= front
        return ray

    def lines(self, cells: Cells, k: int) -> Cells:
        found = set()
        for cell in cells:
            for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
                line = [self.shift([cell], i * down, i * right) for i in range(k)]
                if all(line) and set().union(*line) <= cells:
                    found.add(cell)
        return found

    def completions(self, cells: Cells, k: int) -> Cells:
        return {cell for cell in range(self.rows * self.columns) if self.through(cell, cells, k)}

    def through(self, cell: int, cells: Cells, k: int) -> bool:
        """Return whether a cell and k - 1 of a set are a line."""
        lines = []
        for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
            lines += [[self.shift([cell], i * down, i * right) for i in range(j, j + k)] for j in range(1 - k, 1)]
        return any(all(line) and set().union(*line) <= cells | {cell} for line in lines)


def grid_of(shape: tuple[int, int, str]) -> tuple[Grid, Board]:
    return Grid(*shape), Board(*shape[:2])


def check(grid: Grid, work: Callable[..., Iterable[Any]], expected: Callable[..., Iterable[Cells]], seed: int) -> None:
    """Compare sets that are computed from three random ones: sparse, dense and any."""
    bits = grid.word_bits
    sparse = np.random.default_rng(seed).random((3, SIZE, grid.size)) < np.array([0.1, 0.8, 0.5])[:, None, None]
    padded = np.zeros((3, SIZE, grid.words * bits), bool)
    padded[:, :, : grid.size] = sparse
    words = np.packbits(padded, axis=2, bitorder="little").view(np.uint32 if bits == 32 else np.uint64)

    def values(*columns: Scalar) -> list[Value]:
        sets = [grid.set(columns[k : k + grid.words]) for k in range(0, 3 * grid.words, grid.words)]
        return [w for result in work(*sets) for w in result]

    columns = [np.ascontiguousarray(words[k, :, w]) for k in range(3) for w in range(grid.words)]
    table = np.stack(agree(values, *columns), axis=1)
    found = np.unpackbits(np.ascontiguousarray(table).view(np.uint8), axis=1, bitorder="little")
    found = found.reshape(SIZE, -1, grid.words * bits)
    for row in range(SIZE):
        wanted = list(expected(*({int(i) for i in np.flatnonzero(sparse[k, row])} for k in range(3))))
        assert [{int(i) for i in np.flatnonzero(x)} for x in found[row]] == wanted, row


@telling
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_steps_stop_at_edges(shape: tuple[int, int, str]) -> None:
    grid, board = grid_of(shape)
    steps = (*SIDES, *CORNERS, *KNIGHT, (0, 0), (9, -9), (0, 3))
    check(
        grid,
        lambda a, b, c: [*grid.neighbours(a, steps), grid.around(b), grid.around(c, HEXAGON)],
        lambda a, b, c: [*(board.shift(a, *s) for s in steps), board.around(b, SIDES), board.around(c, HEXAGON)],
        1,
    )


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_operators(shape: tuple[int, int, str]) -> None:
    grid, _ = grid_of(shape)
    every = set(range(grid.size))
    check(
        grid,
        lambda a, b, c: [a & b, a | b, a ^ b, a - b, ~a, [*a] & b, [*a] - b, where(a.any(), b, c), union_of([a, b, c])],
        lambda a, b, c: [a & b, a | b, a ^ b, a - b, every - a, a & b, a - b, b if a else c, a | b | c],
        2,
    )


@pytest.mark.parametrize("steps", [SIDES, HEXAGON, SIDES + CORNERS], ids=["sides", "hexagon", "all"])
@pytest.mark.parametrize("shape", SHAPES[1::2], ids=str)
def test_a_flood(shape: tuple[int, int, str], steps: Any) -> None:
    grid, board = grid_of(shape)
    check(
        grid,
        lambda a, b, c: [grid.flood(a, c, steps), grid.flood(a, b, steps)],
        lambda a, b, c: [board.flood(a, c, steps), board.flood(a, b, steps)],
        3,
    )


def test_the_longest_way_of_a_flood() -> None:
    """A flood follows a snake through the whole board."""
    grid = Grid(9, 9)
    snake = [*(c for r in range(0, 9, 2) for c in range(9 * r, 9 * r + 9)), 17, 27, 53, 63]
    seed = grid.cell(0)
    assert grid.flood(seed, grid.of(snake)).count().value == len(snake) == 49


@telling
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_rays(shape: tuple[int, int, str]) -> None:
    grid, board = grid_of(shape)
    steps = SIDES + CORNERS
    check(
        grid,
        lambda a, b, c: [*grid.rays(a, b), *grid.rays(a, c, KNIGHT), *grid.rays(a, grid.full)],
        lambda a, b, c: [
            *(board.ray(a, b, s) for s in steps),
            *(board.ray(a, c, s) for s in KNIGHT),
            *(board.ray(a, set(range(grid.size)), s) for s in steps),
        ],
        4,
    )


def test_a_slide_ends_on_the_first_cell_that_is_not_passed() -> None:
    grid = Grid(4, 5)
    cases = {(0, (0, 1)): {1, 2, 3}, (0, (1, 1)): {6}, (19, (0, -1)): {18, 17, 16, 15}, (4, (0, 1)): set()}
    for (start, step), cells in cases.items():
        slide = grid.slide(grid.cell(start), grid.full - grid.of([3, 6]), step)
        assert [word.value for word in slide] == [word.value for word in grid.of([*cells])]


@telling
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_lines(shape: tuple[int, int, str]) -> None:
    grid, board = grid_of(shape)
    check(
        grid,
        lambda a, b, c: [grid.lines(b, k) for k in range(1, 6)],
        lambda a, b, c: [board.lines(b, k) for k in range(1, 6)],
        5,
    )


@pytest.mark.few(2)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_completions(shape: tuple[int, int, str]) -> None:
    grid, board = grid_of(shape)
    check(
        grid,
        lambda a, b, c: [grid.completions(b, k) for k in range(1, 6)],
        lambda a, b, c: [board.completions(b, k) for k in range(1, 6)],
        5,
    )


@telling
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_single_cells_and_numbers(shape: tuple[int, int, str]) -> None:
    grid, _ = grid_of(shape)
    indices = numbers("int32", SIZE, 0, -2, grid.size + 1)

    def work(index: Scalar) -> list[Value]:
        cell = grid.cell(index)
        return [cell.count(), cell.any(), cell.lowest(), (~cell).count(), (~cell).lowest()]

    count, held, lowest, others, gap = agree(work, indices)
    inside = (indices >= 0) & (indices < grid.size)
    assert (count == inside).all() and (held == inside).all() and (others == grid.size - inside).all()
    assert (lowest == np.where(inside, indices, 0)).all()
    assert (gap == ((indices == 0) & (grid.size > 1))).all()


@pytest.mark.parametrize(("rows", "columns", "count"), [(1, 1, 1), (1, 4, 2), (2, 2, 8), (3, 3, 8), (2, 3, 4)])
def test_symmetries(rows: int, columns: int, count: int) -> None:
    """Symmetries keep neighbours, form a group and are all of the board's."""
    board, maps = Board(rows, columns), Grid(rows, columns).symmetries()
    assert len(maps) == count and maps[0] == tuple(range(rows * columns))
    group = set(maps)
    for one in maps:
        assert all(tuple(one[i] for i in other) in group for other in maps)
        for cell in range(rows * columns):
            assert {one[i] for i in board.around({cell}, SIDES)} == board.around({one[cell]}, SIDES)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda g: Grid(0, 3), ValueError, r"rows must be in 1\.\.32768, got 0"),
        (lambda g: Grid(**dict[str, Any](rows=3, columns=2.0)), TypeError, "columns must be an int, got 2.0"),
        (lambda g: Grid(300, 300), ValueError, r"rows \* columns must be in 1\.\.65536, got 90000"),
        (lambda g: Grid(3, 3, "int32"), ValueError, "kind must be one of 'uint32', 'uint64', got 'int32'"),
        (lambda g: g.set([uint32(1)]), ValueError, "cells must be 2 words of kind word, got 1 of kind word"),
        (lambda g: g.set([uint64(1)] * 2), ValueError, "cells must be 2 words of kind uint32, got 2 of kind uint64"),
        (lambda g: g.full & [1], TypeError, r"a set of Grid\(6, 7\) mixes with sets and lists of 2 words, got list"),
        (lambda g: g.full & 1, TypeError, "got int"),
        (lambda g: g.lines(g.full, 0), ValueError, r"k must be in 1\.\.32768, got 0"),
        (lambda g: g.completions(g.full, 0), ValueError, r"k must be in 1\.\.32768, got 0"),
        (lambda g: g.of([42]), ValueError, r"a cell must be in 0\.\.41, got 42"),
    ],
)
def test_wrong_arguments(call: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        call(Grid(6, 7))


def test_a_set_is_a_list_of_words() -> None:
    rng = random.Random(0)
    grid = Grid(5, 8)
    cells = [cell for cell in range(40) if rng.random() < 0.5]
    assert isinstance(grid.of(cells), list) and grid.of(cells).count().value == len(cells)
    assert where(scalar(True), grid.full, grid.empty).grid is grid and int32(grid.full[1]).value == 255
