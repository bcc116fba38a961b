"""Positions of dots and boxes as text and as drawings."""

from string import ascii_lowercase
from typing import Any

from tensor_envs.games._kit.stones import counts, status_of_counts
from tensor_envs.games.dots_and_boxes.notation import complete, ends_of, grid_point
from tensor_envs.games.dots_and_boxes.rules import DotsAndBoxes
from tensor_envs.render.drawing import Drawing, Point
from tensor_envs.render.grids import INK, SquareGrid
from tensor_envs.render.status import counted, number_texts, seat_names
from tensor_envs.render.tile import Pixel, StateBits, Tile

COLOURS = {1: "#e07a5f", -1: "#3d74b8"}
PAPER = "#f8fafc"
DRAWN = "#24303f"
OPEN = "#d8dee6"
# pixels: a box, around the grid, the picture
CELL = 52
MARGIN = 36
MIN_WIDTH = 280
SLIM = 0.22  # half the width of a side's clickable part, as a share of a cell
SIGNS = {1: "A", -1: "B", 0: " "}
NAMES = ("A", "B")


def status(rules: DotsAndBoxes, game: dict[str, Any]) -> str:
    """Return the number of boxes of each player, and the winner or the player to move."""
    return status_of_counts(game, counts(game["boxes"]), all(game["lines"]), NAMES)


def to_string(rules: DotsAndBoxes, game: dict[str, Any]) -> str:
    """Return dots, lines and the owners A and B of boxes, and the status."""
    rows = [["+" if x % 2 == 0 else "   " for x in range(2 * rules.columns + 1)] for _ in range(2 * rules.rows + 1)]
    for y in range(1, 2 * rules.rows + 1, 2):
        rows[y] = [" " if x % 2 == 0 else f" {SIGNS[game['boxes'][y // 2 * rules.columns + x // 2]]} "
                   for x in range(2 * rules.columns + 1)]  # fmt: skip
    for line, drawn in enumerate(game["lines"]):
        if drawn:
            y, x = grid_point(rules, line)
            rows[y][x] = "|" if y % 2 else "---"
    return "\n".join([*("".join(row).rstrip() for row in rows), status(rules, game)])


def grid_of(rules: DotsAndBoxes) -> SquareGrid:
    """Return the boxes of the drawing."""
    wide = rules.columns * CELL
    return SquareGrid((max(wide + 2 * MARGIN, MIN_WIDTH) - wide) / 2, MARGIN, CELL)


def corners(rules: DotsAndBoxes, line: int) -> list[Point]:
    """Return the corners of a slim hexagon around a line."""
    grid = grid_of(rules)
    (x, y), (u, v) = (grid.centre(row - 0.5, column - 0.5) for row, column in ends_of(rules, line))
    along = ((u - x) * SLIM, (v - y) * SLIM)
    across = ((v - y) * SLIM, (x - u) * SLIM)
    near = (x + along[0], y + along[1])
    far = (u - along[0], v - along[1])
    sides = [(near, 1), (far, 1), (far, -1), (near, -1)]
    corners = [(a + side * across[0], b + side * across[1]) for (a, b), side in sides]
    return [(x, y), *corners[:2], (u, v), *corners[2:]]


def draw(rules: DotsAndBoxes, game: dict[str, Any]) -> Drawing:
    """Draw the grid; a click in the hexagon around a line draws it."""
    grid = grid_of(rules)
    picture = Drawing(2 * grid.left + rules.columns * CELL, rules.rows * CELL + 3 * MARGIN, title="Dots and boxes")
    # boxes are filled first: lines and dots lie on their edges
    for box, owner in enumerate(game["boxes"]):
        if owner:
            at = divmod(box, rules.columns)
            picture.polygon(grid.square(*at), COLOURS[owner])
            picture.text(grid.centre(*at), SIGNS[owner], 18, PAPER, bold=True)
    # drawn lines come last, since they cover the ends of open ones
    for drawn in (0, 1):
        for line in (line for line, value in enumerate(game["lines"]) if value == drawn):
            ends = (grid.centre(row - 0.5, column - 0.5) for row, column in ends_of(rules, line))
            picture.line(*ends, stroke=DRAWN if drawn else OPEN, width=4 if drawn else 1.5)
            if not drawn and not game.get("terminated"):
                picture.area(corners(rules, line), line)
    # dots cover the ends of lines, and have the letters and numbers by which lines are called
    for row in range(rules.rows + 1):
        for column in range(rules.columns + 1):
            picture.circle(grid.centre(row - 0.5, column - 0.5), 4.5, DRAWN)
    for column in range(rules.columns + 1):
        picture.text((grid.left + column * CELL, grid.top - 20), ascii_lowercase[column], 12, INK)
    for row in range(rules.rows + 1):
        picture.text((grid.left - 20, grid.top + row * CELL), str(row + 1), 12, INK)
    picture.text((picture.width / 2, picture.height - MARGIN), status(rules, game), 14, INK)
    return picture


players = seat_names(*NAMES)
scores, reason = number_texts(lambda game: counts(game["boxes"]), "box", "boxes")


def explain(rules: DotsAndBoxes, game: dict[str, Any], action: int) -> str:
    """Return the number of boxes that a line completes."""
    lines = list(game["lines"])
    lines[action] = 1
    made = len(complete(rules, lines)) - sum(map(bool, game["boxes"]))
    return f"completes {counted(made, 'box', 'boxes')}" if made else ""


def tile(rules: DotsAndBoxes) -> Tile:
    """Return dots, lines and boxes as a small picture, a pixel each; boxes are seen by their sides alone."""
    wide = 2 * rules.columns + 1
    high = 2 * rules.rows + 1
    pixels = [Pixel((DRAWN,))] * (wide * high)
    for line in range(rules.lines):
        y, x = grid_point(rules, line)
        pixels[y * wide + x] = Pixel((PAPER, DRAWN), (StateBits("lines", 0, line, 1),))
    for box in range(rules.boxes):
        y, x = divmod(box, rules.columns)
        sides = [
            k
            for k in range(rules.lines)
            if abs(grid_point(rules, k)[0] - 2 * y - 1) + abs(grid_point(rules, k)[1] - 2 * x - 1) == 1
        ]
        bits = (*(StateBits("lines", 0, side, 1) for side in sides), StateBits("first", 0, box, 1))
        pixels[(2 * y + 1) * wide + 2 * x + 1] = Pixel(
            (PAPER,) * 15 + (COLOURS[-1],) + (PAPER,) * 15 + (COLOURS[1],), bits
        )
    return Tile(wide, (pixels,))
