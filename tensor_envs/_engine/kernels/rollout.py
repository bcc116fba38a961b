"""Many steps in one kernel, the games held in registers: rollouts and playouts.

Every stage is played for all lanes of a block before the next one.
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

# (place of a game, its mask) -> whether to replace the uniform action, the action, whether it is legal
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

        keys: function from a game's coordinates to its row keys.
        last_rewards: whether the rewards of the last step are kept beside the returns.
        decisions: counts of decisions to update at every step.
        quotas: whether each row plays until it has finished the number of games in its `quota`.
        moves: list of the moves to the end of a game, see `play_to_end`.
        """
        self.t = t
        self.reset = reset
        self.keys = keys
        self.players = t.players
        self.words = t.registers()
        self.decisions = decisions
        self.moves = moves
        self.resetting = t.block.registers(1, UINT32)
        # With a sum of zero the second player's rewards are the negative of the first one's.
        self.mirrored = self.players == 2 and t.game.spec.zero_sum
        self.num_returns = 1 if self.mirrored else self.players
        self.num_sums = 2 * self.num_returns if last_rewards else self.num_returns  # returns, rewards of the last step
        self.sums = t.block.registers(self.num_sums, FLOAT32)
        self.wins = t.block.registers(self.players, INT32)
        # Whether finished games stay; with resets no game is over before a step, and its flags need no storage.
        self.stays = reset == "disabled"
        self.quota = t.block.registers(1, INT32) if quotas else None  # games that a row has still to finish

    def begin(self, at: Coords, s: GameState, flags: Sequence[Scalar], returns: Sequence[Scalar] = ()) -> None:
        self.words.store(at, s=s, flags=flags if self.stays else NEVER)
        sums = [*returns[: self.num_returns], *[0.0] * self.num_sums][: self.num_sums]
        store(self.sums, at.register, sums)
        store(self.wins, at.register, [0] * self.players)
        if self.decisions is not None:
            self.decisions.begin(at)

    def step_all(self, override: Override | None = None) -> None:
        """Play one action in every game of the block, and count the decisions."""
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
        was = t.layout.get_flags(words) if self.stays else NEVER
        quota = load(self.quota, at.register)[0] if self.quota is not None else None
        # A finished game, or a row that has played its quota, waits for the others of its block.
        idle = was[0] | was[1] if quota is None else quota == 0
        sums = load(self.sums, at.register, self.num_sums)
        wins = load(self.wins, at.register, self.players)
        mask = t.game.mask(s)
        keys = self.keys(at)
        # The policy has a random key of its own, so that chance and actions are independent.
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
        after, rewards, new_flags, resets, _, events = t.play(s, was, action, legal, self.reset, keys, keeps=False)
        ended = new_flags[0] | new_flags[1]
        # A win is an end with a reward above 0, in games of any number of players.
        won = [n + int32(ended & (r > 0.0)) for n, r in zip(wins, rewards, strict=True)]
        counted = rewards[: self.num_returns]
        added = [a + b for a, b in zip(sums, counted, strict=False)] + counted
        if self.quota is not None and quota is not None:
            # a row that has played its quota waits at the start of its next game, and its steps do not count
            won = where(idle, wins, won)
            added = where(idle, sums, added[: self.num_sums])
            events = [where(idle, 0, event) for event in events]
            resets = resets & ~idle
            store(self.quota, at.register, [quota - int32(ended & ~idle)])
        if self.decisions is not None:
            store(self.decisions.events, at.register, events)
        flags = new_flags if self.stays else NEVER
        # Selecting words instead of fields is less work, since several fields share a word.
        self.words.store_unless(idle, words, at, s=after, flags=flags)
        if t.resets_in_branch(self.reset):
            store(self.resetting, at.register, [resets])
        store(self.sums, at.register, added[: self.num_sums])
        store(self.wins, at.register, won)

    def play_to_end(self, limit: Scalar, override: Callable[[Scalar], Override] | None = None) -> None:
        """Step until all games of the block are over, or `limit` times.

        override: returns the override of a step, given its number from 1 on.
        """
        count = registers(1, INT32)
        count[0] = 0
        if self.moves is not None:
            self.moves.clear()
        with do_while() as iteration:
            count[0] = count[0] + 1
            n = count[0]
            self.step_all(None if override is None else override(n))
            # The whole block goes on until its last game ends.
            iteration.again = self.t.block.any(lambda at: ~self.words.over(at)) & (n < limit)

    def returns(self, at: Coords) -> list[Scalar]:
        """Return the returns of all players."""
        return self._of_all(load(self.sums, at.register, self.num_sums)[: self.num_returns])

    def rewards_and_wins(self, at: Coords) -> tuple[list[Scalar], list[Scalar]]:
        """Return the rewards of the last step, and the wins, of all players."""
        rewards = load(self.sums, at.register, self.num_sums)[self.num_returns :]
        return self._of_all(rewards), [float32(n) for n in load(self.wins, at.register, self.players)]

    def _of_all(self, values: list[Scalar]) -> list[Scalar]:
        return [*values, 0.0 - values[0]] if self.mirrored else values


def num_counts(spec: Spec) -> int:
    """Return the number of a game's counts: see `Decisions`."""
    return (3 + spec.num_players) * spec.num_actions + 1 + len(spec.events)


class Decisions:
    """The last decision of each game of a block, and counts of all decisions, int32.

    The counts of a game follow each other:

        A      decisions in which each action was legal
        A      decisions with 1..A legal actions
        A      sum of the plies at which each action was taken
        P x A  decisions in which each player took each action
        1      turns: runs of decisions of one player
        E      events that the rules name
    """

    def __init__(self, t: Tracer, counts: Cells, index: Callable[[Coords, Value], Scalar]):
        """Reset the counts. index: returns the index of a game's count of a number."""
        self.t = t
        self.counts = counts
        self.index = index
        self.num_actions = t.game.spec.num_actions
        self.words = num_words(self.num_actions)
        self.num_counts = num_counts(t.game.spec)
        self.events = t.block.registers(max(len(t.game.spec.events), 1), INT32)
        self.mask = t.block.registers(self.words, UINT32)  # 0 if the game was over
        self.chosen = t.block.registers(4, INT32)  # the action, its ply, the player, the player before; -1 for none
        # Counts are many and are stored in memory; a loop keeps the kernel short.
        with loop(self.num_counts) as number:
            t.block.each(functools.partial(self._reset, number), unroll_max=0)

    def _reset(self, number: Scalar, at: Coords) -> None:
        self.counts[self.index(at, number)] = 0

    def begin(self, at: Coords) -> None:
        """Start games in which nobody has decided yet; the counts stay."""
        store(self.chosen, at.register, [0, 0, -1, -1])

    def _add(self, at: Coords, *amounts: tuple[Value, Scalar]) -> None:
        """Add amounts to counts of different numbers."""
        indices = [self.index(at, number) for number, _ in amounts]
        sums = [self.counts[index] + amount for index, (_, amount) in zip(indices, amounts, strict=True)]
        # All loads come first, so that lanes can be interleaved.
        for index, value in zip(indices, sums, strict=True):
            self.counts[index] = value

    def record(self, at: Coords, s: GameState, mask: Sequence[Scalar], action: Scalar) -> None:
        """Store a decision of a game in registers, for `count`; the mask of a finished game is empty."""
        *_, last, before = load(self.chosen, at.register, 4)
        live = functools.reduce(operator.or_, mask) != 0
        store(self.mask, at.register, mask)
        # the players of the last decision and of the one before; a finished game keeps them
        players = where(live, s.current_player, last), where(live, last, before)
        store(self.chosen, at.register, [action, s.ply, *players])

    def count(self) -> None:
        """Add the recorded decisions of the block to its counts."""
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
        # first number of each kind of counts, see the class
        widths = self.num_actions
        plies = 2 * self.num_actions
        taken = 3 * self.num_actions
        turns = taken + self.t.players * self.num_actions
        # `live` is 0 where no player has decided yet: 0 is added to player 0's count then
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
    """Kernel that plays the uniform policy in registers: a number of steps, or a number of games of every row.

    Without resets it ends once all games are over. With the array `counts` it counts the decisions.
    """

    reset: Autoreset
    quotas: bool = False  # whether each row plays a number of games, by the last three scalars
    name = "rollout"

    class Arrays(NamedTuple):
        new: Any
        old: Any
        row_keys: Any
        totals: Any  # float32: returns, then wins (episodes that end with a reward above 0), P each
        scalars: Any  # int32: maximum of steps; with `quotas` games of a row, rows that play one more, rows
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
                # a row's number of counted games never depends on their lengths; padding plays none
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
    """Kernel that plays `copies` copies of every game of another batch to their ends.

    Every copy has chance of its own. It first takes its game's action in `actions`, if that array is given.

    lanes: lanes of the other batch.
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
            # Every copy draws a key of its own, so that its chance differs from the other copies'.
            if t.game.spec.chance:
                low, high, row, *_ = t.row_keys(a.row_keys, at)
                s = s.replace(key=list(threefry((low, high), (row, s.episode))))
            state.begin(at, s, t.layout.get_flags(words))

        def override(n: Scalar) -> Override:
            def first(at: Coords, mask: Any) -> tuple[Scalar, Scalar, Scalar]:
                action, legal = t.given_action(mask, a.actions, self._source(at, a))
                # The given action is the first one; all later ones are random.
                return n == 1, action, legal

            return first

        t.block.each(begin)
        state.play_to_end(a.scalars[0], None if a.actions is None else override)
        t.block.each(lambda at: store(a.totals, at.batch, state.returns(at)))

    def _source(self, at: Coords, a: Arrays) -> Coords:
        """Return the coordinates of the game that this one copies."""
        game = maximum(minimum(row_index(at) // self.copies, a.scalars[1] - 1), 0)
        return Coords(ArrayCoords(game // self.lanes, game % self.lanes, self.lanes), at.register)
