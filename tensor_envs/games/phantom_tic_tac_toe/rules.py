"""Phantom tic-tac-toe: neither player sees the marks of the other, except those that an attempt has found.

Rules and rulings: RULES.md beside this file. All but the lines is in `games._kit.hidden_stones`.
"""

from dataclasses import dataclass

from tensor_envs.games._kit.hidden_stones import HiddenStones
from tensor_envs.rules import Grid, Scalar
from tensor_envs.rules.plain import check_fields

SIZE = 3
GRID = Grid(SIZE, SIZE)


@dataclass(frozen=True)
class PhantomTicTacToe(HiddenStones):
    """Rule fields of phantom tic-tac-toe (P8).

    Attributes:
        abrupt: whether a failed attempt ends the turn.
    """

    abrupt: bool = False
    size = SIZE

    def __post_init__(self) -> None:
        check_fields(self, abrupt=bool)

    def has_won(self, stones: Scalar, player: Scalar) -> Scalar:
        """Return whether a set of marks has a line (P4)."""
        return GRID.lines([stones], SIZE).any()
