"""Positions of phantom tic-tac-toe as text and as drawings, marks that the opponent has found with a dot."""

from typing import Any

from tensor_envs.games._kit import hidden_stones
from tensor_envs.games.phantom_tic_tac_toe.rules import SIZE, PhantomTicTacToe
from tensor_envs.render.drawing import Drawing
from tensor_envs.render.grids import INK, SquareGrid, labelled
from tensor_envs.render.status import seat_names
from tensor_envs.render.tile import Tile, stone_pixel

COLOURS = {1: "#e8590c", -1: "#1971c2"}
FREE, GRID = "#f8fafc", "#b9c5d2"
# pixels: a cell, the picture, above the board
CELL = 64
WIDTH = 320
TOP = 40
NAMES = ("X", "O")
seen_by = hidden_stones.seen_by
visible_moves = hidden_stones.visible_moves
players = seat_names(*NAMES)


def to_string(rules: PhantomTicTacToe, game: dict[str, Any]) -> str:
    """Return rows of X, O and ".", marks that the opponent has found in lower case, and the status."""
    return "\n".join([*labelled(hidden_stones.signs(game), SIZE), hidden_stones.status(rules, game, NAMES)])


def draw(rules: PhantomTicTacToe, game: dict[str, Any]) -> Drawing:
    """Draw the board; a click plays on a cell where the player to move has seen no mark."""
    grid = SquareGrid((WIDTH - SIZE * CELL) / 2, TOP, CELL)
    picture = Drawing(WIDTH, TOP + SIZE * CELL + 56, title="Phantom tic-tac-toe")
    for cell, (mark, found) in enumerate(zip(game["board"], game["found"], strict=True)):
        place = divmod(cell, SIZE)
        x, y = grid.centre(*place)
        arm = 0.28 * CELL
        picture.polygon(grid.square(*place), FREE, GRID)
        if mark == 1:
            for rise in (arm, -arm):
                picture.line((x - arm, y - rise), (x + arm, y + rise), stroke=COLOURS[1], width=0.13 * CELL)
        elif mark == -1:
            picture.circle((x, y), arm, stroke=COLOURS[-1], width=0.12 * CELL)
        if found:
            picture.circle((x, y), 0.1 * CELL, INK, FREE)
    for cell in hidden_stones.open_cells(rules, game):
        picture.area(grid.square(*divmod(cell, SIZE)), cell)
    grid.draw_labels(picture, SIZE, SIZE)
    picture.text((WIDTH / 2, picture.height - 28), hidden_stones.status(rules, game, NAMES), 14, INK)
    return picture


def reason(rules: PhantomTicTacToe, game: dict[str, Any]) -> str:
    """Return why the game has ended."""
    return "the board is full" if hidden_stones.winner(rules, game["board"]) is None else "three in a row"


def tile(rules: PhantomTicTacToe) -> Tile:
    """Return the board as a small picture."""
    return Tile(SIZE, ([stone_pixel(cell, FREE, COLOURS[1], COLOURS[-1]) for cell in range(rules.cells)],))
