"""Many steps in one kernel, the games held in registers: rollouts and playouts.

Every stage is played for all lanes of a block before the next one; the steps between are of all lanes, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from tinygrad import UOp, dtypes
from tinygrad.uop.ops import Ops

from tensor_envs.core.game import uniform_action
from tensor_envs.core.kernels.block import Coords, Place, load, store
from tensor_envs.core.kernels.tracer import NEVER, Reset, Tracer, row_index
from tensor_envs.rules.chance import threefry
from tensor_envs.rules.control import loop, next_id, register
from tensor_envs.rules.scalar import INT, REAL, Scalar, integer, real, where, word
from tensor_envs.rules.spec import GameState

Given = Callable[[Coords, Any], tuple[Scalar, Scalar, Scalar]]


class Held:
    """A block's games in registers while they are played."""

    def __init__(self, t: Tracer, reset: Reset, rng: Callable[[Coords], list[Scalar]], counts: bool = True):
        """rng: of a game, as in a row's. counts: whether the last rewards and wins are kept besides returns."""
        self.t, self.reset, self.rng, self.players = t, reset, rng, t.players
        t.dynamic = True
        self.words = t.registers()
        self.again = t.block.registers(1, dtypes.uint32)
        self.mirrored = self.players == 2 and t.game.spec.zero_sum  # what the other gets need not be kept
        self.each = 1 if self.mirrored else self.players
        self.kept = 2 * self.each + self.players if counts else self.each  # returns, rewards, wins
        self.sums = t.block.registers(self.kept, dtypes.float32)
        self.stays = reset == "none"  # else no game is over where a step begins

    def depend_on(self, *deps: UOp) -> None:
        """What is read of the registers from now on is read after these."""
        self.words, self.again = self.words.after(*deps), self.again.after(*deps)
        self.sums = self.sums.after(*deps)

    def begin(
        self, at: Coords, s: GameState, flags: Sequence[Scalar], returns: Sequence[Scalar] = ()
    ) -> list[UOp]:
        stores = self.words.store(at, s=s, flags=flags if self.stays else NEVER)
        sums = [*returns[: self.each], *[0.0] * self.kept][: self.kept]
        return stores + store(self.sums, at.register, sums)

    def step(self, at: Coords, given: Given | None = None) -> list[UOp]:
        """One action in one game; given: when, what and whether it is legal, in place of the uniform policy's."""
        t, words = self.t, self.words.load(at)
        s, was = t.layout.get_state(words), t.layout.get_flags(words) if self.stays else NEVER
        sums = self._sums(at)
        mask, rng = t.game.mask(s), self.rng(at)
        action = uniform_action(s, mask, t.game.spec.num_actions, rng[3:], live=not self.stays)
        legal = None
        if given is not None:
            when, chosen, allowed = given(at, mask)
            action, legal = where(when, chosen, action), ~when | allowed
        after, rewards, now, again = t.play(s, was, action, legal, self.reset, rng)
        wins = [real((now[0] | now[1]) & (r > 0.0)) for r in rewards]
        paid = rewards[: self.each]
        returns, counted = sums[: self.each], sums[2 * self.each :]
        sums = [a + b for a, b in zip(returns, paid, strict=True)] + paid
        sums += [a + b for a, b in zip(counted, wins, strict=False)]
        stores = self.words.store(at, s=after, flags=now if self.stays else NEVER)
        if t.resets_in_branch(self.reset):
            stores += store(self.again, at.register, [word(again)])
        return stores + store(self.sums, at.register, sums[: self.kept])

    def to_the_end(self, limit: UOp, given: Callable[[UOp], Given] | None = None, *deps: UOp) -> UOp:
        """Steps until all games of the block are over, or there were as many as the limit.

        given: of the number of a step, the first being 1. deps: what comes before.
        """
        t, (count, turn) = self.t, (self.t.block.registers(1, dtypes.int32), UOp.loop(next_id()))
        start = count.after(*deps)[0].store(0)
        outer = self.words, self.again, self.sums
        self.depend_on(start, turn)
        n = count.after(start, turn)[0].load() + 1
        played = t.block.each(lambda at: self.step(at, None if given is None else given(n)))
        played = count.after(played)[0].store(n)
        some = any_lane(t, lambda lane: ~self.words.after(played).over(t.block.at(lane.uop())))
        self.words, self.again, self.sums = outer
        return played.end(turn, some & (n < limit))

    def _sums(self, at: Coords) -> list[Scalar]:
        return load(self.sums, at.register, self.kept, REAL)

    def returns(self, at: Coords) -> list[Scalar]:
        """Of all players."""
        return self._all(self._sums(at)[: self.each])

    def counts(self, at: Coords) -> tuple[list[Scalar], list[Scalar]]:
        """The rewards of the last step, and wins, of all players."""
        sums = self._sums(at)[self.each :]
        return self._all(sums[: self.each]), sums[self.each :]

    def _all(self, values: list[Scalar]) -> list[Scalar]:
        return [*values, 0.0 - values[0]] if self.mirrored else values


@dataclass(frozen=True)
class Rollout:
    """Play as many actions of the uniform policy as `scalars` says, all in registers."""

    reset: Reset
    name = "rollout"

    class Arrays(NamedTuple):
        new: Any
        old: Any
        row_rng: Any
        totals: Any  # float32: returns, then wins (episodes that end with a reward above 0), P each
        scalars: Any  # int32

    def trace(self, t: Tracer, a: Arrays) -> UOp:
        held = Held(t, self.reset, lambda at: t.row_rng(a.row_rng, at))

        def begin(at: Coords) -> list[UOp]:
            words = t.words(a.old).load(at)
            return held.begin(
                at, t.layout.get_state(words), t.layout.get_flags(words) if held.stays else NEVER
            )

        begun = t.block.each(begin)
        time = loop(a.scalars[0].load())
        held.depend_on(begun, time)
        done = t.block.each(held.step)
        if t.resets_in_branch(self.reset):
            done = t.begin_again(held.words, held.again.after(done), a.row_rng, done)
        held.depend_on(done.end(time))

        def finish(at: Coords) -> list[UOp]:
            words = held.words.load(at)
            s, flags = t.layout.get_state(words), t.layout.get_flags(words) if held.stays else NEVER
            rewards, wins = held.counts(at)
            mask = t.live_mask(s, flags, self.reset)
            stores = t.words(a.new).store(at, s=s, flags=flags, rewards=rewards, mask=mask)
            return stores + store(a.totals, at.batch, held.returns(at) + wins)

        return t.block.end(t.block.each(finish))


@dataclass(frozen=True)
class Playout:
    """Play from `copies` copies of every game of another batch until all of a block are over.

    Their chance is drawn anew. `actions`, if any, are the first. lanes: of the other batch.
    """

    lanes: int
    copies: int
    name = "playout"

    class Arrays(NamedTuple):
        old: Any
        row_rng: Any
        totals: Any
        scalars: Any  # int32: most actions, games of the other batch
        actions: Any = None

    def trace(self, t: Tracer, a: Arrays) -> UOp:
        held = Held(t, "none", lambda at: t.row_rng(a.row_rng, at), counts=False)

        def begin(at: Coords) -> list[UOp]:
            words = t.words(a.old).load(self._source(at, a))
            s = t.layout.get_state(words)
            if t.game.spec.chance:  # a future of its own
                low, high, row, *_ = t.row_rng(a.row_rng, at)
                s = s.replace(key=list(threefry((low, high), (row, s.episode))))
            return held.begin(at, s, t.layout.get_flags(words))

        def given(n: UOp) -> Given:
            def first(at: Coords, mask: Any) -> tuple[Scalar, Scalar, Scalar]:
                action, legal = t.given_action(mask, a.actions, self._source(at, a))
                return Scalar(n, INT) == 1, action, legal

            return first

        begun = t.block.each(begin)
        chosen = None if a.actions is None else given
        held.depend_on(held.to_the_end(a.scalars[0].load(), chosen, begun))
        return t.block.end(t.block.each(lambda at: store(a.totals, at.batch, held.returns(at))))

    def _source(self, at: Coords, a: Arrays) -> Coords:
        """Where the game stands that this one is a copy of."""
        game = (row_index(at).uop() // self.copies).minimum(a.scalars[1].load() - 1).maximum(0)
        return Coords(Place(game // self.lanes, game % self.lanes, self.lanes), at.register)


def any_lane(t: Tracer, condition: Callable[[Scalar], Scalar]) -> UOp:
    """Whether it holds for some lane of the block; a thread asks for its own."""
    if t.block.thread is not None or t.block.lanes == 1:
        return condition(Scalar(UOp.const(0, dtypes.int32), INT)).uop()
    lane, found = loop(t.block.lanes), register(1, dtypes.int32)
    value = integer(condition(Scalar(lane, INT))).uop()
    start = found.after(*(r for r in value.ranges if r is not lane))[0].store(0)
    so_far = found.after(start, lane)[0]
    return found.after(so_far.store(so_far.load().alu(Ops.MAX, value)).end(lane))[0].load().ne(0)
