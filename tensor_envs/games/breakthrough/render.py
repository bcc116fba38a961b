"""Positions of breakthrough as text and as drawings."""

from typing import Any

from tensor_envs.games._kit.fields import open_actions
from tensor_envs.games._kit.grids import cell_name, draw_pieces, labelled, svg_of, target_of
from tensor_envs.games._kit.stones import STONES, to_move
from tensor_envs.games.breakthrough.notation import from_dict, winners
from tensor_envs.games.breakthrough.rules import DIRECTIONS, Breakthrough
from tensor_envs.render.drawing import Drawing
from tensor_envs.render.scene import counted, seat_names
from tensor_envs.render.tile import Tile, stone_pixel

COLOURS = {1: "#fafafa", -1: "#22262b"}
EMPTY = "#b58863"  # of cells in small pictures
SIGNS = {1: "w", -1: "b", 0: "."}
NAMES = ("white", "black")


def status(rules: Breakthrough, game: dict[str, Any]) -> str:
    """Return who has won, or who is to move."""
    won = winners(rules, game["board"])
    return f"{NAMES[won[0]]} has won" if won else to_move(game, NAMES[game["current_player"]])


def to_string(rules: Breakthrough, game: dict[str, Any]) -> str:
    """Return rows of w, b and ".", the last row first, and the status."""
    signs = [SIGNS[piece] for piece in game["board"]]
    return "\n".join([*labelled(signs, rules.columns, from_top=False), status(rules, game)])


def draw(rules: Breakthrough, game: dict[str, Any]) -> Drawing:
    """Draw the board; a piece and the cells that it can reach stand for its actions."""
    sides, moves = (rules.rows, rules.columns), dict[tuple[int, int], int]()
    actions = open_actions(rules, game, from_dict(rules, game))
    for action in sorted(actions, key=lambda action: action % rules.cells):
        direction, cell = divmod(action, rules.cells)
        if (target := target_of(cell, DIRECTIONS[direction], *sides)) is not None:
            moves[cell, target] = action
    return draw_pieces("Breakthrough", sides, game["board"], COLOURS, moves, status(rules, game))


to_svg = svg_of(draw)
players = seat_names("White", "Black")


def scores(rules: Breakthrough, game: dict[str, Any]) -> list[str]:
    """Return both numbers of pieces."""
    return [counted(game["board"].count(stone), "piece") for stone in STONES]


def reason(rules: Breakthrough, game: dict[str, Any]) -> str:
    """Return how the game was won."""
    won = winners(rules, game["board"])
    if not won:
        return ""
    if STONES[1 - won[0]] not in game["board"]:
        return "all pieces are captured"
    row = game["board"][: rules.columns] if won[0] else game["board"][-rules.columns :]
    last = cell_name(row.index(STONES[won[0]]) + (0 if won[0] else rules.cells - rules.columns), rules.columns)
    return f"a piece has reached {last}"


def tile(rules: Breakthrough) -> Tile:
    """Return the board as a small picture, the last row on top."""
    cells = [row * rules.columns + column for row in range(rules.rows)[::-1] for column in range(rules.columns)]
    return Tile(rules.columns, ([stone_pixel(cell, EMPTY, COLOURS[1], COLOURS[-1]) for cell in cells],))
