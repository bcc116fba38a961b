"""Where the games of a batch stand in a kernel: arrays of blocks of rows of lanes, and the loops over them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from tinygrad import UOp, dtypes
from tinygrad.dtype import AddrSpace, DType
from tinygrad.uop.ops import AxisType

from tensor_envs.core.game import Game, constant, flat
from tensor_envs.core.memory import MemoryArray, loop, number
from tensor_envs.core.spec import STORAGE, Field, GameState

SMALL = 800  # operations of a stage that several lanes play at once: one waits for its own results
TOGETHER = 4  # those lanes


class Place(NamedTuple):
    """Where a game stands in a flat array of `blocks` blocks of rows of `lanes` lanes."""

    block: Any
    lane: Any
    blocks: int
    lanes: int


class At(NamedTuple):
    """Where a game stands: block and lane in the batch's arrays, and in registers."""

    batch: Place
    register: Place


def cell(array: UOp, row: UOp | int, place: Place) -> UOp:
    rows = int(array.shape[0]) // (place.blocks * place.lanes)
    return array[(place.block * rows + row) * place.lanes + place.lane]


def cells(array: UOp, rows: range, place: Place) -> list[UOp]:
    """Some rows of a game, loaded."""
    return [cell(array, row, place).load() for row in rows]


def fill(array: UOp, first: int, values: Iterable[Any], place: Place) -> list[UOp]:
    """The stores of some rows of a game."""
    return [cell(array, first + k, place).store(value) for k, value in enumerate(values)]


class Block:
    """The loops of a kernel: over blocks of games, and again and again over the lanes of a block."""

    def __init__(self, blocks: int, lanes: int, gpu: bool, together: bool):
        """together: whether several lanes may be played at once; on a GPU a lane is a thread."""
        self.blocks, self.lanes = blocks, lanes
        self.together = TOGETHER if together and lanes % TOGETHER == 0 else 1
        self.block = loop(blocks, AxisType.GLOBAL if gpu else AxisType.WEAK)
        self.thread = loop(lanes, AxisType.LOCAL) if gpu else None

    def at(self, lane: UOp) -> At:
        batch = Place(self.block, lane, self.blocks, self.lanes)
        return At(batch, Place(0, lane, 1, self.lanes) if self.thread is None else Place(0, 0, 1, 1))

    def each(self, stage: Callable[[At], list[UOp]]) -> UOp:
        """The stores of a stage, for every lane."""
        if self.thread is not None:
            return UOp.group(*stage(self.at(self.thread)))
        lane = loop(self.lanes)
        stores = UOp.group(*stage(self.at(lane)))
        if self.together == 1 or len(stores.toposort()) >= SMALL:
            return stores.end(lane)
        share = self.lanes // self.together
        lane = loop(share)
        several = [store for k in range(self.together) for store in stage(self.at(lane + k * share))]
        return UOp.group(*several).end(lane)

    def registers(self, rows: int, dtype: DType) -> UOp:
        size = rows * (self.lanes if self.thread is None else 1)
        return UOp.placeholder((size,), dtype, number(), AddrSpace.REG).after(self.block)

    def end(self, done: UOp) -> UOp:
        return done.end(*([self.block] if self.thread is None else [self.thread, self.block]))


class Rows:
    """The fields of a block's games: rows of one array a storage dtype, in the batch's buffers or in registers."""

    def __init__(self, game: Game, arrays: Sequence[UOp], registers: bool = False):
        self.game, self.arrays, self.registers = game, arrays, registers
        self.places = game.spec.places()

    @staticmethod
    def held(game: Game, block: Block) -> Rows:
        sizes = {dtype: sum(f.size for f in fields) for dtype, fields in game.spec.layout().items()}
        return Rows(game, [block.registers(rows, dtype) for dtype, rows in sizes.items()], registers=True)

    def after(self, *deps: UOp) -> Rows:
        return Rows(self.game, [array.after(*deps) for array in self.arrays], self.registers)

    def element(self, name: str, k: UOp | int, at: At) -> UOp:
        n, row = self.places[name]
        return cell(self.arrays[n], row + k, at.register if self.registers else at.batch)

    def load(self, at: At) -> GameState:
        values: dict[str, Any] = {}
        for name, field in self.game.fields.items():

            def read(k: UOp | int, field: Field = field) -> UOp:
                word = self.element(field.name, k, at).load()
                # tinygrad takes a cast from unsigned to signed for one that never yields a negative number
                signed = word.bitcast(field.dtype) if field.dtype in dtypes.sints else word.cast(field.dtype)
                return signed.cast(field.scalar_dtype)

            if field.memory:
                values[name] = MemoryArray(read, field.size)
            else:
                values[name] = [read(k) for k in range(field.size)] if field.shape else read(0)
        return GameState(values)

    def store(self, s: GameState, at: At) -> list[UOp]:
        stores = []
        for name, field in self.game.fields.items():
            value, storage = getattr(s, name), STORAGE[field.dtype]
            if field.memory:
                k = loop(field.size)
                stores.append(self.element(name, k, at).store(value[k].cast(storage)).end(k))
                continue
            words = [constant(v, field.scalar_dtype).cast(field.dtype).cast(storage) for v in flat(value)]
            stores += [self.element(name, k, at).store(word) for k, word in enumerate(words)]
        return stores
