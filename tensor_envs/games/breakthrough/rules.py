"""Breakthrough: pieces move one step forward and capture diagonally; one on the opponent's home row wins.

Rules and rulings: RULES.md beside this file. The board is two sets of cells, the pieces of the player to move and the
opponent's; cells are numbered row by row from the bottom.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tensor_envs._validate import integer as checked
from tensor_envs.games._kit.sets import chained
from tensor_envs.rules import (
    Chance,
    Field,
    GameState,
    Grid,
    Mask,
    Observation,
    Outcome,
    Scalar,
    Spec,
    bits,
    lookup,
    pack,
    where,
)

DIRECTIONS = [(up, right) for up in (1, -1) for right in (-1, 0, 1)]  # B3


@dataclass(frozen=True)
class Breakthrough:
    """Rule fields of breakthrough (B6).

    Attributes:
        rows, columns: sides of the board, 4..16 and 2..16.
    """

    rows: int = 8
    columns: int = 8

    def __post_init__(self) -> None:
        for name, low in (("rows", 4), ("columns", 2)):
            object.__setattr__(self, name, checked(name, getattr(self, name), low, 16))

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
        fields = tuple(Field(name, (self.grid.words,), kind="word") for name in ("own", "other"))
        shape = (3, self.rows, self.columns)
        return Spec(2, len(DIRECTIONS) * self.cells, observation_shape=shape, fields=fields)

    def init(self, chance: Chance) -> dict[str, Any]:
        home = 2 * self.columns
        return {"own": pack(range(home), self.cells), "other": pack(range(self.cells - home, self.cells), self.cells)}

    def legal_action_mask(self, s: GameState) -> Mask:
        """Return the cells whose pieces may move in each of the directions (B2)."""
        grid, own, planes = self.grid, self.grid.set(s.own), []
        for up, right in DIRECTIONS:
            free = grid.full - own if right else grid.full - own - s.other
            moves = own & grid.shift(free, -up, -right)
            planes.append(where(s.current_player == (up < 0), moves, grid.empty))
        return chained(*((moves, self.cells) for moves in planes))

    def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
        cell = action % self.cells
        target = cell + lookup([up * self.columns + right for up, right in DIRECTIONS], action // self.cells)
        start, end = self.grid.cell(cell), self.grid.cell(target)
        own, other = s.own - start | end, s.other - end
        home = where(s.current_player == 0, target >= self.cells - self.columns, target < self.columns)
        won = home | ~other.any()  # B4
        after = s.replace(own=other, other=own, current_player=1 - s.current_player)
        return Outcome.win(after, s.current_player, won)

    def observe(self, s: GameState, player: Scalar) -> Observation:
        """Return the player's pieces, the opponent's, and the direction of the player (B7)."""
        grid, moves = self.grid, s.current_player == player
        planes = {
            "own pieces": where(moves, s.own, s.other),
            "the opponent's pieces": where(moves, s.other, s.own),
            "the player moves up": where(player == 0, grid.full, grid.empty),
        }
        return {name: bits(cells, self.cells) for name, cells in planes.items()}
