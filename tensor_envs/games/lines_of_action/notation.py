"""Dictionaries, action names and symmetries of Lines of Action."""

from typing import Any

from tensor_envs._validate import nested
from tensor_envs.games._kit import stones
from tensor_envs.games._kit import symmetries as kit
from tensor_envs.games._kit.fields import ended
from tensor_envs.games._kit.grids import move_name, rows_of
from tensor_envs.games.lines_of_action.rules import (
    MAX_PIECES,
    MOVE_BITS,
    MOVES_A_WORD,
    PLANES,
    SIDE,
    SQUARES,
    LinesOfAction,
    is_connected,
    movable,
)
from tensor_envs.rules import word64


def to_dict(rules: LinesOfAction, s: dict[str, Any]) -> dict[str, Any]:
    """Return {"board": 64 values 1, -1, 0 from row 1, "current_player": 0 or 1, "history": squares} (L10)."""
    player, history = s["current_player"], list[int]()
    board = [stones.STONES[player] * ((s["own"] >> k & 1) - (s["other"] >> k & 1)) for k in range(SQUARES)]
    for plies in range(s["quiet"]):
        move = s["history"][plies // MOVES_A_WORD] >> MOVE_BITS * (plies % MOVES_A_WORD)
        history = [move & 63, move >> 6 & 63, *history]
    return {"board": board, "current_player": player, "history": history}


def from_dict(rules: LinesOfAction, game: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a dictionary; connected pieces, no move, and a board that recurs end the game."""
    board, player = stones.board_and_player(game, SQUARES)
    own, other = sets_of(board, player)
    for stone in stones.STONES:
        if not 1 <= board.count(stone) <= MAX_PIECES:
            raise ValueError(f"board must have 1..{MAX_PIECES} pieces of {stone}, got {board.count(stone)}")
    moves = rows_of(nested("history", game["history"], (None,), 0, SQUARES - 1), 2)[::-1]
    if len(moves) > rules.quiet_plies or any(len(move) != 2 for move in moves):
        raise ValueError(f"history must be two squares for each of up to {rules.quiet_plies} moves")
    before = board.copy()
    for plies, (start, end) in enumerate(moves, 1):
        if before[start] or before[end] != stones.STONES[(player + plies) % 2]:
            raise ValueError(f"history must lead to the board, and the move from {start} to {end} does not")
        before[start], before[end] = before[end], 0
    history = packed(rules, moves)
    fields = {"own": own, "other": other, "quiet": len(moves), "history": history, "current_player": player}
    return fields | ended(end_of(rules, board, player, len(moves), history) is not None)


def packed(rules: LinesOfAction, moves: list[Any]) -> list[int]:
    """Return the words of a history: pairs of squares, the last move first."""
    history = [0] * rules.spec.fields[-1].size
    for plies, (start, end) in enumerate(moves):
        history[plies // MOVES_A_WORD] |= (start | end << 6) << MOVE_BITS * (plies % MOVES_A_WORD)
    return history


def sets_of(board: list[int], player: int) -> tuple[int, int]:
    """Return the squares of a player's pieces and of the opponent's, as bits."""
    own, other = (
        sum(1 << k for k, piece in enumerate(board) if piece == stones.STONES[p]) for p in (player, 1 - player)
    )
    return own, other


def end_of(rules: LinesOfAction, board: list[int], player: int, quiet: int, history: list[int]) -> str | None:
    """Return why the game has ended, "connected", "no move" or "draw" (L4, L5, L6); None if it goes on."""
    own, other = map(word64, sets_of(board, player))
    if is_connected(own).value or is_connected(other).value:
        return "connected"
    if quiet == rules.quiet_plies or (quiet and rules.recurs([word64(moves) for moves in history]).value):
        return "draw"
    return None if any(plane.value for plane in movable(own, other)) else "no move"


def action_to_string(rules: LinesOfAction, action: int) -> str:
    """Return the names of both squares, "b1b3" (L11)."""
    plane, square = divmod(action, SQUARES)
    return move_name(square, plane, PLANES[plane], SIDE, SIDE)


symmetries = kit.identity(board=SQUARES)  # L12
