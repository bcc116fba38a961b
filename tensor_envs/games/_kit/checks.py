"""Checks and pins of games in which a king must not be taken. Sets of squares are words, or sets of a `Grid`."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from tensor_envs.rules import GridSet, Scalar, union_of, where

Squares = Any  # a word, or a set of a grid
Way = Any  # direction on a board, as its game names it


class CheckLimits(NamedTuple):
    """Effect of one side's pieces on the moves of the other.

    Attributes:
        check: whether the king is attacked.
        goals: squares to which another piece may move without leaving the king in check: all squares if it is not
            in check, none in a double check.
        unpinned: the pieces beside the king that are not pinned.
        free: for each way of sliding pieces, the pieces beside the king that may move along it.
        attacked: squares where the king would be attacked.
    """

    check: Scalar
    goals: Squares
    unpinned: Squares
    free: dict[Way, Squares]
    attacked: Squares


def limits_of(
    board: Any, king: Squares, own: Squares, empty: Squares, steps: Mapping[Way, Squares], slides: Mapping[Way, Squares]
) -> CheckLimits:
    """Return what checks and pins allow a side.

    Args:
        board: object with the sets `none` and `every`, and the methods `back(way)`, the opposite way,
            `shifted(squares, way)`, a set moved by one step, and `slid(start, empty, way)`, the squares along a way up
            to and including the first that is not empty.
        king, own: king and all pieces of the side.
        empty: squares of no piece.
        steps, slides: pieces of the other side that attack one square, and any number, along each way of the board.
    """
    reached = {way: board.slid(pieces, empty, way) for way, pieces in slides.items()}
    attacked = union_of([*reached.values(), *(board.shifted(pieces, way) for way, pieces in steps.items())])
    checks = union_of(board.shifted(king, board.back(way)) & pieces for way, pieces in steps.items())
    between = board.none
    pinned = dict[Way, Squares]()
    for way in slides:
        # The king cannot hide behind itself.
        attacked |= board.shifted(king & reached[way], way)
        line = board.slid(king, empty, way)
        sliders = line & slides[board.back(way)]
        checks |= sliders
        between |= where(has_any(sliders), line, board.none)
        # A piece is pinned where the first piece beside the king is attacked along the same line.
        pinned[way] = line & own & reached[board.back(way)]
    check = has_any(checks)
    # Against two attackers only the king can move; against one, it may be captured or its line be blocked.
    goals = where(check, where(has_several(checks), board.none, checks | between), board.every)
    # A pinned piece stays on its line, in both directions.
    unpinned = own & ~(king | union_of(pinned.values()))
    free = {way: unpinned | pinned[way] | pinned[board.back(way)] for way in slides}
    return CheckLimits(check, goals, unpinned, free, attacked)


def has_any(squares: Squares) -> Scalar:
    """Return whether a set has a square."""
    return squares.any() if isinstance(squares, GridSet) else squares != 0


def has_several(squares: Squares) -> Scalar:
    """Return whether a set has two squares or more."""
    return squares.count() > 1 if isinstance(squares, GridSet) else (squares & (squares - 1)) != 0
