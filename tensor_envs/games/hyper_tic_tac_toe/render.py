"""Positions of hyperdimensional tic-tac-toe as text and as drawings, completed lines marked."""

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod
from typing import Any

from tensor_envs.games._kit import stones
from tensor_envs.games.hyper_tic_tac_toe.cube import draw_cube
from tensor_envs.games.hyper_tic_tac_toe.paint import (
    COLOURS,
    GOLD,
    GRID,
    INK,
    PALE,
    Coordinates,
    Lines,
    Marks,
    draw_mark,
)
from tensor_envs.games.hyper_tic_tac_toe.rules import HyperTicTacToe
from tensor_envs.render.drawing import Drawing
from tensor_envs.render.grids import SquareGrid
from tensor_envs.render.status import signed
from tensor_envs.render.tile import Pixel, Tile, stone_pixel

TEXT_WIDTH = 100  # columns up to which slices stand side by side
MAX_LINES = 4  # lines that the text lists
CELL, MARGIN = 44, 27  # pixels: a cell of a flat grid, the room around it
SMALL_CELL, GAP = 26, 34  # pixels in a table of slices: a cell, the gap


def marks_and_lines(rules: HyperTicTacToe, board: list[int]) -> tuple[Marks, Lines]:
    """Return the marks by their places, and each completed line with its owner (1 or -1) and its places in order."""
    marks = dict(zip(product(*map(range, rules.shape)), board, strict=True))
    places = list(marks)
    lines = stones.completed_lines(board, rules.shape, rules.k)
    return marks, [(mark, [places[cell] for cell in cells]) for mark, cells in lines]


def status(rules: HyperTicTacToe, game: dict[str, Any], lines: Lines, names: Sequence[str]) -> str:
    """Return the status: the player with a line, a draw, or the player to move."""
    return stones.status_of_lines(game, {mark for mark, _ in lines}, rules.k, names)


def _slices(shape: Coordinates) -> Iterator[tuple[Coordinates, list[list[Coordinates]]]]:
    """Yield the two-dimensional slices: coordinates on the axes before the last two, and rows of places."""
    lead, flat = shape[:-2], shape[-2:]
    rows, columns = flat if len(flat) == 2 else (1, *flat)
    for fixed in product(*map(range, lead)):
        inner = [[(r, c)[2 - len(flat) :] for c in range(columns)] for r in range(rows)]
        yield fixed, [[fixed + cell for cell in row] for row in inner]


# *** text ***


def to_string(rules: HyperTicTacToe, game: dict[str, Any]) -> str:
    """Return a grid of X, O and "." for each slice, with completed lines in brackets, and the status.

    Coordinates stand at the edges of the grids. The status lists completed lines.
    """
    marks, lines = marks_and_lines(rules, game["board"])
    marked = {cell for _, cells in lines for cell in cells}
    blocks = [_text_block(rules, fixed, rows, marks, marked) for fixed, rows in _slices(rules.shape)]
    beside = max(1, TEXT_WIDTH // (len(blocks[0][0]) + 2))
    if len(rules.shape) > 3 and beside > rules.shape[-3]:  # whole rows of the last leading axis
        beside -= beside % rules.shape[-3]
    text = []
    for first in range(0, len(blocks), beside):
        text += ["  ".join(parts).rstrip() for parts in zip(*blocks[first : first + beside], strict=True)]
        text.append("")
    listed = [" ".join(f"({','.join(map(str, cell))})" for cell in cells) for _, cells in lines[:MAX_LINES]]
    if len(lines) > MAX_LINES:
        listed.append(f"and {len(lines) - MAX_LINES} more")
    end = status(rules, game, lines, signed(players(rules, game))) + (": " if listed else "") + "; ".join(listed)
    return "\n".join([*text, end])


def _text_block(
    rules: HyperTicTacToe, fixed: Coordinates, rows: list[list[Coordinates]], marks: Marks, marked: set[Coordinates]
) -> list[str]:
    """Return the text of a slice: title, column coordinates, rows; all lines have one width."""
    wide = max(len(str(max(rules.shape))), 1)
    head = " " * (wide + 1) + "".join(f"{column:>{wide + 1}} " for column in range(len(rows[0])))
    block = [f"[{', '.join([*map(str, fixed), ':', ':'])}]"] if fixed else []
    block.append(head)
    for number, row in enumerate(rows):
        cells = (("({})" if cell in marked else " {} ").format(stones.SIGNS[marks[cell]]) for cell in row)
        label = str(number) if len(rules.shape) > 1 else ""
        block.append(f"{label:>{wide}} " + "".join(f"{cell:>{wide + 2}}" for cell in cells))
    width = max(map(len, block))
    return [line.ljust(width) for line in block]


# *** drawings ***


def draw(rules: HyperTicTacToe, game: dict[str, Any]) -> Drawing:
    """Draw a grid for rank 1 and 2, a projected cube of translucent layers for rank 3, else a table of slices."""
    marks, lines = marks_and_lines(rules, game["board"])
    names = players(rules, game)
    title = f"{'x'.join(map(str, rules.shape))}, {rules.k} in a row: "
    caption = title + status(rules, game, lines, names)
    # room for the status of the end, so that all pictures of a game have one size
    room = max(len(caption), *(len(f"{title}{name} has a line of {rules.k}") for name in names))
    paint = draw_cube if len(rules.shape) == 3 else _draw_table
    return paint(rules.shape, marks, lines, caption, room)


def players(rules: HyperTicTacToe, game: dict[str, Any] | None) -> list[str]:
    """Return the marks or, in the drawing of a cube, the colours of the players."""
    return ["Orange", "Blue"] if len(rules.shape) == 3 else ["X", "O"]


def reason(rules: HyperTicTacToe, game: dict[str, Any]) -> str:
    """Return why the game has ended."""
    lines = stones.completed_lines(game["board"], rules.shape, rules.k)
    if not lines:
        return "the board is full"
    return f"{rules.k} in a row" + (", which lose" if rules.misere else "")


def _draw_table(shape: Coordinates, marks: Marks, lines: Lines, caption: str, room: int) -> Drawing:
    """Draw slices in a table: the first half of the leading axes down it, the others across it."""
    flat = len(shape) <= 2
    slices = dict(_slices(shape))
    rows = next(iter(slices.values()))
    # a small board is as wide as the caption below it
    cell = max(CELL, (8 * room - 2 * MARGIN) // len(rows[0])) if flat else SMALL_CELL
    high = len(rows) * cell + GAP
    wide = len(rows[0]) * cell + GAP
    half = max(len(shape) - 2, 0) // 2
    across, down = ([*product(*map(range, part))] for part in (shape[half:-2], shape[:half]))
    width = max(2 * MARGIN + len(across) * wide - GAP, 8 * room)
    picture = Drawing(width, 3 * MARGIN + len(down) * high - GAP, title="Tic-tac-toe")
    left = (width - len(across) * wide + GAP) / 2
    # All slices look up the same marks, lines and actions by the coordinates of all axes.
    marked = {coordinates for _, cells in lines for coordinates in cells}
    actions = {coordinates: action for action, coordinates in enumerate(marks)}
    for fixed, rows in slices.items():
        x = left + across.index(fixed[half:]) * wide
        y = MARGIN + down.index(fixed[:half]) * high
        grid = SquareGrid(x, y, cell)
        squares = {coordinates: (0, *coordinates)[-2:] for row in rows for coordinates in row}  # in the slice
        for coordinates, square in squares.items():
            picture.polygon(grid.square(*square), "#ffe9a8" if coordinates in marked else "#f8fafc", GRID)
        # A board of one or two axes has room for names of columns and rows, and for lines through the marks.
        if flat:
            for column in range(len(rows[0])):
                picture.text((x + (column + 0.5) * cell, y - 12), str(column), 14, PALE)
            for row in range(len(rows) if len(shape) == 2 else 0):
                picture.text((x - 3, y + (row + 0.5) * cell), str(row), 14, PALE, "end")
            for _, cells in lines:
                ends = (grid.centre(*squares[end]) for end in (cells[0], cells[-1]))
                picture.line(*ends, stroke=GOLD, width=0.24 * cell)
        else:
            picture.text((x, y - 10), f"[{', '.join(map(str, fixed))}, :, :]", 11, PALE, "start")
        # Marks cover the lines; areas for clicks cover everything.
        for coordinates, square in squares.items():
            draw_mark(picture, grid.centre(*square), cell, marks[coordinates])
            if not marks[coordinates]:
                picture.area(grid.square(*square), actions[coordinates])
    picture.text((width / 2, picture.height - MARGIN), caption, 14, INK)
    return picture


def tile(rules: HyperTicTacToe) -> Tile:
    """Return the slices as a small picture, arranged as in a drawing of rank 4."""
    rows = next(iter(dict(_slices(rules.shape)).values()))
    high = len(rows) + 1
    wide = len(rows[0]) + 1
    half = max(len(rules.shape) - 2, 0) // 2
    across, down = (prod(part) for part in (rules.shape[half:-2], rules.shape[:half]))
    width = across * wide - 1
    pixels = [Pixel((GRID,))] * (width * (down * high - 1))
    for cell in range(rules.cells):
        number, rest = divmod(cell, (high - 1) * (wide - 1))
        row, column = divmod(rest, wide - 1)
        pixel = (number // across * high + row) * width + number % across * wide + column
        pixels[pixel] = stone_pixel(cell, "#f8fafc", COLOURS[1], COLOURS[-1])
    return Tile(width, (pixels,))
