"""Breakthrough in plain Python: a slow and obvious oracle of the tensor engine.

Source: the game's rules file, whose rulings B1-B8 are cited below.
"""

from __future__ import annotations

from typing import Any

from tests.games.chance import Key

PIECES = (1, -1)  # B8: of player 0, white, and of player 1, black
DIRECTIONS = [(1, -1), (1, 0), (1, 1), (-1, -1), (-1, 0), (-1, 1)]  # B3: rows and columns


class Reference:
    """One game; a board is a list of rows from row 1."""

    num_players = 2
    truncated = False  # B5

    def __init__(self, key: Key, *, rows: int = 8, columns: int = 8) -> None:
        """Start a game; `key` belongs to the common interface, since the game has no chance."""
        if not (4 <= rows <= 16 and 2 <= columns <= 16):  # B6
            raise ValueError(f"need 4..16 rows and 2..16 columns, got {rows}, {columns}")
        self.rows, self.columns = rows, columns
        self.num_actions = 6 * rows * columns
        self.board = [[1] * columns] * 2 + [[0] * columns] * (rows - 4) + [[-1] * columns] * 2  # B1
        self.board = [list(row) for row in self.board]
        self.current_player = 0
        self.rewards = [0.0, 0.0]
        self.terminated = False

    @classmethod
    def from_dict(cls, state: dict[str, Any], key: Key, **config: Any) -> Reference:
        game = cls(key, **config)
        flat = list(state["board"])
        game.board = [flat[row * game.columns : (row + 1) * game.columns] for row in range(game.rows)]
        game.current_player = state["current_player"]
        game.terminated = game.has_won(0) or game.has_won(1)
        return game

    def to_dict(self) -> dict[str, Any]:  # B8
        return {"board": [piece for row in self.board for piece in row], "current_player": self.current_player}

    def has_won(self, player: int) -> bool:
        last = self.board[-1 if player == 0 else 0]
        return PIECES[player] in last or not any(PIECES[1 - player] in row for row in self.board)  # B4

    def move(self, action: int) -> tuple[int, int, int, int] | None:
        """Return the cells of a legal move, None if the action is illegal (B2, B3)."""
        direction, cell = divmod(action, self.rows * self.columns)
        row, column = divmod(cell, self.columns)
        up, right = DIRECTIONS[direction]
        own = PIECES[self.current_player]
        to_row, to_column = row + up, column + right
        if self.board[row][column] != own or up != own:
            return None
        if not (0 <= to_row < self.rows and 0 <= to_column < self.columns):
            return None
        target = self.board[to_row][to_column]
        return (row, column, to_row, to_column) if target == 0 or (target == -own and right) else None

    def legal_actions(self) -> list[int]:
        return [] if self.terminated else [a for a in range(self.num_actions) if self.move(a) is not None]

    def apply(self, action: int) -> None:
        move = self.move(action)
        if move is None or self.terminated:
            raise ValueError(f"action {action} is illegal, allowed: {self.legal_actions()}")
        row, column, to_row, to_column = move
        player = self.current_player
        self.board[row][column], self.board[to_row][to_column] = 0, PIECES[player]
        self.current_player = 1 - player
        self.terminated = self.has_won(player)
        if self.terminated:  # B5
            self.rewards = [float(piece * PIECES[player]) for piece in PIECES]

    def observation(self, player: int) -> list[Any]:
        """Return three planes of rows (B7)."""
        planes = [[[cell == PIECES[p] for cell in row] for row in self.board] for p in (player, 1 - player)]
        return [*planes, [[player == 0] * self.columns] * self.rows]
