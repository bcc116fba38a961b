"""Kalah: seeds are sown around the board into houses and the own store; more seeds at the end win.

Rules and rulings: RULES.md beside this file. The state is that of the player to move: the own houses and then the
opponent's, in the order of sowing, and both stores.
"""

from dataclasses import dataclass
from typing import Any

from tensor_envs.games._kit.houses import observed
from tensor_envs.rules import Scalar, all_of, int32, select, sum_of, where
from tensor_envs.rules.chance import Chance
from tensor_envs.rules.observation import Observation
from tensor_envs.rules.plain import check_fields
from tensor_envs.rules.spec import Field, GameState, Mask, Outcome, Spec

MAX_HOUSES, MAX_SEEDS = 16, 64


@dataclass(frozen=True)
class Kalah:
    """Rule fields of Kalah (K7).

    Attributes:
        houses: houses of a player, 1..16.
        seeds: seeds in every house at first, 1..64.
    """

    houses: int = 6
    seeds: int = 4

    def __post_init__(self) -> None:
        check_fields(self, houses=(1, MAX_HOUSES), seeds=(1, MAX_SEEDS))

    @property
    def total(self) -> int:
        """Number of seeds."""
        return 2 * self.houses * self.seeds

    @property
    def spec(self) -> Spec:
        fields = (Field("houses", (2 * self.houses,), high=self.total), Field("stores", (2,), high=self.total))
        shape = (2 * self.houses + 3,)
        return Spec(2, self.houses, observation_shape=shape, fields=fields, observation_dtype="int16")

    def init(self, chance: Chance) -> dict[str, Any]:
        return {"houses": [self.seeds] * 2 * self.houses}

    def legal_action_mask(self, s: GameState) -> Mask:
        """Return the own houses that have seeds (K2)."""
        return [seeds != 0 for seeds in s.houses[: self.houses]]

    def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
        n = self.houses
        ring = [*s.houses[: self.houses], s.stores[0], *s.houses[self.houses :]]
        seeds = select(ring[:n], action)
        laps = seeds // len(ring)
        rest = seeds % len(ring)
        for place, old in enumerate(ring):  # K3
            steps = where(action < place, place - action, place - action + len(ring))
            ring[place] = where(action == place, 0, old) + laps + int32(steps <= rest)
        last = action + rest - where(action + rest >= len(ring), len(ring), 0)
        # a house and the one opposite have the same place
        own = ring[:n]
        other = ring[:n:-1]
        store = ring[n]
        takes = [(last == k) & (own[k] == 1) & (other[k] != 0) for k in range(n)]  # K4
        store += sum_of(where(take, other[k] + 1, 0) for k, take in enumerate(takes))
        own, other = ([where(take, 0, row[k]) for k, take in enumerate(takes)] for row in (own, other))
        over = all_of(x == 0 for x in own) | all_of(x == 0 for x in other)  # K6
        stores = [store + where(over, sum_of(own), 0), s.stores[1] + where(over, sum_of(other), 0)]
        own, other = ([where(over, 0, x) for x in row] for row in (own, other[::-1]))
        again = last == n  # K5
        after = s.replace(
            houses=where(again, [*own, *other], [*other, *own]),
            stores=where(again, stores, stores[::-1]),
            current_player=where(again, s.current_player, 1 - s.current_player),
        )
        return Outcome.scores(after, where(s.current_player == 0, stores, stores[::-1]), over)

    def observe(self, s: GameState, player: Scalar) -> Observation:
        """Return the seeds of the player and of the opponent, and whether the player is to move (K8)."""
        return observed(s, player)
