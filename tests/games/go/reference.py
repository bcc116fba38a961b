"""Go in plain Python: a slow and obvious oracle of the tensor engine.

Source: the game's rules file, whose rulings G1-G11 are cited below.
"""

from __future__ import annotations

from typing import Any

from tests.games.chance import Key

STONES = (1, -1)  # G11: of black, player 0, and of white, player 1
KO = 2

Point = tuple[int, int]


class Reference:
    """One game; a board is a list of rows, row 1 first."""

    num_players = 2
    truncated = False  # G8

    def __init__(
        self, key: Key, *, size: int = 9, komi: float = 7.5, max_plies: int | None = None, superko: int = 0
    ) -> None:
        """Start a game; `key` belongs to the common interface, since the game has no chance."""
        if not 1 <= size <= 19 or abs(komi) > 361 or komi * 2 % 1 or (max_plies or 1) < 1:  # G10
            raise ValueError(f"need a size in 1..19, a komi and a limit, got {size}, {komi}, {max_plies}")
        self.size, self.komi, self.max_plies = size, komi, max_plies or 2 * size * size
        self.num_actions = size * size + 1
        self.board = [[0] * size for _ in range(size)]
        self.ko: Point | None = None
        self.superko = superko
        # G5, newest first; the boards before the game are as good as empty
        self.past = [[[0] * size for _ in range(size)]] * superko
        self.passed, self.terminated = False, False
        self.current_player = self.plies = 0
        self.rewards = [0.0, 0.0]

    @classmethod
    def from_dict(cls, state: dict[str, Any], key: Key, **config: Any) -> Reference:
        game = cls(key, **config)
        for index, stone in enumerate(state["board"]):
            point = divmod(index, game.size)
            if stone == KO:
                game.ko = point
            else:
                game.board[point[0]][point[1]] = stone
        rows = [state["history"][at : at + game.size] for at in range(0, len(state.get("history", ())), game.size)]
        game.past = [rows[at : at + game.size] for at in range(0, len(rows), game.size)]
        game.current_player, game.passed = state["current_player"], state["passed"]
        game.plies = state.get("ply", 0)
        for point in game.points():
            if game.at(point) and not game.liberties(game.region(point)):
                raise ValueError(f"no liberty at {point}")  # G11
        return game

    def to_dict(self) -> dict[str, Any]:  # G11
        board = [KO if point == self.ko else self.at(point) for point in self.points()]
        history = [stone for past in self.past for row in past for stone in row]
        about = {"board": board, "current_player": self.current_player, "passed": self.passed}
        return about | ({"history": history} if self.superko else {})

    def points(self) -> list[Point]:
        return [(row, column) for row in range(self.size) for column in range(self.size)]

    def at(self, point: Point) -> int:
        return self.board[point[0]][point[1]]

    def near(self, point: Point) -> list[Point]:  # G1
        row, column = point
        around = [(row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)]
        return [(r, c) for r, c in around if 0 <= r < self.size and 0 <= c < self.size]

    def region(self, point: Point) -> set[Point]:
        """Return the connected points of one kind around a point: a group (G2), or an empty region."""
        found, waiting = {point}, [point]
        while waiting:
            for near in self.near(waiting.pop()):
                if near not in found and self.at(near) == self.at(point):
                    found.add(near)
                    waiting.append(near)
        return found

    def liberties(self, group: set[Point]) -> set[Point]:
        return {near for point in group for near in self.near(point) if self.at(near) == 0}

    def placed(self, point: Point) -> set[Point] | None:
        """Place a stone and take others off (G3) -> those taken; None, and nothing done, if it were a suicide."""
        player, taken = self.current_player, set[Point]()
        self.board[point[0]][point[1]] = STONES[player]
        for near in self.near(point):
            if self.at(near) == STONES[1 - player] and not self.liberties(group := self.region(near)):
                taken |= group
        if not taken and not self.liberties(self.region(point)):
            self.board[point[0]][point[1]] = 0
            return None
        for row, column in taken:
            self.board[row][column] = 0
        return taken

    def legal_actions(self) -> list[int]:  # G4
        if self.terminated:
            return []
        found = []
        for action, point in enumerate(self.points()):
            if self.at(point) == 0 and point != self.ko:
                before = [row[:] for row in self.board]
                if self.placed(point) is not None and self.board not in self.past:  # G5
                    found.append(action)
                self.board = before
        return [*found, self.size * self.size]

    def apply(self, action: int) -> None:
        if action not in self.legal_actions():
            raise ValueError(f"action {action} is illegal, allowed: {self.legal_actions()}")
        player, passes, self.ko = self.current_player, action == self.size * self.size, None
        self.past = [[row[:] for row in self.board], *self.past][: self.superko]
        if not passes:
            point = divmod(action, self.size)
            in_eye = all(self.at(near) == STONES[1 - player] for near in self.near(point))
            taken = self.placed(point)
            if in_eye and taken and len(taken) == 1 and not self.superko:  # G5
                [self.ko] = taken
        self.plies += 1
        self.terminated = (passes and self.passed) or self.plies >= self.max_plies  # G6, G8
        self.passed, self.current_player = passes, 1 - player
        if self.terminated:  # G7
            lead = self.area(0) - self.area(1) - self.komi
            self.rewards = [float((lead > 0) - (lead < 0)), float((lead < 0) - (lead > 0))]

    def closed(self, point: Point) -> bool:
        """Return whether G5 alone forbids a stone there."""
        if not self.superko:
            return point == self.ko
        if self.at(point) != 0:
            return False
        before = [row[:] for row in self.board]
        back = self.placed(point) is not None and self.board in self.past
        self.board = before
        return back

    def area(self, player: int) -> int:
        """Return the area of a player (G7)."""
        count = 0
        for point in self.points():
            if self.at(point) == 0:
                borders = {self.at(near) for p in self.region(point) for near in self.near(p)} - {0}
                count += borders == {STONES[player]}
            else:
                count += self.at(point) == STONES[player]
        return count

    def observation(self, player: int) -> list[Any]:  # G9
        def plane(sees: Any) -> list[list[bool]]:
            return [[sees((row, column)) for column in range(self.size)] for row in range(self.size)]

        return [
            plane(lambda point: self.at(point) == STONES[player]),
            plane(lambda point: self.at(point) == STONES[1 - player]),
            plane(self.closed),
            plane(lambda point: self.passed),
            plane(lambda point: player == 0),
        ]
