"""A kernel of one stage being traced: a step, and the tasks that are no step."""

from __future__ import annotations

from typing import Any

from tinygrad import UOp, dtypes

from tensor_envs.core.block import At, Block, Place, Rows, cell, cells, fill
from tensor_envs.core.game import Game, constant, uniform
from tensor_envs.core.memory import MemoryArray, branch, loop, number, rolled
from tensor_envs.core.plan import STREAM_ROWS, Parameters, Plan
from tensor_envs.core.random import POLICY_EPISODE, threefry
from tensor_envs.core.spec import GameState
from tensor_envs.ops.bits import has, num_words

LARGE = 200  # operations of a first state from which a branch works it out, for the games alone that need it


def begins_apart(game: Game, plan: Plan) -> bool:
    """Whether finished games begin again in a branch of their own; else every game works out its first state too."""
    # not of one lane alone: into its cells, whose addresses are the same in both, tinygrad refuses a second store
    return plan.reset != "none" and not plan.gpu and plan.lanes > 1 and game.size_of_new > LARGE


class Trace:
    """One kernel being traced."""

    def __init__(self, game: Game, plan: Plan, p: Parameters):
        self.game, self.plan, self.p = game, plan, p
        self.block = Block(plan.blocks, plan.lanes, plan.gpu, not game.has_memory)
        self.players = game.spec.num_players
        self.old, self.new = Rows(game, p.old_fields), Rows(game, p.fields)
        self.apart = begins_apart(game, plan)

    def kernel(self) -> UOp:
        stages = {
            "seed": self.seed,
            "take": self.take,
            "choose": self.choose,
            "step": self.step,
            "uniform": self.step,
        }
        done = self.block.each(stages.get(self.plan.task, self.first))
        if self.apart:
            over = self.p.flags if self.plan.reset == "same_step" else self.p.old_flags
            done = self.begin_again(self.new, over, done)
        return self.block.end(done)

    def choose(self, at: At) -> list[UOp]:
        return self.action(self.old.load(at), self.mask(at), at)[2]

    def seed(self, at: At) -> list[UOp]:
        """The stream of a row, on a device whose share of the batch begins at some row."""
        low, high, start = (self.p.scalars[k].load().cast(dtypes.uint32) for k in range(3))
        row = start + (at.batch.block * self.plan.lanes + at.batch.lane).cast(dtypes.uint32)
        policy_key = threefry((low, high), (row, row.const_like(POLICY_EPISODE)))
        return fill(self.p.stream, 0, [low, high, row, *policy_key], at.batch)

    def take(self, at: At) -> list[UOp]:
        p, (blocks, lanes) = self.p, self.plan.source
        row = cell(p.actions, 0, at.batch).load().maximum(0).minimum(blocks * lanes - 1)
        place = Place(row // lanes, row % lanes, blocks, lanes)
        new = [*p.fields, p.mask, p.flags, p.rewards, p.stream]
        old = [*p.old_fields, p.old_mask, p.old_flags, p.old_rewards, p.old_stream]
        stores: list[UOp] = []
        for to, array in zip(new, old, strict=True):
            stores += fill(to, 0, cells(array, range(array.shape[0] // (blocks * lanes)), place), at.batch)
        return stores

    def first(self, at: At) -> list[UOp]:
        """A state that no action has led to."""
        if self.plan.task == "new":
            s, flags = (
                self.game.new(self.stream(at), UOp.const(0, dtypes.uint32)),
                [UOp.const(False, dtypes.bool)] * 2,
            )
        else:
            s, flags = self.old.load(at), cells(self.p.old_flags, range(2), at.batch)
        if self.plan.task == "derive" and self.game.spec.chance:
            s = s.replace(key=list(self.game.key(self.stream(at), s.episode)))
        if self.plan.task == "restart":
            chosen = self.p.actions is not None
            again = cell(self.p.actions, 0, at.batch).load().ne(0) if chosen else flags[0] | flags[1]
            s = self.game.where(again, self.game.new(self.stream(at), s.episode + 1), s)
            flags = [flag & again.logical_not() for flag in flags]
        return self.outputs(s, [constant(0.0, dtypes.float32)] * self.players, flags, at)

    def step(self, at: At) -> list[UOp]:
        s, flags = self.old.load(at), cells(self.p.old_flags, range(2), at.batch)
        action, legal, stores = self.action(s, self.mask(at), at)
        s, rewards, flags = self.play(s, flags, action, legal, at)
        return stores + self.outputs(s, rewards, flags, at)

    def over(self, flags: UOp, place: Place) -> UOp:
        terminated, truncated = cells(flags, range(2), place)
        return terminated | truncated

    def begin_again(self, rows: Rows, flags: UOp, played: UOp) -> UOp:
        """Apart from a step: the games that are over are listed, and begin again one by one."""
        queue = self.block.registers(1, dtypes.uint32)  # lanes
        counts = self.block.registers(2, dtypes.uint32)  # games in it, and those of them begun again

        def count(k: int, *after: UOp) -> UOp:
            return counts.after(*after)[k]

        # each stage waits for the one before it alone: tinygrad may rewrite what two wait for into two versions
        start, lane = count(0, played).store(0), loop(self.block.lanes)
        n, at = count(0, start, lane).load(), self.block.at(lane)
        over = self.over(flags.after(start), at.register if rows.registers else at.batch)
        listed = UOp.group(
            queue[n].store(lane.cast(dtypes.uint32)),
            count(0, start, lane).store(n + over.cast(dtypes.uint32)),
        ).end(lane)
        some, turn = branch(count(0, listed).load().ne(0)), UOp.loop(number())
        k = count(1, count(1, some).store(0), turn).load()
        # within bounds that tinygrad can see, and of a dtype that it takes for an index
        at = self.block.at((queue.after(turn)[k].load() % self.block.lanes).cast(dtypes.int32))
        episode = rows.after(turn).element("episode", 0, at).load()
        with rolled():
            s = self.game.new(cells(self.p.stream.after(turn), range(STREAM_ROWS), at.batch), episode + 1)
        stores = [*rows.store(s, at), count(1, turn).store(k + 1)]
        if not rows.registers:
            stores += fill(self.p.mask, 0, self.game.mask(s), at.batch)
        return UOp.group(*stores).end(turn, k + 1 < count(0, turn).load()).end(some)

    def play(
        self, s: GameState, was: list[UOp], action: UOp, legal: UOp | None, at: At
    ) -> tuple[GameState, list[UOp], list[UOp]]:
        """One action, and what becomes of finished games -> state, rewards, flags."""
        reset, over = self.plan.reset, was[0] | was[1]
        after, rewards, *flags = self.game.play(s, action, legal)
        if reset == "none":
            after = self.game.where(over, s, after)
            flags = [over.where(old, new) for old, new in zip(was, flags, strict=True)]
        if reset != "same_step":
            rewards = [over.where(0.0, r) for r in rewards]
        if reset == "next_step":
            flags = [over.logical_not() & flag for flag in flags]
        if reset != "none" and not self.apart:
            again = flags[0] | flags[1] if reset == "same_step" else over
            after = self.game.where(again, self.game.new(self.stream(at), s.episode + 1), after)
            # a sum, where a choice would be a branch
            after = after.replace(episode=s.episode + again.cast(dtypes.uint32))
        return after, rewards, flags

    def action(self, s: GameState, mask: Any, at: At) -> tuple[UOp, UOp | None, list[UOp]]:
        """The action, whether it is legal (None: known to be), and stores."""
        count, array = self.game.spec.num_actions, self.p.actions
        if self.plan.task != "step":
            action = uniform(s, mask, count, self.stream(at)[3:], self.plan.reset == "same_step")
            return action, None, [] if array is None else [cell(array, 0, at.batch).store(action)]
        return *self.given(mask, at), []

    def given(self, mask: Any, at: At) -> tuple[UOp, UOp]:
        """The action that `actions` says, and whether it is legal."""
        action = cell(self.p.actions, 0, at.batch).load()
        # bounds that tinygrad can see keep `%` out of computed indices
        near = action.maximum(0).minimum(self.game.spec.num_actions - 1)
        return near, near.eq(action) & has(mask, near)

    def stream(self, at: At) -> list[UOp]:
        return cells(self.p.stream, range(STREAM_ROWS), at.batch)

    def mask(self, at: At) -> Any:
        words = num_words(self.game.spec.num_actions)
        if self.game.has_memory:
            return MemoryArray(lambda w: cell(self.p.old_mask, w, at.batch).load(), words)
        return cells(self.p.old_mask, range(words), at.batch)

    def outputs(self, s: GameState, rewards: list[UOp], flags: list[UOp], at: At) -> list[UOp]:
        """The batch's stores. A game that is over, and not to be started again in this step, has no legal action."""
        stores = self.new.store(s, at) + fill(self.p.rewards, 0, rewards, at.batch)
        stores += fill(self.p.flags, 0, flags, at.batch)
        mask, nothing = self.game.mask(s), UOp.const(0, dtypes.uint32)

        def live(word: UOp) -> UOp:
            return word if self.plan.reset == "same_step" else (flags[0] | flags[1]).where(nothing, word)

        if isinstance(mask, MemoryArray):
            w = loop(len(mask))
            return [*stores, cell(self.p.mask, w, at.batch).store(live(mask[w])).end(w)]
        return stores + fill(self.p.mask, 0, [live(word) for word in mask], at.batch)
