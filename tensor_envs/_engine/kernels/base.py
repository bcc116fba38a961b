"""Base of kernels: coordinates of games in arrays [blocks, words, lanes], loops over blocks and lanes, steps of games.

A kernel is written in stages. A stage is code for one game, which receives the game's coordinates (`at`). On a CPU it
is recorded in a loop over the lanes of a block; on a GPU a thread runs it for its own game.
"""

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

# Longer stages are not unrolled over lanes, since their code would not fit the instruction cache.
UNROLL_MAX_INSTRUCTIONS = 960
# Lanes that are unrolled together, so that some work while others wait for memory.
UNROLL_LANES = 4


class ArrayCoords(NamedTuple):
    """Coordinates of a game in a flat array [blocks, words, lanes]."""

    block: Any
    lane: Any
    lanes: int

    @property
    def row(self) -> Any:
        return self.block * self.lanes + self.lane

    def index(self, word: Any, words: int) -> Any:  # type: ignore[override] # replaces a method of tuples
        """Return the index of a word in an array of `words` words per game."""
        return (self.block * words + word) * self.lanes + self.lane


class Coords(NamedTuple):
    """Coordinates of a game in the batch's arrays and in registers. Code for one game calls them `at`."""

    batch: ArrayCoords
    register: ArrayCoords


def load(cells: Cells, coords: ArrayCoords, words: int = 1) -> list[Scalar]:
    """Return a game's values in an array of `words` values per game."""
    return [cells[coords.index(w, words)] for w in range(words)]


def store(cells: Cells, coords: ArrayCoords, values: Sequence[Any]) -> None:
    """Store a game's values in an array of as many values per game."""
    for w, x in enumerate(values):
        cells[coords.index(w, len(values))] = x


class GameBlock:
    """Block of games in a kernel that is being recorded.

    Attributes:
        lanes: games in the block.
        number: number of this block.
        first: number of the first block that the thread plays, on the CPU; None on a GPU.
        thread: lane of this thread, on a GPU; None on the CPU.
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
    def each_of(cls, grid: BlockGrid, block_range: Cells | None, unroll: bool) -> Iterator[GameBlock]:
        """Record a loop over blocks; on a GPU, where one or several workgroups play each block, there is no loop.

        Args:
            grid: the partition of the batch.
            block_range: int32 [first block, number of blocks], see `all_blocks`; None on a GPU.
            unroll: whether lanes may be unrolled together.
        """
        # Indices have 32 bits if possible, since clang needs twice as many vectors for 64.
        values = max(-(-array.size // grid.rows) for array in current().arrays)  # upper bound per game
        blocks = grid.blocks if block_range is None else grid.compiled_blocks
        wide = grid.wide and block_range is not None
        dtype = INT64 if wide or blocks * grid.lanes * values > 2**31 else INT32
        if block_range is None:
            games = grid.lanes // grid.workgroups  # of a workgroup
            group = grid_index("group", grid.blocks * grid.workgroups)
            thread = grid_index("thread", games * grid.team)
            lane = group % grid.workgroups * games + thread // grid.team
            block = cls(grid.lanes, (group // grid.workgroups).to(dtype), unroll, thread=lane)
            block.team = grid.team
            block.member = thread % grid.team
            current().team = grid.team
            yield block
            return
        # Clamping the range does not change it, and gives the compiler bounds for all indices.
        first = minimum(maximum(block_range[0], 0), grid.compiled_blocks - 1).to(dtype)
        count = minimum(maximum(block_range[1], 0), min(grid.compiled_blocks, 2**31 - 1))
        with loop(count) as k:
            yield cls(grid.lanes, first + k, unroll, first)

    def at(self, lane: Any) -> Coords:
        """Return the coordinates of a lane's game. On a GPU a thread's registers hold its own game alone."""
        batch = ArrayCoords(self.number, lane, self.lanes)
        return Coords(batch, ArrayCoords(0, lane, self.lanes) if self.thread is None else ArrayCoords(0, 0, 1))

    def each(self, stage: Callable[[Coords], None], unroll_max: int = UNROLL_MAX_INSTRUCTIONS) -> None:
        """Record a stage for every lane. unroll_max: longest stage, in instructions, that is unrolled over lanes."""
        if self.thread is not None:
            stage(self.at(self.thread))
            return
        tape = current()
        block = tape.block
        before = len(tape.registers)
        with loop(self.lanes) as lane:
            stage(self.at(lane))
        # clang vectorises innermost loops only. If the stage has loops, make the lanes innermost.
        if self.lanes > 1 and interchange_loops(tape, tape.registers[before:]):
            return
        # If the lanes remain a loop of their own, unroll some: one works while another waits for memory.
        if self.unrolled_lanes > 1 and block.ends_with_short_loop(unroll_max):
            unroll_lanes(tape, self.unrolled_lanes)

    def any(self, condition: Callable[[Coords], Scalar]) -> Scalar:
        """Return whether the condition holds for any game of the block; on a GPU, for the thread's own game."""
        if self.thread is not None or self.lanes == 1:
            return condition(self.at(0 if self.thread is None else self.thread))
        result = registers(1, INT32)
        result[0] = 0
        with loop(self.lanes) as lane:
            # Visit all lanes, without a branch, so that the loop is vectorised.
            result[0] = result[0] | int32(condition(self.at(lane)))
        return result[0] != 0

    def registers(self, words: int, dtype: DType) -> Cells:
        """Return an uninitialised array in registers, with `words` values per game."""
        return registers(words * (self.lanes if self.thread is None else 1), dtype)


class Words:
    """Words of a block's games in a state's buffer or in registers, to be loaded and stored by the layout."""

    def __init__(self, layout: Layout, cells: Cells, in_registers: bool = False, count: int | None = None):
        """Wrap an array.

        Args:
            layout: bit layout of the words.
            cells: the array.
            in_registers: whether the array is in registers.
            count: words per game; None for a whole state or, in registers, for its fields and flags.
        """
        self.layout = layout
        self.cells = cells
        self.in_registers = in_registers
        self.count = count or (layout.field_words if in_registers else layout.words)

    def coords(self, at: Coords) -> ArrayCoords:
        return at.register if self.in_registers else at.batch

    def load(self, at: Coords) -> Callable[[Any], Scalar]:
        """Return a function that loads a game's words by their indices, each once, for the layout's `get_...`."""
        coords = self.coords(at)
        # A word that is cached before a store must not be used after it: the array's version would differ.
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
        """Store parts of a state, or the old words if a condition holds."""
        words: dict[int, Scalar] = {}
        self.layout.put(words.__setitem__, **values)
        # Select words, which are fewer than fields. Select all before the first store, since `old` may load them.
        selected = {w: where(condition, old(w), x) for w, x in words.items()}
        for w, x in selected.items():
            self.cells[self.coords(at).index(w, self.count)] = x

    def store_words(self, at: Coords, word: Callable[[int], Scalar], count: int) -> None:
        """Copy the first `count` words."""
        coords = self.coords(at)
        # Load all words before the first store, since both may be of the same array.
        values = [word(w) for w in range(count)]
        for w, x in enumerate(values):
            self.cells[coords.index(w, self.count)] = x

    def over(self, at: Coords) -> Scalar:
        """Return whether a game is over."""
        terminated, truncated = self.layout.get_flags(self.load(at))
        return terminated | truncated


# A finished game is reset in the step that ends it, in the step after it, or never.
Autoreset = Literal["same_step", "next_step", "disabled"]
# First states of more instructions are computed in a branch, which only the games take that reset.
BRANCH_MIN_INSTRUCTIONS = 280
NEVER = [scalar(False)] * 2  # flags of a game in progress


class Kernel(Protocol):
    """A kernel: a frozen dataclass of its options, so that equal kernels share a program."""

    @property
    def name(self) -> str: ...

    def trace(self, t: Tracer, a: Any) -> None:
        """Record the kernel for a block. `a` is the named tuple of its arrays; None stands for an absent one."""


class AfterStep(NamedTuple):
    """A game after a step.

    Attributes:
        state: the state; if resets run in a branch, the last one of a finished game.
        rewards: rewards of the step, one for each player.
        flags: terminated and truncated.
        resets: whether the game resets in this step.
        mask: function that returns the mask, which is empty for a game that is over and does not reset in this step.
        events: events of the step, 0 if the game was over before.
    """

    state: GameState
    rewards: list[Scalar]
    flags: list[Scalar]
    resets: Scalar
    mask: Callable[[], MaskWords]
    events: list[Scalar]


class Tracer:
    """Context in which a kernel is recorded for a block: the game, its layout, the grid and the block."""

    def __init__(self, game: Game, layout: Layout, grid: BlockGrid, block: GameBlock):
        self.game = game
        self.layout = layout
        self.grid = grid
        self.block = block
        self.players = game.spec.num_players

    def words(self, cells: Cells) -> Words:
        return Words(self.layout, cells)

    def registers(self) -> Words:
        """Return registers for the fields and flags of a block's games."""
        cells = self.block.registers(self.layout.field_words, UINT32)
        return Words(self.layout, cells, in_registers=True)

    def row_keys(self, cells: Cells, at: Coords) -> list[Scalar]:
        return load(cells, at.batch, KEY_WORDS)

    def coords_in(self, lanes: int, at: Coords) -> Coords:
        """Return the coordinates of the same row in arrays with another number of lanes."""
        if lanes == self.grid.lanes:
            return at
        # Padding comes last in every layout, so a row has the same number in all of them.
        row = at.batch.row
        return Coords(ArrayCoords(row // lanes, row % lanes, lanes), at.register)

    def resets_in_branch(self, reset: Autoreset) -> bool:
        """Return whether finished games reset in a branch. Otherwise every game computes a first state."""
        # In a block with a single lane, a list of the lanes that reset (see `auto_reset`) saves nothing.
        branches = self.grid.branches and (self.grid.gpu or self.grid.lanes > 1)
        return branches and reset != "disabled" and self.game.init_instructions > BRANCH_MIN_INSTRUCTIONS

    def play(
        self,
        s: GameState,
        old_flags: Sequence[Scalar],
        action: Scalar,
        legal: Scalar | None,
        reset: Autoreset,
        row_keys: Sequence[Scalar],
        keep_finished: bool = True,
    ) -> AfterStep:
        """Play an action in a game, and handle a finished game by the reset mode.

        If resets run in a branch, this does not reset: the caller does, with `auto_reset`.

        Args:
            s: the game.
            old_flags: its flags before the action: terminated, truncated.
            action: number of the action.
            legal: whether the action is legal; None if it is known to be.
            reset: the reset mode.
            row_keys: random keys of the row, for a reset.
            keep_finished: whether a game that stays over keeps its state and flags; otherwise they are undefined.
        """
        over = old_flags[0] | old_flags[1]
        game = self.game
        # Apply the rules to every game, also to those that are over: vectors have no branches.
        moved, rewards, *flags, events = game.step_with_events(s, action, legal)
        after = moved if legal is None else game.where(legal, moved, s)
        if (reset == "disabled" and keep_finished) or (reset == "next_step" and self.resets_in_branch(reset)):
            # No action is legal here, so the rules may compute numbers out of bounds. Packed, they would overwrite the
            # flags beside them.
            after = game.where(over, s, after)
        if reset == "disabled" and keep_finished:
            # A game that stays over keeps the flag by which it has ended.
            flags = [where(over, old, new) for old, new in zip(old_flags, flags, strict=True)]
        # A finished game gets no more rewards. With resets in the same step, no game is over before a step.
        if reset != "same_step":
            rewards = [where(over, 0.0, r) for r in rewards]
            events = [where(over, 0, event) for event in events]
        if reset == "next_step":
            # Games that were over reset in this step, so they are in progress after it.
            flags = [~over & flag for flag in flags]
        resets = scalar(False)
        first = None
        if reset != "disabled":
            resets = flags[0] | flags[1] if reset == "same_step" else over
            if not self.resets_in_branch(reset):
                # Without a branch all games compute a first state, and those that reset take it.
                first = game.init(row_keys, s.episode + 1)
                after = game.where(resets, first, after)
                # a sum, since compilers turn a selection into a branch
                after = after.replace(episode=s.episode + uint32(resets))

        def mask() -> MaskWords:
            # Without chance, the first mask is a constant. Other games then take the mask of the state that the rules
            # returned, which shares computations with their step. It is wrong only for games that are over or reset.
            first_mask = None if first is None or game.spec.chance else game.mask(first)
            state = moved if first is None or first_mask is not None else after
            words = self.live_mask(after if game.has_memory else state, flags, reset)
            if first_mask is None or isinstance(first_mask, MemoryArray) or isinstance(words, MemoryArray):
                return words
            return where(resets, first_mask, words)

        return AfterStep(after, rewards, flags, resets, mask, events)

    def given_action(self, mask: MaskWords, actions: Cells, at: Coords, wide: bool = False) -> tuple[Scalar, Scalar]:
        """Return a game's entry of `actions`, clamped to the range of actions, and whether it is legal.

        wide: whether the entries are int64, each as two words, the low one first.
        """
        index = at.batch.index(0, 1)
        if wide:
            low = actions[2 * index]
            high = actions[2 * index + 1]
            # A number that int32 cannot hold becomes -1. Its low word might be an action.
            action = where(high == where(low < 0, -1, 0), low, -1)
        else:
            action = actions[index]
        # Rules get only actions in range.
        clamped = minimum(maximum(action, 0), self.game.spec.num_actions - 1)
        return clamped, (clamped == action) & has_bit(mask, clamped)

    def live_mask(self, s: GameState, flags: Sequence[Scalar], reset: Autoreset) -> MaskWords:
        """Return the mask of a state; it is empty for a game that is over and does not reset in this step."""
        mask = self.game.mask(s)
        if reset == "same_step":
            return mask
        over = flags[0] | flags[1]
        if isinstance(mask, MemoryArray):
            return MemoryArray(lambda w: where(over, 0, mask[w]), len(mask))
        return [where(over, 0, w) for w in mask]

    def auto_reset(self, words: Words, resets: Cells, row_keys: Cells) -> None:
        """Reset the games whose entry in `resets` (registers) is not 0, in a branch."""
        # A thread of a GPU may branch by itself.
        if self.block.thread is not None:
            at = self.block.at(self.block.thread)
            with branch(resets[at.register.index(0, 1)] != 0):
                self._first_state(words, at, row_keys)
            return
        # On a CPU, list the lanes that reset, and then loop over the list: few games end in a step, and these first
        # states take many instructions.
        queue = self.block.registers(1, INT32)
        length = self.block.registers(1, INT32)
        length[0] = 0
        with loop(self.block.lanes) as lane:
            n = length[0]
            # Write every lane to the end of the list, and move the end only past lanes that reset: no branch.
            queue[n] = lane
            length[0] = n + int32(resets[self.block.at(lane).register.index(0, 1)])
        with loop(length[0]) as k:
            self._first_state(words, self.block.at(queue[k] & (self.block.lanes - 1)), row_keys)

    def _first_state(self, words: Words, at: Coords, row_keys: Cells) -> None:
        """Store the first state of a game's next episode, but keep the flags of the step."""
        old = words.load(at)
        # first states are long, and unrolled loops would make them longer
        with no_unroll():
            s = self.game.init(self.row_keys(row_keys, at), self.layout.get(old, "episode") + 1)
        mask = {} if words.in_registers else {"mask": self.game.mask(s)}
        words.store(at, s=s, flags=self.layout.get_flags(old), **mask)


def trace_blocks(
    kernel: Kernel, game: Game, layout: Layout, grid: BlockGrid, pack: Callable[[Sequence[Cells]], Any]
) -> Callable[..., None]:
    """Return the body of a kernel: a function of its arrays, followed on the CPU by the range of blocks.

    pack: function from the arrays to the kernel's named tuple.
    """

    def body(*cells: Cells) -> None:
        block_range = None if grid.gpu else cells[-1]
        with GameBlock.each_of(grid, block_range, not game.has_memory) as block:
            kernel.trace(Tracer(game, layout, grid, block), pack(cells))

    return body


def row_index(at: Coords) -> Scalar:
    """Return the row of a game in its device's shard of the batch."""
    return scalar(at.batch.row).to(INT32)


class MoveList:
    """Moves of each game of a block since the lists were cleared, in registers.

    A move is the number player * actions + action. Games of a block move together, until each is over.

    Attributes:
        LENGTH: moves of a game that its list holds; later ones are left out.
    """

    LENGTH = 256

    def __init__(self, t: Tracer):
        self.block = t.block
        # the entry after the last takes the moves that are left out
        self.moves = t.block.registers(self.LENGTH + 1, INT32)
        self.lengths = t.block.registers(1, INT32)
        self.position = registers(1, INT32)  # where the next move of every game goes

    def clear(self) -> None:
        self.position[0] = 0
        self.block.each(lambda at: store(self.lengths, at.register, [0]))

    def advance(self) -> None:
        """Advance to the next move of every game."""
        self.position[0] = minimum(self.position[0] + 1, self.LENGTH)

    def _index(self, at: Coords, number: Scalar) -> Scalar:
        index: Scalar = at.register.index(minimum(number, self.LENGTH), self.LENGTH + 1)
        return index

    def put(self, at: Coords, move: Scalar, idle: Scalar) -> None:
        """Add a game's move to its list; the list of an idle game keeps its length."""
        position = self.position[0]
        self.moves[self._index(at, position)] = move
        store(self.lengths, at.register, [where(idle, self.length(at), position + 1)])

    def length(self, at: Coords) -> Scalar:
        """Return the number of a game's moves."""
        return minimum(load(self.lengths, at.register)[0], self.LENGTH)

    def get(self, at: Coords, number: Scalar) -> Scalar:
        """Return a game's move by its number in the list."""
        return self.moves[self._index(at, number)]
