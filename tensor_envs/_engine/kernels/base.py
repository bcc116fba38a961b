"""Base of kernels: positions of games in arrays [blocks, words, lanes], loops over blocks, records of kernels."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from tinygrad.dtype import DType

from tensor_envs._compiler.lanes import interchange_loops, unroll_lanes
from tensor_envs._compiler.tape import INT32, INT64, UINT32, current
from tensor_envs._engine.batch_layout import BlockGrid
from tensor_envs._engine.random import KEY_WORDS
from tensor_envs.rules.kernel import Cells, branch, grid_index, loop, no_unroll, registers
from tensor_envs.rules.lists import MemoryArray, has_bit
from tensor_envs.rules.scalar import Scalar, Value, int32, maximum, minimum, scalar, uint32, where

if TYPE_CHECKING:
    from tensor_envs._engine.game import Game
    from tensor_envs._engine.layout import Layout, MaskWords
    from tensor_envs.rules.spec import GameState

# Stages of more instructions are not unrolled over lanes: their code would not fit the instruction cache.
UNROLL_MAX_INSTRUCTIONS = 960
# Lanes that are unrolled together: the instructions of one hide the latency of another's loads.
UNROLL_LANES = 4


class ArrayCoords(NamedTuple):
    """Coordinates of a game in a flat array [blocks, words, lanes]."""

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
    """Coordinates of a game in the batch's arrays, and in registers; code for one game has them as `at`."""

    batch: ArrayCoords
    register: ArrayCoords


def load(cells: Cells, coords: ArrayCoords, words: int = 1) -> list[Scalar]:
    """Return all values of a game."""
    return [cells[coords.index(w, words)] for w in range(words)]


def store(cells: Cells, coords: ArrayCoords, values: Sequence[Any]) -> None:
    """Store all values of a game."""
    for w, x in enumerate(values):
        cells[coords.index(w, len(values))] = x


class GameBlock:
    """Block of games in the kernel that is being recorded, played stage by stage over its lanes.

    Attributes:
        lanes: games in the block.
        first: the first block that one thread of the CPU plays; None on a GPU.
        number: this block.
        thread: the lane of this thread on a GPU; None on the CPU.
        team: threads of a GPU that play one lane together, see `rules.kernel.team_max`.
        member: number of this thread in its team.
    """

    team: int = 1
    member: Value = 0

    def __init__(self, lanes: int, number: Scalar, unroll: bool, first: Any = None, thread: Any = None):
        self.lanes = lanes
        self.number = number
        self.first = first
        self.thread = thread
        self.unrolled_lanes = UNROLL_LANES if unroll and lanes % UNROLL_LANES == 0 else 1

    @classmethod
    @contextmanager
    def each_of(cls, grid: BlockGrid, share: Cells | None, unroll: bool) -> Iterator[GameBlock]:
        """Record a loop over blocks; on a GPU one workgroup plays each, or several do.

        Args:
            grid: the partition of the batch.
            share: int32, the first block to play and how many; None on a GPU.
            unroll: whether several lanes may be played at once.
        """
        # Indices are 32 bits wide where they can be: clang needs twice the vectors for 64.
        values = max(-(-array.size // grid.rows) for array in current().arrays)  # upper bound per game
        blocks = grid.blocks if share is None else grid.compiled_blocks
        wide = grid.wide and share is not None
        dtype = INT64 if wide or blocks * grid.lanes * values > 2**31 else INT32
        if share is None:
            games = grid.lanes // grid.workgroups
            group = grid_index("group", grid.blocks * grid.workgroups)
            thread = grid_index("thread", games * grid.team)
            lane = group % grid.workgroups * games + thread // grid.team
            block = cls(grid.lanes, (group // grid.workgroups).to(dtype), unroll, thread=lane)
            block.team = grid.team
            block.member = thread % grid.team
            current().team = grid.team
            yield block
            return
        # The compiler cannot know the arguments of a launch. Clamping them gives it bounds for all indices.
        first = minimum(maximum(share[0], 0), grid.compiled_blocks - 1).to(dtype)
        # a single thread plays all blocks, one more than the highest number of a block
        count = minimum(maximum(share[1], 0), min(grid.compiled_blocks, 2**31 - 1))
        with loop(count) as k:
            yield cls(grid.lanes, first + k, unroll, first)

    def at(self, lane: Any) -> Coords:
        batch = ArrayCoords(self.number, lane, self.lanes)
        return Coords(batch, ArrayCoords(0, lane, self.lanes) if self.thread is None else ArrayCoords(0, 0, 1))

    def each(self, stage: Callable[[Coords], None], unroll_max: int = UNROLL_MAX_INSTRUCTIONS) -> None:
        """Record a stage for every lane. unroll_max: instructions up to which several lanes are played at once."""
        if self.thread is not None:
            stage(self.at(self.thread))
            return
        tape = current()
        block = tape.block
        before = len(tape.registers)
        with loop(self.lanes) as lane:
            stage(self.at(lane))
        # A loop within a lane keeps clang from vectorising the lanes, so loops are exchanged where that is possible.
        if self.lanes > 1 and interchange_loops(tape, tape.registers[before:]):
            return
        # Several lanes at once: one works while another waits for memory.
        if self.unrolled_lanes > 1 and block.ends_with_short_loop(unroll_max):
            unroll_lanes(tape, self.unrolled_lanes)

    def any(self, condition: Callable[[Coords], Scalar]) -> Scalar:
        """Return whether the condition holds for a game of the block; on a GPU, for the thread's own."""
        if self.thread is not None or self.lanes == 1:
            return condition(self.at(0 if self.thread is None else self.thread))
        result = registers(1, INT32)
        result[0] = 0
        with loop(self.lanes) as lane:
            # All lanes are asked, without a branch, so that the loop is vectorised.
            result[0] = result[0] | int32(condition(self.at(lane)))
        return result[0] != 0

    def registers(self, words: int, dtype: DType) -> Cells:
        """Return an uninitialised array in registers, with `words` values per game."""
        return registers(words * (self.lanes if self.thread is None else 1), dtype)


class Words:
    """The words of a block's games, in a state's buffer or in registers, by the names of a layout."""

    def __init__(self, layout: Layout, cells: Cells, in_registers: bool = False, count: int | None = None):
        """Wrap an array with `count` words per game.

        count: None is the size of a whole state or, in registers, of its fields.
        """
        self.layout = layout
        self.cells = cells
        self.in_registers = in_registers
        self.count = count or (layout.field_words if in_registers else layout.words)

    def coords(self, at: Coords) -> ArrayCoords:
        return at.register if self.in_registers else at.batch

    def load(self, at: Coords) -> Callable[[Any], Scalar]:
        """Return a function that loads a word by its number, each word once; the layout's `get_...` take it."""
        coords = self.coords(at)
        # A cached word is wrong after a store. The version of the array shows that in tests.
        version = self.cells.array.version

        @functools.cache
        def load_once(w: int) -> Scalar:
            assert self.cells.array.version == version, "a word is first read after a store to its array"
            return self.cells[coords.index(w, self.count)]

        return lambda w: load_once(w) if isinstance(w, int) else self.cells[coords.index(w, self.count)]

    def store(self, at: Coords, **values: Any) -> None:
        """Store parts of a state, see `Layout.put`."""
        coords = self.coords(at)

        def store_word(w: Any, x: Scalar) -> None:
            self.cells[coords.index(w, self.count)] = x

        self.layout.put(store_word, **values)

    def store_unless(self, condition: Scalar, old: Callable[[int], Scalar], at: Coords, **values: Any) -> None:
        """Store parts of a state, or the old words where a condition holds: they are fewer than the parts."""
        words: dict[int, Scalar] = {}
        self.layout.put(words.__setitem__, **values)
        # Select all words before the first store, since a store ends the use of loaded words.
        selected = {w: where(condition, old(w), x) for w, x in words.items()}
        for w, x in selected.items():
            self.cells[self.coords(at).index(w, self.count)] = x

    def store_words(self, at: Coords, word: Callable[[int], Scalar], count: int) -> None:
        """Store the first words as they are."""
        coords = self.coords(at)
        # Load everything first: the arrays may be one, and a store in between would be seen as a change.
        values = [word(w) for w in range(count)]
        for w, x in enumerate(values):
            self.cells[coords.index(w, self.count)] = x

    def over(self, at: Coords) -> Scalar:
        """Return whether a game is over."""
        terminated, truncated = self.layout.get_flags(self.load(at))
        return terminated | truncated


# a finished game is reset in the same step, or in the next step, or never
Autoreset = Literal["same_step", "next_step", "disabled"]
# a first state of more instructions is computed in a branch, for games that reset only
BRANCH_MIN_INSTRUCTIONS = 280
NEVER = [scalar(False)] * 2


class Kernel(Protocol):
    """Work of a kernel on every game: a frozen dataclass of its options, which with a grid identify the kernel."""

    @property
    def name(self) -> str: ...

    def trace(self, t: Tracer, a: Any) -> None:
        """Record the kernel for a block. `a`: its arrays, a named tuple in which None stands for an absent one."""


class AfterStep(NamedTuple):
    """Games after a step.

    Attributes:
        mask: returns the mask, which is empty for a game that is over and does not reset in this step.
        events: events of the step, 0 in games that were over before.
    """

    state: GameState
    rewards: list[Scalar]
    flags: list[Scalar]
    resets: Scalar
    mask: Callable[[], MaskWords]
    events: list[Scalar]


class Tracer:
    """A kernel that is being recorded for the games of a block."""

    def __init__(self, game: Game, layout: Layout, grid: BlockGrid, block: GameBlock):
        self.game = game
        self.layout = layout
        self.grid = grid
        self.block = block
        self.players = game.spec.num_players

    def words(self, cells: Cells) -> Words:
        return Words(self.layout, cells)

    def registers(self) -> Words:
        """Return registers for the fields of a block's games."""
        cells = self.block.registers(self.layout.field_words, UINT32)
        return Words(self.layout, cells, in_registers=True)

    def row_keys(self, cells: Cells, at: Coords) -> list[Scalar]:
        return load(cells, at.batch, KEY_WORDS)

    def coords_in(self, lanes: int, at: Coords) -> Coords:
        """Return the coordinates of the same row in arrays with another number of lanes."""
        if lanes == self.grid.lanes:
            return at
        row = at.batch.row
        # Rows are counted without padding in all layouts.
        return Coords(ArrayCoords(row // lanes, row % lanes, lanes), at.register)

    def resets_in_branch(self, reset: Autoreset) -> bool:
        """Return whether finished games reset in a branch; else every game computes its first state."""
        # with a single lane a branch is taken by all games or by none
        branches = self.grid.branches and (self.grid.gpu or self.grid.lanes > 1)
        return branches and reset != "disabled" and self.game.init_instructions > BRANCH_MIN_INSTRUCTIONS

    def play(
        self,
        s: GameState,
        was: Sequence[Scalar],
        action: Scalar,
        legal: Scalar | None,
        reset: Autoreset,
        row_keys: Sequence[Scalar],
        keeps: bool = True,
    ) -> AfterStep:
        """Play an action in a game, and handle a finished game by the reset mode.

        Where resets run in a branch, the caller resets the game: its last position is returned here.

        Args:
            s: the game.
            was: its flags before the action: terminated, truncated.
            action: number of the action.
            legal: whether the action is legal; None if it is known to be.
            reset: the reset mode.
            row_keys: random keys of the row, for a reset.
            keeps: whether a game that stays over keeps its state and flags; otherwise they are undefined.
        """
        over = was[0] | was[1]
        game = self.game
        # The rules play every game, also those that are over: vectors have no branches.
        moved, rewards, *flags, events = game.moved(s, action, legal)
        after = moved if legal is None else game.where(legal, moved, s)
        if (reset == "disabled" and keeps) or (reset == "next_step" and self.resets_in_branch(reset)):
            # rules allow no action here: what they compute may be out of bounds, and change the flags beside it
            after = game.where(over, s, after)
        if reset == "disabled" and keeps:
            # A game that stays over keeps the flag by which it has ended.
            flags = [where(over, old, new) for old, new in zip(was, flags, strict=True)]
        # A finished game is paid nothing more. With resets in the same step none is over before a step.
        if reset != "same_step":
            rewards = [where(over, 0.0, r) for r in rewards]
            events = [where(over, 0, event) for event in events]
        if reset == "next_step":
            # This step resets the games that were over, and they are in progress after it.
            flags = [~over & flag for flag in flags]
        resets = scalar(False)
        first = None
        if reset != "disabled":
            # Without a branch all games compute a first state, and the finished ones take it.
            resets = flags[0] | flags[1] if reset == "same_step" else over
            if not self.resets_in_branch(reset):
                first = game.init(row_keys, s.episode + 1)
                after = game.where(resets, first, after)
                # a sum, since compilers turn a selection into a branch
                after = after.replace(episode=s.episode + uint32(resets))

        def mask() -> MaskWords:
            # The mask is that of the state that the rules' step returned, so that both share computations. It does not
            # hold for the other games: those are over or reset.
            begins = None if first is None or game.spec.chance else game.mask(first)
            own = moved if first is None or begins is not None else after
            words = self.live_mask(after if game.has_memory else own, flags, reset)
            if begins is None or isinstance(begins, MemoryArray) or isinstance(words, MemoryArray):
                return words
            return where(resets, begins, words)

        return AfterStep(after, rewards, flags, resets, mask, events)

    def given_action(self, mask: MaskWords, actions: Cells, at: Coords, wide: bool = False) -> tuple[Scalar, Scalar]:
        """Return a game's entry of `actions`, moved into range, and whether it is legal.

        wide: whether the entries are int64, each as two words, the low one first.
        """
        index = at.batch.index(0, 1)
        if wide:
            low = actions[2 * index]
            high = actions[2 * index + 1]
            # a number that int32 cannot hold is illegal, not the action of its low word
            action = where(high == where(low < 0, -1, 0), low, -1)
        else:
            action = actions[index]
        # Rules see actions in range alone; one that had to be moved is illegal.
        near = minimum(maximum(action, 0), self.game.spec.num_actions - 1)
        return near, (near == action) & has_bit(mask, near)

    def live_mask(self, s: GameState, flags: Sequence[Scalar], reset: Autoreset) -> MaskWords:
        """Return the mask, which is empty for a game that is over and does not reset in this step."""
        mask = self.game.mask(s)
        if reset == "same_step":
            return mask
        over = flags[0] | flags[1]
        if isinstance(mask, MemoryArray):
            return MemoryArray(lambda w: where(over, 0, mask[w]), len(mask))
        return [where(over, 0, w) for w in mask]

    def auto_reset(self, words: Words, resets: Cells, row_keys: Cells) -> None:
        """Reset the games whose entry in `resets` (registers) is not 0, in a branch after a step."""
        # On a GPU each thread has its own game, and may branch by itself.
        if self.block.thread is not None:
            at = self.block.at(self.block.thread)
            with branch(resets[at.register.index(0, 1)] != 0):
                self._first_state(words, at, row_keys)
            return
        # On a CPU, collect the lanes that reset and loop over these alone: few games end in a step, and first states
        # of such games take many instructions.
        queue = self.block.registers(1, INT32)
        length = self.block.registers(1, INT32)
        length[0] = 0
        with loop(self.block.lanes) as lane:
            n = length[0]
            # Every lane is written to the queue's end, which advances past those alone that reset. No branch is
            # needed.
            queue[n] = lane
            length[0] = n + int32(resets[self.block.at(lane).register.index(0, 1)])
        with loop(length[0]) as k:
            self._first_state(words, self.block.at(queue[k] & (self.block.lanes - 1)), row_keys)

    def _first_state(self, words: Words, at: Coords, row_keys: Cells) -> None:
        """Store the first state of a game's next episode; its flags stay those of the step."""
        old = words.load(at)
        # first states are long, and unrolled loops would make them longer still
        with no_unroll():
            s = self.game.init(self.row_keys(row_keys, at), self.layout.get(old, "episode") + 1)
        mask = {} if words.in_registers else {"mask": self.game.mask(s)}
        words.store(at, s=s, flags=self.layout.get_flags(old), **mask)


def trace_blocks(
    kernel: Kernel, game: Game, layout: Layout, grid: BlockGrid, pack: Callable[[Sequence[Cells]], Any]
) -> Callable[..., None]:
    """Return the body of a kernel: a function of its arrays, and on the CPU of the blocks to play last.

    pack: makes the kernel's named tuple of the arrays.
    """

    def body(*cells: Cells) -> None:
        share = None if grid.gpu else cells[-1]
        with GameBlock.each_of(grid, share, not game.has_memory) as block:
            kernel.trace(Tracer(game, layout, grid, block), pack(cells))

    return body


def row_index(at: Coords) -> Scalar:
    """Return the row of a game in its device's shard of the batch."""
    return scalar(at.batch.row).to(INT32)


class MoveList:
    """First moves of a block's games since it was cleared, in registers: player * actions + action.

    Attributes:
        LENGTH: moves of a game that the list holds; later ones are left out.
    """

    LENGTH = 256

    def __init__(self, t: Tracer):
        self.block = t.block
        # one more, which takes what is left out
        self.moves = t.block.registers(self.LENGTH + 1, INT32)
        self.lengths = t.block.registers(1, INT32)
        self.turn = registers(1, INT32)  # moves of the games that go on

    def clear(self) -> None:
        self.turn[0] = 0
        self.block.each(lambda at: store(self.lengths, at.register, [0]))

    def advance(self) -> None:
        """Advance to the next move of every game."""
        self.turn[0] = minimum(self.turn[0] + 1, self.LENGTH)

    def _index(self, at: Coords, number: Scalar) -> Scalar:
        index: Scalar = at.register.index(minimum(number, self.LENGTH), self.LENGTH + 1)
        return index

    def put(self, at: Coords, move: Scalar, idle: Scalar) -> None:
        """Note a game's move, unless the game is over: then its list ends before."""
        turn = self.turn[0]
        self.moves[self._index(at, turn)] = move
        store(self.lengths, at.register, [where(idle, self.length(at), turn + 1)])

    def length(self, at: Coords) -> Scalar:
        """Return the number of a game's moves."""
        return minimum(load(self.lengths, at.register)[0], self.LENGTH)

    def get(self, at: Coords, number: Scalar) -> Scalar:
        """Return a game's move of a number."""
        return self.moves[self._index(at, number)]
