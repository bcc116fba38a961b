"""Dictionaries and action names of 2048."""

from itertools import chain
from typing import Any

from tensor_envs._validate import nested
from tensor_envs.games.game_2048.rules import CELLS, HIGHEST, SIDE, Game2048, slides
from tensor_envs.render.grids import rows_of
from tensor_envs.rules import int32
from tensor_envs.rules.plain import ended

NAMES = ("up", "right", "down", "left")
# words that are no direction of a move: "the bottom left corner", "that sets up a merge", "all right"
SYNONYMS = (
    (r"(?i)\b(?:top|upper|bottom|lower)[\s-]+(?:left|right)\b", ""),
    (r"(?i)\b(?:left|right)(?:most)?[\s-]+(?:hand|corner|column|side|edge|now)\b", ""),
    (
        r"(?i)\b(?:give|giving|set(?:s|ting)?|lin(?:e|es|ing)|open(?:s|ing)?|free(?:s|ing)?|build(?:s|ing)?|end(?:s|ing)?)\s+up\b",
        "",
    ),
    (r"(?i)\b(?:all|that's)\s+right\b", ""),
)
TILES = [0, *(2**exponent for exponent in range(1, HIGHEST + 1))]
MAX_SUM = 2 * TILES[-1] - 4  # largest sum of a board's tiles: sixteen different ones, none a 2
# no symmetries but the identity: turned boards are as likely, but the same chance puts tiles elsewhere (T8)


def to_dict(rules: Game2048, s: dict[str, Any]) -> dict[str, Any]:
    """Return {"board": tiles row by row from the top, 0 for an empty cell} for the fields of a game (T7)."""
    return {"board": [TILES[cell] for cell in chain.from_iterable(s["board"])]}


def from_dict(rules: Game2048, game: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a dictionary whose tiles have a possible sum; without a legal action the game is over."""
    board = nested("board", game["board"], (CELLS,), 0, TILES[-1])
    if wrong := set(board) - set(TILES):
        raise ValueError(f"board must have values 0, 2, 4, 8, .. {TILES[-1]}, got {min(wrong)}")
    if sum(board) > MAX_SUM:
        raise ValueError(f"board must have tiles of a sum of at most {MAX_SUM}, got {sum(board)}")
    rows = rows_of([TILES.index(tile) for tile in board], SIDE)
    return {"board": rows, "current_player": 0, **ended(not legal(board))}


def legal(board: list[int]) -> list[int]:
    """Return the legal actions on a board of tiles."""
    cells = [int32(TILES.index(tile)) for tile in board]
    return [action for action, moves in enumerate(slides(rows_of(cells, SIDE))) if moves.value]


def action_to_string(rules: Game2048, action: int) -> str:
    """Return "up", "right", "down" or "left" (T2)."""
    return NAMES[action]
