"""A third party's game of hidden dice: liar's dice with one die each, as OpenSpiel's `liars_dice(dice_sides=...)`.

Action q * sides + f bids that q + 1 dice or more show face f; the last action calls the last bid a lie, which ends
the game. The highest face counts as any. A player observes its die and the last bid; only its memory has the others.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import tensor_envs as te
from tensor_envs.rules import Chance, Field, GameState, Mask, Outcome, Part, Scalar, Spec, integer, one_hot, where


@dataclass(frozen=True)
class LiarsDice:
    sides: int = 6

    @property
    def bids(self) -> int:
        return 2 * self.sides

    @property
    def spec(self) -> Spec:
        return Spec(
            num_players=2,
            num_actions=self.bids + 1,
            observation_shape=(2 + self.sides + self.bids + 1,),
            fields=(Field("dice", (2,), high=self.sides - 1), Field("bid", low=-1, high=self.bids - 1)),
            chance=True,
            perfect_information=False,
        )

    def init(self, chance: Chance) -> dict[str, Any]:
        return {"dice": [chance.draw(0, self.sides), chance.draw(1, self.sides)], "bid": -1}

    def legal_action_mask(self, s: GameState) -> Mask:
        return [s.bid < action for action in range(self.bids)] + [s.bid >= 0]

    def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
        calls, face, wild = action == self.bids, s.bid % self.sides, self.sides - 1
        dice = sum((integer((die == face) | (die == wild)) for die in s.dice), integer(0))
        caller_wins = dice < s.bid // self.sides + 1
        winner = where(caller_wins, s.current_player, 1 - s.current_player)
        after = s.replace(bid=where(calls, s.bid, action), current_player=1 - s.current_player)
        return Outcome.win(after, winner, won=calls)

    def observe(self, s: GameState, player: Scalar) -> list[Part]:
        return [one_hot(player, 2), one_hot(where(player == 0, *s.dice), self.sides), one_hot(s.bid + 1, self.bids + 1)]


@functools.cache
def liars_dice(sides: int) -> te.Env:
    return te.Env(te.GameEntry("liars_dice", f"{__name__}:LiarsDice"), LiarsDice(sides), "liars_dice")
