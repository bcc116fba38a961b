"""Dictionaries, action names and symmetries of connect four."""

from collections.abc import Iterator
from typing import Any

from tensor_envs.games._kit import stones
from tensor_envs.games._kit import symmetries as kit
from tensor_envs.games.connect_four.rules import ConnectFour
from tensor_envs.rules import Symmetry
from tensor_envs.rules.plain import ended

# numbers that are no column, as in "4 in a row" and "2 threats"
SYNONYMS = (
    (
        r"(?i)\b\d+(?=[\s-]+(?:in[\s-]+(?:a[\s-]+)?(?:row|line)|(?:disc|stone|piece|threat|way|move|turn|column|row|option)s?)\b)",
        "",
    ),
)
to_dict = stones.to_dict  # C8


def from_dict(rules: ConnectFour, game: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a board on which no stone floats; a line or a full board ends the game."""
    board, player = stones.board_and_player(game, rules.cells)
    floating = [cell for cell, below in enumerate(board[rules.columns :]) if board[cell] and not below]
    if floating:
        raise ValueError(f"board must have a stone or the floor below each stone, not so at {floating[0]}")
    own, other = stones.to_sets(board, player)
    over = 0 not in board or stones.completed_lines(board, (rules.rows, rules.columns), rules.k) != []
    fields = {"own": own, "other": other, "current_player": player, **ended(over)}
    return fields | {"ply": rules.cells - board.count(0)}


def action_to_string(rules: ConnectFour, action: int) -> str:
    """Return the column, from 1 at the left: "4" is the middle of seven (C9)."""
    return str(action + 1)


def symmetries(rules: ConnectFour) -> Iterator[Symmetry]:
    """Yield the identity and, if there are several columns, the mirror image."""
    for step in (1, -1)[: rules.columns]:
        columns = range(rules.columns)[::step]
        cells = kit.rearranged(range(rules.rows), columns)
        yield Symmetry(tuple(columns), kit.planes(cells, 2), {"board": cells}, {"own": cells, "other": cells})
