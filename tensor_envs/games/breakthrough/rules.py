"""Breakthrough: pieces move one step forward and capture diagonally; one on the opponent's home row wins.

Rules and rulings: RULES.md beside this file. The board is two sets of cells, the pieces of the player to move and the
opponent's; cells are numbered row by row from the bottom.
"""

from dataclasses import dataclass
from typing import Any

from tensor_envs._validate import integer as checked
from tensor_envs.games._kit.sets import shifted, union, without
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
    lookup,
    num_words,
    pack,
    union_of,
    where,
    word,
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

    @property
    def spec(self) -> Spec:
        fields = tuple(Field(name, (num_words(self.cells),), kind="word") for name in ("own", "other"))
        shape = (3, self.rows, self.columns)
        return Spec(2, len(DIRECTIONS) * self.cells, observation_shape=shape, fields=fields)

    def init(self, chance: Chance) -> dict[str, Any]:
        home = 2 * self.columns
        return {"own": pack(range(home), self.cells), "other": pack(range(self.cells - home, self.cells), self.cells)}

    def legal_action_mask(self, s: GameState) -> Mask:
        """Return the cells whose pieces may move in each of the directions (B2)."""
        planes, size = [], num_words(len(DIRECTIONS) * self.cells)
        for k, (up, right) in enumerate(DIRECTIONS):
            taken = s.own if right else union([s.own, s.other])
            inside = [c for c in range(self.cells) if 0 <= c % self.columns + right < self.columns]
            movers = [a & b for a, b in zip(s.own, pack(inside, self.cells), strict=True)]
            free = without(movers, shifted(taken, -(up * self.columns + right)))
            moves = [where(s.current_player == (up < 0), cells, 0) for cells in free]
            planes.append(shifted([*moves, *[word(0)] * (size - len(moves))], k * self.cells))
        return union(planes)

    def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
        cell = action % self.cells
        target = cell + lookup([up * self.columns + right for up, right in DIRECTIONS], action // self.cells)
        places = range(len(s.own))
        start, end = ([where(at // WORD_BITS == w, bit(at % WORD_BITS), 0) for w in places] for at in (cell, target))
        own = [pieces ^ a | b for pieces, a, b in zip(s.own, start, end, strict=True)]
        other = without(s.other, end)
        home = where(s.current_player == 0, target >= self.cells - self.columns, target < self.columns)
        won = home | (union_of(other) == 0)  # B4
        after = s.replace(own=other, other=own, current_player=1 - s.current_player)
        return Outcome.win(after, s.current_player, won)

    def observe(self, s: GameState, player: Scalar) -> Observation:
        """Return the player's pieces, the opponent's, and the direction of the player (B7)."""
        moves, every = s.current_player == player, pack(range(self.cells), self.cells)
        planes = {
            "own pieces": where(moves, s.own, s.other),
            "the opponent's pieces": where(moves, s.other, s.own),
            "the player moves up": [where(player == 0, word(w), 0) for w in every],
        }
        return {name: bits(cells, self.cells) for name, cells in planes.items()}
