"""Hyperdimensional tic-tac-toe in plain Python: a slow and obvious oracle of the tensor engine.

Source: the game's rules file (its facts F1-F5 and rulings G1-G8 are cited below).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from math import prod
from typing import Any

from tests.games.chance import Key

MARKS = (1, -1)  # F3: of player 0 and of player 1


def directions(dimensions: int) -> list[tuple[int, ...]]:
    """Return one of each opposite pair of steps to a neighbouring cell: (3^N - 1) / 2 of them (F5, G1)."""
    return [step for step in product((-1, 0, 1), repeat=dimensions) if step > (0,) * dimensions]


@lru_cache
def lines(shape: tuple[int, ...], k: int) -> list[list[int]]:
    """Return every line (G2): k steps from each cell in each direction, kept if no step leaves the board."""
    cells = list(product(*map(range, shape)))  # C order (G5)
    number = {cell: index for index, cell in enumerate(cells)}
    found = []
    for cell, step in product(cells, directions(len(shape))):
        walk = [tuple(c + length * s for c, s in zip(cell, step, strict=True)) for length in range(k)]
        if all(place in number for place in walk):
            found.append([number[place] for place in walk])
    return found


class Reference:
    """One game; `shape` and `k` have no defaults because the rules name none."""

    num_players = 2
    truncated = False  # G6: the board fills up, so there is no time limit

    def __init__(self, key: Key, *, shape: Sequence[int], k: int, misere: bool = False, gravity: bool = False) -> None:
        """Start a game; `key` belongs to the common interface, since the game has no chance (G6)."""
        self.shape, self.k, self.misere, self.gravity = tuple(shape), k, misere, gravity
        if not self.shape or min(self.shape) < 1 or not 1 <= k <= max(self.shape):  # G4
            raise ValueError(f"need sides >= 1 and 1 <= k <= the longest side, got shape={self.shape}, k={k}")
        self.num_actions = prod(self.shape)
        self.board = [0] * self.num_actions
        self.current_player = 0  # G5
        self.rewards = [0.0, 0.0]
        self.terminated = False

    @classmethod
    def from_dict(cls, state: dict[str, Any], key: Key, **config: Any) -> Reference:
        game = cls(key, **config)
        game.board = list(state["board"])
        game.current_player = state["current_player"]
        game.terminated = game.has_line(0) or game.has_line(1) or 0 not in game.board
        return game

    def to_dict(self) -> dict[str, Any]:  # G8
        return {"board": list(self.board), "current_player": self.current_player}

    def has_line(self, player: int) -> bool:
        """Return whether k marks of `player` stand in one line; a longer row contains a line of k (G3)."""
        return any(all(self.board[cell] == MARKS[player] for cell in line) for line in lines(self.shape, self.k))

    def legal_actions(self) -> list[int]:
        if self.terminated:
            return []
        return [cell for cell, mark in enumerate(self.board) if mark == 0 and self.holds(cell)]  # G5

    def holds(self, cell: int) -> bool:
        """Return whether a mark on the cell stays there (G11)."""
        below = cell + prod(self.shape[1:])
        return not self.gravity or below >= len(self.board) or self.board[below] != 0

    def apply(self, action: int) -> None:
        if action not in self.legal_actions():
            raise ValueError(f"action {action} is illegal, allowed: {self.legal_actions()}")
        mover = self.current_player
        self.board[action] = MARKS[mover]
        self.current_player = 1 - mover
        won = self.has_line(mover)
        self.terminated = won or 0 not in self.board
        sign = -1 if self.misere else 1  # G10
        self.rewards = [float(sign * mark * MARKS[mover]) if won else 0.0 for mark in MARKS]  # G6

    def observation(self, player: int) -> list[Any]:
        """Return two planes of `shape`, the player's marks first (G7)."""
        planes = []
        for mark in (MARKS[player], MARKS[1 - player]):
            plane: list[Any] = [cell == mark for cell in self.board]
            for side in reversed(self.shape[1:]):
                plane = [plane[start : start + side] for start in range(0, len(plane), side)]
            planes.append(plane)
        return planes

    def check(self, before: Reference | None) -> None:
        """Assert what holds of every position reached from the empty board, and of the last ply."""
        first, second = (self.board.count(mark) for mark in MARKS)
        assert first + second + self.board.count(0) == self.num_actions == len(self.board)  # F3, F1
        assert first - second == self.current_player  # G5: marks alternate, player 0 begins
        won = [self.has_line(player) for player in (0, 1)]
        assert not all(won)  # the first line ends the game
        assert not won[self.current_player]  # only the player who has just moved can have completed one
        assert self.terminated == (any(won) or 0 not in self.board)
        assert self.rewards == ([0.0, 0.0] if won[0] == won[1] else [1.0, -1.0] if won[0] else [-1.0, 1.0])  # G6
        columns = self.board[: prod(self.shape[1:])] if self.gravity else self.board  # their highest cells
        assert len(self.legal_actions()) == (0 if self.terminated else columns.count(0))
        assert all(self.holds(cell) for cell, mark in enumerate(self.board) if mark)
        if before is not None:
            assert not before.terminated
            assert self.current_player == 1 - before.current_player
            changed = [(was, now) for was, now in zip(before.board, self.board, strict=True) if was != now]
            assert changed == [(0, MARKS[before.current_player])]  # one empty cell, now the mover's
