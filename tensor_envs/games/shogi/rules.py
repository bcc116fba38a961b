"""Shogi, minishogi and animal shogi: captured pieces change sides; an attack on the king that no move answers wins.

Rules and rulings: RULES.md beside this file. A position is stored from the side of the player to move, who moves up:
every move turns the board. The piece on each square is a number, of which `pieces` has the bits: its kind, and whether
it is promoted.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from tensor_envs.games._kit.checks import CheckLimits, limits_of
from tensor_envs.games._kit.past import Change, Event, Past
from tensor_envs.games._kit.sets import number_at, numbered
from tensor_envs.games.shogi.board import BACK, DOWN, QUEEN, VARIANTS, WAYS, ShogiBoard
from tensor_envs.rules import Actions, GridSet, Scalar, has_bit, int32, lookup, minimum, scalar, union_of, where
from tensor_envs.rules.chance import Chance
from tensor_envs.rules.observation import Observation, Part, bits, constant, digits
from tensor_envs.rules.plain import check_fields
from tensor_envs.rules.spec import Field, GameState, Mask, Outcome, Spec

MAX_PLIES = 512  # as in Pgx's shogi (S11)


class ShogiMoves(NamedTuple):
    """Legal moves of the player to move.

    Attributes:
        planes: squares where they end, for each of the board's planes.
        check: whether the king is attacked.
    """

    planes: list[GridSet]
    check: Scalar


class ShogiEnd(NamedTuple):
    """Outcome of a move for the player who has made it; all are false while the game goes on."""

    won: Scalar
    lost: Scalar
    drawn: Scalar


@dataclass(frozen=True)
class Shogi:
    """Rule fields of shogi (S14).

    Attributes:
        files: files of the board: 9 for shogi, 5 for minishogi, 3 for animal shogi.
        window: number of last positions among which a position recurs, the present one included, 1..513 (S10).
    """

    files: int = 9
    window: int = 64

    def __post_init__(self) -> None:
        check_fields(self, files=VARIANTS.keys(), window=(1, MAX_PLIES + 1))

    @cached_property
    def board(self) -> ShogiBoard:
        """Squares and pieces."""
        return ShogiBoard(VARIANTS[self.files])

    @cached_property
    def actions(self) -> Actions:
        """Squares where moves end, for each plane (S4)."""
        return Actions(**dict.fromkeys(self.board.planes, self.board.size))

    @cached_property
    def past(self) -> Past:
        """Last plies, each from its player's side, to compare earlier positions with the present one (S10)."""
        place = self.board.place_digits
        piece = self.board.digits + 1  # a kind, and whether it is promoted
        digits = {
            "starts": place,  # a place in hand for a drop
            "ends": place,
            "before": piece,
            "after": piece,
            "captured": piece,  # all ones for none
            "held": place,  # where the captured piece goes; all ones for none
        }
        return Past((self.window - 1) // 2, digits, things=sum(self.board.counts) + 2)

    @property
    def fold(self) -> int:
        """Occurrences of a position that end the game (S10)."""
        return 4 if self.board.variant.orthodox else 3

    @property
    def spec(self) -> Spec:
        board = self.board
        words = board.grid.words
        planes = 2 * len(board.forms) + 2 * sum(count.bit_length() for count in board.counts) + self.fold + 1
        return Spec(
            num_players=2,
            num_actions=self.actions.count,
            max_legal=board.variant.max_legal,
            observation_shape=(planes, board.files, board.ranks),
            max_plies=MAX_PLIES,
            fields=(
                Field("own", (words,), kind="uint32"),  # pieces of the player to move
                Field("other", (words,), kind="uint32"),
                # binary digits of the kinds of all pieces, and promoted pieces
                Field("pieces", (board.digits + 1, words), kind="uint32"),
                Field("hands", (2, len(board.hand_kinds)), high=max(board.counts)),  # the player to move comes first
                Field("checks", (2,), high=self.window),  # checking moves in a row, of the player to move first
                Field("repeats", high=self.fold - 1),  # earlier occurrences of the position
                *self.past.fields,
            ),
        )

    def init(self, chance: Chance) -> dict[str, Any]:
        return self.board.fields_of(self.board.pieces_of(self.board.variant.placed))

    def legal_action_mask(self, s: GameState) -> Mask:
        """Return the squares where legal moves end, for each plane (S4)."""
        moves = legal_moves(self.board, s)
        return self.actions.mask(**dict(zip(self.board.planes, moves.planes, strict=True)))

    # *** steps ***

    def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
        board = self.board
        after, numbers = moved(board, s, action)
        moves = legal_moves(board, after)
        checks = [s.checks[1], where(moves.check, minimum(s.checks[0] + 1, self.window), 0)]
        past = self.past.after(s, numbers, changes_of(board, numbers))
        after = after.replace(checks=checks, current_player=1 - s.current_player, **past)
        after = after.replace(repeats=self.repeats(after))
        end = self.ends(after, moves)
        winner = where(end.lost, 1 - s.current_player, s.current_player)
        return Outcome.win(after, winner, end.won | end.lost).draw(end.drawn)

    def ends(self, s: GameState, moves: ShogiMoves) -> ShogiEnd:
        """Return whether the player who has moved has won (S8, S9) or lost, or the game is drawn (S10, S11)."""
        recurs = s.repeats >= self.fold - 1
        reach = union_of(moves.planes)
        won = ~reach.any()
        if not self.board.variant.orthodox:
            # A lion that has reached the last rank wins there: at once if it is safe, else after a move that spares it.
            p = pieces_of(self.board, s)
            far = self.board.last_ranks(1)
            lost = (p.king & far).any()
            won |= ~p.king.any() | (p.target & self.board.turned(far) - reach).any()
            return ShogiEnd(won & ~lost, lost, recurs & ~(won | lost))
        # Perpetual check loses.
        moves_since = self.past.plies_since(self.past.recurrences(s))
        lost = recurs & (s.checks[1] >= moves_since)
        won |= recurs & (s.checks[0] >= moves_since) & ~lost
        drawn = recurs & ~(won | lost)
        if self.board.variant.second_wins:
            second = s.current_player == 0
            return ShogiEnd(won | drawn & second, lost | drawn & ~second, scalar(False))
        return ShogiEnd(won, lost, drawn)

    def repeats(self, s: GameState) -> Scalar:
        """Return how often the position has occurred before, up to the number that ends the game (S10)."""
        return minimum(self.past.recurrences(s).count(), self.fold - 1)

    def observe(self, s: GameState, player: Scalar) -> Observation:
        """Return planes of both players' pieces, digits of their hands, repetition and the side (S12)."""
        board = self.board
        mine = s.current_player == player
        sets = pieces_of(board, s)

        def pieces(side: GridSet) -> list[Part]:
            """Return the planes of a side's pieces, by their forms."""
            planes = [cells & side for cells in sets.forms]
            return [bits(where(mine, cells, board.turned(cells)), board.size) for cells in planes]

        def held(hand: Sequence[Scalar]) -> list[Part]:
            """Return the planes of the numbers in a hand, by the kinds of pieces."""
            counts = zip(hand, board.counts, strict=True)
            return [part for count, most in counts for part in digits(count, most.bit_length(), board.size)]

        hands = where(mine, s.hands, [s.hands[1], s.hands[0]])
        return {
            "own " + ", ".join(form.name for form in board.forms): pieces(where(mine, sets.own, sets.other)),
            "the opponent's pieces in the same order": pieces(where(mine, sets.other, sets.own)),
            "binary digits of the own pieces in hand": held(hands[0]),
            "binary digits of the opponent's pieces in hand": held(hands[1]),
            "earlier occurrences of the position": [constant(s.repeats == k, board.size) for k in range(self.fold)],
            "the player moved second": constant(player == 1, board.size),
        }


# *** positions ***


class PieceSets(NamedTuple):
    """Sets of a position.

    Attributes:
        own, other, empty: squares of the player to move, of the opponent, and of no piece.
        forms: pieces of both players, by the board's forms.
        steps, slides: pieces of both players that go one square along each way, as their player sees it, and those that
            go any number.
        king, target: own king, and the opponent's.
    """

    own: GridSet
    other: GridSet
    empty: GridSet
    forms: list[GridSet]
    steps: list[GridSet]
    slides: list[GridSet]
    king: GridSet
    target: GridSet


def pieces_of(board: ShogiBoard, s: GameState) -> PieceSets:
    """Return the sets of a position."""
    grid = board.grid
    own = grid.set(s.own)
    other = grid.set(s.other)
    forms = list[GridSet]()
    for form in board.forms:
        # Pieces that do not promote need no look at the last digit.
        promotes = form.raised or "+" in form.letter
        forms.append(numbered(own | other, s.pieces if promotes else s.pieces[:-1], board.code_of(form.letter)))
    pairs = list(zip(board.forms, forms, strict=True))
    ways = range(len(WAYS))
    steps = [union_of([grid.empty, *(cells for form, cells in pairs if way in form.steps)]) for way in ways]
    slides = [union_of([grid.empty, *(cells for form, cells in pairs if way in form.slides)]) for way in ways]
    kings = forms[len(board.kinds) - 1]
    empty = grid.full - own - other
    return PieceSets(own, other, empty, forms, steps, slides, own & kings, other & kings)


def moved(board: ShogiBoard, s: GameState, action: Scalar) -> tuple[GameState, dict[str, Scalar]]:
    """Return the state from the opponent's side after an action, with the pieces and hands alone changed (S2, S3).

    The numbers that describe the action in the log of plies are returned as well.
    """
    grid = board.grid
    plane = action // board.size
    to = action % board.size
    drops = plane >= board.drops
    end = grid.cell(to)
    start = start_of(board, s, plane, to)
    begin = where(drops, grid.empty, grid.cell(start))
    # The numbers of the piece that moves and of the captured one are read digit by digit.
    pieces = [grid.set(cells) for cells in s.pieces]
    before = where(drops, plane - board.drops, number_at(pieces, begin))
    taken = number_at(pieces, end)
    # A chick promotes without a choice (S5).
    promotes = (plane >= board.ways) & ~drops
    if not board.variant.orthodox:
        promotes = (before == 0) & ~drops & (end & board.last_ranks(1)).any()
    piece = before | int32(promotes) << board.digits
    pieces = [(cells - begin - end) | where((piece >> k & 1) != 0, end, grid.empty) for k, cells in enumerate(pieces)]
    # A captured piece comes to the next place of its kind in hand, and a piece is dropped from the last one.
    captures = (end & s.other).any()
    kind, taken_kind = (number & (1 << board.digits) - 1 for number in (before, taken))
    counts = [*s.hands[0], 0]
    numbers = {
        "starts": where(drops, lookup(board.slots, kind) + lookup(counts, kind) - 1, start),
        "ends": to,
        "before": before,
        "after": piece,
        "captured": where(captures, taken, board.no_piece),
        "held": where(captures, lookup(board.slots, taken_kind) + lookup(counts, taken_kind), board.no_place),
    }
    held = enumerate(s.hands[0])
    hand = [number + int32(captures & (taken_kind == k)) - int32(drops & (kind == k)) for k, number in held]
    # The opponent is to move: both sides change their names, and the board is turned.
    after = s.replace(
        own=board.turned(grid.set(s.other) - end),
        other=board.turned((grid.set(s.own) - begin) | end),
        pieces=[board.turned(cells) for cells in pieces],
        hands=[s.hands[1], hand],
    )
    return after, numbers


def changes_of(board: ShogiBoard, ply: dict[str, Scalar]) -> list[Change]:
    """Return the changes of a ply, by its numbers: a piece moves or is dropped, and a captured one goes to the hand."""

    def events(side: int, place: Scalar, piece: Scalar) -> list[Event]:
        """Return the plies that bring a side's piece to a place, as the side sees the board, or take it from there."""
        return [
            (side, {"starts": place, "before": piece}),
            (side, {"ends": place, "after": piece}),
            # The opponent captures it. A place in hand is no cell for the opponent.
            (1 - side, {"ends": board.size - 1 - place, "captured": piece}),
        ]

    left = [*events(0, ply["starts"], ply["before"]), (0, {"held": ply["starts"]})]
    reached = events(0, ply["ends"], ply["after"])
    # the captured piece leaves its square and reaches a place in the hand
    square_left = events(1, board.size - 1 - ply["ends"], ply["captured"])
    hand_reached = [(0, {"starts": ply["held"]}), (0, {"held": ply["held"]})]
    captures = ply["captured"] != board.no_piece
    return [Change(left, reached), Change(square_left, hand_reached, captures)]


def start_of(board: ShogiBoard, s: GameState, plane: Scalar, to: Scalar) -> Scalar:
    """Return the square where a move begins: the first piece on the way back; a drop has no way and ends there."""
    occupied = board.grid.set(s.own) | s.other
    ways = [WAYS[k % board.ways] for k in range(board.drops)] + [(0, 0)] * len(board.hand_kinds)
    back = lookup([-board.ranks * files - ranks for files, ranks in ways], plane)
    start = to + back
    for _ in range(max(board.files, board.ranks) - 2):
        start = where(has_bit(occupied, start), start, start + back)
    return start


# *** moves ***


def legal_moves(board: ShogiBoard, s: GameState) -> ShogiMoves:
    """Return the legal moves (S2 to S7)."""
    grid = board.grid
    p = pieces_of(board, s)
    # The opponent's pieces go the opposite ways.
    steps = {way: p.other & p.steps[back] for way, back in enumerate(BACK)}
    slides = {way: p.other & p.slides[BACK[way]] for way in QUEEN}
    limits = limits_of(board, p.king, p.own, p.empty, steps, slides)
    if not board.variant.orthodox:  # a lion may be left to be caught
        limits = CheckLimits(limits.check, grid.full, p.own, {way: p.own for way in QUEEN}, grid.empty)
    zone = board.last_ranks(board.variant.zone)
    targets = grid.set(limits.goals) - p.own

    def ends(pieces: GridSet, way: int) -> GridSet:
        """Return where pieces other than the king can end a move along a way, as far as pins allow."""
        movers = pieces & (limits.free[way] if way in QUEEN else limits.unpinned)
        steps = board.shifted(movers & p.steps[way], way)
        return (steps | board.slid(movers & p.slides[way], p.empty, way) if way in QUEEN else steps) & targets

    forms = list(zip(board.forms, p.forms, strict=True))
    promoting = union_of(cells for kind, cells in forms if kind.raised)
    plain = list[GridSet]()
    raised = list[GridSet]()
    for way in range(board.ways):
        stays = ends(p.own, way)
        if board.variant.orthodox:
            # A move that starts or ends in the zone may promote. One that goes down and ends there started there, and
            # one that goes up or aside and starts there ends there: so one of the two is enough to test.
            goes_down = WAYS[way][1] > 0
            raised.append(ends(promoting & zone, way) if goes_down else ends(promoting, way) & zone)
            for kind, cells in forms:
                if kind.dead and way in (*kind.steps, *kind.slides):
                    stays -= ends(cells, way) & board.last_ranks(kind.dead)
        if way in QUEEN:
            stays = stays | board.shifted(p.king, way) - p.own - limits.attacked
        plain.append(stays)
    return ShogiMoves(plain + raised + drops_of(board, s, p, targets & p.empty), limits.check)


def drops_of(board: ShogiBoard, s: GameState, p: PieceSets, squares: GridSet) -> list[GridSet]:
    """Return the squares for drops of each kind, out of the empty ones on which a piece leaves no check (S5 to S7)."""
    grid = board.grid
    drops = list[GridSet]()
    for k, kind in enumerate(board.hand_kinds):
        allowed = squares
        if board.variant.orthodox:
            allowed = allowed - board.last_ranks(kind.dead)
        if board.variant.orthodox and k == 0:
            for file in range(board.files):
                cells = grid.of(range(board.ranks * file, board.ranks * (file + 1)))
                allowed = allowed - where((cells & p.forms[0] & p.own).any(), cells, grid.empty)
            allowed = allowed - mating_drop(board, p)
        drops.append(where(s.hands[0][k] > 0, allowed, grid.empty))
    return [grid.set(cells) for cells in drops]


def mating_drop(board: ShogiBoard, p: PieceSets) -> GridSet:
    """Return the square, if there is one, on which a dropped pawn would give mate (S7)."""
    square = board.shifted(p.target, DOWN) & p.empty
    # The position after the drop, for the opponent: what slides over the pawn's square ends there.
    empty = p.empty - square
    steps = {way: p.own & pieces for way, pieces in enumerate(p.steps)}
    slides = {way: p.own & p.slides[way] for way in QUEEN}
    limits = limits_of(board, p.target, p.other, empty, steps, slides)
    escapes = union_of(board.shifted(p.target, way) for way in QUEEN) - p.other - limits.attacked
    # No pinned piece stands on the line from the king over the pawn, so none can take the pawn.
    takers = board.grid.empty
    for way in range(board.ways):
        # The opponent's pieces that come from the direction of a way go the opposite way.
        takers |= board.shifted(square, way) & limits.unpinned & p.steps[way]
        if way in QUEEN:
            takers |= board.slid(square, empty, way) & limits.unpinned & p.slides[way]
    return where(escapes.any() | takers.any(), board.grid.empty, square)
