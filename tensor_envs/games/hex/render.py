"""Positions of Hex as text and as drawings, the winning group marked."""

from collections.abc import Sequence
from typing import Any

from tensor_envs.games._kit import hex_boards
from tensor_envs.games._kit.hex_boards import NAMES, draw_board, to_rows
from tensor_envs.games._kit.stones import SIGNS
from tensor_envs.games.hex.rules import Hex
from tensor_envs.render.drawing import Drawing
from tensor_envs.render.status import outcome, seat_names, signed, to_move

players = seat_names(*NAMES)
reason, tile = hex_boards.reason, hex_boards.tile


def may_swap(rules: Hex, game: dict[str, Any]) -> bool:
    """Return whether a swap is legal."""
    single = rules.cells - game["board"].count(0) == 1
    return rules.swap and single and game["current_player"] == 1 and not game.get("terminated")


def status(rules: Hex, game: dict[str, Any], names: Sequence[str] = NAMES) -> str:
    """Return the status: the player who has connected the sides, or the player to move."""
    winner = hex_boards.winner(game["board"], rules.size)
    if winner is not None:
        return outcome(names, winner, reason(rules, game))
    move = "to move, or to swap" if may_swap(rules, game) else "to move"
    return to_move(game, names[game["current_player"]], move)


def to_string(rules: Hex, game: dict[str, Any]) -> str:
    """Return rows of X, O and ".", each one column further to the right, and the status."""
    signs = [SIGNS[stone] for stone in game["board"]]
    return "\n".join([*to_rows(signs, rules.size), status(rules, game, signed(NAMES))])


def draw(rules: Hex, game: dict[str, Any]) -> Drawing:
    """Draw the board; a click on a free cell plays there, one on the stone swaps."""
    board = game["board"]
    swap = may_swap(rules, game)
    over = game.get("terminated") or hex_boards.winner(board, rules.size) is not None
    actions = {cell: rules.cells if stone else cell for cell, stone in enumerate(board) if not stone or swap}
    return draw_board("Hex", board, rules.size, status(rules, game), {} if over else actions)


def explain(rules: Hex, game: dict[str, Any], action: int) -> str:
    """Return the effect of a swap."""
    return "take over Red's stone" if action == rules.cells else ""
