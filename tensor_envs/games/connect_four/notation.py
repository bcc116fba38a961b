"""How positions and actions of connect four are written, and the board's symmetries."""

from collections.abc import Iterator
from typing import Any

from tensor_envs.games.connect_four.rules import ConnectFour
from tensor_envs.games.stones import board_and_player, to_board, to_sets
from tensor_envs.ops.bits import completed
from tensor_envs.rules import Symmetry


def to_dict(rules: ConnectFour, s: dict[str, Any]) -> dict[str, Any]:
    """Fields of a game -> {"board": rows from the top end to end, of 1, -1, 0, "current_player": 0 or 1} (C8)."""
    player = s["current_player"]
    return {"board": to_board(s["own"], s["other"], player, rules.cells), "current_player": player}


def from_dict(rules: ConnectFour, game: dict[str, Any]) -> dict[str, Any]:
    """The converse of `to_dict`, for any board on which no stone floats; a line or a full board ends the game."""
    board, player = board_and_player(game, rules.cells)
    floating = [cell for cell, below in enumerate(board[rules.columns :]) if board[cell] and not below]
    if floating:
        raise ValueError(f"board must have a stone or the floor below each stone, not so at {floating[0]}")
    own, other = to_sets(board, player)
    ended = 0 not in board or any(map(any, lines(rules, own) + lines(rules, other)))
    over = {"terminated": ended, "truncated": False, "ply": rules.cells - board.count(0)}
    return {"own": own, "other": other, "current_player": player, **over}


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
