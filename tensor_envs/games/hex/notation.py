"""Dictionaries, action names and symmetries of Hex."""

from collections.abc import Iterator
from typing import Any

from tensor_envs.games._kit import stones
from tensor_envs.games._kit import symmetries as kit
from tensor_envs.games._kit.fields import ended
from tensor_envs.games._kit.grids import cell_name
from tensor_envs.games.hex.rules import Hex
from tensor_envs.rules import Symmetry, unpack

STEPS = ((-1, 0), (-1, 1), (0, 1), (1, 0), (1, -1), (0, -1))  # rows and columns to the neighbours of a cell
to_dict = stones.to_dict  # H6


def from_dict(rules: Hex, game: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a dictionary; a player whose sides are connected ends the game."""
    board, player = stones.board_and_player(game, rules.cells)
    count = rules.cells - board.count(0)
    if not count and player:
        raise ValueError("current_player must be 0 on an empty board, got 1")
    own, other = stones.to_sets(board, player)
    planes = stones.group_planes(groups_of(rules, board), rules.planes, rules.cells)
    ply = count + (count % 2 != player)  # a swap takes a ply and adds no stone
    fields = {"own": own, "other": other, "groups": planes, "current_player": player, "ply": ply}
    return fields | ended(bool(winning(rules, board)))


def groups_of(rules: Hex, board: list[int]) -> list[set[int]]:
    """Return the sets of connected stones of one player."""
    occupied = (cell for cell, stone in enumerate(board) if stone)
    return [group for group, _ in stones.regions(board, occupied, stones.adjacent(rules.size, STEPS))]


def winning(rules: Hex, board: list[int]) -> set[int]:
    """Return the stones of the groups that connect their owner's sides."""
    connecting = set[int]()
    for group in groups_of(rules, board):
        player = stones.STONES.index(board[min(group)])
        if all(group.intersection(unpack(side[player], rules.cells)) for side in (rules.starts, rules.ends)):
            connecting |= group
    return connecting


def action_to_string(rules: Hex, action: int) -> str:
    """Return a column's letter and a row's number from the top, "f6", or "swap" (H8)."""
    return "swap" if action == rules.cells else cell_name(action, rules.size)


def symmetries(rules: Hex) -> Iterator[Symmetry]:
    """Yield the identity and the half turn (H9)."""
    for step in (1, -1)[: rules.cells]:
        yield kit.of_cells(tuple(range(rules.cells)[::step]), 3, fixed=int(rules.swap))
