"""Kernels of many steps, with the games in registers: rollouts and playouts.

All games of a block take a step together, and then the next one.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from tensor_envs._compiler.tape import FLOAT32, INT32, UINT32
from tensor_envs._engine.game import uniform_action
from tensor_envs._engine.kernels.base import (
    NEVER,
    ArrayCoords,
    Autoreset,
    Coords,
    MoveList,
    Tracer,
    load,
    row_index,
    store,
)
from tensor_envs.rules.chance import threefry
from tensor_envs.rules.kernel import Cells, do_while, loop, registers
from tensor_envs.rules.lists import MemoryArray, num_words, popcount
from tensor_envs.rules.scalar import WORD_BITS, Scalar, Value, float32, int32, maximum, minimum, scalar, uint32, where
from tensor_envs.rules.spec import GameState, Spec

# Function of a game's coordinates and mask that may replace the action of the uniform policy. It returns whether it
# does, the other action, and whether that is legal.
Override = Callable[[Coords, Any], tuple[Scalar, Scalar, Scalar]]


class BlockState:
    """Games of a block, kept in registers while they are played."""

    def __init__(
        self,
        t: Tracer,
        reset: Autoreset,
        keys: Callable[[Coords], list[Scalar]],
        last_rewards: bool = True,
        decisions: Decisions | None = None,
        quotas: bool = False,
        moves: MoveList | None = None,
    ):
        """Allocate registers.

        Args:
            t: the tracer.
            reset: the reset mode.
            keys: function from a game's coordinates to its row keys.
            last_rewards: whether to keep the rewards of the last step beside the returns.
            decisions: counts of decisions to update at every step.
            quotas: whether a row stops after a number of finished games, which the caller stores in `quota`.
            moves: lists of the games' moves, to fill at every step.
        """
        self.t = t
        self.reset = reset
        self.keys = keys
        self.players = t.players
        self.words = t.registers()
        self.decisions = decisions
        self.moves = moves
        self.resetting = t.block.registers(1, UINT32)
        # In a zero-sum game for two, only the first player's rewards are kept: the second one's are their negatives.
        self.mirrored = self.players == 2 and t.game.spec.zero_sum
        self.num_returns = 1 if self.mirrored else self.players
        self.num_sums = 2 * self.num_returns if last_rewards else self.num_returns  # returns, rewards of the last step
        self.sums = t.block.registers(self.num_sums, FLOAT32)
        self.wins = t.block.registers(self.players, INT32)
        # Whether finished games stay over. With resets no game is over before a step, so flags need no registers.
        self.stays = reset == "disabled"
        self.quota = t.block.registers(1, INT32) if quotas else None  # games that a row still has to finish

    def begin(self, at: Coords, s: GameState, flags: Sequence[Scalar], returns: Sequence[Scalar] = ()) -> None:
        """Load a game's state and its returns so far into the registers."""
        self.words.store(at, s=s, flags=flags if self.stays else NEVER)
        sums = [*returns[: self.num_returns], *[0.0] * self.num_sums][: self.num_sums]
        store(self.sums, at.register, sums)
        store(self.wins, at.register, [0] * self.players)
        if self.decisions is not None:
            self.decisions.begin(at)

    def step_all(self, override: Override | None = None) -> None:
        """Play one action in every game of the block."""
        self.t.block.each(lambda at: self.step(at, override))
        if self.decisions is not None:
            self.decisions.count()
        if self.moves is not None:
            self.moves.advance()

    def step(self, at: Coords, override: Override | None = None) -> None:
        """Play one action in one game, by the uniform policy unless `override` replaces it."""
        t = self.t
        words = self.words.load(at)
        s = t.layout.get_state(words)
        old_flags = t.layout.get_flags(words) if self.stays else NEVER
        quota = load(self.quota, at.register)[0] if self.quota is not None else None
        # A finished game, or a row that has played its quota, waits for the other games of its block.
        idle = old_flags[0] | old_flags[1] if quota is None else quota == 0
        sums = load(self.sums, at.register, self.num_sums)
        wins = load(self.wins, at.register, self.players)
        mask = t.game.mask(s)
        keys = self.keys(at)
        action = uniform_action(s, mask, t.game.spec.num_actions, keys[3:], live=not self.stays)
        legal = None
        if override is not None:
            when, chosen, allowed = override(at, mask)
            action = where(when, chosen, action)
            legal = ~when | allowed
        if self.decisions is not None:
            assert not isinstance(mask, MemoryArray)
            self.decisions.record(at, s, [where(idle, 0, w) for w in mask], action)
        if self.moves is not None:
            self.moves.put(at, s.current_player * t.game.spec.num_actions + action, idle)
        # `store_unless` below keeps a finished game, so `play` need not.
        after, rewards, new_flags, resets, _, events = t.play(
            s, old_flags, action, legal, self.reset, keys, keep_finished=False
        )
        ended = new_flags[0] | new_flags[1]
        # A player wins by a reward above 0 in the last step of a game.
        won = [n + int32(ended & (r > 0.0)) for n, r in zip(wins, rewards, strict=True)]
        counted = rewards[: self.num_returns]
        added = [a + b for a, b in zip(sums, counted, strict=False)] + counted
        if self.quota is not None and quota is not None:
            # The steps of a row that has played its quota do not count.
            won = where(idle, wins, won)
            added = where(idle, sums, added[: self.num_sums])
            events = [where(idle, 0, event) for event in events]
            resets = resets & ~idle
            store(self.quota, at.register, [quota - int32(ended & ~idle)])
        if self.decisions is not None:
            store(self.decisions.events, at.register, events)
        flags = new_flags if self.stays else NEVER
        self.words.store_unless(idle, words, at, s=after, flags=flags)
        if t.resets_in_branch(self.reset):
            store(self.resetting, at.register, [resets])
        store(self.sums, at.register, added[: self.num_sums])
        store(self.wins, at.register, won)

    def play_to_end(self, limit: Scalar, override: Callable[[Scalar], Override] | None = None) -> None:
        """Step until all games of the block are over, but at most `limit` times.

        override: function from the number of a step, from 1 on, to its override.
        """
        count = registers(1, INT32)
        count[0] = 0
        if self.moves is not None:
            self.moves.clear()
        with do_while() as iteration:
            count[0] = count[0] + 1
            n = count[0]
            self.step_all(None if override is None else override(n))
            # A block plays on until the last of its games ends.
            iteration.again = self.t.block.any(lambda at: ~self.words.over(at)) & (n < limit)

    def returns(self, at: Coords) -> list[Scalar]:
        """Return the returns of all players."""
        return self._for_all_players(load(self.sums, at.register, self.num_sums)[: self.num_returns])

    def rewards_and_wins(self, at: Coords) -> tuple[list[Scalar], list[Scalar]]:
        """Return the rewards of the last step, and the wins, of all players."""
        rewards = load(self.sums, at.register, self.num_sums)[self.num_returns :]
        return self._for_all_players(rewards), [float32(n) for n in load(self.wins, at.register, self.players)]

    def _for_all_players(self, values: list[Scalar]) -> list[Scalar]:
        """Add the second player's value if only the first one's is kept."""
        return [*values, 0.0 - values[0]] if self.mirrored else values


def num_counts(spec: Spec) -> int:
    """Return the number of counts per game, see `Decisions`."""
    return (3 + spec.num_players) * spec.num_actions + 1 + len(spec.events)


class Decisions:
    """Counts of the decisions in a block's games, and the last decision of each game.

    The counts of a game are int32, one after another:

        A      decisions in which each action was legal
        A      decisions with 1..A legal actions
        A      sum of the plies at which each action was taken
        P x A  decisions in which each player took each action
        1      turns: runs of decisions of one player
        E      events that the Spec names

    Decisions are recorded in registers first, and counted for the whole block after each step.
    """

    def __init__(self, t: Tracer, counts: Cells, index: Callable[[Coords, Value], Scalar]):
        """Set the counts to 0.

        Args:
            t: the tracer.
            counts: array of the counts.
            index: function from a game's coordinates and the number of a count to its index in the array.
        """
        self.t = t
        self.counts = counts
        self.index = index
        self.num_actions = t.game.spec.num_actions
        self.words = num_words(self.num_actions)
        self.num_counts = num_counts(t.game.spec)
        self.events = t.block.registers(max(len(t.game.spec.events), 1), INT32)
        # the last decision: its legal actions (none if the game was over), and four numbers: the action, its ply, its
        # player, the player of the decision before (-1 for none)
        self.mask = t.block.registers(self.words, UINT32)
        self.chosen = t.block.registers(4, INT32)
        # There are many counts, so a loop keeps the kernel short.
        with loop(self.num_counts) as number:
            t.block.each(functools.partial(self._reset, number), unroll_max=0)

    def _reset(self, number: Scalar, at: Coords) -> None:
        self.counts[self.index(at, number)] = 0

    def begin(self, at: Coords) -> None:
        """Start a game, in which no player has decided yet."""
        store(self.chosen, at.register, [0, 0, -1, -1])

    def _add(self, at: Coords, *amounts: tuple[Value, Scalar]) -> None:
        """Add amounts to a game's counts, each given by its number; the numbers must differ."""
        indices = [self.index(at, number) for number, _ in amounts]
        sums = [self.counts[index] + amount for index, (_, amount) in zip(indices, amounts, strict=True)]
        # Store after all loads, so that lanes can be unrolled together.
        for index, value in zip(indices, sums, strict=True):
            self.counts[index] = value

    def record(self, at: Coords, s: GameState, mask: Sequence[Scalar], action: Scalar) -> None:
        """Record a decision of a game. If the game is over, `mask` is empty, and there is no decision."""
        *_, last, before = load(self.chosen, at.register, 4)
        live = functools.reduce(operator.or_, mask) != 0
        store(self.mask, at.register, mask)
        players = where(live, s.current_player, last), where(live, last, before)
        store(self.chosen, at.register, [action, s.ply, *players])

    def count(self) -> None:
        """Count the recorded decisions of the block."""
        with loop(self.num_actions) as action:
            self.t.block.each(functools.partial(self._count_legal, action))
        self.t.block.each(self._count_taken)

    def _count_legal(self, action: Scalar, at: Coords) -> None:
        bits = self.mask[at.register.index(action // WORD_BITS, self.words)]
        self._add(at, (action, int32(bits >> uint32(action % WORD_BITS) & 1)))

    def _count_taken(self, at: Coords) -> None:
        mask = load(self.mask, at.register, self.words)
        action, ply, player, before = load(self.chosen, at.register, 4)
        width = functools.reduce(operator.add, map(popcount, mask))
        live = int32(width > 0)
        # number of the first count of each kind, see the class
        widths = self.num_actions
        plies = 2 * self.num_actions
        taken = 3 * self.num_actions
        turns = taken + self.t.players * self.num_actions
        # without a player, `live` is 0, and 0 is added to the counts of player 0
        taken_by = taken + maximum(player, 0) * self.num_actions
        begins_turn = live * int32(player != before)
        event_numbers = range(turns + 1, self.num_counts)
        events = load(self.events, at.register, len(event_numbers))
        self._add(
            at,
            (taken_by + action, live),
            (widths + maximum(width - 1, 0), live),
            (plies + action, live * ply),
            (turns, begins_turn),
            *zip(event_numbers, events, strict=True),
        )


@dataclass(frozen=True)
class UniformRollout:
    """Kernel that plays many steps of the uniform policy.

    It plays a number of steps, or with `quotas` until each row has finished a number of games. Without resets it ends
    once all games are over. With the array `counts` it counts the decisions.
    """

    reset: Autoreset
    quotas: bool = False
    name = "rollout"

    class Arrays(NamedTuple):
        new: Any
        old: Any
        row_keys: Any
        totals: Any  # float32: P returns, P numbers of wins (episodes that end with a reward above 0)
        scalars: Any  # int32: maximum number of steps, and with `quotas` the numbers of `BatchLayout.quotas`
        counts: Any = None  # int32, see `Decisions`

    def trace(self, t: Tracer, a: Arrays) -> None:
        size = num_counts(t.game.spec)
        decisions = a.counts and Decisions(t, a.counts, lambda at, number: at.batch.index(number, size))
        state = BlockState(
            t, self.reset, lambda at: t.row_keys(a.row_keys, at), decisions=decisions, quotas=self.quotas
        )

        def begin(at: Coords) -> None:
            words = t.words(a.old).load(at)
            state.begin(at, t.layout.get_state(words), t.layout.get_flags(words) if state.stays else NEVER)
            if state.quota is not None:
                # The number of a row's games is fixed, so that short games are not preferred. Padding plays none.
                games = a.scalars[1]
                more = a.scalars[2]
                row = row_index(at)
                store(state.quota, at.register, [where(row < a.scalars[3], games + int32(row < more), 0)])

        def goes_on() -> Scalar:
            if (quota := state.quota) is not None:
                return t.block.any(lambda at: load(quota, at.register)[0] > 0)
            return t.block.any(lambda at: ~state.words.over(at)) if self.reset == "disabled" else scalar(True)

        def finish(at: Coords) -> None:
            words = state.words.load(at)
            s = t.layout.get_state(words)
            flags = t.layout.get_flags(words) if state.stays else NEVER
            rewards, wins = state.rewards_and_wins(at)
            mask = t.live_mask(s, flags, self.reset)
            t.words(a.new).store(at, s=s, flags=flags, rewards=rewards, mask=mask)
            store(a.totals, at.batch, state.returns(at) + wins)

        t.block.each(begin)
        count = registers(1, INT32)
        count[0] = 0
        with do_while() as iteration:
            count[0] = count[0] + 1
            # a step after the last game's end follows, which makes the rewards 0 as any number of such steps does
            live = goes_on()
            state.step_all()
            if t.resets_in_branch(self.reset):
                t.auto_reset(state.words, state.resetting, a.row_keys)
            iteration.again = live & (count[0] < a.scalars[0])
        t.block.each(finish)


@dataclass(frozen=True)
class Playout:
    """Kernel that plays copies of every game of another batch to their ends, by the uniform policy.

    Every copy has its own chance. Its first action is that of its game in `actions`, if that array is given.

    Attributes:
        lanes: lanes of the other batch.
        copies: copies of each game.
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
        state = BlockState(t, "disabled", lambda at: t.row_keys(a.row_keys, at), last_rewards=False)

        def begin(at: Coords) -> None:
            words = t.words(a.old).load(self._source(at, a))
            s = t.layout.get_state(words)
            # A game key by the copy's row makes its chance differ from that of the other copies.
            if t.game.spec.chance:
                low, high, row, *_ = t.row_keys(a.row_keys, at)
                s = s.replace(key=list(threefry((low, high), (row, s.episode))))
            state.begin(at, s, t.layout.get_flags(words))

        def override(n: Scalar) -> Override:
            def first(at: Coords, mask: Any) -> tuple[Scalar, Scalar, Scalar]:
                action, legal = t.given_action(mask, a.actions, self._source(at, a))
                # Only the first action is given.
                return n == 1, action, legal

            return first

        t.block.each(begin)
        state.play_to_end(a.scalars[0], None if a.actions is None else override)
        t.block.each(lambda at: store(a.totals, at.batch, state.returns(at)))

    def _source(self, at: Coords, a: Arrays) -> Coords:
        """Return the coordinates of the game that this one copies."""
        game = maximum(minimum(row_index(at) // self.copies, a.scalars[1] - 1), 0)
        return Coords(ArrayCoords(game // self.lanes, game % self.lanes, self.lanes), at.register)
