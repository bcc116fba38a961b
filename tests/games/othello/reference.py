"""Othello in plain Python: a slow and obvious oracle of the tensor engine.

Source: the game's rules file, whose rulings O1-O8 are cited below.
"""

from __future__ import annotations

from typing import Any

from tests.games.chance import Key

DISCS = (1, -1)  # O8: of player 0, black, and of player 1, white
WAYS = [(down, right) for down in (-1, 0, 1) for right in (-1, 0, 1) if (down, right) != (0, 0)]
PASS = 64  # O4

Square = tuple[int, int]


class Reference:
    """One game; a board is a list of eight rows from the top."""

    num_players = 2
    num_actions = 65
    truncated = False  # O5

    def __init__(self, key: Key) -> None:
        """Start a game; `key` belongs to the common interface, since the game has no chance."""
        self.board = [[0] * 8 for _ in range(8)]
        self.board[3][4] = self.board[4][3] = 1  # O1: e4, d5
        self.board[3][3] = self.board[4][4] = -1
        self.current_player = 0
        self.rewards = [0.0, 0.0]
        self.terminated = False

    @classmethod
    def from_dict(cls, state: dict[str, Any], key: Key) -> Reference:
        game = cls(key)
        flat = list(state["board"])
        game.board = [flat[8 * row : 8 * row + 8] for row in range(8)]
        game.current_player = state["current_player"]
        game.terminated = not game.squares(0) and not game.squares(1)
        return game

    def to_dict(self) -> dict[str, Any]:  # O8
        return {"board": [disc for row in self.board for disc in row], "current_player": self.current_player}

    def outflanked(self, player: int, square: Square) -> list[Square]:
        """Return the discs that a new disc of `player` there flips (O2)."""
        turned: list[Square] = []
        for down, right in WAYS:
            line: list[Square] = []
            row, column = square[0] + down, square[1] + right
            while 0 <= row < 8 and 0 <= column < 8 and self.board[row][column] == DISCS[1 - player]:
                line.append((row, column))
                row, column = row + down, column + right
            if 0 <= row < 8 and 0 <= column < 8 and self.board[row][column] == DISCS[player]:
                turned += line
        return turned

    def squares(self, player: int) -> list[int]:
        """Return the squares on which `player` can place a disc (O3)."""
        return [
            8 * row + column
            for row in range(8)
            for column in range(8)
            if self.board[row][column] == 0 and self.outflanked(player, (row, column))
        ]

    def legal_actions(self) -> list[int]:
        return [] if self.terminated else self.squares(self.current_player) or [PASS]  # O3, O4

    def apply(self, action: int) -> None:
        if action not in self.legal_actions():
            raise ValueError(f"action {action} is illegal, allowed: {self.legal_actions()}")
        player = self.current_player
        if action != PASS:
            square = divmod(action, 8)
            for row, column in [square, *self.outflanked(player, square)]:
                self.board[row][column] = DISCS[player]
        self.current_player = 1 - player
        self.terminated = not self.squares(0) and not self.squares(1)  # O5
        if self.terminated:  # O6
            lead = sum(disc for row in self.board for disc in row)
            self.rewards = [float((lead > 0) - (lead < 0)), float((lead < 0) - (lead > 0))]

    def observation(self, player: int) -> list[Any]:
        """Return two planes of rows, the player's discs first (O7)."""
        return [
            [[disc == colour for disc in row] for row in self.board] for colour in (DISCS[player], DISCS[1 - player])
        ]
