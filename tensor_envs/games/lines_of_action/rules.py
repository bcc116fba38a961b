"""Lines of Action: pieces move as far as there are pieces on their line; the player who connects all of them wins.

Rules and rulings: RULES.md beside this file. The board is two sets of 64 squares, the pieces of the player to move and
the opponent's, row by row from the bottom. Pieces on the lines through all squares are counted at once, in binary: bit
k of the count of a square is a bit of the k-th of four sets.

Moves since the last capture are in sets of plies: bit j of a set is of the move j plies before the last one. `starts`
and `ends` have such a set for each binary digit of a square, and `changes` for each digit of the number of pieces that
stand elsewhere now than before that move. The board recurs where this number falls to 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tensor_envs.games._kit.sets import ALL
from tensor_envs.rules import WORD_BITS, Scalar, int32, uint32, uint64, where
from tensor_envs.rules.chance import Chance
from tensor_envs.rules.lists import any_of, halves, num_words, select, union_of
from tensor_envs.rules.observation import Observation, bits
from tensor_envs.rules.plain import check_fields
from tensor_envs.rules.spec import Field, GameState, Mask, Outcome, Spec

SIDE = 8
SQUARES = 64
MAX_PIECES = 12
MAX_QUIET = 400
AXES = ((0, 1), (1, 0), (1, 1), (1, -1))  # up, right
PLANES = [(up * steps, right * steps) for up, right in AXES for steps in range(1, SIDE)]  # L3
BACK = [(up * (steps - SIDE), right * (steps - SIDE)) for up, right in AXES for steps in range(1, SIDE)]
BLACK, WHITE = 0x7E0000000000007E, 0x0081818181818100  # L1
DIGITS, CHANGE_DIGITS = 6, 5  # binary digits: of a square, of the number of pieces
OWN_PLIES = 0xAAAAAAAA  # bits of the plies of the player to move, in a word
NOT_FIRST, NOT_LAST = 0xFEFEFEFEFEFEFEFE, 0x7F7F7F7F7F7F7F7F  # columns


@dataclass(frozen=True)
class LinesOfAction:
    """Rule fields of Lines of Action (L8).

    Attributes:
        quiet_plies: plies without a capture after which the game is drawn, 1..400.
    """

    quiet_plies: int = 100
    cells = SQUARES  # their number

    def __post_init__(self) -> None:
        check_fields(self, quiet_plies=(1, MAX_QUIET))

    @property
    def words(self) -> int:
        """Number of words of a set of plies."""
        return num_words(self.quiet_plies)

    @property
    def spec(self) -> Spec:
        fields = (
            Field("own", kind="uint64"),
            Field("other", kind="uint64"),
            Field("quiet", high=self.quiet_plies),  # plies since the last capture
            *(
                Field(name, (digits, self.words), kind="uint32")
                for name, digits in (("starts", DIGITS), ("ends", DIGITS), ("changes", CHANGE_DIGITS))
            ),
        )
        # each of twelve pieces has at most one move in each of eight directions
        return Spec(2, len(PLANES) * SQUARES, observation_shape=(2, SIDE, SIDE), fields=fields, max_legal=12 * 8)

    def init(self, chance: Chance) -> dict[str, Any]:
        return {"own": uint64(BLACK), "other": uint64(WHITE)}

    def legal_action_mask(self, s: GameState) -> Mask:
        """Return the squares of movable pieces for each plane (L2)."""
        return [half for plane in movable(s.own, s.other) for half in halves(plane)]

    def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
        square = action % SQUARES
        axis = action // SQUARES // (SIDE - 1)
        steps = action // SQUARES % (SIDE - 1) + 1
        row = square // SIDE + where(axis == 0, 0, steps)
        column = square + select([steps, 0, steps, -steps], axis)
        target = row % SIDE * SIDE + column % SIDE
        start, end = (uint64(1) << uint64(at) for at in (square, target))
        own = s.own ^ start | end
        other = s.other & ~end
        captures = (s.other & end) != 0
        stuck = ~any_of(plane != 0 for plane in movable(other, own))  # L5
        wins = is_connected(own)  # L4
        loses = is_connected(other) & ~wins
        quiet = where(captures, 0, s.quiet + 1)
        past = self.past(s, square, target, quiet)
        drawn = ~captures & (recurs(past["changes"], quiet) | (quiet == self.quiet_plies))  # L6
        winner = where(loses, 1 - s.current_player, s.current_player)
        after = s.replace(own=other, other=own, quiet=quiet, **past, current_player=1 - s.current_player)
        return Outcome.win(after, winner, wins | loses | (stuck & ~drawn)).draw(drawn)

    def past(self, s: GameState, start: Scalar, end: Scalar, quiet: Scalar) -> dict[str, list[list[Scalar]]]:
        """Return the sets of plies after a move, which leaves so many quiet plies."""
        squares = [[where((at >> k & 1) != 0, uint32(ALL), 0) for k in range(DIGITS)] for at in (start, end)]
        # Plies before which the mover did not have the start, and before which the mover had the end.
        came, went = (
            odd_so_far(
                [(touched(s.starts, digits, w) | touched(s.ends, digits, w)) & OWN_PLIES for w in range(self.words)]
            )
            for digits in squares
        )
        changes = [list[Scalar]() for _ in range(CHANGE_DIGITS)]
        for w, (a, b) in enumerate(zip(came, went, strict=True)):
            less = a & b
            carry = a & b | ~(a | b)
            for k, digits in enumerate(s.changes):
                changes[k].append(digits[w] ^ carry)
                carry &= digits[w] ^ less
        recent = plies_below(quiet, self.words)
        lowest = {
            "starts": [start >> k & 1 for k in range(DIGITS)],
            "ends": [end >> k & 1 for k in range(DIGITS)],
            "changes": [int32(k == 0) for k in range(CHANGE_DIGITS)],
        }
        old = {"starts": s.starts, "ends": s.ends, "changes": changes}
        return {
            name: [pushed(plies, low, recent) for plies, low in zip(old[name], lows, strict=True)]
            for name, lows in lowest.items()
        }

    def observe(self, s: GameState, player: Scalar) -> Observation:
        """Return the player's pieces, then the opponent's (L9)."""
        own, other = where(s.current_player == player, [s.own, s.other], [s.other, s.own])
        return {"own pieces": bits(own, SQUARES), "the opponent's pieces": bits(other, SQUARES)}


def touched(digits: Sequence[Sequence[Scalar]], square: Sequence[Scalar], w: int) -> Scalar:
    """Return the plies of a word in which a square appears; the square's digits are sets of all plies or of none."""
    return ~union_of([plies[w] ^ digit for plies, digit in zip(digits, square, strict=True)])


def odd_so_far(plies: list[Scalar]) -> list[Scalar]:
    """Return the plies p for which an odd number of the plies 0..p are in a set; ply 0 is the last one played."""
    odds = list[Scalar]()
    carry = uint32(0)
    for plies_of_word in plies:
        odd = plies_of_word
        for steps in (1, 2, 4, 8, 16):
            odd ^= odd << steps
        odds.append(odd ^ carry)
        carry = uint32(0) - (odds[-1] >> WORD_BITS - 1)
    return odds


def plies_below(count: Scalar, words: int) -> list[Scalar]:
    """Return the set of the last `count` plies."""
    full = uint32(ALL)
    below = (uint32(1) << uint32(count & WORD_BITS - 1)) - 1
    return [where(count >= WORD_BITS * (w + 1), full, where(count >= WORD_BITS * w, below, 0)) for w in range(words)]


def pushed(plies: Sequence[Scalar], lowest: Scalar, recent: list[Scalar]) -> list[Scalar]:
    """Shift a set of plies by one ply.

    lowest: bit of the new last ply. recent: the plies to keep.
    """
    lows = [uint32(lowest), *(w >> WORD_BITS - 1 for w in plies)]
    return [(w << 1 | low) & keep for w, low, keep in zip(plies, lows, recent, strict=False)]


def recurs(changes: Sequence[Sequence[Scalar]], quiet: Scalar) -> Scalar:
    """Return whether the last k moves, for any k, have left every square as it was before them (L6)."""
    words = zip(plies_below(quiet, len(changes[0])), *changes, strict=True)
    return any_of((recent & ~union_of(digits)) != 0 for recent, *digits in words)


def moved_back(squares: Scalar, step: int) -> Scalar:
    """Return the squares from which a step leads to one of a set."""
    return squares >> step if step > 0 else squares << -step


def seen_from(squares: Scalar, up: int, right: int) -> Scalar:
    """Return the squares from which a step leads to one of a set, without wrapping around an edge."""
    return moved_back(squares, SIDE * up + right) & inside(up, right)


def inside(up: int, right: int) -> int:
    """Return the squares from which a step stays on the board, as bits."""
    ends = ((square // SIDE + up, square % SIDE + right) for square in range(SQUARES))
    return sum(1 << k for k, (row, column) in enumerate(ends) if 0 <= row < SIDE and 0 <= column < SIDE)


def counts(pieces: Scalar, up: int, right: int) -> list[Scalar]:
    """Return the numbers of pieces on the lines through all squares along an axis, as four binary digits."""
    digits = [pieces]
    steps = (1, 2, 4)
    if not right:
        # a word that is rotated by whole rows has every square of the same column once
        for rows in steps:
            digits = added(digits, [digit << SIDE * rows | digit >> SQUARES - SIDE * rows for digit in digits])
        return digits
    # count 2, 4 and 8 squares ahead, the square itself included
    for k in steps:
        digits = added(digits, [seen_from(digit, up * k, right * k) for digit in digits])
    # count 2, 4 and 8 squares behind, of which at most 7 are on the board
    behind = [seen_from(pieces, -up, -right)]
    for k in steps:
        behind = added(behind, [seen_from(digit, -up * k, -right * k) for digit in behind])
    return added(digits, behind)[:4]


def added(a: list[Scalar], b: list[Scalar]) -> list[Scalar]:
    """Add two numbers per square, whose binary digits are sets of squares, the lowest first."""
    total = list[Scalar]()
    carry = uint64(0)
    for x, y in zip(a, b, strict=True):
        total.append(x ^ y ^ carry)
        carry = x & y | carry & (x ^ y)
    return [*total, carry]


def movable(own: Scalar, other: Scalar) -> list[Scalar]:
    """Return the squares of the pieces that may move, for each plane (L2)."""
    planes = []
    for up, right in AXES:
        digits = counts(own | other, up, right)
        movers_by = [uint64(0)] * SIDE
        for way in (1, -1):
            blocked = uint64(0)
            for steps in range(1, SIDE):
                movers = own
                for k, digit in enumerate(digits):
                    movers &= digit if steps >> k & 1 else ~digit
                # `inside` excludes moves that would wrap around an edge
                away = way * steps * (SIDE * up + right)
                may = inside(way * up * steps, way * right * steps) & ~(blocked | moved_back(own, away))
                movers_by[way * steps % SIDE] |= movers & may
                blocked |= moved_back(other, away)
        planes += movers_by[1:]
    return planes


def is_connected(pieces: Scalar) -> Scalar:
    """Return whether up to twelve pieces are connected, by spreading from the first one (L4)."""
    group = pieces & (uint64(0) - pieces)
    for _ in range(MAX_PIECES - 1):
        group |= (group & NOT_LAST) << 1 | (group & NOT_FIRST) >> 1
        group = (group | group << SIDE | group >> SIDE) & pieces
    return group == pieces
