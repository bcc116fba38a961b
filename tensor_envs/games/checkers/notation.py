"""Dictionaries and action names of English draughts."""

from typing import Any

from tensor_envs._validate import integer, nested
from tensor_envs.games._kit import symmetries as kit
from tensor_envs.games._kit.fields import ended, legal_actions
from tensor_envs.games.checkers.rules import DIRECTIONS, JUMP, SIDE, SQUARES, Checkers

STEPS = ((-1, -1), (-1, 1), (1, 1), (1, -1))  # rows and columns of each direction
LETTERS = {1: "b", 2: "B", -1: "w", -2: "W", 0: "."}
symmetries = kit.identity(board=SQUARES)  # D14


def to_dict(rules: Checkers, s: dict[str, Any]) -> dict[str, Any]:
    """Return {"board": list, "current_player": 0 or 1, "jumper": 0..32, "quiet": int} (D11)."""
    player = s["current_player"]
    black, white = (s["own"], s["other"])[:: 1 - 2 * player]
    board = [((black >> i & 1) - (white >> i & 1)) * (1 + (s["kings"] >> i & 1)) for i in range(SQUARES)]
    return {"board": board, "current_player": player, "jumper": s["jumper"].bit_length(), "quiet": s["quiet"]}


def from_dict(rules: Checkers, game: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a dictionary. ValueError for a man on its last row, or a jumper that cannot jump."""
    board = nested("board", game["board"], (SQUARES,), -2, 2)
    player = integer("current_player", game["current_player"], 0, 1)
    jumper, quiet = integer("jumper", game["jumper"], 0, SQUARES), integer("quiet", game["quiet"], 0, rules.quiet_plies)
    for man, row in zip((1, -1), rules.promote, strict=True):
        if wrong := [square + 1 for square in row if board[square] == man]:
            raise ValueError(f"board must have no man on its last row, got {man} on {wrong[0]}")
    black, white, kings = (
        sum(1 << i for i, piece in enumerate(board) if piece in pieces) for pieces in ((1, 2), (-1, -2), (2, -2))
    )
    own, other = (black, white)[:: 1 - 2 * player]
    s = {"own": own, "other": other, "kings": kings, "jumper": 1 << jumper - 1 if jumper else 0}
    s |= {"current_player": player, "quiet": quiet}
    actions = legal_actions(rules, s)
    if jumper and (quiet or not own & s["jumper"] or not actions or actions[0] < JUMP):
        raise ValueError(
            f"jumper must be a piece of the player to move that can jump, without quiet plies, got {jumper}"
        )
    return s | ended(not actions or quiet >= rules.quiet_plies)


def place(square: int) -> tuple[int, int]:
    """Return the row and the column of a square 0..31."""
    return square // 4, square % 4 * 2 + (square // 4 + 1) % 2


def ends_of(action: int) -> tuple[int, int | None]:
    """Return both squares of an action, 1..32; None for one beyond the board."""
    square, length = action % SQUARES, 1 + action // JUMP
    row, column = place(square)
    down, right = STEPS[action % JUMP // SQUARES]
    row, column = row + length * down, column + length * right
    inside = 0 <= row < SIDE and 0 <= column < SIDE
    return square + 1, row * 4 + column // 2 + 1 if inside else None


def action_to_string(rules: Checkers, action: int) -> str:
    """Return both squares of a step, "11-15", or of a jump, "22x15" (D12)."""
    start, end = ends_of(action)
    return f"{start}{'x' if action >= JUMP else '-'}{end or DIRECTIONS[action % JUMP // SQUARES]}"
