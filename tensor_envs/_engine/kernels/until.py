"""Kernel for single-agent environments: plays an action of one player, then the other players until its next turn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from tensor_envs._compiler.tape import INT, REAL, WORD
from tensor_envs._engine.game import uniform_action
from tensor_envs._engine.kernels.base import AutoReset, Coords, Tracer, Words, load, store
from tensor_envs._engine.kernels.observe import Outputs, OutputStage
from tensor_envs.rules.kernel import do_while, registers
from tensor_envs.rules.scalar import Scalar, real, scalar, where, word

OPENINGS = 100  # games in a row that may end before the player's first decision
RESET: AutoReset = "next_step"
# commands beside the actions from 0 on; PASS stands for an illegal action
PASS, OPEN, BEGIN, LEAVE = -1, -2, -3, -4
# tally of a game. SUM: rewards of the player since its last decision. OPENINGS_LEFT: openings that may still end, plus
# one; 0 once the player has moved. REWARD: the sum, or 0 if the player has not moved in this episode
SUM, OPENINGS_LEFT, REWARD, STATUS = range(4)
TO_MOVE, TERMINATED, TRUNCATED, NO_DECISION, OTHERS_TO_MOVE = range(5)  # STATUS


@dataclass(frozen=True)
class PlayUntil:
    """Play an action in every game, then the uniform policy until `player` is to move or the game is over.

    `actions` holds a command for each game. An action is played, but a finished game resets instead. BEGIN resets any
    game, OPEN marks a new one, and LEAVE does nothing. An episode that ends before the player's first decision is
    skipped: the next one starts, up to OPENINGS times.

    Without `uniform` every game gets at most one action. `others` is then a copy of the state in which only the games
    where another player is to move are unfinished.
    """

    player: int
    uniform: bool
    name = "until"

    class Arrays(NamedTuple):
        new: Any
        old: Any  # None: in place, except for a game with memory fields
        row_keys: Any
        actions: Any  # int32
        tally: Any  # float32, four values per game, see `REWARD`
        out: Outputs  # of the player, game by game
        others: Any = None

    def trace(self, t: Tracer, a: Arrays) -> None:
        block = _Block(t, a, self.player, self.uniform)
        t.block.each(block.begin)
        if not self.uniform:
            block.play(scalar(True))
        else:
            count = registers(1, INT)
            count[0] = 0
            with do_while() as turn:
                block.play(count[0] == 0)
                count[0] = count[0] + 1
                turn.again = t.block.any(lambda at: block.others_to_move(block.target, at))
        t.block.each(block.finish)
        OutputStage(t, a.out, self.player, t.grid.lanes).trace(t.words(a.new))


class _Block:
    """Games of a block while they are played, in registers unless they have memory fields."""

    def __init__(self, t: Tracer, a: PlayUntil.Arrays, player: int, uniform: bool):
        self.t, self.a, self.player, self.uniform = t, a, player, uniform
        self.in_branch = t.resets_in_branch(RESET)
        self.source, self.target = t.words(a.new if a.old is None else a.old), t.words(a.new)
        if not t.game.has_memory:
            self.target = t.registers()
        self.tally = t.block.registers(2, REAL)  # SUM and OPENINGS_LEFT
        self.resets = t.block.registers(1, WORD)

    def others_to_move(self, words: Words, at: Coords) -> Scalar:
        return ~words.over(at) & (self.t.layout.get(words.load(at), "current_player") != self.player)

    def begin(self, at: Coords) -> None:
        """Start the tally of a command and load the state."""
        layout, words, over = self.t.layout, self.source.load(at), self.source.over(at)
        command, (reward, openings) = self.command(at), load(self.a.tally, at.batch, 4)[:REWARD]
        opens = (command == OPEN) | (command == BEGIN) | (over & (command >= PASS))
        decides = (command >= PASS) & ~over & (layout.get(words, "current_player") == self.player)
        reward = where(opens | (decides & (openings == 0.0)), 0.0, reward)
        openings = where(opens, OPENINGS + 1.0, where(decides, 0.0, openings))
        store(self.tally, at.register, [reward, openings])
        if self.target.in_registers:
            self.target.store(at, s=layout.get_state(words), flags=layout.get_flags(words))

    def command(self, at: Coords) -> Scalar:
        return load(self.a.actions, at.batch)[0]

    def play(self, first: Scalar) -> None:
        """Play at most one action in every game: the command if `first`, else the uniform policy's."""
        self.t.block.each(lambda at: self._play(at, first))
        if self.in_branch:
            self.t.auto_reset(self.target, self.resets, self.a.row_keys)

    def _play(self, at: Coords, first: Scalar) -> None:
        t, command, keys = self.t, self.command(at), self.t.row_keys(self.a.row_keys, at)
        words = (self.target if self.target.in_registers else self.source).load(at)
        s, flags = t.layout.get_state(words), t.layout.get_flags(words)
        (reward, openings), mask = load(self.tally, at.register, 2), t.game.mask(s)
        action, legal = t.given_action(mask, self.a.actions, at)
        plays = command >= PASS
        if self.uniform:
            drawn = uniform_action(s, mask, t.game.spec.num_actions, keys[3:], live=False)
            action, legal = where(first, action, drawn), legal | ~first
            plays = where(first, plays, s.current_player != self.player)
        plays = plays & ~(flags[0] | flags[1])
        after, rewards, *new_flags = t.game.step(s, action, legal)
        s = t.game.where(plays, after, s)
        flags = [where(plays, x, y) for x, y in zip(new_flags, flags, strict=True)]
        reward = where(plays, reward + rewards[self.player], reward)
        resets = (flags[0] | flags[1] | (first & (command == BEGIN))) & (openings > 1.0)
        if not self.in_branch:
            s = t.game.where(resets, t.game.init(keys, s.episode + 1), s).replace(episode=s.episode + word(resets))
        self.target.store(at, s=s, flags=[flag & ~resets for flag in flags])
        store(self.tally, at.register, [where(resets, 0.0, reward), openings - real(resets)])
        if self.in_branch:
            store(self.resets, at.register, [resets])

    def finish(self, at: Coords) -> None:
        """Store the state, the tally and the status of a game."""
        t, words, nothing = self.t, self.target.load(at), [scalar(0.0)] * self.t.players
        s, flags = t.layout.get_state(words), t.layout.get_flags(words)
        reward, openings = load(self.tally, at.register, 2)
        others, mask = self.others_to_move(self.target, at), t.live_mask(s, flags, "none")
        # a game that ended in an opening has used up all openings
        over = where(openings > 0.0, NO_DECISION, where(flags[0], TERMINATED, TRUNCATED))
        status = where(flags[0] | flags[1], over, where(others, OTHERS_TO_MOVE, TO_MOVE))
        store(self.a.tally, at.batch, [reward, openings, where(openings > 0.0, 0.0, reward), real(status)])
        played = {"s": s, "flags": flags} if self.target.in_registers else {}
        t.words(self.a.new).store(at, rewards=nothing, mask=mask, **played)
        if self.a.others is not None:
            flags = [flag | ~others for flag in flags]
            mask = t.live_mask(s, flags, "none")
            t.words(self.a.others).store(at, s=s, flags=flags, rewards=nothing, mask=mask)
