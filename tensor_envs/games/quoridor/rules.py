"""Quoridor: a pawn runs to the opposite side, or a wall lengthens the opponent's way but never closes it.

Rules and rulings: RULES.md beside this file. Walls are sets of crossings, the points between four squares: crossing
8 * i + j is between rows i and i + 1, from the top, and between columns j and j + 1.

No search for paths is needed to find the walls that close a way. Walls that touch form groups, which are numbered by
their highest crossings (`groups`, in binary). A new wall joins its two ends and its middle; it closes a ring if two of
them are in one group, or if both are tied to the edge of the board, and the ring separates a pawn from its goal if any
one walk from the pawn to the goal crosses the ring an odd number of times. That walk may be the straight one, in spite
of walls: `odd` has for each crossing whether the walls between it and its group's highest crossing (or the edge) cross
the straight walk an odd number of times. The edge consists of all sides but the goal.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tensor_envs.games._kit.sets import chained
from tensor_envs.rules import Grid, GridSet, Scalar, halves, int32, maximum, minimum, uint32, uint64, union_of, where
from tensor_envs.rules.chance import Chance
from tensor_envs.rules.observation import Observation, Part, bits, constant, digits
from tensor_envs.rules.plain import check_fields
from tensor_envs.rules.spec import Field, GameState, Mask, Outcome, Spec

STRIDE = 8  # between crossings of adjacent rows
DIGITS = 6  # bits of the number of a crossing
MIN_SIZE = 3
MAX_SIZE = 9
MAX_WALLS = 31
FULL = 2**64 - 1
DIGIT_SETS = [sum(1 << crossing for crossing in range(64) if crossing >> k & 1) for k in range(DIGITS)]
COLUMN = sum(1 << STRIDE * row for row in range(STRIDE))  # the crossings of the first column
WAYS = ((-1, 0), (0, 1), (1, 0), (0, -1))  # up, right, down, left: rows and columns
PLIES = 4  # per square, after which the game is drawn (Q9)


@dataclass(frozen=True)
class Quoridor:
    """Rule fields of Quoridor (Q11).

    Attributes:
        size: squares a side, 3..9.
        walls: walls of each player, 0..31.
    """

    size: int = 9
    walls: int = 10

    def __post_init__(self) -> None:
        check_fields(self, size=(MIN_SIZE, MAX_SIZE), walls=(0, MAX_WALLS))

    @property
    def squares(self) -> int:
        """Number of squares."""
        return self.size**2

    @cached_property
    def grid(self) -> Grid:
        """Squares."""
        return Grid(self.size, self.size)

    @property
    def inner(self) -> int:
        """Number of crossings in a row."""
        return self.size - 1

    @property
    def board(self) -> int:
        """Set of all crossings."""
        return sum((2**self.inner - 1) << STRIDE * row for row in range(self.inner))

    @property
    def digits(self) -> int:
        """Number of binary digits of a number of walls."""
        return self.walls.bit_length()

    @property
    def spec(self) -> Spec:
        fields = (
            Field("pawns", (2,), high=self.squares - 1),
            Field("walls", (2,), high=self.walls),  # in hand
            Field("horizontal", kind="uint64"),
            Field("vertical", kind="uint64"),
            Field("groups", (DIGITS,), kind="uint64"),  # digits of the highest crossing of each crossing's group
            Field("tied", (2,), kind="uint64"),  # crossings of groups that touch a player's edge
            Field("odd", (2,), kind="uint64"),  # parities for both players
        )
        shape = (5 + 2 * self.digits, self.size, self.size)
        walls = 2 * self.inner**2
        # a pawn has five moves at most: three steps, and two cells beside or behind the other pawn
        return Spec(2, self.squares + walls, observation_shape=shape, fields=fields, max_legal=walls + 5)

    def init(self, chance: Chance) -> dict[str, Any]:
        middle = self.size // 2
        return {"pawns": [self.squares - self.size + middle, middle], "walls": [self.walls] * 2}

    def legal_action_mask(self, s: GameState) -> Mask:
        """Return the squares to which the pawn may move, then the horizontal and the vertical walls."""
        squares = self.pawn_moves(s)
        own = where(s.current_player == 0, *s.walls)
        walls = [where(own > 0, cells, 0) for cells in self.legal_walls(s)]
        if self.inner == STRIDE:  # rows have no gaps between them
            return chained((squares, self.squares), *((halves(cells), self.inner**2) for cells in walls))
        rows = [halves(cells >> STRIDE * row)[0] & 2**self.inner - 1 for cells in walls for row in range(self.inner)]
        return chained((squares, self.squares), *(([row], self.inner) for row in rows))

    def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
        is_first = s.current_player == 0
        is_move = action < self.squares
        moved = self.moved(s, action)
        place = maximum(action - self.squares, 0)
        upright = place >= self.inner**2
        place = place % self.inner**2
        built = self.built(s, place // self.inner, place % self.inner, upright)
        after = s.replace(
            **{
                name: where(is_move, getattr(moved, name), getattr(built, name))
                for name in ("pawns", "walls", "horizontal", "vertical", "groups", "tied", "odd")
            },
            current_player=1 - s.current_player,
        )
        won = is_move & where(is_first, action < self.size, action >= self.squares - self.size)  # Q2
        return Outcome.win(after, s.current_player, won).draw(s.ply + 1 >= PLIES * self.squares)

    # *** pawns ***

    def pawn_moves(self, s: GameState) -> GridSet:
        """Return the squares to which the pawn of the player to move may move or jump (Q4, Q5)."""
        pawn, other = where(s.current_player == 0, s.pawns, [*s.pawns[::-1]])
        open_ways = self.open_ways(s, pawn)
        beyond = self.open_ways(s, other)
        # squares around the pawn, which is the middle one
        near = uint64(0)
        middle = 2 * self.size
        steps = [self.size * down + right for down, right in WAYS]
        meets = [is_open & (pawn + step == other) for is_open, step in zip(open_ways, steps, strict=True)]
        for k, step in enumerate(steps):
            side = (k + 1) % 4
            # Where a jump over the other pawn is closed, it is passed on a side. Both ways lead to the same square: the
            # pawn lies along step k and is passed along `side`, or the reverse.
            passes = meets[k] & ~beyond[k] & beyond[side]
            passes_back = meets[side] & ~beyond[side] & beyond[k]
            moves = open_ways[k] & ~meets[k]
            jumps = meets[k] & beyond[k]
            for able, away in ((moves, step), (jumps, 2 * step), (passes | passes_back, step + steps[side])):
                near |= where(able, uint64(1 << middle + away), 0)
        low = where(pawn < middle, near >> maximum(middle - pawn, 0), near << maximum(pawn - middle, 0))
        high = where(pawn <= middle, 0, near >> minimum(64 + middle - pawn, 63))
        return self.grid.set([*halves(low), *halves(high)][: self.grid.words])

    def open_ways(self, s: GameState, square: Scalar) -> list[Scalar]:
        """Return whether no wall and no side of the board is above, right of, below and left of a square."""
        row = square // self.size
        column = square % self.size
        n = self.inner
        above = int32(row > 0)
        below = int32(row < n)
        left = int32(column > 0)
        right = int32(column < n)
        turn = STRIDE * (row - 1) + column - 1 & 63  # makes the crossing above on the left bit 0
        h, v = (uint32(walls >> turn | walls << (64 - turn & 63)) for walls in (s.horizontal, s.vertical))
        across = uint32(left | right << 1)
        along = uint32(above | below << STRIDE)
        return [
            (row > 0) & ((h & across) == 0),
            (column < n) & ((v >> 1 & along) == 0),
            (row < n) & ((h >> STRIDE & across) == 0),
            (column > 0) & ((v & along) == 0),
        ]

    def moved(self, s: GameState, square: Scalar) -> GameState:
        """Return the state after a pawn's move, which gives it another straight walk to its goal."""
        is_first = s.current_player == 0
        pawn, other = where(is_first, s.pawns, [*s.pawns[::-1]])
        odd = where(is_first, *s.odd)
        tied = where(is_first, *s.tied)
        old = pawn % self.size
        new = square % self.size
        # The pawn's move, which crosses no wall, and the straight walks from both squares enclose the crossings of the
        # columns between them. The pawn passes those columns in one row: the new one if it first jumps up or down.
        row = where((old != new) & (other % self.size == old), square, pawn) // self.size
        first = minimum(old, new)
        width = maximum(old, new) - minimum(old, new)
        behind = less(s.groups[3:], row)
        flipped = uint64(0)
        same = uint64(0)
        for k in range(2):
            column = minimum(first + k, self.inner - 1)
            flipped |= where(width > k, column_set(column), 0)
            alike = [where((column >> k & 1) != 0, digit, ~digit) for k, digit in enumerate(s.groups[:3])]
            same |= where(width > k, alike[0] & alike[1] & alike[2], 0)
        flipped &= where(is_first, rows_above(row), ~rows_above(row))
        same &= where(is_first, behind, ~behind) & ~tied  # groups whose highest crossing is flipped
        odd = odd ^ self.touched(s) & (flipped ^ same)
        pawns = [where(is_first, square, s.pawns[0]), where(is_first, s.pawns[1], square)]
        return s.replace(pawns=pawns, odd=[where(is_first, odd, s.odd[0]), where(is_first, s.odd[1], odd)])

    # *** walls ***

    def straight(self, s: GameState, player: int) -> tuple[Scalar, Scalar]:
        """Return two sets of horizontal walls: the left half, or the right half, crosses a pawn's straight walk."""
        row = s.pawns[player] // self.size
        column = s.pawns[player] % self.size
        ahead = ~rows_above(row) if player else rows_above(row)
        left = where(column < self.inner, column_set(column), 0) & ahead
        return left, where(column > 0, column_set(maximum(column - 1, 0)), 0) & ahead

    def legal_walls(self, s: GameState) -> list[Scalar]:
        """Return the horizontal and the vertical walls that overlap none (Q6) and close no way (Q7)."""
        taken = s.horizontal | s.vertical
        legal = []
        for upright in (False, True):
            before, behind = self.shifts(upright)
            walls = s.vertical if upright else s.horizontal
            closed = [taken, before(walls), behind(walls)]
            some = self.touched(s)
            ends = [before(some), some, behind(some)]
            ahead = STRIDE if upright else 1  # the ends of walls are within the board, so that no digit is lost
            # crossings in one group with the crossing one step, and with the one two steps before
            alike = [~union_of(digit ^ digit << ahead * steps for digit in s.groups) for steps in (1, 2)]
            pairs = ((0, 1), (1, 2), (0, 2))
            same_group = (alike[0], alike[0] >> ahead, alike[1] >> ahead)
            joined = [ends[a] & ends[b] & same for (a, b), same in zip(pairs, same_group, strict=True)]
            # A wall that joins two points of one group, or two tied ones, closes a ring; see the text of this module.
            for player in (0, 1):
                at_start, at_end = self.edges(upright, player)
                tied = [before(s.tied[player]) | at_start, s.tied[player], behind(s.tied[player]) | at_end]
                odd = s.odd[player]
                halves_crossed = (uint64(0), uint64(0)) if upright else self.straight(s, player)
                crossed = [halves_crossed[0] ^ before(odd), odd, halves_crossed[1] ^ behind(odd)]
                for (a, b), same in zip(pairs, joined, strict=True):
                    closed.append((same | tied[a] & tied[b]) & (crossed[a] ^ crossed[b]))
            legal.append(self.board & ~union_of(closed))
        return legal

    def touched(self, s: GameState) -> Scalar:
        """Return the crossings at which walls have their middles or ends."""
        sides = ((s.horizontal, *self.shifts(False)), (s.vertical, *self.shifts(True)))
        return self.board & union_of(walls | before(walls) | behind(walls) for walls, before, behind in sides)

    def shifts(self, upright: bool) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
        """Return two functions of a set of crossings: walls whose start, and walls whose end, is in the set.

        A wall is the crossing of its middle.
        """
        if upright:
            return lambda cells: cells << STRIDE, lambda cells: cells >> STRIDE
        first = COLUMN
        last = COLUMN << self.inner - 1
        return lambda cells: cells << 1 & FULL - first, lambda cells: cells >> 1 & FULL - last

    def edges(self, upright: bool, player: int) -> tuple[int, int]:
        """Return two sets of walls: the start, or the end, is on a player's edge, which is all sides but the goal."""
        if not upright:
            return COLUMN & self.board, COLUMN << self.inner - 1 & self.board
        top = 2**self.inner - 1
        bottom = (2**self.inner - 1) << STRIDE * (self.inner - 1)
        return (top, 0) if player else (0, bottom)

    def built(self, s: GameState, row: Scalar, column: Scalar, upright: Scalar) -> GameState:
        """Return the state after a wall, which joins the groups of its start, its middle and its end.

        A horizontal wall starts at the left, an upright one at the top:

            start --- middle --- end
        """
        middle = STRIDE * row + column
        along = where(upright, row, column)
        step = where(upright, STRIDE, 1)
        # an end on the edge of the board is no crossing
        at_crossing: list[Any] = [along > 0, True, along < self.inner - 1]
        numbers = (maximum(middle - step, 0), middle, middle + step)
        cells = [where(here, uint64(1) << number, 0) for here, number in zip(at_crossing, numbers, strict=True)]
        groups = self.groups_of(s, cells)
        whole = union_of(groups)
        # the joined group is named after its highest crossing: all lower bits are set, and the border is that crossing
        below = whole
        for k in range(DIGITS):
            below |= below >> 2**k
        highest = below ^ below >> 1
        joined = [self.joined(s, player, row, column, upright, cells, groups, highest) for player in (0, 1)]
        return s.replace(
            walls=[left - int32(s.current_player == player) for player, left in enumerate(s.walls)],
            horizontal=s.horizontal | where(upright, 0, cells[1]),
            vertical=s.vertical | where(upright, cells[1], 0),
            groups=[
                digit & ~whole | where((highest & members) != 0, whole, 0)
                for digit, members in zip(s.groups, DIGIT_SETS, strict=True)
            ],
            tied=[tied for tied, _ in joined],
            odd=[odd for _, odd in joined],
        )

    def groups_of(self, s: GameState, cells: Sequence[Scalar]) -> list[Scalar]:
        """Return the crossings of each cell's group; a crossing that no wall touches is a group of its own."""
        touched = self.touched(s)
        groups = []
        for own in cells:
            # crossings whose number of a group has another digit
            differs = union_of([digit ^ where((digit & own) != 0, uint64(FULL), 0) for digit in s.groups])
            groups.append(where((touched & own) != 0, touched & ~differs, own))
        return groups

    def joined(
        self,
        s: GameState,
        player: int,
        row: Scalar,
        column: Scalar,
        upright: Scalar,
        cells: Sequence[Scalar],
        groups: Sequence[Scalar],
        highest: Scalar,
    ) -> tuple[Scalar, Scalar]:
        """Return a player's sets `tied` and `odd` after a wall joins groups.

        Args:
            row, column, upright: the wall.
            cells: crossings of the wall's start, middle and end.
            groups: groups of these crossings, before the wall.
            highest: highest crossing of the group that they become.
        """
        whole = union_of(groups)
        pawn_row = s.pawns[player] // self.size
        pawn_column = s.pawns[player] % self.size
        # whether the halves of the wall, from the start and to the end, cross the pawn's straight walk
        ahead = ~upright & (row >= pawn_row if player else row < pawn_row)
        crosses = (ahead & (column == pawn_column), ahead & (column == pawn_column - 1))
        # parity of the crossings of the pawn's walk on the way from the middle to the start, and to the end
        parities = [(s.odd[player] & own) != 0 for own in cells]
        first = parities[0] ^ parities[1] ^ crosses[0]
        last = parities[2] ^ parities[1] ^ crosses[1]
        # first, count the crossings of all three groups from the middle
        from_middle = s.odd[player] ^ (where(first, groups[0], 0) | where(last, groups[2], 0))
        # the edge consists of all sides but the goal
        upper = (row == 0) & (player == 1)
        lower = (row == self.inner - 1) & (player == 0)
        middle_tied = (s.tied[player] & cells[1]) != 0
        start_tied = ((s.tied[player] & cells[0]) != 0) | where(upright, upper, column == 0)
        end_tied = ((s.tied[player] & cells[2]) != 0) | where(upright, lower, column == self.inner - 1)
        # then count them from the edge where one of the groups is tied to it, else from the highest crossing
        free = (from_middle & highest) != 0
        turn = where(middle_tied, False, where(start_tied, first, where(end_tied, last, free)))
        tied = s.tied[player] | where(middle_tied | start_tied | end_tied, whole, 0)
        return tied, from_middle ^ where(turn, whole, 0)

    def observe(self, s: GameState, player: Scalar) -> Observation:
        """Return the pawns, the walls on the board, the player's side, and the walls in hand (Q12)."""
        is_first = player == 0
        n = self.inner
        own, other = where(is_first, s.pawns, [*s.pawns[::-1]])
        parts: dict[str, Part | list[Part]] = {
            "own pawn": bits(self.grid.cell(own), self.squares),
            "the opponent's pawn": bits(self.grid.cell(other), self.squares),
        }
        for name, cells in (("horizontal walls", s.horizontal), ("vertical walls", s.vertical)):
            rows = [halves(cells >> STRIDE * row)[0] & 2**n - 1 for row in range(n)]
            parts[name] = [bits(row, self.size) for row in (*rows, uint32(0))]
        parts["the player is first"] = constant(is_first, self.squares)
        for name, hand in zip(("own", "the opponent's"), where(is_first, s.walls, [*s.walls[::-1]]), strict=True):
            parts[f"binary digits of {name} walls in hand"] = digits(hand, self.digits, self.squares)
        return parts


def column_set(column: Scalar) -> Scalar:
    """Return the crossings of a column 0..7."""
    return uint64(COLUMN) << column


def rows_above(row: Scalar) -> Scalar:
    """Return the crossings of the rows before row 0..8."""
    return where(row >= STRIDE, uint64(FULL), (uint64(1) << STRIDE * (row % STRIDE)) - 1)


def less(digits: Sequence[Scalar], bound: Scalar) -> Scalar:
    """Return the crossings whose number in binary, the lowest digit first, is less than 0..8."""
    lower = uint64(0)
    equal = uint64(FULL)
    for k, digit in reversed([*enumerate(digits)]):
        one = where((bound >> k & 1) != 0, uint64(FULL), 0)
        lower = lower | equal & one & ~digit
        equal = equal & ~(digit ^ one)
    return where(bound >= STRIDE, uint64(FULL), lower)
