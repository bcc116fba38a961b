"""How positions and actions of Hex are written, and the board's symmetries."""

from collections.abc import Iterator
from typing import Any

from tensor_envs.games.hex.rules import Hex
from tensor_envs.games.stones import STONES, board_and_player, to_board, to_sets
from tensor_envs.rules import Symmetry, pack, unpack


def to_dict(rules: Hex, s: dict[str, Any]) -> dict[str, Any]:
    """Fields of a game -> {"board": rows from the top end to end, of 1, -1, 0, "current_player": 0 or 1} (H6)."""
    player = s["current_player"]
    return {"board": to_board(s["own"], s["other"], player, rules.cells), "current_player": player}


def from_dict(rules: Hex, game: dict[str, Any]) -> dict[str, Any]:
    """The converse of `to_dict`, for any board; a player who has connected his sides ends the game."""
    board, player = board_and_player(game, rules.cells)
    count = rules.cells - board.count(0)
    if not count and player:
        raise ValueError("current_player must be 0 on an empty board, got 1")
    own, other = to_sets(board, player)
    groups = groups_of(rules, board)
    numbers = {cell: max(group) + 1 for group in groups for cell in group}
    planes = [pack((c for c, n in numbers.items() if n >> k & 1), rules.cells) for k in range(rules.planes)]
    over = {"terminated": bool(winning(rules, board)), "truncated": False}
    # a swap takes a ply and adds no stone
    return {
        "own": own,
        "other": other,
        "groups": planes,
        "current_player": player,
        "ply": count + (count % 2 != player),
        **over,
    }


def neighbours(rules: Hex, cell: int) -> list[int]:
    row, column = divmod(cell, rules.size)
    around = [(row + r, column + c) for r, c in ((-1, 0), (-1, 1), (0, 1), (1, 0), (1, -1), (0, -1))]
    return [r * rules.size + c for r, c in around if 0 <= r < rules.size and 0 <= c < rules.size]


def groups_of(rules: Hex, board: list[int]) -> list[set[int]]:
    """The sets of stones of one player that touch each other."""
    waiting, groups = {cell for cell, stone in enumerate(board) if stone}, list[set[int]]()
    while waiting:
        group, new = set[int](), {waiting.pop()}
        while new:
            cell = new.pop()
            group.add(cell)
            new |= {c for c in neighbours(rules, cell) if board[c] == board[cell]} - group
        groups.append(group)
        waiting -= group
    return groups


def winning(rules: Hex, board: list[int]) -> set[int]:
    """The stones of the groups that connect their owner's sides."""
    found = set[int]()
    for group in groups_of(rules, board):
        player = STONES.index(board[min(group)])
        start, end = (set(unpack(sides[player], rules.cells)) for sides in (rules.starts, rules.ends))
        if group & start and group & end:
            found |= group
    return found


def action_to_string(rules: Hex, action: int) -> str:
    """A column's letter and a row's number from the top: "f6"; or "swap" (H8)."""
    if action == rules.cells:
        return "swap"
    return "abcdefghijklmnopqrs"[action % rules.size] + str(action // rules.size + 1)


def symmetries(rules: Hex) -> Iterator[Symmetry]:
    """The board as it is, and turned by half (H9)."""
    for step in (1, -1)[: rules.cells]:
        cells = tuple(range(rules.cells)[::step])
        observation = tuple(plane * rules.cells + cell for plane in range(3) for cell in cells)
        yield Symmetry(cells + (rules.cells,) * rules.swap, observation, {"board": cells})
