"""Chess: an attack on the king that no move answers wins.

Rules and rulings: RULES.md beside this file. A position is stored from the side of the player to move, whose pawns move
north: every move reverses the ranks. Sets of squares are words of 64 bits, square 8 * file + rank. Bishops and queens
are one set, which moves on diagonals, rooks and queens another, which moves on lines; a piece in no set is a king.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from tensor_envs._validate import integer as checked
from tensor_envs.rules import (
    WORD_BITS,
    Chance,
    Field,
    GameState,
    Mask,
    Observation,
    Outcome,
    Part,
    Scalar,
    Spec,
    Value,
    any_of,
    bits,
    halves,
    int32,
    lookup,
    minimum,
    num_words,
    popcount,
    repeat,
    uint32,
    uint64,
    union_of,
    where,
)

SIDE, SQUARES = 8, 64
ALL = (1 << SQUARES) - 1
RANKS = [sum(1 << SIDE * file + rank for file in range(SIDE)) for rank in range(SIDE)]
FILES = [255 << SIDE * file for file in range(SIDE)]
DARK = sum(1 << SIDE * file + rank for file in range(SIDE) for rank in range(SIDE) if (file + rank) % 2 == 0)
SETS = ("own", "other", "pawns", "knights", "diagonals", "lines", "castling", "en_passant")

# Ways are steps (files, ranks). A move is one of 73 planes, in OpenSpiel's order (C4): nine promotions to rook, bishop
# or knight, 7 steps back to 7 steps forth along the four axes, and a knight's eight.
Way = tuple[int, int]
NORTH, FORWARD = (0, 1), ((0, 1), (1, 1), (-1, 1))
AXES = ((0, 1), (1, 0), (1, 1), (1, -1))
LEAPS = [(-2, -1), (-2, 1), (-1, -2), (-1, 2), (2, -1), (2, 1), (1, -2), (1, 2)]
WAYS = [(sign * files, sign * ranks) for files, ranks in AXES for sign in (-1, 1)]
SLIDES = [(files * steps, ranks * steps) for files, ranks in AXES for steps in (*range(1 - SIDE, 0), *range(1, SIDE))]
PLANES = [*FORWARD * 3, *SLIDES, *LEAPS]
UNDER = 9  # planes of promotions to rook, bishop or knight
MOVES = SQUARES * len(PLANES)
CASTLES = (MOVES, MOVES + 1)  # actions: with the rook of the first file, and of the last
A1, B1, C1, D1, E1, F1, G1, H1 = (1 << SIDE * file for file in range(SIDE))
MOVE_BITS = 12  # of a move in `history`: from, to
MOVES_A_WORD = SQUARES // MOVE_BITS
TAKEN_BACK = 2 * MOVES_A_WORD  # moves that a turn of a loop takes back, an even number
TURN = 7 | 7 << 6  # of such a move: reverses the ranks of both squares


class Moves(NamedTuple):
    """Legal moves of the player to move.

    Attributes:
        planes: for each plane of moves, the squares from which they are legal.
        castles: whether castling is legal, with the rook of the first and of the last file.
        check: whether the king is attacked.
        en_passant: whether a pawn can be captured en passant.
    """

    planes: list[Scalar]
    castles: list[Scalar]
    check: Scalar
    en_passant: Scalar


@dataclass(frozen=True)
class Chess:
    """Rule fields of chess (C14).

    Attributes:
        quiet_plies: plies without a capture or a pawn's move after which the game is drawn, 1..100.
    """

    quiet_plies: int = 100

    def __post_init__(self) -> None:
        object.__setattr__(self, "quiet_plies", checked("quiet_plies", self.quiet_plies, 1, 100))

    @property
    def spec(self) -> Spec:
        return Spec(
            num_players=2,
            num_actions=MOVES + len(CASTLES),
            max_legal=218,  # of any position that a game reaches
            observation_shape=(23, SIDE, SIDE),
            fields=(
                # pieces of the player to move and of the opponent; pawns, knights, bishops and queens, rooks and queens
                # of both; rooks that may castle; the square behind a pawn that can be captured en passant
                *(Field(name, kind="uint64") for name in SETS),
                Field("quiet", high=self.quiet_plies),  # plies since a capture or a pawn's move
                Field("reversible", high=self.quiet_plies),  # plies since a position that cannot recur
                Field("repeats", high=2),  # earlier occurrences of the position
                # those plies, the last one first, each from the side of its player
                Field("history", (-(-self.quiet_plies // MOVES_A_WORD),), kind="uint64"),
            ),
        )

    def init(self, chance: Chance) -> dict[str, Any]:
        first = RANKS[0] | RANKS[1]
        last = RANKS[6] | RANKS[7]
        ends = RANKS[0] | RANKS[7]
        corner = A1 | A1 << 7
        return {
            "own": uint64(first),
            "other": uint64(last),
            "pawns": uint64(RANKS[1] | RANKS[6]),
            "knights": uint64(ends & (FILES[1] | FILES[6])),
            "diagonals": uint64(ends & (FILES[2] | FILES[3] | FILES[5])),
            "lines": uint64(ends & (FILES[0] | FILES[3] | FILES[7])),
            "castling": uint64(corner | corner << 56),
        }

    def legal_action_mask(self, s: GameState) -> Mask:
        """Return the mask of 64 squares with 73 planes each, and of two castlings (C4)."""
        moves = legal_moves(s)
        words = [uint32(0)] * num_words(MOVES + len(CASTLES))

        def put(at: int, row: Scalar) -> None:
            """Set up to 64 bits of the mask."""
            first, shift = divmod(at, WORD_BITS)
            parts = [*halves(row << shift)]
            if shift:
                parts.append(uint32(row >> SQUARES - shift))
            for w, part in enumerate(parts, first):
                words[w] |= part

        for square, row in enumerate(transposed(moves.planes[UNDER:])):
            put(square * len(PLANES) + UNDER, row)
        for file in range(SIDE):
            square = SIDE * file + SIDE - 2
            ahead = [uint64(moves.planes[k] >> square & 1) << k for k in range(len(FORWARD))]
            put(square * len(PLANES), union_of(ahead) * 0b1001001)  # as rook, bishop and knight
        for action, legal in zip(CASTLES, moves.castles, strict=True):
            words[action // WORD_BITS] |= uint32(legal) << action % WORD_BITS
        return words

    def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
        move, is_quiet, after = moved(s, action)
        quiet = where(is_quiet, s.quiet + 1, 0)
        recurs = (quiet != 0) & (after.castling == turned(s.castling)) & (s.en_passant == 0)
        moves = legal_moves(after)
        after = after.replace(
            en_passant=where(moves.en_passant, after.en_passant, 0),
            quiet=quiet,
            reversible=where(recurs, s.reversible + 1, 0),
            history=appended(s.history, recurs, move),
            current_player=1 - s.current_player,
        )
        after = after.replace(repeats=self.repeats(after))
        lost, drawn = self.ends(after, moves)
        return Outcome.win(after, s.current_player, lost).draw(drawn)

    def ends(self, s: GameState, moves: Moves) -> tuple[Scalar, Scalar]:
        """Return whether the player to move is mated (C8), and whether the game is drawn (C8 to C11)."""
        stuck = (union_of(moves.planes) == 0) & ~any_of(moves.castles)
        drawn = too_weak(s) | (s.repeats >= 2) | (s.quiet >= self.quiet_plies)
        return stuck & moves.check, (stuck | drawn) & ~(stuck & moves.check)

    def repeats(self, s: GameState) -> Scalar:
        """Return the earlier occurrences of the position, up to 2 (C10), by taking back one move after another."""
        current = [s.own, s.other, s.knights, s.diagonals, s.lines]
        count = minimum(s.reversible, self.quiet_plies)
        most = -(-self.quiet_plies // TAKEN_BACK)
        # a turn takes two words, the last of which may be missing
        history = [*s.history, uint64(0)]

        def take_back(values: list[Scalar]) -> list[Scalar]:
            """Take back the moves of two words of the history, and count how often the position was the same."""
            turn, equal, *sets = values
            sides, kinds = sets[:2], sets[2:]
            words = [lookup(history[half : 2 * most : 2], int32(turn)) for half in (0, 1)]
            for k in range(TAKEN_BACK):
                back = int32(turn) * TAKEN_BACK + k + 1
                # the last ply was played from the opponent's side
                move = words[k // MOVES_A_WORD] >> MOVE_BITS * (k % MOVES_A_WORD) ^ (0 if k % 2 else TURN)
                end = uint64(1) << (move >> 6 & 63)
                both = uint64(1) << (move & 63) | end
                sides[1 - k % 2] ^= both
                kinds = [kind ^ where((kind & end) != 0, both, 0) for kind in kinds]
                if k % 2:  # the same player is to move
                    same = union_of(a ^ b for a, b in zip(current, sides + kinds, strict=True)) == 0
                    equal = equal + (same & (back <= count))
            return [turn + 1, equal, *sides, *kinds]

        turns = (count + TAKEN_BACK - 1) // TAKEN_BACK
        _, equal, *_ = repeat(turns, [uint64(0), 0, *current], take_back, most)
        return minimum(int32(equal), 2)

    def observe(self, s: GameState, player: Scalar) -> Observation:
        """Return planes: the player's pieces, the opponent's, castling rooks, en passant, and constant ones (C12)."""
        mine = s.current_player == player
        sets = {name: where(mine, getattr(s, name), turned(getattr(s, name))) for name in SETS}
        s = GameState(s.asdict() | sets)
        sides = where(mine, [s.own, s.other], [s.other, s.own])
        own, other = ([bits(side & kind, SQUARES) for kind in kinds_of(s)] for side in sides)

        def constant(fact: Scalar) -> Part:
            return bits(where(fact, uint64(ALL), 0), SQUARES)

        return {
            "own pawns, knights, bishops, rooks, queens, king": own,
            "the opponent's pieces in the same order": other,
            "rooks that may castle": bits(s.castling, SQUARES),
            "square of an en passant capture": bits(s.en_passant, SQUARES),
            "the position has occurred before": constant(s.repeats >= 1),
            "the player is Black": constant(player == 1),
            "binary digits of the quiet plies": [constant((s.quiet >> k & 1) != 0) for k in range(7)],
        }


def kinds_of(s: GameState) -> list[Scalar]:
    """Return the pawns, knights, bishops, rooks, queens and kings of both players."""
    queens = s.diagonals & s.lines
    kings = (s.own | s.other) & ~(s.pawns | s.knights | s.diagonals | s.lines)
    return [s.pawns, s.knights, s.diagonals & ~queens, s.lines & ~queens, queens, kings]


def too_weak(s: GameState) -> Scalar:
    """Return whether neither player can mate (C9): one knight or bishop at most, or bishops on one colour."""
    pieces = s.knights | s.diagonals
    one_piece = popcount(pieces) <= 1
    one_colour = (s.knights == 0) & (((s.diagonals & DARK) == 0) | ((s.diagonals & ~uint64(DARK)) == 0))
    return ((s.pawns | s.lines) == 0) & (one_piece | one_colour)


# *** moves ***


def moved(s: GameState, action: Scalar) -> tuple[Scalar, Scalar, GameState]:
    """Return from and to as 12 bits, whether the move is quiet, and the state from the opponent's side.

    A quiet move is no capture and no pawn's. `en_passant` is the square behind a pawn that has moved two squares.
    """
    castles = action >= MOVES
    kings = kinds_of(s)[-1]
    plane = where(castles, UNDER, action % len(PLANES))
    start = where(castles, SIDE * 4, action // len(PLANES))
    steps = [SIDE * files + ranks for files, ranks in PLANES]
    end = where(castles, where(action == CASTLES[0], SIDE * 2, SIDE * 6), start + lookup(steps, plane))
    a = uint64(1) << start
    b = uint64(1) << end
    pawn = (s.pawns & a) != 0
    taken = where(pawn & (b == s.en_passant), b >> 1, b) & s.other
    gone = ~(a | taken)

    def after(kind: Scalar, becomes: Value) -> Scalar:
        """Return the pieces of a kind; `becomes` says whether a promoted pawn is one of them."""
        stays = ((kind & a) != 0) & ~promotes | promotes & becomes
        return kind & gone | where(stays, b, 0)

    promotes = pawn & ((b & RANKS[-1]) != 0)
    under = plane < UNDER
    rook = where(castles, where(action == CASTLES[0], uint64(A1 | D1), uint64(F1 | H1)), 0)
    board = {
        "own": (s.own & ~a | b) ^ rook,
        "other": s.other & ~taken,
        "pawns": after(s.pawns, False),
        "knights": after(s.knights, under & (plane >= 6)),
        "diagonals": after(s.diagonals, ~under | (plane >= 3) & (plane < 6)),
        "lines": after(s.lines, ~under | (plane < 3)) ^ rook,
        "castling": s.castling & ~(a | b) & where((kings & a) != 0, ~uint64(RANKS[0]), uint64(ALL)),
        "en_passant": where(pawn & (b == a << 2), a << 1, 0),
    }
    board["own"], board["other"] = board["other"], board["own"]
    after_turn = s.replace(**{name: turned(squares) for name, squares in board.items()})
    return start | end << 6, ~pawn & (taken == 0), after_turn


class SquareSets(NamedTuple):
    """Sets of squares of a position, from the side of the player to move."""

    own: Scalar
    other: Scalar
    empty: Scalar
    kings: Scalar  # of both players
    pawns: Scalar  # own ones
    knights: Scalar
    king: Scalar
    sliders: dict[Way, Scalar]  # pieces of both players that slide along each way


class Restrictions(NamedTuple):
    """Effect of checks and pins on the pieces other than the king."""

    check: Scalar
    goals: Scalar  # squares on which a move leaves no check: all without one, none with two
    pinned: Scalar
    free: dict[Way, Scalar]  # own pieces that may move along each way


def sets_of(s: GameState) -> SquareSets:
    """Return the sets of squares that moves depend on."""
    empty = ~(s.own | s.other)
    kings = kinds_of(s)[-1]
    sliders = {way: s.diagonals if all(way) else s.lines for way in WAYS}
    return SquareSets(s.own, s.other, empty, kings, s.own & s.pawns, s.own & s.knights, s.own & kings, sliders)


def restrictions_of(s: GameState, sets: SquareSets) -> Restrictions:
    """Return what checks and pins allow."""
    checks = sets.other & (leaps(sets.king, LEAPS) & s.knights | leaps(sets.king, FORWARD[1:]) & s.pawns)
    between = uint64(0)
    pinned = dict[Way, Scalar]()
    for way in WAYS:
        attackers = sets.other & sets.sliders[way]
        line = ray(sets.king, sets.empty, way)
        checks |= line & attackers
        between |= where((line & attackers) != 0, line, 0)
        # A piece is pinned if an attacker is the next piece behind it, as seen from the king.
        pinned[way] = where((ray(line & sets.own, sets.empty, way) & attackers) != 0, line & sets.own, 0)
    check = checks != 0
    # Against two attackers only the king can move; against one, it may be captured or its line be blocked.
    double = (checks & (checks - 1)) != 0
    goals = where(check, where(double, uint64(0), checks | between), uint64(ALL))
    # A pinned piece stays on its line, in both directions.
    fixed = union_of(pinned.values())
    free = {way: sets.own & ~(fixed & ~(pinned[way] | pinned[back(way)])) for way in WAYS}
    return Restrictions(check, goals, fixed, free)


def attacked(s: GameState, sets: SquareSets) -> Scalar:
    """Return the squares that the opponent attacks, also through the king, which cannot hide behind itself."""
    danger = leaps(sets.other & s.knights, LEAPS) | leaps(sets.other & sets.kings, WAYS)
    danger |= leaps(sets.other & s.pawns, [(1, -1), (-1, -1)])
    danger |= union_of(ray(sets.other & sets.sliders[way], sets.empty | sets.king, way) for way in WAYS)
    return danger


def piece_moves(sets: SquareSets, limits: Restrictions, danger: Scalar) -> dict[Way, Scalar]:
    """Return the squares from which the king, bishops, rooks, queens and knights can make each step."""
    planes = {slide: uint64(0) for slide in SLIDES}
    planes |= {way: sets.king & shifted(~(sets.own | danger), back(way)) for way in WAYS}
    for way in WAYS:
        at = limits.free[way] & sets.sliders[way]
        for steps in range(1, SIDE):
            at = shifted(at, way)
            planes[back(way, -steps)] |= shifted(at & limits.goals & ~sets.own, back(way, steps))
            # Only pieces that have met nothing go on.
            at &= sets.empty
    planes |= {leap: sets.knights & ~limits.pinned & shifted(limits.goals & ~sets.own, back(leap)) for leap in LEAPS}
    return planes


def add_pawn_moves(
    planes: dict[Way, Scalar], s: GameState, sets: SquareSets, limits: Restrictions
) -> tuple[list[Scalar], Scalar]:
    """Add the moves of pawns to planes; return pawns that promote, by plane, and pawns that capture en passant."""
    ahead = shifted(sets.pawns & limits.free[NORTH], NORTH) & sets.empty
    planes[0, 2] |= shifted(shifted(ahead & RANKS[2], NORTH) & sets.empty & limits.goals, back(NORTH, 2))
    single = {way: sets.pawns & limits.free[way] & shifted(sets.other & limits.goals, back(way)) for way in FORWARD}
    single[NORTH] = shifted(ahead & limits.goals, back(NORTH))
    passing = uint64(0)
    victim = s.en_passant >> 1
    for way in FORWARD[1:]:
        pawn = sets.pawns & limits.free[way] & shifted(s.en_passant, back(way))
        # Both pawns leave the rank, on which the king may then be attacked.
        opened = union_of(ray(sets.king, sets.empty | pawn | victim, side) for side in ((1, 0), (-1, 0)))
        safe = ((limits.goals & (s.en_passant | victim)) != 0) & ((opened & sets.other & s.lines) == 0)
        single[way] |= where(safe, pawn, 0)
        passing |= where(safe, pawn, 0)
    planes |= {way: planes[way] | single[way] for way in FORWARD}
    return [single[way] & RANKS[-2] for way in FORWARD], passing


def legal_moves(s: GameState) -> Moves:
    """Return the legal moves (C3 to C7)."""
    sets = sets_of(s)
    limits = restrictions_of(s, sets)
    danger = attacked(s, sets)
    planes = piece_moves(sets, limits, danger)
    promotions, passing = add_pawn_moves(planes, s, sets, limits)
    castles = [
        ((s.castling & rook) != 0) & ((between & ~sets.empty) == 0) & ((danger & path) == 0)
        for rook, between, path in ((A1, B1 | C1 | D1, C1 | D1 | E1), (H1, F1 | G1, E1 | F1 | G1))
    ]
    return Moves(promotions * 3 + [planes[way] for way in SLIDES + LEAPS], castles, limits.check, passing != 0)


# *** sets of squares ***


def back(way: Way, steps: int = 1) -> Way:
    """Return the opposite way, times a number of steps."""
    return -steps * way[0], -steps * way[1]


def shifted(squares: Scalar, way: Way) -> Scalar:
    """Return the set with every square moved by a way; those beyond the edge are dropped."""
    files, ranks = way
    if ranks:
        squares &= sum(RANKS[max(0, -ranks) : SIDE - max(0, ranks)])
    step = SIDE * files + ranks
    return squares << step if step > 0 else squares >> -step


def leaps(squares: Scalar, ways: Sequence[Way]) -> Scalar:
    """Return the squares that are one step away along some of the ways."""
    return union_of(shifted(squares, way) for way in ways)


def ray(start: Scalar, empty: Scalar, way: Way) -> Scalar:
    """Return the squares along a way from a set, up to and including the first that is not empty."""
    for steps in (1, 2, 4):
        start |= empty & shifted(start, back(way, -steps))
        empty &= shifted(empty, back(way, -steps))
    return shifted(start, way)


def turned(squares: Scalar) -> Scalar:
    """Return the set with the ranks reversed, from the opponent's side: the bits of every byte."""
    for size, lower in ((1, 0x55), (2, 0x33), (4, 0x0F)):
        mask = sum(lower << SIDE * file for file in range(SIDE))
        squares = squares >> size & mask | (squares & mask) << size
    return squares


def transposed(rows: Sequence[Scalar]) -> list[Scalar]:
    """Return the transposed 64 x 64 bit matrix, by swapping ever smaller blocks."""
    rows = list(rows)
    size = len(rows) // 2
    while size:
        mask = sum(1 << k for k in range(len(rows)) if not k & size)
        for i in range(len(rows)):
            if not i & size:
                swap = (rows[i] >> size ^ rows[i + size]) & mask
                rows[i], rows[i + size] = rows[i] ^ swap << size, rows[i + size] ^ swap
        size //= 2
    return rows


def appended(history: Sequence[Scalar], recurs: Scalar, move: Scalar) -> list[Scalar]:
    """Return the history with a move in front; empty unless earlier positions can recur."""
    mask = (1 << MOVE_BITS * MOVES_A_WORD) - 1
    oldest = MOVE_BITS * (MOVES_A_WORD - 1)
    firsts = [uint64(move), *(words >> oldest for words in history)]
    return [where(recurs, words << MOVE_BITS & mask | first, 0) for words, first in zip(history, firsts, strict=False)]
