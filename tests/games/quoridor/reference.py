"""Quoridor in plain Python: a slow and obvious oracle of the tensor engine, with a search for each wall.

Source: the game's rules file, whose rulings Q1-Q13 are cited below.
"""

from __future__ import annotations

from typing import Any

from tests.games.chance import Key

Square = tuple[int, int]  # row from the top, column from the left
WAYS = ((-1, 0), (0, 1), (1, 0), (0, -1))


class Reference:
    """One game; `blocked` holds the pairs of squares between which a wall stands."""

    num_players = 2
    truncated = False  # Q9

    def __init__(self, key: Key, size: int = 9, walls: int = 10) -> None:
        """Start a game; `key` belongs to the common interface, since the game has no chance."""
        self.size = size
        self.num_actions = size**2 + 2 * (size - 1) ** 2
        self.hands = [walls, walls]
        self.all_walls = walls
        self.pawns: list[Square] = [(size - 1, size // 2), (0, size // 2)]  # Q1
        self.walls: list[tuple[int, int, int]] = []  # row, column, whether vertical
        self.blocked: set[frozenset[Square]] = set()
        self.plies = 0
        self.current_player = 0
        self.legal: list[int] | None = None  # once they have been asked for
        self.rewards = [0.0, 0.0]
        self.terminated = False

    @classmethod
    def from_dict(cls, state: dict[str, Any], key: Key, size: int = 9, walls: int = 10) -> Reference:
        game = cls(key, size, walls)
        game.pawns = [divmod(state["board"].index(stone), size) for stone in (1, -1)]
        game.hands, game.current_player = list(state["walls"]), state["current_player"]
        game.plies = state.get("ply", 0)
        for vertical, name in enumerate(("horizontal", "vertical")):
            for wall, here in enumerate(state[name]):
                if here:
                    game.build(*divmod(wall, size - 1), vertical)
        game.terminated = game.pawns[0][0] == 0 or game.pawns[1][0] == size - 1
        return game

    def to_dict(self) -> dict[str, Any]:  # Q13
        squares = [(r, c) for r in range(self.size) for c in range(self.size)]
        crossings = [(r, c) for r in range(self.size - 1) for c in range(self.size - 1)]
        return {
            "board": [(square == self.pawns[0]) - (square == self.pawns[1]) for square in squares],
            "horizontal": [int((*at, 0) in self.walls) for at in crossings],
            "vertical": [int((*at, 1) in self.walls) for at in crossings],
            "walls": list(self.hands),
            "current_player": self.current_player,
        }

    @staticmethod
    def sides(row: int, column: int, vertical: int) -> set[frozenset[Square]]:
        """Return the two pairs of squares between which a wall stands."""
        if vertical:
            return {frozenset(((r, column), (r, column + 1))) for r in (row, row + 1)}
        return {frozenset(((row, c), (row + 1, c))) for c in (column, column + 1)}

    def build(self, row: int, column: int, vertical: int) -> None:
        self.walls.append((row, column, vertical))
        self.blocked |= self.sides(row, column, vertical)

    def neighbours(self, square: Square, blocked: set[frozenset[Square]]) -> list[Square]:
        around = [(square[0] + down, square[1] + right) for down, right in WAYS]
        return [
            (r, c)
            for r, c in around
            if 0 <= r < self.size and 0 <= c < self.size and frozenset((square, (r, c))) not in blocked
        ]

    def reaches(self, player: int, blocked: set[frozenset[Square]]) -> bool:
        """Return whether a pawn has a way to its goal, pawns being no obstacle (Q7)."""
        seen, waiting, ahead = {self.pawns[player]}, [self.pawns[player]], (-1, 1)[player]
        while waiting:
            square = waiting.pop()
            if square[0] == (0, self.size - 1)[player]:
                return True
            for near in sorted(self.neighbours(square, blocked), key=lambda near: near[0] * ahead):  # ahead first
                if near not in seen:
                    seen.add(near)
                    waiting.append(near)
        return False

    def moves(self) -> list[Square]:
        """Return the squares to which the pawn may move (Q4, Q5)."""
        pawn, other = self.pawns[self.current_player], self.pawns[1 - self.current_player]
        found = []
        for square in self.neighbours(pawn, self.blocked):
            if square != other:
                found.append(square)
                continue
            beyond = (2 * other[0] - pawn[0], 2 * other[1] - pawn[1])
            around = [near for near in self.neighbours(other, self.blocked) if near != pawn]
            found += [beyond] if beyond in around else around
        return found

    def legal_actions(self) -> list[int]:
        if self.terminated:
            return []
        if self.legal is None:
            self.legal = self.all_legal()
        return self.legal

    def all_legal(self) -> list[int]:
        actions = [self.size * row + column for row, column in self.moves()]
        inner = self.size - 1
        if self.hands[self.current_player]:
            for vertical in (0, 1):
                for row in range(inner):
                    for column in range(inner):
                        crossed = (row, column, 1 - vertical) in self.walls
                        sides = self.sides(row, column, vertical)
                        if crossed or sides & self.blocked:  # Q6
                            continue
                        if all(self.reaches(player, self.blocked | sides) for player in (0, 1)):  # Q7
                            actions.append(self.size**2 + inner**2 * vertical + inner * row + column)
        return sorted(actions)

    def apply(self, action: int) -> None:
        if action not in self.legal_actions():
            raise ValueError(f"action {action} is illegal, allowed: {self.legal_actions()}")
        player, self.legal = self.current_player, None
        if action < self.size**2:
            self.pawns[player] = divmod(action, self.size)
        else:
            vertical, wall = divmod(action - self.size**2, (self.size - 1) ** 2)
            self.build(*divmod(wall, self.size - 1), vertical)
            self.hands[player] -= 1
        self.plies += 1
        self.current_player = 1 - player
        if self.pawns[player][0] == (0, self.size - 1)[player]:  # Q2
            self.terminated = True
            self.rewards = [1.0, -1.0] if player == 0 else [-1.0, 1.0]
        elif self.plies >= 4 * self.size**2:  # Q9
            self.terminated = True

    def observation(self, player: int) -> list[Any]:
        """Return planes of rows (Q12)."""
        rows = [[(r, c) for c in range(self.size)] for r in range(self.size)]
        order = (player, 1 - player)
        planes = [[[square == self.pawns[owner] for square in row] for row in rows] for owner in order]
        planes += [[[(*square, vertical) in self.walls for square in row] for row in rows] for vertical in (0, 1)]
        digits = len(f"{self.all_walls:b}") if self.all_walls else 0
        facts = [player == 0, *(bool(self.hands[owner] >> k & 1) for owner in order for k in range(digits))]
        return planes + [[[fact for _ in row] for row in rows] for fact in facts]
