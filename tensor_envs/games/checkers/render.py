"""Positions of English draughts as text and as drawings."""

from typing import Any

from tensor_envs.games._kit.fields import legal_actions, open_actions
from tensor_envs.games._kit.grids import INK, SquareGrid, draw_chequered, rows_of, svg_of
from tensor_envs.games._kit.stones import to_move
from tensor_envs.games.checkers.notation import LETTERS, ends_of, from_dict, place
from tensor_envs.games.checkers.rules import SIDE, SQUARES, Checkers
from tensor_envs.render.drawing import Drawing
from tensor_envs.render.scene import counted, seat_names
from tensor_envs.render.tile import Pixel, Tile, stone_pixel

CELL, MARGIN = 44, 30  # pixels: a square, around the board
LIGHT, DARK, PALE = "#f0dfc0", "#a8774f", "#e8cfae"
COLOURS = {1: "#22262b", -1: "#fafafa"}
CROWN = "#d99a17"  # of a king
NAMES = ("Black", "White")


def status(rules: Checkers, game: dict[str, Any]) -> str:
    """Return who has won or is to move, with what."""
    if from_dict(rules, game)["terminated"]:
        why = reason(rules, game)
        lost = not legal_actions(rules, from_dict(rules, game))
        return f"{why}: {NAMES[1 - game['current_player']]} has won" if lost else f"a draw: {why}"
    jumper = game["jumper"]
    return to_move(game, NAMES[game["current_player"]], f"must go on jumping with {jumper}" if jumper else "to move")


def reason(rules: Checkers, game: dict[str, Any]) -> str:
    """Return why the game has ended (D6, D7)."""
    player = game["current_player"]
    if legal_actions(rules, from_dict(rules, game)):
        return f"{rules.quiet_plies} plies without a capture or a man's step"
    return f"{NAMES[player]} has no move"


def to_string(rules: Checkers, game: dict[str, Any]) -> str:
    """Return rows of b and w for men, B and W for kings, with the number of each row's first square, and the status."""
    rows = rows_of([LETTERS[piece] for piece in game["board"]], 4)
    lines = [f"{4 * k + 1:>2} " + "  " * (k % 2 == 0) + "   ".join(row) for k, row in enumerate(rows)]
    return "\n".join([*lines, status(rules, game)])


def draw(rules: Checkers, game: dict[str, Any]) -> Drawing:
    """Draw the board; a square stands for the moves from it and to it."""
    side, grid = SIDE * CELL, SquareGrid(MARGIN, MARGIN, CELL)
    picture = Drawing(side + 2 * MARGIN, side + 2.5 * MARGIN, title="English draughts")
    draw_chequered(picture, grid, SIDE, LIGHT, DARK)
    actions = {action: ends_of(action) for action in open_actions(rules, game, from_dict(rules, game))}
    for square, piece in enumerate(game["board"]):
        (x, y), corners = grid.centre(*place(square)), grid.square(*place(square))
        picture.text((x - CELL / 2 + 8, y - CELL / 2 + 7), str(square + 1), 9, PALE)
        if piece:
            colour, other = (COLOURS[sign * (1 if piece > 0 else -1)] for sign in (1, -1))
            picture.circle((x, y), 0.38 * CELL, colour, other, 1.5)
            if abs(piece) == 2:
                picture.circle((x, y), 0.2 * CELL, CROWN, other, 1.5)
        if here := [action for action, ends in actions.items() if square + 1 in ends]:
            picture.area(corners, *here, targets=[action for action in here if actions[action][1] == square + 1])
    picture.text((picture.width / 2, side + 1.8 * MARGIN), status(rules, game), 14, INK)
    return picture


to_svg = svg_of(draw)
players = seat_names(*NAMES)


def scores(rules: Checkers, game: dict[str, Any]) -> list[str]:
    """Return both numbers of pieces."""
    return [counted(sum(piece * sign > 0 for piece in game["board"]), "piece") for sign in (1, -1)]


def tile(rules: Checkers) -> Tile:
    """Return the board as a small picture."""
    places = {place(square): square for square in range(SQUARES)}
    cells = (places.get(divmod(cell, SIDE)) for cell in range(SIDE**2))
    pixels = [Pixel((LIGHT,)) if square is None else stone_pixel(square, DARK, *COLOURS.values()) for square in cells]
    return Tile(SIDE, (pixels,))
