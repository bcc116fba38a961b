"""How positions and actions of Othello are written, and the board's symmetries."""

from collections.abc import Iterator
from typing import Any

from tensor_envs.games.othello.rules import PASS, SIDE, SQUARES, Othello, moves
from tensor_envs.games.stones import STONES, board_and_player
from tensor_envs.rules import Symmetry, word64


def to_dict(rules: Othello, s: dict[str, Any]) -> dict[str, Any]:
    """Fields of a game -> {"board": 64 values 1, -1, 0 row by row from the top, "current_player": 0 or 1} (O8)."""
    player = s["current_player"]
    black, white = (s["own"], s["other"])[:: 1 - 2 * player]
    board = [(black >> square & 1) - (white >> square & 1) for square in range(SQUARES)]
    return {"board": board, "current_player": player}


def from_dict(rules: Othello, game: dict[str, Any]) -> dict[str, Any]:
    """The converse of `to_dict`, for any board; the game is over if neither player can place a disc."""
    board, player = board_and_player(game, SQUARES)
    own, other = discs(board, STONES[player]), discs(board, STONES[1 - player])
    mine, answers = placeable(own, other), placeable(other, own)
    over = {"terminated": not mine and not answers, "truncated": False}
    return {"own": own, "other": other, "moves": mine, "current_player": player, **over}


def discs(board: list[int], colour: int) -> int:
    """The squares with a disc of a colour as a set."""
    return sum(1 << square for square, disc in enumerate(board) if disc == colour)


def placeable(own: int, other: int) -> int:
    """The squares on which the owner of the first discs may place one, as a set."""
    return int(moves(word64(own), word64(other)).value)


def action_to_string(rules: Othello, action: int) -> str:
    """A column's letter and a row's number from the top: "d3"; or "pass" (O9)."""
    return "pass" if action == PASS else "abcdefgh"[action % SIDE] + str(action // SIDE + 1)


def symmetries(rules: Othello) -> Iterator[Symmetry]:
    """The board as it is, turned by half, and mirrored at either diagonal: the start allows no others (O10)."""
    for mirrored in (False, True):
        for step in (1, -1):
            places = [(r, c) for r in range(SIDE)[::step] for c in range(SIDE)[::step]]
            squares = tuple(SIDE * c + r if mirrored else SIDE * r + c for r, c in places)
            both = (*squares, *(SQUARES + square for square in squares))
            yield Symmetry((*squares, PASS), both, {"board": squares})
