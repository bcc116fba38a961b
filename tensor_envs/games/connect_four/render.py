"""Positions of connect four as text and as drawings, completed lines marked."""

from typing import Any

from tensor_envs.games.connect_four.notation import lines
from tensor_envs.games.connect_four.rules import ConnectFour
from tensor_envs.games.stones import STONES
from tensor_envs.ops.lines import flat_step, line_directions, placements
from tensor_envs.render.drawing import Drawing, box
from tensor_envs.render.tile import Tile, stone_pixel
from tensor_envs.rules import pack, unpack

SIGNS = {1: "X", -1: "O", 0: "."}
COLOURS = {1: "#f2b705", -1: "#d9342b", 0: "#f8fafc"}  # told apart by lightness, too
FRAME, INK, LINE = "#1b4f9c", "#24303f", "#111111"
CELL, MARGIN, ROOM = 44, 36, 40  # pixels: a cell, around the board; letters below it that must find room
NAMES = {"text": ("the first player (X)", "the second player (O)"),
         "drawing": ("the first player (yellow)", "the second player (red)")}  # fmt: skip


def marked(rules: ConnectFour, board: list[int]) -> dict[int, set[int]]:
    """The cells of completed lines, by their stones."""
    shape, found = (rules.rows, rules.columns), {stone: set[int]() for stone in STONES}
    steps = [flat_step(shape, d) for d in line_directions(2) if placements(shape, rules.k, d)]
    for stone, cells in found.items():
        own = pack((cell for cell, s in enumerate(board) if s == stone), rules.cells)
        for step, starts in zip(steps, lines(rules, own), strict=True):
            cells |= {start + t * step for start in unpack(starts, rules.cells) for t in range(rules.k)}
    return found


def status(rules: ConnectFour, game: dict[str, Any], names: tuple[str, str]) -> str:
    """Who has a line, or that the game is a draw, or who is to move."""
    owners = [name for name, cells in zip(names, marked(rules, game["board"]).values(), strict=True) if cells]
    if owners:
        return f"{' and '.join(owners)} {'has a line' if len(owners) == 1 else 'have lines'} of {rules.k}"
    if 0 not in game["board"]:
        return "a draw"
    player = names[game["current_player"]]
    return f"over by an illegal action of {player}" if game.get("terminated") else f"{player} to move"


def to_string(rules: ConnectFour, game: dict[str, Any]) -> str:
    """Rows of X, O and ".", cells of completed lines in brackets; the columns' numbers; how the game stands."""
    bracketed = set[int]().union(*marked(rules, game["board"]).values())
    cells = [("({})" if c in bracketed else " {} ").format(SIGNS[s]) for c, s in enumerate(game["board"])]
    text = ["".join(cells[at : at + rules.columns]) for at in range(0, rules.cells, rules.columns)]
    numbers = "".join(f"{column:^3}" for column in range(1, rules.columns + 1))
    return "\n".join([*(line.rstrip() for line in (*text, numbers)), status(rules, game, NAMES["text"])])


def to_svg(rules: ConnectFour, game: dict[str, Any]) -> str:
    """The drawing as an SVG document."""
    return draw(rules, game).to_svg()


def draw(rules: ConnectFour, game: dict[str, Any]) -> Drawing:
    """The board with holes for stones; a column that is not full stands for its action."""
    wide, high = rules.columns * CELL, rules.rows * CELL
    picture = Drawing(max(wide + 2 * MARGIN, 9 * ROOM), high + 3 * MARGIN)
    left, board = (picture.width - wide) / 2, game["board"]
    picture.rect(left - 6, MARGIN - 6, wide + 12, high + 12, FRAME)
    ringed = set[int]().union(*marked(rules, board).values())
    for cell, stone in enumerate(board):
        row, column = divmod(cell, rules.columns)
        centre = left + (column + 0.5) * CELL, MARGIN + (row + 0.5) * CELL
        picture.circle(centre, 0.41 * CELL, COLOURS[stone])
        if cell in ringed:
            picture.circle(centre, 0.26 * CELL, stroke=LINE, width=4)
    for column in range(rules.columns):
        x = left + column * CELL
        picture.text((x + CELL / 2, MARGIN - 18), str(column + 1), 12, INK)
        if not board[column]:
            picture.area(box(x, MARGIN, CELL, high), column)
    picture.text((picture.width / 2, picture.height - MARGIN), status(rules, game, NAMES["drawing"]), 14, INK)
    return picture


def tile(rules: ConnectFour) -> Tile:
    """Return the board as a small picture."""
    return Tile(
        rules.columns, ([stone_pixel(cell, FRAME, COLOURS[1], COLOURS[-1]) for cell in range(rules.cells)],)
    )
