"""Kernel of outputs: observations, legal action masks, rewards, flags and the player to move.

The first stage collects a game's observation and mask in registers: numbers, and entries that are 0 or 1 as bits of
words. The second stage stores them as entries. Their order is row-major, [rows, entries], or on a GPU also by lanes,
[blocks, entries, lanes], where neighbouring threads store to neighbouring addresses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from tinygrad import dtypes

from tensor_envs._compiler.tape import FLOAT32, INT32, UINT32, Tape, record
from tensor_envs._engine.kernels.base import Coords, Tracer, Words, load
from tensor_envs.rules.kernel import UINTS, Cells, bitcast, loop, registers
from tensor_envs.rules.lists import MemoryArray, add_bits, num_words
from tensor_envs.rules.observation import Bits, Number, OneHot, Part
from tensor_envs.rules.scalar import WORD_BITS, Scalar, int32, uint32, where

if TYPE_CHECKING:
    from tensor_envs._engine.game import Game
    from tensor_envs._engine.layout import Layout
    from tensor_envs.rules.spec import GameState

# Longer runs are stored by a loop, which keeps the kernel short.
INLINE_MAX_WORDS = 8
DTYPE_BY_NAME = {name: getattr(dtypes, name) for name in ("bool", "int8", "int16", "int32", "float32")}


class Outputs(NamedTuple):
    """Arrays that learners read; None for those that are not wanted."""

    observation: Any = None
    legal_action_mask: Any = None  # bool
    rewards: Any = None  # float32
    terminated: Any = None  # bool, as `truncated`
    truncated: Any = None
    current_player: Any = None  # int32


class Run(NamedTuple):
    """Adjacent entries that are 0 or 1, kept as bits in registers.

    Attributes:
        entry: index of the first entry.
        size: number of entries.
        word: index of the first word in registers.
    """

    entry: int
    size: int
    word: int

    @property
    def end(self) -> int:
        return self.entry + self.size

    @property
    def words(self) -> int:
        return num_words(self.size)


class ObservationPlan:
    """Layout of a game's observation and mask in registers.

    Attributes:
        runs: runs of the observation. Numbers, and sets too large for registers, are in none.
        numbers: indices of the entries that are numbers, which have registers of the observation's dtype.
        mask: run of the mask; None for a mask too large for registers.
        words: number of words in registers.
    """

    def __init__(self, game: Game, layout: Layout):
        # Trace the rules on a tape that is thrown away, to learn the sizes of the parts.
        with record(Tape()):
            words = registers(layout.words, UINT32)
            player = registers(1, INT32)[0]
            parts = game.observe(layout.get_state(words.__getitem__), layout.get_mask(words.__getitem__), player)
        self.runs: list[Run] = []
        self.numbers = [entry for entry, part in with_entries(parts) if isinstance(part, Number)]
        self.words = 0
        for entry, part in with_entries(parts):
            if not in_registers(part):
                continue
            # Adjacent parts form one run, so that 32 entries are stored together.
            if self.runs and self.runs[-1].end == entry:
                last = self.runs.pop()
                run = last._replace(size=last.size + part.size)
            else:
                run = Run(entry, part.size, self.words)
            self.runs.append(run)
            self.words = run.word + run.words
        self.mask = None if game.has_memory else Run(0, game.spec.num_actions, self.words)
        self.words += self.mask.words if self.mask else 0


def with_entries(parts: Sequence[Part]) -> Iterator[tuple[int, Part]]:
    """Yield the index of its first entry with each part that is not empty."""
    entry = 0
    for part in parts:
        if part.size:
            yield entry, part
        entry += part.size


def in_registers(part: Part) -> bool:
    """Return whether a part is in a run of bits."""
    return not isinstance(part, Number) and not isinstance(getattr(part, "words", None), MemoryArray)


def add_one_hot(words: list[Scalar], first: int, value: Scalar, size: int) -> None:
    """Set bit `first + value` of a row of words; a value out of 0..size-1 sets none."""
    inside = (value >= 0) & (value < size)
    candidates = range(first // WORD_BITS, (first + size - 1) // WORD_BITS + 1)  # words that may hold the bit
    for w in candidates:
        bit = uint32(value + (first - w * WORD_BITS))
        is_in_word = inside if len(candidates) == 1 else inside & (bit < WORD_BITS)
        words[w] = words[w] | where(is_in_word, uint32(1) << (bit & WORD_BITS - 1), 0)


class OutputStage:
    """Stages of a kernel that write outputs."""

    def __init__(
        self,
        t: Tracer,
        a: Outputs,
        players: Cells | Callable[[Coords], Scalar] | int | None = None,
        lanes: int | None = None,
    ):
        """Allocate registers.

        Args:
            t: the tracer.
            a: arrays of the outputs.
            players: whose observation to write: a player for all games, an array or a function with a player for each
                game, or None for the player to move.
            lanes: lanes of the state; observations and masks are then in row-major order. None for the kernel's own
                number of lanes; on a GPU observations and masks are then stored by lanes.
        """
        self.t = t
        self.a = a
        self.players = players
        self.by_lanes = lanes is None and t.grid.gpu
        self.lanes = lanes or t.grid.lanes
        self.plan = ObservationPlan(t.game, t.layout)
        dtype = DTYPE_BY_NAME[t.game.spec.observation_dtype]
        self.numbers = t.block.registers(max(len(self.plan.numbers), 1), dtype)
        self.registers = t.block.registers(max(self.plan.words, 1), UINT32)

    def trace(self, words: Words) -> None:
        """Write the outputs of a block's games, whose states are in `words`."""
        # Collect all bits of a game first, and expand them in another stage. One stage for both would compute the
        # observation again for every entry.
        self.t.block.each(lambda at: self._fill(words, at), unroll_max=0)
        self.t.block.each(lambda at: self._store_numbers(words, at), unroll_max=0)
        runs = [(self.a.observation, run) for run in self.plan.runs if self.a.observation is not None]
        if self.a.legal_action_mask is not None and self.plan.mask:
            runs.append((self.a.legal_action_mask, self.plan.mask))

        def expand(at: Coords) -> None:
            if self.a.observation is not None:
                for k, entry in enumerate(self.plan.numbers):
                    value = self.numbers[at.register.index(k, len(self.plan.numbers))]
                    self.a.observation[self._index(self.a.observation, at, entry)] = value
            for array, run in runs:
                self._store_run(array, run, at)

        if runs or self.plan.numbers:
            self.t.block.each(expand, unroll_max=0)

    def _index(self, array: Cells, at: Coords, entry: Any) -> Any:
        entries = array.size // self.t.grid.rows
        return at.batch.index(entry, entries) if self.by_lanes else at.batch.row * entries + entry

    def _player(self, s: GameState, source: Coords, at: Coords) -> Scalar:
        """Return the observing player of a game, see `players` in `__init__`."""
        if self.players is None:
            return s.current_player
        if isinstance(self.players, int):
            return int32(self.players)
        if callable(self.players):
            return self.players(at)
        return load(self.players, source.batch)[0]

    def _fill(self, words: Words, at: Coords) -> None:
        """Collect the numbers and bits of a game in registers."""
        source = self.t.coords_in(self.lanes, at)
        game = words.load(source)
        layout = self.t.layout
        mask = layout.get_mask(game)
        bits = [uint32(0)] * self.plan.words
        if self.a.observation is not None:
            s = layout.get_state(game)
            # Parts and runs come in the order of entries, so one pass over both finds the run of each part.
            runs = iter(self.plan.runs)
            run = next(runs, None)
            for entry, part in with_entries(self.t.game.observe(s, mask, self._player(s, source, at))):
                # Numbers and large sets are in no run.
                if not in_registers(part):
                    self._store_part(part, entry, at)
                    continue
                if run and entry >= run.end:
                    run = next(runs)
                assert run is not None
                first = run.word * WORD_BITS + entry - run.entry
                if isinstance(part, OneHot):
                    add_one_hot(bits, first, part.value, part.size)
                elif isinstance(part, Bits):
                    add_bits(bits, first, part.words, part.size)
        # The mask is a run like those of the observation, unless it is too large for registers.
        if self.a.legal_action_mask is not None:
            if isinstance(mask, MemoryArray):
                self._store_memory(self.a.legal_action_mask, 0, mask, self.t.game.spec.num_actions, at)
            elif self.plan.mask:
                add_bits(bits, self.plan.mask.word * WORD_BITS, mask, self.plan.mask.size)
        for w, value in enumerate(bits):
            self.registers[at.register.index(w, self.plan.words)] = value

    def _store_numbers(self, words: Words, at: Coords) -> None:
        """Store the rewards, the flags and the player to move."""
        game = words.load(self.t.coords_in(self.lanes, at))
        layout = self.t.layout
        row = at.batch.row
        if self.a.rewards is not None:
            for p in range(self.t.players):
                self.a.rewards[row * self.t.players + p] = bitcast(game(layout.rewards + p), FLOAT32)
        for name in ("terminated", "truncated", "current_player"):
            array = getattr(self.a, name)
            if array is not None:
                array[row] = layout.get(game, name)

    def _store_part(self, part: Part, entry: int, at: Coords) -> None:
        """Store a set that is too large for registers, or collect a number in registers."""
        if isinstance(part, Bits):
            self._store_memory(self.a.observation, entry, part.words, part.size, at)
        elif isinstance(part, Number):
            k = self.plan.numbers.index(entry)
            self.numbers[at.register.index(k, len(self.plan.numbers))] = part.value

    def _store_memory(self, array: Cells, entry: int, words: MemoryArray, size: int, at: Coords) -> None:
        """Store a set that is too large for registers, word by word."""
        whole, rest = divmod(size, WORD_BITS)
        with loop(whole) as w:
            self._store_word(array, entry + w * WORD_BITS, words[w], WORD_BITS, at)
        if rest:
            self._store_word(array, entry + whole * WORD_BITS, words[whole], rest, at)

    def _store_run(self, array: Cells, run: Run, at: Coords) -> None:
        """Store the bits of a run."""

        def read(w: Any) -> Scalar:
            return self.registers[at.register.index(w + run.word, self.plan.words)]

        def store(w: Any) -> None:
            self._store_word(array, run.entry + w * WORD_BITS, read(w), WORD_BITS, at)

        whole, rest = divmod(run.size, WORD_BITS)
        if whole > INLINE_MAX_WORDS:
            with loop(whole) as k:
                store(k)
        else:
            for w in range(whole):
                store(w)
        if rest and whole and not self.t.grid.gpu:
            # A store of 32 entries is faster than one of fewer. The last 32 entries overlap those of the word before.
            bits = read(whole) << WORD_BITS - rest | read(whole - 1) >> rest
            self._store_word(array, run.end - WORD_BITS, bits, WORD_BITS, at)
        elif rest:
            self._store_word(array, run.entry + whole * WORD_BITS, read(whole), rest, at)

    def _store_word(self, array: Cells, entry: Any, bits: Scalar, count: int, at: Coords) -> None:
        """Store the lowest `count` bits of a word as entries from `entry` on."""
        if self.t.grid.gpu or count < min(UINTS):
            with loop(count) as k:
                array[self._index(array, at, entry + k)] = (bits >> k & 1) != 0
            return
        # `store_bits` is one vector instruction for 8, 16 or 32 bits. Other counts take two stores that overlap.
        width = max(n for n in UINTS if n <= count)
        array.store_bits(self._index(array, at, entry), bits, width)
        if count > width:
            array.store_bits(self._index(array, at, entry + count - width), bits >> count - width, width)


@dataclass(frozen=True)
class Observe:
    """Kernel that writes outputs.

    Attributes:
        player: the observing player of all games; None for the player to move, "each" for the entries of `players`.
        lanes: lanes of the state, see `OutputStage`.
    """

    player: int | str | None
    lanes: int | None = None
    name = "observe"

    class Arrays(NamedTuple):
        out: Outputs
        old: Any
        players: Any = None  # int32

    def trace(self, t: Tracer, a: Arrays) -> None:
        players = a.players if isinstance(self.player, str) else self.player
        OutputStage(t, a.out, players, self.lanes).trace(t.words(a.old))
