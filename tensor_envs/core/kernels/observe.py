"""Observations and masks, a value an entry: for learners, who want them at every step.

First every game writes its parts into byte registers: eight bits of a set, or the number of a one-hot part. Then a loop
over entries reads for each which register to look at, which bits of it, and what they must be, from a table; its inner
loop over the lanes is vector code. An observation is stored as [blocks, entries, lanes].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from tinygrad import UOp, dtypes

from tensor_envs.core.game import Game
from tensor_envs.core.kernels.block import Coords, Words, load
from tensor_envs.core.kernels.tracer import Tracer
from tensor_envs.core.layout import Layout
from tensor_envs.rules.bits import WORD_BITS
from tensor_envs.rules.control import loop, register, tracing
from tensor_envs.rules.lists import MemoryArray
from tensor_envs.rules.observation import Bits, Number, OneHot, Part
from tensor_envs.rules.scalar import INT, WORD, Scalar, integer, where, word

BYTE = 8
DTYPES = {name: getattr(dtypes, name) for name in ("bool", "int8", "int16", "int32", "float32")}


class ObservationArrays(NamedTuple):
    """The arrays of an observation in a kernel; None for what is not wanted."""

    observation: Any
    mask: Any  # bool
    table: Any  # see `ObservationPlan.table`


class ObservationPlan:
    """How the entries of a game's observation, and of its mask behind them, are found in registers.

    Attributes:
        table: four numbers a tabled entry, of the registers' dtype, so that comparisons are as narrow: register row
            (two bytes), bits of it, their value.
        runs: (entry, tabled entry, length) of entries next to each other that are read by the table.
        rows: of the observation's registers; those of the mask follow.
        mask_first: tabled entry of the mask's first.
    """

    def __init__(self, game: Game, layout: Layout):
        with tracing():
            words = register(layout.words, dtypes.uint32)

            def cell(w: Any) -> Scalar:
                return Scalar(words[w if isinstance(w, int) else w.uop()].load(), WORD)

            player = Scalar(register(1, dtypes.int32)[0].load(), INT)
            parts = game.observe(layout.get_state(cell), layout.get_mask(cell), player)
        entries: list[tuple[int, int, int]] = []
        self.runs: list[tuple[int, int, int]] = []
        self.rows, position = 0, 0
        for part in parts:
            if isinstance(part, Number) or (isinstance(part, Bits) and isinstance(part.words, MemoryArray)):
                position += part.size
                continue
            first = len(entries)
            if isinstance(part, OneHot):
                entries += [(self.rows, 0xFFFFFFFF, k) for k in range(part.size)]
                self.rows += 1
            else:
                entries += [_bit_entry(self.rows, k) for k in range(part.size)]
                self.rows += -(-part.size // BYTE)
            if self.runs and self.runs[-1][0] + self.runs[-1][2] == position:
                entry, start, length = self.runs.pop()
                self.runs.append((entry, start, length + part.size))
            else:
                self.runs.append((position, first, part.size))
            position += part.size
        self.mask_first, self.mask_rows = len(entries), 0
        if not game.has_memory:
            entries += [_bit_entry(self.rows, action) for action in range(game.spec.num_actions)]
            self.mask_rows = -(-game.spec.num_actions // BYTE)
        wide = any(isinstance(part, OneHot) and part.size > 255 for part in parts)
        self.dtype = dtypes.uint32 if wide else dtypes.uint8
        rows, bits, values = np.array(entries or [(0, 0, 0)], np.uint32).T
        columns = np.stack([rows & 0xFF, rows >> 8, bits, values], axis=1)
        self.table = columns.astype(np.uint32 if wide else np.uint8)


def _bit_entry(row: int, k: int) -> tuple[int, int, int]:
    return row + k // BYTE, 1 << k % BYTE, 1 << k % BYTE


def _bytes(words: Any, size: int) -> list[Scalar]:
    """The first `size` bits of words, eight by eight."""
    return [words[i // WORD_BITS] >> i % WORD_BITS & 0xFF for i in range(0, size, BYTE)]


class ObservationStage:
    """The part of a kernel that writes observations and masks."""

    def __init__(
        self,
        t: Tracer,
        a: ObservationArrays,
        players: UOp | int | None = None,
        source: tuple[int, int] | None = None,
    ):
        """players: who sees: an array, one player in all games, or None, the player to move.

        source: blocks and lanes of the games, if observations are to be stored game by game.
        """
        self.t, self.a, self.players, self.row_major = t, a, players, source is not None
        self.source = source or (t.grid.blocks, t.grid.lanes)
        self.plan = ObservationPlan(t.game, t.layout)
        self.registers = t.block.registers(max(self.plan.rows + self.plan.mask_rows, 1), self.plan.dtype)

    def trace(self, words: Words) -> UOp:
        """The stores of a block, given its games."""
        filled = self.t.block.each(lambda at: self._fill(words, at))
        ends: list[UOp] = []
        registers = self.registers.after(filled)
        if self.a.observation is not None:
            ends += [self._expand(registers, self.a.observation, *run) for run in self.plan.runs]
        if self.a.mask is not None and self.plan.mask_rows:
            count = self.t.game.spec.num_actions
            ends.append(self._expand(registers, self.a.mask, 0, self.plan.mask_first, count))
        return UOp.group(*ends) if ends else filled

    def _cell(self, array: UOp, at: Coords, entry: Any) -> UOp:
        if not self.row_major:
            return at.batch.cell(array, entry)
        entries = int(array.shape[0]) // self.t.grid.rows
        return array[(at.batch.block * at.batch.lanes + at.batch.lane) * entries + entry]

    def _fill(self, words: Words, at: Coords) -> list[UOp]:
        source = self.t.place_in(self.source, at)
        game, layout = words.load(source), self.t.layout
        mask = layout.get_mask(game)
        stores: list[UOp] = []
        rows: list[Scalar] = []  # what goes into the registers
        if self.a.observation is not None:
            s = layout.get_state(game)
            if self.players is None:
                player = s.current_player
            elif isinstance(self.players, int):
                player = integer(self.players)
            else:
                player = load(self.players, source.batch, dtype=INT)[0]
            entry = 0
            for part in self.t.game.observe(s, mask, player):
                stores += self._part(part, entry, rows, at)
                entry += part.size
        if self.a.mask is not None:
            if isinstance(mask, MemoryArray):
                stores += self._memory(self.a.mask, 0, mask, self.t.game.spec.num_actions, at)
            else:
                rows += [word(0)] * (self.plan.rows - len(rows))
                rows += _bytes(mask, self.t.game.spec.num_actions)
        for row, value in enumerate(rows):
            stores.append(at.register.cell(self.registers, row).store(value.uop().cast(self.plan.dtype)))
        return stores

    def _part(self, part: Part, entry: int, rows: list[Scalar], at: Coords) -> list[UOp]:
        """Append the register rows of a part; the stores of what needs none."""
        if isinstance(part, Number):
            dtype = DTYPES[self.t.game.spec.observation_dtype]
            return [self._cell(self.a.observation, at, entry).store(part.value.uop().cast(dtype))]
        if isinstance(part, OneHot):
            inside = (part.value >= 0) & (part.value < part.size)
            nowhere = 0xFF if self.plan.dtype is dtypes.uint8 else 0xFFFFFFFF
            rows.append(where(inside, word(part.value), nowhere))
        elif isinstance(part.words, MemoryArray):
            return self._memory(self.a.observation, entry, part.words, part.size, at)
        else:
            rows += _bytes(part.words, part.size)
        return []

    def _memory(self, array: UOp, entry: int, words: MemoryArray, size: int, at: Coords) -> list[UOp]:
        """The bits of a set that is too large for registers."""
        ends = []
        whole, rest = divmod(size, WORD_BITS)
        for first, count, width in ((0, whole, WORD_BITS), (whole, 1, rest)):
            if count and width:
                w, k = loop(count), loop(width)
                bit = (words[Scalar(w + first, INT)] >> Scalar(k, INT) & 1) != 0
                cell = self._cell(array, at, entry + first * WORD_BITS + w * WORD_BITS + k)
                ends.append(cell.store(bit.uop().cast(array.dtype)).end(k).end(w))
        return ends

    def _expand(self, registers: UOp, array: UOp, entry: int, tabled: int, count: int) -> UOp:
        """Entries next to each other, from their registers."""
        if self.row_major:
            return self.t.block.each_lane(
                lambda at: self._expanded(registers, array, entry, tabled, loop(count), at)
            )
        i = loop(count)
        return self.t.block.each_lane(lambda at: self._entry(registers, array, entry, tabled, i, at)).end(i)

    def _expanded(self, registers: UOp, array: UOp, entry: int, tabled: int, i: UOp, at: Coords) -> UOp:
        return self._entry(registers, array, entry, tabled, i, at).end(i)

    def _entry(self, registers: UOp, array: UOp, entry: int, tabled: int, i: UOp, at: Coords) -> UOp:
        low, high, bits, value = (self.a.table[(tabled + i) * 4 + k].load() for k in range(4))
        row = (low & 0xFF).cast(dtypes.int32) + (high & 0xFF).cast(dtypes.int32) * 256
        seen = (at.register.cell(registers, row).load() & bits).eq(value)
        return self._cell(array, at, entry + i).store(seen.cast(array.dtype))


@dataclass(frozen=True)
class Observe:
    """Write what a player sees, the legal actions, or both.

    player: one in all games, None (who is to move) or "each": by `players`. source: blocks and lanes of the games, if
    the entries are to be stored game by game.
    """

    player: int | str | None
    source: tuple[int, int] | None = None
    name = "observe"

    class Arrays(NamedTuple):
        seen: ObservationArrays
        old: Any
        players: Any = None  # int32

    def trace(self, t: Tracer, a: Arrays) -> UOp:
        players = a.players if isinstance(self.player, str) else self.player
        done = ObservationStage(t, a.seen, players, self.source).trace(t.words(a.old))
        return t.block.end(done)
