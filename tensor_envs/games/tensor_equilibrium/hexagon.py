"""Hexagonal player board: cell numbers, and sets of cells as 64-bit words.

Cells are numbered row by row (r ascending, then q). In a set, the cell (q, r) is bit (r + R) * 8 + (q + R). One column
of each row stays empty, so that a neighbour is a shift and no shift wraps onto a cell (RULES.md, "Cells"). A set is a
uint64 scalar, or a Python int where it is constant.
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

CellSet = TypeVar("CellSet", int, Scalar)


class Row(NamedTuple):
    """Row of cells: its first cell, its length, and the bit of its first cell."""

    cell: int
    size: int
    bit: int


@dataclass(frozen=True)
class Hexagon:
    """Hexagonal board of radius 0 to 3."""

    radius: int

    @cached_property
    def axial(self) -> list[tuple[int, int]]:
        """Axial coordinates (q, r) by cell."""
        return axial_cells(self.radius)

    @cached_property
    def bits(self) -> list[int]:
        """Bit numbers by cell."""
        return [(r + self.radius) * ROW + q + self.radius for q, r in self.axial]

    @cached_property
    def cell_of_bit(self) -> dict[int, int]:
        """Cells by bit number."""
        return {bit: cell for cell, bit in enumerate(self.bits)}

    @cached_property
    def rows(self) -> list[Row]:
        """Rows from top to bottom."""
        starts = [h for h, bit in enumerate(self.bits) if bit - 1 not in self.cell_of_bit]
        ends = [*starts[1:], len(self.bits)]
        return [Row(start, end - start, self.bits[start]) for start, end in zip(starts, ends, strict=True)]

    def set_of(self, cells: Iterable[int]) -> int:
        """Return the set of some cells."""
        return sum(1 << self.bits[cell] for cell in set(cells))

    def cells_of(self, cells: int) -> list[int]:
        """Return the cells of a set."""
        return [cell for cell, bit in enumerate(self.bits) if cells >> bit & 1]

    def bit_of_cell(self, cell: Scalar) -> Scalar:
        """Return the bit of a computed cell, or any number in 0..63 for an index outside the board."""
        bit = cell + self.rows[0].bit
        for before, row in zip(self.rows, self.rows[1:], strict=False):
            gap = row.bit - row.cell - (before.bit - before.cell)
            bit = bit + where(cell < row.cell, 0, gap)
        return bit & 63

    def numbered(self, cells: CellSet) -> CellSet:
        """Return a set with cell h at bit h, without the empty columns."""
        return reduce(or_, [cells >> row.bit - row.cell & (1 << row.size) - 1 << row.cell for row in self.rows])


def neighbours(cells: CellSet) -> CellSet:
    """Return the cells beside a set, and bits outside the board."""
    return reduce(or_, [beside for stride in STRIDES for beside in (cells << stride, cells >> stride)])


def pairs(cells: CellSet, direction: int) -> CellSet:
    """Return the cells of a set whose neighbour in direction 0, 1 or 2 belongs to it too."""
    return cells & cells >> STRIDES[direction]
