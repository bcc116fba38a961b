"""Barrage Stratego in plain Python: a slow and obvious oracle of the tensor engine.

Source: the game's rules file, whose rulings B1-B14 are cited below.
"""

from __future__ import annotations

from typing import Any

from tests.games.chance import Key

Square = tuple[int, int]  # row and column of the board, row 0 that of player 0

KINDS = ("flag", "bomb", "spy", "scout", "miner", "general", "marshal")  # B2
STRENGTH = {"spy": 1, "scout": 2, "miner": 3, "general": 9, "marshal": 10}
LAKES = {(row, column) for row in (4, 5) for column in (2, 3, 6, 7)}  # B1
STEPS = [(up, 0) for up in range(1, 10)] + [(0, right) for right in range(1, 10)]  # B5


class Piece:
    """A piece and what its opponent knows of it."""

    def __init__(self, owner: int, kind: str) -> None:
        self.owner, self.kind = owner, kind
        self.square: Square | None = None
        self.moved = self.shown = False


class Reference:
    """One game."""

    num_players = 2
    num_actions = 40 + 18 * 100
    truncated = False  # B9

    def __init__(
        self,
        key: Key,
        *,
        bombs: int = 1,
        spies: int = 1,
        scouts: int = 2,
        miners: int = 1,
        generals: int = 1,
        marshals: int = 1,
        two_squares: bool = True,
        quiet_plies: int = 200,
    ) -> None:
        """Start a game; `key` belongs to the common interface, since the game has no chance."""
        counts = (1, bombs, spies, scouts, miners, generals, marshals)
        kinds = [kind for kind, count in zip(KINDS, counts, strict=True) for _ in range(count)]
        self.armies = [[Piece(owner, kind) for kind in kinds] for owner in (0, 1)]
        self.two_squares, self.quiet_plies = two_squares, quiet_plies
        self.current_player = 0
        self.placed = 0
        # each player's moves since the last fight that the player began
        self.peaceful: list[list[tuple[Square, Square]]] = [[], []]
        self.quiet = 0
        self.rewards = [0.0, 0.0]
        self.terminated = False
        self.legal = self.possible_actions()

    def pieces(self) -> dict[Square, Piece]:
        return {piece.square: piece for army in self.armies for piece in army if piece.square}

    def next_piece(self) -> Piece | None:
        """Return the piece that is to be placed; None once all are (B3)."""
        if self.placed == 2 * len(self.armies[0]):
            return None
        return self.armies[self.current_player][self.placed // 2]

    def seen(self, square: Square, player: int | None = None) -> Square:
        """Turn a square of the board to a player, by default the one to move, or back (B4)."""
        row, column = square
        return (9 - row, 9 - column) if (self.current_player if player is None else player) else square

    def times(self, player: int) -> int:
        """Return how many of a player's last moves went to and fro between the same two squares (B8)."""
        moves = self.peaceful[player]
        count = min(len(moves), 1)
        while self.two_squares and count < len(moves) and moves[-count - 1] == moves[-count][::-1]:
            count += 1
        return count if self.two_squares else 0

    def move(self, action: int, board: dict[Square, Piece]) -> tuple[Square, Square] | None:
        """Return the squares of a legal move, None if it is illegal. board: the pieces by their squares."""
        start, end = self.ends(action, self.current_player)
        mover = board.get(start)
        if mover is None or mover.owner != self.current_player or mover.kind in ("flag", "bomb"):
            return None
        path = squares_between(start, end)
        if mover.kind != "scout" and path:  # B6
            return None
        if end in LAKES or any(between in LAKES or between in board for between in path):
            return None
        if end in board and board[end].owner == mover.owner:
            return None
        if self.two_squares and end not in board and self.shuttles(start, end):  # B8
            return None
        return start, end

    def ends(self, action: int, player: int) -> tuple[Square, Square]:
        """Return the squares of a player's move (B5)."""
        plane, square = divmod(action - 40, 100)
        row, column = divmod(square, 10)
        up, right = STEPS[plane]
        goal = (row + up) % 10, (column + right) % 10
        return self.seen((row, column), player), self.seen(goal, player)

    def shuttles(self, start: Square, end: Square) -> bool:
        """Return whether this is the fourth move in a row to and fro between two squares (B8)."""
        moves = self.peaceful[self.current_player][-3:]
        return moves == [(end, start), (start, end), (end, start)]

    def legal_actions(self) -> list[int]:
        return [] if self.terminated else self.legal

    def possible_actions(self) -> list[int]:
        """Return the legal actions of a game in progress; they are computed once for each position."""
        if self.next_piece():
            places = [divmod(place, 10) for place in range(40)]
            return [10 * row + column for row, column in places if self.seen((row, column)) not in self.pieces()]
        board = self.pieces()
        own = [self.seen(piece.square) for piece in self.armies[self.current_player] if piece.square]
        numbers = sorted(10 * row + column for row, column in own)
        return [a for plane in range(18) for square in numbers if self.move(a := 40 + 100 * plane + square, board)]

    def apply(self, action: int) -> None:
        if action not in self.legal_actions():
            raise ValueError(f"action {action} is illegal, allowed: {self.legal_actions()}")
        player = self.current_player
        placed = self.next_piece()
        if placed:
            placed.square = self.seen(divmod(action, 10))
            self.placed += 1
        else:
            self.make(*self.move(action, self.pieces()))  # type: ignore[misc] # legal
        self.current_player = 1 - player
        self.legal = self.possible_actions()
        if self.terminated or self.next_piece():
            return
        if not self.legal:  # B10
            self.win(player)
        elif self.quiet >= self.quiet_plies:  # B11
            self.terminated = True

    def make(self, start: Square, end: Square) -> None:
        """Move a piece, and let it fight (B6, B7)."""
        board = self.pieces()
        mover, other = board[start], board.get(end)
        self.peaceful[mover.owner].append((start, end))
        mover.moved = True
        mover.shown |= bool(squares_between(start, end))
        mover.square = end
        self.quiet += 1
        if other is None:
            return
        self.quiet = 0
        self.peaceful[mover.owner] = []
        mover.shown = other.shown = True
        survivors = fight(mover.kind, other.kind)
        if not survivors[0]:
            mover.square = None
        if not survivors[1]:
            other.square = None
        if other.kind == "flag":  # B9
            self.win(mover.owner)

    def win(self, player: int) -> None:
        self.rewards = [1.0, -1.0] if player == 0 else [-1.0, 1.0]
        self.terminated = True

    @classmethod
    def from_dict(cls, state: dict[str, Any], key: Key, **config: Any) -> Reference:
        game = cls(key, **config)
        for name in ("placed", "quiet", "current_player"):
            setattr(game, name, state[name])
        for player, army in enumerate(game.armies):
            for k, piece in enumerate(army):
                number = state["squares"][player][k]
                piece.square = None if number < 0 else game.seen(divmod(number, 10), player)
                piece.moved, piece.shown = (bool(state[fact][player][k]) for fact in ("moved", "shown"))
            if state["back"][player] >= 0:
                end, start = game.ends(state["back"][player], player)
                both = [(start, end), (end, start)]
                game.peaceful[player] = [both[k % 2] for k in range(state["times"][player])][::-1]
        game.legal = game.possible_actions()
        if not game.next_piece():
            flags = [army[0].square for army in game.armies]
            game.terminated = None in flags or not game.legal or game.quiet == game.quiet_plies
        return game

    def to_dict(self) -> dict[str, Any]:  # B13
        def number(player: int, square: Square | None) -> int:
            return -1 if square is None else 10 * self.seen(square, player)[0] + self.seen(square, player)[1]

        back = [-1, -1]
        for player, moves in enumerate(self.peaceful):
            if moves and self.two_squares:
                start, end = (self.seen(square, player) for square in moves[-1])
                step = (start[0] - end[0]) % 10, (start[1] - end[1]) % 10
                back[player] = 40 + 100 * STEPS.index(step) + 10 * end[0] + end[1]
        return {
            "squares": [[number(player, piece.square) for piece in army] for player, army in enumerate(self.armies)],
            "moved": [[int(piece.moved) for piece in army] for army in self.armies],
            "shown": [[int(piece.shown) for piece in army] for army in self.armies],
            "placed": self.placed,
            "back": back,
            "times": [self.times(0), self.times(1)],
            "quiet": self.quiet,
            "current_player": self.current_player,
        }

    def observation(self, player: int) -> list[Any]:  # B12
        own, other = self.armies[player], self.armies[1 - player]
        placing = self.placed < 2 * len(own)
        visible = [] if placing else other
        parts: list[list[Square] | bool] = []  # planes: squares of the board, or a constant

        def squares(pieces: list[Piece]) -> list[Square]:
            return [piece.square for piece in pieces if piece.square]

        parts += [squares([piece for piece in own if piece.kind == kind]) for kind in KINDS]
        parts += [squares([piece for piece in own if piece.moved]), squares([piece for piece in own if piece.shown])]
        parts += [squares([piece for piece in visible if piece.shown and piece.kind == kind]) for kind in KINDS]
        for moved in (False, True):
            parts.append(squares([piece for piece in visible if not piece.shown and piece.moved == moved]))
        for kind in KINDS:
            army = [piece for piece in other if piece.kind == kind]
            captured = sum(piece.square is None for piece in army)
            parts += [not placing and captured > k for k in range(len(army))]
        for mover in (player, 1 - player):
            moves = self.peaceful[mover][-1:] if self.two_squares else []
            parts += [[start for start, _ in moves], [end for _, end in moves]]
            parts += [self.times(mover) % 2 == 1, self.times(mover) >= 2]
        parts.append(placing)
        parts += [self.quiet >> k & 1 == 1 for k in range(8)]
        return [
            [[part if isinstance(part, bool) else self.seen((row, column), player) in part for column in range(10)]
             for row in range(10)]
            for part in parts
        ]  # fmt: skip


def squares_between(start: Square, end: Square) -> list[Square]:
    (row, column), (to_row, to_column) = start, end
    length = max(abs(to_row - row), abs(to_column - column))
    up, right = (to_row - row) // length, (to_column - column) // length
    return [(row + k * up, column + k * right) for k in range(1, length)]


def fight(attacker: str, defender: str) -> tuple[bool, bool]:
    """Return whether the attacker and the defender stay (B7)."""
    if defender == "flag":
        return True, False
    if defender == "bomb":
        return attacker == "miner", attacker != "miner"
    if (attacker, defender) == ("spy", "marshal"):
        return True, False
    difference = STRENGTH[attacker] - STRENGTH[defender]
    return difference > 0, difference < 0
