"""One player's games: an action of its own, then the other players' until it is to move again, in one kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from tensor_envs._compiler.tape import INT, REAL, WORD
from tensor_envs._engine.game import uniform_action
from tensor_envs._engine.kernels.base import AutoReset, Coords, Tracer, Words, load, store
from tensor_envs._engine.kernels.observe import ObservationArrays, ObservationStage
from tensor_envs.rules.kernel import do_while, registers
from tensor_envs.rules.scalar import Scalar, real, scalar, where, word

OPENINGS = 100  # games in a row that may end before the player's first decision
RESET: AutoReset = "next_step"
# what to do with a game, where it is not an action from 0 on: PASS is one that no game has
PASS, OPEN, BEGIN, LEAVE = -1, -2, -3, -4
# what is kept and told of a game. PAID: to the player since its last decision. LEFT: one more than the openings that
# may still end, 0 once the player has moved. REWARD: what was paid, 0 if the player has not moved in this episode
PAID, LEFT, REWARD, STATUS = range(4)
TO_MOVE, TERMINATED, TRUNCATED, NO_DECISION, OTHERS_TO_MOVE = range(5)  # STATUS


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
        old: Any  # None: in place, except for a game with memory fields
        row_keys: Any
        actions: Any  # int32
        tally: Any  # float32, four a game, see above
        seen: ObservationArrays  # of the player, game by game
        others: Any = None

    def trace(self, t: Tracer, a: Arrays) -> None:
        turns = _Turns(t, a, self.player, self.uniform)
        t.block.each(turns.begin)
        if not self.uniform:
            turns.play(scalar(True))
        else:
            count = registers(1, INT)
            count[0] = 0
            with do_while() as turn:
                turns.play(count[0] == 0)
                count[0] = count[0] + 1
                turn.again = t.block.any(lambda at: turns.others_to_move(turns.target, at))
        t.block.each(turns.finish)
        ObservationStage(t, a.seen, self.player, t.grid.lanes).trace(t.words(a.new))


class _Turns:
    """A block's games while they are played, in registers unless they have memory fields."""

    def __init__(self, t: Tracer, a: PlayUntil.Arrays, player: int, uniform: bool):
        self.t, self.a, self.player, self.uniform = t, a, player, uniform
        self.in_branch = t.resets_in_branch(RESET)
        self.source, self.target = t.words(a.new if a.old is None else a.old), t.words(a.new)
        if not t.game.has_memory:
            self.target = t.registers()
        self.tally = t.block.registers(2, REAL)  # PAID and LEFT
        self.again = t.block.registers(1, WORD)

    def others_to_move(self, words: Words, at: Coords) -> Scalar:
        return ~words.over(at) & (self.t.layout.get(words.load(at), "current_player") != self.player)

    def begin(self, at: Coords) -> None:
        layout, words, over = self.t.layout, self.source.load(at), self.source.over(at)
        what, (paid, left) = self.what(at), load(self.a.tally, at.batch, 4)[:REWARD]
        opens = (what == OPEN) | (what == BEGIN) | (over & (what >= PASS))
        decides = (what >= PASS) & ~over & (layout.get(words, "current_player") == self.player)
        paid = where(opens | (decides & (left == 0.0)), 0.0, paid)
        left = where(opens, OPENINGS + 1.0, where(decides, 0.0, left))
        store(self.tally, at.register, [paid, left])
        if self.target.in_registers:
            self.target.store(at, s=layout.get_state(words), flags=layout.get_flags(words))

    def what(self, at: Coords) -> Scalar:
        return load(self.a.actions, at.batch)[0]

    def play(self, first: Scalar) -> None:
        """Play at most one action in every game; the first one is given."""
        self.t.block.each(lambda at: self._play(at, first))
        if self.in_branch:
            self.t.auto_reset(self.target, self.again, self.a.row_keys)

    def _play(self, at: Coords, first: Scalar) -> None:
        t, what, keys = self.t, self.what(at), self.t.row_keys(self.a.row_keys, at)
        words = (self.target if self.target.in_registers else self.source).load(at)
        s, flags = t.layout.get_state(words), t.layout.get_flags(words)
        (paid, left), mask = load(self.tally, at.register, 2), t.game.mask(s)
        action, legal = t.given_action(mask, self.a.actions, at)
        plays = what >= PASS
        if self.uniform:
            drawn = uniform_action(s, mask, t.game.spec.num_actions, keys[3:], live=False)
            action, legal = where(first, action, drawn), legal | ~first
            plays = where(first, plays, s.current_player != self.player)
        plays = plays & ~(flags[0] | flags[1])
        after, rewards, *now = t.game.step(s, action, legal)
        s = t.game.where(plays, after, s)
        flags = [where(plays, x, y) for x, y in zip(now, flags, strict=True)]
        paid = where(plays, paid + rewards[self.player], paid)
        again = (flags[0] | flags[1] | (first & (what == BEGIN))) & (left > 1.0)
        if not self.in_branch:
            s = t.game.where(again, t.game.init(keys, s.episode + 1), s).replace(episode=s.episode + word(again))
        self.target.store(at, s=s, flags=[flag & ~again for flag in flags])
        store(self.tally, at.register, [where(again, 0.0, paid), left - real(again)])
        if self.in_branch:
            store(self.again, at.register, [again])

    def finish(self, at: Coords) -> None:
        t, words, nothing = self.t, self.target.load(at), [scalar(0.0)] * self.t.players
        s, flags = t.layout.get_state(words), t.layout.get_flags(words)
        paid, left = load(self.tally, at.register, 2)
        others, mask = self.others_to_move(self.target, at), t.live_mask(s, flags, "none")
        # that an opening has ended the game means here that all have
        over = where(left > 0.0, NO_DECISION, where(flags[0], TERMINATED, TRUNCATED))
        status = where(flags[0] | flags[1], over, where(others, OTHERS_TO_MOVE, TO_MOVE))
        store(self.a.tally, at.batch, [paid, left, where(left > 0.0, 0.0, paid), real(status)])
        played = {"s": s, "flags": flags} if self.target.in_registers else {}
        t.words(self.a.new).store(at, rewards=nothing, mask=mask, **played)
        if self.a.others is not None:
            flags = [flag | ~others for flag in flags]
            mask = t.live_mask(s, flags, "none")
            t.words(self.a.others).store(at, s=s, flags=flags, rewards=nothing, mask=mask)
