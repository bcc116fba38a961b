"""Chinese checkers in plain Python: a slow and obvious oracle of the tensor engine.

Source: the game's rules file, whose rulings S1-S14 are cited below.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from tests.games.chance import Key

Place = tuple[int, int]  # row from the top, halves of a cell to the right of the middle

WIDTHS = (1, 2, 3, 4, 13, 12, 11, 10, 9, 10, 11, 12, 13, 4, 3, 2, 1)  # S1
PLACES = [(row, 2 * k - width + 1) for row, width in enumerate(WIDTHS) for k in range(width)]
WAYS = ((-1, -1), (-1, 1), (0, -2), (0, 2), (1, -1), (1, 1))  # S5
NUMBER = {place: k for k, place in enumerate(PLACES)}
PASS = 726
POINTS = {2: (0, 3), 3: (0, 2, 4), 4: (0, 1, 3, 4), 6: (0, 1, 2, 3, 4, 5)}  # S2


def point_of(place: Place) -> int | None:
    """Return the point of the star to which a place belongs: clockwise from 0 at the top; None for the middle (S1)."""
    row, column = place
    if row < 4:
        return 0
    if row > 12:
        return 3
    if abs(column) <= 8 - abs(row - 8):
        return None
    upper, right = row < 8, column > 0
    return {(True, True): 1, (False, True): 2, (False, False): 4, (True, False): 5}[upper, right]


@cache
def points(point: int) -> set[Place]:
    return {place for place in PLACES if point_of(place) == point}


def further(place: Place, way: Place, steps: int = 1) -> Place:
    return place[0] + steps * way[0], place[1] + steps * way[1]


class Reference:
    """One game; a board is a dictionary of players by place, which lacks the empty places."""

    num_actions = PASS + 1
    truncated = False  # S8

    def __init__(self, key: Key, *, players: int = 2, max_turns: int = 1000) -> None:
        """Start a game; `key` belongs to the common interface, since the game has no chance."""
        if players not in POINTS or not 1 <= max_turns <= 10_000:  # S10
            raise ValueError(f"need 2, 3, 4 or 6 players and 1..10000 turns, got {players} and {max_turns}")
        self.num_players, self.max_turns = players, max_turns
        self.board = {place: player for player in range(players) for place in points(POINTS[players][player])}
        self.current_player = self.turns = 0
        self.piece: Place | None = None
        self.visited = set[Place]()
        self.rewards = [0.0] * players
        self.terminated = False

    @classmethod
    def from_dict(cls, state: dict[str, Any], key: Key, **config: Any) -> Reference:
        game = cls(key, **config)
        game.board = {place: owner - 1 for place, owner in zip(PLACES, state["board"], strict=True) if owner}
        game.turns = state["turns"]
        game.current_player = game.turns % game.num_players  # S12
        game.visited = {place for place, visited in zip(PLACES, state["visited"], strict=True) if visited}
        game.piece = next((place for place in game.visited if place in game.board), None)
        won = not game.visited and any(map(game.is_home, range(game.num_players)))  # S7
        game.terminated = won or game.turns == game.max_turns
        return game

    def to_dict(self) -> dict[str, Any]:  # S12
        return {
            "board": [self.board.get(place, -1) + 1 for place in PLACES],
            "visited": [int(place in self.visited) for place in PLACES],
            "turns": self.turns,
        }

    def goal(self, player: int) -> set[Place]:  # S2
        return points((POINTS[self.num_players][player] + 3) % 6)

    def is_home(self, player: int) -> bool:  # S7
        return all(self.board.get(place) == player for place in self.goal(player))

    def target(self, place: Place, way: Place) -> Place | None:
        """Return where a piece goes in a direction, a step or a hop; None if it cannot (S3, S4)."""
        near, far = further(place, way), further(place, way, 2)
        if near not in self.board:
            return near if near in NUMBER and self.piece is None else None
        return far if far in NUMBER and far not in self.board and far not in self.visited else None

    def legal_actions(self) -> list[int]:
        if self.terminated:
            return []
        own = [place for place, player in self.board.items() if player == self.current_player]
        movable = own if self.piece is None else [self.piece]
        actions = [
            6 * NUMBER[place] + k
            for place in movable
            for k, way in enumerate(WAYS)
            if self.target(place, way) is not None
        ]
        if self.piece is not None or not actions:  # S4, S6
            actions.append(PASS)
        return sorted(actions)

    def apply(self, action: int) -> None:
        if action not in self.legal_actions():
            raise ValueError(f"action {action} is illegal, allowed: {self.legal_actions()}")
        player = self.current_player
        goes_on = False
        if action < PASS:
            start, way = PLACES[action // 6], WAYS[action % 6]
            end = self.target(start, way)
            assert end is not None
            hops = end != further(start, way)
            del self.board[start]
            self.board[end] = player
            if hops:
                self.piece = end
                self.visited |= {start, end}
                goes_on = any(self.target(end, other) is not None for other in WAYS)
        won = not goes_on and self.is_home(player)  # S7
        if not goes_on:
            self.piece = None
            self.visited = set()
            self.turns += 1
            self.current_player = (player + 1) % self.num_players
        if won:  # S9
            self.rewards = [-1 / (self.num_players - 1)] * self.num_players
            self.rewards[player] = 1.0
        self.terminated = won or self.turns == self.max_turns

    def observation(self, player: int) -> list[Any]:  # S11
        seats = [(player + k) % self.num_players for k in range(self.num_players)]
        planes = [{place for place, owner in self.board.items() if owner == seat} for seat in seats]
        planes.append(set(PLACES) - self.board.keys())
        planes.append(self.goal(player))
        planes.append(self.visited)
        # Column 0 of the image is 16 halves of a cell to the left of the middle of row 8; rows lean to the left.
        image = [[(row, 2 * column - row - 8) for column in range(17)] for row in range(17)]
        return [[[place in plane for place in row] for row in image] for plane in planes]
