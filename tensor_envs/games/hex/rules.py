"""Hex: on a rhombus of six-sided cells each player connects two opposite sides; one of them always does.

Rules and rulings: RULES.md beside this file. Cells are numbered row by row from the top. Planes of group numbers:
`games._kit.sets`.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tensor_envs.games._kit.sets import joined, number
from tensor_envs.rules import Actions, Grid, Scalar, where
from tensor_envs.rules.chance import Chance
from tensor_envs.rules.observation import Observation, bits
from tensor_envs.rules.plain import check_fields
from tensor_envs.rules.spec import Field, GameState, Mask, Outcome, Spec

MAX_SIZE = 19
# rows and columns to the neighbours of a cell, in pairs of cells that touch each other
DIRECTIONS = (((-1, 0), (-1, 1)), ((0, 1), (1, 0)), ((1, -1), (0, -1)))


@dataclass(frozen=True)
class Hex:
    """Rule fields of Hex (H7).

    Attributes:
        size: cells a side, 1..19.
        swap: whether player 1 may take over player 0's first stone.
    """

    size: int = 11
    swap: bool = True

    def __post_init__(self) -> None:
        check_fields(self, size=(1, MAX_SIZE), swap=bool)

    @cached_property
    def cells(self) -> int:
        """Number of cells."""
        return self.size**2

    @cached_property
    def grid(self) -> Grid:
        """Board, as a rhombus of rows and columns."""
        return Grid(self.size, self.size)

    @cached_property
    def planes(self) -> int:
        """Number of bits of a group's number."""
        return self.cells.bit_length()

    @cached_property
    def actions(self) -> Actions:
        """A stone in a cell, or a swap."""
        return Actions(cell=self.cells, swap=self.swap)

    @property
    def set_colouring(self) -> int:
        """Number of actions that put a stone in a cell: further stones of one's own never do harm."""
        return self.cells

    @property
    def spec(self) -> Spec:
        # the stones of the player to move, the other player's, and the planes of the groups' numbers
        sets = tuple(Field(name, (self.grid.words,), kind="uint32") for name in ("own", "other"))
        groups = Field("groups", (self.planes, self.grid.words), kind="uint32")
        return Spec(2, self.actions.count, (3, self.size, self.size), (*sets, groups))

    def init(self, chance: Chance) -> dict[str, Any]:
        return {}

    def legal_action_mask(self, s: GameState) -> Mask:
        """Return the empty cells (H2), and a swap in the second ply (H3)."""
        return self.actions.mask(cell=self.grid.full - s.own - s.other, swap=s.ply == 1)

    def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
        grid, cell = self.grid, action
        own, other, *planes = map(grid.set, (s.own, s.other, *s.groups))
        if self.swap:
            swaps = action == self.cells
            nothing = grid.empty
            taken = number([plane.any() for plane in planes]) - 1  # the only stone's cell
            cell = where(swaps, taken % self.size * self.size + taken // self.size, action)
            own = where(swaps, nothing, own)
            other = where(swaps, nothing, other)
            planes = [where(swaps, nothing, plane) for plane in planes]
        stone = grid.cell(cell)
        group, renumbered, _ = joined(cell, cell + 1, own, planes, DIRECTIONS)
        upright = s.current_player == 0
        start, end = (where(upright, *map(grid.of, sides)) for sides in (self.starts, self.ends))
        won = (start & group).any() & (end & group).any()
        after = s.replace(own=other, other=own | stone, groups=renumbered, current_player=1 - s.current_player)
        return Outcome.win(after, s.current_player, won)

    @cached_property
    def starts(self) -> tuple[range, range]:
        """Sides from which player 0 and player 1 connect: the first row, the first column (H1)."""
        return range(self.size), range(0, self.cells, self.size)

    @cached_property
    def ends(self) -> tuple[range, range]:
        """Opposite sides: the last row, the last column."""
        return range(self.cells - self.size, self.cells), range(self.size - 1, self.cells, self.size)

    def observe(self, s: GameState, player: Scalar) -> Observation:
        """Return the player's stones, the opponent's, and whether the player connects rows (H5)."""
        moves = s.current_player == player
        own = where(moves, s.own, s.other)
        other = where(moves, s.other, s.own)
        upright = where(player == 0, self.grid.full, self.grid.empty)
        planes = {"own stones": own, "the opponent's stones": other, "the player connects rows": upright}
        return {name: bits(cells, self.cells) for name, cells in planes.items()}
