"""Positions of connect four as text and as drawings, completed lines marked."""

from collections.abc import Sequence
from typing import Any

from tensor_envs.games._kit.stones import SIGNS, completed_lines, status_of_lines
from tensor_envs.games.connect_four.rules import ConnectFour
from tensor_envs.render.drawing import Drawing, Point, box
from tensor_envs.render.grids import INK, SquareGrid, rows_of
from tensor_envs.render.status import seat_names, signed
from tensor_envs.render.tile import Tile, stone_pixel

COLOURS = {1: "#f2b705", -1: "#d9342b", 0: "#f8fafc"}  # colours of different lightness
FRAME, LINE = "#1b4f9c", "#111111"
# pixels: a cell, around the board, the picture
CELL = 44
MARGIN = 36
MIN_WIDTH = 360
NAMES = ("Yellow", "Red")


def lines_and_status(rules: ConnectFour, game: dict[str, Any], names: Sequence[str]) -> tuple[set[int], str]:
    """Return the cells of completed lines, and who has one, that it is a draw, or who is to move."""
    lines = completed_lines(game["board"], (rules.rows, rules.columns), rules.k)
    status = status_of_lines(game, [stone for stone, _ in lines], rules.k, names)
    return {cell for _, cells in lines for cell in cells}, status


def to_string(rules: ConnectFour, game: dict[str, Any]) -> str:
    """Return rows of X, O and ".", lines in brackets, the columns' numbers, and the status."""
    marked, status = lines_and_status(rules, game, signed(NAMES))
    cells = [("({})" if c in marked else " {} ").format(SIGNS[s]) for c, s in enumerate(game["board"])]
    numbers = [f"{column:^3}" for column in range(1, rules.columns + 1)]
    rows = ("".join(row).rstrip() for row in [*rows_of(cells, rules.columns), numbers])
    return "\n".join([*rows, status])


def grid_of(rules: ConnectFour) -> SquareGrid:
    """Return the cells of the drawing."""
    wide = rules.columns * CELL
    return SquareGrid((max(wide + 2 * MARGIN, MIN_WIDTH) - wide) / 2, MARGIN, CELL)


def draw(rules: ConnectFour, game: dict[str, Any]) -> Drawing:
    """Draw the board with holes for stones; a click on a column that is not full plays there."""
    wide = rules.columns * CELL
    high = rules.rows * CELL
    picture = Drawing(max(wide + 2 * MARGIN, MIN_WIDTH), high + 3 * MARGIN, title="Connect four")
    grid = grid_of(rules)
    board = game["board"]
    picture.rect(grid.left - 6, MARGIN - 6, wide + 12, high + 12, FRAME)
    marked, status = lines_and_status(rules, game, NAMES)
    for cell, stone in enumerate(board):
        centre = grid.centre(*divmod(cell, rules.columns))
        picture.circle(centre, 0.41 * CELL, COLOURS[stone])
        if cell in marked:
            picture.circle(centre, 0.26 * CELL, stroke=LINE, width=4)
    for column in range(rules.columns):
        x = grid.left + column * CELL
        picture.text((x + CELL / 2, MARGIN - 18), str(column + 1), 12, INK)
        if not board[column]:
            picture.area(box(x, MARGIN, CELL, high), column)
    picture.text((picture.width / 2, picture.height - MARGIN), status, 14, INK)
    return picture


players = seat_names(*NAMES)


def reason(rules: ConnectFour, game: dict[str, Any]) -> str:
    """Return why the game has ended."""
    lines = completed_lines(game["board"], (rules.rows, rules.columns), rules.k)
    return f"{rules.k} in a row" if lines else "the board is full"


def last_move(rules: ConnectFour, before: dict[str, Any], after: dict[str, Any], action: int) -> list[list[Point]]:
    """Return the outline of the stone that was dropped."""
    cells = range(action, rules.cells, rules.columns)
    return [grid_of(rules).square(*divmod(cell, rules.columns)) for cell in cells if after["board"][cell]][:1]


def tile(rules: ConnectFour) -> Tile:
    """Return the board as a small picture."""
    return Tile(rules.columns, ([stone_pixel(cell, FRAME, COLOURS[1], COLOURS[-1]) for cell in range(rules.cells)],))
