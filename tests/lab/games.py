"""Games with known answers: Nim, a race that coins decide, a card that a rule field makes useless."""

from __future__ import annotations

import functools
from dataclasses import dataclass
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
    int32,
    number,
    put,
    select,
    where,
)


@dataclass(frozen=True)
class Nim:
    """Action h * most + n - 1 takes n objects from heap h. Who takes the last one has won."""

    heaps: tuple[int, ...] = (1, 2, 3)

    @property
    def spec(self) -> Spec:
        fields = (Field("heap", (len(self.heaps),), high=max(self.heaps)),)
        return Spec(2, len(self.heaps) * max(self.heaps), (len(self.heaps),), fields, observation_dtype="int8")

    def init(self, chance: Chance) -> dict[str, Any]:
        return {"heap": list(self.heaps)}

    def legal_action_mask(self, s: GameState) -> Mask:
        return [heap >= n for heap in s.heap for n in range(1, max(self.heaps) + 1)]

    def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
        most = max(self.heaps)
        heap, count = action // most, action % most + 1
        left = put(s.heap, heap, select(s.heap, heap) - count)
        over = sum(left, int32(0)) == 0
        won = where(s.current_player == 0, 1.0, -1.0)
        first = where(over, won, 0.0)
        return Outcome(s.replace(heap=left, current_player=1 - s.current_player), (first, -first), over)

    def observe(self, s: GameState, player: Scalar) -> list[Part]:
        return [number(heap) for heap in s.heap]


@dataclass(frozen=True)
class CoinRace:
    """A coin in each ply is a point for one of two players; who first has `goal` has won. Actions do nothing.

    `paint` is a rule field that changes nothing, and `bonus` gives player 0 points at the start.
    """

    goal: int = 5
    bonus: int = 0
    paint: bool = False

    @property
    def spec(self) -> Spec:
        return Spec(2, 2, (2,), (Field("points", (2,), high=self.goal),), observation_dtype="int8", chance=True)

    def init(self, chance: Chance) -> dict[str, Any]:
        return {"points": [self.bonus, 0]}

    def legal_action_mask(self, s: GameState) -> Mask:
        return [s.ply >= 0, s.ply < 0]

    def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
        winner = chance.draw(s.ply, 2)
        points = put(s.points, winner, select(s.points, winner) + 1)
        over = (points[0] == self.goal) | (points[1] == self.goal)
        first = where(over, where(winner == 0, 1.0, -1.0), 0.0)
        return Outcome(s.replace(points=points, current_player=1 - s.current_player), (first, -first), over)

    def observe(self, s: GameState, player: Scalar) -> list[Part]:
        return [number(x) for x in s.points]


@functools.cache
def nim(*heaps: int) -> te.Env:
    return te.Env(te.GameEntry("nim", f"{__name__}:Nim"), Nim(heaps), "nim")


@functools.cache
def coin_race(bonus: int = 0, paint: bool = False) -> te.Env:
    entry = te.GameEntry("coin_race", f"{__name__}:CoinRace")
    return te.Env(entry, CoinRace(bonus=bonus, paint=paint), "coin_race")
