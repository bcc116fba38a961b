"""Dictionaries, action names and symmetries of breakthrough."""

from collections.abc import Iterator
from typing import Any

from tensor_envs.games._kit import stones
from tensor_envs.games._kit import symmetries as kit
from tensor_envs.games._kit.fields import ended
from tensor_envs.games._kit.grids import move_name
from tensor_envs.games.breakthrough.rules import DIRECTIONS, Breakthrough
from tensor_envs.rules import Symmetry

to_dict = stones.to_dict  # B8


def from_dict(rules: Breakthrough, game: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a dictionary; a player who has won ends the game."""
    board, player = stones.board_and_player(game, rules.cells)
    won = winners(rules, board)
    if len(won) == 2:
        raise ValueError("board must not be won by both players")
    own, other = stones.to_sets(board, player)
    return {"own": own, "other": other, "current_player": player} | ended(won != [])


def winners(rules: Breakthrough, board: list[int]) -> list[int]:
    """Return the players who have won (B4)."""
    last = (board[-rules.columns :], board[: rules.columns])
    return [p for p in (0, 1) if stones.STONES[p] in last[p] or stones.STONES[1 - p] not in board]


def action_to_string(rules: Breakthrough, action: int) -> str:
    """Return the names of both cells, "a2b3" (B9)."""
    direction, cell = divmod(action, rules.cells)
    return move_name(cell, direction, DIRECTIONS[direction], rules.rows, rules.columns)


def symmetries(rules: Breakthrough) -> Iterator[Symmetry]:
    """Yield the identity and the mirror image (B10)."""
    for step in (1, -1):
        cells = kit.rearranged(range(rules.rows), range(rules.columns)[::step])
        images = [DIRECTIONS.index((up, step * right)) for up, right in DIRECTIONS]
        actions = tuple(image * rules.cells + cell for image in images for cell in cells)
        yield Symmetry(actions, kit.planes(cells, 3), {"board": cells})
