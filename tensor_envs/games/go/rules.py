"""Go: stones without a liberty are taken off the board; the larger area at the end wins.

Rules and rulings: RULES.md beside this file. Points are numbered row by row from row 1. Planes of group
numbers: `games._kit.sets`.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tensor_envs._validate import shown
from tensor_envs.games._kit.sets import group_of
from tensor_envs.rules import Actions, Grid, GridSet, Scalar, int32, maximum, union_of, where
from tensor_envs.rules.chance import Chance
from tensor_envs.rules.observation import Observation, bits
from tensor_envs.rules.plain import check_fields
from tensor_envs.rules.spec import Field, GameState, Mask, Outcome, Spec

MAX_SIZE = 19
MAX_KOMI = 361
MAX_SUPERKO = 64
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
        check_fields(self, size=(1, MAX_SIZE), superko=(0, MAX_SUPERKO))
        if type(self.komi) not in (int, float):
            raise TypeError(f"komi must be a number, got {shown(self.komi)}")
        if not (abs(self.komi) <= MAX_KOMI and self.komi * 2 % 1 == 0):
            allowed = f"a multiple of 0.5 in -{MAX_KOMI}..{MAX_KOMI}"
            raise ValueError(f"komi must be {allowed}, got {shown(self.komi)}")
        object.__setattr__(self, "komi", float(self.komi))
        if self.max_plies is None:
            object.__setattr__(self, "max_plies", MAX_PLIES_A_POINT * self.points)
        check_fields(self, max_plies=(1, 2**31 - 1))

    @cached_property
    def points(self) -> int:
        """Number of points."""
        return self.size**2

    @cached_property
    def grid(self) -> Grid:
        """Board."""
        return Grid(self.size, self.size)

    @property
    def words(self) -> int:
        """Number of words of a set of points."""
        return self.grid.words

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
        if self.superko:  # the last boards, newest first, each the stones of both players
            past = Field("history", (self.superko, 2 * self.words), kind="uint32")
        else:  # the point where a ko may not be retaken; `points` if there is none
            past = Field("ko", high=self.points)
        return Spec(
            num_players=2,
            num_actions=self.actions.count,
            observation_shape=(5, self.size, self.size),
            fields=(
                Field("own", (self.words,), kind="uint32"),  # stones of the player to move
                Field("other", (self.words,), kind="uint32"),
                Field("atari", (self.words,), kind="uint32"),  # stones of groups with one liberty
                Field("groups", (self.planes, self.words), kind="uint32"),
                past,
                Field("passed", kind="bool"),  # the last action was a pass
            ),
        )

    def init(self, chance: Chance) -> dict[str, Any]:
        return {} if self.superko else {"ko": self.points}

    def legal_action_mask(self, s: GameState) -> Mask:
        """Return the points where the new group has a liberty or stones are captured (G4), and a pass."""
        own, other, atari, empty = self.points_of(s)
        open_points = empty & self.grid.around(empty | (own - atari) | (other & atari))
        return self.actions.mask(point=open_points - self.closed(s), passes=True)

    def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
        grid = self.grid
        planes = [self.grid.set(plane) for plane in s.groups]
        own, other, atari, _ = self.points_of(s)
        stone = grid.cell(action)  # empty for a pass
        near = grid.neighbours(stone)
        # G3: the opponent's groups whose last liberty this was are captured
        others = [group_of(point & other, other, planes) for point in near]
        dead = [(point & other & atari).any() for point in near]
        captures = zip(dead, others, strict=True)
        taken = union_of(where(gone, group, grid.empty) for gone, (group, _) in captures)
        other = other - taken
        # G2: adjacent own groups become one
        joined = [group_of(point & own, own, planes) for point in near]
        group = union_of([stone, *(group for group, _ in joined)])
        own = own | stone
        highest = action + 1
        for _, number in joined:
            highest = maximum(highest, number)
        renumbered = [
            where((highest >> k & 1) != 0, plane | group, plane - group) - taken for k, plane in enumerate(planes)
        ]
        # groups that have lost or won a liberty
        empty = grid.full - (own | other)
        freed = grid.flood(grid.around(taken) & s.own, atari & s.own)
        atari = atari - (taken | freed)
        for which in (group, *(group - taken for group, _ in others)):
            alone = (grid.around(which) & empty).count() == 1
            atari = where(alone, atari | which, atari - which)
        # The second pass in a row, or the last ply, ends the game; areas are counted only then, since floods are slow.
        passes = action == self.points
        over = (passes & s.passed) | (s.ply + 1 >= self.max_plies)
        counted = where(over, empty, grid.empty)  # empty before the end, so that `flood` stops at once
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

    def past(self, s: GameState, stone: GridSet, taken: GridSet) -> dict[str, Any]:
        """Return the field of past boards, or of the ko, after a stone (G5)."""
        if self.superko:
            boards = [[*s.own, *s.other], *s.history[:-1]]
            return {"history": [board[self.words :] + board[: self.words] for board in boards]}
        own, _, _, empty = self.points_of(s)
        in_eye = ~(self.grid.around(stone) & (own | empty)).any()
        return {"ko": where(in_eye & (taken.count() == 1), taken.lowest(), self.points)}

    def closed(self, s: GameState) -> GridSet:
        """Return the points where a stone would repeat a past board (G5)."""
        if not self.superko:
            return self.grid.cell(s.ko)
        grid = self.grid
        closed = self.grid.empty
        n = self.words
        own, other, _, empty = self.points_of(s)
        for board in s.history:
            past_own = grid.set(board[:n])
            past_other = grid.set(board[n:])
            new = past_own - own
            taken = other - past_other
            more = (own - past_own) | (past_other - other)  # stones of which the past board has fewer
            border = grid.around(taken)
            # the past board has one stone more, and lacks exactly the stones that it captures: whole groups whose last
            # liberty is its point
            whole = ~(border & past_other).any() & ~((border - new) & empty).any()
            back = (new.count() == 1) & ~more.any() & whole
            closed = where(back, closed | new, closed)
        return closed

    def result(self, black: Scalar, own: GridSet, other: GridSet, empty: GridSet) -> Scalar:
        """Return 1 if black's area exceeds white's and komi, -1 if it is less, 0 if it is equal (G7)."""
        near, far = (self.grid.flood(self.grid.around(stones) & empty, empty) for stones in (own, other))
        area = own.count() + (near - far).count() - other.count() - (far - near).count()
        lead = 2 * where(black, area, -area) - int(2 * self.komi)
        return int32(lead > 0) - int32(lead < 0)

    def observe(self, s: GameState, player: Scalar) -> Observation:
        """Return five planes: own stones, the opponent's, illegal points, ones after a pass, ones for black (G9)."""
        moves = s.current_player == player
        every = self.grid.full
        nothing = self.grid.empty
        own = where(moves, s.own, s.other)
        other = where(moves, s.other, s.own)
        passed = where(s.passed, every, nothing)
        black = where(player == 0, every, nothing)
        planes = {
            "own stones": own,
            "the opponent's stones": other,
            "closed points": self.closed(s),
            "after a pass": passed,
            "the player is black": black,
        }
        return {name: bits(points, self.points) for name, points in planes.items()}

    def points_of(self, s: GameState) -> tuple[GridSet, GridSet, GridSet, GridSet]:
        """Return the player's stones, the opponent's, those in atari, and the empty points."""
        own, other, atari = map(self.grid.set, (s.own, s.other, s.atari))
        return own, other, atari, self.grid.full - (own | other)
