"""Dictionaries, action names and symmetries of dark Hex."""

from collections.abc import Iterator

from tensor_envs.games._kit import hidden_stones
from tensor_envs.games._kit import symmetries as kit
from tensor_envs.games.dark_hex.rules import DarkHex
from tensor_envs.render.grids import cell_name
from tensor_envs.rules import Symmetry

to_dict, from_dict = hidden_stones.to_dict, hidden_stones.from_dict  # D7


def action_to_string(rules: DarkHex, action: int) -> str:
    """Return a column's letter and a row's number from the top, "b2" (D9)."""
    return cell_name(action, rules.size)


def symmetries(rules: DarkHex) -> Iterator[Symmetry]:
    """Yield the identity and the half turn (D10)."""
    for step in (1, -1)[: rules.cells]:
        cells = tuple(range(rules.cells)[::step])
        yield kit.of_cells(cells, 3, sets=("own", "other", "found"), found=cells)
