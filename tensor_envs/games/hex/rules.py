"""Hex: on a rhombus of six-sided cells each player connects two opposite sides; one of them always does.

Rules and rulings: RULES.md beside this file. CellSet are numbered row by row from the top. Sets of cells and the planes
of group numbers: `games._kit.sets`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tensor_envs._validate import instance
from tensor_envs._validate import integer as checked
from tensor_envs.games._kit.sets import CellSet, both, group_of, meet, number, shifted, union, without
from tensor_envs.rules import (
    WORD_BITS,
    Actions,
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
    maximum,
    num_words,
    pack,
    union_of,
    where,
    word,
)

MAX_SIZE = 19


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
        object.__setattr__(self, "size", checked("size", self.size, 1, MAX_SIZE))
        instance("swap", self.swap, bool)

    @cached_property
    def cells(self) -> int:
        """Number of cells."""
        return self.size**2

    @cached_property
    def words(self) -> int:
        """Number of words of a set of cells."""
        return num_words(self.cells)

    @cached_property
    def planes(self) -> int:
        """Number of bits of a group's number."""
        return self.cells.bit_length()

    @cached_property
    def actions(self) -> Actions:
        """A stone in a cell, or a swap."""
        return Actions(cell=self.cells, swap=self.swap)

    @property
    def spec(self) -> Spec:
        # the stones of the player to move, the other player's, and the planes of the groups' numbers
        sets = tuple(Field(name, (self.words,), kind="word") for name in ("own", "other"))
        groups = Field("groups", (self.planes, self.words), kind="word")
        return Spec(2, self.actions.count, (3, self.size, self.size), (*sets, groups))

    def init(self, chance: Chance) -> dict[str, Any]:
        return {}

    def legal_action_mask(self, s: GameState) -> Mask:
        """Return the empty cells (H2), and a swap in the second ply (H3)."""
        empty = [~(a | b) & c for a, b, c in zip(s.own, s.other, self.board, strict=True)]
        return self.actions.mask(cell=empty, swap=s.ply == 1)

    def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
        planes = s.groups
        own, other, cell = s.own, s.other, action
        if self.swap:
            swaps, nothing = action == self.cells, [word(0)] * self.words
            taken = number([union_of(plane) != 0 for plane in planes]) - 1  # the only stone's cell
            cell = where(swaps, taken % self.size * self.size + taken // self.size, action)
            own, other = where(swaps, nothing, own), where(swaps, nothing, other)
            planes = [where(swaps, nothing, plane) for plane in planes]
        stone = [where(cell // WORD_BITS == w, bit(cell % WORD_BITS), 0) for w in range(self.words)]
        group, highest = stone, cell + 1
        for near in self.neighbours(stone):  # two cells that touch each other: stones there are of one group
            joined, joined_number = group_of(both(near, own), own, planes)
            group, highest = union([group, joined]), maximum(highest, joined_number)
        renumbered = [
            [w & ~cells | where((highest >> k & 1) != 0, cells, 0) for w, cells in zip(plane, group, strict=True)]
            for k, plane in enumerate(planes)
        ]
        upright = s.current_player == 0
        won = meet(where(upright, *map(words_of, self.starts)), group)
        won &= meet(where(upright, *map(words_of, self.ends)), group)
        after = s.replace(own=other, other=union([own, stone]), groups=renumbered, current_player=1 - s.current_player)
        return Outcome.win(after, s.current_player, won)

    def neighbours(self, stone: CellSet) -> list[CellSet]:
        """Return the cells around a cell, in pairs of adjacent ones; some may be beyond the last cell."""
        left, right = (without(stone, words_of(edge)) for edge in (self.starts[1], self.ends[1]))
        n = self.size
        ring = (
            (shifted(stone, -n), shifted(right, 1 - n)),
            (shifted(right, 1), shifted(stone, n)),
            (shifted(left, n - 1), shifted(left, -1)),
        )
        return [union(pair) for pair in ring]

    @cached_property
    def board(self) -> list[int]:
        """Set of all cells."""
        return pack(range(self.cells), self.cells)

    @cached_property
    def starts(self) -> tuple[list[int], list[int]]:
        """Sides from which player 0 and player 1 connect: the first row, the first column (H1)."""
        return pack(range(self.size), self.cells), pack(range(0, self.cells, self.size), self.cells)

    @cached_property
    def ends(self) -> tuple[list[int], list[int]]:
        """Opposite sides: the last row, the last column."""
        row, column = range(self.cells - self.size, self.cells), range(self.size - 1, self.cells, self.size)
        return pack(row, self.cells), pack(column, self.cells)

    def observe(self, s: GameState, player: Scalar) -> Observation:
        """Return the player's stones, the opponent's, and whether the player connects rows (H5)."""
        moves = s.current_player == player
        own, other = where(moves, s.own, s.other), where(moves, s.other, s.own)
        upright = [where(player == 0, cells, 0) for cells in words_of(self.board)]
        planes = {"own stones": own, "the opponent's stones": other, "the player connects rows": upright}
        return {name: bits(cells, self.cells) for name, cells in planes.items()}


def words_of(cells: Iterable[int]) -> list[Scalar]:
    """Return the words of a constant set as scalars."""
    return [word(w) for w in cells]
