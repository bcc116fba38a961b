"""Alpha-beta search of Othello in plain Python, an engine of a known kind that trained players are compared with.

Sets of squares are integers of 64 bits, numbered row by row from the top. A position's value is the sum of classic
weights of the discs' squares and of the difference of the numbers of moves; once the game is over, the difference of
discs counts for much more.
"""

from __future__ import annotations

from collections.abc import Iterator

import tensor_envs as te

BOARD = (1 << 64) - 1
INNER = sum(0b01111110 << row for row in range(0, 64, 8))  # a line between squares of a row does not leave the board
STEPS = [(step, INNER if step in (1, 7, 9) else BOARD) for step in (1, 7, 8, 9)]
# weights of a quarter of the board from a corner on: corners are kept for good, squares beside them give them away
QUARTER = ((100, -20, 10, 5), (-20, -50, -2, -2), (10, -2, -1, -1), (5, -2, -1, -1))
WEIGHTS = [QUARTER[min(row, 7 - row)][min(column, 7 - column)] for row in range(8) for column in range(8)]
SETS = [(weight, sum(1 << s for s in range(64) if WEIGHTS[s] == weight)) for weight in sorted({*WEIGHTS})]
MOBILITY = 5  # weight of a move more
DISC = 1_000  # weight of a disc more at the end
INFINITE = 64 * DISC + 1
PASS = 64


def shifted(squares: int, step: int) -> int:
    """Move a set of squares by a step, which may be negative."""
    return squares << step & BOARD if step > 0 else squares >> -step


def moves(own: int, other: int) -> int:
    """Return the squares from which a line of the other player's discs is outflanked."""
    found = 0
    for size, between in STEPS:
        for step in (size, -size):
            line = shifted(own, step) & other & between
            for _ in range(5):
                line |= shifted(line, step) & other & between
            found |= shifted(line, step)
    return found & ~(own | other)


def flipped(square: int, own: int, other: int) -> int:
    """Return the discs that a disc on a square flips."""
    found = 0
    for size, between in STEPS:
        for step in (size, -size):
            line = 0
            ahead = shifted(1 << square, step)
            while ahead & other & between:
                line |= ahead
                ahead = shifted(ahead, step)
            if ahead & own:
                found |= line
    return found


def squares_of(squares: int) -> Iterator[int]:
    """Yield the squares of a set, those of the largest weights first, which cut off most."""
    yield from sorted((s for s in range(64) if squares >> s & 1), key=lambda square: -WEIGHTS[square])


def value(own: int, other: int) -> int:
    """Return the heuristic value of a position for the player to move."""
    squares = sum(weight * ((own & some).bit_count() - (other & some).bit_count()) for weight, some in SETS)
    return squares + MOBILITY * (moves(own, other).bit_count() - moves(other, own).bit_count())


def search(own: int, other: int, depth: int, low: int, high: int) -> int:
    """Return the value of a position for the player to move, exact within the window."""
    if depth == 0:
        return value(own, other)
    legal = moves(own, other)
    if not legal:
        if not moves(other, own):
            return DISC * (own.bit_count() - other.bit_count())
        return -search(other, own, depth - 1, -high, -low)
    best = -INFINITE
    for square in squares_of(legal):
        turned = flipped(square, own, other)
        best = max(best, -search(other & ~turned, own | turned | 1 << square, depth - 1, -high, -max(low, best)))
        if best >= high:
            break
    return best


def best_square(own: int, other: int, depth: int) -> int:
    """Return the square with the best value after a search of a depth, or a pass."""
    best = PASS
    worth = -INFINITE
    for square in squares_of(moves(own, other)):
        turned = flipped(square, own, other)
        found = -search(other & ~turned, own | turned | 1 << square, depth - 1, -INFINITE, -worth)
        if found > worth:
            best = square
            worth = found
    return best


class AlphaBeta:
    """Policy that plays Othello by alpha-beta search.

    Attributes:
        depth: plies of a search.
    """

    def __init__(self, depth: int):
        self.depth = depth

    def __call__(self, state: te.State) -> list[int]:
        return [self._action(state.env.state_to_dict(state, row)) for row in range(state.batch)]

    def _action(self, game: dict[str, list[int] | int]) -> int:
        board = game["board"]
        assert isinstance(board, list)
        black, white = (sum(1 << s for s in range(64) if board[s] == disc) for disc in (1, -1))
        return best_square(*((black, white) if game["current_player"] == 0 else (white, black)), self.depth)
