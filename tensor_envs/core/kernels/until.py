"""One player's games: an action of its own, then the other players' until it is to move again, in one kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from tinygrad import UOp, dtypes

from tensor_envs.core.game import uniform_action
from tensor_envs.core.kernels.block import Coords, Words, load, store
from tensor_envs.core.kernels.observe import ObservationArrays, ObservationStage
from tensor_envs.core.kernels.rollout import _any_lane
from tensor_envs.core.kernels.tracer import Reset, Tracer
from tensor_envs.rules.control import next_id
from tensor_envs.rules.scalar import BOOL, INT, REAL, Scalar, scalar, where, word

OPENINGS = 100  # games in a row that may end before the player's first decision
# what to do with a game, where it is not an action from 0 on: PASS is one that no game has
PASS, OPEN, BEGIN, LEAVE = -1, -2, -3, -4
# what has become of a game
TO_MOVE, TERMINATED, TRUNCATED, NO_DECISION, OTHERS_TO_MOVE = range(5)
RESET: Reset = "next_step"


@dataclass(frozen=True)
class PlayUntil:
    """Play an action in every game, and then the uniform policy's until `player` is to move or the game is over.

    `actions` says what to do. An action is played; in a game that is over the next episode begins instead, and BEGIN
    begins it in any game. OPEN: the game has just been made. LEAVE: it stays as it is. An episode that ends before the
    player's first decision is none: the next one begins, up to OPENINGS times.

    Without `uniform` every game gets one action at most, and `others` is the state in which all games look over but
    those in which another player is to move.
    """

    player: int
    uniform: bool
    name = "until"

    class Arrays(NamedTuple):
        new: Any
        old: Any  # None: in place, which `uniform` needs
        row_rng: Any
        actions: Any  # int32
        paid: Any  # float32: to the player since its last decision
        openings: Any  # uint32: one more than may still end; 0 once the player has moved
        rewards: Any  # float32: what was paid, or 0 if the player has not moved in this episode
        status: Any  # int32
        seen: ObservationArrays
        others: Any = None

    def trace(self, t: Tracer, a: Arrays) -> UOp:
        t.dynamic = True
        turns = _Turns(t, a, self.player, self.uniform)
        turns.depend_on(t.block.each(turns.begin))
        if not self.uniform:
            turns.depend_on(turns.play(Scalar(True, BOOL)))
        else:
            count, turn = t.block.registers(1, dtypes.int32), UOp.loop(next_id())
            start = count.after(turns.paid)[0].store(0)
            turns.depend_on(start, turn)
            n = count.after(start, turn)[0].load()
            played = turns.play(Scalar(n, INT) == 0)
            played = count.after(played)[0].store(n + 1)
            waits = turns.target.after(played)
            some = _any_lane(t, lambda lane: turns.others_to_move(waits, t.block.at(lane.uop())))
            turns.depend_on(played.end(turn, some))
        done = t.block.each(turns.finish)
        return t.block.end(
            ObservationStage(t, a.seen, self.player, (t.grid.blocks, t.grid.lanes)).trace(
                t.words(a.new).after(done)
            )
        )


class _Turns:
    """A block's games and what their player is paid: in registers with `uniform`."""

    def __init__(self, t: Tracer, a: PlayUntil.Arrays, player: int, uniform: bool):
        self.t, self.a, self.player, self.uniform = t, a, player, uniform
        self.in_branch = t.resets_in_branch(RESET)
        if uniform:
            registers = t.block.registers(t.layout.field_words, dtypes.uint32)
            self.source = self.target = Words(t.layout, registers, in_registers=True)
        else:
            self.source, self.target = t.words(a.old), t.words(a.new)
        self.paid, self.openings = t.block.registers(1, dtypes.float32), t.block.registers(1, dtypes.uint32)
        self.again = t.block.registers(1, dtypes.uint32)

    def depend_on(self, *deps: UOp) -> None:
        """What is read from now on is read after these."""
        self.source, self.target = self.source.after(*deps), self.target.after(*deps)
        self.paid, self.openings = self.paid.after(*deps), self.openings.after(*deps)

    def others_to_move(self, words: Words, at: Coords) -> Scalar:
        return ~words.over(at) & (self.t.layout.get(words.load(at), "current_player") != self.player)

    def begin(self, at: Coords) -> list[UOp]:
        t, a = self.t, self.a
        games = t.words(a.new if self.uniform else a.old)
        words, over = games.load(at), games.over(at)
        (what,), (paid,) = load(a.actions, at.batch, dtype=INT), load(a.paid, at.batch, dtype=REAL)
        (openings,) = load(a.openings, at.batch)
        opens = (what == OPEN) | (what == BEGIN) | (over & (what >= PASS))
        decides = (what >= PASS) & ~over & (t.layout.get(words, "current_player") == self.player)
        paid = where(opens | (decides & (openings == 0)), 0.0, paid)
        openings = where(opens, word(OPENINGS + 1), where(decides, 0, openings))
        stores = store(self.paid, at.register, [paid]) + store(self.openings, at.register, [openings])
        if self.uniform:
            stores += self.target.store(at, s=t.layout.get_state(words), flags=t.layout.get_flags(words))
        return stores

    def play(self, first: Scalar) -> UOp:
        """At most one action in every game; first: the given one."""
        done = self.t.block.each(lambda at: self._play(at, first))
        if self.in_branch:
            done = self.t.begin_again(self.target, self.again.after(done), self.a.row_rng, done)
        return done

    def _play(self, at: Coords, first: Scalar) -> list[UOp]:
        t, a = self.t, self.a
        words, rng = self.source.load(at), t.row_rng(a.row_rng, at)
        s, flags = t.layout.get_state(words), t.layout.get_flags(words)
        (what,), (paid,) = load(a.actions, at.batch, dtype=INT), load(self.paid, at.register, dtype=REAL)
        (openings,), mask = load(self.openings, at.register), t.game.mask(s)
        action, legal = t.given_action(mask, a.actions, at)
        plays = what >= PASS
        if self.uniform:
            drawn = uniform_action(s, mask, t.game.spec.num_actions, rng[3:], live=False)
            action, legal = where(first, action, drawn), legal | ~first
            plays = where(first, plays, s.current_player != self.player)
        plays = plays & ~(flags[0] | flags[1])
        after, rewards, *now = t.game.step(s, action, legal)
        s = t.game.where(plays, after, s)
        flags = [where(plays, x, y) for x, y in zip(now, flags, strict=True)]
        paid = where(plays, paid + rewards[self.player], paid)
        again = (flags[0] | flags[1] | (first & (what == BEGIN))) & (openings > 1)
        if not self.in_branch:
            s = t.game.where(again, t.game.init(rng, s.episode + 1), s).replace(
                episode=s.episode + word(again)
            )
        stores = self.target.store(at, s=s, flags=[flag & ~again for flag in flags])
        stores += store(self.paid, at.register, [where(again, 0.0, paid)])
        stores += store(self.openings, at.register, [openings - word(again)])
        return stores + store(self.again, at.register, [word(again)]) * self.in_branch

    def finish(self, at: Coords) -> list[UOp]:
        t, a, words = self.t, self.a, self.target.load(at)
        s, flags = t.layout.get_state(words), t.layout.get_flags(words)
        (paid,), (openings,) = load(self.paid, at.register, dtype=REAL), load(self.openings, at.register)
        others, mask = self.others_to_move(self.target, at), t.live_mask(s, flags, "none")
        # that an opening ended the game means here that all have
        over = where(openings > 0, NO_DECISION, where(flags[0], TERMINATED, TRUNCATED))
        status = where(flags[0] | flags[1], over, where(others, OTHERS_TO_MOVE, TO_MOVE))
        stores = store(a.paid, at.batch, [paid]) + store(a.openings, at.batch, [openings])
        stores += store(a.rewards, at.batch, [where(openings > 0, 0.0, paid)]) + store(
            a.status, at.batch, [status]
        )
        rewards = [scalar(0.0)] * t.players
        if self.uniform:
            return stores + t.words(a.new).store(at, s=s, flags=flags, rewards=rewards, mask=mask)
        flags = [flag | ~others for flag in flags]
        theirs = t.live_mask(s, flags, "none")
        stores += t.words(a.others).store(at, s=s, flags=flags, rewards=rewards, mask=theirs)
        return stores + self.target.store(at, rewards=rewards, mask=mask)
