"""Positions of Lines of Action as text and as drawings."""

from collections.abc import Sequence
from typing import Any

from tensor_envs.games._kit.stones import SIGNS, counts
from tensor_envs.games.lines_of_action.notation import end_of, from_dict, sets_of, step_of
from tensor_envs.games.lines_of_action.rules import SIDE, SQUARES, LinesOfAction, is_connected
from tensor_envs.render.drawing import Drawing
from tensor_envs.render.grids import DARK, draw_pieces, labelled, rows_of, target_of
from tensor_envs.render.status import counted, outcome, seat_names, signed, to_move
from tensor_envs.render.tile import Tile, stone_pixel
from tensor_envs.rules import uint64
from tensor_envs.rules.plain import open_actions

COLOURS = {1: "#22262b", -1: "#fafafa"}
EMPTY = DARK  # squares in small pictures
NAMES = ("Black", "White")


def end(rules: LinesOfAction, game: dict[str, Any]) -> str | None:
    """Return why the game has ended, None if it goes on."""
    return end_of(rules, game["board"], game["current_player"], rows_of(game["history"], 2)[::-1])


def status(rules: LinesOfAction, game: dict[str, Any], names: Sequence[str] = NAMES) -> str:
    """Return the status: the winner, a draw, or the player to move."""
    player = game["current_player"]
    why = end(rules, game)
    if why is None:
        return to_move(game, names[player])
    if why == "draw":
        return outcome(names, None, reason(rules, game))
    _, other = sets_of(game["board"], player)
    winner = 1 - player if why == "no move" or is_connected(uint64(other)).value else player
    return outcome(names, winner, reason(rules, game))


def to_string(rules: LinesOfAction, game: dict[str, Any]) -> str:
    """Return rows of X, O and ".", row 8 first, and the status."""
    lines = labelled([SIGNS[piece] for piece in game["board"]], SIDE, from_top=False)
    return "\n".join([*lines, status(rules, game, signed(NAMES))])


def draw(rules: LinesOfAction, game: dict[str, Any]) -> Drawing:
    """Draw the board; a piece and the squares that it can reach stand for its actions."""
    moves = dict[tuple[int, int], int]()
    for action in open_actions(rules, game, from_dict(rules, game)):
        square = action % SQUARES
        if (target := target_of(square, step_of(action), SIDE, SIDE)) is not None:
            moves[square, target] = action
    line = status(rules, game)
    return draw_pieces("Lines of Action", (SIDE, SIDE), game["board"], COLOURS, moves, line)


players = seat_names(*NAMES)


def scores(rules: LinesOfAction, game: dict[str, Any]) -> list[str]:
    """Return the number of pieces of each player."""
    return [counted(number, "piece") for number in counts(game["board"])]


def reason(rules: LinesOfAction, game: dict[str, Any]) -> str:
    """Return why the game has ended."""
    quiet = len(game["history"]) == 2 * rules.quiet_plies
    draw = f"{rules.quiet_plies} plies without a capture" if quiet else "the board was the same before"
    reasons = {None: "", "connected": "all pieces are connected", "no move": "no legal move", "draw": draw}
    return reasons[end(rules, game)]


def tile(rules: LinesOfAction) -> Tile:
    """Return the board as a small picture, row 8 on top."""
    squares = [row * SIDE + column for row in range(SIDE)[::-1] for column in range(SIDE)]
    return Tile(SIDE, ([stone_pixel(square, EMPTY, COLOURS[1], COLOURS[-1]) for square in squares],))
