"""Boards of stones: flat lists of 1 for a stone of player 0, -1 for one of player 1, and 0 for an empty cell.

A state holds the same as two sets of cells, the stones of the player to move and those of the opponent.
"""

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from tensor_envs._validate import integer, nested
from tensor_envs.ops.bits import completed
from tensor_envs.ops.lines import flat_step, line_directions, placements
from tensor_envs.render.status import outcome, to_move
from tensor_envs.rules import pack, unpack

STONES = (1, -1)  # player 0's and player 1's
SIGNS = {1: "X", -1: "O", 0: "."}
Groups = Iterable[Iterable[int]]


def to_board(own: Sequence[int], other: Sequence[int], player: int, size: int) -> list[int]:
    """Return the board of two sets, given as words."""
    board = [0] * size
    for words, stone in ((own, STONES[player]), (other, STONES[1 - player])):
        for cell in unpack(words, size):
            board[cell] = stone
    return board


def to_sets(board: Sequence[int], player: int) -> tuple[list[int], list[int]]:
    """Return the words of each player's set of stones: the inverse of `to_board`."""
    return words_of(board, STONES[player]), words_of(board, STONES[1 - player])


def words_of(board: Sequence[int], stone: int) -> list[int]:
    """Return the set of cells that hold a stone, as words."""
    return pack((cell for cell, value in enumerate(board) if value == stone), len(board))


def to_dict(rules: Any, s: dict[str, Any]) -> dict[str, Any]:
    """Return {"board": flat list of 1, -1, 0, "current_player": 0 or 1} for the fields of a game."""
    player = s["current_player"]
    return {"board": to_board(s["own"], s["other"], player, rules.cells), "current_player": player}


def board_and_player(game: dict[str, Any], size: int, highest: int = 1) -> tuple[list[int], int]:
    """Return the board and the player of a dictionary. ValueError or TypeError for invalid entries."""
    board = nested("board", game["board"], (size,), -1, highest)
    return board, integer("current_player", game["current_player"], 0, 1)


def counts(board: Sequence[int]) -> list[int]:
    """Return the number of stones of each player."""
    return [board.count(stone) for stone in STONES]


def regions(
    board: Sequence[int], cells: Iterable[int], neighbours: Callable[[int], Iterable[int]]
) -> Iterator[tuple[set[int], set[int]]]:
    """Yield the connected regions of equal values among some cells, each with the adjacent cells of other values."""
    waiting = set(cells)
    while waiting:
        region = set[int]()
        border = set[int]()
        new = {min(waiting)}
        while new:
            cell = new.pop()
            region.add(cell)
            for near in neighbours(cell):
                (border if board[near] != board[cell] else new).add(near)
            new -= region
        yield region, border
        waiting -= region


def adjacent(size: int, steps: Sequence[tuple[int, int]]) -> Callable[[int], list[int]]:
    """Return the function of a cell's neighbours on a square board; steps are (rows, columns). It can be pickled."""
    return functools.partial(_neighbours, size, steps)


def _neighbours(size: int, steps: Sequence[tuple[int, int]], cell: int) -> list[int]:
    row, column = divmod(cell, size)
    around = ((row + r, column + c) for r, c in steps)
    return [r * size + c for r, c in around if 0 <= r < size and 0 <= c < size]


def group_planes(
    groups: Groups, count: int, size: int, number: Callable[[int], int] = lambda cell: cell + 1
) -> list[list[int]]:
    """Return the bit planes of the stones' group numbers, as words; a group's number is the highest of its cells."""
    numbers = {cell: max(map(number, group)) for group in map(list, groups) for cell in group}
    return [pack((cell for cell, n in numbers.items() if n >> k & 1), size) for k in range(count)]


def completed_lines(board: Sequence[int], shape: Sequence[int], k: int) -> list[tuple[int, list[int]]]:
    """Return the completed lines of a board: the stone, and the k cells in order."""
    lines = []
    steps = [flat_step(shape, d) for d in line_directions(len(shape)) if placements(shape, k, d)]
    for stone in STONES:
        for step, starts in zip(steps, completed(words_of(board, stone), shape, k), strict=True):
            lines += [(stone, [cell + t * step for t in range(k)]) for cell in unpack(starts, len(board))]
            if k == 1:
                break  # the other directions yield the same cells
    return lines


def status_of_lines(game: dict[str, Any], stones: Iterable[int], k: int, names: Sequence[str]) -> str:
    """Return the status: the player with a line (of the cells `stones`), a draw, or the player to move."""
    owners = [names[player] for player, stone in enumerate(STONES) if stone in stones]
    if owners:
        return f"{' and '.join(owners)} {'has a line' if len(owners) == 1 else 'have lines'} of {k}"
    return to_move(game, names[game["current_player"]]) if 0 in game["board"] else outcome(names, None)


def status_of_counts(
    game: dict[str, Any], numbers: Sequence[int], over: bool, names: Sequence[str], task: str = "to move"
) -> str:
    """Return the number of stones of each player, and the player to move, or at the end the one with more stones."""
    first, second = numbers
    winner = None if first == second else int(first < second)
    result = outcome(names, winner) if over else to_move(game, names[game["current_player"]], task)
    return f"{first} : {second}, {result}"
