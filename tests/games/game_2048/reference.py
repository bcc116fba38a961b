"""2048 in plain Python: a slow and obvious oracle of the tensor engine.

Source: the game's rules file, whose rulings T1-T7 are cited below.
"""

from __future__ import annotations

from typing import Any

from tests.games.chance import Key, draw

UP, RIGHT, DOWN, LEFT = range(4)  # T2

Board = list[list[int]]


def slid_left(row: list[int]) -> tuple[list[int], int]:
    """Return a row after a slide to the left, and the reward (T3, T4)."""
    tiles, result, pay = [tile for tile in row if tile], list[int](), 0
    while tiles:
        tile = tiles.pop(0)
        if tiles and tiles[0] == tile:
            tile += tiles.pop(0)
            pay += tile
        result.append(tile)
    return result + [0] * (4 - len(result)), pay


def transposed(board: Board) -> Board:
    return [list(column) for column in zip(*board, strict=True)]


def mirrored(board: Board) -> Board:
    return [row[::-1] for row in board]


class Reference:
    """One game; a board is four rows of tiles from the top."""

    num_players = 1
    num_actions = 4
    current_player = 0
    truncated = False  # T8

    def __init__(self, key: Key) -> None:
        self.key, self.plies = key, 0
        self.board = [[0] * 4 for _ in range(4)]
        self.spawn(0)  # T1
        self.spawn(1)
        self.rewards = [0.0]

    @classmethod
    def from_dict(cls, state: dict[str, Any], key: Key) -> Reference:
        game = cls(key)
        flat = state["board"]
        game.board = [list(flat[at : at + 4]) for at in range(0, 16, 4)]
        return game

    def to_dict(self) -> dict[str, Any]:  # T7
        return {"board": [tile for row in self.board for tile in row]}

    def spawn(self, counter: int) -> None:
        """Put a new tile on the board (T5)."""
        empty = [(row, column) for row in range(4) for column in range(4) if not self.board[row][column]]
        x = draw(self.key, counter, 10 * len(empty))
        row, column = empty[x // 10]
        self.board[row][column] = 4 if x % 10 == 0 else 2

    def slid(self, action: int) -> tuple[Board, int]:
        """Return the board after a slide, and the reward."""
        board = transposed(self.board) if action in (UP, DOWN) else self.board
        board = mirrored(board) if action in (RIGHT, DOWN) else board
        rows = [slid_left(row) for row in board]
        board = [row for row, _ in rows]
        board = mirrored(board) if action in (RIGHT, DOWN) else board
        board = transposed(board) if action in (UP, DOWN) else board
        return board, sum(pay for _, pay in rows)

    def legal_actions(self) -> list[int]:  # T2
        return [action for action in range(4) if self.slid(action)[0] != self.board]

    @property
    def terminated(self) -> bool:
        return not self.legal_actions()  # T8

    def apply(self, action: int) -> None:
        if action not in self.legal_actions():
            raise ValueError(f"action {action} is illegal, allowed: {self.legal_actions()}")
        self.board, pay = self.slid(action)
        self.rewards = [float(pay)]
        self.spawn(2 + self.plies)
        self.plies += 1

    def observation(self, player: int) -> list[Any]:  # T6
        return [[[int(max(tile, 1) == 2**e) for e in range(18)] for tile in row] for row in self.board]
