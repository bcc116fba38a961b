"""Where the games of a batch stand in a kernel: arrays of blocks of words of lanes, and the loops over them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from tinygrad import UOp
from tinygrad.dtype import DType
from tinygrad.uop.ops import AxisType

from tensor_envs.core.layout import Layout
from tensor_envs.rules.control import loop, register
from tensor_envs.rules.scalar import WORD, Scalar
from tensor_envs.rules.scalar import scalar as as_scalar

LANES = 64  # games a block at most: on a GPU, threads a workgroup
# A kernel on the CPU is told how many blocks to play, so that one serves every batch up to this many: indices have 32
# bits then, and 64 in the kernels of larger ones.
MANY_BLOCKS = 2**14
UNROLL_MAX_OPS = 800  # operations of a stage that several lanes play at once: one waits for its own results
UNROLL_LANES = 4  # those lanes


@dataclass(frozen=True)
class Grid:
    """How a device's share of a batch is cut: blocks of lanes. The last block may have lanes that nobody reads."""

    blocks: int
    lanes: int
    gpu: bool
    branches: bool = True  # whether each game may take its own
    most: int = MANY_BLOCKS

    @property
    def rows(self) -> int:
        return self.blocks * self.lanes

    @property
    def most_blocks(self) -> int:
        """Those that a kernel for this grid is made for."""
        return self.most if self.blocks <= self.most else 2**31

    @functools.cached_property
    def form(self) -> Grid:
        """A grid that has the same kernels."""
        return self if self.gpu else Grid(self.most_blocks, self.lanes, False, most=self.most)


class Place(NamedTuple):
    """Where a game stands in a flat array [blocks, words, lanes]; how many words that is, who uses it knows."""

    block: Any
    lane: Any
    lanes: int

    @property
    def row(self) -> Any:
        return self.block * self.lanes + self.lane

    def cell(self, array: UOp, word: Any, words: int) -> UOp:
        if isinstance(word, Scalar):
            word = word.node
        return array[(self.block * words + word) * self.lanes + self.lane]


class Coords(NamedTuple):
    """Where a game stands: in the batch's arrays, and in registers."""

    batch: Place
    register: Place


def load(array: UOp, place: Place, words: int = 1, dtype: DType = WORD) -> list[Scalar]:
    """All words of a game."""
    return [Scalar(place.cell(array, w, words).load(), dtype) for w in range(words)]


def store(array: UOp, place: Place, values: Sequence[Any]) -> list[UOp]:
    """The stores of all words of a game."""
    return [place.cell(array, w, len(values)).store(as_scalar(x).uop()) for w, x in enumerate(values)]


class Block:
    """The loops of a kernel: over blocks of games, and again and again over the lanes of a block."""

    def __init__(self, grid: Grid, unroll: bool, share: UOp | None):
        """unroll: whether several lanes may be played at once; on a GPU a lane is a thread.

        share: int32, the first block to play and how many. None: all; on a GPU a workgroup plays each.
        """
        self.lanes = grid.lanes
        self.together = UNROLL_LANES if unroll and grid.lanes % UNROLL_LANES == 0 else 1
        self.thread = None
        self.first: UOp | None = None  # of the blocks that one thread plays one after the other
        if share is not None:
            self.first, count = (share[k].load().maximum(0).minimum(grid.most_blocks - 1) for k in range(2))
            self.turn = loop(count)
            self.block = self.first + self.turn
        else:
            self.turn = self.block = loop(grid.blocks, AxisType.GLOBAL if grid.gpu else AxisType.WEAK)
            self.thread = loop(grid.lanes, AxisType.LOCAL) if grid.gpu else None

    def at(self, lane: Any) -> Coords:
        batch = Place(self.block, lane, self.lanes)
        return Coords(batch, Place(0, lane, self.lanes) if self.thread is None else Place(0, 0, 1))

    def each(self, stage: Callable[[Coords], list[UOp]], once: bool = False) -> UOp:
        """The stores of a stage, for every lane. once: it is not worth the code that several lanes at once take."""
        if self.thread is not None:
            return UOp.group(*stage(self.at(self.thread)))
        lane = loop(self.lanes)
        stores = UOp.group(*stage(self.at(lane)))
        if once or self.together == 1 or len(stores.toposort()) >= UNROLL_MAX_OPS:
            return stores.end(lane)
        share = self.lanes // self.together
        lane = loop(share)
        several = [s for k in range(self.together) for s in stage(self.at(lane + k * share))]
        return UOp.group(*several).end(lane)

    def each_lane(self, stage: Callable[[Coords], UOp]) -> UOp:
        """A store for every lane, within other loops."""
        if self.thread is not None:
            return stage(self.at(self.thread))
        lane = loop(self.lanes)
        return stage(self.at(lane)).end(lane)

    def registers(self, words: int, dtype: DType) -> UOp:
        """An array of the block's own, of so many words a game."""
        return register(words * (self.lanes if self.thread is None else 1), dtype).after(self.turn)

    def end(self, done: UOp) -> UOp:
        return done.end(*([self.turn] if self.thread is None else [self.thread, self.turn]))


class Words:
    """The words of a block's games, in a state's buffer or in registers, by the names of a layout."""

    def __init__(self, layout: Layout, array: UOp, in_registers: bool = False, count: int | None = None):
        """count: of the words that a game has there; None: all of a state's, or in registers those of its fields."""
        self.layout, self.array, self.in_registers = layout, array, in_registers
        self.count = count or (layout.field_words if in_registers else layout.words)

    def after(self, *deps: UOp) -> Words:
        return Words(self.layout, self.array.after(*deps), self.in_registers, self.count)

    def place(self, at: Coords) -> Place:
        return at.register if self.in_registers else at.batch

    def load(self, at: Coords) -> Callable[[Any], Scalar]:
        """A game's words, each loaded once; for the layout's `get_...`."""
        place = self.place(at)

        def load_word(w: Any) -> Scalar:
            return Scalar(place.cell(self.array, w, self.count).load(), WORD)

        once = functools.cache(load_word)
        return lambda w: once(w) if isinstance(w, int) else load_word(w)

    def store(self, at: Coords, **values: Any) -> list[UOp]:
        """The stores of what is given, see `Layout.put`."""
        place = self.place(at)
        return self.layout.put(lambda w, x: place.cell(self.array, w, self.count).store(x.uop()), **values)

    def store_words(self, at: Coords, word: Callable[[int], Scalar], count: int) -> list[UOp]:
        """The stores of the first words, as they are."""
        place = self.place(at)
        return [place.cell(self.array, w, self.count).store(word(w).uop()) for w in range(count)]

    def over(self, at: Coords) -> Scalar:
        """Whether a game is over."""
        terminated, truncated = self.layout.get_flags(self.load(at))
        return terminated | truncated
