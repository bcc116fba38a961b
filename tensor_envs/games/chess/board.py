"""Boards of chess: sets of squares as words, the steps of pieces, and the planes of moves."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Literal

from tensor_envs.games._kit.fen import PieceBoard, PieceMap
from tensor_envs.rules import Field, Scalar, uint32, uint64, union_of

# Ways are steps (files, ranks). A move is one of the board's planes, in OpenSpiel's order (C4): nine promotions to
# rook, bishop or knight, the longest slide back to the longest forth along the four axes, and a knight's eight.
Way = tuple[int, int]
NORTH, FORWARD = (0, 1), ((0, 1), (1, 1), (-1, 1))
AXES = ((0, 1), (1, 0), (1, 1), (1, -1))
LEAPS = [(-2, -1), (-2, 1), (-1, -2), (-1, 2), (2, -1), (2, 1), (1, -2), (1, 2)]
WAYS = [(sign * files, sign * ranks) for files, ranks in AXES for sign in (-1, 1)]
UNDER = 9  # planes of promotions to rook, bishop or knight
ORTHODOX = 8  # side of the usual board
# pieces at the start, by the board's side
STARTS = {ORTHODOX: "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR", 5: "rnbqk/ppppp/5/PPPPP/RNBQK"}
# letters of the pieces in the sets of a position
LETTERS = {"own": "PNBRQK", "other": "pnbrqk", "pawns": "Pp", "knights": "Nn", "diagonals": "BbQq", "lines": "RrQq"}


class ChessBoard(PieceBoard):
    """Square board of a side. Square side * file + rank is the bit of this number in a word.

    Attributes:
        side, squares: number of files, and of squares.
        orthodox: whether pawns may first move two squares, and kings may castle.
        kind, word: kind of the words for sets of squares, and the conversion to it.
        sets: names of the sets of a position.
        ranks, files: squares of each, as plain ints.
        all, dark: every square, and those of a1's colour, as plain ints.
        none, every: the empty set, and that of all squares, as words.
        slides, planes: moves of queens, and all planes of moves.
        moves: number of actions of the planes.
        castles: actions of castling, with the rook of the first file and of the last.
    """

    def __init__(self, side: int):
        rows = [[side * file + rank for file in range(side)] for rank in range(side)[::-1]]
        super().__init__(rows, "abcdefgh"[:side], "87654321"[-side:])
        self.side = side
        self.squares = side * side
        self.orthodox = side == ORTHODOX
        self.kind: Literal["uint32", "uint64"] = "uint64" if self.orthodox else "uint32"
        self.word = uint64 if self.orthodox else uint32
        self.sets = [*LETTERS, *["castling", "en_passant"] * self.orthodox]
        self.ranks = [sum(1 << side * file + rank for file in range(side)) for rank in range(side)]
        self.files = [(1 << side) - 1 << side * file for file in range(side)]
        self.all = (1 << self.squares) - 1
        self.none = self.word(0)
        self.every = self.word(self.all)
        self.dark = sum(1 << side * f + r for f in range(side) for r in range(side) if (f + r) % 2 == 0)
        distances = (*range(1 - side, 0), *range(1, side))
        self.slides = [(files * steps, ranks * steps) for files, ranks in AXES for steps in distances]
        self.planes = [*FORWARD * 3, *self.slides, *LEAPS]
        self.moves = self.squares * len(self.planes)
        self.castles = (self.moves, self.moves + 1) * self.orthodox

    @property
    def fields(self) -> list[Field]:
        """Fields for the sets of a position."""
        return [Field(name, kind=self.kind) for name in self.sets]

    @cached_property
    def start(self) -> dict[str, int]:
        """Sets of the first position from white's side (C1)."""
        corners = (self.ranks[0] | self.ranks[-1]) & (self.files[0] | self.files[-1])
        sets = self.sets_of(self.pieces_of(STARTS[self.side])) | {"castling": corners, "en_passant": 0}
        return {name: sets[name] for name in self.sets}

    def sets_of(self, pieces: PieceMap) -> dict[str, int]:
        """Return the sets of pieces by their squares, as the player to move sees them, the own ones in capitals."""

        def squares(letters: str) -> int:
            return sum(1 << square for square, piece in pieces.items() if piece in letters)

        return {name: squares(letters) for name, letters in LETTERS.items()}

    def first_rank(self, *files: int) -> int:
        """Return the squares of the first rank on some files."""
        return sum(1 << self.side * file for file in files)

    def turned_square(self, square: Any) -> Any:
        """Return the number of a square, an int or a scalar, from the opponent's side: ranks are reversed."""
        last = self.side - 1
        if self.orthodox:  # the rank is the three lowest bits
            return square ^ last
        return square + last - square % self.side * 2

    def back(self, way: Way, steps: int = 1) -> Way:
        """Return the opposite way, times a number of steps."""
        return -steps * way[0], -steps * way[1]

    def shifted(self, squares: Scalar, way: Way) -> Scalar:
        """Return the set with every square moved by a way; those beyond the edge are dropped."""
        files, ranks = way
        inside = sum(self.ranks[max(0, -ranks) : self.side - max(0, ranks)])
        if not self.orthodox:  # a word of 8x8 has no bits beyond the first and the last file
            inside &= sum(self.files[max(0, -files) : self.side - max(0, files)])
        if inside != self.all:
            squares &= inside
        step = self.side * files + ranks
        return squares << step if step > 0 else squares >> -step

    def leaps(self, squares: Scalar, ways: Sequence[Way]) -> Scalar:
        """Return the squares that are one step away along some of the ways."""
        return union_of(self.shifted(squares, way) for way in ways)

    def slid(self, start: Scalar, empty: Scalar, way: Way) -> Scalar:
        """Return the squares along a way from a set, up to and including the first that is not empty."""
        steps = 1
        while steps < self.side - 1:
            start |= empty & self.shifted(start, self.back(way, -steps))
            empty &= self.shifted(empty, self.back(way, -steps))
            steps *= 2
        return self.shifted(start, way)

    def turned(self, squares: Scalar) -> Scalar:
        """Return the set with the ranks reversed, from the opponent's side."""
        if not self.orthodox:
            # Ranks are no bytes, so each is moved to its place.
            ranks = enumerate(self.ranks)
            return union_of(self.shifted(squares & squares_of, (0, self.side - 1 - 2 * r)) for r, squares_of in ranks)
        # The bits of every byte are reversed by swapping ever larger parts.
        for size, lower in ((1, 0x55), (2, 0x33), (4, 0x0F)):
            mask = sum(lower << self.side * file for file in range(self.side))
            squares = squares >> size & mask | (squares & mask) << size
        return squares
