"""Connect four in plain Python: a slow and obvious oracle of the tensor engine.

Source: the game's rules file, whose rulings C1-C8 are cited below.
"""

from __future__ import annotations

from typing import Any

from tests.games.chance import Key

STONES = (1, -1)  # C8: of player 0 and of player 1
WAYS = ((0, 1), (1, 0), (1, 1), (1, -1))  # C4: along a row, a column and both diagonals


class Reference:
    """One game; a board is a list of rows from the top."""

    num_players = 2
    truncated = False  # C5

    def __init__(self, key: Key, *, rows: int = 6, columns: int = 7, k: int = 4) -> None:
        """Start a game; `key` belongs to the common interface, since the game has no chance."""
        if not (1 <= rows <= 32 and 1 <= columns <= 32 and 1 <= k <= max(rows, columns)):  # C6
            raise ValueError(f"need sides in 1..32 and k in 1..the longer one, got {rows}, {columns}, {k}")
        self.rows, self.columns, self.k = rows, columns, k
        self.num_actions = columns
        self.board = [[0] * columns for _ in range(rows)]
        self.current_player = 0  # C1
        self.rewards = [0.0, 0.0]
        self.terminated = False

    @classmethod
    def from_dict(cls, state: dict[str, Any], key: Key, **config: Any) -> Reference:
        game = cls(key, **config)
        flat = list(state["board"])
        game.board = [flat[row * game.columns : (row + 1) * game.columns] for row in range(game.rows)]
        for upper, lower in zip(game.board, game.board[1:], strict=False):
            if any(above and not below for above, below in zip(upper, lower, strict=True)):
                raise ValueError("a stone floats")  # C8
        game.current_player = state["current_player"]
        game.terminated = game.has_line(0) or game.has_line(1) or game.is_full()
        return game

    def to_dict(self) -> dict[str, Any]:  # C8
        return {"board": [stone for row in self.board for stone in row], "current_player": self.current_player}

    def is_full(self) -> bool:
        return all(stone for row in self.board for stone in row)

    def has_line(self, player: int) -> bool:
        """Return whether k stones of `player` lie in consecutive cells of a line (C4)."""
        own = {
            (row, column)
            for row in range(self.rows)
            for column in range(self.columns)
            if self.board[row][column] == STONES[player]
        }
        return any(
            all((row + t * down, column + t * right) in own for t in range(self.k))
            for row, column in own
            for down, right in WAYS
        )

    def legal_actions(self) -> list[int]:
        """Return the columns whose top cell is empty (C2)."""
        return [] if self.terminated else [c for c, stone in enumerate(self.board[0]) if stone == 0]

    def apply(self, action: int) -> None:
        if action not in self.legal_actions():
            raise ValueError(f"action {action} is illegal, allowed: {self.legal_actions()}")
        mover = self.current_player
        lowest = max(row for row in range(self.rows) if self.board[row][action] == 0)  # C3
        self.board[lowest][action] = STONES[mover]
        self.current_player = 1 - mover
        won = self.has_line(mover)
        self.terminated = won or self.is_full()
        self.rewards = [float(stone * STONES[mover]) if won else 0.0 for stone in STONES]  # C5

    def observation(self, player: int) -> list[Any]:
        """Return two planes of rows, the player's stones first (C7)."""
        return [
            [[cell == stone for cell in row] for row in self.board] for stone in (STONES[player], STONES[1 - player])
        ]
