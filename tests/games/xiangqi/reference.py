"""Xiangqi in plain Python: a slow and obvious oracle of the tensor engine.

Source: the game's rules file, whose rulings X1-X18 are cited below.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.games.chance import Key

FILES, RANKS, KINDS = "abcdefghi", "0123456789", "PABNRCK"
STRAIGHT = [(0, 1), (0, -1), (1, 0), (-1, 0)]  # ranks, files
OBLIQUE = [(1, 1), (1, -1), (-1, 1), (-1, -1)]
LEAPS = [(2, 1), (2, -1), (1, 2), (1, -2), (-1, 2), (-1, -2), (-2, 1), (-2, -1)]  # X9
START = "rnbakabnr/9/1c5c1/p1p1p1p1p/9/9/P1P1P1P1P/1C5C1/9/RNBAKABNR w - - 0 1"  # X1
PALACES = ([f + r for f in "def" for r in "012"], [f + r for f in "def" for r in "789"])  # X3
SHORES = ("01234", "56789")  # X2: ranks of Red's and Black's side of the river

Board = dict[str, str]  # the piece on every point that has one, Red's in capitals
Move = tuple[str, str]


def near(point: str, ranks: int, files: int) -> str | None:
    """Return the point at a distance, or None beyond the board."""
    file, rank = FILES.index(point[0]) + files, RANKS.index(point[1]) + ranks
    return FILES[file] + RANKS[rank] if 0 <= file < 9 and 0 <= rank < 10 else None


def is_of(piece: str | None, player: int) -> bool:
    return piece is not None and piece.islower() == bool(player)


def line(point: str, ranks: int, files: int) -> Iterator[str]:
    """Yield the points in a direction."""
    to = near(point, ranks, files)
    while to:
        yield to
        to = near(to, ranks, files)


class Reference:
    """One game; the position is a dictionary of points."""

    num_players = 2
    truncated = False  # X10

    def __init__(self, key: Key, quiet_plies: int = 120) -> None:
        """Start a game; `key` belongs to the common interface, since the game has no chance."""
        self.quiet_plies = quiet_plies
        self.rewards = [0.0, 0.0]
        self.read(START)

    @classmethod
    def from_dict(cls, state: dict[str, Any], key: Key, **config: Any) -> Reference:
        game = cls(key, **config)
        game.read(state["fen"])
        game.moves = list(state.get("moves", []))
        # The boards before these moves, and after each of them, whether it gave check.
        boards = [dict(game.board)]
        for move in reversed(game.moves):
            board = dict(boards[0])
            board[move[:2]] = board.pop(move[2:])
            boards.insert(0, board)
        for k, board in enumerate(boards):
            player = (game.current_player + len(game.moves) - k) % 2
            game.past.append((board, player, game.exposed(board, player)))
        game.past.pop()
        game.terminated = game.result() is not None
        return game

    def read(self, fen: str) -> None:
        placed, player, _, _, quiet, number = fen.split()
        self.board: Board = {}
        for rank, row in zip(reversed(RANKS), placed.split("/"), strict=True):
            file = 0
            for sign in row:
                if sign.isdigit():
                    file += int(sign)
                else:
                    self.board[FILES[file] + rank] = sign
                    file += 1
        self.current_player = "wb".index(player)
        self.quiet, self.number = int(quiet), int(number)
        self.legal: list[Move] | None = None  # of this position, once they are known
        self.moves: list[str] = []  # X14
        # positions before these moves: pieces, player to move, whether it was check
        self.past: list[tuple[Board, int, bool]] = []
        self.terminated = False

    def to_dict(self) -> dict[str, Any]:  # X14
        rows = []
        for rank in reversed(RANKS):
            row, gap = "", 0
            for file in FILES:
                piece = self.board.get(file + rank)
                gap += piece is None
                if piece:
                    row, gap = row + str(gap or "") + piece, 0
            rows.append(row + str(gap or ""))
        words = ["/".join(rows), "wb"[self.current_player], "-", "-", str(self.quiet), str(self.number)]
        return {"fen": " ".join(words), "moves": self.moves}

    # *** moves ***

    def reach(self, board: Board, start: str) -> Iterator[str]:
        """Yield the points to which a piece may move, but for those with a piece of its colour (X2 to X5)."""
        piece = board[start]
        player, kind = int(piece.islower()), piece.upper()
        ahead = -1 if player else 1
        if kind == "P":
            crossed = start[1] not in SHORES[player]
            for step in [(ahead, 0), (0, 1), (0, -1)][: 3 if crossed else 1]:
                if to := near(start, *step):
                    yield to
        if kind in "KA":
            for step in STRAIGHT if kind == "K" else OBLIQUE:
                if near(start, *step) in PALACES[player]:
                    yield near(start, *step) or ""
        if kind == "B":
            for ranks, files in OBLIQUE:
                to = near(start, 2 * ranks, 2 * files)
                if to and to[1] in SHORES[player] and near(start, ranks, files) not in board:
                    yield to
        if kind == "N":
            for first in STRAIGHT:
                leg = near(start, *first)
                if leg is None or leg in board:
                    continue
                for ranks, files in OBLIQUE:
                    # Away from the start, the diagonal step goes on in the direction of the first one.
                    if (ranks, files)[first[0] == 0] == sum(first) and (to := near(leg, ranks, files)):
                        yield to
        if kind == "R":
            for step in STRAIGHT:
                for to in line(start, *step):
                    yield to
                    if to in board:
                        break
        if kind == "C":
            for step in STRAIGHT:
                met = 0
                for to in line(start, *step):
                    met += to in board
                    if met == 0 or (met == 2 and to in board):
                        yield to
                    if met == 2:
                        break

    def exposed(self, board: Board, player: int) -> bool:
        """Return whether a player's general could be captured, or faces the other one (X6)."""
        general, other = ("kK", "Kk")[player][1], ("kK", "Kk")[player][0]
        square = next(point for point, piece in board.items() if piece == general)
        for start, piece in board.items():
            if is_of(piece, 1 - player) and square in self.reach(board, start):
                return True
        for step in STRAIGHT[2:]:
            first = next((board[to] for to in line(square, *step) if to in board), None)
            if first == other:
                return True
        return False

    def after(self, move: Move) -> Board:
        board = dict(self.board)
        board[move[1]] = board.pop(move[0])
        return board

    def legal_moves(self) -> list[Move]:
        player = self.current_player
        if self.legal is None:
            self.legal = [
                (start, to)
                for start, piece in self.board.items()
                if is_of(piece, player)
                for to in self.reach(self.board, start)
                if not is_of(self.board.get(to), player) and not self.exposed(self.after((start, to)), player)
            ]
        return self.legal

    # *** actions (X9) ***

    def turned(self, point: str) -> str:
        return point[0] + RANKS[9 - int(point[1])] if self.current_player else point

    def action(self, move: Move) -> int:
        kind = self.board[move[0]].upper()
        start, to = map(self.turned, move)
        ranks = int(to[1]) - int(start[1])
        files = FILES.index(to[0]) - FILES.index(start[0])
        if kind in "AB":
            plane = 25 + OBLIQUE.index((ranks, files) if kind == "A" else (ranks // 2, files // 2))
        elif kind == "N":
            plane = 17 + LEAPS.index((ranks, files))
        else:
            plane = files % 9 - 1 if files else 8 + ranks % 10 - 1
        return 90 * plane + 9 * int(start[1]) + FILES.index(start[0])

    def legal_actions(self) -> list[int]:
        return [] if self.terminated else sorted(map(self.action, self.legal_moves()))

    def apply(self, action: int) -> None:
        moves = {self.action(move): move for move in self.legal_moves()}
        if action not in moves or self.terminated:
            raise ValueError(f"action {action} is illegal")
        start, to = moves[action]
        player = self.current_player
        self.past.append((self.board, player, self.exposed(self.board, player)))
        self.moves = [*self.moves, start + to]
        self.quiet += 1
        if to in self.board:
            self.quiet, self.moves, self.past = 0, [], []
        self.board, self.legal = self.after((start, to)), None
        self.number += player
        self.current_player = 1 - player
        result = self.result()
        self.terminated = result is not None
        self.rewards = [0.0, 0.0] if result is None else [result, -result]

    def result(self) -> float | None:
        """Return Red's reward at the end of the game, None before it."""
        player = self.current_player
        loss = [-1.0, 1.0][player]
        if not self.legal_moves():
            return loss  # X7
        # X11: earlier occurrences, by how many plies ago they were
        past = [*self.past, (self.board, player, self.exposed(self.board, player))]
        same = [k for k in range(len(self.past)) if past[k][:2] == (self.board, player)]
        if len(same) >= 2:
            # X12: a player has checked if the other one stands in check after each of the player's moves
            since = past[same[0] + 1 :]
            checks = [all(check for _, mover, check in since if mover == 1 - p) for p in (player, 1 - player)]
            if checks[0] != checks[1]:
                return loss if checks[0] else -loss
            return 0.0
        return 0.0 if self.quiet >= self.quiet_plies else None

    def observation(self, player: int) -> list[Any]:  # X13
        planes = []
        for side in (player, 1 - player):
            for kind in KINDS:
                letter = kind.lower() if side else kind
                ranks = reversed(RANKS) if player else RANKS
                planes.append([[self.board.get(file + rank) == letter for file in FILES] for rank in ranks])
        repeated = any(entry[:2] == (self.board, self.current_player) for entry in self.past)
        facts = [repeated, player == 1, *(bool(self.quiet >> k & 1) for k in range(7))]
        return planes + [[[fact] * 9] * 10 for fact in facts]
