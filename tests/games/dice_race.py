"""A third party's game, to test the core with what the built-in games may lack: three players race to 12 by dice.

Actions: 0 rolls a die, 1 rests (not twice running), 2 bets a point on an even number.
"""

import functools
from collections.abc import Iterator
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
    bits,
    next_player,
    number,
    put,
    select,
    uint64,
    where,
)

HERE = "tests.games.dice_race"
GAME = te.GameEntry(id="dice_race", rules=f"{HERE}:DiceRace", notation=HERE, render=HERE, version=3)
NAMES = ("ROLL", "REST", "BET")
FIELDS = (
    Field("score", (3,), low=-30, high=40),
    Field("rested", kind="bool"),
    Field("change", (3, 1), low=-1, high=1),  # of the last bet; negative when it was lost
    Field("history", kind="uint64"),  # the last dice, 4 bits each
)

EVENTS = ("six", "gain")


@dataclass(frozen=True)
class DiceRace:
    goal: int = 12

    @property
    def spec(self) -> Spec:
        return Spec(3, 3, (72,), FIELDS, observation_dtype="int8", max_plies=30, chance=True, events=EVENTS)

    def init(self, chance: Chance) -> dict[str, Any]:
        return {"score": [0, 1, 2], "current_player": chance.draw(3, 3)}

    def legal_action_mask(self, s: GameState) -> Mask:
        return [True, ~s.rested, select(s.score, s.current_player) > 0]

    def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
        die = 1 + chance.draw(16 + s.ply, 6)
        won_bet = where(die % 2 == 0, 1, -1)
        gain = select([die, 0, won_bet], action)
        score = select(s.score, s.current_player) + gain
        over = score >= self.goal
        after = s.replace(
            score=put(s.score, s.current_player, score),
            change=put(s.change, s.current_player, [where(action == 2, won_bet, 0)]),
            rested=action == 1,
            current_player=next_player(s),
            history=s.history << 4 | uint64(die),
        )
        return Outcome.win(after, s.current_player, over).counting(six=(action == 0) & (die == 6), gain=gain)

    def observe(self, s: GameState, player: Scalar) -> list[Part]:
        """Return the scores and changes from the player on, and the rest of the state."""
        seats = [(player + k) % 3 for k in range(3)]
        return [
            *(number(select(s.score, seat)) for seat in seats),
            *(number(select(s.change, seat)[0]) for seat in seats),
            number((s.current_player - player + 3) % 3),
            number(s.rested),
            bits(s.history, 64),
        ]


@dataclass(frozen=True)
class SlowStart(DiceRace):
    """Race from drawn scores: a first state so long that kernels compute it in a branch."""

    def init(self, chance: Chance) -> dict[str, Any]:
        return {**super().init(chance), "score": [chance.draw(player, 3) for player in range(3)]}


@functools.cache
def shared(slow_start: bool = False) -> te.Env:
    """One environment for all tests that need no other."""
    return te.Env(GAME, SlowStart() if slow_start else DiceRace(), "slow_start" if slow_start else "dice_race")


def to_dict(rules: DiceRace, s: dict[str, Any]) -> dict[str, Any]:
    return {name: s[name] for name in ("score", "rested", "history", "change", "current_player", "ply")}


def from_dict(rules: DiceRace, game: dict[str, Any]) -> dict[str, Any]:
    over = max(game["score"]) >= rules.goal
    return {**game, "terminated": over, "truncated": not over and game["ply"] >= rules.spec.max_plies}


def action_to_string(rules: DiceRace, action: int) -> str:
    return NAMES[action]


def symmetries(rules: DiceRace) -> Iterator[te.Symmetry]:
    yield te.Symmetry((0, 1, 2), tuple(range(72)), {})


def to_string(rules: DiceRace, game: dict[str, Any]) -> str:
    return f"scores {game['score']}"


def to_svg(rules: DiceRace, game: dict[str, Any]) -> str:
    return f"<svg>{to_string(rules, game)}</svg>"
