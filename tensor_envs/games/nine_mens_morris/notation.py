"""Dictionaries, action names and symmetries of nine men's morris."""

from collections.abc import Iterator
from typing import Any

from tensor_envs._validate import instance, integer, nested
from tensor_envs.games._kit import symmetries as kit
from tensor_envs.games._kit.stones import STONES, to_board, to_sets
from tensor_envs.games.nine_mens_morris.rules import CELLS, PLACING, POINTS, SIDE, NineMensMorris
from tensor_envs.render.grids import cell_name
from tensor_envs.rules import Grid, Symmetry
from tensor_envs.rules.plain import ended, legal_actions

POINT_NAMES = [cell_name((SIDE - 1 - cell // SIDE) * SIDE + cell % SIDE, SIDE) for cell in CELLS]


def to_dict(rules: NineMensMorris, s: dict[str, Any]) -> dict[str, Any]:
    """Return {"board": list of 1, -1 and 0, "turns": int, "removes": bool} (N10)."""
    board = to_board([s["own"]], [s["other"]], s["turns"] % 2, POINTS)
    return {"board": board, "turns": s["turns"], "removes": bool(s["removes"])}


def from_dict(rules: NineMensMorris, game: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a dictionary. ValueError for more men than have been placed, or none to remove."""
    board = nested("board", game["board"], (POINTS,), -1, 1)
    turns = integer("turns", game["turns"], 0, rules.max_turns)
    removes = game["removes"]
    instance("removes", removes, bool)
    player = turns % 2
    for who in (0, 1):
        placed = PLACING // 2 - in_hand(turns, who) + (removes and who == player and turns < PLACING)
        if board.count(STONES[who]) > placed:
            raise ValueError(f"board must have at most {placed} men of player {who}, got {board.count(STONES[who])}")
    if removes and not board.count(STONES[1 - player]):
        raise ValueError("board must have a man that can be removed if removes is True")
    (own,), (other,) = to_sets(board, player)
    s = {"own": own, "other": other, "turns": turns, "removes": removes, "current_player": player}
    flies = any(board.count(STONES[who]) + in_hand(turns, who) <= 2 for who in (0, 1))
    return s | ended(flies or turns >= rules.max_turns or not legal_actions(rules, s))


def in_hand(turns: int, player: int) -> int:
    """Return the number of men that a player has not placed before the current turn."""
    return max(0, PLACING + player - turns) // 2 if turns else PLACING // 2


def ends_of(action: int) -> tuple[int, int] | None:
    """Return the start and the end of a move; None for an action on a single point."""
    return None if action < POINTS else divmod(action - POINTS, POINTS)


def action_to_string(rules: NineMensMorris, action: int) -> str:
    """Return a point, "d6", or both points of a move, "d6-d7" (N11)."""
    return "-".join(POINT_NAMES[point] for point in ends_of(action) or [action])


def symmetries(rules: NineMensMorris) -> Iterator[Symmetry]:
    """Yield the eight symmetries of a square, without and with the exchange of outer and inner square (N13)."""
    numbers = {cell: point for point, cell in enumerate(CELLS)}
    for turn in Grid(SIDE, SIDE).symmetries():
        for swap in (False, True):
            points = tuple(numbers[turn[swapped(cell) if swap else cell]] for cell in CELLS)
            cells = tuple(CELLS[points[numbers[c]]] if c in numbers else c for c in range(SIDE**2))
            moves = (POINTS + POINTS * points[a] + points[b] for a in range(POINTS) for b in range(POINTS))
            men = {"own": points, "other": points}
            yield Symmetry((*points, *moves), kit.planes(cells, rules.planes), {"board": points}, men)


def swapped(cell: int) -> int:
    """Return the cell of the outer square for one of the inner square, and the reverse."""
    row, column = divmod(cell, SIDE)
    ring = max(abs(row - 3), abs(column - 3))
    row, column = (3 + (k - 3) // ring * (4 - ring) for k in (row, column))
    return row * SIDE + column
