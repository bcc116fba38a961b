"""Lines of boards: counts in closed form for every small shape, and the reference's lines."""

from itertools import product
from math import comb, prod

import numpy as np
import pytest

from tensor_envs import ops
from tensor_envs.ops.lines import (
    direction,
    flat_step,
    line_directions,
    num_directions,
    num_lines,
    placements,
    starts,
    strides,
)
from tests.games.hyper_tic_tac_toe.reference import directions, lines

SHAPES = [
    shape
    for rank, sides in ((1, 6), (2, 5), (3, 4), (4, 3), (5, 3))
    for shape in product(range(1, sides + 1), repeat=rank)
]


@pytest.mark.parametrize("rank", range(1, 8))
def test_directions_by_rank(rank: int) -> None:
    """G1: there are C(N, r) * 2^(r-1) directions of rank r, one of each pair of opposites."""
    directions = line_directions(rank)
    assert len(directions) == num_directions(rank) == (3**rank - 1) // 2
    assert len({*directions, *(tuple(-e for e in d) for d in directions)}) == 3**rank - 1
    for r in range(1, rank + 1):
        assert sum(sum(map(abs, d)) == r for d in directions) == comb(rank, r) * 2 ** (r - 1)


@pytest.mark.parametrize("rank", range(1, 6))
def test_directions_are_the_references_by_number(rank: int) -> None:
    assert line_directions(rank) == sorted(directions(rank))
    assert [direction(n, rank) for n in (1, num_directions(rank))] == [(0,) * (rank - 1) + (1,), (1,) * rank]


def test_number_of_lines_of_every_small_shape() -> None:
    """G2: sets of axes sum to 2^(r-1) prod(n - k + 1 on the r axes of the set, n on the others)."""
    assert len(SHAPES) == 6 + 25 + 64 + 81 + 243
    for shape in SHAPES:
        for k in range(2, max(shape) + 2):
            expected = sum(
                2 ** (sum(moves) - 1) * prod(max(n - k + 1, 0) if m else n for n, m in zip(shape, moves, strict=True))
                for moves in product((0, 1), repeat=len(shape))
                if any(moves)
            )
            assert num_lines(shape, k) == expected, (shape, k)
        assert num_lines(shape, 1) == prod(shape)


@pytest.mark.parametrize(("side", "rank", "count"), [(3, 2, 8), (3, 3, 49), (3, 4, 272), (4, 3, 76), (3, 5, 1441)])
def test_known_totals(side: int, rank: int, count: int) -> None:
    assert num_lines((side,) * rank, side) == count == ((side + 2) ** rank - side**rank) // 2


@pytest.mark.parametrize(
    ("shape", "k"),
    [((7,), 3), ((3, 3), 3), ((2, 5), 4), ((4, 2, 5, 3), 3), ((3, 1, 4), 2), ((3,) * 4, 3), ((2,) * 5, 2)],
)
def test_the_lines_are_the_references(shape: tuple[int, ...], k: int) -> None:
    result = []
    for d in line_directions(len(shape)):
        first = list(starts(shape, k, d))
        assert len(first) == placements(shape, k, d) and first == sorted(first)
        for start in first:
            cell = sum(c * s for c, s in zip(start, strides(shape), strict=True))
            result.append(frozenset(cell + t * flat_step(shape, d) for t in range(k)))
    assert len(result) == len(set(result))
    assert set(result) == {frozenset(line) for line in lines(shape, k)}


def test_strides_are_those_of_c_order() -> None:
    assert strides((4, 2, 5, 3)) == [30, 15, 3, 1]
    assert flat_step((4, 2, 5, 3), (1, 0, -1, 1)) == 28


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int64])
def test_numbers_of_numpy_are_plain_ints(kind: type[int]) -> None:
    """NumPy's numbers overflow, and tinygrad's shapes do not take them."""
    shape = (kind(100), kind(100))
    assert placements(shape, kind(3), (kind(0), kind(1))) == 9800 and num_lines(shape, kind(3)) == 38808
    assert len(list(starts(shape, kind(3), (kind(0), kind(1))))) == 9800
    assert ops.kronecker_delta(kind(12), kind(2)).shape == (12, 12)
    assert {kernel.shape for kernel in ops.line_kernels(kind(1), kind(12)).values()} == {(12,)}
    board = np.ones((2, 15), np.int8)
    assert ops.line_convolution(board, kind(3), kind(1))[1,].shape == (2, 13)
    assert ops.winner(board, kind(3)).shape == () and len(ops.find_lines(board, kind(3), kind(5))) == 5
