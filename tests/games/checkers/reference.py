"""English draughts in plain Python: a slow and obvious oracle of the tensor engine.

Source: the game's rules file, whose rulings D1-D11 are cited below.
"""

from __future__ import annotations

from typing import Any

from tests.games.chance import Key

Square = tuple[int, int]  # row from the top and column from the left, from 0
DIRECTIONS = ((-1, -1), (-1, 1), (1, 1), (1, -1))  # D8
FORWARD = (1, -1)  # rows in which men of either player step
DARK = [(row, column) for row in range(8) for column in range(8) if (row + column) % 2 == 1]  # D1: 1 to 32 in order


class Reference:
    """One game; a board maps occupied squares to the owner and whether the piece is a king."""

    num_players = 2
    num_actions = 256
    truncated = False  # D7

    def __init__(self, key: Key, quiet_plies: int = 80) -> None:
        """Start a game; `key` belongs to the common interface, since the game has no chance."""
        self.quiet_plies = quiet_plies
        self.pieces: dict[Square, tuple[int, bool]] = {}
        for number, square in enumerate(DARK, 1):  # D1
            if number <= 12 or number >= 21:
                self.pieces[square] = (int(number >= 21), False)
        self.current_player = 0
        self.jumper: Square | None = None
        self.quiet = 0
        self.rewards = [0.0, 0.0]
        self.terminated = False

    @classmethod
    def from_dict(cls, state: dict[str, Any], key: Key, quiet_plies: int = 80) -> Reference:
        game = cls(key, quiet_plies)
        owners = {1: (0, False), 2: (0, True), -1: (1, False), -2: (1, True)}
        game.pieces = {DARK[k]: owners[piece] for k, piece in enumerate(state["board"]) if piece}
        game.current_player, game.quiet = state["current_player"], state["quiet"]
        game.jumper = DARK[state["jumper"] - 1] if state["jumper"] else None
        game.terminated = not game.legal_actions() or game.quiet >= quiet_plies
        return game

    def to_dict(self) -> dict[str, Any]:  # D11
        values = {(0, False): 1, (0, True): 2, (1, False): -1, (1, True): -2}
        return {
            "board": [values[self.pieces[square]] if square in self.pieces else 0 for square in DARK],
            "current_player": self.current_player,
            "jumper": DARK.index(self.jumper) + 1 if self.jumper else 0,
            "quiet": self.quiet,
        }

    def moves_of(self, square: Square) -> tuple[list[int], list[int]]:
        """Return the steps and the jumps of the piece on a square (D2, D3)."""
        steps, jumps = [], []
        owner, king = self.pieces[square]
        for k, (down, right) in enumerate(DIRECTIONS):
            if not king and down != FORWARD[owner]:
                continue
            near = (square[0] + down, square[1] + right)
            far = (square[0] + 2 * down, square[1] + 2 * right)
            action = 32 * k + DARK.index(square)
            if near in DARK and near not in self.pieces:
                steps.append(action)
            if near in self.pieces and self.pieces[near][0] != owner and far in DARK and far not in self.pieces:
                jumps.append(128 + action)
        return steps, jumps

    def legal_actions(self) -> list[int]:
        if self.terminated:
            return []
        if self.jumper is not None:  # D4
            return sorted(self.moves_of(self.jumper)[1])
        moves = [self.moves_of(square) for square, piece in self.pieces.items() if piece[0] == self.current_player]
        jumps = sorted(action for _, some in moves for action in some)
        return jumps or sorted(action for some, _ in moves for action in some)  # D3

    def apply(self, action: int) -> None:
        if action not in self.legal_actions():
            raise ValueError(f"action {action} is illegal, allowed: {self.legal_actions()}")
        jump, rest = divmod(action, 128)
        (row, column), (down, right) = DARK[rest % 32], DIRECTIONS[rest // 32]
        owner, king = self.pieces.pop((row, column))
        end = (row + (1 + jump) * down, column + (1 + jump) * right)
        if jump:
            del self.pieces[row + down, column + right]
        crowned = not king and end[0] == (7, 0)[owner]  # D5
        self.pieces[end] = (owner, king or crowned)
        self.quiet = self.quiet + 1 if king and not jump else 0  # D7
        self.jumper = None
        if jump and not crowned and self.moves_of(end)[1]:
            self.jumper = end
            return
        self.current_player = 1 - owner
        if not self.legal_actions():  # D6
            self.terminated = True
            self.rewards = [1.0, -1.0] if owner == 0 else [-1.0, 1.0]
        elif self.quiet >= self.quiet_plies:
            self.terminated = True

    def observation(self, player: int) -> list[Any]:
        """Return planes of rows (D10)."""

        def plane(squares: list[Square]) -> list[list[bool]]:
            return [[(row, column) in squares for column in range(8)] for row in range(8)]

        planes = [
            plane([square for square, piece in self.pieces.items() if piece == (owner, king)])
            for owner in (player, 1 - player)
            for king in (False, True)
        ]
        planes.append(plane([self.jumper] if self.jumper else []))
        facts = [player == 0, *(bool(self.quiet >> k & 1) for k in range(7))]
        return planes + [[[fact] * 8] * 8 for fact in facts]
