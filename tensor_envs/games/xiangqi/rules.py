"""Xiangqi: a general that cannot escape an attack, and a player without a legal move, lose.

Rules and rulings: RULES.md beside this file. A position is stored from the side of the player to move, whose soldiers
go to higher ranks: every move reverses the ranks. The kind of the piece on a square is a number of three binary digits,
each of which is a set of squares.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

from tensor_envs._validate import integer as checked
from tensor_envs.games._kit.past import Change, Past
from tensor_envs.games.xiangqi.board import (
    AHEAD,
    ALONG,
    DIAGONALS,
    FILES,
    GRID,
    HOME,
    HOME_RANKS,
    KIND_DIGITS,
    LEAPS,
    LINES,
    PALACE,
    PIECES,
    PLANES,
    RANKS,
    SIDES,
    SQUARES,
    START,
    board_of,
    fields_of,
    of_ranks,
    reach,
    seen,
    seen_around,
    turned,
)
from tensor_envs.rules import (
    Actions,
    Chance,
    Field,
    GameState,
    GridSet,
    Mask,
    Observation,
    Outcome,
    Part,
    Scalar,
    Spec,
    bits,
    int32,
    lookup,
    maximum,
    minimum,
    sum_of,
    union_of,
    where,
)

MAX_QUIET = 127
QUIET_DIGITS = 7
# plies since the last capture, each from the side of its player: squares, and the kind of the piece
PAST = Past((MAX_QUIET + 1) // 2, {"starts": 7, "ends": 7, "kinds": KIND_DIGITS}, things=32)
ACTIONS = Actions(**{f"plane_{k}": SQUARES for k in range(len(PLANES))})


class XiangqiSets(NamedTuple):
    """Squares of the pieces of a position, from the side of the player to move.

    Attributes:
        own, other: pieces of the player to move, and of the opponent.
        soldiers, advisors, elephants, horses, chariots, cannons, generals: pieces of both players.
    """

    own: GridSet
    other: GridSet
    soldiers: GridSet
    advisors: GridSet
    elephants: GridSet
    horses: GridSet
    chariots: GridSet
    cannons: GridSet
    generals: GridSet


class LegalSets(NamedTuple):
    """Legal moves of the player to move: for each plane the squares from which they are legal; whether it is check."""

    planes: list[GridSet]
    check: Scalar


@dataclass(frozen=True)
class Xiangqi:
    """Rule fields of xiangqi (X15).

    Attributes:
        quiet_plies: plies without a capture after which the game is drawn, 1..127.
    """

    quiet_plies: int = 120

    def __post_init__(self) -> None:
        object.__setattr__(self, "quiet_plies", checked("quiet_plies", self.quiet_plies, 1, MAX_QUIET))

    @property
    def spec(self) -> Spec:
        return Spec(
            num_players=2,
            num_actions=ACTIONS.count,
            # chariots and cannons 17 each, horses 8 each, advisors 4, elephants 6, the general 4, soldiers 3 each
            max_legal=4 * 17 + 2 * 8 + 4 + 6 + 4 + 5 * 3,
            observation_shape=(2 * 7 + 2 + QUIET_DIGITS, RANKS, FILES),
            fields=(
                Field("own", (GRID.words,), kind="uint32"),
                Field("pieces", (KIND_DIGITS, GRID.words), kind="uint32"),
                Field("quiet", high=self.quiet_plies),  # plies since the last capture
                # of these, each player's last ones in a row that gave check, of the player to move first
                Field("checks", (2,), high=PAST.plies),
                *PAST.fields,
            ),
        )

    def init(self, chance: Chance) -> dict[str, Any]:
        return fields_of(board_of(START))

    def legal_action_mask(self, s: GameState) -> Mask:
        """Return the mask of all planes (X9)."""
        planes = legal_moves(pieces_of(s)).planes
        return ACTIONS.mask(**{f"plane_{k}": plane for k, plane in enumerate(planes)})

    def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
        start, end, kind, captures, after = moved(s, action)
        moves = legal_moves(pieces_of(after))
        quiet = where(captures, 0, s.quiet + 1)
        checks = [s.checks[1], where(moves.check, minimum(s.checks[0] + 1, PAST.plies), 0)]
        gone, come = ([(0, {name: square, "kinds": kind}) for name in ("starts", "ends")] for square in (start, end))
        past = PAST.after(s, {"starts": start, "ends": end, "kinds": kind}, [Change(gone, come)], ~captures)
        after = after.replace(
            quiet=quiet, checks=where(captures, [0, 0], checks), current_player=1 - s.current_player, **past
        )
        stuck, repeated, culprit = ends(after, moves)
        # The opponent loses without a legal move; either player may lose by perpetual check.
        loser = where(stuck | (culprit == 0), 1 - s.current_player, s.current_player)
        lost = stuck | repeated & (culprit >= 0)
        return Outcome.win(after, 1 - loser, lost).draw(repeated | (quiet >= self.quiet_plies))

    def observe(self, s: GameState, player: Scalar) -> Observation:
        """Return planes: the player's pieces, the opponent's, and constant ones (X13)."""
        mine = s.current_player == player
        pieces = pieces_of(s)
        kinds = [where(mine, kind, turned(kind)) for kind in pieces[2:]]
        sides = [where(mine, side, turned(side)) for side in pieces[:2]]
        own, other = where(mine, sides[0], sides[1]), where(mine, sides[1], sides[0])

        def constant(fact: Scalar) -> Part:
            return bits(where(fact, GRID.full, GRID.empty), SQUARES)

        return {
            "own soldiers, advisors, elephants, horses, chariots, cannons, general": [
                bits(own & kind, SQUARES) for kind in kinds
            ],
            "the opponent's pieces in the same order": [bits(other & kind, SQUARES) for kind in kinds],
            "the position has occurred before": constant(PAST.same(s).any()),
            "the player is Black": constant(player == 1),
            "binary digits of the quiet plies": [constant((s.quiet >> k & 1) != 0) for k in range(QUIET_DIGITS)],
        }


def pieces_of(s: GameState) -> XiangqiSets:
    """Return the pieces by their kinds, the numbers of `PIECES`."""
    low, middle, high = map(GRID.set, s.pieces)
    own = GRID.set(s.own)
    light, heavy = (low | middle | high) - high, high
    kinds = [light - middle, light - low, light & low & middle]
    kinds += [heavy - low - middle, heavy & low - middle, heavy & middle - low, heavy & low & middle]
    return XiangqiSets(own, (low | middle | high) - own, *kinds)


def ends(s: GameState, moves: LegalSets) -> tuple[Scalar, Scalar, Scalar]:
    """Return whether the player to move has no move, whether the position is the third of its kind, and the culprit.

    The culprit of a repetition loses by perpetual check: 0 for the player to move, 1 for the opponent, -1 for neither
    (X12).
    """
    stuck = ~union_of(moves.planes).any()
    same = PAST.same(s)
    since = PAST.since(same)
    checked = [checks >= since for checks in s.checks]
    culprit = where(checked[0] & ~checked[1], 0, where(checked[1] & ~checked[0], 1, -1))
    return stuck, (same.count() >= 2) & ~stuck, culprit


# *** moves ***


def moved(s: GameState, action: Scalar) -> tuple[Scalar, Scalar, Scalar, Scalar, GameState]:
    """Return a move's start, end, kind of piece, whether it captures, and the state from the opponent's side."""
    start = action % SQUARES
    plane = action // SQUARES
    rank = start // FILES
    file = start % FILES
    a = GRID.cell(start)
    digits = [GRID.set(digit) for digit in s.pieces]
    has = [(digit & a).any() for digit in digits]
    kind = sum_of(int32(one) << k for k, one in enumerate(has))
    # An elephant goes two steps in the planes of an advisor's one.
    steps = [FILES * ranks + files for ranks, files in LEAPS + DIAGONALS]
    leap = lookup(steps, maximum(minimum(plane - len(LINES), len(steps) - 1), 0))
    twice = (plane >= len(LINES) + len(LEAPS)) & (kind == PIECES.index("B"))
    along = FILES * rank + (file + plane + 1) % FILES
    ahead = FILES * ((rank + plane + 1 - len(ALONG)) % RANKS) + file
    end = where(plane < len(ALONG), along, where(plane < len(LINES), ahead, start + where(twice, 2 * leap, leap)))
    b = GRID.cell(end)
    own = GRID.set(s.own)
    captures = (union_of(digits) & b).any()
    # The piece takes the place of whatever is there, with every digit of its kind.
    kinds = [turned(digit - a - b | where(one, b, GRID.empty)) for digit, one in zip(digits, has, strict=True)]
    after = s.replace(own=union_of(kinds) - turned(own - a | b), pieces=kinds)
    return start, end, kind, captures, after


def free_ways(pieces: XiangqiSets) -> list[GridSet]:
    """Return for each plane of a line the chariots, cannons, soldiers and the general that can go along it.

    Squares that such a piece may not end on are not left out.
    """
    occupied = pieces.own | pieces.other
    sliders = []
    for planes, size in ((ALONG, FILES), (AHEAD, RANKS)):
        met = [seen_around(occupied, plane) for plane in planes]
        ways = []  # each way: squares from which the squares before the distance have no piece, or one piece
        for order in (range(size - 1), range(size - 1)[::-1]):
            none, one = GRID.full, GRID.empty
            way = {}
            for k in order:
                way[k] = none, one
                one = one - met[k] | none & met[k]
                none = none - met[k]
            ways.append(way)
        for k, (ranks, files) in enumerate(planes):
            stays = of_ranks(range(RANKS - ranks), range(FILES - files))
            none, one = (x & stays | y - stays for x, y in zip(ways[0][k], ways[1][k], strict=True))
            # A chariot meets nothing before its end; a cannon nothing up to its end, or it captures over one piece.
            goes = pieces.chariots & none | pieces.cannons & (none - met[k] | one & met[k])
            if planes is AHEAD and k == 0:
                goes = goes | pieces.soldiers & stays
            if planes is ALONG and k in (0, size - 2):
                goes = goes | (pieces.soldiers - HOME) & (stays if k == 0 else ~stays)
            if k in (0, size - 2):
                goes = goes | pieces.generals
            sliders.append(goes)
    return sliders


def danger(pieces: XiangqiSets) -> GridSet:
    """Return the squares of the own palace that the opponent attacks, as if the general were not there (X6)."""
    general = pieces.own & pieces.generals
    occupied = (pieces.own | pieces.other) - general
    chariots = pieces.other & (pieces.chariots | pieces.generals)
    cannons = pieces.other & pieces.cannons
    attacked = GRID.empty
    # Go from all squares of the palace at once: none and one are those that have met no piece, and one piece.
    for (ranks, files), longest in zip(SIDES, (RANKS - 1, 2, 5, 5), strict=True):
        none, one = PALACE, GRID.empty
        for k in range(1, longest + 1):
            at = ranks * k, files * k
            attacked = attacked | none & seen(chariots, at) | one & seen(cannons, at)
            met = seen(occupied, at)
            one = one - met | none & met
            none = none - met
    horses = pieces.other & pieces.horses
    near = {side: seen(horses, side) for side in SIDES}
    for ranks, files in DIAGONALS:
        # The leg of a horse that comes from there is the square aside.
        leg = (near[ranks, 0] | near[0, files]) - occupied
        attacked = attacked | seen(leg, (ranks, files))
    soldiers = pieces.other & pieces.soldiers
    attacked = attacked | union_of(seen(soldiers, step) for step in ((1, 0), (0, 1), (0, -1)))
    return attacked & PALACE


class Ray(NamedTuple):
    """Line of sight of the own general, with the first three pieces on it.

    Attributes:
        upto: squares up to each piece, the piece included.
        pieces: the set of each piece; the empty set for a piece that is missing.
        chariots, cannons: for each piece, whether it is a chariot or general of the opponent, or a cannon.
    """

    upto: list[GridSet]
    pieces: list[GridSet]
    chariots: list[Scalar]
    cannons: list[Scalar]

    def targets(self, first: int, second: int) -> GridSet:
        """Return the squares to which another piece can go so that there is no attack along the line.

        first, second: which pieces of the ray are the first two; the other one is the piece that moves.
        """
        before = self.upto[first] - self.pieces[first]
        # A chariot must be captured or met. A cannon behind one piece must be captured, or meet one more or none.
        allowed = where(self.chariots[first], self.upto[first], GRID.full)
        allowed = allowed & where(self.cannons[second], self.upto[second] - self.pieces[first], GRID.full)
        return allowed - where(self.cannons[first], before, GRID.empty)


def rays_of(pieces: XiangqiSets, general: GridSet) -> list[Ray]:
    """Return the lines of sight of the own general."""
    occupied = pieces.own | pieces.other
    chariots = pieces.other & (pieces.chariots | pieces.generals)
    cannons = pieces.other & pieces.cannons
    rays = []
    for step in SIDES:
        within = GRID.full if step == SIDES[0] else HOME_RANKS
        empty = within - occupied
        upto, found = list[GridSet](), list[GridSet]()
        start, seen_so_far = general, GRID.empty
        for _ in range(3):
            seen_so_far = seen_so_far | reach(start, empty, step) & within
            start = (seen_so_far & occupied) - union_of([GRID.empty, *found])
            upto.append(seen_so_far)
            found.append(start)
        rays.append(Ray(upto, found, *([(piece & kind).any() for piece in found] for kind in (chariots, cannons))))
    return rays


class MoverGroup(NamedTuple):
    """Pieces of the player to move, and the squares to which they can go without an attack on their general."""

    movers: GridSet
    targets: GridSet


def unpinned_targets(pieces: XiangqiSets, general: GridSet) -> tuple[GridSet, GridSet, GridSet]:
    """Return what attacks by soldiers and horses, and horses that would attack, allow.

    Returns:
        Targets of all pieces, pieces that hold back a horse, and horses that a single piece holds back alone.
    """
    occupied = pieces.own | pieces.other
    targets = GRID.full
    soldiers = pieces.other & pieces.soldiers
    near = union_of(GRID.shift(general, *step) for step in ((1, 0), (0, 1), (0, -1))) & soldiers & HOME
    targets = where(near.any(), where(near.count() == 1, near, GRID.empty), targets)
    horses = pieces.other & pieces.horses & HOME
    legs, held = GRID.empty, GRID.empty
    for ranks, files in DIAGONALS:
        leg = GRID.shift(general, ranks, files) & HOME
        behind = (GRID.shift(leg, ranks, 0) | GRID.shift(leg, 0, files)) & horses
        stands = (leg & occupied).any()
        single = behind.count() == 1
        # A piece on the leg stops both horses, a capture stops one.
        stops = leg | where(single, behind, GRID.empty)
        targets = targets & where(behind.any() & ~stands, stops, GRID.full)
        legs = legs | where(behind.any(), leg & pieces.own, GRID.empty)
        held = held | where(single & stands, behind, GRID.empty)
    return targets, legs, held


def is_check(pieces: XiangqiSets) -> Scalar:
    """Return whether the general of the player to move is attacked, or faces the other one (X6)."""
    return (danger(pieces) & pieces.own & pieces.generals).any()


def groups_of(pieces: XiangqiSets) -> tuple[list[MoverGroup], MoverGroup, MoverGroup, Scalar]:
    """Return the groups of pieces that cannot go to the same squares, the group for steps along lines, and check.

    A piece that is first or second on a line of sight, before what would attack, forms a group with squares of its own.
    The pieces that hold back a horse can only capture it, by a single step.
    """
    general = pieces.own & pieces.generals & PALACE
    attacked = danger(pieces)
    targets, legs, held = unpinned_targets(pieces, general)
    targets = targets - pieces.own
    rays = rays_of(pieces, general)
    lines = [ray.targets(0, 1) for ray in rays]
    special = list[MoverGroup]()
    for k, ray in enumerate(rays):
        first, second, _ = (piece & pieces.own for piece in ray.pieces)
        beyond = ray.cannons[2]
        movers = where(ray.chariots[1] | ray.cannons[1] | beyond, first, GRID.empty)
        movers = movers | where(beyond, second, GRID.empty)
        lifted = where(first.any(), ray.targets(1, 2), ray.targets(0, 2))
        for other, line in enumerate(lines):
            lifted = lifted & (line if other != k else targets)
        special.append(MoverGroup(movers, lifted))
    for line in lines:
        targets = targets & line
    free = pieces.own - legs - general - union_of(group.movers for group in special)
    step = MoverGroup(legs, targets & held)
    king = MoverGroup(general, PALACE - pieces.own - attacked)
    return [MoverGroup(free, targets), *special], step, king, (attacked & general).any()


def legal_moves(pieces: XiangqiSets) -> LegalSets:
    """Return the legal moves (X3 to X8)."""
    groups, step, king, check = groups_of(pieces)
    empty = GRID.full - pieces.own - pieces.other
    planes = []
    for plane, ways in zip(LINES, free_ways(pieces), strict=True):
        single = plane in (ALONG[0], ALONG[-1], AHEAD[0], AHEAD[-1])
        some = [*groups, step, king] if single else groups
        planes.append(ways & union_of(group.movers & seen_around(group.targets, plane) for group in some))
    for ranks, files in LEAPS:
        # The leg of a horse is the square beside it, in the direction of the longer way.
        leg = (ranks // 2, 0) if abs(ranks) == 2 else (0, files // 2)
        ways = pieces.horses & seen(empty, leg)
        planes.append(ways & union_of(group.movers & seen(group.targets, (ranks, files)) for group in groups))
    for ranks, files in DIAGONALS:
        twice = 2 * ranks, 2 * files
        near = union_of(group.movers & seen(group.targets & PALACE, (ranks, files)) for group in groups)
        far = union_of(group.movers & seen(group.targets & HOME, twice) for group in groups)
        eyes = pieces.elephants & seen(empty, (ranks, files))
        planes.append(pieces.advisors & near & PALACE | eyes & far & HOME)
    return LegalSets(planes, check)
