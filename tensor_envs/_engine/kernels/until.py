"""Kernel for single-agent environments: plays an action of the learner, then the others until its next decision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from tensor_envs._compiler.tape import FLOAT32, INT32, UINT32
from tensor_envs._engine.game import uniform_action
from tensor_envs._engine.kernels.base import Autoreset, Coords, Tracer, Words, load, store
from tensor_envs._engine.kernels.observe import Outputs, OutputStage
from tensor_envs.rules.chance import scale, threefry
from tensor_envs.rules.kernel import do_while, registers
from tensor_envs.rules.lists import select
from tensor_envs.rules.scalar import Scalar, float32, int32, scalar, uint32, where

# The opening of an episode is its plies before the learner's first decision. If an episode ends in its opening, the
# next one starts. The limit of such episodes in a row stops the kernel if no episode reaches the learner.
OPENINGS = 100
RESET: Autoreset = "next_step"
# Commands for a game. Numbers from 0 on are actions, and the others are:
PASS = -1  # an illegal action
OPEN = -2  # the caller has started a new game
RESTART = -3  # start a new game
SKIP = -4  # do nothing
# The tally of a game is a row of numbers:
#
#     SUM | OPENINGS_LEFT | REWARD | STATUS   always
#     STEPS | PLAYER                          with a limit, several seats, or a learner that moves for all
#     REWARDS ...                             for a learner that moves for all: rewards of the ply of every player
SUM = 0  # sum of the learner's rewards since its last decision
OPENINGS_LEFT = 1  # openings in which an episode may still end, plus one; 0 after the learner's first decision
REWARD = 2  # the sum, or 0 before the learner's first decision in this episode
STATUS = 3
STEPS = 4  # decisions of the learner in this episode
PLAYER = 5  # the learner's player, or the player to move if the learner moves for all
REWARDS = 6
TO_MOVE, TERMINATED, TRUNCATED, NO_DECISION, OTHERS_TO_MOVE = range(5)  # values of STATUS
# Threefry of the uniform policy's key and this counter, which no decision has, draws the learner's seat.
SEAT_COUNTER = 0xFFFFFFFE


@dataclass(frozen=True)
class PlayUntil:
    """Kernel that plays the learner's action in every game, then the other players until the learner decides again.

    `actions` has a command for each game. An action is played, except in a finished game, which resets instead. An
    episode that ends before the learner's first decision is skipped: the next one starts, up to OPENINGS times.

    With `uniform` the kernel plays the other players by the uniform policy. Without it, it plays at most one action per
    game, and the caller plays the others in `others`: a copy of the state in which all games are finished but those
    with another player to move.

    Attributes:
        seats: the learner's player. Of several, each episode draws one. None if the learner moves for every player; a
            reward is then that of the player who moved.
        uniform: whether the uniform policy plays the other players.
        limit: decision of the learner after which a game is truncated; None for no limit.
    """

    seats: tuple[int, ...] | None
    uniform: bool
    limit: int | None = None
    name = "until"

    class Arrays(NamedTuple):
        new: Any
        old: Any  # None: in place, except for a game with memory fields
        row_keys: Any
        actions: Any  # int32
        tally: Any  # float32, see `tally_values`
        out: Outputs  # outputs for the learner, game by game
        others: Any = None

    def tally_values(self, players: int) -> int:
        """Return the number of values per game in the tally of a game of so many players."""
        if self.seats is None:
            return REWARDS + players
        return REWARDS if len(self.seats) > 1 or self.limit is not None else STATUS + 1

    def trace(self, t: Tracer, a: Arrays) -> None:
        block = _Block(t, a, self)
        # Whether a command is a decision depends on the learner's seat, so seats come first.
        block.draw_seats(block.source)
        t.block.each(block.begin)
        if not self.uniform:
            block.play(scalar(True))
        else:
            count = registers(1, INT32)
            count[0] = 0
            with do_while() as iteration:
                block.play(count[0] == 0)
                count[0] = count[0] + 1
                # The first iteration plays the commands, later ones the other players.
                iteration.again = t.block.any(lambda at: block.others_to_move(block.target, at))
        t.block.each(block.finish)
        observer: Any = None if self.seats is None else self.seats[0]
        if block.seats_drawn is not None:
            observer = block.seat
        OutputStage(t, a.out, observer, t.grid.lanes).trace(t.words(a.new))


class _Block:
    """Games of a block while they are played, in registers unless they have memory fields."""

    def __init__(self, t: Tracer, a: PlayUntil.Arrays, kernel: PlayUntil):
        self.t = t
        self.a = a
        self.seats = kernel.seats
        self.uniform = kernel.uniform
        self.limit = kernel.limit
        self.values = kernel.tally_values(t.players)
        self.in_branch = t.resets_in_branch(RESET)
        self.source = t.words(a.new if a.old is None else a.old)
        self.target = t.words(a.new)
        if not t.game.has_memory:
            self.target = t.registers()
        self.counts = self.values > STEPS  # whether the learner's decisions are counted
        self.tally = t.block.registers(2 + self.counts, FLOAT32)  # SUM, OPENINGS_LEFT and STEPS
        self.resets = t.block.registers(1, UINT32)
        self.seats_drawn = t.block.registers(1, INT32) if self.seats is not None and len(self.seats) > 1 else None
        self.rewards = t.block.registers(t.players, FLOAT32) if self.seats is None else None  # of the last ply

    def learner(self, mover: Scalar, at: Coords) -> Scalar:
        """Return the player for whom the learner decides, given the player to move."""
        if self.seats is None:
            return mover
        return int32(self.seats[0]) if self.seats_drawn is None else self.seat(at)

    def seat(self, at: Coords) -> Scalar:
        """Return the learner's seat in a game, drawn for its episode."""
        seat: Scalar = load(self.seats_drawn, at.register)[0]  # type: ignore[arg-type]
        return seat

    def draw_seats(self, words: Words) -> None:
        """Draw the learner's seat in each game, if there are several."""
        if self.seats_drawn is not None:
            self.t.block.each(lambda at: self._draw_seat(words, at))

    def _draw_seat(self, words: Words, at: Coords) -> None:
        assert self.seats is not None and self.seats_drawn is not None
        key = self.t.row_keys(self.a.row_keys, at)[3:]
        episode = self.t.layout.get(words.load(at), "episode")
        number = scale(threefry(key, (SEAT_COUNTER, episode))[0], len(self.seats))
        store(self.seats_drawn, at.register, [select(self.seats, number)])

    def others_to_move(self, words: Words, at: Coords) -> Scalar:
        """Return whether another player than the learner is to move."""
        mover = self.t.layout.get(words.load(at), "current_player")
        return ~words.over(at) & (mover != self.learner(mover, at))

    def begin(self, at: Coords) -> None:
        """Update the tally for a command, and load the state into registers."""
        layout = self.t.layout
        words = self.source.load(at)
        over = self.source.over(at)
        command = self.command(at)
        tally = load(self.a.tally, at.batch, self.values)
        reward, openings = tally[:REWARD]
        # Any action for a finished game begins a new episode.
        opens = (command == OPEN) | (command == RESTART) | (over & (command >= PASS))
        decides = (command >= PASS) & ~over & ~self.others_to_move(self.source, at)
        # Rewards count from the learner's last decision on, and for the first decision from the start of the episode.
        reward = where(opens | (decides & (openings == 0.0)), 0.0, reward)
        openings = where(opens, OPENINGS + 1.0, where(decides, 0.0, openings))
        steps = [where(opens, 0.0, x + float32(decides)) for x in tally[STEPS:PLAYER]]
        store(self.tally, at.register, [reward, openings, *steps])
        if self.target.in_registers:
            self.target.store(at, s=layout.get_state(words), flags=layout.get_flags(words))

    def command(self, at: Coords) -> Scalar:
        """Return the command of a game. A game that the limit has truncated restarts instead of playing an action."""
        command = load(self.a.actions, at.batch)[0]
        if self.limit is None:
            return command
        status = load(self.a.tally, at.batch, self.values)[STATUS]
        return where((status == float32(TRUNCATED)) & (command >= PASS), RESTART, command)

    def play(self, first: Scalar) -> None:
        """Play at most one action in every game: the command if `first`, else that of the uniform policy."""
        self.t.block.each(lambda at: self._play(at, first))
        if self.in_branch:
            self.t.auto_reset(self.target, self.resets, self.a.row_keys)
        self.draw_seats(self.target)

    def _play(self, at: Coords, first: Scalar) -> None:
        t = self.t
        command = self.command(at)
        keys = self.t.row_keys(self.a.row_keys, at)
        words = (self.target if self.target.in_registers else self.source).load(at)
        s = t.layout.get_state(words)
        flags = t.layout.get_flags(words)
        reward, openings, *steps = load(self.tally, at.register, 2 + self.counts)
        mask = t.game.mask(s)
        learner = self.learner(s.current_player, at)
        action, legal = t.given_action(mask, self.a.actions, at)
        plays = command >= PASS
        if self.uniform:
            drawn = uniform_action(s, mask, t.game.spec.num_actions, keys[3:], live=False)
            action = where(first, action, drawn)
            legal = legal | ~first
            plays = where(first, plays, s.current_player != learner)
        # Every lane computes a step, and only games that play take its result.
        plays = plays & ~(flags[0] | flags[1])
        after, rewards, *new_flags = t.game.step(s, action, legal)
        s = t.game.where(plays, after, s)
        flags = [where(plays, x, y) for x, y in zip(new_flags, flags, strict=True)]
        reward = where(plays, reward + select(rewards, learner), reward)
        if self.rewards is not None:
            # a skipped game keeps its last rewards
            last = load(self.a.tally, at.batch, self.values)[REWARDS:]
            otherwise = [where(command == SKIP, x, 0.0) for x in last]
            store(self.rewards, at.register, [where(plays, x, y) for x, y in zip(rewards, otherwise, strict=True)])
        # An episode that ends in its opening is skipped, up to OPENINGS times.
        resets = (flags[0] | flags[1] | (first & (command == RESTART))) & (openings > 1.0)
        if not self.in_branch:
            s = t.game.where(resets, t.game.init(keys, s.episode + 1), s).replace(episode=s.episode + uint32(resets))
        self.target.store(at, s=s, flags=[flag & ~resets for flag in flags])
        store(self.tally, at.register, [where(resets, 0.0, reward), openings - float32(resets), *steps])
        if self.in_branch:
            store(self.resets, at.register, [resets])

    def finish(self, at: Coords) -> None:
        """Store the state, the tally and the status of a game."""
        t = self.t
        words = self.target.load(at)
        no_rewards = [scalar(0.0)] * self.t.players  # they are in the tally
        s = t.layout.get_state(words)
        flags = t.layout.get_flags(words)
        reward, openings, *steps = load(self.tally, at.register, 2 + self.counts)
        others = self.others_to_move(self.target, at)
        mask = t.live_mask(s, flags, "disabled")
        # An episode that ends in its opening is not skipped once all openings are used up.
        over = where(openings > 0.0, NO_DECISION, where(flags[0], TERMINATED, TRUNCATED))
        active = int32(TO_MOVE)
        # The limit changes the status alone. The state stays in progress, and so does its observation.
        if self.limit is not None:
            active = where((openings == 0.0) & (steps[0] >= float(self.limit)), TRUNCATED, TO_MOVE)
        status = where(flags[0] | flags[1], over, where(others, OTHERS_TO_MOVE, active))
        # The learner gets no reward before its first decision.
        shown = where(openings > 0.0, 0.0, reward)
        tally = [reward, openings, shown, float32(status)]
        if self.counts:
            tally += [*steps, float32(self.learner(s.current_player, at))]
        if self.rewards is not None:
            tally += load(self.rewards, at.register, t.players)
        store(self.a.tally, at.batch, tally)
        # without registers, `target` is the new state itself
        state = {"s": s, "flags": flags} if self.target.in_registers else {}
        t.words(self.a.new).store(at, rewards=no_rewards, mask=mask, **state)
        if self.a.others is not None:
            flags = [flag | ~others for flag in flags]
            mask = t.live_mask(s, flags, "disabled")
            t.words(self.a.others).store(at, s=s, flags=flags, rewards=no_rewards, mask=mask)
