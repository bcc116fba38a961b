"""Hex in plain Python: a slow and obvious oracle of the tensor engine.

Source: the game's rules file, whose rulings H1-H7 are cited below.
"""

from __future__ import annotations

from typing import Any

from tests.games.chance import Key

STONES = (1, -1)  # H6: of player 0 and of player 1
AROUND = ((0, -1), (0, 1), (-1, 0), (-1, 1), (1, -1), (1, 0))  # H1


class Reference:
    """One game; a board is a list of rows from the top."""

    num_players = 2
    truncated = False  # H4

    def __init__(self, key: Key, *, size: int = 11, swap: bool = True) -> None:
        """Start a game; `key` belongs to the common interface, since the game has no chance."""
        if not 1 <= size <= 19:  # H7
            raise ValueError(f"need a size in 1..19, got {size}")
        self.size, self.swap = size, swap
        self.num_actions = size * size + swap
        self.board = [[0] * size for _ in range(size)]
        self.current_player = 0
        self.plies = 0
        self.rewards = [0.0, 0.0]
        self.terminated = False

    @classmethod
    def from_dict(cls, state: dict[str, Any], key: Key, **config: Any) -> Reference:
        game = cls(key, **config)
        flat = list(state["board"])
        game.board = [flat[row * game.size : (row + 1) * game.size] for row in range(game.size)]
        game.current_player = state["current_player"]
        stones = len(flat) - flat.count(0)
        game.plies = stones if stones % 2 == game.current_player else stones + 1  # H6
        game.terminated = game.connected(0) or game.connected(1)
        return game

    def to_dict(self) -> dict[str, Any]:  # H6
        return {"board": [stone for row in self.board for stone in row], "current_player": self.current_player}

    def connected(self, player: int) -> bool:
        """Return whether a chain of stones leads from the player's first side to the other (H1, H4)."""
        last = self.size - 1
        own = {
            (row, column)
            for row in range(self.size)
            for column in range(self.size)
            if self.board[row][column] == STONES[player]
        }
        reached = {cell for cell in own if cell[player] == 0}
        waiting = list(reached)
        while waiting:
            row, column = waiting.pop()
            new = {(row + down, column + right) for down, right in AROUND} & own - reached
            reached |= new
            waiting += new
        return any(cell[player] == last for cell in reached)

    def legal_actions(self) -> list[int]:
        if self.terminated:
            return []
        free = [a for a in range(self.size**2) if self.board[a // self.size][a % self.size] == 0]  # H2
        return free + [self.size**2] * (self.swap and self.plies == 1)  # H3

    def apply(self, action: int) -> None:
        if action not in self.legal_actions():
            raise ValueError(f"action {action} is illegal, allowed: {self.legal_actions()}")
        player, (row, column) = self.current_player, divmod(action, self.size)
        if action == self.size**2:  # H3
            [(column, row)] = [(r, c) for r in range(self.size) for c in range(self.size) if self.board[r][c]]
            self.board[column][row] = 0
        self.board[row][column] = STONES[player]
        self.current_player = 1 - player
        self.plies += 1
        self.terminated = self.connected(player)
        if self.terminated:
            self.rewards = [float(STONES[player]), float(-STONES[player])]

    def observation(self, player: int) -> list[Any]:  # H5
        planes = [
            [[cell == stone for cell in row] for row in self.board] for stone in (STONES[player], STONES[1 - player])
        ]
        return [*planes, [[player == 0] * self.size] * self.size]
