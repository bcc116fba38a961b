"""Dictionaries, action names and symmetries of Hex."""

from collections.abc import Iterator
from typing import Any

from tensor_envs.games._kit import stones
from tensor_envs.games._kit import symmetries as kit
from tensor_envs.games._kit.hex_boards import groups_of, winning
from tensor_envs.games.hex.rules import Hex
from tensor_envs.render.grids import cell_name
from tensor_envs.rules import Symmetry
from tensor_envs.rules.plain import ended

to_dict = stones.to_dict  # H6


def from_dict(rules: Hex, game: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a dictionary; a player whose sides are connected ends the game."""
    board, player = stones.board_and_player(game, rules.cells)
    count = rules.cells - board.count(0)
    if not count and player:
        raise ValueError("current_player must be 0 on an empty board, got 1")
    own, other = stones.to_sets(board, player)
    planes = stones.group_planes(groups_of(board, rules.size), rules.planes, rules.cells)
    ply = count + (count % 2 != player)  # a swap takes a ply and adds no stone
    fields = {"own": own, "other": other, "groups": planes, "current_player": player, "ply": ply}
    return fields | ended(bool(winning(board, rules.size)))


def action_to_string(rules: Hex, action: int) -> str:
    """Return a column's letter and a row's number from the top, "f6", or "swap" (H8)."""
    return "swap" if action == rules.cells else cell_name(action, rules.size)


def symmetries(rules: Hex) -> Iterator[Symmetry]:
    """Yield the identity and the half turn (H9)."""
    for step in (1, -1)[: rules.cells]:
        cells = tuple(range(rules.cells)[::step])
        yield kit.of_cells(cells, 3, fixed=int(rules.swap), derived=("groups",))
