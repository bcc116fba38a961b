"""Shogi, minishogi and animal shogi in plain Python: a slow and obvious oracle of the tensor engine.

Source: the game's rules file, whose rulings S1-S13 are cited below.
"""

from __future__ import annotations

from typing import Any

from tests.games.chance import Key

STARTS = {  # S1
    9: "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL",
    5: "rbsgk/4p/5/P4/KGSBR",
    3: "gle/1c1/1C1/ELG",
}
ORDERS = {9: "PLNSBRGK", 5: "PSBRGK", 3: "CEGL"}  # S4, S12
RAISED = {9: "PLNSBR", 5: "PSBR", 3: "C"}
COUNTS = {9: [18, 4, 4, 4, 2, 2, 4], 5: [2] * 5, 3: [2] * 3}
ZONE = {9: 3, 5: 1, 3: 1}
# steps (files to the left, ranks down) as the mover sees them
UP, STRAIGHT = [(0, -1)], [(0, -1), (1, 0), (-1, 0), (0, 1)]
OBLIQUE = [(1, -1), (-1, -1), (1, 1), (-1, 1)]
GOLD = [*STRAIGHT, (1, -1), (-1, -1)]
WAYS = [(0, -1), (1, -1), (-1, -1), (1, 0), (-1, 0), (0, 1), (1, 1), (-1, 1), (1, -2), (-1, -2)]  # S4
STEPS = {
    "P": UP, "N": [(1, -2), (-1, -2)], "S": [*UP, *OBLIQUE], "G": GOLD, "K": STRAIGHT + OBLIQUE,
    "+P": GOLD, "+L": GOLD, "+N": GOLD, "+S": GOLD, "+B": STRAIGHT, "+R": OBLIQUE,
}  # fmt: skip
SLIDES = {"L": UP, "B": OBLIQUE, "+B": OBLIQUE, "R": STRAIGHT, "+R": STRAIGHT}
ANIMALS = {"C": UP, "E": OBLIQUE, "G": STRAIGHT, "L": STRAIGHT + OBLIQUE, "+C": GOLD}

Square = tuple[int, int]  # file from 1, rank from 1
Board = dict[Square, str]  # a piece of Black in capitals, "+" before promoted ones
Move = tuple[Square | None, Square, str]  # start (None for a drop), end, and the piece afterwards, in capitals


class Reference:
    """One game."""

    num_players = 2
    truncated = False

    def __init__(self, key: Key, files: int = 9, window: int = 64) -> None:
        """Start a game; `key` belongs to the common interface, since the game has no chance."""
        self.files, self.ranks = files, {9: 9, 5: 5, 3: 4}[files]
        self.window = window
        self.order = ORDERS[files]
        self.king = self.order[-1]
        self.animal = files == 3
        self.rewards = [0.0, 0.0]
        self.terminated = False
        self.read(f"{STARTS[files]} b - 1")

    @classmethod
    def from_dict(cls, state: dict[str, Any], key: Key, **config: Any) -> Reference:
        game = cls(key, **config)
        game.read(state["sfen"])
        game.terminated = game.result() is not None
        return game

    def read(self, sfen: str) -> None:
        placed, side, hands, number = sfen.split()
        self.board: Board = {}
        for rank, row in enumerate(placed.split("/"), 1):
            file, raised = self.files, ""
            for sign in row:
                if sign.isdigit():
                    file -= int(sign)
                elif sign == "+":
                    raised = sign
                else:
                    self.board[file, rank] = raised + sign
                    file, raised = file - 1, ""
        self.current_player = "bw".index(side)
        self.hands = [dict.fromkeys(self.order[:-1], 0) for _ in range(2)]
        count = ""
        for sign in hands.replace("-", ""):
            if sign.isdigit():
                count += sign
            else:
                self.hands[sign.islower()][sign.upper()] += int(count or 1)
                count = ""
        self.ply = int(number) - 1
        self.known: tuple[int, list[Move]] = -1, []
        self.past: list[tuple[Any, int, bool]] = []  # position, who moved to it, and whether by a check
        self.remember()

    def remember(self) -> None:
        mover = 1 - self.current_player
        self.past.append((self.position(), mover, self.attacked(self.board, self.current_player)))

    def position(self) -> Any:  # S10
        return sorted(self.board.items()), self.current_player, [sorted(hand.items()) for hand in self.hands]

    def to_dict(self) -> dict[str, Any]:  # S13
        rows = []
        for rank in range(1, self.ranks + 1):
            row, gap = "", 0
            for file in range(self.files, 0, -1):
                piece = self.board.get((file, rank))
                gap += piece is None
                if piece:
                    row, gap = row + str(gap or "") + piece, 0
            rows.append(row + str(gap or ""))
        hands = ""
        for player in range(2):
            for letter in "RBGSNLPEC" if not self.animal else "GEC":
                held = self.hands[player].get(letter, 0)
                name = letter.lower() if player else letter
                hands += (str(held) if held > 1 else "") + name if held else ""
        return {"sfen": f"{'/'.join(rows)} {'bw'[self.current_player]} {hands or '-'} {self.ply + 1}"}

    # *** moves ***

    def near(self, square: Square, step: tuple[int, int], player: int) -> Square | None:
        """Return the square one step away, as a player sees the board."""
        sign = -1 if player else 1
        file, rank = square[0] + sign * step[0], square[1] + sign * step[1]
        return (file, rank) if 1 <= file <= self.files and 1 <= rank <= self.ranks else None

    def depth(self, square: Square, player: int) -> int:
        """Return the number of a rank, from the far side of a player."""
        return self.ranks + 1 - square[1] if player else square[1]

    def owner(self, piece: str) -> int:
        return int(piece[-1].islower())

    def reach(self, board: Board, start: Square, piece: str) -> list[Square]:
        """Return the squares that a piece attacks (S2)."""
        player, found = self.owner(piece), list[Square]()
        kind = piece.upper()
        steps = ANIMALS[kind] if self.animal else STEPS.get(kind, [])
        found += [to for step in steps if (to := self.near(start, step, player))]
        for step in [] if self.animal else SLIDES.get(kind, []):
            to = self.near(start, step, player)
            while to:
                found.append(to)
                to = None if to in board else self.near(to, step, player)
        return found

    def attacked(self, board: Board, player: int) -> bool:
        """Return whether the king of a player is attacked."""
        king = self.king.lower() if player else self.king
        return any(
            self.owner(piece) != player and any(board.get(to) == king for to in self.reach(board, start, piece))
            for start, piece in board.items()
        )

    def after(self, board: Board, move: Move, player: int) -> Board:
        start, to, piece = move
        board = dict(board)
        if start:
            del board[start]
        board[to] = piece.lower() if player else piece
        return board

    def may_stay(self, kind: str, to: Square, player: int) -> bool:
        """Return whether a piece could move again (S5)."""
        return self.animal or self.depth(to, player) > {"P": 1, "L": 1, "N": 2}.get(kind, 0)

    def moves_of(self, start: Square, piece: str) -> list[Move]:
        """Return the moves of a piece, whether or not they leave the king attacked."""
        player, found = self.owner(piece), list[Move]()
        kind = piece.upper()
        for to in self.reach(self.board, start, piece):
            if to in self.board and self.owner(self.board[to]) == player:
                continue
            zone = min(self.depth(start, player), self.depth(to, player)) <= ZONE[self.files]
            if self.animal:  # S5
                becomes = "+C" if kind == "C" and self.depth(to, player) == 1 else kind
                found.append((start, to, becomes))
                continue
            if kind in RAISED[self.files] and zone:
                found.append((start, to, "+" + kind))
            if self.may_stay(kind, to, player):
                found.append((start, to, kind))
        return found

    def drops(self) -> list[Move]:
        player, found = self.current_player, list[Move]()
        pawn = "p" if player else "P"
        for kind, held in self.hands[player].items():
            for file in range(1, self.files + 1):
                column = [self.board.get((file, rank)) for rank in range(1, self.ranks + 1)]
                for rank in range(1, self.ranks + 1):
                    to = file, rank
                    if not held or to in self.board or not self.may_stay(kind, to, player):
                        continue
                    if not self.animal and kind == "P" and pawn in column:  # S6
                        continue
                    found.append((None, to, kind))
        return found

    def is_safe(self, board: Board, move: Move, player: int) -> bool:
        """Return whether the player's king is not attacked after a move (S8)."""
        return not self.attacked(self.after(board, move, player), player)

    def is_pawn_mate(self, move: Move) -> bool:
        """Return whether a move is the drop of a pawn that gives mate (S7)."""
        start, _, piece = move
        player = self.current_player
        if self.animal or start or piece != "P":
            return False
        board = self.after(self.board, move, player)
        if not self.attacked(board, 1 - player):
            return False
        other = Reference((0, 0), files=self.files)
        other.board, other.current_player = board, 1 - player
        replies = [m for s, p in board.items() if self.owner(p) != player for m in other.moves_of(s, p)]
        return not any(self.is_safe(board, reply, 1 - player) for reply in replies)

    def legal_moves(self) -> list[Move]:
        """Return the legal moves, which are kept until the next ply."""
        if self.known[0] != self.ply:
            self.known = self.ply, self.find_moves()
        return self.known[1]

    def find_moves(self) -> list[Move]:
        player = self.current_player
        moves = [m for start, p in self.board.items() if self.owner(p) == player for m in self.moves_of(start, p)]
        moves += self.drops()
        if self.animal:  # S9
            return moves
        return [m for m in moves if self.is_safe(self.board, m, player) and not self.is_pawn_mate(m)]

    def number_of(self, move: Move) -> int:  # S4
        start, to, piece = move
        player = self.current_player
        file, rank = (self.files + 1 - to[0], self.ranks + 1 - to[1]) if player else to
        cell = self.ranks * (file - 1) + rank - 1
        ways = WAYS[: 10 if self.files == 9 else 8]
        if start is None:
            return (len(ways) * (1 if self.animal else 2) + self.order.index(piece)) * self.files * self.ranks + cell
        files, ranks = to[0] - start[0], to[1] - start[1]
        if player:
            files, ranks = -files, -ranks
        step = (files, ranks)
        if step not in ways[8:]:
            step = (files > 0) - (files < 0), (ranks > 0) - (ranks < 0)
        promotes = not self.animal and "+" in piece and "+" not in self.board[start]
        return (ways.index(step) + len(ways) * promotes) * self.files * self.ranks + cell

    def legal_actions(self) -> list[int]:
        return [] if self.terminated or self.truncated else sorted(map(self.number_of, self.legal_moves()))

    # *** the game ***

    def apply(self, action: int) -> None:
        moves = {self.number_of(move): move for move in self.legal_moves()}
        if self.terminated or action not in moves:
            raise ValueError(f"action {action} is illegal, allowed: {self.legal_actions()}")
        self.play(moves[action])

    def play(self, move: Move) -> None:
        player = self.current_player
        start, to, piece = move
        taken = self.board.get(to, "").upper().replace("+", "")
        if start is None:
            self.hands[player][piece] -= 1
        if taken in self.hands[player]:  # S3; a caught lion is not held
            self.hands[player][taken] += 1
        self.board = self.after(self.board, move, player)
        self.current_player, self.ply = 1 - player, self.ply + 1
        self.remember()
        result = self.result()
        self.terminated = result is not None
        self.truncated = not self.terminated and self.ply >= 512
        if result:
            self.rewards = [float(result), float(-result)]

    def result(self) -> int | None:
        """Return Black's result once the game is over."""
        player = self.current_player
        win = 1 - 2 * player  # of the player to move
        if self.animal:
            for who in (player, 1 - player):  # S9: the one who is to move entered the last rank first
                lion = self.king.lower() if who else self.king
                square = next((square for square, piece in self.board.items() if piece == lion), None)
                if square is None:
                    return 2 * who - 1
                if self.depth(square, who) == 1 and (who == player or not self.attacked(self.board, who)):
                    return 1 - 2 * who
        if not self.legal_moves():  # S8
            return -win
        first = self.occurrences()[0]
        if len(self.occurrences()) < (3 if self.animal else 4):
            return None
        if self.animal:
            return 0
        for who in (1 - player, player):  # S11
            if all(check for _, mover, check in self.past[first + 1 :] if mover == who):
                return 2 * who - 1
        return -1 if self.files == 5 else 0

    def occurrences(self) -> list[int]:
        """Return the places of the present position in the past, the first one first (S10)."""
        oldest = max(0, len(self.past) - self.window)
        return [k for k in range(oldest, len(self.past)) if self.past[k][0] == self.past[-1][0]]

    def observation(self, player: int) -> list[Any]:  # S12
        squares = [
            [(file, rank) if player == 0 else (self.files + 1 - file, self.ranks + 1 - rank)
             for rank in range(1, self.ranks + 1)]
            for file in range(1, self.files + 1)
        ]  # fmt: skip
        kinds = [*self.order, *("+" + kind for kind in RAISED[self.files])]
        planes: list[Any] = []
        for who in (player, 1 - player):
            for kind in kinds:
                piece = kind.lower() if who else kind
                planes.append([[self.board.get(square) == piece for square in line] for line in squares])
        facts = list[bool]()
        for who in (player, 1 - player):
            for kind, most in zip(self.order[:-1], COUNTS[self.files], strict=True):
                facts += [self.hands[who][kind] >> k & 1 == 1 for k in range(most.bit_length())]
        fold = 3 if self.animal else 4
        facts += [len(self.occurrences()) - 1 == k for k in range(fold)]
        facts.append(player == 1)
        return planes + [[[fact] * self.ranks for _ in range(self.files)] for fact in facts]
