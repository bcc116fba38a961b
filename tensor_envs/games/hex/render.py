"""Positions of Hex as text and as drawings, the winning group marked."""

from typing import Any

from tensor_envs.games._kit.grids import INK, hexagon, rows_of, svg_of
from tensor_envs.games._kit.stones import SIGNS, STONES, to_move
from tensor_envs.games.hex.notation import action_to_string, winning
from tensor_envs.games.hex.rules import Hex
from tensor_envs.render.drawing import Drawing, Point
from tensor_envs.render.scene import seat_names
from tensor_envs.render.tile import Pixel, Tile, stone_pixel

COLOURS = {1: "#c8372d", -1: "#2457a6"}
FREE, GRID, RING = "#f4efe3", "#a79d88", "#ffffff"
RADIUS, MARGIN, FOOT, MIN_WIDTH = 20, 34, 44, 328  # pixels: of a cell, around and below the board
BAR = 0.34 * RADIUS  # half the length of the bar on a stone
ACROSS = RADIUS * 3**0.5  # from a cell to the next one in its row
NAMES = {"text": ("the first player (X)", "the second player (O)"),
         "drawing": ("the first player (red)", "the second player (blue)")}  # fmt: skip
SIDES = ("top and bottom", "left and right")


def may_swap(rules: Hex, game: dict[str, Any]) -> bool:
    """Return whether a swap is legal."""
    single = rules.cells - game["board"].count(0) == 1
    return rules.swap and single and game["current_player"] == 1 and not game.get("terminated")


def status(rules: Hex, game: dict[str, Any], names: tuple[str, str]) -> str:
    """Return who has connected both sides, or who is to move."""
    if group := winning(rules, game["board"]):
        winner = STONES.index(game["board"][min(group)])
        return f"{names[winner]} has connected {SIDES[winner]}"
    move = "to move, or to swap" if may_swap(rules, game) else "to move"
    return to_move(game, names[game["current_player"]], move)


def to_string(rules: Hex, game: dict[str, Any]) -> str:
    """Return rows of X, O and ".", each one column further to the right, and the status."""
    signs = [SIGNS[stone] for stone in game["board"]]
    rows = [f"{' ' * row}{row + 1:>2} " + " ".join(s) for row, s in enumerate(rows_of(signs, rules.size))]
    letters = "   " + " ".join(action_to_string(rules, column)[0] for column in range(rules.size))
    return "\n".join([letters, *rows, status(rules, game, NAMES["text"])])


def draw(rules: Hex, game: dict[str, Any]) -> Drawing:
    """Draw the board, its sides in their owners' colours; a free cell stands for its action, the stone for a swap.

    A white bar on stones and sides runs the way in which their owner connects.
    """
    n, board = rules.size, game["board"]
    wide, high = ACROSS * (1.5 * n - 0.5), RADIUS * (1.5 * n + 0.5)
    picture = Drawing(max(wide + 2 * MARGIN, MIN_WIDTH), high + 2 * MARGIN + FOOT, title="Hex")
    left = (picture.width - wide) / 2
    marked = winning(rules, board)

    def corners(row: float, column: float) -> list[Point]:
        """Return the corners of a cell."""
        x, y = left + ACROSS * (column + 0.5 * row + 0.5), MARGIN + RADIUS * (1.5 * row + 1)
        return hexagon((x, y), RADIUS)

    for k in range(n):  # halves of the border cells show from behind the board
        ends = ((-0.3, k + 0.15, 1), (n - 0.7, k - 0.15, 1), (k, -0.3, -1), (k, n - 0.7, -1))
        for row, column, stone in ends:
            shape = corners(row, column)
            picture.polygon(shape, COLOURS[stone])
            side = -1 if min(row, column) < 0 else 1
            draw_bar(picture, (shape[0][0], shape[0][1] + RADIUS), stone, side * 0.5 * RADIUS, side * 0.76 * RADIUS)
    for cell, stone in enumerate(board):
        row, column = divmod(cell, n)
        shape = corners(row, column)
        picture.polygon(shape, FREE, GRID)
        centre = shape[0][0], shape[0][1] + RADIUS
        if stone:
            picture.circle(centre, 0.62 * RADIUS, COLOURS[stone])
            draw_bar(picture, centre, stone, -BAR, BAR)
        if cell in marked:
            picture.circle(centre, 0.3 * RADIUS, stroke=RING, width=3)
        if not game.get("terminated") and not marked:
            if not stone:
                picture.area(shape, cell)
            elif may_swap(rules, game):
                picture.area(shape, rules.cells)
    for k in range(n):
        x, y = corners(0, k)[0]
        picture.text((x - 4, y - 16), action_to_string(rules, k)[0], 12, INK)
        x, y = corners(k, 0)[0]
        picture.text((x - ACROSS / 2 - 18, y + RADIUS), str(k + 1), 12, INK)
    picture.text((picture.width / 2, picture.height - 24), status(rules, game, NAMES["drawing"]), 14, INK)
    return picture


def draw_bar(picture: Drawing, centre: Point, stone: int, start: float, end: float) -> None:
    """Draw a bar the way in which a stone's owner connects, between two distances from a cell's centre."""
    (x, y), across, down = centre, stone == -1, stone == 1
    picture.line(*((x + across * at, y + down * at) for at in (start, end)), stroke=RING, width=2)


to_svg = svg_of(draw)
players = seat_names("Red", "Blue")


def reason(rules: Hex, game: dict[str, Any]) -> str:
    """Return which sides are connected."""
    group = winning(rules, game["board"])
    return f"{SIDES[STONES.index(game['board'][min(group)])]} are connected" if group else ""


def explain(rules: Hex, game: dict[str, Any], action: int) -> str:
    """Return what a swap does."""
    return "take over Red's stone" if action == rules.cells else ""


def tile(rules: Hex) -> Tile:
    """Return the board as a small picture; a cell is two pixels wide and high, and rows lean to the right."""
    n, pixels = rules.size, list[Pixel]()
    for row in range(n):
        cells = [stone_pixel(n * row + column, FREE, COLOURS[1], COLOURS[-1]) for column in range(n) for _ in (0, 1)]
        pixels += 2 * [*[Pixel((GRID,))] * row, *cells, *[Pixel((GRID,))] * (n - 1 - row)]
    return Tile(3 * n - 1, (pixels,))
