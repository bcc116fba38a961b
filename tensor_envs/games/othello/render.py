"""Positions of Othello as text and as drawings; the squares of legal actions are dotted."""

from collections.abc import Sequence
from typing import Any

from tensor_envs.games._kit.stones import SIGNS, counts, status_of_counts
from tensor_envs.games.othello.notation import from_dict
from tensor_envs.games.othello.rules import PASS, SIDE, Othello
from tensor_envs.render.drawing import Drawing, box
from tensor_envs.render.grids import INK, SquareGrid, labelled
from tensor_envs.render.status import number_texts, seat_names, signed
from tensor_envs.render.tile import Tile, stone_pixel
from tensor_envs.rules.plain import open_actions

COLOURS = {1: "#111418", -1: "#fafafa"}
CLOTH = "#2c7a4b"
GRID = "#1d5634"
DOT = "#bfe3cc"
CELL, MARGIN = 44, 36  # pixels: a square, around the board
NAMES = ("Black", "White")


def status(rules: Othello, game: dict[str, Any], names: Sequence[str] = NAMES) -> str:
    """Return the number of discs of each player, and the winner or the player to move."""
    s = from_dict(rules, game)
    task = "to move" if s["moves"] else "must pass"
    return status_of_counts(game, counts(game["board"]), s["terminated"], names, task)


def to_string(rules: Othello, game: dict[str, Any]) -> str:
    """Return rows of X, O, ".", and "*" for the squares of legal actions, and the status."""
    actions = open_actions(rules, game, from_dict(rules, game))
    signs = ["*" if square in actions else SIGNS[disc] for square, disc in enumerate(game["board"])]
    return "\n".join([*labelled(signs, SIDE), status(rules, game, signed(NAMES))])


def draw(rules: Othello, game: dict[str, Any]) -> Drawing:
    """Draw the board; a click on a dotted square plays there, one on a board without moves passes."""
    side = SIDE * CELL
    grid = SquareGrid(MARGIN, MARGIN, CELL)
    picture = Drawing(side + 2 * MARGIN, side + 2.5 * MARGIN, title="Othello")
    picture.rect(MARGIN, MARGIN, side, side, CLOTH)
    for at in range(MARGIN, MARGIN + side + 1, CELL):
        picture.line((at, MARGIN), (at, MARGIN + side), stroke=GRID)
        picture.line((MARGIN, at), (MARGIN + side, at), stroke=GRID)
    grid.draw_labels(picture, SIDE, SIDE)
    actions = open_actions(rules, game, from_dict(rules, game))
    for square, disc in enumerate(game["board"]):
        place = divmod(square, SIDE)
        if disc:
            picture.circle(grid.centre(*place), 0.42 * CELL, COLOURS[disc])
        elif square in actions:
            picture.circle(grid.centre(*place), 0.1 * CELL, DOT)
            picture.area(grid.square(*place), square)
    if PASS in actions:
        picture.area(box(MARGIN, MARGIN, side, side), PASS)
    picture.text((picture.width / 2, side + 1.8 * MARGIN), status(rules, game), 14, INK)
    return picture


players = seat_names(*NAMES)
scores, reason = number_texts(lambda game: counts(game["board"]), "disc")


def explain(rules: Othello, game: dict[str, Any], action: int) -> str:
    """Return the effect of a pass."""
    return "no disc can be placed" if action == PASS else ""


def tile(rules: Othello) -> Tile:
    """Return the board as a small picture."""
    return Tile(SIDE, ([stone_pixel(square, CLOTH, COLOURS[1], COLOURS[-1]) for square in range(SIDE * SIDE)],))
