"""Tic-tac-toe on a board of any shape: k own marks in one straight line win; a full board without a line is a draw.

Rules and rulings: RULES.md beside this file. The board is two sets of cells as bit words, the marks of the player to
move and the other's, so the win check is the Kronecker-delta convolution on bits (`ops.bits.completed`). A board with
too many words and directions to unroll is checked along the lines through the last move instead.
"""

from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import chain
from math import prod
from operator import or_
from typing import Any

from tinygrad import Tensor, UOp, dtypes

from tensor_envs.core.memory import MemoryArray, any_of, put, select
from tensor_envs.core.spec import Chance, Field, GameState, Mask, Outcome, Scalar, Spec
from tensor_envs.ops.bits import WORD, completed, has, num_words, pack
from tensor_envs.ops.lines import direction, num_directions, strides

UNROLLED_WORDS, UNROLLED_OPERATIONS = (
    16,
    2000,
)  # beyond them unrolled code compiles for seconds and runs slower
MAX_CELLS = 2**31 - 1  # actions are int32


@dataclass(frozen=True)
class HyperTicTacToe:
    """shape: the board's sides. k: marks in a line that win. ValueError unless at least one line fits (G4)."""

    shape: tuple[int, ...] = (3, 3, 3)
    k: int = 3

    def __post_init__(self) -> None:
        if not isinstance(self.shape, (tuple, list)):
            raise TypeError(f"shape must be a tuple of integers, got {self.shape!r}")
        object.__setattr__(self, "shape", tuple(self.shape))
        if not self.shape or not all(isinstance(n, int) and n >= 1 for n in self.shape):
            raise ValueError(f"shape must be one or more positive integers, got {self.shape}")
        if self.cells > MAX_CELLS:
            raise ValueError(
                f"a board has at most {MAX_CELLS} cells, got shape {self.shape} with {self.cells}"
            )
        if not isinstance(self.k, int) or self.k < 1:
            raise ValueError(f"k must be a positive integer, got {self.k!r}")
        if self.k > max(self.shape):
            raise ValueError(
                f"no line of k={self.k} fits on shape {self.shape}: k is at most {max(self.shape)}"
            )

    @cached_property
    def cells(self) -> int:
        return prod(self.shape)

    @cached_property
    def unrolled(self) -> bool:
        """Whether boards are small enough for code that names every word of them."""
        words, shifts = num_words(self.cells), (self.k - 1).bit_length()
        return (
            words <= UNROLLED_WORDS
            and words * num_directions(len(self.shape)) * shifts <= UNROLLED_OPERATIONS
        )

    @cached_property
    def spec(self) -> Spec:
        words = Field("own", (num_words(self.cells),), dtypes.uint32, memory=not self.unrolled)
        return Spec(
            num_players=2,
            num_actions=self.cells,
            observation_shape=(2, *self.shape),
            # the marks of the player to move, and the other player's
            fields=(words, Field("other", words.shape, words.dtype, words.memory)),
        )

    def init(self, chance: Chance) -> dict[str, Any]:
        return {}

    def legal_action_mask(self, s: GameState) -> Mask:
        """Empty cells (G5)."""
        words = num_words(self.cells)
        whole = pack(range(self.cells), self.cells)
        if self.unrolled:
            return [~(own | other) & cells for own, other, cells in zip(s.own, s.other, whole, strict=True)]

        def empty(w: Scalar) -> Scalar:
            cells = (w < words - 1).where(UOp.const(whole[0], dtypes.uint32), whole[-1])
            return ~(s.own[w] | s.other[w]) & cells

        return MemoryArray(empty, words)

    def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
        word, bit = action // WORD, (action % WORD).cast(dtypes.uint32)
        marks = put(s.own, word, select(s.own, word) | (bit.const_like(1) << bit))
        won = self.any_line(marks) if self.unrolled else self.line_through(marks, action)
        terminated = won | (s.ply + 1).eq(self.cells)
        win = won.where(won.const_like(1).cast(dtypes.int32), 0)
        first = s.current_player.eq(0).where(win, -win)
        after = s.replace(own=s.other, other=marks, current_player=1 - s.current_player)
        return Outcome(after, rewards=(first, -first), terminated=terminated)

    def any_line(self, marks: Any) -> Scalar:
        """Whether a line is complete anywhere: the convolution, unrolled."""
        lines = chain.from_iterable(completed(marks, self.shape, self.k))
        return reduce(or_, (word for word in lines if isinstance(word, UOp))).ne(0)

    def line_through(self, marks: Any, cell: Scalar) -> Scalar:
        """Whether a line through a marked cell is complete: the convolution at the only placements that are new."""
        steps = strides(self.shape)
        place = [cell // step % n for step, n in zip(steps, self.shape, strict=True)]

        def complete(number: Scalar) -> Scalar:
            entries = direction(number + 1, len(place))
            step = sum((e * n for e, n in zip(entries, steps, strict=True)), start=UOp.const(0, dtypes.int32))
            length = UOp.const(1, dtypes.int32)
            for sign in (1, -1):
                going = UOp.const(True, dtypes.bool)
                for t in range(1, self.k):
                    for e, c, n in zip(entries, place, self.shape, strict=True):
                        ahead = c + e * (sign * t)
                        going = going & (ahead < 0).logical_not() & (ahead < n)
                    going = going & has(marks, going.where(cell + step * (sign * t), cell))
                    length = length + going.cast(dtypes.int32)
            return (length < self.k).logical_not()

        return any_of(num_directions(len(place)), complete)

    def observe(self, s: GameState, player: Tensor) -> Tensor:
        """Own marks, then the other player's (G7)."""
        first = (s.current_player == player).reshape(-1, 1)
        planes = Tensor.stack(first.where(s.own, s.other), first.where(s.other, s.own), dim=1)
        cells = (planes.unsqueeze(-1) >> Tensor.arange(WORD, dtype=dtypes.uint32)) & 1
        return (cells.reshape(planes.shape[0], 2, -1)[:, :, : self.cells] != 0).reshape(-1, 2, *self.shape)
