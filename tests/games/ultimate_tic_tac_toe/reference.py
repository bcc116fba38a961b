"""Ultimate tic-tac-toe in plain Python: a slow and obvious oracle of the tensor engine.

Source: the game's rules file, whose rulings U1-U8 are cited below.
"""

from __future__ import annotations

from typing import Any

from tests.games.chance import Key

MARKS = (1, -1)  # U8: of player 0 and of player 1
LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]


class Reference:
    """One game; `boards` are nine small boards of nine cells each (U1)."""

    num_players = 2
    num_actions = 81
    truncated = False  # U5

    def __init__(self, key: Key) -> None:
        """Start a game; `key` belongs to the common interface, since the game has no chance."""
        self.boards = [[0] * 9 for _ in range(9)]
        self.active = set(range(9))  # U2
        self.current_player = 0
        self.rewards = [0.0, 0.0]
        self.terminated = False

    @staticmethod
    def place(action: int) -> tuple[int, int]:
        """Return the small board of a cell of the grid, and the cell's number on it (U1, U2)."""
        row, column = divmod(action, 9)
        return row // 3 * 3 + column // 3, row % 3 * 3 + column % 3

    @classmethod
    def from_dict(cls, state: dict[str, Any], key: Key) -> Reference:
        game = cls(key)
        for action, mark in enumerate(state["board"]):
            board, cell = cls.place(action)
            game.boards[board][cell] = mark
        game.current_player = state["current_player"]
        game.terminated = game.has_won(0) or game.has_won(1) or not game.open_boards()
        game.active = set() if game.terminated else {b for b, flag in enumerate(state["active"]) if flag}
        return game

    def to_dict(self) -> dict[str, Any]:  # U8
        grid = [self.boards[board][cell] for board, cell in map(self.place, range(81))]
        active = [int(b in self.active) for b in range(9)]
        return {"board": grid, "active": active, "current_player": self.current_player}

    def owns(self, player: int, board: int) -> bool:
        """Return whether a player has a line on a small board (U3)."""
        return any(all(self.boards[board][cell] == MARKS[player] for cell in line) for line in LINES)

    def open_boards(self) -> set[int]:
        """Return the small boards that are neither won nor full (U3)."""
        return {b for b in range(9) if 0 in self.boards[b] and not self.owns(0, b) and not self.owns(1, b)}

    def has_won(self, player: int) -> bool:
        return any(all(self.owns(player, board) for board in line) for line in LINES)  # U5

    def legal_actions(self) -> list[int]:
        """Return the empty cells of the active boards (U4)."""
        places = [(action, *self.place(action)) for action in range(81)]
        return [action for action, board, cell in places if board in self.active and self.boards[board][cell] == 0]

    def apply(self, action: int) -> None:
        if action not in self.legal_actions():
            raise ValueError(f"action {action} is illegal, allowed: {self.legal_actions()}")
        player, (board, cell) = self.current_player, self.place(action)
        self.boards[board][cell] = MARKS[player]
        self.current_player = 1 - player
        free = self.open_boards()
        won = self.has_won(player)
        self.terminated = won or not free  # U5
        self.active = set() if self.terminated else {cell} if cell in free else free  # U4
        if won:
            self.rewards = [float(MARKS[player]), float(-MARKS[player])]  # U6

    def observation(self, player: int) -> list[Any]:
        """Return five planes of rows (U7)."""
        legal = self.legal_actions()
        seats = (player, 1 - player)

        def plane(holds: Any) -> list[Any]:
            cells = [bool(holds(action, *self.place(action))) for action in range(81)]
            return [cells[at : at + 9] for at in range(0, 81, 9)]

        return [
            *(plane(lambda a, b, c, mark=MARKS[p]: self.boards[b][c] == mark) for p in seats),
            *(plane(lambda a, b, c, p=p: self.owns(p, b)) for p in seats),
            plane(lambda a, b, c: a in legal),
        ]
