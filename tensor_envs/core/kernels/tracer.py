"""What kernels have in common: one is traced by a `Tracer`, with the arrays that it reads and writes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Protocol

from tinygrad import UOp, dtypes
from tinygrad.uop.ops import AxisType, Ops

from tensor_envs.core.game import Game, MaskWords
from tensor_envs.core.kernels.block import Block, Coords, Grid, Place, Words, load
from tensor_envs.core.layout import RNG_WORDS, Layout
from tensor_envs.rules.bits import has_bit
from tensor_envs.rules.control import loop, next_id, no_unroll
from tensor_envs.rules.lists import MemoryArray
from tensor_envs.rules.scalar import INT, Scalar, scalar, where, word
from tensor_envs.rules.spec import GameState

Reset = Literal[
    "none", "same_step", "next_step"
]  # of a finished game: it stays; starts again at once; a step later
BRANCH_MIN_OPS = (
    200  # operations of a first state from which a branch works it out, for the games alone that need it
)
NEVER = [scalar(False)] * 2


class Kernel(Protocol):
    """What a kernel does with every game: a frozen dataclass of its options, which with a grid tell it apart."""

    @property
    def name(self) -> str: ...

    def trace(self, t: Tracer, a: Any) -> UOp:
        """The stores of all games. `a`: its arrays, a named tuple in which None stands for one that is not there."""


class Tracer:
    """One kernel being traced."""

    def __init__(self, game: Game, layout: Layout, grid: Grid, share: UOp | None):
        self.game, self.layout, self.grid = game, layout, grid
        self.block = Block(grid, not game.has_memory, share)
        self.players = game.spec.num_players
        self.dynamic = False  # whether there are loops of a length that tinygrad does not know

    def words(self, array: UOp) -> Words:
        return Words(self.layout, array)

    def registers(self) -> Words:
        """The fields of a block's games in registers."""
        array = self.block.registers(self.layout.field_words, dtypes.uint32)
        return Words(self.layout, array, in_registers=True)

    def row_rng(self, array: UOp, at: Coords) -> list[Scalar]:
        return load(array, at.batch, RNG_WORDS)

    def place_in(self, lanes: int, at: Coords) -> Coords:
        """Where the game of the same row stands in arrays of other lanes."""
        if lanes == self.grid.lanes:
            return at
        row = at.batch.row
        return Coords(Place(row // lanes, row % lanes, lanes), at.register)

    def resets_in_branch(self, reset: Reset) -> bool:
        """Whether finished games begin again in a branch of their own; else every game works out its first state."""
        # not of one lane alone: into its cells, whose addresses are the same in both, tinygrad refuses a second store
        many = self.grid.branches and (self.grid.gpu or self.grid.lanes > 1)
        return many and reset != "none" and self.game.init_ops > BRANCH_MIN_OPS

    def play(
        self,
        s: GameState,
        was: Sequence[Scalar],
        action: Scalar,
        legal: Scalar | None,
        reset: Reset,
        row_rng: Sequence[Scalar],
    ) -> tuple[GameState, list[Scalar], list[Scalar], Scalar]:
        """One action, and what becomes of finished games -> state, rewards, flags, and whether it begins again.

        Games that begin again in a branch are left to it.
        """
        over = was[0] | was[1]
        after, rewards, *flags = self.game.step(s, action, legal)
        if reset == "none":
            after = self.game.where(over, s, after)
            flags = [where(over, old, new) for old, new in zip(was, flags, strict=True)]
        if reset != "same_step":
            rewards = [where(over, 0.0, r) for r in rewards]
        if reset == "next_step":
            flags = [~over & flag for flag in flags]
        again = scalar(False)
        if reset != "none":
            again = flags[0] | flags[1] if reset == "same_step" else over
            if not self.resets_in_branch(reset):
                after = self.game.where(again, self.game.init(row_rng, s.episode + 1), after)
                # a sum, where a choice would be a branch
                after = after.replace(episode=s.episode + word(again))
        return after, rewards, flags, again

    def given_action(self, mask: MaskWords, actions: UOp, at: Coords) -> tuple[Scalar, Scalar]:
        """The action that `actions` says, and whether it is legal."""
        action = load(actions, at.batch, dtype=INT)[0]
        # bounds that tinygrad can see keep `%` out of computed indices
        near = Scalar(action.uop().maximum(0).minimum(self.game.spec.num_actions - 1), INT)
        return near, (near == action) & has_bit(mask, near)

    def live_mask(self, s: GameState, flags: Sequence[Scalar], reset: Reset) -> MaskWords:
        """A game that is over, and not to be started again in this step, has no legal action."""
        mask = self.game.mask(s)
        if reset == "same_step":
            return mask
        over = flags[0] | flags[1]
        if isinstance(mask, MemoryArray):
            return MemoryArray(lambda w: where(over, 0, mask[w]), len(mask))
        return [where(over, 0, w) for w in mask]

    def begin_again(self, words: Words, again: UOp, row_rng: UOp, played: UOp) -> UOp:
        """In a branch after a step: the games whose `again` (registers) is not 0 are listed, and begin again."""
        self.dynamic = True
        if self.block.thread is not None:  # each sees to its own game
            at = self.block.at(self.block.thread)
            some = branch(load(again, at.register)[0].uop().ne(0))
            return self._first_state(words.after(some), at, row_rng.after(some)).end(some)
        queue = self.block.registers(1, dtypes.uint32)
        counts = self.block.registers(2, dtypes.uint32)  # games in it, and those of them begun again

        def count(k: int, *after: UOp) -> UOp:
            return counts.after(*after)[k]

        # each stage waits for the one before it alone: tinygrad may rewrite what two wait for into two versions
        start, lane = count(0, played).store(0), loop(self.block.lanes)
        n, at = count(0, start, lane).load(), self.block.at(lane)
        due = load(again.after(start), at.register)[0].uop()
        listed = UOp.group(
            queue[n].store(lane.cast(dtypes.uint32)), count(0, start, lane).store(n + due)
        ).end(lane)
        some, turn = branch(count(0, listed).load().ne(0)), UOp.loop(next_id())
        k = count(1, count(1, some).store(0), turn).load()
        # within bounds that tinygrad can see, and of a dtype that it takes for an index
        at = self.block.at((queue.after(turn)[k].load() % self.block.lanes).cast(dtypes.int32))
        begun = UOp.group(
            self._first_state(words.after(turn), at, row_rng.after(turn)), count(1, turn).store(k + 1)
        )
        return begun.end(turn, k + 1 < count(0, turn).load()).end(some)

    def _first_state(self, words: Words, at: Coords, row_rng: UOp) -> UOp:
        """The stores of a game that begins its next episode after a step."""
        old = words.load(at)
        with no_unroll():
            s = self.game.init(self.row_rng(row_rng, at), self.layout.get(old, "episode") + 1)
        mask = {} if words.in_registers else {"mask": self.game.mask(s)}
        # the flags are those of the step
        return UOp.group(*words.store(at, s=s, flags=self.layout.get_flags(old), **mask))


def branch(condition: UOp) -> UOp:
    """A loop that runs once where the condition holds and never where it does not: a C compiler's branch.

    How GPU languages write it is in `core/backend/write.py`. Its bound is a bool, which tinygrad does not
    take for an index: ending it leaves the loops alone that the condition depends on.
    """
    return UOp(Ops.RANGE, src=(condition,), arg=(next_id(), AxisType.WEAK))


def row_index(at: Coords) -> Scalar:
    """The number of a game in its device's share of the batch."""
    return Scalar(at.batch.row.cast(dtypes.int32), INT)
