"""Liar's dice in plain Python: a slow and obvious oracle of the tensor engine.

Source: the game's rules file, whose rulings L1-L7 are cited below.
"""

from __future__ import annotations

from typing import Any

from tests.games.chance import Key, draw

LIMITS = {"players": range(2, 7), "dice": range(1, 7), "sides": range(2, 9)}  # L7


class Reference:
    """One game."""

    truncated = False  # L4

    def __init__(self, key: Key, *, players: int = 2, dice: int = 1, sides: int = 6) -> None:
        for name, value in (("players", players), ("dice", dice), ("sides", sides)):
            if value not in LIMITS[name]:
                raise ValueError(f"need {name} in {LIMITS[name]}, got {value}")
        self.num_players, self.sides = players, sides
        self.num_actions = players * dice * sides + 1
        self.dice = [sorted(1 + draw(key, p * dice + i, sides) for i in range(dice)) for p in range(players)]  # L1
        self.history: list[int] = []
        self.rewards = [0.0] * players

    @classmethod
    def from_dict(cls, state: dict[str, Any], key: Key, **config: Any) -> Reference:
        game = cls(key, **config)
        game.dice = [sorted(own) for own in state["dice"]]
        for action in state["history"]:
            game.apply(action)
        game.rewards = [0.0] * game.num_players  # of the last ply, not of the position
        return game

    def to_dict(self) -> dict[str, Any]:  # L6
        return {"dice": self.dice, "history": self.history}

    @property
    def current_player(self) -> int:  # L2
        return len(self.history) % self.num_players

    @property
    def terminated(self) -> bool:
        return self.num_actions - 1 in self.history

    def legal_actions(self) -> list[int]:  # L3
        if self.terminated:
            return []
        return [a for a in range(self.num_actions) if not self.history or a > self.history[-1]][
            : None if self.history else -1
        ]

    def apply(self, action: int) -> None:
        if action not in self.legal_actions():
            raise ValueError(f"action {action} is illegal, allowed: {self.legal_actions()}")
        caller = self.current_player
        self.history.append(action)
        if self.terminated:  # L4
            wanted, face = divmod(self.history[-2], self.sides)
            fitting = [die for own in self.dice for die in own if die == face + 1 or die == self.sides]
            bidder = (caller - 1) % self.num_players
            loser = caller if len(fitting) >= wanted + 1 else bidder
            others = 1 / (self.num_players - 1)
            self.rewards = [-1.0 if player == loser else others for player in range(self.num_players)]

    def observation(self, player: int) -> list[int]:  # L5
        seen = [int(p == player) for p in range(self.num_players)]
        for die in self.dice[player]:
            seen += [int(die == face) for face in range(1, self.sides + 1)]
        return seen + [int(action in self.history) for action in range(self.num_actions)]
