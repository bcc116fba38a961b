"""Go: stones without a liberty are taken off the board; the larger area at the end wins.

Rules and rulings: RULES.md beside this file. Points are numbered row by row from row 1. Sets of points and the planes
of group numbers: `games._kit.sets`.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tensor_envs._validate import integer as checked
from tensor_envs._validate import shown
from tensor_envs.games._kit.sets import CellSet as Points
from tensor_envs.games._kit.sets import both, group_of, meet, shifted, union, without
from tensor_envs.rules import (
    WORD_BITS,
    Actions,
    Chance,
    Field,
    GameState,
    Mask,
    Observation,
    Outcome,
    Scalar,
    Spec,
    bit,
    bits,
    integer,
    maximum,
    num_words,
    pack,
    popcount,
    repeat,
    sum_of,
    union_of,
    where,
    word,
)

MAX_SIZE, MAX_KOMI, MAX_SUPERKO = 19, 361, 64
MAX_PLIES_A_POINT = 2  # default of the limit (G8)


@dataclass(frozen=True)
class Go:
    """Rule fields of go (G10).

    Attributes:
        size: points a side, 1..19.
        komi: points added to white's area, a multiple of 0.5.
        max_plies: plies after which the game ends, by default 2 * size * size.
        superko: number of past boards that may not recur, 0..64; 0 is the simple ko (G5).
    """

    size: int = 9
    komi: float = 7.5
    max_plies: int | None = None
    superko: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", checked("size", self.size, 1, MAX_SIZE))
        if type(self.komi) not in (int, float):
            raise TypeError(f"komi must be a number, got {shown(self.komi)}")
        if not (abs(self.komi) <= MAX_KOMI and self.komi * 2 % 1 == 0):
            allowed = f"a multiple of 0.5 in -{MAX_KOMI}..{MAX_KOMI}"
            raise ValueError(f"komi must be {allowed}, got {shown(self.komi)}")
        object.__setattr__(self, "komi", float(self.komi))
        object.__setattr__(self, "superko", checked("superko", self.superko, 0, MAX_SUPERKO))
        plies = MAX_PLIES_A_POINT * self.points if self.max_plies is None else self.max_plies
        object.__setattr__(self, "max_plies", checked("max_plies", plies, 1, 2**31 - 1))

    @cached_property
    def points(self) -> int:
        """Number of points."""
        return self.size**2

    @cached_property
    def words(self) -> int:
        """Number of words of a set of points."""
        return num_words(self.points)

    @cached_property
    def planes(self) -> int:
        """Number of bits of a group's number."""
        return self.points.bit_length()

    @cached_property
    def actions(self) -> Actions:
        """A stone on a point, or a pass."""
        return Actions(point=self.points, passes=1)

    @property
    def spec(self) -> Spec:
        if self.superko:  # boards as own and other, newest first
            past = Field("history", (self.superko, 2 * self.words), kind="word")
        else:  # the point that is closed; or `points`
            past = Field("ko", high=self.points)
        return Spec(
            num_players=2,
            num_actions=self.actions.count,
            observation_shape=(5, self.size, self.size),
            fields=(
                Field("own", (self.words,), kind="word"),  # stones of the player to move
                Field("other", (self.words,), kind="word"),
                Field("atari", (self.words,), kind="word"),  # stones of groups with one liberty
                Field("groups", (self.planes, self.words), kind="word"),
                past,
                Field("passed", kind="bool"),  # the last action was a pass
            ),
        )

    def init(self, chance: Chance) -> dict[str, Any]:
        return {} if self.superko else {"ko": self.points}

    def legal_action_mask(self, s: GameState) -> Mask:
        """Return the points where the new group has a liberty or stones are captured (G4), and a pass."""
        empty = without(self.board, s.own, s.other)
        safe, weak = without(s.own, s.atari), both(s.other, s.atari)
        open_points = both(empty, self.around(union([empty, safe, weak])))
        return self.actions.mask(point=without(open_points, self.closed(s)), passes=True)

    def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
        planes = s.groups
        stone = self.point(action)  # empty for a pass
        near = self.neighbours(stone)
        # G3: the opponent's groups whose last liberty this was are captured
        others = [group_of(both(point, s.other), s.other, planes) for point in near]
        dead = [meet(point, both(s.other, s.atari)) for point in near]
        captures = zip(dead, others, strict=True)
        taken = union([where(gone, group, self.nothing) for gone, (group, _) in captures])
        other = without(s.other, taken)
        # G2: adjacent own groups become one
        joined = [group_of(both(point, s.own), s.own, planes) for point in near]
        group, own = union([stone, *(group for group, _ in joined)]), union([s.own, stone])
        highest = action + 1
        for _, number in joined:
            highest = maximum(highest, number)
        renumbered = [
            without(where((highest >> k & 1) != 0, union([plane, group]), without(plane, group)), taken)
            for k, plane in enumerate(planes)
        ]
        # groups that have lost or won a liberty
        empty = without(self.board, own, other)
        freed = self.spread(both(self.around(taken), s.own), both(s.own, s.atari))
        atari = without(s.atari, taken, freed)
        for which in (group, *(without(group, taken) for group, _ in others)):
            alone = size_of(both(self.around(which), empty)) == 1
            atari = where(alone, union([atari, which]), without(atari, which))
        passes = action == self.points
        over = (passes & s.passed) | (s.ply + 1 >= self.max_plies)
        counted = where(over, empty, self.nothing)  # empty before the end, so that `spread` stops at once
        result = where(over, self.result(s.current_player == 0, own, other, counted), 0)
        after = s.replace(
            own=other,
            other=own,
            atari=atari,
            groups=renumbered,
            passed=passes,
            current_player=1 - s.current_player,
            **self.past(s, stone, taken),
        )
        return Outcome(after, rewards=(result, -result), terminated=over)

    def past(self, s: GameState, stone: Points, taken: Points) -> dict[str, Any]:
        """Return the field of past boards, or of the ko, after a stone (G5)."""
        if self.superko:
            boards = [[*s.own, *s.other], *s.history[:-1]]
            return {"history": [board[self.words :] + board[: self.words] for board in boards]}
        in_eye = ~meet(self.around(stone), union([s.own, without(self.board, s.own, s.other)]))
        ko = in_eye & (size_of(taken) == 1)
        return {"ko": where(ko, self.lowest(taken), self.points)}

    def closed(self, s: GameState) -> Points:
        """Return the points where a stone would repeat a past board (G5)."""
        if not self.superko:
            return self.point(s.ko)
        empty, closed, n = without(self.board, s.own, s.other), self.nothing, self.words
        for board in s.history:
            own, other = board[:n], board[n:]
            new, taken = without(own, s.own), without(s.other, other)
            more = [*without(s.own, own), *without(other, s.other)]  # stones of which the past board has fewer
            border = self.around(taken)
            # the past board has one stone more, and lacks exactly the stones that it captures: whole groups whose last
            # liberty is its point
            whole = ~meet(border, other) & ~meet(without(border, new), empty)
            back = (size_of(new) == 1) & (union_of(more) == 0) & whole
            closed = where(back, union([closed, new]), closed)
        return closed

    def result(self, black: Scalar, own: Points, other: Points, empty: Points) -> Scalar:
        """Return 1 if black's area exceeds white's and komi, -1 if it is less, 0 if it is equal (G7)."""
        reached = [self.spread(both(self.around(stones), empty), empty) for stones in (own, other)]
        area = size_of(own) + size_of(without(reached[0], reached[1]))
        area = area - size_of(other) - size_of(without(reached[1], reached[0]))
        lead = 2 * where(black, area, -area) - int(2 * self.komi)
        return integer(lead > 0) - integer(lead < 0)

    def observe(self, s: GameState, player: Scalar) -> Observation:
        """Return five planes: own stones, the opponent's, closed points, after a pass all, for black all (G9)."""
        moves, every = s.current_player == player, [word(w) for w in self.board]
        own, other = where(moves, s.own, s.other), where(moves, s.other, s.own)
        passed, black = where(s.passed, every, self.nothing), where(player == 0, every, self.nothing)
        planes = {
            "own stones": own,
            "the opponent's stones": other,
            "closed points": self.closed(s),
            "after a pass": passed,
            "the player is black": black,
        }
        return {name: bits(points, self.points) for name, points in planes.items()}

    # *** sets of points ***

    @cached_property
    def board(self) -> list[int]:
        """Set of all points."""
        return pack(range(self.points), self.points)

    @property
    def nothing(self) -> list[Scalar]:
        """Empty set."""
        return [word(0)] * self.words

    def point(self, index: Scalar) -> list[Scalar]:
        """Return the set of one point, or the empty set for an index beyond the board."""
        inside, at, stone = index < self.points, index // WORD_BITS, bit(index % WORD_BITS)
        return [where(inside & (at == w), stone, 0) for w in range(self.words)]

    def lowest(self, points: Points) -> Scalar:
        """Return the lowest point of a set; 0 for the empty set."""
        index = integer(0)
        for w in reversed(range(self.words)):
            below = ~points[w] & (points[w] - 1)
            index = where(points[w] != 0, WORD_BITS * w + popcount(below), index)
        return index

    def neighbours(self, points: Points) -> list[list[Any]]:
        """Return the points below, above, to the left and to the right of a set."""
        n = self.size
        first, last = (pack(range(k, self.points, n), self.points) for k in (0, n - 1))
        left, right = without(points, first), without(points, last)
        steps = (shifted(points, -n), shifted(points, n), shifted(left, -1), shifted(right, 1))
        return [both(step, self.board) for step in steps]

    def around(self, points: Points) -> list[Any]:
        """Return the points adjacent to a set."""
        return union(self.neighbours(points))

    def spread(self, seeds: Points, region: Points) -> list[Scalar]:
        """Return the points of a region that are connected to seeds in it.

        A shortest path leaves out a point of every square of 2x2, which bounds the number of steps.
        """
        max_steps = 3 * (-(-self.size // 2)) ** 2
        return repeat(max_steps, both(seeds, region), lambda now: both(region, union([now, self.around(now)])))


def size_of(points: Points) -> Scalar:
    """Return the number of points in a set."""
    return sum_of(popcount(w) for w in points)
