"""A third party's game of one draw with thousands of outcomes: a throw of five dice, or more, at once."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

from tensor_envs.rules import Actions, Chance, Field, Outcome, Scalar, Spec, number, sum_of


@dataclass(frozen=True)
class ManyDice:
    """Throw all dice once to win with a sum of `goal` or more, or give up."""

    dice: int = 5
    goal: int = 20
    actions = Actions(throw=1, give_up=1)

    @property
    def spec(self) -> Spec:
        return Spec(2, 2, (1,), (Field("total", high=6 * self.dice),), "int8", chance=True)

    def init(self, chance: Chance) -> dict[str, Any]:
        return {}

    def legal_action_mask(self, s: Any) -> Any:
        return self.actions.mask(throw=True, give_up=True)

    def step(self, s: Any, action: Scalar, chance: Chance) -> Outcome:
        drawn, throws = chance.draw(s.ply, 6**self.dice), self.actions.decode(action).throw.chosen
        total = sum_of(1 + drawn // 6**k % 6 for k in range(self.dice)) * throws
        won = total >= self.goal
        after = s.replace(total=total, current_player=1 - s.current_player)
        return Outcome.win(after, 1 - won, True)

    def observe(self, s: Any, player: Scalar) -> Any:
        return [number(s.total)]

    def value(self) -> float:
        """Return the value of the game by enumeration."""
        sums = [sum(throw) for throw in product(range(1, 7), repeat=self.dice)]
        return 2 * sum(total >= self.goal for total in sums) / len(sums) - 1
