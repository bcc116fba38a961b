"""Breakthrough: pieces move one step forward and capture diagonally; one on the opponent's home row wins.

Rules and rulings: RULES.md beside this file. The board is two sets of cells, the pieces of the player to move and the
opponent's; cells are numbered row by row from the bottom. Dictionaries, symmetries and pictures are those of `Pieces`
(B8, B10).
"""

from dataclasses import dataclass
from functools import cached_property

from tensor_envs.rules import Grid
from tensor_envs.rules.pieces import EMPTY, ENEMY, Move, Pieces
from tensor_envs.rules.plain import check_fields


@dataclass(frozen=True)
class Breakthrough(Pieces):
    """Rule fields of breakthrough (B6).

    Attributes:
        rows, columns: sides of the board, 4..16 and 2..16.
    """

    rows: int = 8
    columns: int = 8

    man = Move(((1, 0),)), Move(((1, -1), (1, 1)), onto=EMPTY | ENEMY)  # B2
    capture_all = True  # B4

    def __post_init__(self) -> None:
        check_fields(self, rows=(4, 16), columns=(2, 16))

    @property
    def cells(self) -> int:
        """Number of cells."""
        return self.rows * self.columns

    @cached_property
    def board(self) -> Grid:
        """Rows and columns."""
        return Grid(self.rows, self.columns)

    @property
    def start(self) -> tuple[range, range]:
        """Home rows of both players (B1)."""
        home = 2 * self.columns
        return range(home), range(self.cells - home, self.cells)

    @property
    def goal(self) -> tuple[range, range]:
        """Cells of the last row ahead of each player (B4)."""
        return range(self.cells - self.columns, self.cells), range(self.columns)

    def action_to_string(self, action: int) -> str:
        """Return the names of the start and the end, "a2b3" (B9)."""
        return super().action_to_string(action).replace("-", "")
