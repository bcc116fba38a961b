"""Y in plain Python: a slow and obvious oracle of the tensor engine.

Source: the game's rules file, whose rulings Y1-Y6 are cited below.
"""

from __future__ import annotations

from typing import Any

from tests.games.chance import Key

STONES = (1, -1)  # Y4: of player 0 and of player 1
AROUND = ((0, -1), (0, 1), (-1, 0), (-1, 1), (1, -1), (1, 0))  # Y1


class Reference:
    """One game; a board is a dictionary of stones by row and column."""

    num_players = 2
    truncated = False  # Y3

    def __init__(self, key: Key, *, size: int = 19) -> None:
        """Start a game; `key` belongs to the common interface, since the game has no chance."""
        if not 1 <= size <= 19:  # Y5
            raise ValueError(f"need a size in 1..19, got {size}")
        self.size = size
        self.num_actions = size * size
        self.board = {(row, column): 0 for row in range(size) for column in range(size - row)}  # Y1
        self.current_player = 0
        self.rewards = [0.0, 0.0]
        self.terminated = False

    @classmethod
    def from_dict(cls, state: dict[str, Any], key: Key, **config: Any) -> Reference:
        game = cls(key, **config)
        game.board = {(row, column): state["board"][row * game.size + column] for row, column in game.board}
        game.current_player = state["current_player"]
        game.terminated = game.connected(0) or game.connected(1)
        return game

    def to_dict(self) -> dict[str, Any]:  # Y4
        board = [self.board.get(divmod(cell, self.size), 0) for cell in range(self.num_actions)]
        return {"board": board, "current_player": self.current_player}

    def sides_of(self, cell: tuple[int, int]) -> set[str]:
        """Return the sides to which a cell belongs (Y1)."""
        row, column = cell
        belongs = {"top": row == 0, "left": column == 0, "right": column == self.size - row - 1}
        return {side for side, inside in belongs.items() if inside}

    def connected(self, player: int) -> bool:
        """Return whether a chain of the player's stones touches all sides (Y3)."""
        unseen = {cell for cell, stone in self.board.items() if stone == STONES[player]}
        while unseen:
            waiting = [unseen.pop()]
            sides = set[str]()
            while waiting:
                row, column = waiting.pop()
                sides |= self.sides_of((row, column))
                new = {(row + down, column + right) for down, right in AROUND} & unseen
                unseen -= new
                waiting += new
            if len(sides) == 3:
                return True
        return False

    def legal_actions(self) -> list[int]:
        if self.terminated:
            return []
        return sorted(row * self.size + column for (row, column), stone in self.board.items() if not stone)  # Y2

    def apply(self, action: int) -> None:
        if action not in self.legal_actions():
            raise ValueError(f"action {action} is illegal, allowed: {self.legal_actions()}")
        player = self.current_player
        self.board[divmod(action, self.size)] = STONES[player]
        self.current_player = 1 - player
        self.terminated = self.connected(player)
        if self.terminated:
            self.rewards = [float(STONES[player]), float(-STONES[player])]

    def observation(self, player: int) -> list[Any]:  # Y6
        grid = [[(row, column) for column in range(self.size)] for row in range(self.size)]
        return [
            [[self.board.get(cell) == stone for cell in row] for row in grid]
            for stone in (STONES[player], STONES[1 - player], 0)
        ]
