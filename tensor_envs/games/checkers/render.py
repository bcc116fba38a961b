"""Positions of English draughts as text and as drawings, with square 1 at the top and the squares' numbers."""

from typing import Any

from tensor_envs.games.checkers.rules import SIDE, Checkers
from tensor_envs.render.drawing import Drawing
from tensor_envs.render.grids import CROWN, INK, SquareGrid, draw_chequered, rows_of
from tensor_envs.render.tile import Pixel, Tile, stone_pixel
from tensor_envs.rules.plain import open_actions

CELL, MARGIN = 44, 30  # pixels: a square, around the board
SHIFT = 3  # pixels of a piece from the middle of its square, whose number it would hide
LIGHT = "#f0dfc0"
DARK = "#a8774f"
PALE = "#e8cfae"
LETTERS = {1: "b", 2: "B", -1: "w", -2: "W", 0: "."}
players = Checkers.players
scores = Checkers.scores
reason = Checkers.reason


def to_string(rules: Checkers, game: dict[str, Any]) -> str:
    """Return rows of b and w for men, B and W for kings, with the first squares' numbers, quiet plies, the status."""
    rows = rows_of([LETTERS[piece] for piece in game["board"]], 4)
    lines = [f"{4 * k + 1:>2} " + "  " * (k % 2 == 0) + "   ".join(row) for k, row in enumerate(rows)]
    return "\n".join([*lines, *rules.quiet_lines(game), rules.status(game)])


def draw(rules: Checkers, game: dict[str, Any]) -> Drawing:
    """Draw the board; a click on a square chooses the moves from it and to it."""
    side = SIDE * CELL
    grid = SquareGrid(MARGIN, MARGIN, CELL)
    picture = Drawing(side + 2 * MARGIN, side + 2.5 * MARGIN, title=rules.title)
    draw_chequered(picture, grid, SIDE, LIGHT, DARK)
    actions = {action: rules.ends_of(action) for action in open_actions(rules, game, rules.from_dict(game))}
    for square, piece in enumerate(game["board"]):
        cell = divmod(rules.places[square], SIDE)
        x, y = grid.centre(*cell)
        corners = grid.square(*cell)
        picture.text((x - CELL / 2 + 7.5, y - CELL / 2 + 6.5), rules.name(square), 9, PALE)
        if piece:
            colour, other = rules.colours if piece > 0 else rules.colours[::-1]
            picture.circle((x + SHIFT, y + SHIFT), 0.35 * CELL, colour, other, 1.5)
            if abs(piece) == 2:
                picture.circle((x + SHIFT, y + SHIFT), 0.18 * CELL, CROWN, other, 1.5)
        if here := [action for action, ends in actions.items() if square in ends]:
            picture.area(corners, *here, targets=[action for action in here if actions[action][1] == square])
    picture.text((picture.width / 2, side + 1.8 * MARGIN), rules.status(game), 14, INK)
    return picture


def tile(rules: Checkers) -> Tile:
    """Return the board as a small picture."""
    squares = {cell: square for square, cell in enumerate(rules.places)}
    cells = (squares.get(cell) for cell in range(SIDE**2))
    pixels = [Pixel((LIGHT,)) if square is None else stone_pixel(square, DARK, *rules.colours) for square in cells]
    return Tile(SIDE, (pixels,))
