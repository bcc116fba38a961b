"""Go: stones without a liberty are taken off; who holds the larger area at the end has won.

Rules and rulings: RULES.md beside this file. Sets of points are bit words, points numbered row by row from row 1. Every
stone carries the number of its group, its highest point + 1, written in binary over planes: plane k is the set of
points whose number has bit k. So a stone that joins groups, or takes them, finds them without following their points.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tensor_envs._validate import integer as checked
from tensor_envs._validate import shown
from tensor_envs.rules import (
    WORD_BITS,
    Chance,
    Field,
    GameState,
    Mask,
    Outcome,
    Part,
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
ALL = 2**WORD_BITS - 1
MAX_PLIES_A_POINT = 2  # default of the limit (G8)

Points = Sequence[Any]  # a set of points


@dataclass(frozen=True)
class Go:
    """size: points a side, 1..19. komi: what white gets, a multiple of 0.5. max_plies: by default 2 * size * size.

    superko: how many boards of the past may not come again, 0..64; 0 is the simple ko (G5).
    TypeError or ValueError unless these are numbers within their limits (G10).
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
            raise ValueError(
                f"komi must be a multiple of 0.5 in -{MAX_KOMI}..{MAX_KOMI}, got {shown(self.komi)}"
            )
        object.__setattr__(self, "komi", float(self.komi))
        object.__setattr__(self, "superko", checked("superko", self.superko, 0, MAX_SUPERKO))
        plies = MAX_PLIES_A_POINT * self.points if self.max_plies is None else self.max_plies
        object.__setattr__(self, "max_plies", checked("max_plies", plies, 1, 2**31 - 1))

    @cached_property
    def points(self) -> int:
        return self.size**2

    @cached_property
    def words(self) -> int:
        """Words of a set of points."""
        return num_words(self.points)

    @cached_property
    def planes(self) -> int:
        """Bits of a group's number."""
        return self.points.bit_length()

    @property
    def spec(self) -> Spec:
        if self.superko:  # boards as own and other, newest first
            past = Field("history", (self.superko, 2 * self.words), kind="word")
        else:  # the point that is closed; or `points`
            past = Field("ko", high=self.points)
        return Spec(
            num_players=2,
            num_actions=self.points + 1,
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
        """Points at which the stone, or what it joins, keeps a liberty, or that take stones (G4); a pass."""
        empty = self.without(self.board, s.own, s.other)
        safe, weak = self.without(s.own, s.atari), both(s.other, s.atari)
        open_points = both(empty, self.around(united(empty, safe, weak)))
        mask = [*self.without(open_points, self.closed(s)), word(0)][: num_words(self.points + 1)]
        mask[self.points // WORD_BITS] |= word(1) << self.points % WORD_BITS
        return mask

    def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
        planes = [s.groups[at : at + self.words] for at in range(0, len(s.groups), self.words)]
        stone = self.point(action)  # nowhere, of a pass
        near = self.neighbours(stone)
        # G3: groups of the other player whose last liberty was here are taken
        others = [self.group_of(both(point, s.other), s.other, planes) for point in near]
        dead = [meet(point, both(s.other, s.atari)) for point in near]
        taken = union(
            [where(gone, group, self.nothing) for gone, (group, _) in zip(dead, others, strict=True)]
        )
        other = self.without(s.other, taken)
        # G2: own groups next to it become one
        joined = [self.group_of(both(point, s.own), s.own, planes) for point in near]
        group, own = united(stone, *(group for group, _ in joined)), united(s.own, stone)
        highest = action + 1
        for _, number in joined:
            highest = maximum(highest, number)
        renumbered = [
            self.without(
                where((highest >> k & 1) != 0, united(plane, group), self.without(plane, group)), taken
            )
            for k, plane in enumerate(planes)
        ]
        # groups that have lost or won a liberty
        empty = self.without(self.board, own, other)
        freed = self.spread(both(self.around(taken), s.own), both(s.own, s.atari))
        atari = self.without(s.atari, taken, freed)
        for which in (group, *(self.without(group, taken) for group, _ in others)):
            alone = size_of(both(self.around(which), empty)) == 1
            atari = where(alone, united(atari, which), self.without(atari, which))
        passes = action == self.points
        over = (passes & s.passed) | (s.ply + 1 >= self.max_plies)
        counted = where(over, empty, self.nothing)  # nothing to follow, but at the end
        result = where(over, self.result(s.current_player == 0, own, other, counted), 0)
        after = s.replace(
            own=other,
            other=own,
            atari=atari,
            groups=[w for plane in renumbered for w in plane],
            passed=passes,
            current_player=1 - s.current_player,
            **self.past(s, stone, taken),
        )
        return Outcome(after, rewards=(result, -result), terminated=over)

    def past(self, s: GameState, stone: Points, taken: Points) -> dict[str, Any]:
        """What is to be known of the past after a stone (G5)."""
        if self.superko:
            boards = [*s.own, *s.other, *s.history][: len(s.history)]
            n = self.words  # what was own is the other player's
            return {
                "history": [
                    w for at in range(0, len(boards), 2 * n) for w in swapped(boards[at : at + 2 * n])
                ]
            }
        in_eye = ~meet(self.around(stone), united(s.own, self.without(self.board, s.own, s.other)))
        ko = in_eye & (size_of(taken) == 1)
        return {"ko": where(ko, self.lowest(taken), self.points)}

    def closed(self, s: GameState) -> Points:
        """The points at which a stone would bring a board of the past back (G5)."""
        if not self.superko:
            return self.point(s.ko)
        empty, closed, n = self.without(self.board, s.own, s.other), self.nothing, self.words
        for at in range(0, len(s.history), 2 * n):
            own, other = s.history[at : at + n], s.history[at + n : at + 2 * n]
            new, taken = self.without(own, s.own), self.without(s.other, other)
            more = [*self.without(s.own, own), *self.without(other, s.other)]  # than there was
            border = self.around(taken)
            # one stone is missing, and without it exactly what it takes is there besides: whole groups, whose last
            # liberty is here
            whole = ~meet(border, other) & ~meet(self.without(border, new), empty)
            back = (size_of(new) == 1) & (union_of(more) == 0) & whole
            closed = where(back, united(closed, new), closed)
        return closed

    def result(self, black: Scalar, own: Points, other: Points, empty: Points) -> Scalar:
        """1 if black has more than white and komi, -1 if less, 0 if as much (G7)."""
        reached = [self.spread(both(self.around(stones), empty), empty) for stones in (own, other)]
        area = size_of(own) + size_of(self.without(reached[0], reached[1]))
        area = area - size_of(other) - size_of(self.without(reached[1], reached[0]))
        lead = 2 * where(black, area, -area) - int(2 * self.komi)
        return integer(lead > 0) - integer(lead < 0)

    def observe(self, s: GameState, player: Scalar) -> list[Part]:
        """Own stones, the other player's, the points closed by a ko, after a pass all, and for black all (G9)."""
        moves, every = s.current_player == player, [word(w) for w in self.board]
        own, other = where(moves, s.own, s.other), where(moves, s.other, s.own)
        passed, black = where(s.passed, every, self.nothing), where(player == 0, every, self.nothing)
        return [bits(points, self.points) for points in (own, other, self.closed(s), passed, black)]

    # *** sets of points ***

    @cached_property
    def board(self) -> list[int]:
        return pack(range(self.points), self.points)

    @property
    def nothing(self) -> list[Scalar]:
        return [word(0)] * self.words

    def without(self, points: Points, *others: Points) -> list[Any]:
        gone = union(others)
        return [a & ~b for a, b in zip(points, gone, strict=True)]

    def point(self, index: Scalar) -> list[Scalar]:
        """The set of one point; of none for an index beyond the board."""
        inside = index < self.points
        return [
            where(inside & (index // WORD_BITS == w), bit(index % WORD_BITS), 0) for w in range(self.words)
        ]

    def lowest(self, points: Points) -> Scalar:
        """The lowest point of a set."""
        index = integer(0)
        for w in reversed(range(self.words)):
            below = ~points[w] & (points[w] - 1)
            index = where(points[w] != 0, WORD_BITS * w + popcount(below), index)
        return index

    def neighbours(self, points: Points) -> list[list[Any]]:
        """The points below, above, to the left and to the right of some."""
        n = self.size
        first, last = (pack(range(k, self.points, n), self.points) for k in (0, n - 1))
        left, right = self.without(points, first), self.without(points, last)
        steps = (shifted(points, -n), shifted(points, n), shifted(left, -1), shifted(right, 1))
        return [both(step, self.board) for step in steps]

    def around(self, points: Points) -> list[Any]:
        return union(self.neighbours(points))

    def spread(self, seeds: Points, region: Points) -> list[Scalar]:
        """The points of a region that a way inside it leads to from seeds in it.

        A shortest way leaves out a point of every square of 2x2, so it has at most so many.
        """
        most = 3 * (-(-self.size // 2)) ** 2
        return repeat(most, both(seeds, region), lambda now: both(region, united(now, self.around(now))))

    def group_of(self, point: Points, stones: Points, planes: Sequence[Points]) -> tuple[list[Any], Scalar]:
        """The group of a stone and its number; if the point is none, no stones and 0."""
        digits = [meet(plane, point) for plane in planes]
        differs = [
            union_of(
                plane[w] ^ where(digit, word(ALL), 0) for plane, digit in zip(planes, digits, strict=True)
            )
            for w in range(self.words)
        ]
        return self.without(stones, differs), sum_of(
            where(digit, 1 << k, 0) for k, digit in enumerate(digits)
        )


def both(a: Points, b: Points) -> list[Any]:
    return [x & y for x, y in zip(a, b, strict=True)]


def united(*sets: Points) -> list[Any]:
    return union(sets)


def union(sets: Sequence[Points]) -> list[Any]:
    return [union_of(words) for words in zip(*sets, strict=True)]


def swapped(board: Points) -> list[Any]:
    half = len(board) // 2
    return [*board[half:], *board[:half]]


def meet(a: Points, b: Points) -> Scalar:
    """Whether two sets have a point in common."""
    return union_of(both(a, b)) != 0


def size_of(points: Points) -> Scalar:
    return sum_of(popcount(w) for w in points)


def shifted(points: Points, amount: int) -> list[Any]:
    """Every point i moves to i + amount; those from beyond either end are left out."""
    skip, by = divmod(amount, WORD_BITS)
    given = dict(enumerate(points))
    source = [(given.get(w - skip, word(0)), given.get(w - skip - 1, word(0))) for w in given]
    return [high << by | low >> WORD_BITS - by if by else high for high, low in source]
