"""The player board: a hexagon of cells, and sets of its cells as 64-bit words.

Cells are numbered row by row (r ascending, then q); in a set the cell (q, r) is bit (r + R) * 8 + (q + R). One column a
row stays empty, so a neighbour is a shift, and what is shifted off the board lands on no cell (RULES.md, "Cells").
Sets are word64 scalars, or Python ints where they are constants.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import or_
from typing import NamedTuple, TypeVar

from tensor_envs.games.tensor_equilibrium.data import DIRECTIONS, axial_cells
from tensor_envs.rules import Scalar, where

ROW = 8  # bits of a row of cells
STRIDES = tuple(q + ROW * r for q, r in DIRECTIONS)  # bits from a cell to its neighbour in direction 0, 1, 2

CellSet = TypeVar("CellSet", int, Scalar)  # a set of cells


class Row(NamedTuple):
    """A row of cells: its first cell, how many there are, and the bit of the first."""

    cell: int
    size: int
    bit: int


@dataclass(frozen=True)
class Hexagon:
    """A hexagon of radius 0..3."""

    radius: int

    @cached_property
    def axial(self) -> list[tuple[int, int]]:
        """(q, r) of every cell."""
        return axial_cells(self.radius)

    @cached_property
    def bits(self) -> list[int]:
        """The bit of every cell."""
        return [(r + self.radius) * ROW + q + self.radius for q, r in self.axial]

    @cached_property
    def cell_of_bit(self) -> dict[int, int]:
        return {bit: cell for cell, bit in enumerate(self.bits)}

    @cached_property
    def rows(self) -> list[Row]:
        starts = [h for h, bit in enumerate(self.bits) if bit - 1 not in self.cell_of_bit]
        ends = [*starts[1:], len(self.bits)]
        return [Row(start, end - start, self.bits[start]) for start, end in zip(starts, ends, strict=True)]

    def set_of(self, cells: Iterable[int]) -> int:
        return sum(1 << self.bits[cell] for cell in set(cells))

    def cells_of(self, cells: int) -> list[int]:
        return [cell for cell, bit in enumerate(self.bits) if cells >> bit & 1]

    def bit_of_cell(self, cell: Scalar) -> Scalar:
        """The bit of a computed cell; 0..63 for whatever is no cell."""
        bit = cell + self.rows[0].bit
        for before, row in zip(self.rows, self.rows[1:], strict=False):
            gap = row.bit - row.cell - (before.bit - before.cell)
            bit = bit + where(cell < row.cell, 0, gap)
        return bit & 63

    def numbered(self, cells: CellSet) -> CellSet:
        """A set with cell h at bit h instead: rows closed up."""
        return reduce(
            or_, [cells >> row.bit - row.cell & (1 << row.size) - 1 << row.cell for row in self.rows]
        )


def neighbours(cells: CellSet) -> CellSet:
    """The cells beside a set, and bits that are no cells."""
    return reduce(or_, [beside for stride in STRIDES for beside in (cells << stride, cells >> stride)])


def pairs(cells: CellSet, direction: int) -> CellSet:
    """The cells of a set whose neighbour in direction 0, 1 or 2 belongs to it as well."""
    return cells & cells >> STRIDES[direction]
