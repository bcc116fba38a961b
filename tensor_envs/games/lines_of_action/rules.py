"""Lines of Action: pieces move as far as there are pieces on their line; the player who connects all of them wins.

Rules and rulings: RULES.md beside this file. The board is two sets of 64 squares, the pieces of the player to move and
the opponent's, row by row from the bottom. Pieces on the lines through all squares are counted at once, in binary: bit
k of the count of a square is a bit of the k-th of four sets.
"""

from dataclasses import dataclass
from typing import Any

from tensor_envs._validate import integer as checked
from tensor_envs.rules import (
    Chance,
    Field,
    GameState,
    Mask,
    Observation,
    Outcome,
    Scalar,
    Spec,
    any_of,
    bits,
    halves,
    lookup,
    where,
    word64,
)

SIDE, SQUARES, MAX_PIECES, MAX_QUIET = 8, 64, 12, 400
DIRECTIONS = [(up, right) for up in (1, 0, -1) for right in (-1, 0, 1) if up or right]
PLANES = [(up * steps, right * steps) for up, right in DIRECTIONS for steps in range(1, SIDE)]  # L3
BLACK, WHITE = 0x7E0000000000007E, 0x0081818181818100  # L1
MOVE_BITS, MOVES_A_WORD = 12, 5  # of a move in `history`: from, to
HISTORY_BITS = (1 << MOVE_BITS * MOVES_A_WORD) - 1
NOT_FIRST, NOT_LAST = 0xFEFEFEFEFEFEFEFE, 0x7F7F7F7F7F7F7F7F  # columns


@dataclass(frozen=True)
class LinesOfAction:
    """Rule fields of Lines of Action (L8).

    Attributes:
        quiet_plies: plies without a capture after which the game is drawn, 1..400.
    """

    quiet_plies: int = 100

    def __post_init__(self) -> None:
        object.__setattr__(self, "quiet_plies", checked("quiet_plies", self.quiet_plies, 1, MAX_QUIET))

    @property
    def cells(self) -> int:
        """Number of squares."""
        return SQUARES

    @property
    def spec(self) -> Spec:
        fields = (
            Field("own", kind="word64"),
            Field("other", kind="word64"),
            Field("quiet", high=self.quiet_plies),  # plies since the last capture
            Field("history", (-(-self.quiet_plies // MOVES_A_WORD),), kind="word64"),  # these moves, the last one first
        )
        return Spec(2, len(PLANES) * SQUARES, observation_shape=(2, SIDE, SIDE), fields=fields)

    def init(self, chance: Chance) -> dict[str, Any]:
        return {"own": word64(BLACK), "other": word64(WHITE)}

    def legal_action_mask(self, s: GameState) -> Mask:
        """Return the squares of movable pieces for each plane (L2)."""
        return [half for plane in movable(s.own, s.other) for half in halves(plane)]

    def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
        square = action % SQUARES
        target = square + lookup([SIDE * up + right for up, right in PLANES], action // SQUARES)
        start, end = (word64(1) << word64(at) for at in (square, target))
        own, other, captures = s.own ^ start | end, s.other & ~end, (s.other & end) != 0
        stuck = ~any_of(plane != 0 for plane in movable(other, own))  # L5
        wins = is_connected(own)  # L4
        loses = is_connected(other) & ~wins
        quiet = where(captures, 0, s.quiet + 1)
        history, new = list[Scalar](), word64(square | target << MOVE_BITS // 2)
        for moves in s.history:
            history.append(where(captures, 0, moves << MOVE_BITS & HISTORY_BITS | new))
            new = moves >> MOVE_BITS * (MOVES_A_WORD - 1)
        drawn = ~captures & (self.recurs(history) | (quiet == self.quiet_plies))  # L6
        winner = where(loses, 1 - s.current_player, s.current_player)
        after = s.replace(own=other, other=own, quiet=quiet, history=history, current_player=1 - s.current_player)
        return Outcome.win(after, winner, wins | loses | (stuck & ~drawn)).draw(drawn)

    def recurs(self, history: list[Scalar]) -> Scalar:
        """Return whether some last moves, of one or more, have left every square as it was (L6)."""
        changes, found = [word64(0), word64(0)], []  # squares of either player
        for plies in range(self.quiet_plies):
            word, place = divmod(plies, MOVES_A_WORD)
            move = history[word] >> MOVE_BITS * place
            # no move is 0, which changes nothing
            changes[plies % 2] ^= (word64(1) << (move & 63)) ^ (word64(1) << (move >> 6 & 63))
            found.append((changes[0] | changes[1]) == 0)
        return any_of(found)

    def observe(self, s: GameState, player: Scalar) -> Observation:
        """Return the player's pieces, then the opponent's (L9)."""
        own, other = where(s.current_player == player, [s.own, s.other], [s.other, s.own])
        return {"own pieces": bits(own, SQUARES), "the opponent's pieces": bits(other, SQUARES)}


def seen_from(squares: Scalar, up: int, right: int) -> Scalar:
    """Return the squares from which a step leads to one of a set, without wrapping around an edge."""
    step = SIDE * up + right
    moved = squares >> step if step > 0 else squares << -step
    return moved & inside(up, right)


def inside(up: int, right: int) -> int:
    """Return the squares from which a step stays on the board, as bits."""
    ends = ((square // SIDE + up, square % SIDE + right) for square in range(SQUARES))
    return sum(1 << k for k, (row, column) in enumerate(ends) if 0 <= row < SIDE and 0 <= column < SIDE)


def counts(pieces: Scalar, up: int, right: int) -> list[Scalar]:
    """Return the numbers of pieces on the lines through all squares along an axis, as four binary digits."""
    ahead = [pieces]
    for steps in (1, 2, 4):  # of 1, 2, 4 and 8 squares from each one on
        ahead = added(ahead, [seen_from(digit, up * steps, right * steps) for digit in ahead])
    behind = [seen_from(pieces, -up, -right)]
    for steps in (1, 2, 4):  # up to 8 squares before each one, of which 7 are on the board
        behind = added(behind, [seen_from(digit, -up * steps, -right * steps) for digit in behind])
    return added(ahead, behind)[:4]


def added(a: list[Scalar], b: list[Scalar]) -> list[Scalar]:
    """Return the sums of numbers whose binary digits are these sets."""
    total, carry = list[Scalar](), word64(0)
    for x, y in zip(a, b, strict=True):
        total.append(x ^ y ^ carry)
        carry = x & y | carry & (x ^ y)
    return [*total, carry]


def movable(own: Scalar, other: Scalar) -> list[Scalar]:
    """Return the squares of the pieces that may move, for each plane (L2)."""
    planes = []
    for up, right in DIRECTIONS:
        axis = max((up, right), (-up, -right))  # the same instructions for both directions of a line
        digits, blocked = counts(own | other, *axis), word64(0)
        for steps in range(1, SIDE):
            movers = own
            for k, digit in enumerate(digits):
                movers &= digit if steps >> k & 1 else ~digit
            movers &= inside(up * steps, right * steps)
            planes.append(movers & ~(blocked | seen_from(own, up * steps, right * steps)))
            blocked |= seen_from(other, up * steps, right * steps)
    return planes


def is_connected(pieces: Scalar) -> Scalar:
    """Return whether up to twelve pieces are connected, by spreading from the first one (L4)."""
    group = pieces & (word64(0) - pieces)
    for _ in range(MAX_PIECES - 1):
        group |= (group & NOT_LAST) << 1 | (group & NOT_FIRST) >> 1
        group = (group | group << SIDE | group >> SIDE) & pieces
    return group == pieces
