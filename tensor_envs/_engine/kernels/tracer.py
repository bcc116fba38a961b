"""Base of all kernels: a `Tracer` records one, with the arrays that it reads and writes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, Protocol

from tensor_envs._compiler.tape import INT, WORD
from tensor_envs._engine.batch_layout import Grid
from tensor_envs._engine.kernels.block import Coords, GameBlock, Place, Words, load
from tensor_envs._engine.random import KEY_WORDS
from tensor_envs.rules.bits import has_bit
from tensor_envs.rules.kernel import Cells, branch, loop, no_unroll
from tensor_envs.rules.lists import MemoryArray
from tensor_envs.rules.scalar import Scalar, integer, maximum, minimum, scalar, where, word
from tensor_envs.rules.spec import GameState

if TYPE_CHECKING:
    from tensor_envs._engine.game import Game
    from tensor_envs._engine.layout import Layout, MaskWords

# what happens to a finished game: nothing; a reset in the same step; a reset in the next step
AutoReset = Literal["none", "same_step", "next_step"]
# instructions of a first state from which a branch computes it, for the games that reset only
BRANCH_MIN_INSTRUCTIONS = 280
NEVER = [scalar(False)] * 2


class Kernel(Protocol):
    """Work of a kernel on every game: a frozen dataclass of its options, which with a grid identify the kernel."""

    @property
    def name(self) -> str: ...

    def trace(self, t: Tracer, a: Any) -> None:
        """Record the kernel for a block. `a`: its arrays, a named tuple in which None stands for an absent one."""


class Tracer:
    """A kernel that is being recorded for the games of a block."""

    def __init__(self, game: Game, layout: Layout, grid: Grid, block: GameBlock):
        self.game, self.layout, self.grid, self.block = game, layout, grid, block
        self.players = game.spec.num_players

    @classmethod
    @contextmanager
    def each_block(cls, game: Game, layout: Layout, grid: Grid, share: Cells | None) -> Iterator[Tracer]:
        """Record a loop over blocks, see `GameBlock.each_of`."""
        with GameBlock.each_of(grid, share, not game.has_memory) as block:
            yield cls(game, layout, grid, block)

    def words(self, cells: Cells) -> Words:
        return Words(self.layout, cells)

    def registers(self) -> Words:
        """Return registers for the fields of a block's games."""
        cells = self.block.registers(self.layout.field_words, WORD)
        return Words(self.layout, cells, in_registers=True)

    def row_keys(self, cells: Cells, at: Coords) -> list[Scalar]:
        return load(cells, at.batch, KEY_WORDS)

    def place_in(self, lanes: int, at: Coords) -> Coords:
        """Return where the game of the same row stands in arrays of another number of lanes."""
        if lanes == self.grid.lanes:
            return at
        row = at.batch.row
        return Coords(Place(row // lanes, row % lanes, lanes), at.register)

    def resets_in_branch(self, reset: AutoReset) -> bool:
        """Return whether finished games reset in a branch of their own; else every game computes its first state."""
        # not of one lane alone, whose branch would be taken by all games or none
        many = self.grid.branches and (self.grid.gpu or self.grid.lanes > 1)
        return many and reset != "none" and self.game.init_instructions > BRANCH_MIN_INSTRUCTIONS

    def play(
        self,
        s: GameState,
        was: Sequence[Scalar],
        action: Scalar,
        legal: Scalar | None,
        reset: AutoReset,
        row_keys: Sequence[Scalar],
    ) -> tuple[GameState, list[Scalar], list[Scalar], Scalar]:
        """Play an action and handle finished games.

        Returns:
            The state, the rewards, the flags, and whether the game resets. A game that resets in a branch is
            returned as it ended.
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
                after = self.game.where(again, self.game.init(row_keys, s.episode + 1), after)
                # a sum, where a choice would be a branch
                after = after.replace(episode=s.episode + word(again))
        return after, rewards, flags, again

    def given_action(self, mask: MaskWords, actions: Cells, at: Coords) -> tuple[Scalar, Scalar]:
        """Return a game's entry of `actions`, moved into range, and whether it is legal."""
        action = actions[at.batch.index(0, 1)]
        near = minimum(maximum(action, 0), self.game.spec.num_actions - 1)
        return near, (near == action) & has_bit(mask, near)

    def live_mask(self, s: GameState, flags: Sequence[Scalar], reset: AutoReset) -> MaskWords:
        """Return the mask, which is empty for a game that is over and does not reset in this step."""
        mask = self.game.mask(s)
        if reset == "same_step":
            return mask
        over = flags[0] | flags[1]
        if isinstance(mask, MemoryArray):
            return MemoryArray(lambda w: where(over, 0, mask[w]), len(mask))
        return [where(over, 0, w) for w in mask]

    def auto_reset(self, words: Words, again: Cells, row_keys: Cells) -> None:
        """Reset the games whose `again` (registers) is not 0, in a branch after a step."""
        if self.block.thread is not None:  # each thread has its own game
            at = self.block.at(self.block.thread)
            with branch(again[at.register.index(0, 1)] != 0):
                self._first_state(words, at, row_keys)
            return
        queue, length = self.block.registers(1, INT), self.block.registers(1, INT)
        length[0] = 0
        with loop(self.block.lanes) as lane:
            n = length[0]
            queue[n] = lane
            length[0] = n + integer(again[self.block.at(lane).register.index(0, 1)])
        with loop(length[0]) as k:
            self._first_state(words, self.block.at(queue[k] & (self.block.lanes - 1)), row_keys)

    def _first_state(self, words: Words, at: Coords, row_keys: Cells) -> None:
        """Store the first state of a game's next episode; its flags stay those of the step."""
        old = words.load(at)
        with no_unroll():
            s = self.game.init(self.row_keys(row_keys, at), self.layout.get(old, "episode") + 1)
        mask = {} if words.in_registers else {"mask": self.game.mask(s)}
        words.store(at, s=s, flags=self.layout.get_flags(old), **mask)


def trace_blocks(
    kernel: Kernel, game: Game, layout: Layout, grid: Grid, pack: Callable[[Sequence[Cells]], Any]
) -> Callable[..., None]:
    """Return the body of a kernel: a function of its arrays, and on the CPU of the blocks to play last.

    pack: makes the kernel's named tuple of the arrays.
    """

    def body(*cells: Cells) -> None:
        share = None if grid.gpu else cells[-1]
        with Tracer.each_block(game, layout, grid, share) as t:
            kernel.trace(t, pack(cells))

    return body


def row_index(at: Coords) -> Scalar:
    """Return the number of a game in its device's share of the batch."""
    return scalar(at.batch.row).to(INT)
