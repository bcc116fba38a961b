"""Positions of Chinese checkers as text and as drawings."""

from collections.abc import Sequence
from typing import Any

from tensor_envs.games.chinese_checkers import notation
from tensor_envs.games.chinese_checkers.notation import END_TURN, cell_name, cells_with, target_of, winner
from tensor_envs.games.chinese_checkers.rules import ChineseCheckers
from tensor_envs.games.chinese_checkers.star import BITS, CELLS, GRID, NUM_WAYS, PIECES, PLACES, SIDE, WIDEST, WIDTHS
from tensor_envs.render.drawing import Drawing, Point, box, disc
from tensor_envs.render.grids import INK
from tensor_envs.render.status import counted, outcome, signed, to_move
from tensor_envs.render.tile import Pixel, StateBits, Tile
from tensor_envs.rules.plain import open_actions

# pixels: from a cell to the next one in its row and from row to row, around the board, below it; the button
ACROSS, DOWN = 30, 26
MARGIN = 40
FOOT = 92
BUTTON = (110, 30)
SPREAD = 1.13  # size of the triangles of the star, in those whose corners are cells
WOOD = "#ecd9b4"
LINE = "#8a6a3f"
HOLE = "#fbf5e6"
RING = "#ffffff"
NAMES = ("Red", "Blue", "Green", "Yellow", "Purple", "Black")
COLOURS = ("#c8372d", "#2457a6", "#2c8a4b", "#e3b023", "#8e4fb5", "#22262b")
PALE = ("#f0c4bf", "#bfd0ea", "#c2e0cb", "#f5e5b4", "#dcc8e8", "#c9cbcd")  # holes of the points
DARK_NUMBER = 4  # player number that is written in ink, on light pieces


def players(rules: ChineseCheckers, game: dict[str, Any] | None) -> list[str]:
    """Return the names of the seats."""
    return list(NAMES[: rules.players])


def status(rules: ChineseCheckers, game: dict[str, Any], names: Sequence[str] = NAMES) -> str:
    """Return the status: the winner, a draw, or the player who moves or hops on."""
    if notation.from_dict(rules, game)["terminated"]:
        return outcome(names, winner(rules, game), reason(rules, game))
    piece = piece_of(game)
    task = "to move" if piece is None else f"to hop on from {cell_name(piece)}, or to end the turn"
    return to_move(game, names[game["turns"] % rules.players], task)


def reason(rules: ChineseCheckers, game: dict[str, Any]) -> str:
    """Return why the game has ended (S7, S8)."""
    if winner(rules, game) is not None:
        return "all pieces are in the opposite point"
    return f"{rules.max_turns} turns" if game["turns"] == rules.max_turns else ""


def scores(rules: ChineseCheckers, game: dict[str, Any]) -> list[str]:
    """Return how many pieces of each player are in the opposite point."""
    board = game["board"]
    numbers = [sum(board[cell] == player + 1 for cell in goal) for player, goal in enumerate(rules.goals)]
    return [f"{number} of {counted(PIECES, 'piece')} across" for number in numbers]


def piece_of(game: dict[str, Any]) -> int | None:
    """Return the cell of the piece that may hop on, None at the start of a turn."""
    return next((cell for cell in cells_with(game["visited"], 1) if game["board"][cell]), None)


def to_string(rules: ChineseCheckers, game: dict[str, Any]) -> str:
    """Return rows of the players' numbers and ".", each with its letter, and the status."""
    signs = ".123456"[: rules.players + 1]
    lines = [cell_name(sum(WIDTHS[:row]))[0] + " " * (WIDEST - width) for row, width in enumerate(WIDTHS)]
    for (row, _), owner in zip(PLACES, game["board"], strict=True):
        lines[row] += f" {signs[owner]}"
    return "\n".join([*lines, status(rules, game, signed(players(rules, game), signs[1:]))])


def centre(cell: int) -> Point:
    """Return the middle of a cell in a picture."""
    row, column = PLACES[cell]
    return MARGIN + ACROSS * (column + (WIDEST - WIDTHS[row] + 1) / 2), MARGIN + DOWN * (row + 0.5)


def draw(rules: ChineseCheckers, game: dict[str, Any]) -> Drawing:
    """Draw the star; a piece and the cells that it can reach stand for its moves, a button ends the turn."""
    picture = Drawing(ACROSS * WIDEST + 2 * MARGIN, DOWN * SIDE + MARGIN + FOOT, title="Chinese checkers")
    draw_star(rules, picture)
    draw_pieces(rules, game, picture)
    actions = open_actions(rules, game, notation.from_dict(rules, game))
    visited = cells_with(game["visited"], 1)
    ends = {a: (a // NUM_WAYS, target_of(game["board"], visited, a)) for a in actions if a != END_TURN}
    for cell in range(CELLS):
        if here := [action for action, cells in ends.items() if cell in cells]:
            targets = [action for action in here if ends[action][1] == cell]
            picture.area(disc(centre(cell), ACROSS / 2), *here, targets=targets)
    middle = picture.width / 2
    if END_TURN in actions:
        top = MARGIN + DOWN * SIDE + 14
        button = (middle - BUTTON[0] / 2, top, *BUTTON)
        picture.rect(*button, WOOD, LINE)
        picture.text((middle, top + BUTTON[1] / 2), notation.action_to_string(rules, END_TURN), 13, INK)
        picture.area(box(*button), END_TURN)
    picture.text((middle, picture.height - 24), status(rules, game), 14, INK)
    return picture


def draw_pieces(rules: ChineseCheckers, game: dict[str, Any], picture: Drawing) -> None:
    """Draw the pieces, with a ring on the one that may hop on, and dots on the cells behind it."""
    for cell, owner in enumerate(game["board"]):
        if owner:
            picture.circle(centre(cell), 0.42 * ACROSS, COLOURS[owner - 1], INK)
        if owner and rules.players > 2:
            picture.text(centre(cell), str(owner), 12, INK if owner == DARK_NUMBER else RING, bold=True)
        if game["visited"][cell] and owner:
            picture.circle(centre(cell), 0.3 * ACROSS, stroke=RING, width=3)
        elif game["visited"][cell]:
            picture.circle(centre(cell), 0.12 * ACROSS, INK)


def draw_star(rules: ChineseCheckers, picture: Drawing) -> None:
    """Draw the empty board: two triangles, holes, pale ones where players begin, and the letters of the rows."""
    for corners in ((0, 98, 110), (10, 22, 120)):
        points = [centre(cell) for cell in corners]
        x, y = (sum(axis) / 3 for axis in zip(*points, strict=True))
        picture.polygon([(x + SPREAD * (a - x), y + SPREAD * (b - y)) for a, b in points], WOOD)
    colours = [HOLE] * CELLS
    for player, home in enumerate(rules.homes):
        for cell in home:
            colours[cell] = PALE[player]
    for cell, colour in enumerate(colours):
        x, y = centre(cell)
        picture.circle((x, y), 0.3 * ACROSS, colour, LINE)
        if PLACES[cell][1] == 0:
            picture.text((x - 0.95 * ACROSS, y), cell_name(cell)[0], 12, INK)


def explain(rules: ChineseCheckers, game: dict[str, Any], action: int) -> str:
    """Return where a move ends, or why the turn does."""
    if action == END_TURN:
        return "no piece can move" if piece_of(game) is None else "the piece stays where it is"
    cell = target_of(game["board"], cells_with(game["visited"], 1), action)
    return "" if cell is None else f"to {cell_name(cell)}"


def tile(rules: ChineseCheckers) -> Tile:
    """Return the board as a small picture; a cell is two pixels wide and high."""
    # A value of the players' bits has the colour of the first player with a piece.
    owners = ([p for p in range(rules.players) if value >> p & 1] for value in range(2**rules.players))
    colours = tuple(COLOURS[present[0]] if present else HOLE for present in owners)
    rows = [[Pixel((WOOD,))] * (2 * WIDEST) for _ in WIDTHS]
    for (row, column), bit in zip(PLACES, BITS, strict=True):
        sets = tuple(StateBits("pieces", GRID.words * player, bit, 1) for player in range(rules.players))
        start = WIDEST - WIDTHS[row] + 2 * column
        rows[row][start : start + 2] = [Pixel(colours, sets)] * 2
    return Tile(2 * WIDEST, ([pixel for row in rows for _ in (0, 1) for pixel in row],))
