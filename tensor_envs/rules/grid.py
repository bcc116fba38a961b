"""Boards of rows and columns, and sets of their cells as bit words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import and_, or_, xor
from typing import Any

from tensor_envs._compiler.tape import UINT32
from tensor_envs._validate import integer
from tensor_envs.rules.kernel import repeat
from tensor_envs.rules.kinds import BITS, KINDS, Kind, checked_kind
from tensor_envs.rules.lists import flat, pack, popcount, sum_of, union_of
from tensor_envs.rules.scalar import WORD_BITS, Scalar, Value, int32, refuse, scalar, where

Step = tuple[int, int]  # rows down, columns to the right
SIDES: tuple[Step, ...] = ((-1, 0), (1, 0), (0, -1), (0, 1))
CORNERS: tuple[Step, ...] = ((-1, -1), (-1, 1), (1, -1), (1, 1))
MAX_SIDE = 2**15
MAX_GRID_CELLS = 2**16
SET_KINDS: tuple[Kind, ...] = ("uint32", "uint64")


class GridSet(list[Any]):
    """Set of a grid's cells: a list of words with the operators `& | ^ - ~` of Python's sets.

    Fields, `where`, `bits` and `Actions.mask` take it as a list. The other operand may be a plain list of words.

    Attributes:
        grid: the grid.

    Examples:
        >>> grid = Grid(2, 4)
        >>> row = grid.of([0, 1, 2, 3])
        >>> row - grid.cell(2), ~row, (row & grid.cell(5)).any(), row.count(), (~row).lowest()
        ([uint32(11)], [uint32(240)], bool(False), int32(4), int32(4))
    """

    __slots__ = ("grid",)

    def __init__(self, grid: Grid, words: Iterable[Any]):
        list.__init__(self, words)
        self.grid = grid

    def like(self, words: Sequence[Any]) -> GridSet:
        """Return a set of the same grid."""
        return GridSet(self.grid, words)

    def _with(self, operation: Callable[[Any, Any], Any], other: Sequence[Any]) -> GridSet:
        """Apply an operation to the words of this set and another one."""
        if not isinstance(other, (list, tuple)) or len(other) != len(self):
            refuse(f"a set of {self.grid} mixes with sets and lists of {len(self)} words, got {type(other).__name__}")
        return GridSet(self.grid, map(operation, self, other))

    def __and__(self, other: Sequence[Any]) -> GridSet:
        return self._with(and_, other)

    def __or__(self, other: Sequence[Any]) -> GridSet:
        return self._with(or_, other)

    def __xor__(self, other: Sequence[Any]) -> GridSet:
        return self._with(xor, other)

    __rand__ = __and__
    __ror__ = __or__
    __rxor__ = __xor__

    def __sub__(self, other: Sequence[Any]) -> GridSet:
        return self._with(lambda x, y: x & ~y, other)

    def __rsub__(self, other: Sequence[Any]) -> GridSet:
        return self._with(lambda x, y: ~x & y, other)

    def __invert__(self) -> GridSet:
        return self.grid.full - self

    def __bool__(self) -> bool:
        refuse("a set is no condition of Python's: write cells.any() and where(condition, a, b)")

    def any(self) -> Scalar:
        """Return whether the set has a cell."""
        return union_of(self) != 0

    def count(self) -> Scalar:  # type: ignore[override] # a set has no equal entries to count
        """Return the number of cells."""
        return sum_of(popcount(w) for w in self)

    def lowest(self) -> Scalar:
        """Return the lowest cell; 0 for the empty set."""
        index = int32(0)
        for w in reversed(range(len(self))):
            below = ~self[w] & (self[w] - 1)  # the bits below the lowest set bit
            index = where(self[w] != 0, w * self.grid.word_bits + popcount(below), index)
        return index


class Grid:
    """Board of rows and columns; cell i is in row i // columns and column i % columns.

    Args:
        rows, columns: sides, 1..32768; up to 65536 cells.
        kind: kind of the words of its sets and of the fields that hold them: "uint32" or "uint64".

    Attributes:
        size: number of cells.
        words: number of words of a set, the length of a field for one.
        full: set of all cells.
        empty: set of no cell.

    Raises:
        ValueError, TypeError: other sides or another kind.

    Examples:
        >>> grid = Grid(3, 3)
        >>> corner = grid.cell(0)
        >>> grid.shift(corner, 1, 0), grid.shift(corner, -1, 0), grid.around(corner).count()
        ([uint32(8)], [uint32(0)], int32(2))
        >>> grid.lines(grid.set([uint32(0b111)]), 3).any(), len(grid.symmetries())
        (bool(True), 8)
    """

    def __init__(self, rows: int, columns: int, kind: str = "uint32"):
        self.rows = integer("rows", rows, 1, MAX_SIDE)
        self.columns = integer("columns", columns, 1, MAX_SIDE)
        kind = checked_kind("kind", kind, SET_KINDS)
        self.size = integer("rows * columns", self.rows * self.columns, 1, MAX_GRID_CELLS)
        self.dtype = KINDS[kind]
        self.word_bits = BITS[self.dtype]
        self.words = -(-self.size // self.word_bits)
        self._insides: dict[Step, GridSet] = {}
        self.full = self.of(range(self.size))
        self.empty = self.of(())

    def __repr__(self) -> str:
        return f"Grid({self.rows}, {self.columns}{', kind=uint64' if self.dtype is not UINT32 else ''})"

    def of(self, cells: Sequence[int]) -> GridSet:
        """Return a constant set of cells, given as plain ints."""
        words = pack([integer("a cell", cell, 0, self.size - 1) for cell in cells], self.size)
        if self.dtype is not UINT32:
            words = [low | high << WORD_BITS for low, high in zip(words[::2], [*words, 0][1::2], strict=False)]
        return GridSet(self, [Scalar(w, self.dtype) for w in words])

    def set(self, words: Any) -> GridSet:
        """Return the set of a field's words.

        Raises:
            ValueError: another number of words, or words of another kind.
        """
        if isinstance(words, GridSet) and words.grid is self:
            return words
        values = [scalar(w, self.dtype) for w in flat(words)]
        if len(values) != self.words or any(w.dtype is not self.dtype for w in values):
            kind = self.empty[0].kind
            kinds = ", ".join(sorted({w.kind for w in values}))
            refuse(f"cells must be {self.words} words of kind {kind}, got {len(values)} of kind {kinds}", ValueError)
        return GridSet(self, values)

    def cell(self, index: Value) -> GridSet:
        """Return the set of one cell; the empty set for an index that is no cell."""
        index = int32(index)
        inside = (index >= 0) & (index < self.size)
        word = index // self.word_bits
        bit = Scalar(1, self.dtype) << index % self.word_bits
        return GridSet(self, [where(inside & (word == w), bit, 0) for w in range(self.words)])

    # *** steps ***

    def _inside(self, down: int, right: int) -> GridSet:
        """Return the set of the cells from which a step stays on the board."""
        if (down, right) not in self._insides:
            rows = range(max(0, -down), self.rows - max(0, down))
            columns = range(max(0, -right), self.columns - max(0, right))
            inside = [row * self.columns + column for row in rows for column in columns]
            self._insides[down, right] = self.of(inside)
        return self._insides[down, right]

    def _within(self, cells: GridSet, down: int, right: int) -> GridSet:
        """Return the cells of a set from which a step stays on the board; it may keep cells that a shift drops."""
        if not right and (down < 0 or self.size % self.word_bits == 0):
            return cells
        # A word of which all cells stay needs no mask.
        triples = zip(cells, self._inside(down, right), self.full, strict=True)
        return cells.like([w if inside.node == full.node else w & inside for w, inside, full in triples])

    def moved(self, cells: Sequence[Any], amount: int) -> GridSet:
        """Return the set with every cell i moved to i + amount; bits beyond the words are dropped."""
        word_shift, bit_shift = divmod(amount, self.word_bits)
        words = list[Any]()
        # Word `source` gives the high bits of a word, and the word below gives its low bits.
        for source in range(-word_shift, self.words - word_shift):
            word = cells[source] << bit_shift if 0 <= source < self.words else self.empty[0]
            if bit_shift and 0 < source <= self.words:
                low = cells[source - 1] >> self.word_bits - bit_shift
                word = word | low if source < self.words else low
            words.append(word)
        return GridSet(self, words)

    def shift(self, cells: Sequence[Any], down: int, right: int) -> GridSet:
        """Return the set moved by some rows and columns; cells that would leave the board are dropped."""
        return self.moved(self._within(self.set(cells), down, right), down * self.columns + right)

    def neighbours(self, cells: Sequence[Any], steps: Sequence[Step] = SIDES) -> list[GridSet]:
        """Return a set for each step (down, right) by which this set is moved; by default, the four sides."""
        return [self.shift(cells, *step) for step in steps]

    def around(self, cells: Sequence[Any], steps: Sequence[Step] = SIDES) -> GridSet:
        """Return the cells that a step reaches from a set, by default the cells beside it."""
        return union_of(self.neighbours(cells, steps))  # type: ignore[return-value] # sets give a set

    def flood(self, seed: Sequence[Any], through: Sequence[Any], steps: Sequence[Step] = SIDES) -> GridSet:
        """Return the cells of `through` that are connected to cells of `seed` in it."""
        region = self.set(through)
        max_steps = self.rows * self.columns - 1
        # With steps to all sides, a shortest path has at most three cells of every square of 2x2.
        if set(SIDES) <= set(steps):
            max_steps = min(max_steps, 3 * (-(-self.rows // 2)) * (-(-self.columns // 2)))
        cells = repeat(max_steps, region & seed, lambda cells: region & (self.set(cells) | self.around(cells, steps)))
        return GridSet(self, cells)

    def rays(
        self, start: Sequence[Any], through: Sequence[Any], steps: Sequence[Step] = SIDES + CORNERS
    ) -> list[GridSet]:
        """Return, for each step, the runs of cells of `through` that follow a cell of `start` in that direction.

        A run has no gap. Each direction takes about log2(side) shifts (parallel prefix).
        """
        rays = []
        for down, right in steps:
            amount = down * self.columns + right
            reach = self.set(through) & self._inside(-down, -right)  # cells that a step can enter
            ray = reach & self.moved(self.set(start), amount)
            sides = ((self.rows, down), (self.columns, right))
            length = 1
            max_length = min(side for side, moves in sides if moves) - 1
            # `ray` has the first `length` cells of the runs, and `reach` the ends of runs of that length.
            while length < max_length:
                ray = ray | reach & self.moved(ray, length * amount)
                if 2 * length < max_length:
                    reach = reach & self.moved(reach, length * amount)
                length *= 2
            rays.append(ray)
        return rays

    def slide(self, start: Sequence[Any], through: Sequence[Any], step: Step) -> GridSet:
        """Return the cells in a direction from a set, up to and including the first that is not in `through`."""
        (ray,) = self.rays(start, through, [step])
        return self.shift(ray | start, *step)

    def lines(self, cells: Sequence[Any], k: int) -> GridSet:
        """Return the cells of a set at which straight lines of k cells of it begin, to the right or downwards."""
        k = integer("k", k, 1, MAX_SIDE)
        starts = self.empty
        for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)) if k > 1 else ((0, 1),):
            if max(down * (k - 1) + 1 - self.rows, abs(right) * (k - 1) + 1 - self.columns) > 0:
                continue
            # `run` has the starts of lines of `length` cells, which is doubled until it is k.
            run = self.set(cells)
            length = 1
            while length < k:
                increase = min(length, k - length)
                run = run & self.moved(run, -increase * (down * self.columns + right))
                length += increase
            starts = starts | run & self._inside(down * (k - 1), right * (k - 1))
        return starts

    def completions(self, cells: Sequence[Any], k: int) -> GridSet:
        """Return the cells that make a straight line of k cells together with k - 1 cells of a set."""
        k = integer("k", k, 1, MAX_SIDE)
        own = self.set(cells)
        result = self.empty
        for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)) if k > 1 else ():
            # sides[i][n]: cells that follow a run of n cells of the set, in the direction and against it.
            sides = []
            for step in ((down, right), (-down, -right)):
                after_run = [self.full]
                for _ in range(k - 1):
                    after_run.append(self.shift(after_run[-1] & own, *step))
                sides.append(after_run)
            for length in range(k):
                result = result | sides[0][length] & sides[1][k - 1 - length]
        return result if k > 1 else self.full

    # *** symmetries ***

    def symmetries(self) -> list[tuple[int, ...]]:
        """Return the board's symmetries, the identity first. Each has, for every cell, the cell that moves to it.

        A square has eight and other boards four; equal ones are returned once.
        """
        return list(dict.fromkeys(self._images()))

    def _images(self) -> Iterator[tuple[int, ...]]:
        """Yield the symmetries, some of which may be equal."""
        for transposed in (False, True)[: 1 + (self.rows == self.columns)]:
            for rows in (range(self.rows), range(self.rows)[::-1]):
                for columns in (range(self.columns), range(self.columns)[::-1]):
                    down, right = (1, self.columns) if transposed else (self.columns, 1)
                    yield tuple(down * row + right * column for row in rows for column in columns)
