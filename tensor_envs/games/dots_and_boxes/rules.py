"""Dots and boxes: who draws the fourth side of a box owns it and moves again.

Rules and rulings: RULES.md beside this file. Lines are a set in the order of actions, boxes one row by row.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tensor_envs.games._kit.sets import CellSet, concatenated, segment
from tensor_envs.rules import Grid, GridSet, Scalar, uint32, where
from tensor_envs.rules.chance import Chance
from tensor_envs.rules.observation import Observation, bits
from tensor_envs.rules.plain import check_fields
from tensor_envs.rules.spec import Field, GameState, Mask, Outcome, Spec

MAX_SIDE = 10


@dataclass(frozen=True)
class DotsAndBoxes:
    """Rule fields of dots and boxes (B6).

    Attributes:
        rows, columns: of boxes, 1..10.
    """

    rows: int = 5
    columns: int = 5

    def __post_init__(self) -> None:
        check_fields(self, rows=(1, MAX_SIDE), columns=(1, MAX_SIDE))

    @property
    def boxes(self) -> int:
        """Number of boxes."""
        return self.rows * self.columns

    @property
    def horizontal(self) -> int:
        """Number of horizontal lines, which come first (B2)."""
        return (self.rows + 1) * self.columns

    @property
    def lines(self) -> int:
        """Number of lines."""
        return self.horizontal + self.rows * (self.columns + 1)

    @cached_property
    def grid(self) -> Grid:
        """Grid of the boxes."""
        return Grid(self.rows, self.columns)

    @cached_property
    def row(self) -> Grid:
        """Grid of one row, whose cells are the lines in the order of actions."""
        return Grid(1, self.lines)

    @property
    def spec(self) -> Spec:
        # drawn lines, and the boxes that player 0 owns
        fields = tuple(
            Field(name, (n.words,), kind="uint32") for name, n in (("lines", self.row), ("first", self.grid))
        )
        return Spec(2, self.lines, observation_shape=(4, self.rows + 1, self.columns + 1), fields=fields)

    def init(self, chance: Chance) -> dict[str, Any]:
        return {}

    def legal_action_mask(self, s: GameState) -> Mask:
        """Return the lines that are not drawn (B2)."""
        return self.row.full - s.lines

    def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
        lines = self.row.cell(action) | s.lines
        gained = self.complete(lines) - self.complete(s.lines)
        first = where(s.current_player == 0, gained, self.grid.empty) | s.first
        boxes = first.count()
        over = s.ply + 1 == self.lines
        player = where(gained.any(), s.current_player, 1 - s.current_player)  # B4
        after = s.replace(lines=lines, first=first, current_player=player)
        return Outcome.scores(after, (boxes, self.boxes - boxes), over)  # B5

    def complete(self, lines: CellSet) -> GridSet:
        """Return the boxes with four sides."""
        across, down = self.rows_of(lines)
        rows = [a & b & c & c >> 1 for a, b, c in zip(across, across[1:], down, strict=False)]
        return self.grid.set(concatenated(rows, self.columns))

    def rows_of(self, lines: CellSet) -> tuple[list[Any], list[Any]]:
        """Return the rows of horizontal and those of vertical lines, a word each."""
        n = self.columns
        across = [segment(lines, n * row, n) for row in range(self.rows + 1)]
        down = [segment(lines, self.horizontal + (n + 1) * row, n + 1) for row in range(self.rows)]
        return across, down

    def observe(self, s: GameState, player: Scalar) -> Observation:
        """Return the horizontal and the vertical lines, the player's boxes, and the opponent's (B7)."""
        across, down = self.rows_of(s.lines)
        second = self.complete(s.lines) - s.first
        sides = where(player == 0, s.first, second), where(player == 0, second, s.first)
        own, other = ([segment(side, self.columns * row, self.columns) for row in range(self.rows)] for side in sides)
        planes = {
            "lines across": across,
            "lines down": [*down, uint32(0)],
            "own boxes": [*own, uint32(0)],
            "the opponent's boxes": [*other, uint32(0)],
        }
        return {name: [bits(row, self.columns + 1) for row in plane] for name, plane in planes.items()}
