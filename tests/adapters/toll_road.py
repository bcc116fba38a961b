"""A third party's game, awkward for a seat: a die says who moves next, and every ply pays and may be the last.

Three travellers. Action 0 waits, 1 pays a coin to each of the others, 2 (on even plies alone) takes one from each.
"""

from dataclasses import dataclass
from typing import Any

from tinygrad import Tensor, UOp, dtypes

import tensor_envs as te
from tensor_envs.core.spec import Chance, Mask, Scalar
from tensor_envs.ops.bits import pack_flags

HERE = "tests.adapters.toll_road"
ENTRY = te.GameEntry(id="toll_road", rules=f"{HERE}:TollRoad", notation=HERE, render=HERE)
PLAYERS = 3
DICE = 3  # per ply: who moves next, how it ends


@dataclass(frozen=True)
class TollRoad:
    ends: int = 6  # one ply in so many is the last
    cut: int = 4  # plies

    @property
    def spec(self) -> te.Spec:
        fields = (te.Field("coins", (PLAYERS,), dtypes.int16),)
        return te.Spec(PLAYERS, 3, (PLAYERS + 1,), fields, dtypes.int16, max_plies=self.cut, chance=True)

    def init(self, chance: Chance) -> dict[str, Any]:
        return {"current_player": chance.draw(0, PLAYERS)}

    def legal_action_mask(self, s: te.GameState) -> Mask:
        always = UOp.const(True, dtypes.bool)
        return pack_flags([always, always, (s.ply & 1).eq(0)])

    def step(self, s: te.GameState, action: Scalar, chance: Chance) -> te.Outcome:
        given = action.eq(1).where(UOp.const(1, dtypes.int32), action.eq(2).where(-1, 0))
        paid = [s.current_player.eq(seat).where(-2 * given, given) for seat in range(PLAYERS)]
        first = 1 + DICE * s.ply
        after = s.replace(
            coins=[coins + x for coins, x in zip(s.coins, paid, strict=True)],
            current_player=chance.draw(first, PLAYERS),
        )
        return te.Outcome(after, paid, chance.draw(first + 1, self.ends).eq(0))

    def observe(self, s: te.GameState, player: Tensor) -> Tensor:
        own = (player.unsqueeze(1) == Tensor.arange(PLAYERS)).where(s.coins, 0).sum(1, keepdim=True)
        return own.cast(dtypes.int16).cat(s.coins, dim=1)


def to_dict(rules: TollRoad, s: dict[str, Any]) -> dict[str, Any]:
    return s


def to_string(rules: TollRoad, game: dict[str, Any]) -> str:
    return f"coins {game['coins']}, {game['current_player']} to move"


def make(**fields: Any) -> te.Env:
    """An environment of it, without registering it."""
    return te.Env(ENTRY, TollRoad(**fields), "toll_road")
