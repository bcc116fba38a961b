"""How positions and actions of connect four are written, and the board's symmetries."""

from collections.abc import Iterator
from typing import Any

from tensor_envs.core.validate import shown
from tensor_envs.games.connect_four.rules import ConnectFour
from tensor_envs.ops.bits import completed
from tensor_envs.rules import Symmetry, pack, unpack

STONES = (1, -1)  # of player 0, of player 1


def to_dict(rules: ConnectFour, s: dict[str, Any]) -> dict[str, Any]:
    """Fields of a game -> {"board": rows from the top end to end, of 1, -1, 0, "current_player": 0 or 1} (C8)."""
    player, board = s["current_player"], [0] * rules.cells
    for words, stone in ((s["own"], STONES[player]), (s["other"], STONES[1 - player])):
        for cell in unpack(words, rules.cells):
            board[cell] = stone
    return {"board": board, "current_player": player}


def from_dict(rules: ConnectFour, game: dict[str, Any]) -> dict[str, Any]:
    """The converse of `to_dict`, for any board on which no stone floats; a line or a full board ends the game."""
    board, player = list(game["board"]), game["current_player"]
    if player not in (0, 1):
        raise ValueError(f"current_player must be 0 or 1, got {shown(player)}")
    if len(board) != rules.cells or not set(board) <= {1, -1, 0}:
        raise ValueError(f"board must be a flat list of {rules.cells} values 1, -1 or 0")
    floating = [cell for cell, below in enumerate(board[rules.columns :]) if board[cell] and not below]
    if floating:
        raise ValueError(f"board must have a stone or the floor below each stone, not so at {floating[0]}")
    stones = [pack((c for c, stone in enumerate(board) if stone == mark), rules.cells) for mark in STONES]
    ended = 0 not in board or any(map(any, (line for own in stones for line in lines(rules, own))))
    over = {"terminated": ended, "truncated": False, "ply": rules.cells - board.count(0)}
    return {"own": stones[player], "other": stones[1 - player], "current_player": player, **over}


def lines(rules: ConnectFour, stones: list[int]) -> list[Any]:
    """For every direction the cells at which a line of these stones starts, as words."""
    return completed(stones, (rules.rows, rules.columns), rules.k)


def action_to_string(rules: ConnectFour, action: int) -> str:
    """The column, from 1 at the left: "4" is the middle of seven (C9)."""
    return str(action + 1)


def symmetries(rules: ConnectFour) -> Iterator[Symmetry]:
    """The board as it is and, if it has several columns, left and right exchanged."""
    for step in (1, -1)[: rules.columns]:
        columns = range(rules.columns)[::step]
        cells = tuple(row * rules.columns + column for row in range(rules.rows) for column in columns)
        observation = tuple(plane * rules.cells + cell for plane in (0, 1) for cell in cells)
        yield Symmetry(tuple(columns), observation, {"board": cells})
