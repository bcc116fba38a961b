"""Connect four on a board of any size: k stones in a straight line win; a full board without a line is a draw.

Rules and rulings: RULES.md beside this file. The board is two sets of cells as bit words, the stones of the player to
move and the opponent's; cells are numbered row by row from the top.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tensor_envs.rules import WORD_BITS, Grid, Scalar, sum_of, uint32, where
from tensor_envs.rules.chance import Chance
from tensor_envs.rules.observation import Observation, bits
from tensor_envs.rules.plain import check_fields
from tensor_envs.rules.spec import Field, GameState, Mask, Outcome, Spec

MAX_SIDE = WORD_BITS  # a row, and so the mask, fits in one word
THREAT = 16  # more than what a stone near the middle counts


@dataclass(frozen=True)
class ConnectFour:
    """Rule fields of connect four (C6).

    Attributes:
        rows, columns: sides of the board, 1..32.
        k: stones in a line that win, 1..the longer side.
    """

    rows: int = 6
    columns: int = 7
    k: int = 4

    def __post_init__(self) -> None:
        check_fields(self, rows=(1, MAX_SIDE), columns=(1, MAX_SIDE))
        check_fields(self, k=(1, max(self.rows, self.columns)))

    @property
    def cells(self) -> int:
        """Number of cells."""
        return self.rows * self.columns

    @cached_property
    def grid(self) -> Grid:
        """Board."""
        return Grid(self.rows, self.columns)

    @property
    def spec(self) -> Spec:
        # the stones of the player to move, and the other player's
        fields = tuple(Field(name, (self.grid.words,), kind="uint32") for name in ("own", "other"))
        return Spec(2, self.columns, observation_shape=(2, self.rows, self.columns), fields=fields)

    def init(self, chance: Chance) -> dict[str, Any]:
        return {}

    def legal_action_mask(self, s: GameState) -> Mask:
        """Return the columns whose top cell is empty (C2)."""
        return [~(s.own[0] | s.other[0]) & 2**self.columns - 1]

    def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
        grid = self.grid
        stones = grid.set(s.own) | s.other
        floor = grid.of(range(self.cells - self.columns, self.cells))
        column = [self.column(action, w) for w in range(grid.words)]
        own = ((grid.shift(stones, -1, 0) | floor) - stones & column) | s.own  # C3
        won = grid.lines(own, self.k).any()
        after = s.replace(own=s.other, other=own, current_player=1 - s.current_player)
        return Outcome.win(after, s.current_player, won).draw(s.ply + 1 == self.cells)

    def column(self, action: Scalar, number: int) -> Scalar:
        """Return the cells of a column in a word of the board; the last word has some beyond the board."""
        every = sum(1 << cell for cell in range(0, WORD_BITS, self.columns))
        return uint32(every) << (action + -WORD_BITS * number % self.columns) % self.columns

    def promise(self, s: GameState) -> Scalar:
        """Count the empty cells that win for the player who does not move, then favour stones near the middle."""
        threats = (self.grid.completions(s.other, self.k) - s.own - s.other).count()
        rings = (range(edge, self.columns - edge) for edge in range(1, (self.columns + 1) // 2))
        inner = (self.grid.of([row * self.columns + c for row in range(self.rows) for c in ring]) for ring in rings)
        return threats * THREAT + sum_of((ring & s.other).count() for ring in inner)

    def observe(self, s: GameState, player: Scalar) -> Observation:
        """Return the player's stones, then the opponent's (C7)."""
        moves = s.current_player == player
        own = where(moves, s.own, s.other)
        other = where(moves, s.other, s.own)
        return {"own stones": bits(own, self.cells), "the opponent's stones": bits(other, self.cells)}
