"""Amazons: queens that shoot arrows, which block squares; who cannot move loses.

Rules and rulings: RULES.md beside this file. Squares are numbered row by row from the top. The squares that a queen or
an arrow reaches are computed for each row of the board, which is a word.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tensor_envs.games._kit.sets import CellSet, concatenated, segment
from tensor_envs.rules import Grid, Scalar, pack, uint32, union_of, where
from tensor_envs.rules.chance import Chance
from tensor_envs.rules.observation import Observation, bits
from tensor_envs.rules.plain import check_fields
from tensor_envs.rules.spec import Field, GameState, Mask, Outcome, Spec

SIZES = (6, 8, 10)
CHOOSE, MOVE, SHOOT = range(3)  # phases of a turn (A2)
Rows = Sequence[Any]  # the rows of a set, a word each


@dataclass(frozen=True)
class Amazons:
    """Rule fields of amazons (A9).

    Attributes:
        size: squares a side, 6, 8 or 10.
    """

    size: int = 10

    def __post_init__(self) -> None:
        check_fields(self, size={*SIZES})

    @property
    def cells(self) -> int:
        """Number of squares."""
        return self.size**2

    @cached_property
    def grid(self) -> Grid:
        """Board."""
        return Grid(self.size, self.size)

    @property
    def spec(self) -> Spec:
        # amazons of the player to move and of the opponent, arrows, the amazon in action or none; phase of the turn
        sets = tuple(Field(name, (self.grid.words,), kind="uint32") for name in ("own", "other", "arrows", "active"))
        phase = Field("phase", high=SHOOT)
        lines = 4 * self.size  # cells of the four lines through an amazon
        return Spec(2, self.cells, (5, self.size, self.size), (*sets, phase), max_legal=min(lines, self.cells))

    def init(self, chance: Chance) -> dict[str, Any]:
        n = self.size
        third = (self.size - 1) // 3
        corner = ((0, n - 1 - third), (third, n - 1))  # column and row of the amazons at the left (A1)
        white = [(n - 1 - x if mirrored else x) + n * y for x, y in corner for mirrored in (False, True)]
        black = [self.cells - 1 - square for square in white]
        return {"own": [*map(uint32, pack(white, self.cells))], "other": [*map(uint32, pack(black, self.cells))]}

    def legal_action_mask(self, s: GameState) -> Mask:
        """Return the amazons that can move (A3), or the squares that the one in action reaches."""
        reached = rays(self.rows(s.active), self.free(s))
        return concatenated(where(s.phase == CHOOSE, self.movable(s), reached), self.size)

    def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
        grid = self.grid
        square = self.grid.cell(action)
        moves = s.phase == MOVE
        shoots = s.phase == SHOOT
        own = grid.set(s.own)
        own = where(moves, own - s.active | square, own)
        after = s.replace(
            own=where(shoots, s.other, own),
            other=where(shoots, own, s.other),
            arrows=where(shoots, square, grid.empty) | s.arrows,
            active=where(shoots, grid.empty, square),
            phase=where(shoots, CHOOSE, s.phase + 1),
            current_player=where(shoots, 1 - s.current_player, s.current_player),
        )
        lost = shoots & (union_of(self.movable(after)) == 0)  # A5
        return Outcome.win(after, s.current_player, lost)

    def rows(self, cells: CellSet) -> list[Any]:
        """Return the rows of a set."""
        return [segment(cells, self.size * row, self.size) for row in range(self.size)]

    def free(self, s: GameState) -> list[Any]:
        """Return the rows of the squares without an amazon or an arrow."""
        return self.rows(self.grid.full - s.own - s.other - s.arrows)

    def movable(self, s: GameState) -> list[Any]:
        """Return the rows of own amazons that have a free square beside them."""
        free = self.free(s)
        near = [union_of(free[max(row - 1, 0) : row + 2]) for row in range(self.size)]
        return [own & (cells | cells << 1 | cells >> 1) for own, cells in zip(self.rows(s.own), near, strict=True)]

    def observe(self, s: GameState, player: Scalar) -> Observation:
        """Return amazons of both players, arrows, the amazon in action, and whether it shoots (A6)."""
        grid = self.grid
        moves = s.current_player == player
        planes = {
            "own amazons": where(moves, s.own, s.other),
            "the opponent's amazons": where(moves, s.other, s.own),
            "arrows": s.arrows,
            "amazon in action": s.active,
            "it shoots": where(s.phase == SHOOT, grid.full, grid.empty),
        }
        return {name: bits(cells, self.cells) for name, cells in planes.items()}


def rays(start: Rows, free: Rows) -> list[Any]:
    """Return the free squares that a queen on the only square of `start` reaches in a move."""
    here = [row != 0 for row in start]
    level = along(union_of(start), union_of(where(at, row, 0) for at, row in zip(here, free, strict=True)))
    reached = [where(at, level, 0) for at in here]
    for order in (1, -1):  # from the top, from the bottom
        lines = [uint32(0)] * 3
        last = uint32(0)
        rows = []
        for row, squares, others in zip(start[::order], free[::order], reached[::order], strict=True):
            straight, down_right, down_left = (line | last for line in lines)
            lines = [straight & squares, down_right << 1 & squares, down_left >> 1 & squares]
            rows.append(union_of([others, *lines]))
            last = row
        reached = rows[::order]
    return reached


def along(start: Scalar, free: Scalar) -> Scalar:
    """Return the free squares of a row that a rook on the only square of `start` reaches."""
    above = (free + (start << 1) ^ free) & free  # the sum carries through the free squares above
    below = start - 1
    blocked = below & ~free
    for k in range(4):  # and all squares below a blocked one, of up to 16
        blocked |= blocked >> (1 << k)
    return above | below & ~blocked
