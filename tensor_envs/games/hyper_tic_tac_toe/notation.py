"""Dictionaries, action names and symmetries of hyperdimensional tic-tac-toe."""

from collections.abc import Iterator, Sequence
from itertools import permutations, product
from typing import Any

import numpy as np

from tensor_envs.games._kit import stones
from tensor_envs.games._kit.symmetries import of_cells
from tensor_envs.games.hyper_tic_tac_toe.rules import HyperTicTacToe
from tensor_envs.ops.lines import line_directions, placements, strides
from tensor_envs.render.grids import cell_name
from tensor_envs.rules import Symmetry
from tensor_envs.rules.plain import ended

to_dict = stones.to_dict  # G8


def from_dict(rules: HyperTicTacToe, game: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a board on which, with gravity, no mark floats; a line or a full board ends the game."""
    board, player = stones.board_and_player(game, rules.cells)
    own, other = stones.to_sets(board, player)
    marks = np.array(board, np.int8).reshape(rules.shape)
    if rules.gravity and ((marks[:-1] != 0) & (marks[1:] == 0)).any():
        raise ValueError("board must have a mark or the floor below each mark, since there is gravity")
    won = any(has_line(marks == mark, rules.k) for mark in stones.STONES)
    ply = rules.cells - board.count(0)
    fields = {"own": own, "other": other, "current_player": player, "ply": ply}
    return fields | ended(won or 0 not in board)


def has_line(marks: np.ndarray, k: int) -> bool:
    """Return whether k cells in a line are marked: for each direction, the conjunction of k slices."""
    for d in line_directions(marks.ndim):
        if placements(marks.shape, k, d):
            slices = []
            for t in range(k):
                first = ((0, t, k - 1 - t)[entry] for entry in d)
                sides = zip(first, marks.shape, d, strict=True)
                slices.append(marks[tuple(slice(a, a + (n - k + 1 if e else n)) for a, n, e in sides)])
            if np.logical_and.reduce(slices).any():
                return True
    return False


# cells in words and in JSON: "row 0, column 2"
_GAP = r"(?:\W|\band\b){1,9}"
SYNONYMS = ((rf"(?i)\brow\b\W{{1,4}}(\d+){_GAP}\bcol(?:umn)?\b\W{{1,4}}(\d+)", r"(\1,\2)"),)


def action_to_string(rules: HyperTicTacToe, action: int) -> str:
    """Return the coordinates of a cell: "(0,2)"."""
    return f"({','.join(str(action // step % n) for step, n in zip(strides(rules.shape), rules.shape, strict=True))})"


def cells_of(rules: HyperTicTacToe) -> list[str]:
    """Return the cells of a flat board as in Renju: a column's letter and a row's number from below, "b2".

    Boards of other dimensions, and of more than 26 columns, have no such names.
    """
    if len(rules.shape) != 2 or rules.shape[1] > 26:
        return []
    rows, columns = rules.shape
    return [cell_name((rows - 1 - row) * columns + column, columns) for row in range(rows) for column in range(columns)]


def spellings(rules: HyperTicTacToe, s: dict[str, Any], legal: Sequence[int]) -> dict[str, int]:
    """Return legal actions by the names of their cells, "b2"."""
    cells = cells_of(rules)
    return {cells[action]: action for action in legal} if cells else {}


def symmetries(rules: HyperTicTacToe) -> Iterator[Symmetry]:
    """Yield every permutation of equal sides with every flip; axes of one cell and gravity's axis stay as they are."""
    shape = rules.shape
    steps = strides(rules.shape)
    for axes in permutations(range(len(shape))):
        if [shape[a] for a in axes] != list(shape) or (rules.gravity and axes[0] != 0):
            continue
        # Exchanging axes of one cell moves no cell, so it would repeat a symmetry.
        if any(n == 1 and axes[a] != a for a, n in enumerate(shape)):
            continue
        may_flip = [n > 1 and not (rules.gravity and a == 0) for a, n in enumerate(shape)]
        for flips in product(*((False, True)[: 1 + flip] for flip in may_flip)):
            sides = (range(n)[:: -1 if flip else 1] for n, flip in zip(shape, flips, strict=True))
            cells = (sum(steps[a] * c for a, c in zip(axes, place, strict=True)) for place in product(*sides))
            yield of_cells(tuple(cells), 2)
