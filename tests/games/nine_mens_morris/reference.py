"""Nine men's morris in plain Python: a slow and obvious oracle of the tensor engine.

Source: the game's rules file, whose rulings N1-N10 are cited below.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from tests.games.chance import Key

ROWS = ("adg 7", "bdf 6", "cde 5", "abcefg 4", "cde 3", "bdf 2", "adg 1")
POINTS = [column + row[-1] for row in ROWS for column in row[:-2]]  # N2
LINES = [  # N1
    line.split()
    for line in (
        *("a7 d7 g7", "g7 g4 g1", "g1 d1 a1", "a1 a4 a7"),
        *("b6 d6 f6", "f6 f4 f2", "f2 d2 b2", "b2 b4 b6"),
        *("c5 d5 e5", "e5 e4 e3", "e3 d3 c3", "c3 c4 c5"),
        *("d7 d6 d5", "d3 d2 d1", "a4 b4 c4", "e4 f4 g4"),
    )
]
NEIGHBOURS = {frozenset(pair) for line in LINES for pair in pairwise(line)}


class Reference:
    """One game; a board maps occupied points to the owners of their men."""

    num_players = 2
    num_actions = 600
    truncated = False  # N8

    def __init__(self, key: Key, max_turns: int = 200) -> None:
        """Start a game; `key` belongs to the common interface, since the game has no chance."""
        self.max_turns = max_turns
        self.men: dict[str, int] = {}
        self.hands = [9, 9]
        self.turns = 0
        self.removes = False
        self.rewards = [0.0, 0.0]
        self.terminated = False

    @classmethod
    def from_dict(cls, state: dict[str, Any], key: Key, max_turns: int = 200) -> Reference:
        game = cls(key, max_turns)
        game.men = {point: int(man < 0) for point, man in zip(POINTS, state["board"], strict=True) if man}
        game.turns, game.removes = state["turns"], state["removes"]
        for turn in range(min(18, game.turns + game.removes)):
            game.hands[turn % 2] -= 1
        game.terminated = (
            any(game.left(player) <= 2 for player in (0, 1)) or game.turns >= max_turns or not game.legal_actions()
        )
        return game

    @property
    def current_player(self) -> int:
        return self.turns % 2

    def to_dict(self) -> dict[str, Any]:  # N10
        board = [{None: 0, 0: 1, 1: -1}[self.men.get(point)] for point in POINTS]
        return {"board": board, "turns": self.turns, "removes": self.removes}

    def left(self, player: int) -> int:
        """Return the number of a player's men, in hand and on the board."""
        return self.hands[player] + list(self.men.values()).count(player)

    def in_mill(self, point: str) -> bool:
        return any(point in line and len({self.men.get(p) for p in line}) == 1 for line in LINES)

    def legal_actions(self) -> list[int]:
        if self.terminated:
            return []
        player = self.current_player
        if self.removes:  # N6
            others = [point for point in POINTS if self.men.get(point) == 1 - player]
            free = [point for point in others if not self.in_mill(point)]
            return [POINTS.index(point) for point in free or others]
        empty = [point for point in POINTS if point not in self.men]
        if self.turns < 18:  # N3
            return [POINTS.index(point) for point in empty]
        flies = self.left(player) <= 3  # N5
        return [
            24 + 24 * POINTS.index(start) + POINTS.index(end)
            for start in POINTS
            for end in empty
            if self.men.get(start) == player and (flies or frozenset((start, end)) in NEIGHBOURS)  # N4
        ]

    def apply(self, action: int) -> None:
        if action not in self.legal_actions():
            raise ValueError(f"action {action} is illegal, allowed: {self.legal_actions()}")
        player, point = self.current_player, POINTS[action % 24]
        if self.removes:
            del self.men[point]
            self.removes = False
        else:
            if action < 24:
                self.hands[player] -= 1
            else:
                del self.men[POINTS[action // 24 - 1]]
            self.men[point] = player
            if self.in_mill(point):
                self.removes = True
                return
        self.turns += 1
        if self.left(1 - player) <= 2 or not self.legal_actions():  # N7
            self.terminated = True
            self.rewards = [1.0, -1.0] if player == 0 else [-1.0, 1.0]
        elif self.turns >= self.max_turns:  # N8
            self.terminated = True

    def observation(self, player: int) -> list[Any]:
        """Return planes of rows from the top (N9)."""
        names = [[column + row for column in "abcdefg"] for row in "7654321"]
        planes = [[[self.men.get(name) == owner for name in row] for row in names] for owner in (player, 1 - player)]
        digits = len(f"{self.max_turns:b}")
        facts = [self.removes, *(bool(self.turns >> k & 1) for k in range(digits))]
        return planes + [[[fact] * 7] * 7 for fact in facts]
