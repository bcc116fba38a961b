"""Oware in plain Python: a slow and obvious oracle of the tensor engine.

Source: the game's rules file, whose rulings W1-W11 are cited below.
"""

from __future__ import annotations

from typing import Any

from tests.games.chance import Key


class Reference:
    """One game; `houses` are those of player 0 and then those of player 1, in the order of sowing."""

    num_players = 2
    truncated = False  # W8

    def __init__(self, key: Key, *, houses: int = 6, seeds: int = 4, quiet_plies: int = 100) -> None:
        """Start a game; `key` belongs to the common interface, since the game has no chance."""
        if min(houses, seeds, quiet_plies) < 1 or 2 * houses * (seeds + 1) > 64 or quiet_plies > 400:  # W9
            raise ValueError(f"wrong fields {houses}, {seeds}, {quiet_plies}")
        self.num_actions = self.count = houses
        self.quiet_plies = quiet_plies
        self.total = 2 * houses * seeds
        self.houses = [seeds] * 2 * houses  # W1
        self.stores = [0, 0]
        self.history: list[list[int]] = []  # since the last capture
        self.current_player = 0
        self.rewards = [0.0, 0.0]
        self.terminated = False

    @classmethod
    def from_dict(cls, state: dict[str, Any], key: Key, **config: Any) -> Reference:
        game = cls(key, **config)
        game.houses, game.stores = list(state["houses"]), list(state["stores"])
        flat, size = state["history"], 2 * game.count
        game.history = [list(flat[at : at + size]) for at in range(0, len(flat), size)]
        game.current_player = state["current_player"]
        game.check_end()
        return game

    def to_dict(self) -> dict[str, Any]:  # W11
        return {
            "houses": list(self.houses),
            "stores": list(self.stores),
            "current_player": self.current_player,
            "history": [seeds for houses in self.history for seeds in houses],
        }

    def own(self, player: int) -> range:
        """Return the places of a player's houses."""
        return range(player * self.count, (player + 1) * self.count)

    def legal_actions(self) -> list[int]:
        if self.terminated:
            return []
        player = self.current_player
        houses = [place for place in self.own(player) if self.houses[place]]
        if not any(self.houses[place] for place in self.own(1 - player)):  # W2
            houses = [place for place in houses if place + self.houses[place] > self.own(player)[-1]]
        return [place - player * self.count for place in houses]

    def apply(self, action: int) -> None:
        if action not in self.legal_actions():
            raise ValueError(f"action {action} is illegal, allowed: {self.legal_actions()}")
        player, before = self.current_player, list(self.houses)
        start = at = player * self.count + action
        seeds, self.houses[start] = self.houses[start], 0
        while seeds:  # W3
            at = (at + 1) % len(self.houses)
            if at != start:
                self.houses[at] += 1
                seeds -= 1
        captured = []
        while at in self.own(1 - player) and self.houses[at] in (2, 3):  # W4
            captured.append(at)
            at -= 1
        gain = sum(self.houses[place] for place in captured)
        if gain and gain < sum(self.houses[place] for place in self.own(1 - player)):  # W5
            self.stores[player] += gain
            for place in captured:
                self.houses[place] = 0
            self.history = []
        else:
            self.history.append(before)
        self.current_player = 1 - player
        self.check_end()
        if self.terminated:
            lead = self.stores[0] - self.stores[1]
            self.rewards = [float((lead > 0) - (lead < 0)), float((lead < 0) - (lead > 0))]  # W8

    def check_end(self) -> None:
        half = self.total // 2
        decided = max(self.stores) > half or self.stores == [half, half]  # W6
        earlier = self.history[::-1][1::2]  # with the same player to move
        stuck = not self.legal_actions() or self.houses in earlier or len(self.history) >= self.quiet_plies  # W7
        self.terminated = decided or stuck
        if self.terminated:
            for player in (0, 1):
                self.stores[player] += sum(self.houses[place] for place in self.own(player))
            self.houses, self.history = [0] * len(self.houses), []

    def observation(self, player: int) -> list[int]:
        """Return seeds of houses and stores, the player's first, whose turn it is, and the quiet plies (W10)."""
        seats = (player, 1 - player)
        seeds = [n for p in seats for n in (*(self.houses[place] for place in self.own(p)), self.stores[p])]
        return [*seeds, int(self.current_player == player), len(self.history)]
