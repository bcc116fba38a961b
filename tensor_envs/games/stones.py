"""Boards of stones as dictionaries have them: flat lists of 1 for player 0's, -1 for player 1's, and 0 for none.

A state has the same as two sets of cells, those of the player to move and the other's.
"""

from collections.abc import Sequence
from typing import Any

from tensor_envs._validate import integer, nested
from tensor_envs.rules import pack, unpack

STONES = (1, -1)  # of player 0, of player 1


def to_board(own: Sequence[int], other: Sequence[int], player: int, size: int) -> list[int]:
    """Two sets, as words -> the board."""
    board = [0] * size
    for words, stone in ((own, STONES[player]), (other, STONES[1 - player])):
        for cell in unpack(words, size):
            board[cell] = stone
    return board


def to_sets(board: Sequence[int], player: int) -> tuple[list[int], list[int]]:
    """The converse of `to_board`."""
    own, other = (
        pack((cell for cell, stone in enumerate(board) if stone == STONES[owner]), len(board))
        for owner in (player, 1 - player)
    )
    return own, other


def board_and_player(game: dict[str, Any], size: int, highest: int = 1) -> tuple[list[int], int]:
    """Of a dictionary. ValueError or TypeError unless it is a player, and a board of so many ints in -1..highest."""
    board = nested("board", game["board"], (size,), -1, highest)
    return board, integer("current_player", game["current_player"], 0, 1)
