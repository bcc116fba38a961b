"""Kuhn poker in plain Python: a slow and obvious oracle of the tensor engine.

Source: the game's rules file, whose rulings K1-K6 are cited below.
"""

from __future__ import annotations

from typing import Any

from tests.games.chance import Key, draw

WORTH = {  # K3, K4: what a game's history pays player 0; "high": the higher card wins so much
    (0, 0): ("high", 1),
    (1, 0): ("first", 1),
    (1, 1): ("high", 2),
    (0, 1, 0): ("first", -1),
    (0, 1, 1): ("high", 2),
}


class Reference:
    """One game."""

    num_players = 2
    num_actions = 2
    truncated = False  # K3

    def __init__(self, key: Key) -> None:
        deal = draw(key, 0, 6)  # K1
        card = deal % 3
        self.cards = [card, (card + 1 + deal // 3) % 3]
        self.history: list[int] = []
        self.rewards = [0.0, 0.0]

    @classmethod
    def from_dict(cls, state: dict[str, Any], key: Key) -> Reference:
        game = cls(key)
        game.cards, game.history = list(state["cards"]), list(state["history"])
        return game

    def to_dict(self) -> dict[str, Any]:  # K6
        return {"cards": self.cards, "history": self.history}

    @property
    def current_player(self) -> int:  # K2
        return len(self.history) % 2

    @property
    def terminated(self) -> bool:
        return tuple(self.history) in WORTH

    def legal_actions(self) -> list[int]:
        return [] if self.terminated else [0, 1]

    def apply(self, action: int) -> None:
        if action not in self.legal_actions():
            raise ValueError(f"action {action} is illegal, allowed: {self.legal_actions()}")
        self.history.append(action)
        if self.terminated:
            who, worth = WORTH[tuple(self.history)]
            if who == "high" and self.cards[1] > self.cards[0]:
                worth = -worth
            self.rewards = [float(worth), float(-worth)]

    def observation(self, player: int) -> list[int]:  # K5
        seen = [int(player == p) for p in (0, 1)] + [int(self.cards[player] == card) for card in range(3)]
        for ply in range(3):
            seen += [int(self.history[ply : ply + 1] == [action]) for action in (0, 1)]
        return seen
