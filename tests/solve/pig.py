"""A dice game with cycles for two, to count and to solve: Pig."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import tensor_envs as te
from tensor_envs.rules import Chance, Field, GameState, Mask, Outcome, Part, Scalar, Spec, int32, number, where


@dataclass(frozen=True)
class Pig:
    """Action 0 rolls a die: a 1 loses the turn and its points. Action 1 keeps them. Who has `goal` points has won."""

    goal: int = 10
    sides: int = 6

    @property
    def spec(self) -> Spec:
        fields = (
            Field("points", (2,), high=self.goal + self.sides),  # of the player to move, and of the other
            Field("turn", high=self.goal + self.sides),
        )
        return Spec(2, 2, (3,), fields, observation_dtype="int16", chance=True)

    def init(self, chance: Chance) -> dict[str, Any]:
        return {}

    def legal_action_mask(self, s: GameState) -> Mask:
        return [s.points[0] + s.turn < self.goal, s.turn > 0]

    def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
        die = 1 + chance.draw(s.ply, self.sides)
        keeps = action == 1
        mine, passes = s.points[0] + where(keeps, s.turn, 0), keeps | (die == 1)
        won = mine >= self.goal
        first = where(s.current_player == 0, int32(won), -int32(won))
        after = s.replace(
            points=where(passes, [s.points[1], mine], [mine, s.points[1]]),
            turn=where(passes, 0, s.turn + die),
            current_player=where(passes, 1 - s.current_player, s.current_player),
        )
        return Outcome(after, (first, -first), won)

    def observe(self, s: GameState, player: Scalar) -> list[Part]:
        return [number(x) for x in (*s.points, s.turn)]


@functools.cache
def pig(goal: int, sides: int) -> te.Env:
    return te.Env(te.GameEntry("pig", f"{__name__}:Pig"), Pig(goal, sides), "pig")
