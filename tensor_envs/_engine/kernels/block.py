"""Positions of games in a kernel's arrays [blocks, words, lanes], and the loops over them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from tinygrad.dtype import DType

from tensor_envs._compiler.tape import INT, LONG, current
from tensor_envs._engine.batch_layout import Grid
from tensor_envs.rules.kernel import Cells, grid_index, loop, registers
from tensor_envs.rules.scalar import Scalar, integer, maximum, minimum

if TYPE_CHECKING:
    from tensor_envs._engine.layout import Layout

UNROLL_MAX_INSTRUCTIONS = 960  # of a stage that several lanes play at once
UNROLL_LANES = 4  # those lanes: one hides the latency of another


class Place(NamedTuple):
    """Position of a game in a flat array [blocks, words, lanes]."""

    block: Any
    lane: Any
    lanes: int

    @property
    def row(self) -> Any:
        return self.block * self.lanes + self.lane

    def index(self, word: Any, words: int) -> Any:  # type: ignore[override] # a tuple's is of no use here
        """Return the index of one of a game's `words` values."""
        return (self.block * words + word) * self.lanes + self.lane


class Coords(NamedTuple):
    """Position of a game in the batch's arrays, and in registers."""

    batch: Place
    register: Place


def load(cells: Cells, place: Place, words: int = 1) -> list[Scalar]:
    """Return all values of a game."""
    return [cells[place.index(w, words)] for w in range(words)]


def store(cells: Cells, place: Place, values: Sequence[Any]) -> None:
    """Store all values of a game."""
    for w, x in enumerate(values):
        cells[place.index(w, len(values))] = x


class GameBlock:
    """Block of games in the kernel that is being recorded, played stage by stage over its lanes.

    Attributes:
        lanes: games in the block.
        first: the first block that one thread of the CPU plays; None on a GPU.
        number: this block.
        thread: the lane of this thread on a GPU; None on the CPU.
    """

    def __init__(self, lanes: int, number: Scalar, unroll: bool, first: Any = None, thread: Any = None):
        self.lanes, self.number, self.first, self.thread = lanes, number, first, thread
        self.together = UNROLL_LANES if unroll and lanes % UNROLL_LANES == 0 else 1

    @classmethod
    @contextmanager
    def each_of(cls, grid: Grid, share: Cells | None, unroll: bool) -> Iterator[GameBlock]:
        """Record a loop over blocks; on a GPU a workgroup plays each.

        Args:
            grid: the partition of the batch.
            share: int32, the first block to play and how many; None on a GPU.
            unroll: whether several lanes may be played at once.
        """
        values = max(-(-array.size // grid.rows) for array in current().arrays)  # of a game, at most
        blocks = grid.blocks if share is None else grid.most_blocks
        dtype = LONG if blocks * grid.lanes * values > 2**31 else INT
        if share is None:
            number, thread = grid_index("group", grid.blocks).to(dtype), grid_index("thread", grid.lanes)
            yield cls(grid.lanes, number, unroll, thread=thread)
            return
        first, count = (minimum(maximum(share[k], 0), grid.most_blocks - 1) for k in range(2))
        first = first.to(dtype)
        with loop(count) as turn:
            yield cls(grid.lanes, first + turn, unroll, first)

    def at(self, lane: Any) -> Coords:
        batch = Place(self.number, lane, self.lanes)
        return Coords(batch, Place(0, lane, self.lanes) if self.thread is None else Place(0, 0, 1))

    def each(self, stage: Callable[[Coords], None], unroll_max: int = UNROLL_MAX_INSTRUCTIONS) -> None:
        """Record a stage for every lane. unroll_max: instructions up to which several lanes are played at once."""
        if self.thread is not None:
            stage(self.at(self.thread))
            return
        with loop(self.lanes) as lane:
            stage(self.at(lane))
        block = current().block
        if self.together == 1 or not block.ends_with_short_loop(unroll_max):
            return
        block.body.pop()  # and record several lanes at once
        share = self.lanes // self.together
        with loop(share) as lane:
            current().interleave(functools.partial(stage, self.at(lane + k * share)) for k in range(self.together))

    def any(self, condition: Callable[[Coords], Scalar]) -> Scalar:
        """Return whether the condition holds for a game of the block; on a GPU, for the thread's own."""
        if self.thread is not None or self.lanes == 1:
            return condition(self.at(0 if self.thread is None else self.thread))
        found = registers(1, INT)
        found[0] = 0
        with loop(self.lanes) as lane:
            found[0] = found[0] | integer(condition(self.at(lane)))
        return found[0] != 0

    def registers(self, words: int, dtype: DType) -> Cells:
        """Return an array of the block's own, of so many words a game."""
        return registers(words * (self.lanes if self.thread is None else 1), dtype)


class Words:
    """The words of a block's games, in a state's buffer or in registers, by the names of a layout."""

    def __init__(self, layout: Layout, cells: Cells, in_registers: bool = False, count: int | None = None):
        """Wrap an array with `count` words per game; None: all of a state, or in registers those of its fields."""
        self.layout, self.cells, self.in_registers = layout, cells, in_registers
        self.count = count or (layout.field_words if in_registers else layout.words)

    def place(self, at: Coords) -> Place:
        return at.register if self.in_registers else at.batch

    def load(self, at: Coords) -> Callable[[Any], Scalar]:
        """Return a function from a word's number to its value, for the layout's `get_...`; each is loaded once."""
        place, version = self.place(at), self.cells.array.version

        @functools.cache
        def load_once(w: int) -> Scalar:
            assert self.cells.array.version == version, "a word is first read after a store to its array"
            return self.cells[place.index(w, self.count)]

        return lambda w: load_once(w) if isinstance(w, int) else self.cells[place.index(w, self.count)]

    def store(self, at: Coords, **values: Any) -> None:
        """Store what is given, see `Layout.put`."""
        place = self.place(at)

        def store_word(w: Any, x: Scalar) -> None:
            self.cells[place.index(w, self.count)] = x

        self.layout.put(store_word, **values)

    def store_words(self, at: Coords, word: Callable[[int], Scalar], count: int) -> None:
        """Store the first words as they are."""
        place, values = self.place(at), [word(w) for w in range(count)]
        for w, x in enumerate(values):
            self.cells[place.index(w, self.count)] = x

    def over(self, at: Coords) -> Scalar:
        """Return whether a game is over."""
        terminated, truncated = self.layout.get_flags(self.load(at))
        return terminated | truncated
