"""How positions and actions of 2048 are written."""

from collections.abc import Iterator
from itertools import chain
from typing import Any

from tensor_envs._validate import nested
from tensor_envs.games.game_2048.rules import CELLS, HIGHEST, SIDE, Game2048, slides
from tensor_envs.rules import Symmetry, integer

NAMES = ("up", "right", "down", "left")
TILES = [0, *(2**exponent for exponent in range(1, HIGHEST + 1))]
MOST = 2 * TILES[-1] - 4  # the sum of all tiles on a board: of sixteen that differ, none a 2


def to_dict(rules: Game2048, s: dict[str, Any]) -> dict[str, Any]:
    """Fields of a game -> {"board": the tiles row by row from the top, 0 for an empty cell} (T7)."""
    return {"board": [TILES[cell] for cell in chain.from_iterable(s["board"])]}


def from_dict(rules: Game2048, game: dict[str, Any]) -> dict[str, Any]:
    """The converse of `to_dict`, for any board up to a sum that none can exceed; without a slide the game is over."""
    board = nested("board", game["board"], (CELLS,), 0, TILES[-1])
    if wrong := set(board) - set(TILES):
        raise ValueError(f"board must have values 0, 2, 4, 8, .. {TILES[-1]}, got {min(wrong)}")
    if sum(board) > MOST:
        raise ValueError(f"board must have tiles of a sum of at most {MOST}, got {sum(board)}")
    cells = [TILES.index(tile) for tile in board]
    rows = [cells[at : at + SIDE] for at in range(0, CELLS, SIDE)]
    return {"board": rows, "current_player": 0, "terminated": not legal(board), "truncated": False}


def legal(board: list[int]) -> list[int]:
    """The legal actions on a board of tiles."""
    cells = [integer(TILES.index(tile)) for tile in board]
    return [action for action, can in enumerate(slides(cells)) if can.value]


def action_to_string(rules: Game2048, action: int) -> str:
    """ "up", "right", "down" or "left" (T2)."""
    return NAMES[action]


def symmetries(rules: Game2048) -> Iterator[Symmetry]:
    """The identity: turned boards are as likely, but the same chance puts tiles elsewhere on them (T8)."""
    yield Symmetry(
        tuple(range(len(NAMES))), tuple(range(CELLS * (HIGHEST + 1))), {"board": tuple(range(CELLS))}
    )
