"""Dictionaries and action names of Lines of Action."""

from typing import Any

from tensor_envs._validate import nested
from tensor_envs.games._kit import stones
from tensor_envs.games.lines_of_action.rules import (
    BACK,
    CHANGE_DIGITS,
    DIGITS,
    MAX_PIECES,
    PLANES,
    SIDE,
    SQUARES,
    LinesOfAction,
    is_connected,
    movable,
)
from tensor_envs.render.grids import move_name, rows_of, target_of
from tensor_envs.rules import WORD_BITS, pack, uint64
from tensor_envs.rules.plain import ended


def to_dict(rules: LinesOfAction, s: dict[str, Any]) -> dict[str, Any]:
    """Return {"board": 64 values 1, -1, 0 from row 1, "current_player": 0 or 1, "history": squares} (L10)."""
    player = s["current_player"]
    board = [stones.STONES[player] * ((s["own"] >> k & 1) - (s["other"] >> k & 1)) for k in range(SQUARES)]
    plies = range(s["quiet"])[::-1]
    history = [number_at(s[name], ply) for ply in plies for name in ("starts", "ends")]
    return {"board": board, "current_player": player, "history": history}


def from_dict(rules: LinesOfAction, game: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a dictionary. Connected pieces, a lack of moves or a repeated board end the game."""
    board, player = stones.board_and_player(game, SQUARES)
    own, other = sets_of(board, player)
    for stone in stones.STONES:
        if not 1 <= board.count(stone) <= MAX_PIECES:
            raise ValueError(f"board must have 1..{MAX_PIECES} pieces of {stone}, got {board.count(stone)}")
    moves = rows_of(nested("history", game["history"], (None,), 0, SQUARES - 1), 2)[::-1]
    if len(moves) > rules.quiet_plies or any(len(move) != 2 for move in moves):
        raise ValueError(f"history must be two squares for each of up to {rules.quiet_plies} moves")
    # Take the moves back, the last one first: they must lead from an earlier board to this one.
    before = board.copy()
    boards = list[list[int]]()
    for plies, (start, end) in enumerate(moves, 1):
        if before[start] or before[end] != stones.STONES[(player + plies) % 2]:
            raise ValueError(f"history must lead to the board, and the move from {start} to {end} does not")
        before[start], before[end] = before[end], 0
        boards.append(before.copy())
    # The rules keep the history as sets of plies, one for each binary digit of a number. Ply 0 is the last one.
    numbers = {
        "starts": ([start for start, _ in moves], DIGITS),
        "ends": ([end for _, end in moves], DIGITS),
        "changes": ([sum(x not in (0, y) for x, y in zip(board, past, strict=True)) for past in boards], CHANGE_DIGITS),
    }
    fields: dict[str, Any] = {"own": own, "other": other, "quiet": len(moves), "current_player": player}
    # Member p of the k-th set is the k-th digit of the number of ply p.
    for name, (values, digits) in numbers.items():
        members = ([ply for ply, n in enumerate(values) if n >> k & 1] for k in range(digits))
        fields[name] = [pack(plies, rules.quiet_plies) for plies in members]
    return fields | ended(end_of(rules, board, player, moves) is not None)


def number_at(digits: list[list[int]], ply: int) -> int:
    """Return the number of a ply, whose binary digits are in sets of plies."""
    return sum((plies[ply // WORD_BITS] >> ply % WORD_BITS & 1) << k for k, plies in enumerate(digits))


def sets_of(board: list[int], player: int) -> tuple[int, int]:
    """Return the squares of a player's pieces and of the opponent's, as bits."""
    own, other = (
        sum(1 << k for k, piece in enumerate(board) if piece == stones.STONES[p]) for p in (player, 1 - player)
    )
    return own, other


def end_of(rules: LinesOfAction, board: list[int], player: int, moves: list[Any]) -> str | None:
    """Return why the game has ended, "connected", "no move" or "draw" (L4, L5, L6); None if it goes on.

    moves: pairs of squares, the last one first.
    """
    own, other = map(uint64, sets_of(board, player))
    if is_connected(own).value or is_connected(other).value:
        return "connected"
    before = board.copy()
    recurs = False
    for start, end in moves:
        before[start], before[end] = before[end], 0
        recurs |= before == board
    if recurs or len(moves) == rules.quiet_plies:
        return "draw"
    return None if any(plane.value for plane in movable(own, other)) else "no move"


def step_of(action: int) -> tuple[int, int]:
    """Return the step of an action, rows and columns: the way back if only this one stays on the board (L3)."""
    plane, square = divmod(action, SQUARES)
    ahead, back = PLANES[plane], BACK[plane]
    return ahead if target_of(square, back, SIDE, SIDE) is None else back


def action_to_string(rules: LinesOfAction, action: int) -> str:
    """Return the names of the start and the end, "b1b3" (L11)."""
    plane, square = divmod(action, SQUARES)
    return move_name(square, plane, step_of(action), SIDE, SIDE)


# no symmetries but the identity (L12)
