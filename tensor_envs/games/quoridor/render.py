"""Positions of Quoridor as text and as drawings."""

from collections.abc import Sequence
from typing import Any

from tensor_envs.games._kit.stones import SIGNS
from tensor_envs.games.quoridor.notation import from_dict
from tensor_envs.games.quoridor.rules import STRIDE, Quoridor
from tensor_envs.render.drawing import Drawing, Point, box
from tensor_envs.render.grids import INK, SquareGrid
from tensor_envs.render.status import counted, outcome, seat_names, signed, to_move
from tensor_envs.render.tile import Mark, Pixel, StateBits, Tile
from tensor_envs.rules.plain import open_actions

# sizes in pixels
CELL = 44  # a square and the gap beside it
MARGIN = 36  # around the board
GAP = 8  # between squares
INSET = 3  # inset of the clickable part of a square
GROUND = "#8d5b3c"
SQUARE = "#c99668"
WALL = "#f6d28b"
DOT = "#2c7a4b"
COLOURS = {1: "#fafafa", -1: "#22262b"}
NAMES = ("White", "Black")


def status(rules: Quoridor, game: dict[str, Any], names: Sequence[str] = NAMES) -> str:
    """Return the walls in hand, and who has won or is to move."""
    hands = "walls {} : {}".format(*game["walls"])
    rows = [game["board"].index(stone) // rules.size for stone in COLOURS]
    if rows[0] == 0 or rows[1] == rules.size - 1:
        return f"{hands}, {outcome(names, int(rows[0] != 0))}"
    if game.get("terminated") and game.get("ply", 0) >= 4 * rules.squares:
        return f"{hands}, {outcome(names, None, reason(rules, game))}"
    return f"{hands}, {to_move(game, names[game['current_player']])}"


def to_string(rules: Quoridor, game: dict[str, Any]) -> str:
    """Return rows of squares, X and O for the pawns, lines for walls, and the status."""
    n = rules.inner
    lines = []
    signs = [SIGNS[stone] for stone in game["board"]]
    for row in range(rules.size):
        line = f"{rules.size - row:>2} "
        below = "   "
        for column in range(rules.size):
            line += signs[rules.size * row + column]
            # A wall is two squares long, so it also shows at the square after its own.
            if column < n:
                upright = any(game["vertical"][n * r + column] for r in (row - 1, row) if 0 <= r < n)
                line += " | " if upright else "   "
            # The corner between four squares shows the middle of a wall, which belongs to one orientation.
            if row < n:
                flat = [game["horizontal"][n * row + c] for c in (column - 1, column) if 0 <= c < n]
                middle = column < n and game["horizontal"][n * row + column]
                below += "-" * any(flat) or " "
                below += "---" if middle else " | " if column < n and game["vertical"][n * row + column] else "   "
        lines += [line, below.rstrip()][: 1 + (row < n)]
    return "\n".join([*lines, "   " + "   ".join("abcdefghi"[: rules.size]), status(rules, game, signed(NAMES))])


def wall_box(wall: int, inner: int, upright: bool) -> list[Point]:
    """Return the corners of a wall."""
    row, column = divmod(wall, inner)
    x = MARGIN + column * CELL
    y = MARGIN + row * CELL
    if upright:
        return box(x + CELL - GAP, y + GAP / 2, GAP, 2 * CELL - 2 * GAP)
    return box(x + GAP / 2, y + CELL - GAP, 2 * CELL - 2 * GAP, GAP)


def wings(wall: int, inner: int, upright: bool) -> list[Point]:
    """Return two triangles that meet at the middle of a wall: above and below it if it is upright, else beside it."""
    row, column = divmod(wall, inner)
    x = MARGIN + (column + 1) * CELL - GAP / 2
    y = MARGIN + (row + 1) * CELL - GAP / 2
    left, right = x - CELL / 2, x + CELL / 2
    top, bottom = y - CELL / 2, y + CELL / 2
    if upright:
        return [(left, top), (right, top), (left, bottom), (right, bottom)]
    return [(left, top), (left, bottom), (right, top), (right, bottom)]


def draw(rules: Quoridor, game: dict[str, Any]) -> Drawing:
    """Draw the board; dotted squares stand for moves, the places around a wall's middle for walls."""
    side = rules.size * CELL
    grid = SquareGrid(MARGIN - GAP / 2, MARGIN - GAP / 2, CELL)
    n = rules.inner
    picture = Drawing(side + 2 * MARGIN, side + 2.5 * MARGIN, title="Quoridor")
    picture.rect(MARGIN - GAP, MARGIN - GAP, side + GAP, side + GAP, GROUND, INK)
    moves = list[tuple[list[Point], int]]()
    over = game.get("ply", 0) >= 4 * rules.squares
    actions = [] if over else open_actions(rules, game, from_dict(rules, game))
    for square, stone in enumerate(game["board"]):
        row, column = divmod(square, rules.size)
        x = MARGIN + column * CELL
        y = MARGIN + row * CELL
        picture.rect(x, y, CELL - GAP, CELL - GAP, SQUARE)
        if stone:
            picture.circle(grid.centre(row, column), 0.3 * CELL, COLOURS[stone], COLOURS[-stone], 1.5)
        if square in actions:
            picture.circle(grid.centre(row, column), 0.08 * CELL, DOT)
            moves.append((box(x + INSET, y + INSET, CELL - GAP - 2 * INSET, CELL - GAP - 2 * INSET), square))
    grid.draw_labels(picture, rules.size, rules.size, from_top=False)
    for upright, name in enumerate(("horizontal", "vertical")):
        for wall, here in enumerate(game[name]):
            if here:
                picture.polygon(wall_box(wall, n, bool(upright)), WALL, INK)
            elif (action := rules.squares + upright * n * n + wall) in actions:
                picture.area(wings(wall, n, bool(upright)), action, mark=wall_box(wall, n, bool(upright)))
    for square_box, square in moves:  # above the places of walls
        picture.area(square_box, square)
    picture.text((picture.width / 2, side + 1.8 * MARGIN), status(rules, game), 14, INK)
    return picture


players = seat_names(*NAMES)


def scores(rules: Quoridor, game: dict[str, Any]) -> list[str]:
    """Return the numbers of walls in hand."""
    return [counted(count, "wall") for count in game["walls"]]


def reason(rules: Quoridor, game: dict[str, Any]) -> str:
    """Return why the game has ended."""
    rows = [game["board"].index(stone) // rules.size for stone in COLOURS]
    reached = rows[0] == 0 or rows[1] == rules.size - 1
    return "the pawn has reached its goal" if reached else f"{4 * rules.squares} plies"


def explain(rules: Quoridor, game: dict[str, Any], action: int) -> str:
    """Return whether the pawn moves or a wall is placed, and how the wall lies (Q14)."""
    if action < rules.squares:
        return "move the pawn"
    upright = action - rules.squares >= rules.inner**2
    return "an upright wall" if upright else "a level wall"


def last_move(rules: Quoridor, before: dict[str, Any], after: dict[str, Any], action: int) -> list[list[Point]]:
    """Return the outline of the square to which the pawn has moved, or of the new wall."""
    if action >= rules.squares:
        upright, wall = divmod(action - rules.squares, rules.inner**2)
        return [wall_box(wall, rules.inner, bool(upright))]
    row, column = divmod(action, rules.size)
    return [box(MARGIN + column * CELL, MARGIN + row * CELL, CELL - GAP, CELL - GAP)]


def tile(rules: Quoridor) -> Tile:
    """Return squares and the middles of walls as a small picture, a pixel each; pawns are marks."""
    wide = 2 * rules.size - 1
    pixels = [Pixel((SQUARE if y % 2 == x % 2 == 0 else GROUND,)) for y in range(wide) for x in range(wide)]
    for row in range(rules.inner):
        for column in range(rules.inner):
            sets = tuple(StateBits(name, 0, STRIDE * row + column, 1) for name in ("horizontal", "vertical"))
            pixels[(2 * row + 1) * wide + 2 * column + 1] = Pixel((GROUND, WALL, WALL, WALL), sets)
    places = tuple(2 * (s // rules.size) * wide + 2 * (s % rules.size) for s in range(rules.squares))
    marks = tuple(Mark(COLOURS[stone], StateBits("pawns", k), places) for k, stone in enumerate(COLOURS))
    return Tile(wide, (pixels,), marks)
