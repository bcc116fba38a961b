"""Transcripts of tic-tac-toe: cells such as "b2a1c3" on flat boards of up to 26 columns, else "(0,1,2)(1,1,1)"."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from tensor_envs.games._kit.grids import cell_name
from tensor_envs.games._kit.transcripts import check_start, words_of
from tensor_envs.games.hyper_tic_tac_toe.notation import action_to_string
from tensor_envs.games.hyper_tic_tac_toe.rules import HyperTicTacToe
from tensor_envs.record import Record


def write(rules: HyperTicTacToe, game: Record, positions: Sequence[dict[str, Any]]) -> str:
    """Return the cells of all marks in order."""
    check_start(game, "a transcript")
    names = cells_of(rules) or [action_to_string(rules, action) for action in range(rules.cells)]
    return "".join(names[action] for action in game.actions) + "\n"


def read(rules: HyperTicTacToe, text: str) -> tuple[None, Iterator[tuple[str, str]]]:
    """Return the names and places of the moves."""
    cells = cells_of(rules)
    if not cells:
        return None, words_of(text, r"\([\d, ]+\)", action_to_string(rules, 0))
    return None, _moves(rules, cells, text)


def cells_of(rules: HyperTicTacToe) -> list[str]:
    """Return the names of cells: a column's letter and a row's number from below; none where there are no such names.

    Renju's notation has the same names.
    """
    if len(rules.shape) != 2 or rules.shape[1] > 26:
        return []
    rows, columns = rules.shape
    cells = [divmod(cell, columns) for cell in range(rules.cells)]
    return [cell_name((rows - 1 - row) * columns + column, columns) for row, column in cells]


def _moves(rules: HyperTicTacToe, cells: list[str], text: str) -> Iterator[tuple[str, str]]:
    """Yield the names and places of moves. ValueError for a cell that is not on the board."""
    for word, place in words_of(text, r"[a-z]\d+", cells[0]):
        name = re.sub(r"(?<=\D)0+", "", word.lower())
        if name not in cells:
            raise ValueError(f"{place}: a cell must be one of {cells[-rules.shape[1]]}..{cells[rules.shape[1] - 1]}")
        yield action_to_string(rules, cells.index(name)), place
