"""Positions of ultimate tic-tac-toe as text and as drawings; small boards that are won have their owner's colour."""

from typing import Any

from tensor_envs.games._kit.stones import SIGNS, STONES
from tensor_envs.games.ultimate_tic_tac_toe.notation import SMALL_BOARDS, owners, winner
from tensor_envs.games.ultimate_tic_tac_toe.rules import CELLS, SIDE, UltimateTicTacToe
from tensor_envs.render.drawing import Drawing
from tensor_envs.render.grids import INK, SquareGrid, labelled
from tensor_envs.render.status import outcome, seat_names, to_move
from tensor_envs.render.tile import Tile, stone_pixel

COLOURS = {1: "#b3361b", -1: "#1d4f91"}
WON = {1: "#f3c4b6", -1: "#bcd0ee", 0: "#e4e7eb"}  # closed small boards, by their owner
# open boards, active ones, and lines
EMPTY = "#f8fafc"
OPEN = "#fff3bf"
GRID = "#24303f"
CELL, MARGIN = 36, 36  # pixels: a cell, around the grid
NAMES = ("X", "O")


def status(game: dict[str, Any]) -> str:
    """Return the status: the winner, a draw, or the player to move and the board of the move."""
    won = winner(game["board"])
    if won is None:
        where = [str(k + 1) for k, flag in enumerate(game["active"]) if flag]
        move = f"to move in board {where[0]}" if len(where) == 1 else "to move in any open board"
        return to_move(game, NAMES[game["current_player"]], move)
    return outcome(NAMES, STONES.index(won) if won else None)


def to_string(rules: UltimateTicTacToe, game: dict[str, Any]) -> str:
    """Return the grid with its small boards apart, the owners of these, and the status."""
    letters, *rows = (
        f"{line[:7]}  {line[8:13]}  {line[14:]}" for line in labelled([SIGNS[m] for m in game["board"]], SIDE)
    )
    won = "".join(SIGNS[stone] for stone in owners(game["board"]))
    lines = [letters, *rows[:3], "", *rows[3:6], "", *rows[6:]]
    return "\n".join([*lines, f"boards won: {won[:3]} {won[3:6]} {won[6:]}", status(game)])


def draw(rules: UltimateTicTacToe, game: dict[str, Any]) -> Drawing:
    """Draw the grid; a click on an empty cell of an active board plays there."""
    side = SIDE * CELL
    grid = SquareGrid(MARGIN, MARGIN, CELL)
    picture = Drawing(side + 2 * MARGIN, side + 2.5 * MARGIN, title="Ultimate tic-tac-toe")
    goes_on = not game.get("terminated") and winner(game["board"]) is None
    for k, (won, cells) in enumerate(zip(owners(game["board"]), SMALL_BOARDS, strict=True)):
        active = game["active"][k] and goes_on
        closed = won or all(game["board"][cell] for cell in cells)
        x = MARGIN + k % 3 * 3 * CELL
        y = MARGIN + k // 3 * 3 * CELL
        picture.rect(x, y, 3 * CELL, 3 * CELL, OPEN if active else WON[won] if closed else EMPTY)
        for cell in cells:
            if stone := game["board"][cell]:
                picture.text(grid.centre(*divmod(cell, SIDE)), SIGNS[stone], 22, COLOURS[stone], bold=True)
            elif active:
                picture.area(grid.square(*divmod(cell, SIDE)), cell)
    for k in range(SIDE + 1):
        at = MARGIN + k * CELL
        width = 3 if k % 3 == 0 else 1
        picture.line((at, MARGIN), (at, MARGIN + side), stroke=GRID, width=width)
        picture.line((MARGIN, at), (MARGIN + side, at), stroke=GRID, width=width)
    grid.draw_labels(picture, SIDE, SIDE)
    picture.text((picture.width / 2, side + 1.8 * MARGIN), status(game), 14, INK)
    return picture


players = seat_names(*NAMES)


def scores(rules: UltimateTicTacToe, game: dict[str, Any]) -> list[str]:
    """Return the number of small boards that each player has won."""
    return [f"{owners(game['board']).count(stone)} boards" for stone in (1, -1)]


def reason(rules: UltimateTicTacToe, game: dict[str, Any]) -> str:
    """Return why the game has ended."""
    return "three boards in a row" if winner(game["board"]) else "all boards are closed"


def tile(rules: UltimateTicTacToe) -> Tile:
    """Return the grid as a small picture."""
    return Tile(SIDE, ([stone_pixel(cell, EMPTY, COLOURS[1], COLOURS[-1]) for cell in range(CELLS)],))
