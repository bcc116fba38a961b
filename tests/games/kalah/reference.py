"""Kalah in plain Python: a slow and obvious oracle of the tensor engine.

Source: the game's rules file, whose rulings K1-K9 are cited below.
"""

from __future__ import annotations

from typing import Any

from tests.games.chance import Key


class Reference:
    """One game; `houses` are two lists, each from its owner's left to right."""

    num_players = 2
    truncated = False  # K6

    def __init__(self, key: Key, *, houses: int = 6, seeds: int = 4) -> None:
        """Start a game; `key` belongs to the common interface, since the game has no chance."""
        if not (1 <= houses <= 16 and 1 <= seeds <= 64):  # K7
            raise ValueError(f"need 1..16 houses and 1..64 seeds, got {houses}, {seeds}")
        self.num_actions = self.count = houses
        self.houses = [[seeds] * houses for _ in range(2)]  # K1
        self.stores = [0, 0]
        self.current_player = 0
        self.rewards = [0.0, 0.0]
        self.terminated = False

    @classmethod
    def from_dict(cls, state: dict[str, Any], key: Key, **config: Any) -> Reference:
        game = cls(key, **config)
        game.houses = [list(state["houses"][: game.count]), list(state["houses"][game.count :])]
        game.stores = list(state["stores"])
        game.current_player = state["current_player"]
        game.sweep()
        return game

    def to_dict(self) -> dict[str, Any]:  # K9
        houses = [seeds for row in self.houses for seeds in row]
        return {"houses": houses, "stores": list(self.stores), "current_player": self.current_player}

    def sweep(self) -> None:
        """End the game if a player has no seeds in houses (K6)."""
        self.terminated = not any(self.houses[0]) or not any(self.houses[1])
        if self.terminated:
            for player in (0, 1):
                self.stores[player] += sum(self.houses[player])
                self.houses[player] = [0] * self.count

    def legal_actions(self) -> list[int]:
        return [house for house, seeds in enumerate(self.houses[self.current_player]) if seeds]  # K2

    def apply(self, action: int) -> None:
        if action not in self.legal_actions():
            raise ValueError(f"action {action} is illegal, allowed: {self.legal_actions()}")
        player = self.current_player
        mine = [(self.houses[player], k) for k in range(self.count)]
        yours = [(self.houses[1 - player], k) for k in range(self.count)]
        path = [*mine, (self.stores, player), *yours]  # K3
        seeds, self.houses[player][action] = self.houses[player][action], 0
        at = action
        for _ in range(seeds):
            at = (at + 1) % len(path)
            row, place = path[at]
            row[place] += 1
        if at < self.count and self.houses[player][at] == 1:  # K4
            opposite = self.count - 1 - at
            if taken := self.houses[1 - player][opposite]:
                self.stores[player] += taken + 1
                self.houses[player][at] = self.houses[1 - player][opposite] = 0
        in_store = at == self.count
        self.current_player = player if in_store else 1 - player  # K5
        self.sweep()
        if self.terminated:
            lead = self.stores[0] - self.stores[1]
            self.rewards = [float((lead > 0) - (lead < 0)), float((lead < 0) - (lead > 0))]

    def observation(self, player: int) -> list[int]:
        """Return seeds of houses and stores, the player's first, and whether the player is to move (K8)."""
        seats = (player, 1 - player)
        return [n for p in seats for n in (*self.houses[p], self.stores[p])] + [int(self.current_player == player)]
