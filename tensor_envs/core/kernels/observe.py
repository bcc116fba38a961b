"""Observations and masks, a value an entry: for learners, who want them at every step.

First every game writes its parts into byte registers: eight bits of a set, or the number of a one-hot part. Then these
are expanded, by lanes for learners on the device, [blocks, entries, lanes], or game by game for the host.
"""

from __future__ import annotations

from collections.abc import Iterator
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
from tensor_envs.rules.observation import Number, OneHot, Part
from tensor_envs.rules.scalar import INT, WORD, Scalar, integer, where, word

BYTE = 8
DTYPES = {name: getattr(dtypes, name) for name in ("bool", "int8", "int16", "int32", "float32")}


class ObservationArrays(NamedTuple):
    """The arrays of an observation in a kernel; None for what is not wanted."""

    observation: Any
    mask: Any  # bool
    table: Any  # see `ObservationPlan.table`


class Piece(NamedTuple):
    """Entries next to each other that stand in registers: bits, eight a row, or which of them is 1, in one row."""

    entry: int
    row: int
    size: int
    one_hot: bool

    @property
    def rows(self) -> int:
        return 1 if self.one_hot else -(-self.size // BYTE)

    def lookup(self) -> Iterator[tuple[int, int, int]]:
        """For each entry: a row, bits of it, and the value of these where the entry is 1."""
        for k in range(self.size):
            bit = 1 << k % BYTE
            yield (self.row, 0xFFFFFFFF, k) if self.one_hot else (self.row + k // BYTE, bit, bit)


class ObservationPlan:
    """How the entries of a game's observation, and of its mask, are found in registers.

    Attributes:
        pieces: of the observation; what is in none (numbers, sets in memory) is stored without registers.
        mask: all of its entries; None for a mask in memory.
        rows: of the observation's registers; those of the mask follow.
        table: four numbers an entry of the pieces, then of the mask: register row (two bytes), bits of it, their value.
            They have the registers' dtype, so that comparisons are as narrow.
    """

    def __init__(self, game: Game, layout: Layout):
        with tracing():
            words = register(layout.words, dtypes.uint32)

            def cell(w: Any) -> Scalar:
                return Scalar(words[w if isinstance(w, int) else w.uop()].load(), WORD)

            player = Scalar(register(1, dtypes.int32)[0].load(), INT)
            parts = game.observe(layout.get_state(cell), layout.get_mask(cell), player)
        self.pieces: list[Piece] = []
        self.rows = position = 0
        for part in parts:
            if in_registers(part):
                self.pieces.append(Piece(position, self.rows, part.size, isinstance(part, OneHot)))
                self.rows += self.pieces[-1].rows
            position += part.size
        self.mask = None if game.has_memory else Piece(0, self.rows, game.spec.num_actions, False)
        wide = any(piece.one_hot and piece.size > 255 for piece in self.pieces)
        self.dtype = dtypes.uint32 if wide else dtypes.uint8
        known = [entry for piece in (*self.pieces, self.mask) if piece for entry in piece.lookup()]
        rows, bits, values = np.array(known or [(0, 0, 0)], np.uint32).T
        columns = np.stack([rows & 0xFF, rows >> 8, bits, values], axis=1)
        self.table = columns.astype(np.uint32 if wide else np.uint8)

    @property
    def runs(self) -> list[tuple[int, int, int]]:
        """Entry, place in the table and number of entries of the observation that are next to each other in both."""
        runs: list[tuple[int, int, int]] = []
        place = 0
        for piece in self.pieces:
            if runs and sum(runs[-1][::2]) == piece.entry:
                runs[-1] = (*runs[-1][:2], runs[-1][2] + piece.size)
            else:
                runs.append((piece.entry, place, piece.size))
            place += piece.size
        return runs


def in_registers(part: Part) -> bool:
    return not isinstance(part, Number) and not isinstance(getattr(part, "words", None), MemoryArray)


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
        lanes: int | None = None,
    ):
        """players: who sees: an array, one player in all games, or None, the player to move.

        lanes: of the games, if observations are to be stored game by game.
        """
        self.t, self.a, self.players, self.row_major = t, a, players, lanes is not None
        self.lanes = lanes or t.grid.lanes
        self.plan = ObservationPlan(t.game, t.layout)
        self.rows = max(self.plan.rows + (self.plan.mask.rows if self.plan.mask else 0), 1)
        self.registers = t.block.registers(self.rows, self.plan.dtype)

    def trace(self, words: Words) -> UOp:
        """The stores of a block, given its games."""
        filled = self.t.block.each(lambda at: self._fill(words, at))
        seen, mask = self.a.observation is not None, self.a.mask is not None and self.plan.mask
        registers = self.registers.after(filled)
        if not mask and not (seen and self.plan.pieces):
            return filled
        if self.row_major:
            pieces = [(self.a.observation, piece) for piece in self.plan.pieces * seen]
            pieces += [(self.a.mask, mask)] if mask else []
            return self.t.block.each_lane(
                lambda at: UOp.group(*(x for piece in pieces for x in self._store(registers, *piece, at)))
            )
        ends = [self._expand(registers, self.a.observation, *run) for run in self.plan.runs * seen]
        if mask:
            place = sum(piece.size for piece in self.plan.pieces)
            ends.append(self._expand(registers, self.a.mask, 0, place, mask.size))
        return UOp.group(*ends)

    def _cell(self, array: UOp, at: Coords, entry: Any) -> UOp:
        entries = int(array.shape[0]) // self.t.grid.rows
        if self.row_major:
            return array[at.batch.row * entries + entry]
        return at.batch.cell(array, entry, entries)

    def _register(self, registers: UOp, row: Any, at: Coords) -> UOp:
        return at.register.cell(registers, row, self.rows)

    def _fill(self, words: Words, at: Coords) -> list[UOp]:
        source = self.t.place_in(self.lanes, at)
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
            stores.append(self._register(self.registers, row, at).store(value.uop().cast(self.plan.dtype)))
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

    def _expand(self, registers: UOp, array: UOp, entry: int, place: int, count: int) -> UOp:
        """Entries next to each other by lanes: a table says for each what to look at, so that lanes are vectors."""
        i = loop(count)
        low, high, bits, value = (self.a.table[(place + i) * 4 + k].load() for k in range(4))
        row = (low & 0xFF).cast(dtypes.int32) + (high & 0xFF).cast(dtypes.int32) * 256

        def stage(at: Coords) -> UOp:
            seen = (self._register(registers, row, at).load() & bits).eq(value)
            return self._cell(array, at, entry + i).store(seen.cast(array.dtype))

        return self.t.block.each_lane(stage).end(i)

    def _store(self, registers: UOp, array: UOp, piece: Piece, at: Coords) -> list[UOp]:
        """The entries of a piece game by game: eight bits at once, of which compilers make a vector."""

        def put(entry: UOp | int, x: UOp) -> UOp:
            return self._cell(array, at, piece.entry + entry).store(x.cast(array.dtype))

        def eight(i: UOp | int, size: int = BYTE) -> list[UOp]:
            bits = self._register(registers, i + piece.row, at).load()
            return [put(i * BYTE + k, (bits & 1 << k).ne(0)) for k in range(size)]

        if piece.one_hot:
            i = loop(piece.size)
            return [
                put(i, self._register(registers, piece.row, at).load().eq(i.cast(registers.dtype))).end(i)
            ]
        whole, rest = divmod(piece.size, BYTE)
        i = loop(whole)
        return eight(whole, rest) + ([UOp.group(*eight(i)).end(i)] if whole else [])


@dataclass(frozen=True)
class Observe:
    """Write what a player sees, the legal actions, or both.

    player: one in all games, None (who is to move) or "each": by `players`. lanes: of the games, if the entries are to
    be stored game by game.
    """

    player: int | str | None
    lanes: int | None = None
    name = "observe"

    class Arrays(NamedTuple):
        seen: ObservationArrays
        old: Any
        players: Any = None  # int32

    def trace(self, t: Tracer, a: Arrays) -> UOp:
        players = a.players if isinstance(self.player, str) else self.player
        done = ObservationStage(t, a.seen, players, self.lanes).trace(t.words(a.old))
        return t.block.end(done)
