"""A game of hidden throws for one player or more, with chance within steps: its rules, and all of it in plain Python.

Each player has two turns. Action 0 stops, action 1 throws a die that only its player observes and pays `COST` for it;
action 2 does both in one if something was thrown before. Who stops misses the second turn. At the end the highest sum
wins 1 from each other player, if it is alone.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import tensor_envs as te
from tensor_envs.rules import (
    Chance,
    Field,
    GameState,
    Mask,
    Outcome,
    Part,
    Scalar,
    Spec,
    bits,
    float32,
    has_bit,
    int32,
    number,
    select,
    where,
)

COST, TURNS = 0.125, 2


@dataclass(frozen=True)
class HiddenDice:
    players: int = 2
    sides: int = 2

    @property
    def spec(self) -> Spec:
        fields = (
            Field("sums", (self.players,), high=TURNS * self.sides),
            Field("throws", (self.players,), high=TURNS),
            Field("stopped", (self.players,), kind="bool"),
        )
        zero_sum, size = self.players > 1, 2 + 3 + 2 * self.players
        return Spec(
            self.players, 3, (size,), fields, "float32", chance=True, zero_sum=zero_sum, perfect_information=False
        )

    def init(self, chance: Chance) -> dict[str, Any]:
        return {}

    def legal_action_mask(self, s: GameState) -> Mask:
        stopped = select(s.stopped, s.current_player)
        return [True, ~stopped, ~stopped & (select(s.sums, s.current_player) > 0)]

    def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
        die, player, throws = 1 + chance.draw(s.ply, self.sides), s.current_player, action > 0
        mine = [player == p for p in range(self.players)]
        sums = [x + where(m & throws, die, 0) for m, x in zip(mine, s.sums, strict=True)]
        count = [x + int32(m & throws) for m, x in zip(mine, s.throws, strict=True)]
        stopped = [x | (m & (action != 1)) for m, x in zip(mine, s.stopped, strict=True)]
        over = s.ply == TURNS * self.players - 1
        rewards, wins = [], [self.wins(sums, p) for p in range(self.players)]
        for p in range(self.players):
            cost = where(throws, where(mine[p], -COST, COST / max(self.players - 1, 1)), 0.0)
            result = sum((where(won, -1, 0) for q, won in enumerate(wins) if q != p), int32(0))
            result = where(wins[p], self.players - 1, result)
            rewards.append(cost + where(over, float32(result), 0.0))
        after = s.replace(sums=sums, throws=count, stopped=stopped, current_player=(player + 1) % self.players)
        return Outcome(after, rewards, over)

    def wins(self, sums: list[Scalar], p: int) -> Scalar:
        """Return whether a player's sum is the highest one and alone."""
        alone = sums[p] > 0
        for q, x in enumerate(sums):
            alone = alone & (sums[p] > x) if q != p else alone
        return alone

    def observe(self, s: GameState, player: Scalar) -> list[Part]:
        legal = [has_bit(s.legal_action_mask, a) for a in range(3)]
        public = [number(x) for x in s.throws] + [bits(s.stopped, self.players)]
        return [number(player), number(select(s.sums, player)), bits(legal, 3), *public]


@functools.cache
def hidden_dice(players: int = 2, sides: int = 2) -> te.Env:
    entry = te.GameEntry("hidden_dice", f"{__name__}:HiddenDice")
    return te.Env(entry, HiddenDice(players, sides), "hidden_dice")


@dataclass(frozen=True)
class Plain:
    """One history of the game."""

    players: int
    sides: int
    sums: tuple[int, ...] = ()
    throws: tuple[int, ...] = ()
    stopped: tuple[bool, ...] = ()
    ply: int = 0
    returns: tuple[Fraction, ...] = ()
    memory: tuple[tuple[Any, ...], ...] = ()  # of every player: what it saw and did at its turns

    @staticmethod
    def first(players: int, sides: int) -> Plain:
        zeros = (0,) * players
        return Plain(players, sides, zeros, zeros, (False,) * players, 0, (Fraction(0),) * players, ((),) * players)

    @property
    def over(self) -> bool:
        return self.ply == TURNS * self.players

    @property
    def mover(self) -> int:
        return self.ply % self.players

    @property
    def legal(self) -> list[int]:
        stopped = self.stopped[self.mover]
        return [0] if stopped else [0, 1, 2] if self.sums[self.mover] else [0, 1]

    @property
    def information(self) -> tuple[Any, ...]:
        seen = (self.ply, self.sums[self.mover], self.throws, self.stopped)
        return (self.mover, *self.memory[self.mover], seen)

    def after(self, action: int) -> Iterator[tuple[Fraction, Plain]]:
        """Yield probabilities and histories after an action."""
        p = self.mover
        memory = (*self.information[1:], action)
        for die in range(1, self.sides + 1) if action else (0,):
            sums = tuple(x + die * (q == p) for q, x in enumerate(self.sums))
            throws = tuple(x + (q == p and action > 0) for q, x in enumerate(self.throws))
            stopped = tuple(x or (q == p and action != 1) for q, x in enumerate(self.stopped))
            cost, returns = Fraction(COST) * (action > 0), list(self.returns)
            for q in range(self.players):
                returns[q] += -cost if q == p else cost / max(self.players - 1, 1)
            if self.ply + 1 == TURNS * self.players:
                best = [q for q in range(self.players) if sums[q] == max(sums)]
                if len(best) == 1 and max(sums):
                    for q in range(self.players):
                        returns[q] += self.players - 1 if q == best[0] else -1
            share = Fraction(1, self.sides) if action else Fraction(1)
            kept = tuple(memory if q == p else m for q, m in enumerate(self.memory))
            yield (
                share,
                replace(
                    self,
                    sums=sums,
                    throws=throws,
                    stopped=stopped,
                    ply=self.ply + 1,
                    returns=tuple(returns),
                    memory=kept,
                ),
            )
