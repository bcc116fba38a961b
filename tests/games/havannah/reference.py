"""Havannah in plain Python: a slow and obvious oracle of the tensor engine.

Source: the game's rules file, whose rulings V1-V10 are cited below.
"""

from __future__ import annotations

from typing import Any

from tests.games.chance import Key

STONES = (1, -1)  # V10: of player 0 and of player 1
AROUND = ((-1, -1), (-1, 0), (0, 1), (1, 1), (1, 0), (0, -1))  # V1
Place = tuple[int, int]


class Reference:
    """One game; a board is a dictionary of stones by row and column."""

    num_players = 2
    truncated = False  # V7

    def __init__(self, key: Key, *, size: int = 8, swap: bool = False) -> None:
        """Start a game; `key` belongs to the common interface, since the game has no chance."""
        if not 2 <= size <= 10:  # V8
            raise ValueError(f"need a size in 2..10, got {size}")
        self.size, self.swap, self.side = size, swap, 2 * size - 1
        self.num_actions = self.side**2
        places = [(row, column) for row in range(self.side) for column in range(self.side)]
        self.board = {place: 0 for place in places if abs(place[0] - place[1]) < size}  # V1
        self.current_player = 0
        self.plies = 0
        self.rewards = [0.0, 0.0]
        self.terminated = False

    @classmethod
    def from_dict(cls, state: dict[str, Any], key: Key, **config: Any) -> Reference:
        game = cls(key, **config)
        game.board = {(row, column): state["board"][row * game.side + column] for row, column in game.board}
        game.current_player = state["current_player"]
        stones = sum(stone != 0 for stone in game.board.values())
        game.plies = stones if stones % 2 == game.current_player else stones + 1  # V10
        game.terminated = game.has_won(0) or game.has_won(1) or stones == len(game.board)
        return game

    def to_dict(self) -> dict[str, Any]:  # V10
        board = [self.board.get(divmod(cell, self.side), 0) for cell in range(self.num_actions)]
        return {"board": board, "current_player": self.current_player}

    def near(self, place: Place) -> list[Place]:
        """Return the six places around one, on the board or beside it."""
        return [(place[0] + down, place[1] + right) for down, right in AROUND]

    def edges_of(self, place: Place) -> list[str]:
        """Return the edges to which a cell belongs (V1)."""
        row, column = place
        last, far = self.side - 1, self.size - 1
        at = {"top": row == 0, "bottom": row == last, "left": column == 0, "right": column == last}
        at |= {"upper right": column - row == far, "lower left": row - column == far}
        return [edge for edge, belongs in at.items() if belongs]

    def has_won(self, player: int) -> bool:
        """Return whether a player has a bridge, a fork or a ring."""
        return self.has_bridge_or_fork(player) or self.has_ring(player)

    def has_bridge_or_fork(self, player: int) -> bool:  # V4, V5
        unseen = {place for place, stone in self.board.items() if stone == STONES[player]}
        while unseen:
            waiting = [unseen.pop()]
            corners, sides = 0, set[str]()
            while waiting:
                place = waiting.pop()
                edges = self.edges_of(place)
                corners += len(edges) == 2
                sides |= set(edges) if len(edges) == 1 else set()
                new = unseen.intersection(self.near(place))
                unseen -= new
                waiting += new
            if corners >= 2 or len(sides) >= 3:
                return True
        return False

    def has_ring(self, player: int) -> bool:
        """Return whether a cell is enclosed: no way from it leads off the board without one of the stones (V6).

        The way begins on the cell, whatever is on it.
        """
        free = {place for place, stone in self.board.items() if stone != STONES[player]}
        beside = {other for place in self.board for other in self.near(place)} - self.board.keys()
        waiting = list(beside)
        reached = set(beside)
        while waiting:
            new = free.intersection(self.near(waiting.pop())) - reached
            reached |= new
            waiting += new
        return any(place not in reached and reached.isdisjoint(self.near(place)) for place in self.board)

    def legal_actions(self) -> list[int]:
        if self.terminated:
            return []
        swaps = self.swap and self.plies == 1  # V3
        legal = [place for place, stone in self.board.items() if not stone or (swaps and stone == 1)]  # V2
        return sorted(row * self.side + column for row, column in legal)

    def apply(self, action: int) -> None:
        if action not in self.legal_actions():
            raise ValueError(f"action {action} is illegal, allowed: {self.legal_actions()}")
        player = self.current_player
        self.board[divmod(action, self.side)] = STONES[player]
        self.current_player = 1 - player
        self.plies += 1
        if self.has_won(player):
            self.terminated = True
            self.rewards = [float(STONES[player]), float(-STONES[player])]
        self.terminated = self.terminated or all(self.board.values())  # V7

    def observation(self, player: int) -> list[Any]:  # V9
        grid = [[(row, column) for column in range(self.side)] for row in range(self.side)]
        return [
            [[self.board.get(place) == stone for place in row] for row in grid]
            for stone in (STONES[player], STONES[1 - player], 0)
        ]
