"""Dictionaries, action names and symmetries of phantom tic-tac-toe."""

from collections.abc import Iterator

from tensor_envs.games._kit import hidden_stones
from tensor_envs.games._kit import symmetries as kit
from tensor_envs.games.phantom_tic_tac_toe.rules import GRID, SIZE, PhantomTicTacToe
from tensor_envs.render.grids import cell_name
from tensor_envs.rules import Symmetry

to_dict, from_dict = hidden_stones.to_dict, hidden_stones.from_dict  # P7


def action_to_string(rules: PhantomTicTacToe, action: int) -> str:
    """Return a column's letter and a row's number from the top, "b2" (P9)."""
    return cell_name(action, SIZE)


def symmetries(rules: PhantomTicTacToe) -> Iterator[Symmetry]:
    """Yield the eight of the square, the identity first (P10)."""
    for cells in GRID.symmetries():
        yield kit.of_cells(cells, 3, sets=("own", "other", "found"), found=cells)
