"""Chess: an attack on the king that no move answers wins.

Rules and rulings: RULES.md beside this file. A position is stored from the side of the player to move, whose pawns move
north: every move reverses the ranks. Sets of squares are words, see `ChessBoard`. Bishops and queens are one set, which
moves on diagonals, rooks and queens another, which moves on lines; a piece in no set is a king.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from tensor_envs.games._kit.checks import CheckLimits, limits_of
from tensor_envs.games.chess.board import FORWARD, LEAPS, NORTH, ORTHODOX, UNDER, WAYS, ChessBoard, Way
from tensor_envs.rules import WORD_BITS, Scalar, Value, int32, minimum, repeat, uint32, uint64, where
from tensor_envs.rules.chance import Chance
from tensor_envs.rules.lists import any_of, halves, lookup, num_words, popcount, union_of
from tensor_envs.rules.observation import Observation, bits, constant, digits
from tensor_envs.rules.plain import check_fields
from tensor_envs.rules.spec import Field, GameState, Mask, Outcome, Spec

MOVE_BITS = 12  # bits of a move in `history`: from, to
MOVES_A_WORD = WORD_BITS * 2 // MOVE_BITS
TAKEN_BACK = 2 * MOVES_A_WORD  # moves that a turn of a loop takes back, an even number
SIDES = (5, ORTHODOX)


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
    en_passant: Value


@dataclass(frozen=True)
class Chess:
    """Rule fields of chess (C14).

    Attributes:
        quiet_plies: plies without a capture or a pawn's move after which the game is drawn, 1..100.
        side: squares a side: 8, or 5 for Gardner's minichess (C16).
    """

    quiet_plies: int = 100
    side: int = ORTHODOX

    def __post_init__(self) -> None:
        check_fields(self, quiet_plies=(1, 100), side={*SIDES})

    @cached_property
    def board(self) -> ChessBoard:
        """Squares and planes of moves."""
        return ChessBoard(self.side)

    @property
    def spec(self) -> Spec:
        board = self.board
        return Spec(
            num_players=2,
            num_actions=board.moves + len(board.castles),
            # bounds for positions that a game reaches; on 5x5 even six queens with the other pieces have no more
            max_legal=218 if board.orthodox else 118,
            observation_shape=(15 + len(board.sets), self.side, self.side),
            fields=(
                # own pieces, the opponent's; both players' pawns, knights, bishops and queens, rooks and queens; rooks
                # that may castle; the square behind a pawn that can be captured en passant
                *(Field(name, kind=board.kind) for name in board.sets),
                Field("quiet", high=self.quiet_plies),  # plies since a capture or a pawn's move
                Field("reversible", high=self.quiet_plies),  # plies since a position that cannot recur
                Field("repeats", high=2),  # earlier occurrences of the position
                # the reversible plies, the last one first, each from the side of its player
                Field("history", (-(-self.quiet_plies // MOVES_A_WORD),), kind="uint64"),
            ),
        )

    def init(self, chance: Chance) -> dict[str, Any]:
        return {name: self.board.word(squares) for name, squares in self.board.start.items()}

    def legal_action_mask(self, s: GameState) -> Mask:
        """Return the mask of all planes for each square, and of two castlings (C4)."""
        board = self.board
        moves = legal_moves(board, s)
        words = [uint32(0)] * num_words(self.spec.num_actions)

        def put(at: int, row: Scalar) -> None:
            """Set up to 64 bits of the mask."""
            first, shift = divmod(at, WORD_BITS)
            parts = [*halves(row << shift)]
            if shift:
                parts.append(uint32(row >> 2 * WORD_BITS - shift))
            # A row that is shorter than 64 bits may end in the last word.
            for w, part in zip(range(first, len(words)), parts, strict=False):
                words[w] |= part

        rows = [uint64(squares) for squares in moves.planes[UNDER:]]
        rows += [uint64(0)] * (2 * WORD_BITS - len(rows))
        for square, row in enumerate(transposed(rows)[: board.squares]):
            put(square * len(board.planes) + UNDER, row)
        for file in range(self.side):
            square = self.side * file + self.side - 2
            ahead = [uint64(moves.planes[k] >> square & 1) << k for k in range(len(FORWARD))]
            put(square * len(board.planes), union_of(ahead) * 0b1001001)  # as rook, bishop and knight
        for action, legal in zip(board.castles, moves.castles, strict=True):
            words[action // WORD_BITS] |= uint32(legal) << action % WORD_BITS
        return words

    def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
        board = self.board
        move, is_quiet, after = moved(board, s, action)
        quiet = where(is_quiet, s.quiet + 1, 0)
        recurs = quiet != 0
        moves = legal_moves(board, after)
        if board.orthodox:
            recurs &= (after.castling == board.turned(s.castling)) & (s.en_passant == 0)
            after = after.replace(en_passant=where(moves.en_passant, after.en_passant, 0))
        after = after.replace(
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
        drawn = too_weak(self.board, s) | (s.repeats >= 2) | (s.quiet >= self.quiet_plies)
        return stuck & moves.check, (stuck | drawn) & ~(stuck & moves.check)

    def repeats(self, s: GameState) -> Scalar:
        """Return the earlier occurrences of the position, up to 2 (C10), by taking back one move after another."""
        board = self.board
        one = board.word(1)
        current = [s.own, s.other, s.knights, s.diagonals, s.lines]
        # Pawns, rights and captures en passant are equal in all positions that can be taken back.
        count = minimum(s.reversible, self.quiet_plies)
        most = -(-self.quiet_plies // TAKEN_BACK)
        # a turn takes two words, the last of which may be missing
        history = [*s.history, uint64(0)]

        def take_back(values: list[Scalar]) -> list[Scalar]:
            """Take back the moves of two words of the history, and count how often the position was the same."""
            turn, equal, *sets = values
            sides = sets[:2]
            kinds = sets[2:]
            words = [lookup(history[half : 2 * most : 2], int32(turn)) for half in (0, 1)]
            for k in range(TAKEN_BACK):
                back = int32(turn) * TAKEN_BACK + k + 1
                move = board.word(words[k // MOVES_A_WORD] >> MOVE_BITS * (k % MOVES_A_WORD))
                squares = [move & 63, move >> 6 & 63]
                if not k % 2:  # the last ply was played from the opponent's side
                    squares = [board.turned_square(square) for square in squares]
                # The piece goes back to where it came from: its side and its kinds lose the end and gain the start.
                end = one << squares[1]
                both = one << squares[0] | end
                sides[1 - k % 2] ^= both
                kinds = [kind ^ where((kind & end) != 0, both, 0) for kind in kinds]
                if k % 2:  # only these positions have the same player to move
                    same = union_of(a ^ b for a, b in zip(current, sides + kinds, strict=True)) == 0
                    equal = equal + (same & (back <= count))
            return [turn + 1, equal, *sides, *kinds]

        turns = (count + TAKEN_BACK - 1) // TAKEN_BACK
        _, equal, *_ = repeat(turns, [board.none, 0, *current], take_back, most)
        return minimum(int32(equal), 2)

    def observe(self, s: GameState, player: Scalar) -> Observation:
        """Return planes: the player's pieces, the opponent's, castling rooks, en passant, and constant ones (C12)."""
        board = self.board
        mine = s.current_player == player
        sets = {name: where(mine, getattr(s, name), board.turned(getattr(s, name))) for name in board.sets}
        s = GameState(s.asdict() | sets)
        sides = where(mine, [s.own, s.other], [s.other, s.own])
        own, other = ([bits(side & kind, board.squares) for kind in kinds_of(s)] for side in sides)

        rights = {"rooks that may castle": "castling", "square of an en passant capture": "en_passant"}
        return {
            "own pawns, knights, bishops, rooks, queens, king": own,
            "the opponent's pieces in the same order": other,
            **{part: bits(sets[name], board.squares) for part, name in rights.items() if name in sets},
            "the position has occurred before": constant(s.repeats >= 1, board.squares),
            "the player is Black": constant(player == 1, board.squares),
            "binary digits of the quiet plies": digits(s.quiet, 7, board.squares),
        }


def kinds_of(s: GameState) -> list[Scalar]:
    """Return the pawns, knights, bishops, rooks, queens and kings of both players."""
    queens = s.diagonals & s.lines
    kings = (s.own | s.other) & ~(s.pawns | s.knights | s.diagonals | s.lines)
    return [s.pawns, s.knights, s.diagonals & ~queens, s.lines & ~queens, queens, kings]


def too_weak(board: ChessBoard, s: GameState) -> Scalar:
    """Return whether neither player can mate (C9): one knight or bishop at most, or bishops on one colour."""
    pieces = s.knights | s.diagonals
    one_piece = popcount(pieces) <= 1
    dark = board.word(board.dark)
    one_colour = (s.knights == 0) & (((s.diagonals & dark) == 0) | ((s.diagonals & ~dark) == 0))
    return ((s.pawns | s.lines) == 0) & (one_piece | one_colour)


# *** moves ***


def moved(board: ChessBoard, s: GameState, action: Scalar) -> tuple[Scalar, Scalar, GameState]:
    """Return from and to as 12 bits, whether the move is quiet, and the state from the opponent's side.

    A quiet move is neither a capture nor a pawn's. `en_passant` is the square behind a pawn that has moved two squares.
    """
    side = board.side
    steps = [side * files + ranks for files, ranks in board.planes]
    castles = action >= board.moves
    plane = where(castles, UNDER, action % len(steps))
    start = where(castles, side * 4, action // len(steps))
    end = start + lookup(steps, plane)
    rook = board.none
    if board.orthodox:
        # Castling is the king's move; the rook's start and end change besides.
        long = action == board.castles[0]
        end = where(castles, where(long, side * 2, side * 6), end)
        rooks = [board.word(board.first_rank(*files)) for files in ((0, 3), (7, 5))]
        rook = where(castles, where(long, *rooks), 0)
    a = board.word(1) << start
    b = board.word(1) << end
    pawn = (s.pawns & a) != 0
    # A pawn that is captured en passant stands one square behind the end of the move.
    taken = (where(pawn & (b == s.en_passant), b >> 1, b) if board.orthodox else b) & s.other
    gone = ~(a | taken)

    def after(kind: Scalar, becomes: Value) -> Scalar:
        """Return the pieces of a kind; `becomes` says whether a promoted pawn is one of them."""
        stays = ((kind & a) != 0) & ~promotes | promotes & becomes
        return kind & gone | where(stays, b, 0)

    promotes = pawn & ((b & board.ranks[-1]) != 0)
    under = plane < UNDER
    sets = {
        "own": (s.own & ~a | b) ^ rook,
        "other": s.other & ~taken,
        "pawns": after(s.pawns, False),
        "knights": after(s.knights, under & (plane >= 6)),
        "diagonals": after(s.diagonals, ~under | (plane >= 3) & (plane < 6)),
        "lines": after(s.lines, ~under | (plane < 3)) ^ rook,
    }
    if board.orthodox:
        king = (kinds_of(s)[-1] & a) != 0
        kept = where(king, ~board.word(board.ranks[0]), board.every)
        sets["castling"] = s.castling & ~(a | b) & kept
        sets["en_passant"] = where(pawn & (b == a << 2), a << 1, 0)
    # The opponent is to move: both sides change their names, and the ranks are reversed.
    sets["own"], sets["other"] = sets["other"], sets["own"]
    after_turn = s.replace(**{name: board.turned(squares) for name, squares in sets.items()})
    return start | end << 6, ~pawn & (taken == 0), after_turn


class SquareSets(NamedTuple):
    """Sets of squares of a position, from the side of the player to move."""

    own: Scalar
    other: Scalar
    empty: Scalar
    kings: Scalar  # both players' kings
    pawns: Scalar  # own ones
    knights: Scalar
    king: Scalar
    sliders: dict[Way, Scalar]  # pieces of both players that slide along each way


def sets_of(s: GameState) -> SquareSets:
    """Return the sets of squares that moves depend on."""
    empty = ~(s.own | s.other)
    kings = kinds_of(s)[-1]
    sliders = {way: s.diagonals if all(way) else s.lines for way in WAYS}
    return SquareSets(s.own, s.other, empty, kings, s.own & s.pawns, s.own & s.knights, s.own & kings, sliders)


def piece_moves(board: ChessBoard, sets: SquareSets, limits: CheckLimits, danger: Scalar) -> dict[Way, Scalar]:
    """Return the squares from which the king, bishops, rooks, queens and knights can make each step."""
    planes = {slide: board.none for slide in board.slides}
    planes |= {way: sets.king & board.shifted(~(sets.own | danger), board.back(way)) for way in WAYS}
    for way in WAYS:
        at = limits.free[way] & sets.sliders[way]
        for steps in range(1, board.side):
            at = board.shifted(at, way)
            planes[board.back(way, -steps)] |= board.shifted(at & limits.goals & ~sets.own, board.back(way, steps))
            # Only pieces that have met nothing go on.
            at &= sets.empty
    jumpers = sets.knights & limits.unpinned
    planes |= {leap: jumpers & board.shifted(limits.goals & ~sets.own, board.back(leap)) for leap in LEAPS}
    return planes


def add_pawn_moves(
    board: ChessBoard, planes: dict[Way, Scalar], s: GameState, sets: SquareSets, limits: CheckLimits
) -> tuple[list[Scalar], Value]:
    """Add the moves of pawns to planes; return pawns that promote, by plane, and pawns that capture en passant."""
    ahead = board.shifted(sets.pawns & limits.free[NORTH], NORTH) & sets.empty
    single = {
        way: sets.pawns & limits.free[way] & board.shifted(sets.other & limits.goals, board.back(way))
        for way in FORWARD
    }
    single[NORTH] = board.shifted(ahead & limits.goals, board.back(NORTH))
    passing: Value = False
    if board.orthodox:
        planes[0, 2] |= board.shifted(
            board.shifted(ahead & board.ranks[2], NORTH) & sets.empty & limits.goals, board.back(NORTH, 2)
        )
        captures = captures_in_passing(board, s, sets, limits)
        single |= {way: single[way] | pawns for way, pawns in captures.items()}
        passing = union_of(captures.values()) != 0
    planes |= {way: planes[way] | single[way] for way in FORWARD}
    return [single[way] & board.ranks[-2] for way in FORWARD], passing


def captures_in_passing(board: ChessBoard, s: GameState, sets: SquareSets, limits: CheckLimits) -> dict[Way, Scalar]:
    """Return the pawns that can capture en passant, by the way they go (C3)."""
    captures = dict[Way, Scalar]()
    victim = s.en_passant >> 1
    for way in FORWARD[1:]:
        pawn = sets.pawns & limits.free[way] & board.shifted(s.en_passant, board.back(way))
        # Both pawns leave the rank, on which the king may then be attacked.
        opened = union_of(board.slid(sets.king, sets.empty | pawn | victim, side) for side in ((1, 0), (-1, 0)))
        safe = ((limits.goals & (s.en_passant | victim)) != 0) & ((opened & sets.other & s.lines) == 0)
        captures[way] = where(safe, pawn, 0)
    return captures


def legal_moves(board: ChessBoard, s: GameState) -> Moves:
    """Return the legal moves (C3 to C7)."""
    sets = sets_of(s)
    steps = {way: sets.other & s.knights for way in LEAPS}
    steps |= {board.back(way): sets.other & s.pawns for way in FORWARD[1:]}  # the opponent's pawns go the opposite ways
    slides = {way: sets.other & sets.sliders[way] for way in WAYS}
    limits = limits_of(board, sets.king, sets.own, sets.empty, steps, slides)
    danger = limits.attacked | board.leaps(sets.other & sets.kings, WAYS)
    planes = piece_moves(board, sets, limits, danger)
    promotions, passing = add_pawn_moves(board, planes, s, sets, limits)
    castles = list[Scalar]()
    if board.orthodox:
        # files of the rook, of the squares that must be empty, and of those that must not be attacked
        for rook, *paths in (((0,), (1, 2, 3), (2, 3, 4)), ((7,), (5, 6), (4, 5, 6))):
            between, path = (board.first_rank(*files) for files in paths)
            free = ((between & ~sets.empty) == 0) & ((danger & path) == 0)
            castles.append(((s.castling & board.first_rank(*rook)) != 0) & free)
    return Moves(promotions * 3 + [planes[way] for way in board.slides + LEAPS], castles, limits.check, passing)


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
