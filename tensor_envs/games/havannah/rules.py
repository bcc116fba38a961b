"""Havannah: on a hexagon of six-sided cells a ring, a bridge between two corners or a fork of three sides wins.

Rules and rulings: RULES.md beside this file. Planes of group numbers: `games._kit.sets`. Dictionaries, symmetries and
pictures are those of `games._kit.hex_stones`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

from tensor_envs.games._kit.hex_stones import HexStones
from tensor_envs.games._kit.sets import joined
from tensor_envs.rules import Chance, Field, GameState, GridSet, Mask, Outcome, Scalar, int32, sum_of, where
from tensor_envs.rules.plain import check_fields

MAX_SIZE = 10


@dataclass(frozen=True)
class Havannah(HexStones):
    """Rule fields of Havannah (V8).

    Attributes:
        size: cells a side, 2..10.
        swap: whether player 1 may take over player 0's first stone.
    """

    size: int = 8
    swap: bool = False

    title = "Havannah"
    steps = ((-1, -1), (-1, 0), (0, 1), (1, 1), (1, 0), (0, -1))  # once around a cell
    lean = -0.5

    def __post_init__(self) -> None:
        check_fields(self, size=(2, MAX_SIZE), swap=bool)

    @property
    def side(self) -> int:
        """Number of rows and of columns of the grid."""
        return 2 * self.size - 1

    @cached_property
    def inside(self) -> list[int]:
        """Cells on the board: those whose row and column differ by less than `size` (V1)."""
        places = product(range(self.side), repeat=2)
        return [self.side * row + column for row, column in places if abs(row - column) < self.size]

    @cached_property
    def edges(self) -> list[set[int]]:
        """Cells at the six edges of the board, each with both corners (V1)."""
        edges = [set[int]() for _ in range(6)]
        for cell in self.inside:
            row, column = divmod(cell, self.side)
            for k, place in enumerate((row, column, column - row + self.size - 1)):
                for end in (0, 1):
                    if place == end * (self.side - 1):
                        edges[2 * k + end].add(cell)
        return edges

    @cached_property
    def corners(self) -> set[int]:
        """Cells in the corners, at two edges each."""
        return {cell for cell in self.inside if sum(cell in edge for edge in self.edges) == 2}

    @cached_property
    def inner(self) -> set[int]:
        """Cells at no edge, which have six neighbours."""
        return set(self.inside) - {cell for edge in self.edges for cell in edge}

    @cached_property
    def memory(self) -> tuple[Field, ...]:
        """Planes of the groups' numbers."""
        return (Field("groups", (self.number(self.cells - 1).bit_length(), self.grid.words), kind="uint32"),)

    def number(self, cell: Any) -> Any:
        """Return the number of a cell; two cells of a row that touch each other have the same."""
        return cell // self.side * self.size + cell % self.side // 2 + 1

    def legal_action_mask(self, s: GameState) -> Mask:
        """Return the empty cells (V2), and that of player 0's stone if a swap is legal (V3)."""
        free = self.board - s.own
        return free - where((s.ply == 1) & self.swap, self.grid.empty, s.other)

    def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
        grid = self.grid
        stone = grid.cell(action)
        before, other, *planes = map(grid.set, (s.own, s.other, *s.groups))
        directions = [self.steps[k : k + 2] for k in (0, 2, 4)]
        group, planes, numbers = joined(action, self.number(action), before, planes, directions)
        own = before | stone
        other = other - stone  # in a swap
        bridge = (group & grid.of([*self.corners])).count() >= 2
        fork = sum_of((group & grid.of([*edge - self.corners])).any() for edge in self.edges) >= 3
        won = bridge | fork | self.closes_ring(before, stone, numbers) | self.has_centre(own)
        after = s.replace(own=other, other=own, groups=planes, current_player=1 - s.current_player)
        return Outcome.win(after, s.current_player, won).draw(~(self.board - own - other).any())

    def closes_ring(self, own: GridSet, stone: GridSet, numbers: Sequence[Scalar]) -> Scalar:
        """Return whether a new stone closes a ring around a cell beside it that is not its owner's (V6).

        The ring goes through two neighbours of one group, with cells of no stone of the owner between them on both ways
        around the new stone. So there are more runs of such neighbours around it than groups that it joins.
        """
        beside = [(cell & own).any() for cell in self.grid.neighbours(stone, self.steps)]
        runs = sum_of(this & ~following for this, following in zip(beside, beside[1:] + beside[:1], strict=True))
        groups = int32(0)
        for k, number in enumerate(numbers):
            is_new = number != 0
            for earlier in numbers[:k]:
                is_new &= number != earlier
            groups += is_new
        return runs > groups

    def has_centre(self, own: GridSet) -> Scalar:
        """Return whether a stone has six neighbours of its owner: the smallest ring around an own stone (V6)."""
        pairs = own & self.grid.moved(own, -1)  # stones whose right neighbour is a stone, too
        rows = [self.grid.moved(pairs, by) for by in (1, self.side + 1, -self.side)]
        return (pairs & rows[0] & rows[1] & rows[2] & self.grid.of([*self.inner])).any()

    def from_dict(self, game: dict[str, Any]) -> dict[str, Any]:
        """Return the fields of a dictionary (V10)."""
        fields = super().from_dict(game)
        count = sum(map(bool, game["board"]))
        ply = count + (count % 2 != fields["current_player"])  # a swap takes a ply and adds no stone
        return fields | {"ply": ply}

    def explain(self, game: dict[str, Any], action: int) -> str:
        """Return the effect of a swap."""
        return "take over Red's stone" if game["board"][action] else ""

    def winning(self, board: list[int]) -> tuple[set[int], str]:
        """Return the stones of a group that has won, and the reason."""
        for group in self.groups_of(board):
            if len(group & self.corners) >= 2:
                return group, "a bridge"
            if sum(bool(group & (edge - self.corners)) for edge in self.edges) >= 3:
                return group, "a fork"
            if self.surrounds(group):
                return group, "a ring"
        return set(), ""

    def surrounds(self, group: set[int]) -> bool:
        """Return whether a group is a ring around a cell, which may be one of its own (V6)."""
        near = self.neighbours
        free = set(self.inside) - group
        reached = free - self.inner
        new = reached
        while new:  # from the edges of the board
            new = {cell for place in new for cell in near(place)} & free - reached
            reached = reached | new
        filled = [cell for cell in group & self.inner if all(place in group for place in near(cell))]
        return reached != free or bool(filled)
