"""Many steps in one kernel, the games held in registers: rollouts and playouts.

Every stage is played for all lanes of a block before the next one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from tensor_envs._compiler.tape import INT, REAL, WORD
from tensor_envs._engine.game import uniform_action
from tensor_envs._engine.kernels.base import NEVER, AutoReset, Coords, Place, Tracer, load, row_index, store
from tensor_envs.rules.chance import threefry
from tensor_envs.rules.kernel import do_while, loop, registers
from tensor_envs.rules.scalar import Scalar, integer, maximum, minimum, real, where
from tensor_envs.rules.spec import GameState

# (place of a game, its mask) -> whether to replace the uniform action, the action, whether it is legal
Override = Callable[[Coords, Any], tuple[Scalar, Scalar, Scalar]]


class BlockState:
    """A block's games in registers while they are played."""

    def __init__(self, t: Tracer, reset: AutoReset, keys: Callable[[Coords], list[Scalar]], counts: bool = True):
        """Allocate registers. keys: row keys of a game; `counts` also records the last rewards and the wins."""
        self.t, self.reset, self.keys, self.players = t, reset, keys, t.players
        self.words = t.registers()
        self.resetting = t.block.registers(1, WORD)
        self.mirrored = self.players == 2 and t.game.spec.zero_sum  # the other player's rewards follow
        self.each = 1 if self.mirrored else self.players
        self.num_sums = 2 * self.each if counts else self.each  # returns, rewards
        self.sums = t.block.registers(self.num_sums, REAL)
        self.wins = t.block.registers(self.players, INT)
        self.stays = reset == "none"  # whether finished games stay; else no game is over before a step

    def begin(self, at: Coords, s: GameState, flags: Sequence[Scalar], returns: Sequence[Scalar] = ()) -> None:
        self.words.store(at, s=s, flags=flags if self.stays else NEVER)
        sums = [*returns[: self.each], *[0.0] * self.num_sums][: self.num_sums]
        store(self.sums, at.register, sums)
        store(self.wins, at.register, [0] * self.players)

    def step(self, at: Coords, override: Override | None = None) -> None:
        """Play one action in one game, by the uniform policy unless `override` replaces it."""
        t, words = self.t, self.words.load(at)
        s, was = t.layout.get_state(words), t.layout.get_flags(words) if self.stays else NEVER
        sums = load(self.sums, at.register, self.num_sums)
        wins = load(self.wins, at.register, self.players)
        mask, keys = t.game.mask(s), self.keys(at)
        action = uniform_action(s, mask, t.game.spec.num_actions, keys[3:], live=not self.stays)
        legal = None
        if override is not None:
            when, chosen, allowed = override(at, mask)
            action, legal = where(when, chosen, action), ~when | allowed
        after, rewards, new_flags, resets = t.play(s, was, action, legal, self.reset, keys)
        wins = [n + integer((new_flags[0] | new_flags[1]) & (r > 0.0)) for n, r in zip(wins, rewards, strict=True)]
        counted = rewards[: self.each]
        sums = [a + b for a, b in zip(sums, counted, strict=False)] + counted
        self.words.store(at, s=after, flags=new_flags if self.stays else NEVER)
        if t.resets_in_branch(self.reset):
            store(self.resetting, at.register, [resets])
        store(self.sums, at.register, sums[: self.num_sums])
        store(self.wins, at.register, wins)

    def play_to_end(self, limit: Scalar, override: Callable[[Scalar], Override] | None = None) -> None:
        """Step until all games of the block are over, or `limit` times.

        override: called with the number of the step, from 1.
        """
        count = registers(1, INT)
        count[0] = 0
        with do_while() as turn:
            count[0] = count[0] + 1
            n = count[0]
            self.t.block.each(lambda at: self.step(at, None if override is None else override(n)))
            turn.again = self.t.block.any(lambda at: ~self.words.over(at)) & (n < limit)

    def returns(self, at: Coords) -> list[Scalar]:
        """Return the returns of all players."""
        return self._of_all(load(self.sums, at.register, self.num_sums)[: self.each])

    def counts(self, at: Coords) -> tuple[list[Scalar], list[Scalar]]:
        """Return the rewards of the last step, and the wins, of all players."""
        rewards = load(self.sums, at.register, self.num_sums)[self.each :]
        return self._of_all(rewards), [real(n) for n in load(self.wins, at.register, self.players)]

    def _of_all(self, values: list[Scalar]) -> list[Scalar]:
        return [*values, 0.0 - values[0]] if self.mirrored else values


@dataclass(frozen=True)
class UniformRollout:
    """Play actions of the uniform policy in registers; `scalars` has their number."""

    reset: AutoReset
    name = "rollout"

    class Arrays(NamedTuple):
        new: Any
        old: Any
        row_keys: Any
        totals: Any  # float32: returns, then wins (episodes that end with a reward above 0), P each
        scalars: Any  # int32

    def trace(self, t: Tracer, a: Arrays) -> None:
        state = BlockState(t, self.reset, lambda at: t.row_keys(a.row_keys, at))

        def begin(at: Coords) -> None:
            words = t.words(a.old).load(at)
            state.begin(at, t.layout.get_state(words), t.layout.get_flags(words) if state.stays else NEVER)

        def finish(at: Coords) -> None:
            words = state.words.load(at)
            s, flags = t.layout.get_state(words), t.layout.get_flags(words) if state.stays else NEVER
            rewards, wins = state.counts(at)
            mask = t.live_mask(s, flags, self.reset)
            t.words(a.new).store(at, s=s, flags=flags, rewards=rewards, mask=mask)
            store(a.totals, at.batch, state.returns(at) + wins)

        t.block.each(begin)
        with loop(a.scalars[0]):
            t.block.each(state.step)
            if t.resets_in_branch(self.reset):
                t.auto_reset(state.words, state.resetting, a.row_keys)
        t.block.each(finish)


@dataclass(frozen=True)
class Playout:
    """Play from `copies` copies of every game of another batch until all of a block are over.

    Their chance is resampled. `actions`, if any, are played first. lanes: lanes of the other batch.
    """

    lanes: int
    copies: int
    name = "playout"

    class Arrays(NamedTuple):
        old: Any
        row_keys: Any
        totals: Any
        scalars: Any  # int32: maximum number of actions, games of the other batch
        actions: Any = None

    def trace(self, t: Tracer, a: Arrays) -> None:
        state = BlockState(t, "none", lambda at: t.row_keys(a.row_keys, at), counts=False)

        def begin(at: Coords) -> None:
            words = t.words(a.old).load(self._source(at, a))
            s = t.layout.get_state(words)
            if t.game.spec.chance:  # every copy has its own future
                low, high, row, *_ = t.row_keys(a.row_keys, at)
                s = s.replace(key=list(threefry((low, high), (row, s.episode))))
            state.begin(at, s, t.layout.get_flags(words))

        def override(n: Scalar) -> Override:
            def first(at: Coords, mask: Any) -> tuple[Scalar, Scalar, Scalar]:
                action, legal = t.given_action(mask, a.actions, self._source(at, a))
                return n == 1, action, legal

            return first

        t.block.each(begin)
        state.play_to_end(a.scalars[0], None if a.actions is None else override)
        t.block.each(lambda at: store(a.totals, at.batch, state.returns(at)))

    def _source(self, at: Coords, a: Arrays) -> Coords:
        """Return the place of the game that this one copies."""
        game = maximum(minimum(row_index(at) // self.copies, a.scalars[1] - 1), 0)
        return Coords(Place(game // self.lanes, game % self.lanes, self.lanes), at.register)
