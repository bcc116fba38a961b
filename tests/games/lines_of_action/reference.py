"""Lines of Action in plain Python: a slow and obvious oracle of the tensor engine.

Source: the game's rules file, whose rulings L1-L10 are cited below.
"""

from __future__ import annotations

from typing import Any

from tests.games.chance import Key

PIECES = (1, -1)  # L10: of player 0, black, and of player 1, white
DIRECTIONS = [(1, -1), (1, 0), (1, 1), (0, -1), (0, 1), (-1, -1), (-1, 0), (-1, 1)]  # rows and columns
AXES = [(0, 1), (1, 0), (1, 1), (1, -1)]  # L3
Square = tuple[int, int]


def inside(row: int, column: int) -> bool:
    return 0 <= row < 8 and 0 <= column < 8


class Reference:
    """One game; a board maps squares (row, column) to pieces, or to 0."""

    num_players = 2
    num_actions = 28 * 64
    truncated = False  # L7

    def __init__(self, key: Key, *, quiet_plies: int = 100) -> None:
        """Start a game; `key` belongs to the common interface, since the game has no chance."""
        if not 1 <= quiet_plies <= 400:  # L8
            raise ValueError(f"need 1..400 quiet plies, got {quiet_plies}")
        self.quiet_plies = quiet_plies
        self.board = {(row, column): 0 for row in range(8) for column in range(8)}
        for k in range(1, 7):  # L1
            self.board[0, k] = self.board[7, k] = 1
            self.board[k, 0] = self.board[k, 7] = -1
        self.moves: list[tuple[Square, Square]] = []  # since the last capture
        self.boards: list[dict[Square, int]] = []  # before these moves
        self.current_player = 0
        self.rewards = [0.0, 0.0]
        self.terminated = False

    @classmethod
    def from_dict(cls, state: dict[str, Any], key: Key, **config: Any) -> Reference:
        game = cls(key, **config)
        game.board = {divmod(square, 8): piece for square, piece in enumerate(state["board"])}
        game.current_player = state["current_player"]
        squares = [divmod(square, 8) for square in state["history"]]
        game.moves = list(zip(squares[::2], squares[1::2], strict=True))
        before = dict(game.board)
        for start, end in game.moves[::-1]:
            before = {**before, start: before[end], end: 0}
            game.boards.insert(0, before)
        game.terminated = game.connected(0) or game.connected(1) or game.is_draw() or not game.legal_actions()
        return game

    def to_dict(self) -> dict[str, Any]:  # L10
        history = [8 * row + column for move in self.moves for row, column in move]
        return {"board": list(self.board.values()), "current_player": self.current_player, "history": history}

    def move(self, action: int) -> tuple[Square, Square] | None:
        """Return the squares of a legal move, None if the action is illegal (L2, L3)."""
        plane, square = divmod(action, 64)
        (up, right), distance = AXES[plane // 7], plane % 7 + 1
        row, column = divmod(square, 8)
        if not inside(row + distance * up, column + distance * right):  # the way back
            up, right, distance = -up, -right, 8 - distance
        own = PIECES[self.current_player]
        if self.board[row, column] != own:
            return None
        line = [(row + k * up, column + k * right) for k in range(-7, 8)]
        if sum(self.board[place] != 0 for place in line if inside(*place)) != distance:
            return None
        *path, end = [(row + k * up, column + k * right) for k in range(1, distance + 1)]
        if not inside(*end) or self.board[end] == own or any(self.board[place] == -own for place in path):
            return None
        return (row, column), end

    def legal_actions(self) -> list[int]:
        if self.terminated:
            return []
        own = [8 * row + column for (row, column), piece in self.board.items() if piece == PIECES[self.current_player]]
        return [a for plane in range(28) for square in own if self.move(a := 64 * plane + square)]

    def connected(self, player: int) -> bool:
        """Return whether all pieces of a player are one group (L4)."""
        pieces = {place for place, piece in self.board.items() if piece == PIECES[player]}
        waiting = [min(pieces)]
        group = set(waiting)
        while waiting:
            row, column = waiting.pop()
            near = {(row + up, column + right) for up, right in DIRECTIONS} & pieces - group
            group |= near
            waiting += near
        return group == pieces

    def is_draw(self) -> bool:
        return self.board in self.boards or len(self.moves) >= self.quiet_plies  # L6

    def apply(self, action: int) -> None:
        move = self.move(action)
        if move is None or self.terminated:
            raise ValueError(f"action {action} is illegal, allowed: {self.legal_actions()}")
        (start, end), player = move, self.current_player
        self.moves.append(move)
        self.boards.append(dict(self.board))
        if self.board[end]:
            self.moves, self.boards = [], []
        self.board[start], self.board[end] = 0, PIECES[player]
        self.current_player = 1 - player
        if self.connected(player) or self.connected(1 - player):  # L4
            winner = player if self.connected(player) else 1 - player
            self.rewards = [float(PIECES[winner]), float(-PIECES[winner])]  # L7
            self.terminated = True
        elif self.is_draw():
            self.terminated = True
        elif not self.legal_actions():  # L5
            self.rewards = [float(PIECES[player]), float(-PIECES[player])]
            self.terminated = True

    def observation(self, player: int) -> list[Any]:
        """Return two planes of rows, the player's pieces first (L9)."""
        seats = (player, 1 - player)
        return [[[self.board[row, column] == PIECES[p] for column in range(8)] for row in range(8)] for p in seats]
