"""Boards of shogi: pieces and their moves, the first position, and planes of actions."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from tensor_envs.games._kit.fen import PieceBoard, rows_of
from tensor_envs.rules import Grid, GridSet, Scalar, pack

# Steps (files to the left, ranks down) as the player to move sees them, in the order of dlshogi and Pgx (S4). The last
# two are those of the opponent's knights.
WAYS = [(0, -1), (1, -1), (-1, -1), (1, 0), (-1, 0), (0, 1), (1, 1), (-1, 1), (1, -2), (-1, -2), (1, 2), (-1, 2)]
WAY_NAMES = ("up", "up_left", "up_right", "left", "right", "down", "down_left", "down_right", "jump_left", "jump_right")
UP, DOWN = 0, 5
QUEEN = range(8)  # the ways of a king
BACK = [WAYS.index((-files, -ranks)) for files, ranks in WAYS]
# ways of pieces, as numbers of WAYS
STRAIGHT, DIAGONAL = (0, 3, 4, 5), (1, 2, 6, 7)
KNIGHT = (8, 9)
GOLD, SILVER = (0, 1, 2, 3, 4, 5), (0, 1, 2, 6, 7)
WORD_STEPS = [(1, 0x55555555), (2, 0x33333333), (4, 0x0F0F0F0F), (8, 0x00FF00FF), (16, 0x0000FFFF)]


class PieceKind(NamedTuple):
    """Kind of piece.

    Attributes:
        name, letter: as in text and in SFEN.
        steps, slides: ways that it goes one square, and any number of squares.
        raised: the promoted piece; None if it does not promote.
        dead: number of last ranks where the piece could never move again, and so may not stand.
    """

    name: str
    letter: str
    steps: Sequence[int] = ()
    slides: Sequence[int] = ()
    raised: "PieceKind | None" = None
    dead: int = 0


class ShogiVariant(NamedTuple):
    """Game of the family: its pieces in the order of drops, and the differences of its rules.

    Attributes:
        title: name of the game.
        kinds: kinds of pieces; the king is the last one.
        placed: pieces of the first position in SFEN, which gives the board its size.
        zone: number of last ranks on which pieces promote.
        orthodox: whether checks, promotion, drops and repetition are those of shogi; else those of animal shogi.
        second_wins: whether the second player wins by repetition.
        max_legal: bound of the legal actions of a position, if there is a known one.
    """

    title: str
    kinds: Sequence[PieceKind]
    placed: str
    zone: int
    orthodox: bool = True
    second_wins: bool = False
    max_legal: int | None = None


PAWN = PieceKind("pawn", "P", (UP,), (), PieceKind("tokin", "+P", GOLD), 1)
LANCE = PieceKind("lance", "L", (), (UP,), PieceKind("promoted lance", "+L", GOLD), 1)
KNIGHTS = PieceKind("knight", "N", KNIGHT, (), PieceKind("promoted knight", "+N", GOLD), 2)
SILVERS = PieceKind("silver", "S", SILVER, (), PieceKind("promoted silver", "+S", GOLD))
BISHOP = PieceKind("bishop", "B", (), DIAGONAL, PieceKind("horse", "+B", STRAIGHT, DIAGONAL))
ROOK = PieceKind("rook", "R", (), STRAIGHT, PieceKind("dragon", "+R", DIAGONAL, STRAIGHT))
GOLDS = PieceKind("gold", "G", GOLD)
KING = PieceKind("king", "K", QUEEN)
VARIANTS = {
    9: ShogiVariant(
        "Shogi",
        (PAWN, LANCE, KNIGHTS, SILVERS, BISHOP, ROOK, GOLDS, KING),
        "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL",
        zone=3,
        max_legal=593,
    ),
    5: ShogiVariant(
        "Minishogi", (PAWN, SILVERS, BISHOP, ROOK, GOLDS, KING), "rbsgk/4p/5/P4/KGSBR", zone=1, second_wins=True
    ),
    3: ShogiVariant(
        "Animal shogi",
        (
            PieceKind("chick", "C", (UP,), (), PieceKind("hen", "+C", GOLD)),
            PieceKind("elephant", "E", DIAGONAL),
            PieceKind("giraffe", "G", STRAIGHT),
            PieceKind("lion", "L", QUEEN),
        ),
        "gle/1c1/1C1/ELG",
        zone=1,
        orthodox=False,
    ),
}


class ShogiBoard(PieceBoard):
    """Board and pieces of a variant. Cell ranks * file + rank counts files from the right, ranks from the far side.

    Attributes:
        variant: the game.
        files, ranks: sides of the board.
        grid: sets of cells; its rows are files.
        none, every: the empty set, and that of all cells.
        kinds, hand_kinds: kinds of pieces, and those that can be in hand, which are all but the king.
        forms: kinds of pieces as they stand on the board: those of `kinds`, then promoted ones.
        counts: pieces of each kind in the first position, the bound of a hand.
        ways: number of ways of the player to move.
        planes: names of the planes of actions: ways, in orthodox games ways with promotion, and drops.
        drops: number of the first plane of drops.
        slots: place of the first piece in hand of each kind. Places are cells and, from `size` on, pieces in the own
            hand. Pieces in the opponent's hand have negative places: place p is size - 1 - p for the other side.
        digits, place_digits: number of bits of a kind, and of a place.
    """

    def __init__(self, variant: ShogiVariant):
        self.variant = variant
        self.kinds = variant.kinds
        self.hand_kinds = variant.kinds[:-1]
        placed = rows_of(variant.placed)
        self.files = len(placed[0])
        self.ranks = len(placed)
        rows = [[self.ranks * file + rank for file in range(self.files)[::-1]] for rank in range(self.ranks)]
        super().__init__(rows, "987654321"[-self.files :], "abcdefghi"[: self.ranks])
        self.grid = Grid(self.files, self.ranks)
        self.none = self.grid.empty
        self.every = self.grid.full
        self.size = self.grid.size
        self.forms = [*self.kinds, *(kind.raised for kind in self.kinds if kind.raised)]
        self.letters = "".join(kind.letter for kind in self.kinds)
        self.counts = [variant.placed.upper().count(letter) for letter in self.letters[:-1]]
        self.digits = (len(self.kinds) - 1).bit_length()
        # a lion that is caught has a place as well
        *self.slots, places = accumulate([*self.counts, 1], initial=self.size)
        self.place_digits = places.bit_length()
        # numbers of all ones, which no piece and no place has
        self.no_piece = (2 << self.digits) - 1
        self.no_place = (1 << self.place_digits) - 1
        self.ways = 10 if any(kind.steps == KNIGHT for kind in self.kinds) else 8
        self.planes = [*WAY_NAMES[: self.ways]]
        if variant.orthodox:
            self.planes += [f"promote_{name}" for name in self.planes]
        self.drops = len(self.planes)
        self.planes += [f"drop_{kind.name}" for kind in self.hand_kinds]

    def turned_square(self, square: Any) -> Any:
        """Return the number of a cell, or of a place in hand, from the opponent's side."""
        return self.size - 1 - square

    def fields_of(self, pieces: Mapping[int, str]) -> dict[str, Any]:
        """Return the fields of pieces by their places, as the player to move sees them, the own ones in capitals."""
        cells = {place: piece for place, piece in pieces.items() if 0 <= place < self.size}
        hand = [piece for place, piece in pieces.items() if place not in cells]
        letters = self.letters[:-1]
        return {
            "own": pack([cell for cell, piece in cells.items() if piece.isupper()], self.size),
            "other": pack([cell for cell, piece in cells.items() if piece.islower()], self.size),
            "pieces": self.words_of({cell: self.code_of(piece) for cell, piece in cells.items()}, self.digits + 1),
            "hands": [[hand.count(letter) for letter in side] for side in (letters, letters.lower())],
        }

    def code_of(self, piece: str) -> int:
        """Return the number of a piece's kind, with one more binary digit for its promotion."""
        return self.letters.index(piece[-1].upper()) | ("+" in piece) << self.digits

    def piece_of(self, code: int) -> str:
        """Return the letter of a piece from its number, in capitals: the inverse of `code_of`."""
        raised, kind = divmod(code, 1 << self.digits)
        return "+" * raised + self.letters[kind]

    def held(self, hands: Sequence[Sequence[int]]) -> Iterator[tuple[int, str]]:
        """Yield the places and letters of the pieces in hand, those of the first hand in capitals."""
        for side, hand in enumerate(hands):
            for slot, letter, count in zip(self.slots, self.letters, hand, strict=False):
                for place in range(slot, slot + count):
                    yield self.number_for(side, place), letter.lower() if side else letter

    def last_ranks(self, count: int) -> GridSet:
        """Return the ranks that are furthest from the player to move."""
        return self.grid.of([cell for cell in range(self.size) if cell % self.ranks < count])

    def back(self, way: int) -> int:
        """Return the opposite way."""
        return BACK[way]

    def shifted(self, cells: Sequence[Any], way: int) -> GridSet:
        """Return the set moved by one step."""
        return self.grid.shift(cells, *WAYS[way])

    def slid(self, start: Sequence[Any], empty: Sequence[Any], way: int) -> GridSet:
        """Return the cells along a way from a set, up to and including the first that is not empty."""
        return self.grid.slide(start, empty, WAYS[way])

    def turned(self, cells: Sequence[Any]) -> GridSet:
        """Return the set from the opponent's side: the last cell becomes the first."""
        words = list[Scalar]()
        for word in reversed(cells):
            # The bits of a word are reversed by swapping ever larger parts.
            for size, mask in WORD_STEPS:
                word = word >> size & mask | (word & mask) << size
            words.append(word)
        return self.grid.moved(words, self.size - self.grid.words * self.grid.word_bits)
