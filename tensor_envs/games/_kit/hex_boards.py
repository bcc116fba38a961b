"""Rhombic boards of six-sided cells, on which player 0 connects the first and last row and player 1 both columns."""

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any

from tensor_envs.games._kit.stones import STONES, adjacent, regions
from tensor_envs.render.drawing import Drawing, Point
from tensor_envs.render.grids import INK, cell_name, hexagon, rows_of
from tensor_envs.render.tile import Pixel, Tile, stone_pixel

STEPS = ((-1, 0), (-1, 1), (0, 1), (1, 0), (1, -1), (0, -1))  # rows and columns to the neighbours of a cell
COLOURS = {1: "#c8372d", -1: "#2457a6"}
FREE = "#f4efe3"
GRID = "#a79d88"
RING = "#ffffff"
# in pixels
RADIUS = 20  # of a cell
MARGIN = 34  # around the board
FOOT = 44  # below the board
MIN_WIDTH = 328
BAR = 0.34 * RADIUS  # half the length of the bar on a stone
ACROSS = RADIUS * 3**0.5  # from a cell to the next one in its row
NAMES = ("Red", "Blue")
SIDES = ("top and bottom", "left and right")


def groups_of(board: Sequence[int], size: int) -> list[set[int]]:
    """Return the sets of connected stones of one player."""
    occupied = (cell for cell, stone in enumerate(board) if stone)
    return [group for group, _ in regions(board, occupied, adjacent(size, STEPS))]


def winning(board: Sequence[int], size: int) -> set[int]:
    """Return the stones of the groups that connect their owner's sides."""
    connecting = set[int]()
    for group in groups_of(board, size):
        lines = {divmod(cell, size)[STONES.index(board[cell])] for cell in group}
        if {0, size - 1} <= lines:
            connecting |= group
    return connecting


def winner(board: Sequence[int], size: int) -> int | None:
    """Return the player who has connected both sides, or None."""
    group = winning(board, size)
    return STONES.index(board[min(group)]) if group else None


def reason(rules: Any, game: dict[str, Any]) -> str:
    """Return which sides are connected."""
    won = winner(game["board"], rules.size)
    return "" if won is None else f"{SIDES[won]} are connected"


def to_rows(signs: Sequence[str], size: int) -> list[str]:
    """Return lines of text: the letters of the columns, then the rows, each shifted by one more space."""
    rows = [f"{' ' * row}{row + 1:>2} " + " ".join(line) for row, line in enumerate(rows_of(signs, size))]
    return ["   " + " ".join(cell_name(column, size)[0] for column in range(size)), *rows]


def draw_board(
    title: str, board: Sequence[int], size: int, status: str, actions: Mapping[int, int], dotted: Collection[int] = ()
) -> Drawing:
    """Draw a board, its sides in their owners' colours, winning groups ringed, and the status below it.

    A white bar on stones and sides runs the way in which their owner connects.

    Args:
        title: title of the picture.
        board: stones by cells, row by row.
        size: cells a side.
        status: text below the board.
        actions: the action that a cell stands for.
        dotted: cells whose stones have a dot.
    """
    wide = ACROSS * (1.5 * size - 0.5)
    high = RADIUS * (1.5 * size + 0.5)
    picture = Drawing(max(wide + 2 * MARGIN, MIN_WIDTH), high + 2 * MARGIN + FOOT, title=title)
    left = (picture.width - wide) / 2
    corners = partial(corners_of, left)
    for k in range(size):  # halves of the border cells show from behind the board
        ends = ((-0.3, k + 0.15, 1), (size - 0.7, k - 0.15, 1), (k, -0.3, -1), (k, size - 0.7, -1))
        for row, column, stone in ends:
            shape = corners(row, column)
            picture.polygon(shape, COLOURS[stone])
            side = -1 if min(row, column) < 0 else 1
            draw_bar(picture, (shape[0][0], shape[0][1] + RADIUS), stone, side * 0.5 * RADIUS, side * 0.76 * RADIUS)
    marked = winning(board, size)
    for cell, stone in enumerate(board):
        shape = corners(*divmod(cell, size))
        draw_cell(picture, shape, stone, bar=True, dotted=cell in dotted, marked=cell in marked)
        if cell in actions:
            picture.area(shape, actions[cell])
    for k in range(size):
        x, y = corners(0, k)[0]
        picture.text((x - 4, y - 16), cell_name(k, size)[0], 12, INK)
        x, y = corners(k, 0)[0]
        picture.text((x - ACROSS / 2 - 18, y + RADIUS), str(k + 1), 12, INK)
    picture.text((picture.width / 2, picture.height - 24), status, 14, INK)
    return picture


def corners_of(left: float, row: float, column: float, lean: float = 0.5) -> list[Point]:
    """Return the corners of a cell.

    Args:
        left: pixels to the left of the first cell of row 0.
        row, column: of the cell.
        lean: cells by which a row is further to the right than the row above it.
    """
    x = left + ACROSS * (column + lean * row + 0.5)
    y = MARGIN + RADIUS * (1.5 * row + 1)
    return hexagon((x, y), RADIUS)


def draw_cell(
    picture: Drawing, shape: list[Point], stone: int, bar: bool = False, dotted: bool = False, marked: bool = False
) -> None:
    """Draw a cell and its stone, if there is one, with a bar, a dot and a ring as asked for."""
    picture.polygon(shape, FREE, GRID)
    centre = shape[0][0], shape[0][1] + RADIUS
    if stone:
        picture.circle(centre, 0.62 * RADIUS, COLOURS[stone])
        if bar:
            draw_bar(picture, centre, stone, -BAR, BAR)
    if dotted:
        picture.circle(centre, 0.2 * RADIUS, RING)
    if marked:
        picture.circle(centre, 0.3 * RADIUS, stroke=RING, width=3)


def draw_bar(picture: Drawing, centre: Point, stone: int, start: float, end: float) -> None:
    """Draw a bar in the direction in which a stone's owner connects, from distance `start` to `end` of the centre."""
    x, y = centre
    across = stone == -1
    down = stone == 1
    picture.line(*((x + across * at, y + down * at) for at in (start, end)), stroke=RING, width=2)


def tile(rules: Any) -> Tile:
    """Return the board as a small picture; a cell is two pixels wide and high, and rows lean to the right."""
    n = rules.size
    pixels = list[Pixel]()
    for row in range(n):
        cells = [stone_pixel(n * row + column, FREE, COLOURS[1], COLOURS[-1]) for column in range(n) for _ in (0, 1)]
        pixels += 2 * [*[Pixel((GRID,))] * row, *cells, *[Pixel((GRID,))] * (n - 1 - row)]
    return Tile(3 * n - 1, (pixels,))
