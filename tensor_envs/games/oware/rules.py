"""Oware: seeds are sown around the board, and houses of two or three captured; more captured seeds win.

Rules and rulings: RULES.md beside this file. The state is that of the player to move: the own houses and then the
opponent's, in the order of sowing, and both stores. A position of the history is 64 bits: every house is as many zeros
as it has seeds, and a one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tensor_envs._validate import integer as checked
from tensor_envs.games._kit.houses import observed
from tensor_envs.rules import (
    Chance,
    Field,
    GameState,
    Mask,
    Observation,
    Outcome,
    Scalar,
    Spec,
    Value,
    any_of,
    halves,
    int32,
    number,
    scalar,
    select,
    sum_of,
    uint64,
    where,
)

CODE_BITS = 64
MAX_QUIET = 400


@dataclass(frozen=True)
class Oware:
    """Rule fields of oware (W9).

    Attributes:
        houses: houses of a player.
        seeds: seeds in every house at first; 2 * houses * (seeds + 1) is at most 64.
        quiet_plies: plies without a capture after which a game ends, 1..400.
    """

    houses: int = 6
    seeds: int = 4
    quiet_plies: int = 100

    def __post_init__(self) -> None:
        houses = checked("houses", self.houses, 1, CODE_BITS // 4)
        limits = {"houses": CODE_BITS // 4, "seeds": CODE_BITS // (2 * houses) - 1, "quiet_plies": MAX_QUIET}
        for name, high in limits.items():
            object.__setattr__(self, name, checked(name, getattr(self, name), 1, high))

    @property
    def total(self) -> int:
        """Number of seeds."""
        return 2 * self.houses * self.seeds

    @property
    def spec(self) -> Spec:
        fields = (
            Field("houses", (2 * self.houses,), high=self.total),
            Field("stores", (2,), high=self.total),
            Field("quiet", high=self.quiet_plies),  # plies since the last capture
            # halves of positions at these plies, the last one first
            Field("history", (2, self.quiet_plies), kind="uint32"),
        )
        shape = (2 * self.houses + 4,)
        return Spec(2, self.houses, observation_shape=shape, fields=fields, observation_dtype="int16")

    def init(self, chance: Chance) -> dict[str, Any]:
        return {"houses": [self.seeds] * 2 * self.houses}

    def legal_action_mask(self, s: GameState) -> Mask:
        """Return the own houses that may be sown (W2)."""
        return playable(s.houses)

    def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
        n, others = self.houses, 2 * self.houses - 1
        seeds, houses = select(s.houses[:n], action), list[Scalar]()
        laps, rest = seeds // others, seeds % others
        for house, old in enumerate(s.houses):  # W3
            steps = where(action < house, house - action, house - action + 2 * n)
            houses.append(where(action == house, 0, old + laps + int32(steps <= rest)))
        last = action + where(rest == 0, others, rest)
        last -= where(last >= 2 * n, 2 * n, 0)
        taken, follows = [scalar(False)] * n, scalar(False)
        for k in range(n)[::-1]:  # W4
            count = houses[n + k]
            follows = ((last == n + k) | follows) & ((count == 2) | (count == 3))
            taken[k] = follows
        gain = sum_of(where(take, count, 0) for take, count in zip(taken, houses[n:], strict=True))
        captures = (gain != 0) & (gain != sum_of(houses[n:]))  # W5
        # from here on, own is the next player's
        own, other = [where(captures & take, 0, k) for take, k in zip(taken, houses[n:], strict=True)], houses[:n]
        stores = [s.stores[1], s.stores[0] + where(captures, gain, 0)]
        half = self.total // 2
        decided = (stores[1] > half) | ((stores[0] == half) & (stores[1] == half))  # W6
        quiet = where(captures, 0, s.quiet + 1)
        code = code_of([*own, *other])
        pasts = zip(*(half[::2] for half in s.history), strict=True)
        recurs = ~captures & any_of((low ^ code[0] | high ^ code[1]) == 0 for low, high in pasts)
        over = decided | ~any_of(playable([*own, *other])) | recurs | (quiet == self.quiet_plies)  # W7
        stores = [store + where(over, sum_of(row), 0) for store, row in zip(stores, (own, other), strict=True)]
        forgets = captures | over
        after = s.replace(
            houses=[where(over, 0, count) for count in (*own, *other)],
            stores=stores,
            quiet=where(over, 0, quiet),
            history=[
                where(forgets, [0] * self.quiet_plies, [new, *past[:-1]])
                for new, past in zip(code_of(s.houses), s.history, strict=True)
            ],
            current_player=1 - s.current_player,
        )
        return Outcome.scores(after, where(s.current_player == 0, stores[::-1], stores), over)

    def observe(self, s: GameState, player: Scalar) -> Observation:
        """Return the seeds of the player and of the opponent, whose turn it is, and the quiet plies (W10)."""
        return observed(s, player) | {"plies since the last capture": number(s.quiet)}


def playable(houses: Sequence[Scalar]) -> list[Scalar]:
    """Return whether each house of the player to move may be sown (W2)."""
    n = len(houses) // 2
    feeds = sum_of(houses[n:]) == 0
    return [seeds > where(feeds, n - 1 - house, 0) for house, seeds in enumerate(houses[:n])]


def code_of(houses: Sequence[Value]) -> tuple[Scalar, Scalar]:
    """Return the low and the high half of a position."""
    code, end = uint64(0), int32(-1)
    for seeds in houses:
        end = end + seeds + 1
        code |= uint64(1) << uint64(end)
    return halves(code)
