"""Positions of amazons as text and as drawings."""

from collections.abc import Sequence
from typing import Any

from tensor_envs.games._kit.stones import SIGNS
from tensor_envs.games.amazons.notation import ARROW, action_to_string, from_dict
from tensor_envs.games.amazons.rules import Amazons
from tensor_envs.render.drawing import Drawing
from tensor_envs.render.grids import INK, SquareGrid, draw_chequered, rows_of
from tensor_envs.render.status import outcome, seat_names, signed, to_move
from tensor_envs.render.tile import Pixel, StateBits, Tile
from tensor_envs.rules.plain import open_actions

CELL, MARGIN = 40, 36  # pixels: a square, around the board
LIGHT = "#f0dfc0"
DARK = "#c79a6b"
DOT = "#2c7a4b"
FLAME = "#b5422c"
COLOURS = {1: "#fafafa", -1: "#22262b", ARROW: FLAME}
NAMES = ("White", "Black")
TASKS = ("to choose an amazon", "to move the amazon on {}", "to shoot from {}")


def status(rules: Amazons, game: dict[str, Any], names: Sequence[str] = NAMES) -> str:
    """Return the status: the winner, or the player who chooses, moves or shoots."""
    player = game["current_player"]
    if from_dict(rules, game)["terminated"]:
        return outcome(names, 1 - player, reason(rules, game))
    return to_move(game, names[player], TASKS[game["phase"]].format(action_to_string(rules, game["active"])))


def reason(rules: Amazons, game: dict[str, Any]) -> str:
    """Return why the game has ended (A5)."""
    return f"{NAMES[game['current_player']]} cannot move"


def to_string(rules: Amazons, game: dict[str, Any]) -> str:
    """Return rows of X for amazons of White, O of Black, * for arrows and ".", and the status."""
    signs = SIGNS | {ARROW: "*"}
    rows = rows_of([signs[value] for value in game["board"]], rules.size)
    lines = [f"{rules.size - k:>2} " + " ".join(row) for k, row in enumerate(rows)]
    return "\n".join([*lines, "   " + " ".join("abcdefghij"[: rules.size]), status(rules, game, signed(NAMES))])


def draw(rules: Amazons, game: dict[str, Any]) -> Drawing:
    """Draw the board, with an action on each dotted square, or on each amazon that can move."""
    side = rules.size * CELL
    grid = SquareGrid(MARGIN, MARGIN, CELL)
    picture = Drawing(side + 2 * MARGIN, side + 2.5 * MARGIN, title="Amazons")
    draw_chequered(picture, grid, rules.size, LIGHT, DARK)
    grid.draw_labels(picture, rules.size, rules.size, from_top=False)
    actions = open_actions(rules, game, from_dict(rules, game))
    for square, value in enumerate(game["board"]):
        place = divmod(square, rules.size)
        if value == ARROW:
            picture.circle(grid.centre(*place), 0.22 * CELL, FLAME, INK)
        elif value:
            picture.circle(grid.centre(*place), 0.38 * CELL, COLOURS[value], COLOURS[-value], 1.5)
            picture.circle(grid.centre(*place), 0.14 * CELL, DOT if square == game["active"] else COLOURS[-value])
        if square in actions:
            picture.circle(grid.centre(*place), 0.08 * CELL, DOT)
            picture.area(grid.square(*place), square)
    picture.text((picture.width / 2, side + 1.8 * MARGIN), status(rules, game), 14, INK)
    return picture


players = seat_names(*NAMES)


def explain(rules: Amazons, game: dict[str, Any], action: int) -> str:
    """Return the effect of an action in this phase."""
    return ("choose the amazon on", "move to", "shoot at")[game["phase"]] + " " + action_to_string(rules, action)


def tile(rules: Amazons) -> Tile:
    """Return the board as a small picture."""
    pixels = []
    for square in range(rules.cells):
        ground = (LIGHT, DARK)[sum(divmod(square, rules.size)) % 2]
        sets = tuple(StateBits(name, 0, square, 1) for name in ("own", "other", "arrows"))
        values = (ground, COLOURS[1], COLOURS[-1], ground), (ground, COLOURS[-1], COLOURS[1], ground)
        colours = [colour for side in values for colour in (*side, *[FLAME] * 4)]
        pixels.append(Pixel(tuple(colours), (*sets, StateBits("current_player"))))
    return Tile(rules.size, (pixels,))
