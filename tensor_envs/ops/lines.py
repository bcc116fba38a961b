"""The straight lines of a board of any shape: directions, placements, and the flat steps along them. Plain Python.

A direction is a vector in {-1, 0, 1}^N, one of each pair +v, -v. Read as digits in balanced ternary the directions are
exactly the numbers 1..(3^N - 1) / 2, which is how a kernel can count through them. The rank of a direction is the
number of its non-zero entries: 1 for axis lines, r for the diagonals of r-cubes.
"""

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

Shape = Sequence[int]
Direction = tuple[int, ...]


def num_directions(rank: int) -> int:
    """Of a board with `rank` axes: (3^rank - 1) / 2."""
    return (3**rank - 1) // 2


def direction(number: Any, rank: int) -> tuple[Any, ...]:
    """The `number`-th direction, 1..num_directions(rank), an int or a scalar: its balanced ternary digits."""
    number += num_directions(rank)
    return tuple(number // 3 ** (rank - 1 - axis) % 3 - 1 for axis in range(rank))


def line_directions(rank: int) -> list[Direction]:
    """All directions of a board with `rank` axes, by number; each has a positive first non-zero entry."""
    return [direction(number, rank) for number in range(1, num_directions(rank) + 1)]


def strides(shape: Shape) -> list[int]:
    """Flat distance of neighbours along each axis, C order."""
    return [prod(shape[axis + 1 :]) for axis in range(len(shape))]


def flat_step(shape: Shape, d: Direction) -> int:
    """Flat distance of neighbours along a direction."""
    return sum(entry * stride for entry, stride in zip(d, strides(shape), strict=True))


def placements(shape: Shape, k: int, d: Direction) -> int:
    """Number of lines of k cells along a direction: prod(n - k + 1 where d moves, n where it does not)."""
    return prod(max(n - k + 1, 0) if entry else n for n, entry in zip(shape, d, strict=True))


def num_lines(shape: Shape, k: int) -> int:
    """Number of lines of k cells on the board. A single cell (k = 1) is one line, whatever the direction."""
    return prod(shape) if k == 1 else sum(placements(shape, k, d) for d in line_directions(len(shape)))


def starts(shape: Shape, k: int, d: Direction) -> Iterator[tuple[int, ...]]:
    """First cells, as coordinates, of the lines of k cells along a direction."""

    def along(axis: int) -> Iterator[tuple[int, ...]]:
        if axis == len(shape):
            yield ()
            return
        n, entry = shape[axis], d[axis]
        first, last = (k - 1 if entry < 0 else 0), (n - k if entry > 0 else n - 1)
        for coordinate in range(first, last + 1):
            for rest in along(axis + 1):
                yield (coordinate, *rest)

    # the recursion runs the first axis outermost, so starts come in C order
    yield from along(0)
