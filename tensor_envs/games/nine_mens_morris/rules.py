"""Nine men's morris: three men on a line remove one of the opponent's.

Rules and rulings: RULES.md beside this file. The 24 points are the bits of a word, row by row from the top.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from tensor_envs.games._kit.sets import concatenated
from tensor_envs.rules import Scalar, bit, has_bit, maximum, popcount, uint32, union_of, where
from tensor_envs.rules.chance import Chance
from tensor_envs.rules.observation import Observation, bits, constant, digits
from tensor_envs.rules.plain import check_fields
from tensor_envs.rules.spec import Field, GameState, Mask, Outcome, Spec

SIDE = 7
POINTS = 24
BOARD = 2**24 - 1
PLACING = 18  # turns (N3)
MAX_TURNS = 1000
CELLS = [cell for cell in range(SIDE * SIDE) if "#..#..#.#.#.#...###..###.###..###...#.#.#.#..#..#"[cell] == "#"]
NUMBERS = {divmod(cell, SIDE): point for point, cell in enumerate(CELLS)}  # number of each point by row and column
ROWS = [[NUMBERS[k, n] for n in range(SIDE) if (k, n) in NUMBERS] for k in range(SIDE)]
COLUMNS = [[NUMBERS[n, k] for n in range(SIDE) if (n, k) in NUMBERS] for k in range(SIDE)]
LINES = [points[at : at + 3] for points in ROWS + COLUMNS for at in range(0, len(points), 3)]
NEIGHBOURS = {pair for line in LINES for way in (line, line[::-1]) for pair in pairwise(way)}
NEAR = [sum(1 << b for a, b in NEIGHBOURS if a == point) for point in range(POINTS)]  # sets of neighbours


@dataclass(frozen=True)
class NineMensMorris:
    """Rule fields of nine men's morris (N12).

    Attributes:
        max_turns: turns after which the game is drawn, 1..1000.
    """

    max_turns: int = 200

    def __post_init__(self) -> None:
        check_fields(self, max_turns=(1, MAX_TURNS))

    @property
    def planes(self) -> int:
        """Number of planes of an observation."""
        return 3 + self.max_turns.bit_length()

    @property
    def spec(self) -> Spec:
        # men of the player to move, the opponent's; turns before this one; whether a man is to be removed
        men = tuple(Field(name, kind="uint32") for name in ("own", "other"))
        rest = Field("turns", high=self.max_turns), Field("removes", kind="bool")
        shape = self.planes, SIDE, SIDE
        # three men that fly have the most moves
        return Spec(2, POINTS + POINTS**2, observation_shape=shape, fields=men + rest, max_legal=3 * POINTS)

    def init(self, chance: Chance) -> dict[str, Any]:
        return {}

    def legal_action_mask(self, s: GameState) -> Mask:
        """Return the points on which a man is placed or removed, then for each point where its man may move."""
        return concatenated(legal_rows(s), POINTS)

    def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
        end = bit(action % POINTS)
        start = where(action < POINTS, 0, bit(maximum(action // POINTS - 1, 0)))
        own = where(s.removes, s.own, s.own & ~start | end)
        other = where(s.removes, s.other & ~end, s.other)
        again = ~s.removes & ((in_mills(own) & end) != 0)  # N6
        after = s.replace(
            own=where(again, own, other),
            other=where(again, other, own),
            turns=where(again, s.turns, s.turns + 1),
            removes=again,
            current_player=where(again, s.current_player, 1 - s.current_player),
        )
        in_hand = maximum(PLACING - s.turns, 0) // 2  # the opponent's men in hand
        beaten = ~again & (popcount(other) + in_hand <= 2)
        won = beaten | (union_of(legal_rows(after)) == 0)  # N7
        return Outcome.win(after, s.current_player, won).draw(after.turns >= self.max_turns)

    def observe(self, s: GameState, player: Scalar) -> Observation:
        """Return men of both players, and constant planes (N9)."""
        men = where(s.current_player == player, [s.own, s.other], [s.other, s.own])
        point = {cell: k for k, cell in enumerate(CELLS)}
        cells = [[has_bit(side, point[c]) if c in point else uint32(0) != 0 for c in range(SIDE**2)] for side in men]
        own, other = (bits(plane, SIDE**2) for plane in cells)
        return {
            "own men": own,
            "the opponent's men": other,
            "the player removes a man": constant(s.removes, SIDE**2),
            "binary digits of the turns": digits(s.turns, self.planes - 3, SIDE**2),
        }


def in_mills(men: Scalar) -> Scalar:
    """Return the men that are in mills."""
    lines = (sum(1 << point for point in line) for line in LINES)
    return union_of(where((men & line) == line, uint32(line), 0) for line in lines)


def legal_rows(s: GameState) -> list[Scalar]:
    """Return the points on which a man is placed or removed, then for each point where its man may move."""
    empty = ~(s.own | s.other) & BOARD
    placing = s.turns < PLACING
    free = s.other & ~in_mills(s.other)
    points = where(s.removes, where(free == 0, s.other, free), where(placing, empty, 0))
    movers = where(s.removes | placing, 0, s.own)
    flying = where(popcount(s.own) <= 3, uint32(BOARD), 0)  # N5
    return [points, *(where(has_bit(movers, k), empty & (flying | near), 0) for k, near in enumerate(NEAR))]
