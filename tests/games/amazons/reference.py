"""Amazons in plain Python: a slow and obvious oracle of the tensor engine.

Source: the game's rules file, whose rulings A1-A7 are cited below.
"""

from __future__ import annotations

from typing import Any

from tests.games.chance import Key

STARTS = {  # A1: of White, of Black
    6: ("a2 b1 e1 f2", "a5 b6 e6 f5"),
    8: ("a3 c1 f1 h3", "a6 c8 f8 h6"),
    10: ("a4 d1 g1 j4", "a7 d10 g10 j7"),
}
WAYS = [(down, right) for down in (-1, 0, 1) for right in (-1, 0, 1) if (down, right) != (0, 0)]

Square = tuple[int, int]  # row from the top, column from the left


class Reference:
    """One game; a board is a list of rows from the top."""

    num_players = 2
    truncated = False  # A5

    def __init__(self, key: Key, size: int = 10) -> None:
        """Start a game; `key` belongs to the common interface, since the game has no chance."""
        self.size = size
        self.num_actions = size * size
        self.board = [[0] * size for _ in range(size)]
        for amazon, names in zip((1, -1), STARTS[size], strict=True):
            for name in names.split():
                self.board[size - int(name[1:])]["abcdefghij".index(name[0])] = amazon
        self.current_player = 0
        self.phase = 0
        self.active: Square | None = None
        self.rewards = [0.0, 0.0]
        self.terminated = False

    @classmethod
    def from_dict(cls, state: dict[str, Any], key: Key, size: int = 10) -> Reference:
        game = cls(key, size)
        game.board = [list(state["board"][size * row : size * row + size]) for row in range(size)]
        game.current_player, game.phase = state["current_player"], state["phase"]
        game.active = divmod(state["active"], size) if state["active"] >= 0 else None
        game.terminated = not game.legal_actions()
        return game

    def to_dict(self) -> dict[str, Any]:  # A7
        return {
            "board": [value for row in self.board for value in row],
            "current_player": self.current_player,
            "phase": self.phase,
            "active": -1 if self.active is None else self.size * self.active[0] + self.active[1],
        }

    def reached(self, start: Square) -> list[int]:
        """Return the squares that a queen reaches (A3)."""
        squares = []
        for down, right in WAYS:
            row, column = start[0] + down, start[1] + right
            while 0 <= row < self.size and 0 <= column < self.size and self.board[row][column] == 0:
                squares.append(self.size * row + column)
                row, column = row + down, column + right
        return sorted(squares)

    def legal_actions(self) -> list[int]:
        if self.terminated:
            return []
        if self.active is not None:
            return self.reached(self.active)  # A3, A4
        own = (1, -1)[self.current_player]
        squares = [(row, column) for row in range(self.size) for column in range(self.size)]
        return [
            self.size * row + column
            for row, column in squares
            if self.board[row][column] == own and self.reached((row, column))
        ]

    def apply(self, action: int) -> None:
        if action not in self.legal_actions():
            raise ValueError(f"action {action} is illegal, allowed: {self.legal_actions()}")
        row, column = divmod(action, self.size)
        if self.phase == 2:  # A4
            self.board[row][column] = 2
            self.active, self.phase, self.current_player = None, 0, 1 - self.current_player
            if not self.legal_actions():  # A5
                self.terminated = True
                self.rewards = [-1.0, 1.0] if self.current_player == 0 else [1.0, -1.0]
            return
        if self.phase == 1:
            assert self.active is not None
            self.board[row][column] = self.board[self.active[0]][self.active[1]]
            self.board[self.active[0]][self.active[1]] = 0
        self.active, self.phase = (row, column), self.phase + 1

    def observation(self, player: int) -> list[Any]:
        """Return planes of rows (A6)."""
        values = ((1, -1)[player], (-1, 1)[player], 2)
        planes = [[[square == value for square in row] for row in self.board] for value in values]
        side = range(self.size)
        planes.append([[(row, column) == self.active for column in side] for row in side])
        return [*planes, [[self.phase == 2 for _ in side] for _ in side]]
