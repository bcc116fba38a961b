"""Positions of 2048 as text and as drawings."""

from typing import Any

from tensor_envs.games.game_2048.notation import TILES, legal
from tensor_envs.games.game_2048.rules import SIDE, Game2048
from tensor_envs.render.drawing import Drawing, box
from tensor_envs.render.grids import INK, rows_of
from tensor_envs.render.tile import Pixel, StateBits, Tile

# pixels: a cell, between cells, around the board
CELL = 72
GAP = 8
MARGIN = 44
PAPER = "#faf8ef"
FRAME = "#bbada0"
EMPTY = "#cdc1b4"
DARK = "#4a433b"
PALE = "#ffffff"
COLOURS = (
    EMPTY, "#eee4da", "#ede0c8", "#f2b179", "#f59563", "#f67c5f", "#f65e3b", "#edcf72", "#edcc61", "#edc850",
    "#edc53f", "#edc22e", "#3c7a5d", "#33705a", "#2b6657", "#245c54", "#1d5250", "#17484c",
)  # fmt: skip


def status(game: dict[str, Any]) -> str:
    """Return the highest tile, and whether the game goes on."""
    best = f"highest tile {max(game['board'])}"
    if not legal(game["board"]):
        return f"{best}, the game is over"
    return f"{best}, over by an illegal action" if game.get("terminated") else best


def to_string(rules: Game2048, game: dict[str, Any]) -> str:
    """Return rows of tiles, "." for an empty cell, and the status."""
    tiles = [f"{tile or '.':>7}" for tile in game["board"]]
    return "\n".join([*map("".join, rows_of(tiles, SIDE)), status(game)])


def draw(rules: Game2048, game: dict[str, Any]) -> Drawing:
    """Draw the tiles; arrows on the four sides stand for the slides."""
    side = SIDE * CELL + (SIDE + 1) * GAP
    picture = Drawing(side + 2 * MARGIN, side + 2 * MARGIN + 24, PAPER, title="2048")
    picture.rect(MARGIN, MARGIN, side, side, FRAME)
    for cell, tile in enumerate(game["board"]):
        row, column = divmod(cell, SIDE)
        x, y = (MARGIN + GAP + (CELL + GAP) * at for at in (column, row))
        picture.rect(x, y, CELL, CELL, COLOURS[TILES.index(tile)])
        if tile:
            size = (30, 30, 27, 23, 19, 16)[len(str(tile)) - 1]
            colour = DARK if tile < 8 else PALE
            picture.text((x + CELL / 2, y + CELL / 2), str(tile), size, colour, bold=True)
    actions = () if game.get("terminated") else legal(game["board"])
    middle = MARGIN + side / 2
    for action in actions:
        dx, dy = ((0, -1), (1, 0), (0, 1), (-1, 0))[action]
        far = side / 2 + 13  # the arrow's base from the middle
        left = middle + dx * far
        top = middle + dy * far
        tip = (left + 18 * dx, top + 18 * dy)
        wide = (14 * dy, 14 * dx)
        arrow = [tip, (left + wide[0], top + wide[1]), (left - wide[0], top - wide[1])]
        picture.polygon(arrow, FRAME)
        # the whole margin of that side
        corner = (MARGIN + side * max(dx, 0) + MARGIN * min(dx, 0), MARGIN + side * max(dy, 0) + MARGIN * min(dy, 0))
        picture.area(box(*corner, MARGIN if dx else side, MARGIN if dy else side), action)
    picture.text((picture.width / 2, picture.height - 20), status(game), 14, INK)
    return picture


def reason(rules: Game2048, game: dict[str, Any]) -> str:
    """Return the highest tile."""
    return f"no tile can move, and the highest is {max(game['board'])}"


def tile(rules: Game2048) -> Tile:
    """Return the board as a small picture."""
    return Tile(SIDE, ([Pixel(COLOURS, (StateBits("board", cell),)) for cell in range(SIDE * SIDE)],))
