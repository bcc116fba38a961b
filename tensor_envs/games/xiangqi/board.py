"""Board of xiangqi: sets of squares, and the planes of moves."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tensor_envs.games._kit.fen import rows_of
from tensor_envs.rules import Grid, GridSet, union_of

# Square 9 * rank + file is a bit of a set, from the side of the player to move. Steps are (ranks, files).
RANKS, FILES = 10, 9
SQUARES = RANKS * FILES
GRID = Grid(RANKS, FILES)
Way = tuple[int, int]
SIDES: tuple[Way, ...] = ((1, 0), (-1, 0), (0, 1), (0, -1))
DIAGONALS: tuple[Way, ...] = ((1, 1), (1, -1), (-1, 1), (-1, -1))
LEAPS: tuple[Way, ...] = ((2, 1), (2, -1), (1, 2), (1, -2), (-1, 2), (-1, -2), (-2, 1), (-2, -1))
# Planes of moves (X9): a line has one for each distance, and a move that leaves it goes on at the other end.
ALONG = [(0, files) for files in range(1, FILES)]
AHEAD = [(ranks, 0) for ranks in range(1, RANKS)]
LINES = ALONG + AHEAD
PLANES = [*LINES, *LEAPS, *DIAGONALS]
# pieces by the number of their kind, 0 for none: soldier, advisor, elephant, horse, chariot, cannon, general
PIECES = " PABNRCK"
KIND_DIGITS = 3  # binary digits of such a number
START = "rnbakabnr/9/1c5c1/p1p1p1p1p/9/9/P1P1P1P1P/1C5C1/9/RNBAKABNR"  # X1


def of_ranks(ranks: Sequence[int], files: Sequence[int] = range(FILES)) -> GridSet:
    """Return the squares of some ranks and files."""
    return GRID.of([FILES * rank + file for rank in ranks for file in files])


PALACE = of_ranks(range(3), range(3, 6))  # X3
HOME = of_ranks(range(5))  # the own side of the river
HOME_RANKS = of_ranks(range(3))  # of the palace


def seen(cells: GridSet, step: Way) -> GridSet:
    """Return the squares from which a step leads to one of a set."""
    ranks, files = step
    return GRID.shift(cells, -ranks, -files)


def seen_around(cells: GridSet, plane: Way) -> GridSet:
    """Return the squares from which a move of a line's plane leads to one of a set, either way."""
    ranks, files = plane
    back = (ranks - RANKS, 0) if ranks else (0, files - FILES)
    return seen(cells, plane) | seen(cells, back)


def reach(start: GridSet, empty: GridSet, step: Way) -> GridSet:
    """Return the squares along a way from a set, up to and including the first that is not empty."""
    (ray,) = GRID.rays(start, empty, [step])
    return GRID.shift(ray | start, *step)


def turned(cells: Sequence[Any]) -> GridSet:
    """Return the set from the opponent's side, with the ranks reversed."""
    rows = (GRID.set(cells) & of_ranks([rank]) for rank in range(RANKS))
    return union_of(GRID.moved(row, FILES * (RANKS - 1 - 2 * rank)) for rank, row in enumerate(rows))


def turned_square(square: int) -> int:
    """Return the number of a square from the opponent's side."""
    return FILES * (RANKS - 1 - square // FILES) + square % FILES


def board_of(placed: str) -> dict[int, str]:
    """Return the pieces of a FEN by their squares, as Red sees them; Red's are in capitals."""
    rows = rows_of(placed)[::-1]
    return {FILES * y + x: piece for y, row in enumerate(rows) for x, piece in enumerate(row) if piece}


def fields_of(pieces: Mapping[int, str]) -> dict[str, Any]:
    """Return the fields of pieces by their squares, as the player to move sees them, the own ones in capitals."""

    def words(squares: Iterable[int]) -> list[int]:
        return [int(word.value) for word in GRID.of([*squares])]

    kinds = {square: PIECES.index(piece.upper()) for square, piece in pieces.items()}
    return {
        "own": words(square for square, piece in pieces.items() if piece.isupper()),
        "pieces": [words(square for square, kind in kinds.items() if kind >> k & 1) for k in range(KIND_DIGITS)],
    }
