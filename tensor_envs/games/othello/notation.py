"""Dictionaries, action names and symmetries of Othello."""

from collections.abc import Iterator
from typing import Any

from tensor_envs.games._kit import symmetries as kit
from tensor_envs.games._kit.stones import board_and_player, to_sets
from tensor_envs.games.othello.rules import PASS, SIDE, SQUARES, Othello, moves
from tensor_envs.render.grids import cell_name
from tensor_envs.rules import Symmetry, joined
from tensor_envs.rules.plain import ended, values_of


def to_dict(rules: Othello, s: dict[str, Any]) -> dict[str, Any]:
    """Return {"board": 64 values 1, -1, 0 row by row from the top, "current_player": 0 or 1} (O8)."""
    black, white = (s["own"], s["other"])[:: 1 - 2 * s["current_player"]]
    board = [(black >> square & 1) - (white >> square & 1) for square in range(SQUARES)]
    return {"board": board, "current_player": s["current_player"]}


def from_dict(rules: Othello, game: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a dictionary; the game is over if neither player can place a disc."""
    board, player = board_and_player(game, SQUARES)
    own, other = (joined(*words) for words in to_sets(board, player))
    mine = moves(own, other)
    answers = moves(other, own)
    sets = values_of({"own": own, "other": other, "moves": mine})
    return sets | {"current_player": player} | ended(not mine.value and not answers.value)


def action_to_string(rules: Othello, action: int) -> str:
    """Return a column's letter and a row's number from the top, "d3", or "pass" (O9)."""
    return "pass" if action == PASS else cell_name(action, SIDE)


def symmetries(rules: Othello) -> Iterator[Symmetry]:
    """Yield the identity, the half turn and the reflections in the diagonals, which keep the start as it is (O10)."""
    for transposed in (False, True):
        for step in (1, -1):
            order = range(SIDE)[::step]
            yield kit.of_cells(kit.rearranged(order, order, transposed), 2, fixed=1, derived=("moves",))
