"""Y: on a triangle of six-sided cells both players try to connect all three sides; one of them always does.

Rules and rulings: RULES.md beside this file. The state is both players' stones. Dictionaries, symmetries and pictures
are those of `games._kit.hex_stones`.
"""

from dataclasses import dataclass
from functools import cached_property

from tensor_envs.games._kit.hex_stones import HexStones
from tensor_envs.rules import Chance, GameState, GridSet, Outcome, Scalar, num_words
from tensor_envs.rules.plain import check_fields

MAX_SIZE = 19


@dataclass(frozen=True)
class Y(HexStones):
    """Rule fields of Y (Y5).

    Attributes:
        size: cells a side, 1..19.
    """

    size: int = 19

    title = "Y"

    def __post_init__(self) -> None:
        check_fields(self, size=(1, MAX_SIZE))

    @property
    def side(self) -> int:
        """Rows and columns of the grid."""
        return self.size

    @cached_property
    def inside(self) -> list[int]:
        """Cells on the board: one fewer in each row (Y1)."""
        return [row * self.size + column for row in range(self.size) for column in range(self.size - row)]

    @property
    def set_colouring(self) -> int:
        """Number of actions that put a stone in a cell: further stones of one's own never do harm."""
        return self.cells

    def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
        stones = self.grid.set(s.own) | self.grid.cell(action)
        after = s.replace(own=s.other, other=stones, current_player=1 - s.current_player)
        return Outcome.win(after, s.current_player, self.connects(stones))

    def connects(self, stones: GridSet) -> Scalar:
        """Return whether a group of stones touches all sides (Y3).

        Three cells that touch each other, two of a row and one below them, become one cell of a triangle that is
        smaller by a row: a stone if two or three of them are stones. A group touches all sides of the smaller triangle
        if and only if one touches all sides of the larger one (C. Schensted, C. Titus). In the end there is one cell.
        """
        for rows in reversed(range(1, self.size)):
            right = self.grid.moved(stones, -1)
            below = self.grid.moved(stones, -self.size)
            words = num_words(rows * self.size)  # words of the smaller triangle: the others no longer matter
            smaller = stones & right | (stones | right) & below
            stones = stones.like(smaller[:words] + self.grid.empty[words:])
        return (stones[0] & 1) != 0

    def winning(self, board: list[int]) -> tuple[set[int], str]:
        """Return the stones of a group that touches all sides, and the reason."""
        for group in self.groups_of(board):
            rows, columns = zip(*(divmod(cell, self.size) for cell in group), strict=True)
            diagonals = map(sum, zip(rows, columns, strict=True))
            if 0 in rows and 0 in columns and self.size - 1 in diagonals:
                return group, "all sides are connected"
        return set(), ""
