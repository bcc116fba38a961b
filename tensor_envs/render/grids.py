"""Boards of rows and columns as text and as drawings, and the names of their cells."""

from collections.abc import Mapping, Sequence
from math import cos, pi, sin
from string import ascii_lowercase
from typing import Any, NamedTuple

from tensor_envs.render.drawing import Drawing, Point, box

INK = "#24303f"  # labels and status lines
# squares of chequered boards
LIGHT = "#f0d9b5"
DARK = "#b58863"
# number of a king of player 0, colour of its crown
KING = 2
CROWN = "#d99a17"
# pixels of such a cell, around the board, and of the picture
CELL = 44
MARGIN = 36
MIN_WIDTH = 300


def cell_name(cell: int, columns: int, letters: str = ascii_lowercase) -> str:
    """Return the letter of a cell's column and the number of its row, from 1: "d3"."""
    return letters[cell % columns] + str(cell // columns + 1)


def target_of(cell: int, step: tuple[int, int], rows: int, columns: int) -> int | None:
    """Return the cell that is a step (rows, columns) away, None beyond an edge."""
    row = cell // columns + step[0]
    column = cell % columns + step[1]
    return row * columns + column if 0 <= row < rows and 0 <= column < columns else None


def move_name(cell: int, number: int, step: tuple[int, int], rows: int, columns: int) -> str:
    """Return the names of a move's cells, "a2b3", or that of its first one and its number if it ends beyond an edge."""
    target = target_of(cell, step, rows, columns)
    return cell_name(cell, columns) + (f"/{number}" if target is None else cell_name(target, columns))


def rows_of(cells: Sequence[Any], columns: int) -> list[Sequence[Any]]:
    """Return the rows of a flat list of cells."""
    return [cells[at : at + columns] for at in range(0, len(cells), columns)]


def labelled(signs: Sequence[str], columns: int, from_top: bool = True) -> list[str]:
    """Return the lines of a board as text, with the letters of its columns and the numbers of its rows.

    Args:
        signs: one for each cell, row by row.
        columns: cells of a row.
        from_top: whether the first row is the top line; otherwise it is the bottom line.
    """
    rows = rows_of(signs, columns)
    width = len(str(len(rows)))
    lines = [f"{number:>{width}} " + " ".join(row) for number, row in enumerate(rows, 1)]
    return [" " * (width + 1) + " ".join(ascii_lowercase[:columns]), *(lines if from_top else lines[::-1])]


def hexagon(centre: Point, radius: float) -> list[Point]:
    """Return the corners of a regular hexagon with one corner on top."""
    x, y = centre
    return [(x + radius * sin(k * pi / 3), y - radius * cos(k * pi / 3)) for k in range(6)]


class SquareGrid(NamedTuple):
    """Square cells in a drawing: the upper left corner and the side of a cell, in pixels."""

    left: float
    top: float
    cell: float

    def centre(self, row: float, column: float) -> Point:
        """Return the middle of a cell."""
        return self.left + (column + 0.5) * self.cell, self.top + (row + 0.5) * self.cell

    def square(self, row: float, column: float) -> list[Point]:
        """Return the corners of a cell."""
        x, y = self.centre(row, column)
        return box(x - self.cell / 2, y - self.cell / 2, self.cell, self.cell)

    def draw_labels(self, picture: Drawing, rows: int, columns: int, from_top: bool = True) -> None:
        """Draw the letters of the columns above a board, and the numbers of its rows to the left."""
        for k, letter in enumerate(ascii_lowercase[:columns]):
            picture.text((self.centre(0, k)[0], self.top - 14), letter, 12, INK)
        for k in range(rows):
            picture.text((self.left - 14, self.centre(k, 0)[1]), str(k + 1 if from_top else rows - k), 12, INK)


def draw_pieces(
    title: str,
    sides: tuple[int, int],
    board: Sequence[int],
    colours: Mapping[int, str],
    moves: Mapping[tuple[int, int], int],
    status: str,
) -> Drawing:
    """Draw a chequered board of round pieces, its first row below; both cells of a move stand for its action.

    Args:
        title: title of the picture.
        sides: rows and columns.
        board: for each cell a piece, 1 or a king 2, -1 or -2 for one of player 1, or 0.
        colours: colours of the pieces 1 and -1.
        moves: the legal actions by their cells: where a piece is and where it can go.
        status: the line below the board.
    """
    rows, columns = sides
    wide = columns * CELL
    high = rows * CELL
    picture = Drawing(max(wide + 2 * MARGIN, MIN_WIDTH), high + 2.5 * MARGIN, title=title)
    grid = SquareGrid((picture.width - wide) / 2, MARGIN, CELL)
    for cell, piece in enumerate(board):
        row = cell // columns
        column = cell % columns
        place = rows - 1 - row, column
        picture.polygon(grid.square(*place), (DARK, LIGHT)[(row + column) % 2])
        if piece:
            picture.circle(grid.centre(*place), 0.38 * CELL, colours[1 if piece > 0 else -1], INK)
        if abs(piece) == KING:
            picture.circle(grid.centre(*place), 0.2 * CELL, CROWN, INK)
        here = [action for cells, action in moves.items() if cell in cells]
        if here:
            ends = [action for (_, target), action in moves.items() if target == cell]
            picture.area(grid.square(*place), *here, targets=ends)
    grid.draw_labels(picture, rows, columns, from_top=False)
    picture.text((picture.width / 2, high + 1.8 * MARGIN), status, 14, INK)
    return picture


def draw_chequered(picture: Drawing, grid: SquareGrid, side: int, light: str, dark: str) -> None:
    """Draw a board of squares of two colours, the upper left one light."""
    picture.rect(grid.left, grid.top, side * grid.cell, side * grid.cell, light, INK)
    for row in range(side):
        for column in range(1 - row % 2, side, 2):
            picture.polygon(grid.square(row, column), dark)
