"""Chess in plain Python: a slow and obvious oracle of the tensor engine.

Source: the game's rules file, whose rulings C1-C16 are cited below.
"""

from __future__ import annotations

from typing import Any

from tests.games.chance import Key

FILES, RANKS, KINDS = "abcdefgh", "12345678", "PNBRQK"
STRAIGHT = [(0, 1), (0, -1), (1, 0), (-1, 0)]
OBLIQUE = [(1, 1), (1, -1), (-1, 1), (-1, -1)]
LEAPS = [(-2, -1), (-2, 1), (-1, -2), (-1, 2), (2, -1), (2, 1), (1, -2), (1, 2)]  # C4
REACH = {"B": OBLIQUE, "R": STRAIGHT, "Q": STRAIGHT + OBLIQUE}
UNDER = [(0, 1), (1, 1), (-1, 1)]  # C4
ROOKS = {"K": "h1", "Q": "a1", "k": "h8", "q": "a8"}  # C5
START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"  # C1
GARDNER = "rnbqk/ppppp/5/PPPPP/RNBQK w - - 0 1"  # C16

Board = dict[str, str]  # the piece on every square that has one, white in capitals
Move = tuple[str, str, str]  # from, to, and what a pawn becomes


class Reference:
    """One game; the position is a dictionary of squares."""

    num_players = 2
    truncated = False  # C11

    def __init__(self, key: Key, quiet_plies: int = 100, side: int = 8) -> None:
        """Start a game; `key` belongs to the common interface, since the game has no chance."""
        self.quiet_plies = quiet_plies
        self.side = side
        self.files, self.ranks = FILES[:side], RANKS[:side]
        distances = [*range(1 - side, 0), *range(1, side)]
        self.slides = [(n * f, n * r) for f, r in ((0, 1), (1, 0), (1, 1), (1, -1)) for n in distances]  # C4
        self.num_actions = 4674 if side == 8 else 1225
        self.rewards = [0.0, 0.0]
        self.read(START if side == 8 else GARDNER)

    @classmethod
    def from_dict(cls, state: dict[str, Any], key: Key, **config: Any) -> Reference:
        game = cls(key, **config)
        game.read(state["fen"])
        game.moves = list(state.get("moves", []))
        board = dict(game.board)
        for back, move in enumerate(reversed(game.moves), 1):
            board[move[:2]] = board.pop(move[2:])
            game.before.append(game.position(board, (game.current_player + back) % 2, ""))
        game.terminated = game.result() is not None
        return game

    def read(self, fen: str) -> None:
        placed, player, rights, passed, quiet, number = fen.split()
        self.board: Board = {}
        for rank, row in zip(reversed(self.ranks), placed.split("/"), strict=True):
            file = 0
            for sign in row:
                if sign.isdigit():
                    file += int(sign)
                else:
                    self.board[FILES[file] + rank] = sign
                    file += 1
        self.current_player = "wb".index(player)
        self.rights = rights.replace("-", "")
        self.passed = passed.replace("-", "")
        if not any(to == self.passed for _, to, _ in self.captures_in_passing()):
            self.passed = ""
        self.quiet, self.number = int(quiet), int(number)
        self.moves: list[str] = []  # C13
        self.before: list[Any] = []  # positions before these moves
        self.terminated = False

    def to_dict(self) -> dict[str, Any]:  # C13
        rows = []
        for rank in reversed(self.ranks):
            row, gap = "", 0
            for file in self.files:
                piece = self.board.get(file + rank)
                gap += piece is None
                if piece:
                    row, gap = row + str(gap or "") + piece, 0
            rows.append(row + str(gap or ""))
        words = ["/".join(rows), "wb"[self.current_player], self.rights or "-", self.passed or "-"]
        return {"fen": " ".join([*words, str(self.quiet), str(self.number)]), "moves": self.moves}

    # *** moves ***

    def near(self, square: str, files: int, ranks: int) -> str | None:
        """Return the square at a distance of files and ranks, or None beyond the board."""
        file, rank = FILES.index(square[0]) + files, RANKS.index(square[1]) + ranks
        return FILES[file] + RANKS[rank] if 0 <= file < self.side and 0 <= rank < self.side else None

    def is_own(self, piece: str | None, player: int) -> bool:
        return piece is not None and piece.isupper() == (player == 0)

    def attacked(self, board: Board, square: str, by: int) -> bool:
        """Return whether a piece of a player attacks a square."""
        for start, piece in board.items():
            if self.is_own(piece, by) and square in self.reach(board, start, piece):
                return True
        return False

    def reach(self, board: Board, start: str, piece: str) -> list[str]:
        """Return the squares that a piece attacks (C2)."""
        kind, ahead = piece.upper(), 1 if piece.isupper() else -1
        steps = {"P": [(1, ahead), (-1, ahead)], "N": LEAPS, "K": STRAIGHT + OBLIQUE}
        if kind in steps:
            return [to for step in steps[kind] if (to := self.near(start, *step))]
        found = []
        for files, ranks in REACH[kind]:
            to = self.near(start, files, ranks)
            while to:
                found.append(to)
                to = None if to in board else self.near(to, files, ranks)
        return found

    def after(self, board: Board, move: Move) -> Board:
        """Return the pieces after a move."""
        start, to, becomes = move
        board = dict(board)
        piece = board.pop(start)
        if piece in "Pp" and start[0] != to[0] and to not in board:
            del board[to[0] + start[1]]  # C3
        if piece in "Kk" and abs(FILES.index(start[0]) - FILES.index(to[0])) == 2:  # C5
            rook, place = ("a", "d") if to[0] == "c" else ("h", "f")
            board[place + to[1]] = board.pop(rook + to[1])
        board[to] = (becomes if piece.isupper() else becomes.lower()) or piece
        return board

    def safe(self, move: Move) -> bool:
        """Return whether the player's king is not attacked after a move (C6)."""
        board, king = self.after(self.board, move), "Kk"[self.current_player]
        square = next(square for square, piece in board.items() if piece == king)
        return not self.attacked(board, square, 1 - self.current_player)

    def captures_in_passing(self) -> list[Move]:  # C3
        pawn = "Pp"[self.current_player]
        found = []
        for start, piece in self.board.items():
            if self.passed and piece == pawn and self.passed in self.reach(self.board, start, piece):
                found.append((start, self.passed, ""))
        return [move for move in found if self.safe(move)]

    def legal_moves(self) -> list[Move]:
        player, found = self.current_player, list[Move]()
        for start, piece in self.board.items():
            if not self.is_own(piece, player):
                continue
            reach = self.reach(self.board, start, piece)
            if piece not in "Pp":
                ends = [to for to in reach if not self.is_own(self.board.get(to), player)]
                found += [(start, to, "") for to in ends]
                continue
            ends = [to for to in reach if self.is_own(self.board.get(to), 1 - player)]
            ahead, rank = (1, "2") if player == 0 else (-1, "7")
            one, two = self.near(start, 0, ahead), self.near(start, 0, 2 * ahead)
            if one and one not in self.board:
                ends.append(one)
                if self.side == 8 and two and start[1] == rank and two not in self.board:
                    ends.append(two)
            for to in ends:
                found += [(start, to, becomes) for becomes in ("QRBN" if to[1] in ("1", self.ranks[-1]) else [""])]
        return [m for m in found if self.safe(m)] + self.captures_in_passing() + self.castlings()

    def castlings(self) -> list[Move]:  # C5
        rank, other, found = "18"[self.current_player], 1 - self.current_player, list[Move]()
        for right, between, path in (("Q", "bcd", "edc"), ("K", "fg", "efg")):
            right = right if self.current_player == 0 else right.lower()
            free = not any(file + rank in self.board for file in between)
            if right in self.rights and free and not any(self.attacked(self.board, f + rank, other) for f in path):
                found.append(("e" + rank, path[-1] + rank, ""))
        return found

    def number_of(self, move: Move) -> int:  # C4
        start, to, becomes = move
        (file, rank), (end_file, end_rank) = ((FILES.index(s[0]), RANKS.index(s[1])) for s in (start, to))
        if self.current_player == 1:
            rank, end_rank = self.side - 1 - rank, self.side - 1 - end_rank
        step = end_file - file, end_rank - rank
        if self.board[start] in "Kk" and abs(step[0]) == 2:  # castling
            return 4672 if to[0] == "c" else 4673
        if becomes and becomes != "Q":
            plane = 3 * "RBN".index(becomes) + UNDER.index(step)
        elif step in self.slides:
            plane = 9 + self.slides.index(step)
        else:
            plane = 9 + len(self.slides) + LEAPS.index(step)
        return (9 + len(self.slides) + len(LEAPS)) * (self.side * file + rank) + plane

    def legal_actions(self) -> list[int]:
        return [] if self.terminated else sorted(map(self.number_of, self.legal_moves()))

    # *** the game ***

    def position(self, board: Board, player: int, passed: str) -> Any:
        """Return the facts that distinguish positions (C10)."""
        return sorted(board.items()), player, self.rights, passed

    def apply(self, action: int) -> None:
        moves = {self.number_of(move): move for move in self.legal_moves()}
        if self.terminated or action not in moves:
            raise ValueError(f"action {action} is illegal, allowed: {self.legal_actions()}")
        move, player, rights = moves[action], self.current_player, self.rights
        start, to, _ = move
        pawn, taken = self.board[start] in "Pp", to in self.board
        before = self.position(self.board, player, self.passed), self.passed
        if self.board[start] in "Kk":
            self.rights = self.rights.replace("Kk"[player], "").replace("Qq"[player], "")
        for right, square in ROOKS.items():
            if square in (start, to):
                self.rights = self.rights.replace(right, "")
        self.board = self.after(self.board, move)
        self.quiet = 0 if pawn or taken else self.quiet + 1
        if pawn or taken or self.rights != rights or before[1]:
            self.moves, self.before = [], []
        else:
            self.moves, self.before = [*self.moves, start + to], [*self.before, before[0]]
        self.current_player, self.number = 1 - player, self.number + player
        two = pawn and abs(RANKS.index(start[1]) - RANKS.index(to[1])) == 2
        self.passed = self.near(start, 0, 1 if player == 0 else -1) or "" if two else ""
        if not self.captures_in_passing():
            self.passed = ""
        result = self.result()
        self.terminated = result is not None
        if result:
            self.rewards = [float(result), float(-result)]

    def result(self) -> int | None:
        """Return white's result once the game is over."""
        player = self.current_player
        if not self.legal_moves():  # C8
            king = next(square for square, piece in self.board.items() if piece == "Kk"[player])
            return 2 * player - 1 if self.attacked(self.board, king, 1 - player) else 0
        pieces = [(p.upper(), square) for square, p in self.board.items() if p not in "Kk"]
        minor = all(kind in "BN" for kind, _ in pieces)
        colours = {(FILES.index(square[0]) + RANKS.index(square[1])) % 2 for _, square in pieces}
        bishops = all(kind == "B" for kind, _ in pieces)
        if minor and (len(pieces) <= 1 or (bishops and len(colours) == 1)):  # C9
            return 0
        if self.earlier() >= 2:  # C10
            return 0
        return 0 if self.quiet >= self.quiet_plies else None  # C11

    def earlier(self) -> int:
        """Return the earlier occurrences of the position."""
        return self.before.count(self.position(self.board, self.current_player, self.passed))

    def observation(self, player: int) -> list[Any]:  # C12
        ranks = self.ranks if player == 0 else self.ranks[::-1]

        def plane(squares: set[str]) -> list[list[bool]]:
            return [[file + rank in squares for rank in ranks] for file in self.files]

        def whole(fact: bool) -> list[list[bool]]:
            return [[fact] * self.side for _ in self.files]

        kinds = KINDS + KINDS.lower() if player == 0 else KINDS.lower() + KINDS
        pieces = [plane({square for square, p in self.board.items() if p == kind}) for kind in kinds]
        facts = [self.earlier() > 0, player == 1, *(self.quiet >> k & 1 == 1 for k in range(7))]
        castling = plane({square for right, square in ROOKS.items() if right in self.rights})
        rights = [castling, plane({self.passed})] if self.side == 8 else []
        return [*pieces, *rights, *map(whole, facts)]
