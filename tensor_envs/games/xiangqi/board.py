"""Board of xiangqi: sets of squares, and the planes of moves."""

import re
from collections.abc import Sequence
from typing import Any

from tensor_envs.rules import Grid, GridSet, union_of

# Square 9 * rank + file is a bit of a set, from the side of the player to move. Steps are (ranks, files).
RANKS, FILES = 10, 9
SQUARES = RANKS * FILES
GRID = Grid(RANKS, FILES, kind="uint64")
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


def reach(start: GridSet, empty: GridSet, step: Way, longest: int) -> GridSet:
    """Return the squares along a way from a set, up to and including the first that is not empty."""
    ranks, files = step
    steps = 1
    while steps < longest:
        # Both sets double their length at each turn.
        start = start | empty & GRID.shift(start, ranks * steps, files * steps)
        if 2 * steps < longest:
            empty = empty & GRID.shift(empty, ranks * steps, files * steps)
        steps *= 2
    return GRID.shift(start, ranks, files)


def turned(cells: Sequence[Any]) -> GridSet:
    """Return the set from the opponent's side, with the ranks reversed."""
    rows = (GRID.set(cells) & of_ranks([rank]) for rank in range(RANKS))
    return union_of(GRID.moved(row, FILES * (RANKS - 1 - 2 * rank)) for rank, row in enumerate(rows))


def turned_square(square: int) -> int:
    """Return the number of a square from the opponent's side."""
    return FILES * (RANKS - 1 - square // FILES) + square % FILES


def read_rows(placed: str) -> list[str]:
    """Return the rows of a FEN's pieces, Red's first rank first, with "." for an empty square."""
    return re.sub("[1-9]", lambda digit: "." * int(digit.group()), placed).split("/")[::-1]
