"""How positions and actions of hyperdimensional tic-tac-toe are written, and the board's symmetries."""

from collections.abc import Iterator
from itertools import permutations, product
from typing import Any

import numpy as np

from tensor_envs.games.hyper_tic_tac_toe.rules import HyperTicTacToe
from tensor_envs.games.stones import STONES, board_and_player, to_board, to_sets
from tensor_envs.ops.lines import line_directions, placements, strides
from tensor_envs.rules import Symmetry


def to_dict(rules: HyperTicTacToe, s: dict[str, Any]) -> dict[str, Any]:
    """Fields of a game -> {"board": flat list in C order of 1, -1, 0, "current_player": 0 or 1} (G8)."""
    player = s["current_player"]
    return {"board": to_board(s["own"], s["other"], player, rules.cells), "current_player": player}


def from_dict(rules: HyperTicTacToe, game: dict[str, Any]) -> dict[str, Any]:
    """The converse of `to_dict`. Any board may be given on which, with gravity, no mark floats; it is over if a line is
    complete or no cell is empty.
    """
    board, player = board_and_player(game, rules.cells)
    own, other = to_sets(board, player)
    marks = np.array(board, np.int8).reshape(rules.shape)
    if rules.gravity and ((marks[:-1] != 0) & (marks[1:] == 0)).any():
        raise ValueError("board must have a mark or the floor below each mark, since there is gravity")
    won = any(has_line(marks == mark, rules.k) for mark in STONES)
    ply = rules.cells - board.count(0)
    over = {"terminated": won or 0 not in board, "truncated": False}
    return {"own": own, "other": other, "current_player": player, "ply": ply, **over}


def has_line(marks: np.ndarray, k: int) -> bool:
    """Whether k cells in a line are marked: placements of every direction as the conjunction of k slices."""
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


def action_to_string(rules: HyperTicTacToe, action: int) -> str:
    """The cell's coordinates: "(0,2)"."""
    return f"({','.join(str(action // step % n) for step, n in zip(strides(rules.shape), rules.shape, strict=True))})"


def symmetries(rules: HyperTicTacToe) -> Iterator[Symmetry]:
    """Yield every permutation of equal sides with every flip; axes of one cell and gravity's axis stay as they are."""
    shape, steps = rules.shape, strides(rules.shape)
    for axes in permutations(range(len(shape))):
        if [shape[a] for a in axes] != list(shape) or (rules.gravity and axes[0] != 0):
            continue
        if any(n == 1 and axes[a] != a for a, n in enumerate(shape)):  # moves no cell
            continue
        may = [n > 1 and not (rules.gravity and a == 0) for a, n in enumerate(shape)]
        for flips in product(*((False, True) if flip else (False,) for flip in may)):
            cells = []
            for place in product(*map(range, shape)):
                moved = [
                    shape[a] - 1 - c if flip else c for a, c, flip in zip(axes, place, flips, strict=True)
                ]
                cells.append(sum(c * steps[a] for a, c in zip(axes, moved, strict=True)))
            observation = tuple(plane * len(cells) + cell for plane in (0, 1) for cell in cells)
            yield Symmetry(tuple(cells), observation, {"board": tuple(cells)})
