"""Clobber in plain Python: a slow and obvious oracle of the tensor engine.

Source: the game's rules file, whose rulings C1-C8 are cited below.
"""

from __future__ import annotations

from typing import Any

from tests.games.chance import Key

STONES = (1, -1)  # C8: of player 0, white, and of player 1, black
DIRECTIONS = [(-1, 0), (0, -1), (0, 1), (1, 0)]  # C3: rows and columns


class Reference:
    """One game; a board is a dictionary of stones by row and column."""

    num_players = 2
    truncated = False  # C5

    def __init__(self, key: Key, *, rows: int = 5, columns: int = 6) -> None:
        """Start a game; `key` belongs to the common interface, since the game has no chance."""
        if not (1 <= rows <= 16 and 2 <= columns <= 16):  # C6
            raise ValueError(f"need 1..16 rows and 2..16 columns, got {rows}, {columns}")
        self.rows, self.columns = rows, columns
        self.num_actions = 4 * rows * columns
        self.cells = [(row, column) for row in range(rows) for column in range(columns)]
        self.board = {(row, column): STONES[(row + column) % 2] for row, column in self.cells}  # C1
        self.current_player = 0
        self.rewards = [0.0, 0.0]
        self.terminated = False

    @classmethod
    def from_dict(cls, state: dict[str, Any], key: Key, **config: Any) -> Reference:
        game = cls(key, **config)
        game.board = dict(zip(game.cells, state["board"], strict=True))
        game.current_player = state["current_player"]
        game.terminated = not game.moves()
        return game

    def to_dict(self) -> dict[str, Any]:  # C8
        return {"board": [self.board[cell] for cell in self.cells], "current_player": self.current_player}

    def target(self, action: int) -> tuple[int, int]:
        """Return the cell where a move ends, which may be beyond the board (C3)."""
        direction, number = divmod(action, len(self.cells))
        (row, column), (up, right) = self.cells[number], DIRECTIONS[direction]
        return row + up, column + right

    def moves(self) -> list[int]:
        """Return the actions that take a stone of the opponent (C2)."""
        own = STONES[self.current_player]
        return [
            action
            for action in range(self.num_actions)
            if self.board[self.cells[action % len(self.cells)]] == own
            and self.board.get(self.target(action), 0) == -own
        ]

    def legal_actions(self) -> list[int]:
        return [] if self.terminated else self.moves()

    def apply(self, action: int) -> None:
        if action not in self.legal_actions():
            raise ValueError(f"action {action} is illegal, allowed: {self.legal_actions()}")
        player = self.current_player
        self.board[self.cells[action % len(self.cells)]] = 0
        self.board[self.target(action)] = STONES[player]
        self.current_player = 1 - player
        self.terminated = not self.moves()
        if self.terminated:  # C4
            self.rewards = [1.0, -1.0] if player == 0 else [-1.0, 1.0]

    def observation(self, player: int) -> list[Any]:
        """Return three planes of rows (C7)."""
        own = STONES[player]
        planes = [
            [[self.board[row, column] == stone for column in range(self.columns)] for row in range(self.rows)]
            for stone in (own, -own)
        ]
        return [*planes, [[player == 0] * self.columns] * self.rows]
