"""Connect four as a third party's game: the player who gets four stones in a line wins; a full board is a draw.

A set of cells is 42 bits, row by row from the top: cell (row, column) is bit 7 * row + column.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tensor_envs.rules import (
    Chance,
    Field,
    GameState,
    Mask,
    Outcome,
    Part,
    Scalar,
    Spec,
    any_of,
    bits,
    integer,
    where,
    word,
    word64,
)

ROWS, COLUMNS = 6, 7


def region(rows: Iterable[int], columns: Iterable[int]) -> int:
    return sum(1 << COLUMNS * row + column for row in rows for column in columns)


TOP, BOTTOM, COLUMN = region([0], range(7)), region([5], range(7)), region(range(6), [0])
LEFT, RIGHT = region(range(6), range(4)), region(range(6), range(3, 7))
# the way from cell to cell of a line, and where it may start so that it does not leave the board sideways
LINES = ((1, LEFT), (7, LEFT | RIGHT), (8, LEFT), (6, RIGHT))  # right, down, down right, down left


@dataclass(frozen=True)
class ConnectFour:
    @property
    def spec(self) -> Spec:
        # stones of the player to move, and of the other
        fields = Field("own", kind="word64"), Field("other", kind="word64")
        return Spec(num_players=2, num_actions=COLUMNS, observation_shape=(2, ROWS, COLUMNS), fields=fields)

    def init(self, chance: Chance) -> dict[str, Any]:
        return {}

    def legal_action_mask(self, s: GameState) -> Mask:
        """Columns whose top cell is empty."""
        return [word(~(s.own | s.other)) & TOP]

    def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
        stones = s.own | s.other
        lands = ~stones & (stones >> COLUMNS | BOTTOM)  # empty cells above a stone or the floor
        own = s.own | lands & word64(COLUMN) << action
        won = any_of(self.has_line(own, way, starts) for way, starts in LINES)
        first = where(s.current_player == 0, integer(won), -integer(won))
        after = s.replace(own=s.other, other=own, current_player=1 - s.current_player)
        return Outcome(after, rewards=(first, -first), terminated=won | (s.ply + 1 == ROWS * COLUMNS))

    def has_line(self, own: Scalar, way: int, starts: int) -> Scalar:
        two = own & own >> way
        return (two & two >> 2 * way & starts) != 0

    def observe(self, s: GameState, player: Scalar) -> list[Part]:
        """The player's own stones, then the other's."""
        own, other = where(s.current_player == player, [s.own, s.other], [s.other, s.own])
        return [bits(own, ROWS * COLUMNS), bits(other, ROWS * COLUMNS)]
