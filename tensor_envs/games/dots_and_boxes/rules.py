"""Dots and boxes: who draws the fourth side of a box owns it and moves again.

Rules and rulings: RULES.md beside this file. Lines are a set in the order of actions, boxes one row by row.
"""

from dataclasses import dataclass
from typing import Any

from tensor_envs._validate import integer as checked
from tensor_envs.games._kit.sets import CellSet, concatenated, segment, without
from tensor_envs.rules import (
    WORD_BITS,
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
    num_words,
    pack,
    popcount,
    sum_of,
    union_of,
    where,
    word,
)

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
        for name in ("rows", "columns"):
            object.__setattr__(self, name, checked(name, getattr(self, name), 1, MAX_SIDE))

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

    @property
    def spec(self) -> Spec:
        # drawn lines, and the boxes that player 0 owns
        fields = (Field("lines", (num_words(self.lines),), kind="word"),
                  Field("first", (num_words(self.boxes),), kind="word"))  # fmt: skip
        return Spec(2, self.lines, observation_shape=(4, self.rows + 1, self.columns + 1), fields=fields)

    def init(self, chance: Chance) -> dict[str, Any]:
        return {}

    def legal_action_mask(self, s: GameState) -> Mask:
        """Return the lines that are not drawn (B2)."""
        return without(pack(range(self.lines), self.lines), s.lines)

    def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
        lines = [drawn | where(action // WORD_BITS == w, bit(action % WORD_BITS), 0) for w, drawn in enumerate(s.lines)]
        gained = without(self.complete(lines), self.complete(s.lines))
        scores, is_first = union_of(gained) != 0, s.current_player == 0
        first = [boxes | where(is_first, new, 0) for boxes, new in zip(s.first, gained, strict=True)]
        over = s.ply + 1 == self.lines
        boxes = sum_of(map(popcount, first))
        player = where(scores, s.current_player, 1 - s.current_player)  # B4
        after = s.replace(lines=lines, first=first, current_player=player)
        return Outcome.scores(after, (boxes, self.boxes - boxes), over)  # B5

    def complete(self, lines: CellSet) -> list[Any]:
        """Return the boxes with four sides."""
        across, down = self.rows_of(lines)
        rows = [a & b & c & c >> 1 for a, b, c in zip(across, across[1:], down, strict=False)]
        return concatenated(rows, self.columns)

    def rows_of(self, lines: CellSet) -> tuple[list[Any], list[Any]]:
        """Return the rows of horizontal and those of vertical lines, a word each."""
        n = self.columns
        across = [segment(lines, n * row, n) for row in range(self.rows + 1)]
        down = [segment(lines, self.horizontal + (n + 1) * row, n + 1) for row in range(self.rows)]
        return across, down

    def observe(self, s: GameState, player: Scalar) -> Observation:
        """Return both kinds of lines, the player's boxes, then the opponent's (B7)."""
        across, down = self.rows_of(s.lines)
        second = without(self.complete(s.lines), s.first)
        boxes = where(player == 0, [*s.first, *second], [*second, *s.first])
        sides = boxes[: len(second)], boxes[len(second) :]
        own, other = ([segment(side, self.columns * row, self.columns) for row in range(self.rows)] for side in sides)
        planes = {
            "lines across": across,
            "lines down": [*down, word(0)],
            "own boxes": [*own, word(0)],
            "the opponent's boxes": [*other, word(0)],
        }
        return {name: [bits(row, self.columns + 1) for row in plane] for name, plane in planes.items()}
