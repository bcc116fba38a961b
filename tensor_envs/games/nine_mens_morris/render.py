"""Positions of nine men's morris as text and as drawings."""

from collections.abc import Sequence
from typing import Any

from tensor_envs.games._kit.stones import SIGNS, STONES
from tensor_envs.games.nine_mens_morris.notation import ends_of, from_dict, in_hand
from tensor_envs.games.nine_mens_morris.rules import CELLS, LINES, PLACING, SIDE, NineMensMorris
from tensor_envs.render.drawing import Drawing, disc
from tensor_envs.render.grids import INK, SquareGrid
from tensor_envs.render.status import counted, outcome, seat_names, signed, to_move
from tensor_envs.render.tile import Pixel, Tile, stone_pixel
from tensor_envs.rules.plain import legal_actions, open_actions

CELL, MARGIN = 52, 36  # pixels: between lines, around the board
AREA = 0.4  # radius of what is clicked, in cells
WOOD = "#ecd9b4"
LINE = "#5b4226"
DOT = "#2c7a4b"
COLOURS = {1: "#fafafa", -1: "#22262b"}
NAMES = ("White", "Black")


def men(game: dict[str, Any], player: int) -> tuple[int, int]:
    """Return the number of a player's men in hand and on the board."""
    placed = game["removes"] and game["turns"] < PLACING and player == game["turns"] % 2
    return in_hand(game["turns"], player) - placed, game["board"].count(STONES[player])


def status(rules: NineMensMorris, game: dict[str, Any], names: Sequence[str] = NAMES) -> str:
    """Return the status: the winner, or the player who places, moves or removes a man."""
    player = game["turns"] % 2
    if from_dict(rules, game)["terminated"]:
        lost = loser(rules, game)
        return outcome(names, None if lost is None else 1 - lost, reason(rules, game))
    task = "remove a man" if game["removes"] else "place a man" if game["turns"] < PLACING else "move"
    return to_move(game, names[player], f"to {task}")


def loser(rules: NineMensMorris, game: dict[str, Any]) -> int | None:
    """Return the loser of a game that has ended (N7), or None for a draw (N8)."""
    beaten = [who for who in (0, 1) if sum(men(game, who)) <= 2]
    if beaten:
        return beaten[0]
    return None if legal_actions(rules, from_dict(rules, game)) else game["turns"] % 2


def reason(rules: NineMensMorris, game: dict[str, Any]) -> str:
    """Return why the game has ended (N7, N8)."""
    lost = loser(rules, game)
    if lost is None:
        return f"{rules.max_turns} turns"
    return f"{NAMES[lost]} " + ("has two men left" if sum(men(game, lost)) <= 2 else "cannot move")


def to_string(rules: NineMensMorris, game: dict[str, Any]) -> str:
    """Return rows of X for White, O for Black and "." for empty points, the men in hand, the turns, and the status."""
    cells = [" "] * SIDE**2
    for point, cell in enumerate(CELLS):
        cells[cell] = SIGNS[game["board"][point]]
    rows = [f"{SIDE - k} " + " ".join(cells[SIDE * k : SIDE * k + SIDE]).rstrip() for k in range(SIDE)]
    hands = ", ".join(f"{name} {men(game, player)[0]}" for player, name in enumerate(NAMES))
    count = f"men in hand: {hands}; turns: {game['turns']} of {rules.max_turns}"
    return "\n".join([*rows, "  " + " ".join("abcdefg"), count, status(rules, game, signed(NAMES))])


def draw(rules: NineMensMorris, game: dict[str, Any]) -> Drawing:
    """Draw the board; points stand for their actions, and for the moves from them and to them."""
    side = SIDE * CELL
    grid = SquareGrid(MARGIN, MARGIN, CELL)
    picture = Drawing(side + 2 * MARGIN, side + 2.5 * MARGIN, title="Nine men's morris")
    picture.rect(MARGIN, MARGIN, side, side, WOOD, INK)
    for line in LINES:
        first, _, last = (grid.centre(*divmod(CELLS[point], SIDE)) for point in line)
        picture.line(first, last, stroke=LINE, width=2)
    grid.draw_labels(picture, SIDE, SIDE, from_top=False)
    actions = open_actions(rules, game, from_dict(rules, game))
    for point, cell in enumerate(CELLS):
        place = divmod(cell, SIDE)
        man = game["board"][point]
        picture.circle(grid.centre(*place), 0.09 * CELL, LINE)
        if man:
            picture.circle(grid.centre(*place), 0.36 * CELL, COLOURS[man], COLOURS[-man], 1.5)
        if here := [action for action in actions if point in (ends_of(action) or [action])]:
            if here[0] == point:
                picture.circle(grid.centre(*place), 0.12 * CELL, DOT)
            targets = [action for action in here if (ends_of(action) or [-1])[-1] == point]
            picture.area(disc(grid.centre(*place), AREA * CELL), *here, targets=targets)
    picture.text((picture.width / 2, side + 1.8 * MARGIN), status(rules, game), 14, INK)
    return picture


players = seat_names(*NAMES)


def scores(rules: NineMensMorris, game: dict[str, Any]) -> list[str]:
    """Return the numbers of men on the board and in hand."""
    counts = [men(game, player) for player in (0, 1)]
    return [counted(placed, "man", "men") + f", {hand} in hand" * (hand > 0) for hand, placed in counts]


def explain(rules: NineMensMorris, game: dict[str, Any], action: int) -> str:
    """Return whether a man is removed (N5), and nothing for other actions."""
    return f"remove the man of {NAMES[1 - game['turns'] % 2]}" if game["removes"] else ""


def tile(rules: NineMensMorris) -> Tile:
    """Return the board as a small picture."""
    pixels = [Pixel((WOOD,))] * SIDE**2
    for point, cell in enumerate(CELLS):
        pixels[cell] = stone_pixel(point, LINE, *COLOURS.values())
    return Tile(SIDE, (pixels,))
