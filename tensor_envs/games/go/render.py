"""Positions of go as text and as drawings."""

from collections.abc import Sequence
from typing import Any

from tensor_envs.games._kit.stones import SIGNS
from tensor_envs.games.go.notation import COLUMNS, KO, action_to_string, areas, legal, regions
from tensor_envs.games.go.rules import Go
from tensor_envs.render.drawing import Drawing, Point, box
from tensor_envs.render.grids import INK, rows_of
from tensor_envs.render.status import seat_names, signed, to_move
from tensor_envs.render.tile import Tile, stone_pixel

COLOURS = {1: "#16181c", -1: "#fbfbf8"}
WOOD, LINE = "#e3b96b", "#6b5227"
# pixels
CELL = 32
MARGIN = 40
FOOT = 84
MIN_WIDTH = 300
BUTTON = (80, 28)
NAMES = ("Black", "White")
STARS = {9: (2, 4, 6), 13: (3, 6, 9), 19: (3, 9, 15)}  # rows and columns of the marked points


def status(rules: Go, game: dict[str, Any], names: Sequence[str] = NAMES) -> str:
    """Return the status: the player to move, or at the end the area of each player."""
    if game.get("terminated"):
        black, white = areas(rules, game["board"])
        return f"over: {names[0]} {black}, {names[1]} {white} + {rules.komi:g}"
    player = game["current_player"]
    passed = f"{names[1 - player]} has passed, " if game["passed"] else ""
    return passed + to_move(game, names[player])


def to_string(rules: Go, game: dict[str, Any]) -> str:
    """Return rows of X, O, "." and "*" for a point that a ko closes, the last row first, and the status."""
    signs = [(SIGNS | {KO: "*"})[stone] for stone in game["board"]]
    rows = [f"{number:>2} " + " ".join(row) for number, row in enumerate(rows_of(signs, rules.size), 1)]
    letters = "   " + " ".join(COLUMNS[: rules.size])
    return "\n".join([*reversed(rows), letters, status(rules, game, signed(NAMES))])


def draw(rules: Go, game: dict[str, Any]) -> Drawing:
    """Draw the board; a click on a legal point plays there, a button passes.

    At the end, small squares mark the empty points of both areas.
    """
    n = rules.size
    side = (n - 1) * CELL
    picture = Drawing(max(side + 2 * MARGIN, MIN_WIDTH), side + 2 * MARGIN + FOOT, title="Go")
    left = (picture.width - side) / 2
    top = MARGIN

    def centre(row: float, column: float) -> tuple[float, float]:
        return left + column * CELL, top + (n - 1 - row) * CELL

    # The ground, the lines with their names, and the star points.
    picture.rect(left - 0.6 * CELL, top - 0.6 * CELL, side + 1.2 * CELL, side + 1.2 * CELL, WOOD)
    for k in range(n):
        picture.line(centre(k, 0), centre(k, n - 1), stroke=LINE)
        picture.line(centre(0, k), centre(n - 1, k), stroke=LINE)
        picture.text((centre(0, k)[0], top - 0.6 * CELL - 10), COLUMNS[k], 11, INK)
        picture.text((left - 0.6 * CELL - 11, centre(k, 0)[1]), str(k + 1), 11, INK)
    for row in STARS.get(n, ()):
        for column in STARS[n]:
            picture.circle(centre(row, column), 3, LINE)
    # Stones, and a square on the point that the ko rule forbids.
    for point, stone in enumerate(game["board"]):
        x, y = centre(*divmod(point, n))
        if stone in COLOURS:
            picture.circle((x, y), 0.46 * CELL, COLOURS[stone], LINE)
        elif stone == KO:
            picture.rect(x - 6, y - 6, 12, 12, stroke=INK, width=2)
    # An empty region counts for a player if only this player's stones border it.
    if game.get("terminated"):
        for points, border in regions(rules, game["board"], empty=True):
            if len(owners := {game["board"][point] for point in border}) == 1:
                for x, y in (centre(*divmod(point, n)) for point in sorted(points)):
                    picture.rect(x - 5, y - 5, 10, 10, COLOURS[min(owners)], LINE)
    foot = top + side + 0.6 * CELL
    if not game.get("terminated"):
        # Areas for clicks come last, so that nothing covers them; the last legal action is the pass.
        for action in legal(rules, game)[:-1]:
            x, y = centre(*divmod(action, n))
            picture.area(box(x - CELL / 2, y - CELL / 2, CELL, CELL), action)
        button = (picture.width / 2 - BUTTON[0] / 2, foot + 12, *BUTTON)
        name = action_to_string(rules, n * n)
        picture.rect(*button, WOOD, LINE)
        picture.text((picture.width / 2, foot + 12 + BUTTON[1] / 2), name, 13, COLOURS[1])
        picture.area(box(*button), n * n)
    picture.text((picture.width / 2, foot + 62), status(rules, game), 14, INK)
    return picture


players = seat_names(*NAMES)


def scores(rules: Go, game: dict[str, Any]) -> list[str]:
    """Return the area of each player on the present board (G7), white's with komi."""
    black, white = areas(rules, game["board"])
    return [f"area {black}", f"area {white} + {rules.komi:g}"]


def reason(rules: Go, game: dict[str, Any]) -> str:
    """Return the area of each player at the end of a game."""
    black, white = areas(rules, game["board"])
    with_komi = f"{white} + {rules.komi:g} of komi"
    return f"an area of {black} to {with_komi}" if black > white + rules.komi else f"an area of {with_komi} to {black}"


def last_move(rules: Go, before: dict[str, Any], after: dict[str, Any], action: int) -> list[tuple[Point, ...]]:
    """Return the outline of the last stone; a pass has none."""
    played = () if action == rules.points else (action,)
    return [area.points for area in draw(rules, before).areas if area.actions == played]


def explain(rules: Go, game: dict[str, Any], action: int) -> str:
    """Return the effect of a pass."""
    if action != rules.points:
        return ""
    return "ends the game" if game["passed"] else "two passes in a row end the game"


def tile(rules: Go) -> Tile:
    """Return the stones as a small picture, the last row first."""
    n = rules.size
    points = [n * row + column for row in reversed(range(n)) for column in range(n)]
    return Tile(n, ([stone_pixel(point, WOOD, COLOURS[1], COLOURS[-1]) for point in points],))
