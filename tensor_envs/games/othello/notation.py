"""Dictionaries, action names and symmetries of Othello."""

from collections.abc import Iterator
from typing import Any

from tensor_envs.games._kit import symmetries as kit
from tensor_envs.games._kit.stones import STONES, board_and_player
from tensor_envs.games.othello.rules import PASS, SIDE, SQUARES, Othello, moves
from tensor_envs.ops.fields import ended
from tensor_envs.render.grids import cell_name
from tensor_envs.rules import Symmetry, uint64


def to_dict(rules: Othello, s: dict[str, Any]) -> dict[str, Any]:
    """Return {"board": 64 values 1, -1, 0 row by row from the top, "current_player": 0 or 1} (O8)."""
    player = s["current_player"]
    black, white = (s["own"], s["other"])[:: 1 - 2 * player]
    board = [(black >> square & 1) - (white >> square & 1) for square in range(SQUARES)]
    return {"board": board, "current_player": player}


def from_dict(rules: Othello, game: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a dictionary; the game is over if neither player can place a disc."""
    board, player = board_and_player(game, SQUARES)
    own, other, mine, answers = sets_of(board, player)
    fields = {"own": own, "other": other, "moves": mine, "current_player": player}
    return fields | ended(not mine and not answers)


def sets_of(board: list[int], player: int) -> tuple[int, int, int, int]:
    """Return sets of squares: the discs of a player and of the opponent, and where each of them may place one."""
    own, other = (
        sum(1 << square for square, disc in enumerate(board) if disc == STONES[owner]) for owner in (player, 1 - player)
    )
    mine, answers = (moves(uint64(a), uint64(b)).value for a, b in ((own, other), (other, own)))
    return own, other, int(mine), int(answers)


def action_to_string(rules: Othello, action: int) -> str:
    """Return a column's letter and a row's number from the top, "d3", or "pass" (O9)."""
    return "pass" if action == PASS else cell_name(action, SIDE)


def symmetries(rules: Othello) -> Iterator[Symmetry]:
    """Yield the identity, the half turn, and the mirror images at both diagonals: the start allows no others (O10)."""
    for transposed in (False, True):
        for step in (1, -1):
            order = range(SIDE)[::step]
            yield kit.of_cells(kit.rearranged(order, order, transposed), 2, fixed=1)
