"""Kernel of observations and legal action masks, one value per entry.

First every game writes its parts into byte registers: eight bits of a set, or the value of a one-hot part. Then these
are expanded: by lanes for learners on the device, [blocks, entries, lanes], or game by game for the host.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from tinygrad import dtypes

from tensor_envs._compiler.tape import INT, WORD
from tensor_envs._engine.kernels.base import Coords, Tracer, Words, load
from tensor_envs.rules.kernel import Cells, loop, registers, tracing
from tensor_envs.rules.lists import MemoryArray
from tensor_envs.rules.observation import Number, OneHot, Part
from tensor_envs.rules.scalar import WORD_BITS, Scalar, integer, where, word

if TYPE_CHECKING:
    from tensor_envs._engine.game import Game
    from tensor_envs._engine.layout import Layout

BYTE = 8
FILL_UNROLL_MAX_INSTRUCTIONS = 100  # bytes of several lanes are rarely vectorised
DTYPES = {name: getattr(dtypes, name) for name in ("bool", "int8", "int16", "int32", "float32")}


class ObservationArrays(NamedTuple):
    """The arrays of an observation in a kernel; None for what is not wanted."""

    observation: Any
    mask: Any  # bool
    table: Any  # see `ObservationPlan.table`


class Piece(NamedTuple):
    """Adjacent entries that are stored in registers: bits, eight per row, or one row with the index of the 1."""

    entry: int
    row: int
    size: int
    one_hot: bool

    @property
    def rows(self) -> int:
        return 1 if self.one_hot else -(-self.size // BYTE)

    def lookup(self) -> Iterator[tuple[int, int, int]]:
        """Yield for each entry its register row, the bits to compare, and their value if the entry is 1."""
        for k in range(self.size):
            bit = 1 << k % BYTE
            yield (self.row, 0xFFFFFFFF, k) if self.one_hot else (self.row + k // BYTE, bit, bit)


class ObservationPlan:
    """Map from the entries of a game's observation, and of its mask, to registers.

    Attributes:
        pieces: pieces of the observation; numbers and sets in memory are in none and need no registers.
        mask: the piece of the mask; None for a mask in memory.
        rows: number of register rows of the observation; those of the mask follow.
        table: four numbers per entry of the pieces and the mask: register row (two bytes), bits to compare, their
            value. They have the dtype of the registers, so that comparisons are as narrow.
    """

    def __init__(self, game: Game, layout: Layout):
        with tracing():
            words, player = registers(layout.words, WORD), registers(1, INT)[0]
            parts = game.observe(layout.get_state(words.__getitem__), layout.get_mask(words.__getitem__), player)
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
        entries = [entry for piece in (*self.pieces, self.mask) if piece for entry in piece.lookup()]
        rows, bits, values = np.array(entries or [(0, 0, 0)], np.uint32).T
        columns = np.stack([rows & 0xFF, rows >> 8, bits, values], axis=1)
        self.table = columns.astype(np.uint32 if wide else np.uint8)

    @property
    def runs(self) -> list[tuple[int, int, int]]:
        """Runs of entries that are adjacent in the observation and in the table: entry, place in the table, length."""
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
    """Return the first `size` bits of words, in bytes."""
    return [words[i // WORD_BITS] >> i % WORD_BITS & 0xFF for i in range(0, size, BYTE)]


class ObservationStage:
    """The part of a kernel that writes observations and masks."""

    def __init__(self, t: Tracer, a: ObservationArrays, players: Cells | int | None = None, lanes: int | None = None):
        """Prepare the observation of `players`: an array, one player in all games, or None, the player to move.

        lanes: lanes of the state, to store observations game by game; None stores them by lanes.
        """
        self.t, self.a, self.players, self.row_major = t, a, players, lanes is not None
        self.lanes = lanes or t.grid.lanes
        self.plan = ObservationPlan(t.game, t.layout)
        self.rows = max(self.plan.rows + (self.plan.mask.rows if self.plan.mask else 0), 1)
        self.registers = t.block.registers(self.rows, self.plan.dtype)

    def trace(self, words: Words) -> None:
        """Write the observations and masks of a block, given its games."""
        self.t.block.each(lambda at: self._fill(words, at), FILL_UNROLL_MAX_INSTRUCTIONS)
        pieces = [(self.a.observation, piece) for piece in self.plan.pieces if self.a.observation is not None]
        if self.a.mask is not None and self.plan.mask:
            pieces.append((self.a.mask, self.plan.mask))
        if self.row_major:
            if pieces:
                self._each_lane(lambda at: self._store(pieces, at))
            return
        if self.a.observation is not None:
            for run in self.plan.runs:
                self._expand(self.a.observation, *run)
        if self.a.mask is not None and self.plan.mask:
            place = sum(piece.size for piece in self.plan.pieces)
            self._expand(self.a.mask, 0, place, self.plan.mask.size)

    def _each_lane(self, stage: Callable[[Coords], None]) -> None:
        """Record a short stage for every lane; unrolled vectors would not pay."""
        self.t.block.each(stage, unroll_max=0)

    def _index(self, array: Cells, at: Coords, entry: Any) -> Any:
        entries = array.size // self.t.grid.rows
        return at.batch.row * entries + entry if self.row_major else at.batch.index(entry, entries)

    def _register(self, row: Any, at: Coords) -> Scalar:
        return self.registers[at.register.index(row, self.rows)]

    def _fill(self, words: Words, at: Coords) -> None:
        """Write a game's parts into registers."""
        source = self.t.place_in(self.lanes, at)
        game, layout = words.load(source), self.t.layout
        mask = layout.get_mask(game)
        rows: list[Scalar] = []  # register rows
        if self.a.observation is not None:
            s = layout.get_state(game)
            if self.players is None:
                player = s.current_player
            elif isinstance(self.players, int):
                player = integer(self.players)
            else:
                player = load(self.players, source.batch)[0]
            entry = 0
            for part in self.t.game.observe(s, mask, player):
                self._part(part, entry, rows, at)
                entry += part.size
        if self.a.mask is not None:
            if isinstance(mask, MemoryArray):
                self._memory(self.a.mask, 0, mask, self.t.game.spec.num_actions, at)
            else:
                rows += [word(0)] * (self.plan.rows - len(rows))
                rows += _bytes(mask, self.t.game.spec.num_actions)
        for row, value in enumerate(rows):
            self.registers[at.register.index(row, self.rows)] = value

    def _part(self, part: Part, entry: int, rows: list[Scalar], at: Coords) -> None:
        """Append the register rows of a part, or store the entries of a part without registers."""
        if isinstance(part, Number):
            self.a.observation[self._index(self.a.observation, at, entry)] = part.value
        elif isinstance(part, OneHot):
            inside = (part.value >= 0) & (part.value < part.size)
            rows.append(where(inside, word(part.value), 0xFF if self.plan.dtype is dtypes.uint8 else 0xFFFFFFFF))
        elif isinstance(part.words, MemoryArray):
            self._memory(self.a.observation, entry, part.words, part.size, at)
        else:
            rows += _bytes(part.words, part.size)

    def _memory(self, array: Cells, entry: int, words: MemoryArray, size: int, at: Coords) -> None:
        """Write the bits of a set that is too large for registers."""
        whole, rest = divmod(size, WORD_BITS)
        for first, count, width in ((0, whole, WORD_BITS), (whole, 1, rest)):
            if count and width:
                with loop(count) as w, loop(width) as k:
                    bit = words[w + first] >> k & 1
                    array[self._index(array, at, entry + first * WORD_BITS + w * WORD_BITS + k)] = bit != 0

    def _expand(self, array: Cells, entry: int, place: int, count: int) -> None:
        """Write adjacent entries by lanes; a table locates them in registers, so that loops over lanes vectorise."""
        with loop(count) as i:
            low, high, bits, value = (self.a.table[(place + i) * 4 + k] for k in range(4))
            row = integer(low & 0xFF) + integer(high & 0xFF) * 256

            def expand(at: Coords) -> None:
                array[self._index(array, at, entry + i)] = (self._register(row, at) & bits) == value

            self._each_lane(expand)

    def _store(self, pieces: Sequence[tuple[Cells, Piece]], at: Coords) -> None:
        for array, piece in pieces:
            self._store_piece(array, piece, at)

    def _store_piece(self, array: Cells, piece: Piece, at: Coords) -> None:
        """Store the entries of a piece row by row: eight bits at once, which compilers vectorise."""

        def write_byte(i: Any, size: int = BYTE) -> None:
            bits = self._register(i + piece.row, at)
            for k in range(size):
                array[self._index(array, at, piece.entry + i * BYTE + k)] = (bits & 1 << k) != 0

        if piece.one_hot:
            with loop(piece.size) as i:
                number = i.to(self.plan.dtype)
                array[self._index(array, at, piece.entry + i)] = self._register(piece.row, at) == number
            return
        whole, rest = divmod(piece.size, BYTE)
        if rest:
            write_byte(whole, rest)
        if whole:
            with loop(whole) as i:
                write_byte(i)


@dataclass(frozen=True)
class Observe:
    """Write observations, legal action masks, or both.

    Attributes:
        player: a player in all games, None for the player to move, or "each" for the array `players`.
        lanes: lanes of the state, to store entries game by game; None stores them by lanes.
    """

    player: int | str | None
    lanes: int | None = None
    name = "observe"

    class Arrays(NamedTuple):
        out: ObservationArrays
        old: Any
        players: Any = None  # int32

    def trace(self, t: Tracer, a: Arrays) -> None:
        players = a.players if isinstance(self.player, str) else self.player
        ObservationStage(t, a.out, players, self.lanes).trace(t.words(a.old))
