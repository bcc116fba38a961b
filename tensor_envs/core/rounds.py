"""Many steps in one kernel, the games held in registers: rollouts and playouts."""

from __future__ import annotations

from tinygrad import UOp, dtypes

from tensor_envs.core.block import At, Place, Rows, cells, fill
from tensor_envs.core.game import Game
from tensor_envs.core.memory import any_of, loop, number
from tensor_envs.core.plan import Parameters, Plan
from tensor_envs.core.random import threefry
from tensor_envs.core.trace import Trace

NEVER = [UOp.const(False, dtypes.bool)] * 2


class Rounds(Trace):
    """Every stage is played for all lanes of a block before the next one; the rounds between are of all lanes, too."""

    def __init__(self, game: Game, plan: Plan, p: Parameters):
        super().__init__(game, plan, p)
        self.held, self.flags = Rows.held(game, self.block), self.block.registers(2, dtypes.bool)
        self.sums = self.block.registers(3 * self.players, dtypes.float32)  # rewards, returns, wins
        self.stay = plan.reset == "none"  # else no game is over where a step begins

    def wait(self, *deps: UOp) -> None:
        """What is read of the registers from now on is read after these."""
        self.held, self.flags = self.held.after(*deps), self.flags.after(*deps)
        self.sums = self.sums.after(*deps)

    def kernel(self) -> UOp:
        again = self.playouts if self.plan.task == "playout" else self.rollout
        self.wait(again(self.block.each(self.begin)))
        return self.block.end(self.block.each(self.finish))

    def rollout(self, begun: UOp) -> UOp:
        """As many rounds as `scalars` says."""
        time = loop(self.p.scalars[0].load())
        self.wait(begun, time)
        played = self.block.each(lambda at: self.round(at, None))
        return (self.begin_again(self.held, self.flags, played) if self.apart else played).end(time)

    def playouts(self, begun: UOp) -> UOp:
        """Rounds until every game of the block is over, or as many as `scalars` says."""
        count, turn = self.block.registers(1, dtypes.int32), UOp.loop(number())
        begun = count.after(begun)[0].store(0)
        self.wait(begun, turn)
        n = count.after(begun, turn)[0].load() + 1
        played = count.after(self.block.each(lambda at: self.round(at, n.eq(1))))[0].store(n)

        def goes_on(lane: UOp) -> UOp:
            return self.over(self.flags.after(played), self.block.at(lane).register).logical_not()

        return played.end(turn, any_of(self.block.lanes, goes_on) & (n < self.p.scalars[0].load()))

    # *** stages ***

    def begin(self, at: At) -> list[UOp]:
        playout = self.plan.task == "playout"
        source = self.source(at) if playout else at
        s = self.old.load(source)
        if playout and self.game.spec.chance:  # a future of its own
            low, high, row, *_ = self.stream(at)
            s = s.replace(key=list(threefry((low, high), (row, s.episode))))
        flags = cells(self.p.old_flags, range(2), source.batch) if self.stay else NEVER
        stores = self.held.store(s, at) + fill(self.flags, 0, flags, at.register)
        return stores + fill(self.sums, 0, [0.0] * 3 * self.players, at.register)

    def round(self, at: At, first: UOp | None) -> list[UOp]:
        """first: whether this is a playout's first round, which may play a given action."""
        s, was = self.held.load(at), cells(self.flags, range(2), at.register) if self.stay else NEVER
        totals = cells(self.sums, range(self.players, 3 * self.players), at.register)
        mask = self.game.mask(s)
        action, legal, _ = self.action(s, mask, at)
        if first is not None and self.p.actions is not None:
            given, allowed = self.given(mask, self.source(at))
            action, legal = first.where(given, action), first.logical_not() | allowed
        after, rewards, now = self.play(s, was, action, legal, at)
        wins = [((now[0] | now[1]) & (r > 0)).cast(dtypes.float32) for r in rewards]
        sums = rewards + [total + x for total, x in zip(totals, rewards + wins, strict=True)]
        stores = self.held.store(after, at) + fill(self.sums, 0, sums, at.register)
        return stores + fill(self.flags, 0, now if self.stay or self.apart else [], at.register)

    def finish(self, at: At) -> list[UOp]:
        values, stores = cells(self.sums, range(3 * self.players), at.register), []
        if self.plan.task == "rollout":
            flags = cells(self.flags, range(2), at.register) if self.stay else NEVER
            stores = self.outputs(self.held.load(at), values[: self.players], flags, at)
        return stores + fill(self.p.totals, 0, values[self.players :], at.batch)

    def source(self, at: At) -> At:
        """Where the game stands that this one is a copy of."""
        blocks, lanes = self.plan.source
        copies = self.plan.blocks * self.plan.lanes // (blocks * lanes)
        game = (at.batch.block * self.plan.lanes + at.batch.lane) // copies
        return At(Place(game // lanes, game % lanes, blocks, lanes), at.register)
