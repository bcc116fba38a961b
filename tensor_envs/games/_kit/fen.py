"""Boards in Forsyth-Edwards notation and its kin: rows of letters, with the numbers of empty squares between them."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from tensor_envs._validate import shown, wrong_type
from tensor_envs.rules import pack, unpack

PieceMap = Mapping[int, str]  # letters of pieces by the numbers of their squares; capitals are the first player's
DIGITS = "123456789"
MAX_DIGITS = 10  # digits of the longest number in a FEN


def rows_of(placed: str) -> list[list[str]]:
    """Return the pieces of each row, "+" before the letter of a promoted one, "" for an empty square."""
    rows = list[list[str]]()
    for text in placed.split("/"):
        row = list[str]()
        promoted = ""  # the sign before a letter
        for sign in text:
            if sign == "+" and not promoted:
                promoted = sign
            elif sign in DIGITS and not promoted:
                row += [""] * int(sign)
            else:
                row.append(promoted + sign)
                promoted = ""
        rows.append([*row, promoted] if promoted else row)
    return rows


def text_of(rows: Iterable[Iterable[str]]) -> str:
    """Return rows of pieces as text: the inverse of `rows_of`."""
    placed = "/".join("".join(piece or "1" for piece in row) for row in rows)
    return re.sub("1+", lambda ones: str(len(ones.group())), placed)


def is_number(text: str, low: int = 0, high: int = 10**MAX_DIGITS) -> bool:
    """Return whether a text is a number within bounds."""
    return text.isdecimal() and len(text) <= MAX_DIGITS and low <= int(text) <= high


def counters(quiet: str, number: str, most: int) -> tuple[int, int]:
    """Return the last two fields of a FEN as ints: the quiet plies, but at most `most`, and the number of the move."""
    if not is_number(quiet):
        raise ValueError(f"fen must have a number of quiet plies, got {shown(quiet)}")
    if not is_number(number, 1, 2**30 - 1):
        raise ValueError(f"fen must have a move's number from 1 on, got {shown(number)}")
    # A FEN of other rules may have more quiet plies than a game here can have.
    return min(int(quiet), most), int(number)


class PastPly(NamedTuple):
    """Ply that led to a position.

    Attributes:
        mover: the player who made it.
        start, end: squares, numbered from the mover's side.
        piece: letter of the piece.
        before, after: pieces before and after the ply.
    """

    mover: int
    start: int
    end: int
    piece: str
    before: PieceMap
    after: PieceMap


class PieceBoard:
    """Squares of a board of pieces: their order, and their names and numbers from either side.

    The second player's numbers are those of the squares with reversed ranks, unless a subclass has another
    `turned_square`.

    Attributes:
        rows: numbers of the squares as the first player sees them, the row on top first.
        columns, lines: names of the columns and of the rows in this order, a letter or digit each.
    """

    def __init__(self, rows: Sequence[Sequence[int]], columns: str, lines: str):
        self.rows = rows
        self.columns = columns
        self.lines = lines

    @cached_property
    def names(self) -> dict[int, str]:
        """Names of the squares by their numbers."""
        rows = zip(self.lines, self.rows, strict=True)
        return {cell: column + line for line, row in rows for column, cell in zip(self.columns, row, strict=True)}

    @cached_property
    def numbers(self) -> dict[str, int]:
        """Numbers of the squares by their names."""
        return {name: square for square, name in self.names.items()}

    def turned_square(self, square: Any) -> Any:
        """Return the number of a square from the opponent's side."""
        name = self.names[square]
        return self.numbers[name[0] + self.lines[-1 - self.lines.index(name[1])]]

    def number_for(self, player: int, square: int) -> int:
        """Return the number of the first player's square from a player's side, or the reverse."""
        return self.turned_square(square) if player else square  # type: ignore[no-any-return] # numbers give a number

    def name_for(self, player: int, square: int) -> str:
        """Return the name of a square that is numbered from a player's side."""
        return self.names[self.number_for(player, square)]

    def seen_by(self, player: int, pieces: PieceMap) -> dict[int, str]:
        """Return pieces of the first player's view as a player sees them, the own ones in capitals, or the reverse."""
        if not player:
            return {**pieces}
        return {
            self.turned_square(square): piece.lower() if piece.isupper() else piece.upper()
            for square, piece in pieces.items()
        }

    def placed_by(self, player: int, letters: PieceMap, own: Iterable[int]) -> dict[int, str]:
        """Return the pieces as the first player sees them.

        Args:
            player: the player from whose side squares are numbered.
            letters: capital letters of all pieces by their squares.
            own: squares of the player's pieces.
        """
        mine = set(own)
        pieces = {square: letter if square in mine else letter.lower() for square, letter in letters.items()}
        return self.seen_by(player, pieces)

    def places(self, viewer: Any) -> dict[int, tuple[int, int]]:
        """Return the row and the column of each square as a viewer sees them: the second player, or else the first."""
        step = -1 if viewer else 1
        return {cell: (y, x) for y, row in enumerate(self.rows[::step]) for x, cell in enumerate(row[::step])}

    def lines_of(self, pieces: PieceMap, viewer: Any) -> list[str]:
        """Return the lines of a board as text, with the names of rows and columns, as a viewer sees them."""
        step = -1 if viewer else 1
        rows = zip(self.lines, self.rows, strict=True)
        lines = [" ".join([name, *(pieces.get(square, ".") for square in row[::step])]) for name, row in rows]
        return [*lines[::step], "  " + " ".join(self.columns[::step])]

    # *** fields of a state ***

    def words_of(self, numbers: Mapping[int, int], digits: int) -> list[list[int]]:
        """Return the words of a set for each binary digit: the squares whose number has it. Others have number 0."""
        size = len(self.names)
        return [pack([cell for cell, number in numbers.items() if number >> k & 1], size) for k in range(digits)]

    def numbers_of(self, sets: Sequence[Sequence[int]]) -> list[int]:
        """Return the number of every square: the inverse of `words_of`."""
        size = len(self.names)
        members = [set(unpack(words, size)) for words in sets]
        return [sum((cell in cells) << k for k, cells in enumerate(members)) for cell in range(size)]

    # *** texts of positions ***

    def text_of(self, pieces: PieceMap) -> str:
        """Return pieces as rows of letters: the inverse of `pieces_of`."""
        return text_of([pieces.get(square, "") for square in row] for row in self.rows)

    def pieces_of(self, placed: str) -> dict[int, str]:
        """Return the pieces of rows of letters by their squares."""
        rows = zip(self.rows, rows_of(placed), strict=True)
        return {square: piece for row, pieces in rows for square, piece in zip(row, pieces, strict=True) if piece}

    def read(self, entry: str, placed: str, letters: str, known: Iterable[str]) -> dict[int, str]:
        """Return the pieces of rows of letters, after a check of their number and of the pieces.

        Args:
            entry: name of the entry, for the error.
            placed: the rows.
            letters: letters of the pieces, for the error.
            known: all pieces in capitals.
        """
        rows = rows_of(placed)
        pieces = {piece.upper() for row in rows for piece in row}
        if [len(row) for row in rows] != [len(row) for row in self.rows] or not pieces <= {"", *known}:
            size = f"{len(self.rows)} ranks of {len(self.columns)} squares"
            raise ValueError(f"{entry} must have {size}, of pieces {letters}, got {shown(placed)}")
        return self.pieces_of(placed)

    @cached_property
    def cells(self) -> dict[int, tuple[int, int]]:
        """Row from the top and column of each square, as the first player sees them."""
        return self.places(None)

    def way(self, start: int, end: int) -> tuple[int, int, list[int]]:
        """Return the ranks up and files to the right of a way, and the squares within a straight or diagonal one."""
        (top, left), (row, column) = self.cells[start], self.cells[end]
        up = top - row
        right = column - left
        longest = max(abs(up), abs(right))
        if 0 not in (up, right) and abs(up) != abs(right):
            return up, right, []
        within = range(1, longest)
        return up, right, [self.rows[top - up * k // longest][left + right * k // longest] for k in within]

    def past_plies(
        self,
        pieces: PieceMap,
        player: int,
        moves: Any,
        most: int,
        letters: str,
        example: str,
        reaches: Callable[[str, int, int, PieceMap], bool],
    ) -> Iterator[PastPly]:
        """Yield the plies of moves that led to a position, the last one first. ValueError for a move that did not.

        Args:
            pieces, player: the position.
            moves: pairs of squares, the last move last.
            most: number of quiet plies of the position.
            letters: pieces whose moves are quiet, in capitals.
            example: a move, for the error.
            reaches: returns whether a piece, in capitals, goes from a start to an end among pieces, all of them as the
                mover sees them.
        """
        if not isinstance(moves, (list, tuple)):
            raise wrong_type("moves", "a list", moves)
        if len(moves) > most:
            raise ValueError(f"moves must be at most {most}, as many as quiet plies, got {len(moves)}")
        after = {**pieces}
        for back, move in enumerate(reversed(moves)):
            # The last ply is that of the opponent of the player to move.
            mover = 1 - player if back % 2 == 0 else player
            if not isinstance(move, str) or move[:2] not in self.numbers or move[2:] not in self.numbers:
                raise ValueError(f"moves must be pairs of squares such as {example}, got {shown(move)}")
            start = self.numbers[move[:2]]
            end = self.numbers[move[2:]]
            if start in after or after.get(end, " ") not in (letters.lower() if mover else letters):
                raise ValueError(f"moves must lead to the position, not so {move}")
            piece = after[end]
            before = {square: other for square, other in after.items() if square != end} | {start: piece}
            own_start = self.number_for(mover, start)
            own_end = self.number_for(mover, end)
            if not reaches(piece.upper(), own_start, own_end, self.seen_by(mover, before)):
                raise ValueError(f"moves must be moves of their pieces, got {move} of {piece}")
            yield PastPly(mover, own_start, own_end, piece, before, after)
            after = before
