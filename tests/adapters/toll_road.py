"""Third-party game that is awkward for adapters: a die selects the next player, and each ply pays and may be the last.

Three travellers. Action 0 waits, 1 pays a coin to each of the others, 2 (on even plies alone) takes one from each.
"""

from dataclasses import dataclass
from typing import Any

import tensor_envs as te
from tensor_envs.rules import Mask, Part, Scalar, number, select, where

HERE = "tests.adapters.toll_road"
ENTRY = te.GameEntry(id="toll_road", rules=f"{HERE}:TollRoad", notation=HERE, render=HERE)
PLAYERS = 3
DICE = 3  # per ply: the next player, the end


@dataclass(frozen=True)
class TollRoad:
    ends: int = 6  # one ply in this number is the last
    cut: int = 4  # plies

    @property
    def spec(self) -> te.Spec:
        coins = te.Field("coins", (PLAYERS,), low=-2 * self.cut, high=2 * self.cut)
        return te.Spec(PLAYERS, 3, (PLAYERS + 1,), (coins,), "int16", max_plies=self.cut, chance=True)

    def init(self, chance: te.Chance) -> dict[str, Any]:
        return {"current_player": chance.draw(0, PLAYERS)}

    def legal_action_mask(self, s: te.GameState) -> Mask:
        return [True, True, s.ply % 2 == 0]

    def step(self, s: te.GameState, action: Scalar, chance: te.Chance) -> te.Outcome:
        payment = where(action == 1, 1, where(action == 2, -1, 0))
        paid = [where(s.current_player == player, -2 * payment, payment) for player in range(PLAYERS)]
        first = 1 + DICE * s.ply
        after = s.replace(
            coins=[coins + x for coins, x in zip(s.coins, paid, strict=True)],
            current_player=chance.draw(first, PLAYERS),
        )
        return te.Outcome(after, paid, chance.draw(first + 1, self.ends) == 0)

    def observe(self, s: te.GameState, player: Scalar) -> list[Part]:
        return [number(x) for x in (select(s.coins, player), *s.coins)]


def to_dict(rules: TollRoad, s: dict[str, Any]) -> dict[str, Any]:
    return s


def to_string(rules: TollRoad, game: dict[str, Any]) -> str:
    return f"coins {game['coins']}, {game['current_player']} to move"


def make(**fields: Any) -> te.Env:
    """Make an environment without registration."""
    return te.Env(ENTRY, TollRoad(**fields), "toll_road")
