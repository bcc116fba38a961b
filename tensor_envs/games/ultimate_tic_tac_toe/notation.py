"""Dictionaries, action names and symmetries of ultimate tic-tac-toe."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from tensor_envs._validate import nested
from tensor_envs.games._kit import stones
from tensor_envs.games._kit import symmetries as kit
from tensor_envs.games.ultimate_tic_tac_toe.rules import BOARDS, CELLS, SIDE, UltimateTicTacToe
from tensor_envs.render.grids import cell_name
from tensor_envs.rules import Grid, Symmetry, unpack
from tensor_envs.rules.plain import ended

SMALL_BOARDS = [[27 * (b // 3) + 3 * (b % 3) + 9 * (c // 3) + c % 3 for c in range(9)] for b in range(9)]


def to_dict(rules: UltimateTicTacToe, s: dict[str, Any]) -> dict[str, Any]:
    """Return {"board": 81 values 1, -1, 0, "active": 9 flags, "current_player": 0 or 1} (U8)."""
    return stones.to_dict(rules, s) | {"active": [s["active"] >> board & 1 for board in range(9)]}


def from_dict(rules: UltimateTicTacToe, game: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a dictionary; won and closed boards, and the end, follow from the marks."""
    board, player = stones.board_and_player(game, CELLS)
    flags = nested("active", game["active"], (9,), 0, 1)
    active = sum(flag << k for k, flag in enumerate(flags))
    winners = owners(board)
    if None in winners:
        raise ValueError(f"board must not have lines of both players in small board {winners.index(None)}")
    closed = sum(1 << k for k, cells in enumerate(SMALL_BOARDS) if winners[k] or all(board[c] for c in cells))
    over = winner(board) is not None
    if not over and (not active or active & closed or active not in (~closed & BOARDS, active & -active)):
        raise ValueError(f"active must be one open board, or all of {unpack([~closed & BOARDS], 9)}, got {flags}")
    own, other = stones.to_sets(board, player)
    won = [sum(1 << k for k, stone in enumerate(winners) if stone == stones.STONES[p]) for p in (player, 1 - player)]
    fields = {"own": own, "other": other, "own_boards": won[0], "other_boards": won[1], "closed": closed}
    return fields | {"active": 0 if over else active, "current_player": player} | ended(over)


def owner(cells: list[int]) -> int | None:
    """Return the stone that has a line in a board of nine cells, 0 for no line, None if both stones have one."""
    lines = {stone for stone, _ in stones.completed_lines(cells, (3, 3), 3)}
    return None if len(lines) > 1 else sum(lines)


def owners(board: list[int]) -> list[Any]:
    """Return the owner of every small board."""
    return [owner([board[cell] for cell in cells]) for cells in SMALL_BOARDS]


def winner(board: list[int]) -> int | None:
    """Return the stone of the winner, 0 for a draw, and None for a game that goes on (U5)."""
    won = owners(board)
    if line := owner(won):
        return line
    return 0 if all(stone or all(board[c] for c in SMALL_BOARDS[k]) for k, stone in enumerate(won)) else None


def action_to_string(rules: UltimateTicTacToe, action: int) -> str:
    """Return a column's letter and a row's number from the top, "e5" (U9)."""
    return cell_name(action, SIDE)


def symmetries(rules: UltimateTicTacToe) -> Iterator[Symmetry]:
    """Yield the eight symmetries of the square (U10)."""
    for cells, boards in zip(Grid(SIDE, SIDE).symmetries(), Grid(3, 3).symmetries(), strict=True):
        symmetry = kit.of_cells(cells, 5, active=boards)
        marks = dict.fromkeys(("own", "other"), cells)
        sets = dict.fromkeys(("own_boards", "other_boards", "closed", "active"), boards)
        yield replace(symmetry, fields=marks | sets)
