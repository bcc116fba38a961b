"""Clobber: every move takes an adjacent stone of the opponent; a player who cannot move loses.

Rules and rulings: RULES.md beside this file. The board is two sets of cells, the stones of the player to move and the
opponent's; cells are numbered row by row from the bottom. Dictionaries, symmetries and pictures are those of `Pieces`
(C8, C10).
"""

from dataclasses import dataclass
from functools import cached_property

from tensor_envs.rules import Grid
from tensor_envs.rules.pieces import ENEMY, Move, Pieces
from tensor_envs.rules.plain import check_fields


@dataclass(frozen=True)
class Clobber(Pieces):
    """Rule fields of clobber (C6).

    Attributes:
        rows, columns: sides of the board, 1..16 and 2..16.
    """

    rows: int = 5
    columns: int = 6

    man = (Move(((-1, 0), (0, -1), (0, 1), (1, 0)), onto=ENEMY),)  # C2
    no_move = "loss"  # C4

    def __post_init__(self) -> None:
        check_fields(self, rows=(1, 16), columns=(2, 16))

    @cached_property
    def board(self) -> Grid:
        """Rows and columns."""
        return Grid(self.rows, self.columns)

    @cached_property
    def start(self) -> tuple[list[int], list[int]]:
        """Cells of both colours of a checkerboard (C1)."""
        colours: tuple[list[int], list[int]] = [], []
        for cell in range(self.board.size):
            colours[sum(divmod(cell, self.columns)) % 2].append(cell)
        return colours

    def action_to_string(self, action: int) -> str:
        """Return the names of the start and the end, "a1a2" (C9)."""
        return super().action_to_string(action).replace("x", "")
