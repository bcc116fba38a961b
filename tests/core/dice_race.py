"""A third party's game, to test the core with what the built-in games may lack: three players race to 12 by dice.

Actions: 0 rolls a die, 1 rests (not twice running), 2 bets a point on an even number.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tinygrad import Tensor, UOp, dtypes

import tensor_envs as te
from tensor_envs.core.memory import put, select
from tensor_envs.core.spec import Chance, Mask, Scalar
from tensor_envs.ops.bits import pack_flags

HERE = "tests.core.dice_race"
GAME = te.GameEntry(id="dice_race", rules=f"{HERE}:DiceRace", notation=HERE, render=HERE, version=3)
NAMES = ("ROLL", "REST", "BET")
FIELDS = (
    te.Field("score", (3,), dtypes.int8),
    te.Field("rested", (), dtypes.bool),
    te.Field("change", (3, 1), dtypes.int16),  # of the last bet; negative when it was lost
    te.Field("history", (), dtypes.uint64),  # the last dice, 4 bits each
)


@dataclass(frozen=True)
class DiceRace:
    goal: int = 12

    @property
    def spec(self) -> te.Spec:
        return te.Spec(3, 3, (3,), FIELDS, dtypes.int8, max_plies=30, chance=True, zero_sum=True)

    def init(self, chance: Chance) -> dict[str, Any]:
        return {"score": [chance.draw(seat, 3) for seat in range(3)], "current_player": chance.draw(3, 3)}

    def legal_action_mask(self, s: te.GameState) -> Mask:
        return pack_flags(
            [UOp.const(True, dtypes.bool), s.rested.logical_not(), select(s.score, s.current_player) > 0]
        )

    def step(self, s: te.GameState, action: Scalar, chance: Chance) -> te.Outcome:
        die = 1 + chance.draw(16 + s.ply, 6)
        won_bet = (die & 1).eq(0).where(UOp.const(1, dtypes.int32), -1)
        gain = action.eq(0).where(die, action.eq(1).where(0, won_bet))
        score = put(s.score, s.current_player, select(s.score, s.current_player) + gain)
        bets = put(s.change, s.current_player, action.eq(2).where(won_bet, 0))
        over = (select(score, s.current_player) < self.goal).logical_not()
        player = s.current_player.eq(2).where(0, s.current_player + 1)
        history = s.history << 4 | die.cast(dtypes.uint64)
        after = s.replace(
            score=score, change=bets, rested=action.eq(1), current_player=player, history=history
        )
        won = [
            over.where(s.current_player.eq(seat).where(UOp.const(2, dtypes.int32), -1), 0)
            for seat in range(3)
        ]
        return te.Outcome(after, [w * 0.5 for w in won], over)

    def observe(self, s: te.GameState, player: Tensor) -> Tensor:
        seats = (player.unsqueeze(1) + Tensor.arange(3)) % 3
        parts = [(seats == seat).where(s.score[:, seat : seat + 1], 0) for seat in range(3)]
        return (parts[0] + parts[1] + parts[2]).cast(dtypes.int8)


def to_dict(rules: DiceRace, s: dict[str, Any]) -> dict[str, Any]:
    change = [row[0] for row in s["change"]]
    kept = {name: s[name] for name in ("score", "rested", "history", "current_player", "ply")}
    return {**kept, "change": change}


def from_dict(rules: DiceRace, game: dict[str, Any]) -> dict[str, Any]:
    over = max(game["score"]) >= rules.goal
    return {**game, "terminated": over, "truncated": not over and game["ply"] >= rules.spec.max_plies}


def action_to_string(rules: DiceRace, action: int) -> str:
    return NAMES[action]


def symmetries(rules: DiceRace) -> Iterator[te.Symmetry]:
    yield te.Symmetry((0, 1, 2), (0, 1, 2), {})


def to_string(rules: DiceRace, game: dict[str, Any]) -> str:
    return f"scores {game['score']}"


def to_svg(rules: DiceRace, game: dict[str, Any]) -> str:
    return f"<svg>{to_string(rules, game)}</svg>"
