"""Tic-tac-toe on a board of any shape: k marks in a straight line win (or lose); a full board without one is a draw.

With gravity a mark falls along the first axis: only the lowest empty cell of a column is legal.

Rules and rulings: RULES.md beside this file. The board is two sets of cells as bit words, the marks of the player to
move and the opponent's. The win check is the Kronecker-delta convolution on bits (`ops.bits.completed`). For a board
with too many words and directions to unroll, it is restricted to the lines through the last move.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from math import prod
from typing import Any

from tensor_envs.ops.bits import completed
from tensor_envs.ops.lines import check_board, direction, num_directions, strides
from tensor_envs.rules import WORD_BITS, Scalar, any_in_range, uint32, where
from tensor_envs.rules.chance import Chance
from tensor_envs.rules.lists import MemoryArray, all_of, bit, has_bit, num_words, union_of
from tensor_envs.rules.observation import Observation, bits
from tensor_envs.rules.plain import check_fields
from tensor_envs.rules.spec import Field, GameState, Mask, Outcome, Spec

MAX_CELLS = 2**30  # an observation has two planes of them, and at most 2^31 - 1 numbers
# limits beyond which unrolled code compiles and runs slowly
UNROLLED_WORDS = 16
UNROLLED_OPERATIONS = 2000


@dataclass(frozen=True)
class HyperTicTacToe:
    """Rule fields of hyperdimensional tic-tac-toe (G4).

    Attributes:
        shape: sides of the board, 1..12 of them; at most 2^30 - 1 cells.
        k: marks in a line that win, at most the longest side.
        misere: whether a line loses instead.
        gravity: whether a mark falls along the first axis onto another mark or the floor.
    """

    shape: tuple[int, ...] = (3, 3, 3)
    k: int = 3
    misere: bool = False
    gravity: bool = False

    def __post_init__(self) -> None:
        check_fields(self, misere=bool, gravity=bool)
        check_board(self.shape, self.k)
        object.__setattr__(self, "shape", tuple(map(int, self.shape)))
        object.__setattr__(self, "k", int(self.k))
        if self.cells >= MAX_CELLS:
            raise ValueError(f"shape must have fewer than {MAX_CELLS} cells, got {self.cells}")
        if self.k > max(self.shape):
            limit = f"k is at most {max(self.shape)}"
            raise ValueError(f"no line of k={self.k} fits on shape {self.shape}: {limit}")

    @cached_property
    def cells(self) -> int:
        """Number of cells."""
        return prod(self.shape)

    @cached_property
    def words(self) -> int:
        """Number of words of a set of cells."""
        return num_words(self.cells)

    @cached_property
    def unrolled(self) -> bool:
        """Whether boards are small enough for unrolled code."""
        operations = self.words * num_directions(len(self.shape)) * max(1, (self.k - 1).bit_length())
        return self.words <= UNROLLED_WORDS and operations <= UNROLLED_OPERATIONS

    @cached_property
    def spec(self) -> Spec:
        return Spec(
            num_players=2,
            num_actions=self.cells,
            observation_shape=(2, *self.shape),
            # marks of the player to move, and the opponent's
            fields=tuple(
                Field(name, (self.words,), kind="uint32", memory=not self.unrolled) for name in ("own", "other")
            ),
        )

    def init(self, chance: Chance) -> dict[str, Any]:
        return {}

    def word_by_word(self, term: Callable[[Any], Scalar]) -> Any:
        """Return a set of cells from its words: a list if boards are unrolled, else an array in memory."""
        return list(map(term, range(self.words))) if self.unrolled else MemoryArray(term, self.words)

    def legal_action_mask(self, s: GameState) -> Mask:
        """Return the empty cells (G5); with gravity, those on the floor or on a mark (G11)."""
        last = self.words - 1
        whole = uint32(2**WORD_BITS - 1)
        rest = uint32(2 ** (self.cells - last * WORD_BITS) - 1)

        def empty(w: Any) -> Scalar:
            return ~(s.own[w] | s.other[w]) & where(w < last, whole, rest)

        return self.word_by_word(lambda w: empty(w) & self.supported(s, w) if self.gravity else empty(w))

    def supported(self, s: GameState, w: Any) -> Scalar:
        """Return the cells of a word that are on the floor or on a mark."""
        below = self.cells // self.shape[0]
        skip, shift = divmod(below, WORD_BITS)
        first, rest = divmod(self.cells - below, WORD_BITS)  # word and bit of the first cell on the floor

        def marks(at: Any) -> Scalar:
            last = self.words - 1  # beyond it are only cells below the floor
            at = min(at, last) if isinstance(at, int) else where(at < last, at, last)
            return s.own[at] | s.other[at]

        whole = uint32(2**WORD_BITS - 1)
        floor = where(w > first, whole, where(w == first, uint32(2**WORD_BITS - 2**rest), 0))
        far = marks(w + skip + 1) << WORD_BITS - shift if shift else 0
        return floor | marks(w + skip) >> shift | far

    def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
        mark = bit(action % WORD_BITS)
        word = action // WORD_BITS
        marks = self.word_by_word(lambda w: s.own[w] | where(w == word, mark, 0))
        won = self.any_line(marks) if self.unrolled else self.line_through(s.own, action)
        winner = 1 - s.current_player if self.misere else s.current_player  # G10
        after = s.replace(own=s.other, other=marks, current_player=1 - s.current_player)
        return Outcome.win(after, winner, won).draw(s.ply + 1 == self.cells)

    def any_line(self, marks: Any) -> Scalar:
        """Return whether any line is complete, by the unrolled convolution."""
        return union_of(chain.from_iterable(completed(marks, self.shape, self.k))) != 0

    def line_through(self, marks: Any, cell: Scalar) -> Scalar:
        """Return whether a mark in one more cell completes a line, by the lines through that cell."""
        steps = strides(self.shape)
        coordinates = [cell // step % n for step, n in zip(steps, self.shape, strict=True)]

        def complete(number: Scalar) -> Scalar:
            entries = direction(number + 1, len(coordinates))
            step = sum(e * n for e, n in zip(entries, steps, strict=True))
            length: Any = 1
            for sign in (1, -1):
                connected: Any = True
                for t in range(sign, sign * self.k, sign):
                    ahead = [c + e * t for c, e in zip(coordinates, entries, strict=True)]
                    connected &= all_of((a >= 0) & (a < n) for a, n in zip(ahead, self.shape, strict=True))
                    connected &= has_bit(marks, where(connected, cell + step * t, cell))
                    length += connected
            return length >= self.k

        return any_in_range(num_directions(len(coordinates)), complete)

    def observe(self, s: GameState, player: Scalar) -> Observation:
        """Return the player's marks, then the opponent's (G7)."""
        moves = s.current_player == player
        own = self.word_by_word(lambda w: where(moves, s.own[w], s.other[w]))
        other = self.word_by_word(lambda w: where(moves, s.other[w], s.own[w]))
        return {"own marks": bits(own, self.cells), "the opponent's marks": bits(other, self.cells)}
