"""Straight lines of boards of any shape, in plain Python: directions, placements, and flat steps.

A direction is a vector in {-1, 0, 1}^N, one of each pair +v, -v. Read as digits in balanced ternary the directions are
exactly the numbers 1..(3^N - 1) / 2, so that a kernel can count through them. The rank of a direction is the
number of its non-zero entries: 1 for axis lines, r for the diagonals of r-cubes.
"""

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

from tensor_envs._validate import integer, integers, shown

Shape = Sequence[int]
Direction = tuple[int, ...]
MAX_RANK = 12  # axes of a board: 265,720 directions
MAX_CELLS = 2**31 - 1


def num_directions(rank: int) -> int:
    """Return (3^rank - 1) / 2 for a board with `rank` axes. Raise TypeError or ValueError unless it is 1..12."""
    return (3 ** integer("rank", rank, 1, MAX_RANK) - 1) // 2


def check_board(shape: Shape, k: int) -> tuple[Shape, int]:
    """Return the sides of a board and the length of a line as plain ints. TypeError or ValueError for others."""
    shape = integers("shape", shape, 1, MAX_CELLS)
    if len(shape) > MAX_RANK or prod(shape) > MAX_CELLS:
        raise ValueError(f"shape must be at most {MAX_RANK} axes and {MAX_CELLS} cells, got {shown(shape)}")
    return shape, integer("k", k, 1, MAX_CELLS)


def _check_direction(shape: Shape, k: int, d: Direction) -> tuple[Shape, int, Direction]:
    shape, k = check_board(shape, k)
    d = integers("d", d, -1, 1)
    if len(d) != len(shape):
        raise ValueError(f"d must have {len(shape)} entries as shape has, got {shown(d)}")
    return shape, k, d


def direction(number: Any, rank: int) -> tuple[Any, ...]:
    """Return direction `number`, an int or a scalar 1..num_directions(rank): its balanced ternary digits."""
    number += (3**rank - 1) // 2
    return tuple(number // 3 ** (rank - 1 - axis) % 3 - 1 for axis in range(rank))


def line_directions(rank: int) -> list[Direction]:
    """Return all directions of a board with `rank` axes, 1..12, by number. The first non-zero entry is positive."""
    return [direction(number, rank) for number in range(1, num_directions(rank) + 1)]


def strides(shape: Shape) -> list[int]:
    """Return the flat distance of neighbours along each axis, in C order."""
    return [prod(shape[axis + 1 :]) for axis in range(len(shape))]


def flat_step(shape: Shape, d: Direction) -> int:
    """Return the flat distance of neighbours along a direction."""
    return sum(entry * stride for entry, stride in zip(d, strides(shape), strict=True))


def placements(shape: Shape, k: int, d: Direction) -> int:
    """Return the number of lines of k cells along a direction: prod(n - k + 1 where d moves, else n)."""
    return _placements(*_check_direction(shape, k, d))


def _placements(shape: Shape, k: int, d: Direction) -> int:
    return prod(max(n - k + 1, 0) if entry else n for n, entry in zip(shape, d, strict=True))


def num_lines(shape: Shape, k: int) -> int:
    """Return the number of lines of k cells on the board. With k = 1 each cell is one line."""
    shape, k = check_board(shape, k)
    return prod(shape) if k == 1 else sum(_placements(shape, k, d) for d in line_directions(len(shape)))


def starts(shape: Shape, k: int, d: Direction) -> Iterator[tuple[int, ...]]:
    """Yield the coordinates of the first cells of the lines of k cells along a direction, in C order."""
    shape, k, d = _check_direction(shape, k, d)

    def along(axis: int) -> Iterator[tuple[int, ...]]:
        if axis == len(shape):
            yield ()
            return
        n, entry = shape[axis], d[axis]
        first = k - 1 if entry < 0 else 0
        last = n - k if entry > 0 else n - 1
        for coordinate in range(first, last + 1):
            for rest in along(axis + 1):
                yield (coordinate, *rest)

    # the recursion runs the first axis outermost, so starts come in C order
    yield from along(0)
