"""Positions of hyperdimensional tic-tac-toe as text and as drawings, completed lines marked."""

from collections.abc import Iterator
from itertools import product
from math import prod
from typing import Any

from tensor_envs.games.hyper_tic_tac_toe.cube import draw_cube
from tensor_envs.games.hyper_tic_tac_toe.paint import COLOURS, GOLD, GRID, INK, PALE, draw_mark
from tensor_envs.games.hyper_tic_tac_toe.rules import HyperTicTacToe
from tensor_envs.games.stones import STONES
from tensor_envs.ops.bits import completed
from tensor_envs.ops.lines import line_directions, placements, strides
from tensor_envs.render.drawing import Drawing, Point, box
from tensor_envs.render.tile import Pixel, Tile, stone_pixel
from tensor_envs.rules import pack, unpack

Place = tuple[int, ...]
SIGNS = {1: "X", -1: "O", 0: "."}
BY_SIGN = {1: "the first player (X)", -1: "the second player (O)"}
BY_COLOUR = {1: "the first player (orange)", -1: "the second player (blue)"}
TEXT_WIDTH = 100  # columns up to which slices stand side by side
LINES_TOLD = 4  # lines that the text lists
CELL, MARGIN = 44, 36  # pixels: a cell of a flat grid, the room around it
SMALL_CELL, GAP = 26, 34  # of a table of slices


def completed_lines(rules: HyperTicTacToe, board: list[int]) -> list[tuple[int, list[Place]]]:
    """All completed lines of a board: whose (1 or -1), and the cells in order."""
    shape, k, lines = rules.shape, rules.k, []
    directions = [d for d in line_directions(len(shape)) if placements(shape, k, d)]
    for mark in STONES:
        words = pack((cell for cell, m in enumerate(board) if m == mark), rules.cells)
        for d, starts in zip(directions, completed(words, shape, k), strict=True):
            for cell in unpack(starts, rules.cells):
                first = [cell // step % n for step, n in zip(strides(shape), shape, strict=True)]
                lines.append(
                    (mark, [tuple(c + t * e for c, e in zip(first, d, strict=True)) for t in range(k)])
                )
            if k == 1:
                break  # the other directions find the same cells
    return lines


def status(
    rules: HyperTicTacToe, d: dict[str, Any], lines: list[tuple[int, list[Place]]], names: dict[int, str]
) -> str:
    """Who has a line, or that the game is a draw, or who is to move."""
    owners = [names[mark] for mark in STONES if any(mark == owner for owner, _ in lines)]
    if owners:
        return f"{' and '.join(owners)} {'has a line' if len(owners) == 1 else 'have lines'} of {rules.k}"
    if 0 not in d["board"]:
        return "a draw"
    player = names[STONES[d["current_player"]]]
    return f"over by an illegal action of {player}" if d.get("terminated") else f"{player} to move"


def _slices(shape: Place) -> Iterator[tuple[Place, list[list[Place]]]]:
    """The two-dimensional slices of the board: coordinates on the axes before the last two, and rows of places."""
    lead, flat = shape[:-2], shape[-2:]
    rows, columns = flat if len(flat) == 2 else (1, *flat)
    for fixed in product(*map(range, lead)):
        inner = [[(r, c)[2 - len(flat) :] for c in range(columns)] for r in range(rows)]
        yield fixed, [[fixed + place for place in row] for row in inner]


# *** text ***


def to_string(rules: HyperTicTacToe, d: dict[str, Any]) -> str:
    """Grids of X, O and ".", cells of completed lines in brackets; from rank 3 on one labelled slice beside the other.

    Coordinates stand at the grids' edges; the last line says who has a line and where, or who is to move.
    """
    lines = completed_lines(rules, d["board"])
    marked = {place for _, cells in lines for place in cells}
    marks = dict(zip(product(*map(range, rules.shape)), d["board"], strict=True))
    blocks = [_text_block(rules, fixed, rows, marks, marked) for fixed, rows in _slices(rules.shape)]
    beside = max(1, TEXT_WIDTH // (len(blocks[0][0]) + 2))
    if len(rules.shape) > 3 and beside > rules.shape[-3]:  # whole rows of the last leading axis
        beside -= beside % rules.shape[-3]
    text = []
    for first in range(0, len(blocks), beside):
        text += ["  ".join(parts).rstrip() for parts in zip(*blocks[first : first + beside], strict=True)] + [
            ""
        ]
    told = [" ".join(f"({','.join(map(str, place))})" for place in cells) for _, cells in lines[:LINES_TOLD]]
    more = [f"and {len(lines) - LINES_TOLD} more"] if len(lines) > LINES_TOLD else []
    return "\n".join(
        [*text, status(rules, d, lines, BY_SIGN) + (": " if told else "") + "; ".join(told + more)]
    )


def _text_block(
    rules: HyperTicTacToe, fixed: Place, rows: list[list[Place]], marks: dict[Place, int], marked: set[Place]
) -> list[str]:
    """One slice: its title, column coordinates, rows; all lines of one width."""
    wide = max(len(str(max(rules.shape))), 1)
    head = " " * (wide + 1) + "".join(f"{column:>{wide + 1}} " for column in range(len(rows[0])))
    block = [f"[{', '.join([*map(str, fixed), ':', ':'])}]"] if fixed else []
    block.append(head)
    for number, row in enumerate(rows):
        cells = (("({})" if place in marked else " {} ").format(SIGNS[marks[place]]) for place in row)
        label = str(number) if len(rules.shape) > 1 else ""
        block.append(f"{label:>{wide}} " + "".join(f"{cell:>{wide + 2}}" for cell in cells))
    width = max(map(len, block))
    return [line.ljust(width) for line in block]


# *** drawings ***


def to_svg(rules: HyperTicTacToe, d: dict[str, Any]) -> str:
    """The drawing as an SVG document."""
    return draw(rules, d).to_svg()


def draw(rules: HyperTicTacToe, d: dict[str, Any]) -> Drawing:
    """Rank 1 and 2: a grid. Rank 3: a cube of translucent layers in projection. Higher: a table of slices."""
    lines = completed_lines(rules, d["board"])
    names = BY_COLOUR if len(rules.shape) == 3 else BY_SIGN
    game = f"{'x'.join(map(str, rules.shape))}, {rules.k} in a row: "
    caption = game + status(rules, d, lines, names)
    # room for what may be said at the end, so that all pictures of a game have one size
    room = max(len(caption), *(len(f"{game}{name} has a line of {rules.k}") for name in names.values()))
    marks = dict(zip(product(*map(range, rules.shape)), d["board"], strict=True))
    paint = draw_cube if len(rules.shape) == 3 else _draw_table
    return paint(rules.shape, marks, lines, caption, room)


def _draw_table(
    shape: Place, marks: dict[Place, int], lines: list[tuple[int, list[Place]]], caption: str, room: int
) -> Drawing:
    """Slices in a table: the first half of the leading axes down it, the others across; one slice for rank 1 and 2."""
    flat, slices = len(shape) <= 2, dict(_slices(shape))
    rows = next(iter(slices.values()))
    cell = CELL if flat else SMALL_CELL
    high, wide = len(rows) * cell + GAP, len(rows[0]) * cell + GAP
    half = max(len(shape) - 2, 0) // 2
    across, down = ([*product(*map(range, part))] for part in (shape[half:-2], shape[:half]))
    width = max(2 * MARGIN + len(across) * wide - GAP, 8 * room)
    picture = Drawing(width, 3 * MARGIN + len(down) * high - GAP)
    left = (width - len(across) * wide + GAP) / 2
    marked = {place for _, cells in lines for place in cells}
    actions = {place: action for action, place in enumerate(marks)}
    for fixed, rows in slices.items():
        corner = left + across.index(fixed[half:]) * wide, MARGIN + down.index(fixed[:half]) * high
        _draw_grid(picture, corner, cell, rows, marked)
        if flat:
            _draw_coordinates(picture, corner, len(rows) if len(shape) == 2 else 0, len(rows[0]))
            for _, cells in lines:
                ends = (_centre(corner, cell, place) for place in (cells[0], cells[-1]))
                picture.line(*ends, stroke=GOLD, width=0.24 * cell)
        else:
            title = f"[{', '.join(map(str, fixed))}, :, :]"
            picture.text((corner[0], corner[1] - 10), title, 11, PALE, "start")
        for place in (place for row in rows for place in row):
            draw_mark(picture, _centre(corner, cell, place), cell, marks[place])
            if not marks[place]:
                picture.area(_square(corner, cell, place), actions[place])
    picture.text((width / 2, picture.height - MARGIN), caption, 14, INK)
    return picture


def _centre(corner: Point, cell: float, place: Place) -> Point:
    row, column = (0, *place)[-2:]
    return corner[0] + (column + 0.5) * cell, corner[1] + (row + 0.5) * cell


def _square(corner: Point, cell: float, place: Place) -> list[Point]:
    x, y = _centre(corner, cell, place)
    return box(x - cell / 2, y - cell / 2, cell, cell)


def _draw_grid(
    picture: Drawing, corner: Point, cell: float, rows: list[list[Place]], marked: set[Place]
) -> None:
    for place in (place for row in rows for place in row):
        picture.polygon(_square(corner, cell, place), "#ffe9a8" if place in marked else "#f8fafc", GRID)


def _draw_coordinates(picture: Drawing, corner: Point, rows: int, columns: int) -> None:
    x, y = corner
    for i in range(columns):
        picture.text((x + (i + 0.5) * CELL, y - 12), str(i), 11, PALE)
    for i in range(rows):
        picture.text((x - 10, y + (i + 0.5) * CELL), str(i), 11, PALE, "end")


def tile(rules: HyperTicTacToe) -> Tile:
    """Return the slices as a small picture, arranged as in a drawing of rank 4."""
    rows = next(iter(dict(_slices(rules.shape)).values()))
    high, wide, half = len(rows) + 1, len(rows[0]) + 1, max(len(rules.shape) - 2, 0) // 2
    across, down = (prod(part) for part in (rules.shape[half:-2], rules.shape[:half]))
    width = across * wide - 1
    pixels = [Pixel((GRID,))] * (width * (down * high - 1))
    for cell in range(rules.cells):
        number, place = divmod(cell, (high - 1) * (wide - 1))
        row, column = divmod(place, wide - 1)
        at = (number // across * high + row) * width + number % across * wide + column
        pixels[at] = stone_pixel(cell, "#f8fafc", COLOURS[1], COLOURS[-1])
    return Tile(width, (pixels,))
