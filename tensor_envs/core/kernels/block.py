"""Where the games of a batch stand in a kernel: arrays of blocks of words of lanes, and the loops over them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
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
UNROLL_MAX_OPS = 800  # operations of a stage that several lanes play at once: one waits for its own results
UNROLL_LANES = 4  # those lanes


@dataclass(frozen=True)
class Grid:
    """How a device's share of a batch is cut: blocks of lanes. The last block may have lanes that nobody reads."""

    blocks: int
    lanes: int
    gpu: bool

    @property
    def rows(self) -> int:
        return self.blocks * self.lanes


class Place(NamedTuple):
    """Where a game stands in a flat array [blocks, words, lanes]."""

    block: Any
    lane: Any
    blocks: int
    lanes: int

    def cell(self, array: UOp, word: Any) -> UOp:
        words = int(array.shape[0]) // (self.blocks * self.lanes)
        if isinstance(word, Scalar):
            word = word.node
        return array[(self.block * words + word) * self.lanes + self.lane]


class Coords(NamedTuple):
    """Where a game stands: in the batch's arrays, and in registers."""

    batch: Place
    register: Place


def load(array: UOp, place: Place, words: Iterable[Any] = (0,), dtype: DType = WORD) -> list[Scalar]:
    """Some words of a game."""
    return [Scalar(place.cell(array, w).load(), dtype) for w in words]


def store(array: UOp, place: Place, values: Iterable[Any], first: int = 0) -> list[UOp]:
    """The stores of some words of a game, from `first` on."""
    return [place.cell(array, first + w).store(as_scalar(x).uop()) for w, x in enumerate(values)]


class Block:
    """The loops of a kernel: over blocks of games, and again and again over the lanes of a block."""

    def __init__(self, grid: Grid, unroll: bool):
        """unroll: whether several lanes may be played at once; on a GPU a lane is a thread."""
        self.grid = grid
        self.lanes = grid.lanes
        self.together = UNROLL_LANES if unroll and grid.lanes % UNROLL_LANES == 0 else 1
        self.block = loop(grid.blocks, AxisType.GLOBAL if grid.gpu else AxisType.WEAK)
        self.thread = loop(grid.lanes, AxisType.LOCAL) if grid.gpu else None

    def at(self, lane: Any) -> Coords:
        batch = Place(self.block, lane, self.grid.blocks, self.lanes)
        return Coords(batch, Place(0, lane, 1, self.lanes) if self.thread is None else Place(0, 0, 1, 1))

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
        return register(words * (self.lanes if self.thread is None else 1), dtype).after(self.block)

    def end(self, done: UOp) -> UOp:
        return done.end(*([self.block] if self.thread is None else [self.thread, self.block]))


class Words:
    """The words of a block's games, in a state's buffer or in registers, by the names of a layout."""

    def __init__(self, layout: Layout, array: UOp, in_registers: bool = False):
        self.layout, self.array, self.in_registers = layout, array, in_registers

    def after(self, *deps: UOp) -> Words:
        return Words(self.layout, self.array.after(*deps), self.in_registers)

    def place(self, at: Coords) -> Place:
        return at.register if self.in_registers else at.batch

    def load(self, at: Coords) -> Callable[[Any], Scalar]:
        """A game's words, each loaded once; for the layout's `get_...`."""
        place, loaded = self.place(at), {}

        def word(w: Any) -> Scalar:
            if not isinstance(w, int):
                return load(self.array, place, [w])[0]
            if w not in loaded:
                loaded[w] = load(self.array, place, [w])[0]
            return loaded[w]

        return word

    def store(self, at: Coords, **values: Any) -> list[UOp]:
        """The stores of what is given, see `Layout.put`."""
        place = self.place(at)
        return self.layout.put(lambda w, x: place.cell(self.array, w).store(x.uop()), **values)

    def over(self, at: Coords) -> Scalar:
        """Whether a game is over."""
        terminated, truncated = self.layout.get_flags(self.load(at))
        return terminated | truncated
