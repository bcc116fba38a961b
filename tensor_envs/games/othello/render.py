"""Positions of Othello as text and as drawings; the squares of legal actions are dotted."""

from typing import Any

from tensor_envs.games.othello.notation import discs, placeable
from tensor_envs.games.othello.rules import PASS, SIDE, Othello
from tensor_envs.games.stones import STONES
from tensor_envs.render.drawing import Drawing, box
from tensor_envs.render.tile import Tile, stone_pixel

SIGNS = {1: "X", -1: "O", 0: "."}
COLOURS = {1: "#111418", -1: "#fafafa"}
CLOTH, GRID, INK, DOT = "#2c7a4b", "#1d5634", "#24303f", "#bfe3cc"
CELL, MARGIN = 44, 36  # pixels: a square, around the board
NAMES = {"text": ("black (X)", "white (O)"), "drawing": ("black", "white")}


def legal(game: dict[str, Any]) -> list[int] | None:
    """The actions of the player to move; None once neither can place a disc."""
    sides = [discs(game["board"], colour) for colour in STONES]
    player = game["current_player"]
    own, other = sides[player], sides[1 - player]
    squares = placeable(own, other)
    if not squares and not placeable(other, own):
        return None
    return [square for square in range(SIDE * SIDE) if squares >> square & 1] or [PASS]


def status(game: dict[str, Any], names: tuple[str, str]) -> str:
    """How many discs lie, and who has won or is to move."""
    black, white = (game["board"].count(colour) for colour in STONES)
    score, actions, player = f"{black} : {white}", legal(game), names[game["current_player"]]
    if actions is None:
        return f"{score}, a draw" if black == white else f"{score}, {names[black < white]} has won"
    if game.get("terminated"):
        return f"{score}, over by an illegal action of {player}"
    return f"{score}, {player} {'must pass' if actions == [PASS] else 'to move'}"


def to_string(rules: Othello, game: dict[str, Any]) -> str:
    """Rows of X, O, ".", and "*" where the player to move may place a disc; how the game stands."""
    actions = () if game.get("terminated") else legal(game) or ()
    signs = ["*" if square in actions else SIGNS[disc] for square, disc in enumerate(game["board"])]
    rows = [f"{row + 1} " + " ".join(signs[SIDE * row : SIDE * (row + 1)]) for row in range(SIDE)]
    return "\n".join(["  " + " ".join("abcdefgh"), *rows, status(game, NAMES["text"])])


def to_svg(rules: Othello, game: dict[str, Any]) -> str:
    """The drawing as an SVG document."""
    return draw(rules, game).to_svg()


def draw(rules: Othello, game: dict[str, Any]) -> Drawing:
    """The board; a dotted square stands for its action, the whole board for a pass."""
    side = SIDE * CELL
    picture = Drawing(side + 2 * MARGIN, side + 2.5 * MARGIN)
    picture.rect(MARGIN, MARGIN, side, side, CLOTH)
    for at in range(MARGIN, MARGIN + side + 1, CELL):
        picture.line((at, MARGIN), (at, MARGIN + side), stroke=GRID)
        picture.line((MARGIN, at), (MARGIN + side, at), stroke=GRID)
    for k, letter in enumerate("abcdefgh"):
        middle = MARGIN + (k + 0.5) * CELL
        picture.text((middle, MARGIN - 14), letter, 12, INK)
        picture.text((MARGIN - 14, middle), str(k + 1), 12, INK)
    actions = () if game.get("terminated") else legal(game) or ()
    for square, disc in enumerate(game["board"]):
        row, column = divmod(square, SIDE)
        centre = MARGIN + (column + 0.5) * CELL, MARGIN + (row + 0.5) * CELL
        if disc:
            picture.circle(centre, 0.42 * CELL, COLOURS[disc])
        elif square in actions:
            picture.circle(centre, 0.1 * CELL, DOT)
            picture.area(box(centre[0] - CELL / 2, centre[1] - CELL / 2, CELL, CELL), square)
    if PASS in actions:
        picture.area(box(MARGIN, MARGIN, side, side), PASS)
    picture.text((picture.width / 2, side + 1.8 * MARGIN), status(game, NAMES["drawing"]), 14, INK)
    return picture


def tile(rules: Othello) -> Tile:
    """Return the board as a small picture."""
    return Tile(
        SIDE, ([stone_pixel(square, CLOTH, COLOURS[1], COLOURS[-1]) for square in range(SIDE * SIDE)],)
    )
