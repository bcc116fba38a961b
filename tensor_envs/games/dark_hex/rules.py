"""Dark Hex: Hex whose players do not see each other's stones, except those that an attempt has found.

Rules and rulings: RULES.md beside this file. All but the sides is in `games._kit.hidden_stones`.
"""

from dataclasses import dataclass

from tensor_envs.games._kit.hidden_stones import HiddenStones
from tensor_envs.rules import Scalar, uint32, where
from tensor_envs.rules.plain import check_fields

MAX_SIZE = 5


@dataclass(frozen=True)
class DarkHex(HiddenStones):
    """Rule fields of dark Hex (D8).

    Attributes:
        size: cells a side, 1..5.
        abrupt: whether a failed attempt ends the turn.
    """

    size: int = 3
    abrupt: bool = False

    def __post_init__(self) -> None:
        check_fields(self, size=(1, MAX_SIZE), abrupt=bool)

    def has_won(self, stones: Scalar, player: Scalar) -> Scalar:
        """Return whether a set of stones connects the player's sides (D4)."""
        n = self.size
        row = 2**self.size - 1
        column = self.board // (2**self.size - 1)
        start, end = (where(player == 0, uint32(row << n * k * (n - 1)), uint32(column << k * (n - 1))) for k in (0, 1))
        reached = stones & start
        for _ in range(3 * n - 5):  # the longest shortest chain has so many steps, by all sets of up to 5x5 cells
            left = reached & ~column
            right = reached & ~(column << n - 1)
            near = left >> 1 | right << 1 | reached << n | reached >> n | right >> n - 1 | left << n - 1
            reached |= near & stones
        return (reached & end) != 0
