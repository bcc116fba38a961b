"""Board of xiangqi, and the legal moves of a position."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tensor_envs.games._kit.fen import PieceBoard
from tensor_envs.games._kit.sets import number, numbered
from tensor_envs.rules import GameState, Grid, GridSet, Scalar, lookup, maximum, minimum, pack, union_of, where

# Square 9 * rank + file is a bit of a set, from the side of the player to move. Steps are (ranks, files).
RANKS, FILES = 10, 9
SQUARES = RANKS * FILES
GRID = Grid(RANKS, FILES)
BOARD = PieceBoard(
    [range(FILES * rank, FILES * rank + FILES) for rank in range(RANKS)[::-1]], "abcdefghi", "9876543210"
)
Way = tuple[int, int]
SIDES: tuple[Way, ...] = ((1, 0), (-1, 0), (0, 1), (0, -1))
DIAGONALS: tuple[Way, ...] = ((1, 1), (1, -1), (-1, 1), (-1, -1))
LEAPS: tuple[Way, ...] = ((2, 1), (2, -1), (1, 2), (1, -2), (-1, 2), (-1, -2), (-2, 1), (-2, -1))
# Planes of moves (X9): a line has one for each distance, and a move that leaves it goes on at the other end.
ALONG = [(0, files) for files in range(1, FILES)]
LINES = ALONG + [(ranks, 0) for ranks in range(1, RANKS)]
PLANES = [*LINES, *LEAPS, *DIAGONALS]
# pieces by the number of their kind, 0 for none: soldier, advisor, elephant, horse, chariot, cannon, general
PIECES = " PABNRCK"
KIND_DIGITS = 3  # binary digits of such a number


def of_ranks(ranks: Sequence[int], files: Sequence[int] = range(FILES)) -> GridSet:
    """Return the squares of some ranks and files."""
    return GRID.of([FILES * rank + file for rank in ranks for file in files])


PALACE = of_ranks(range(3), range(3, 6))  # X3
HOME = of_ranks(range(5))  # the own side of the river


def seen(cells: GridSet, step: Way) -> GridSet:
    """Return the squares from which a step leads to one of a set."""
    ranks, files = step
    return GRID.shift(cells, -ranks, -files)


def walks(start: GridSet, occupied: GridSet, step: Way, longest: int) -> Iterator[tuple[Way, GridSet, GridSet]]:
    """Yield the ways of all distances along a step.

    With each come the squares of `start` from which no piece, and one piece, is met before the end of the way.
    """
    none = start
    one = GRID.empty
    for distance in range(1, longest + 1):
        way = step[0] * distance, step[1] * distance
        yield way, none, one
        met = seen(occupied, way)
        one = one - met | none & met
        none = none - met


def turned(cells: Sequence[Any]) -> GridSet:
    """Return the set from the opponent's side, with the ranks reversed."""
    rows = (GRID.set(cells) & of_ranks([rank]) for rank in range(RANKS))
    return union_of(GRID.moved(row, FILES * (RANKS - 1 - 2 * rank)) for rank, row in enumerate(rows))


# *** positions ***


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


def pieces_of(s: GameState) -> XiangqiSets:
    """Return the pieces by their kinds, the numbers of `PIECES`."""
    occupied = union_of(map(GRID.set, s.pieces))
    kinds = [numbered(occupied, s.pieces, kind) for kind in range(1, len(PIECES))]
    return XiangqiSets(GRID.set(s.own), occupied - s.own, *kinds)


def fields_of(pieces: Mapping[int, str]) -> dict[str, Any]:
    """Return the fields of pieces by their squares, as the player to move sees them, the own ones in capitals."""
    kinds = {square: PIECES.index(piece.upper()) for square, piece in pieces.items()}
    own = pack([square for square, piece in pieces.items() if piece.isupper()], SQUARES)
    return {"own": own, "pieces": BOARD.words_of(kinds, KIND_DIGITS)}


def moved(s: GameState, action: Scalar) -> tuple[Scalar, Scalar, Scalar, Scalar, GameState]:
    """Return a move's start, end, kind of piece, whether it captures, and the state from the opponent's side."""
    start = action % SQUARES
    plane = action // SQUARES
    rank = start // FILES
    file = start % FILES
    a = GRID.cell(start)
    planes = [GRID.set(cells) for cells in s.pieces]
    has = [(cells & a).any() for cells in planes]
    kind = number(has)
    # An elephant uses the planes of an advisor's step, and goes twice as far.
    steps = [FILES * ranks + files for ranks, files in LEAPS + DIAGONALS]
    leap = lookup(steps, maximum(minimum(plane - len(LINES), len(steps) - 1), 0))
    twice = (plane >= len(LINES) + len(LEAPS)) & (kind == PIECES.index("B"))
    along = FILES * rank + (file + plane + 1) % FILES
    ahead = FILES * ((rank + plane + 1 - len(ALONG)) % RANKS) + file
    end = where(plane < len(ALONG), along, where(plane < len(LINES), ahead, start + where(twice, 2 * leap, leap)))
    b = GRID.cell(end)
    captures = (union_of(planes) & b).any()
    # The piece takes the place of whatever is there, with every digit of its kind.
    kinds = [turned(cells - a - b | where(one, b, GRID.empty)) for cells, one in zip(planes, has, strict=True)]
    after = s.replace(own=union_of(kinds) - turned(GRID.set(s.own) - a | b), pieces=kinds)
    return start, end, kind, captures, after


# *** legal moves ***


def danger(pieces: XiangqiSets) -> GridSet:
    """Return the squares of the own palace that the opponent attacks, as if the general were not there (X6)."""
    general = pieces.own & pieces.generals
    occupied = (pieces.own | pieces.other) - general
    chariots = pieces.other & (pieces.chariots | pieces.generals)
    cannons = pieces.other & pieces.cannons
    attacked = GRID.empty
    # Go from all squares of the palace at once.
    for step, longest in zip(SIDES, (RANKS - 1, 2, 5, 5), strict=True):
        for way, none, one in walks(PALACE, occupied, step, longest):
            attacked = attacked | none & seen(chariots, way) | one & seen(cannons, way)
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
        within = GRID.full if step == SIDES[0] else of_ranks(range(3))  # ahead the whole file, else the palace's ranks
        empty = within - occupied
        upto = list[GridSet]()
        found = list[GridSet]()
        start = general
        seen_so_far = GRID.empty
        for _ in range(3):
            seen_so_far = seen_so_far | GRID.slide(start, empty, step) & within
            start = (seen_so_far & occupied) - union_of([GRID.empty, *found])
            upto.append(seen_so_far)
            found.append(start)
        rays.append(Ray(upto, found, *([(piece & kind).any() for piece in found] for kind in (chariots, cannons))))
    return rays


Group = tuple[GridSet, GridSet]  # pieces, and the squares to which they can go without an attack on their general


def unpinned_targets(pieces: XiangqiSets, general: GridSet) -> tuple[GridSet, GridSet, GridSet]:
    """Return what attacks by soldiers and horses, and horses that would attack, allow.

    Returns:
        Targets of all pieces, pieces that hold back a horse, and horses that a single piece holds back alone.
    """
    occupied = pieces.own | pieces.other
    soldiers = pieces.other & pieces.soldiers
    near = union_of(GRID.shift(general, *step) for step in ((1, 0), (0, 1), (0, -1))) & soldiers & HOME
    targets = where(near.any(), where(near.count() == 1, near, GRID.empty), GRID.full)
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


def groups_of(pieces: XiangqiSets) -> tuple[list[Group], Group, Group, Scalar]:
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
    special = list[Group]()
    for k, ray in enumerate(rays):
        first, second, _ = (piece & pieces.own for piece in ray.pieces)
        beyond = ray.cannons[2]
        movers = where(ray.chariots[1] | ray.cannons[1] | beyond, first, GRID.empty)
        movers = movers | where(beyond, second, GRID.empty)
        lifted = where(first.any(), ray.targets(1, 2), ray.targets(0, 2))
        for other, line in enumerate(lines):
            lifted = lifted & (line if other != k else targets)
        special.append((movers, lifted))
    for line in lines:
        targets = targets & line
    free = pieces.own - legs - general - union_of(movers for movers, _ in special)
    step = legs, targets & held
    king = general, PALACE - pieces.own - attacked
    return [(free, targets), *special], step, king, (attacked & general).any()


class LegalSets(NamedTuple):
    """Legal moves of the player to move: for each plane the squares from which they are legal; whether it is check."""

    planes: list[GridSet]
    check: Scalar


def legal_moves(pieces: XiangqiSets) -> LegalSets:
    """Return the legal moves (X3 to X8)."""
    groups, step_group, king, check = groups_of(pieces)
    occupied = pieces.own | pieces.other
    lines = {plane: GRID.empty for plane in LINES}
    # Soldiers go ahead, and aside beyond the river.
    beyond = pieces.soldiers - HOME
    for step, soldiers in zip(SIDES, (pieces.soldiers, GRID.empty, beyond, beyond), strict=True):
        for way, none, one in walks(GRID.full, occupied, step, RANKS - 1 if step[0] else FILES - 1):
            # A chariot meets nothing before its end; a cannon nothing up to its end, or it captures over one piece.
            met = seen(occupied, way)
            movers = pieces.chariots & none | pieces.cannons & (none - met | one & met)
            some = groups
            if way == step:
                movers = movers | soldiers | pieces.generals
                some = [*groups, step_group, king]
            ends = union_of(group & seen(targets, way) for group, targets in some)
            lines[way[0] % RANKS, way[1] % FILES] |= movers & ends
    planes = [*lines.values()]
    empty = GRID.full - occupied
    for ranks, files in LEAPS:
        # The leg of a horse is the square beside it, in the direction of the longer way.
        leg = (ranks // 2, 0) if abs(ranks) == 2 else (0, files // 2)
        ways = pieces.horses & seen(empty, leg)
        planes.append(ways & union_of(movers & seen(targets, (ranks, files)) for movers, targets in groups))
    for ranks, files in DIAGONALS:
        twice = 2 * ranks, 2 * files
        near = union_of(movers & seen(targets & PALACE, (ranks, files)) for movers, targets in groups)
        far = union_of(movers & seen(targets & HOME, twice) for movers, targets in groups)
        eyes = pieces.elephants & seen(empty, (ranks, files))
        planes.append(pieces.advisors & near & PALACE | eyes & far & HOME)
    return LegalSets(planes, check)
