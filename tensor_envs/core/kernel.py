"""The rules of one game, traced into one kernel for a whole batch.

tinygrad has no `vmap`: here a game's scalar code is traced once into UOps inside loops over the batch, so legality,
chance, the move, ends, rewards, mask, reset and all outputs are a single kernel, and a whole rollout is one as well.

Form: an outer loop over blocks of games, and within it one or more stages, each an inner loop over the lanes of the
block, which a C compiler turns into vector code. Between stages a block's games live in register arrays. On a GPU a
block is one thread with one lane. Traps of UOp kernels, kept away from the rules: a read of a register that is also
written must be an explicit load before the store.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any, Literal, NamedTuple

from tinygrad import UOp, dtypes
from tinygrad.renderer import Estimates

from tensor_envs.core.block import At, Block, Place, Rows, cell, cells, fill
from tensor_envs.core.game import Game, constant, uniform
from tensor_envs.core.launch import launch
from tensor_envs.core.memory import MemoryArray, any_of, branch, loop, number
from tensor_envs.core.random import POLICY_EPISODE, threefry
from tensor_envs.core.spec import GameState
from tensor_envs.ops.bits import has, num_words

Task = Literal["seed", "new", "derive", "restart", "choose", "step", "uniform", "rollout", "playout", "take"]
Reset = Literal["none", "same_step", "next_step"]

TOGETHER = 4  # lanes that a small stage plays at once
LARGE = 200  # a first state of more operations is worked out in a branch for the games that need it, on a CPU
STREAM_ROWS = 5  # of a batch row, fixed for life: seed words 0-1, row 2, uniform policy's key 3-4
LANES = 64  # games a block at most: on a GPU, threads a workgroup


@dataclass(frozen=True)
class Plan:
    """What a kernel does with every game of a batch.

    task:
    - "seed": write the stream, what is fixed for life in every row, from `scalars`: the seed's words, the first row.
    - "new": write the first states of episode 0.
    - "derive": copy the fields and work out the mask.
    - "restart": start the next episode of the games whose entry in `actions` is not 0, or without it of finished ones.
    - "choose": write an action of the uniform policy.
    - "step": play the actions given, checked against the mask.
    - "uniform": play one action of the uniform policy and write it out.
    - "rollout": play as many of them as `scalars` says, all in registers.
    - "playout": play from copies of the games of a source, with chance of their own, until all of a block are over, or
      as many actions as `scalars` says; `actions`, if any, are the first.
    - "take": copy the games of a source whose rows are in `actions`.

    reset, what becomes of a finished game: "none": it stays; "same_step": it starts again at once; "next_step": in the
    step after.
    """

    blocks: int  # the batch is blocks x lanes games
    lanes: int
    gpu: bool
    task: Task
    reset: Reset = "none"
    source: tuple[int, int] = (
        0,
        0,
    )  # "playout": blocks and lanes of the old arrays, whose games have equal numbers of copies


class Parameters(NamedTuple):
    """The arrays of a kernel, flat and in order [blocks, rows, lanes]. A task has no use for some."""

    fields: Sequence[Any]  # one a storage dtype; these four are outputs
    mask: Any = None  # ceil(A / 32) rows, uint32
    flags: Any = None  # 2 rows, bool: terminated, truncated
    rewards: Any = None  # P rows, float32: of the last step
    actions: Any = None  # 1 row, int32: read by "step" and "restart", written by "uniform" and "choose"
    totals: Any = None  # 2 P rows, float32: a rollout's returns, then wins (final rewards above 0)
    old_fields: Sequence[Any] = ()
    old_mask: Any = None
    old_flags: Any = None
    old_rewards: Any = None  # these two for "take" alone
    old_stream: Any = None
    stream: Any = None  # STREAM_ROWS rows, uint32
    scalars: Any = None  # [n] int32, not by blocks: what is said of the whole batch, or of a device's share

    def flat(self) -> list[Any]:
        """Those in use, in the order of a call."""
        arrays: list[Any] = []
        for part in self:
            arrays += part if isinstance(part, (tuple, list)) else [] if part is None else [part]
        return arrays

    def like(self, arrays: Iterable[Any]) -> Parameters:
        """The same structure, filled with others of its flat order."""
        left = iter(arrays)
        parts: list[Any] = []
        for part in self:
            if isinstance(part, (tuple, list)):
                parts.append([next(left) for _ in part])
            else:
                parts.append(None if part is None else next(left))
        return Parameters(*parts)


def call(game: Game, plan: Plan, used: Parameters) -> Parameters:
    """The arrays as they are after the kernel of a plan, lazy."""
    several = plan.task in ("rollout", "playout")
    if several and game.has_memory:
        raise NotImplementedError(f"a game with memory fields has no {plan.task} kernel")

    def body(*arrays: UOp) -> UOp:
        return Trace(game, plan, used.like(arrays)).kernel()

    arrays, estimates = used.flat(), None
    if several or begins_apart(game, plan):  # loops of a length that tinygrad does not know
        size = sum(array.nbytes() for array in arrays)
        estimates = Estimates(lds=size, mem=size)
    name = f"{type(game.rules).__name__}_{plan.task}"
    return used.like(launch(name, body, *arrays, estimates=estimates))


def begins_apart(game: Game, plan: Plan) -> bool:
    """Whether finished games begin again in a branch of their own; else every game works out its first state too."""
    return plan.reset != "none" and not plan.gpu and game.size_of_new > LARGE


class Trace:
    """One kernel being traced."""

    def __init__(self, game: Game, plan: Plan, p: Parameters):
        self.game, self.plan, self.p = game, plan, p
        self.block = Block(plan.blocks, plan.lanes, plan.gpu, 1 if game.has_memory else TOGETHER)
        self.players = game.spec.num_players
        self.old, self.new = Rows(game, p.old_fields), Rows(game, p.fields)
        self.apart = begins_apart(game, plan)

    def kernel(self) -> UOp:
        stages = {"seed": self.seed, "choose": self.choose, "step": self.one_stage, "uniform": self.one_stage}
        stages["take"] = self.take
        if self.plan.task in ("rollout", "playout"):
            done = self.stages()
        else:
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
        if self.plan.task == "restart":
            chosen = self.p.actions is not None
            again = cell(self.p.actions, 0, at.batch).load().ne(0) if chosen else flags[0] | flags[1]
            s = self.game.where(again, self.game.new(self.stream(at), s.episode + 1), s)
            flags = [flag & again.logical_not() for flag in flags]
        return self.outputs(s, [constant(0.0, dtypes.float32)] * self.players, flags, at)

    def one_stage(self, at: At) -> list[UOp]:
        """A step: nothing is held."""
        s, flags = self.old.load(at), cells(self.p.old_flags, range(2), at.batch)
        action, legal, stores = self.action(s, self.mask(at), at)
        s, rewards, flags = self.play(s, flags, action, legal, at)
        return stores + self.outputs(s, rewards, flags, at)

    def stages(self) -> UOp:
        """A rollout or playouts: begin, play many times, finish, with the games held in registers."""
        game, players, p, block = self.game, self.players, self.p, self.block
        held, flags = Rows.held(game, block), block.registers(2, dtypes.bool)
        sums = block.registers(3 * players, dtypes.float32)  # rewards, returns, wins
        never = [UOp.const(False, dtypes.bool)] * 2
        stay = self.plan.reset == "none"  # else no game is over where a step begins
        playout = self.plan.task == "playout"

        def begin(at: At) -> list[UOp]:
            source = self.original(at) if playout else at
            s = self.old.load(source)
            if playout and game.spec.chance:  # a future of its own
                low, high, row = self.stream(at)[:3]
                key = threefry((low, high), (row, s.episode))
                s = s.replace(key=list(key))
            stores = held.store(s, at)
            stores += fill(
                flags, 0, cells(p.old_flags, range(2), source.batch) if stay else never, at.register
            )
            return stores + fill(sums, 0, [0.0] * 3 * players, at.register)

        def play(at: At) -> list[UOp]:
            s, was = held.load(at), cells(flags, range(2), at.register) if stay else never
            totals = cells(sums, range(players, 3 * players), at.register)
            mask = game.rules.legal_action_mask(s)
            action, legal, _ = self.action(s, mask, at)
            if playout and p.actions is not None:
                chosen, allowed = self.given(mask, self.original(at))
                action, legal = first.where(chosen, action), first.logical_not() | allowed
            after, rewards, now = self.play(s, was, action, legal, at)
            ended = now[0] | now[1]
            wins = [(ended & (r > 0)).cast(dtypes.float32) for r in rewards]
            sum_up = rewards + [total + x for total, x in zip(totals, rewards + wins, strict=True)]
            stores = held.store(after, at) + fill(sums, 0, sum_up, at.register)
            return stores + fill(flags, 0, now if stay or self.apart else [], at.register)

        def finish(at: At) -> list[UOp]:
            values, over = cells(sums, range(3 * players), at.register), cells(flags, range(2), at.register)
            stores = (
                [] if playout else self.outputs(held.load(at), values[:players], over if stay else never, at)
            )
            return stores + fill(p.totals, 0, values[players:], at.batch)

        begun = block.each(begin)
        if playout:
            count = block.registers(1, dtypes.int32)
            begun, time = count.after(begun)[0].store(0), UOp.loop(number())
        else:
            time = loop(p.scalars[0].load())
        held, flags, sums = held.after(begun, time), flags.after(begun, time), sums.after(begun, time)
        n = count.after(begun, time)[0].load() + 1 if playout else None
        first = n.eq(1) if playout else None
        played = block.each(play)
        if playout:  # until every game of the block is over
            played = count.after(played)[0].store(n)

            def goes_on(lane: UOp) -> UOp:
                return reduce(
                    or_, cells(flags.after(played), range(2), block.at(lane).register)
                ).logical_not()

            played = played.end(time, any_of(block.lanes, goes_on) & (n < p.scalars[0].load()))
        else:
            played = (self.begin_again(held, flags, played) if self.apart else played).end(time)
        held, flags, sums = held.after(played), flags.after(played), sums.after(played)
        return block.each(finish)

    def original(self, at: At) -> At:
        """Where the game stands in the source that a playout starts from."""
        blocks, lanes = self.plan.source
        copies = self.plan.blocks * self.plan.lanes // (blocks * lanes)
        game = (at.batch.block * self.plan.lanes + at.batch.lane) // copies
        return At(Place(game // lanes, game % lanes, blocks, lanes), at.register)

    def begin_again(self, rows: Rows, flags: UOp, played: UOp) -> UOp:
        """Apart from a step: the games that are over are listed, and begin again one by one."""
        queue = self.block.registers(1, dtypes.uint32)  # lanes
        counts = self.block.registers(2, dtypes.uint32)  # games in it, and those of them begun again

        def count(k: int, *after: UOp) -> UOp:
            return counts.after(*after)[k]

        # each stage waits for the one before it alone: tinygrad may rewrite what two wait for into two versions
        start, lane = count(0, played).store(0), loop(self.block.lanes)
        n, at = count(0, start, lane).load(), self.block.at(lane)
        over = reduce(or_, cells(flags.after(start), range(2), at.register if rows.registers else at.batch))
        listed = UOp.group(
            queue[n].store(lane.cast(dtypes.uint32)),
            count(0, start, lane).store(n + over.cast(dtypes.uint32)),
        ).end(lane)
        some, turn = branch(count(0, listed).load().ne(0)), UOp.loop(number())
        k = count(1, count(1, some).store(0), turn).load()
        # within bounds that tinygrad can see, and of a dtype that it takes for an index
        at = self.block.at((queue.after(turn)[k].load() % self.block.lanes).cast(dtypes.int32))
        episode = rows.after(turn).element("episode", 0, at).load()
        s = self.game.new(cells(self.p.stream.after(turn), range(STREAM_ROWS), at.batch), episode + 1)
        stores = [*rows.store(s, at), count(1, turn).store(k + 1)]
        if not rows.registers:
            stores += fill(self.p.mask, 0, self.game.rules.legal_action_mask(s), at.batch)
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
        return after, rewards, flags

    def action(self, s: GameState, mask: Any, at: At) -> tuple[UOp, UOp | None, list[UOp]]:
        """The action, whether it is legal (None: known to be), and stores."""
        count, array = self.game.spec.num_actions, self.p.actions
        if self.plan.task != "step":
            action = uniform(s, mask, count, self.stream(at)[3:])
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
        mask, nothing = self.game.rules.legal_action_mask(s), UOp.const(0, dtypes.uint32)

        def live(word: UOp) -> UOp:
            return word if self.plan.reset == "same_step" else (flags[0] | flags[1]).where(nothing, word)

        if isinstance(mask, MemoryArray):
            w = loop(len(mask))
            return [*stores, cell(self.p.mask, w, at.batch).store(live(mask[w])).end(w)]
        return stores + fill(self.p.mask, 0, [live(word) for word in mask], at.batch)
