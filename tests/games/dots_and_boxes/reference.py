"""Dots and boxes in plain Python: a slow and obvious oracle of the tensor engine.

Source: the game's rules file, whose rulings B1-B8 are cited below.
"""

from __future__ import annotations

from typing import Any

from tests.games.chance import Key

Dot = tuple[int, int]  # row and column
Line = tuple[Dot, Dot]


class Reference:
    """One game; lines are pairs of dots, boxes are named by their upper left dots."""

    num_players = 2
    truncated = False  # B5

    def __init__(self, key: Key, rows: int = 5, columns: int = 5) -> None:
        """Start a game; `key` belongs to the common interface, since the game has no chance."""
        self.rows, self.columns = rows, columns
        across = [((r, c), (r, c + 1)) for r in range(rows + 1) for c in range(columns)]
        down = [((r, c), (r + 1, c)) for r in range(rows) for c in range(columns + 1)]
        self.lines: list[Line] = across + down  # B2
        self.drawn: set[Line] = set()
        self.owners: dict[Dot, int] = {}
        self.current_player = 0
        self.rewards = [0.0, 0.0]
        self.terminated = False

    @classmethod
    def from_dict(cls, state: dict[str, Any], key: Key, rows: int = 5, columns: int = 5) -> Reference:
        game = cls(key, rows, columns)
        game.drawn = {line for line, drawn in zip(game.lines, state["lines"], strict=True) if drawn}
        game.owners = {divmod(k, columns): int(owner < 0) for k, owner in enumerate(state["boxes"]) if owner}
        game.current_player = state["current_player"]
        game.terminated = len(game.drawn) == len(game.lines)
        return game

    @property
    def num_actions(self) -> int:
        return len(self.lines)

    def to_dict(self) -> dict[str, Any]:  # B8
        boxes = [(r, c) for r in range(self.rows) for c in range(self.columns)]
        return {
            "lines": [int(line in self.drawn) for line in self.lines],
            "boxes": [{None: 0, 0: 1, 1: -1}[self.owners.get(box)] for box in boxes],
            "current_player": self.current_player,
        }

    def legal_actions(self) -> list[int]:
        return [action for action, line in enumerate(self.lines) if line not in self.drawn]  # B2

    def apply(self, action: int) -> None:
        if action not in self.legal_actions():
            raise ValueError(f"action {action} is illegal, allowed: {self.legal_actions()}")
        self.drawn.add(self.lines[action])
        scores = False
        for r in range(self.rows):
            for c in range(self.columns):
                sides = {
                    ((r, c), (r, c + 1)),
                    ((r + 1, c), (r + 1, c + 1)),
                    ((r, c), (r + 1, c)),
                    ((r, c + 1), (r + 1, c + 1)),
                }
                if (r, c) not in self.owners and sides <= self.drawn:  # B3
                    self.owners[r, c] = self.current_player
                    scores = True
        if not scores:  # B4
            self.current_player = 1 - self.current_player
        if len(self.drawn) == len(self.lines):  # B5
            self.terminated = True
            first, second = (list(self.owners.values()).count(player) for player in (0, 1))
            self.rewards = [float((first > second) - (first < second)), float((second > first) - (second < first))]

    def observation(self, player: int) -> list[Any]:
        """Return four planes by dots (B7)."""
        dots = [[(r, c) for c in range(self.columns + 1)] for r in range(self.rows + 1)]
        return [
            [[((r, c), (r, c + 1)) in self.drawn for r, c in row] for row in dots],
            [[((r, c), (r + 1, c)) in self.drawn for r, c in row] for row in dots],
            *([[self.owners.get(dot) == owner for dot in row] for row in dots] for owner in (player, 1 - player)),
        ]
