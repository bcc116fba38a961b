"""Positions of dark Hex as text and as drawings, stones that the opponent has found with a dot."""

from typing import Any

from tensor_envs.games._kit import hex_boards, hidden_stones
from tensor_envs.games._kit.hex_boards import NAMES
from tensor_envs.games.dark_hex.rules import DarkHex
from tensor_envs.render.drawing import Drawing
from tensor_envs.render.status import seat_names, signed

seen_by = hidden_stones.seen_by
visible_moves = hidden_stones.visible_moves
players = seat_names(*NAMES)
reason, tile = hex_boards.reason, hex_boards.tile


def to_string(rules: DarkHex, game: dict[str, Any]) -> str:
    """Return rows of X, O and ".", stones that the opponent has found in lower case, and the status."""
    rows = hex_boards.to_rows(hidden_stones.signs(game), rules.size)
    return "\n".join([*rows, hidden_stones.status(rules, game, signed(NAMES))])


def draw(rules: DarkHex, game: dict[str, Any]) -> Drawing:
    """Draw the board; a click plays on a cell where the player to move has seen no stone."""
    actions = {cell: cell for cell in hidden_stones.open_cells(rules, game)}
    dotted = [cell for cell, found in enumerate(game["found"]) if found]
    status = hidden_stones.status(rules, game, NAMES)
    return hex_boards.draw_board("Dark Hex", game["board"], rules.size, status, actions, dotted)
