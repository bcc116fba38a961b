"""Sets of cells as words, and groups of stones, for rules.

Groups are numbered by their highest cell + 1, in binary over planes: plane k is the set of the stones whose group's
number has bit k. A stone that joins groups, or takes them, finds them without following their cells. A game may give
cells other numbers if cells of the same number touch each other; a group has the highest of its cells.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from tensor_envs.rules import WORD_BITS, GridSet, Scalar, maximum, num_words, sum_of, uint32, union_of, where
from tensor_envs.rules.grid import Step

CellSet = Sequence[Any]  # a set of cells
ALL = 2**WORD_BITS - 1


def moved_by(cells: Scalar, step: int) -> Scalar:
    """Return the set of one word with every cell i moved to i + step; those beyond either end are dropped."""
    return cells << step if step > 0 else cells >> -step


def segment(cells: CellSet, start: int, size: int) -> Any:
    """Return the cells start..start + size - 1 as one word, the first of them its bit 0."""
    at, by = divmod(start, WORD_BITS)
    row = cells[at] >> by
    if by + size > WORD_BITS:
        row |= cells[at + 1] << WORD_BITS - by
    return row & (1 << size) - 1


def concatenated(rows: Sequence[Any], size: int) -> list[Any]:
    """Return the set of rows of `size` cells, a word each: the inverse of `segment`."""
    return chained(*(([row], size) for row in rows))


def chained(*sets: tuple[CellSet, int]) -> list[Any]:
    """Return several sets, each with its size, as one: the cells of the first, then those of the second, and so on."""
    chain: list[Any] = [uint32(0)] * num_words(sum(size for _, size in sets))
    start = 0
    for cells, size in sets:
        for k, part in enumerate(cells):
            at, by = divmod(start + k * WORD_BITS, WORD_BITS)
            chain[at] |= part << by
            if by + min(WORD_BITS, size - k * WORD_BITS) > WORD_BITS:
                chain[at + 1] |= part >> WORD_BITS - by
        start += size
    return chain


def number(digits: Sequence[Scalar]) -> Scalar:
    """Return the number with these binary digits, the lowest first."""
    return sum_of(where(digit, 1 << k, 0) for k, digit in enumerate(digits))


def number_at(planes: Sequence[GridSet], cell: GridSet) -> Scalar:
    """Return the number of a cell; 0 for the empty set."""
    return number([(plane & cell).any() for plane in planes])


def numbered(cells: GridSet, planes: Sequence[CellSet], value: int) -> GridSet:
    """Return those of some cells that have a number."""
    for k, plane in enumerate(planes):
        cells = cells & plane if value >> k & 1 else cells - plane
    return cells


def group_of(cell: GridSet, stones: GridSet, planes: Sequence[GridSet]) -> tuple[GridSet, Scalar]:
    """Return the group of the stone on a cell, and its number; for a set without a stone, no stones and 0."""
    digits = [(plane & cell).any() for plane in planes]
    grid = stones.grid
    differs = union_of(plane ^ where(digit, grid.full, grid.empty) for plane, digit in zip(planes, digits, strict=True))
    return stones - differs, number(digits)


class Joined(NamedTuple):
    """Group of a new stone.

    Attributes:
        group: the new stone and the stones that it joins.
        planes: planes of all groups, with the number of the new one.
        numbers: numbers of the groups that it joins, by their directions; 0 for no stones.
    """

    group: GridSet
    planes: list[GridSet]
    numbers: list[Scalar]


def joined(
    cell: Scalar, its_number: Scalar, own: GridSet, planes: Sequence[GridSet], directions: Sequence[Sequence[Step]]
) -> Joined:
    """Return the group of a stone that its owner places on a cell.

    Args:
        cell: cell of the new stone.
        its_number: number of a group whose highest cell it is.
        own: the other stones of its owner.
        planes: planes of all groups.
        directions: steps to the neighbours of a cell; neighbours of one direction touch each other.
    """
    grid = own.grid
    stone = grid.cell(cell)
    group = stone
    highest = its_number
    numbers = []
    for near in [grid.around(stone, steps) for steps in directions]:
        stones, found = group_of(near & own, own, planes)
        group = group | stones
        highest = maximum(highest, found)
        numbers.append(found)
    renumbered = [plane - group | where((highest >> k & 1) != 0, group, grid.empty) for k, plane in enumerate(planes)]
    return Joined(group, renumbered, numbers)
