"""The sixteen agents as bytes of four words, and sets of agents.

Word w holds agents 4w..4w+3, so White has the first two words and Black the others. A byte is an agent: bits 0-5 its
square, bit 6 its level (0 single or higher, 1 lower). Bit 7 stays clear, so bytes add without carries and four agents
are dealt with in one operation. A set of agents has FLAG in the byte of every member.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import add

from tinygrad import dtypes

from tensor_envs.core.memory import select
from tensor_envs.core.spec import Scalar
from tensor_envs.games.three_will.data import PLAYERS, SLOTS
from tensor_envs.games.three_will.sets import Bits

IN_WORD = 4  # agents a word
SIDE_WORDS = SLOTS // IN_WORD  # words a player
EACH = 0x01010101  # times a number: that number in every byte
SQUARE, FLAG = 0x3F, 0x40  # of a byte
FROM_56, FROM_8 = FLAG - 56, FLAG - 8  # added to a square: FLAG is set from there on


class Agents:
    """All agents, or the eight of one player: where they stand, and at which level."""

    def __init__(self, words: Iterable[Scalar]):
        self.words = tuple(words)

    def of(self, white: Scalar) -> Agents:
        """White's eight or, where `white` is not true, Black's."""
        pairs = zip(self.words[:SIDE_WORDS], self.words[SIDE_WORDS:], strict=True)
        return Agents(white.where(*pair) for pair in pairs)

    def byte(self, slot: int) -> Scalar:
        """The agent of a slot in the low byte of a word, with others above it."""
        return self.words[slot // IN_WORD] >> 8 * (slot % IN_WORD)

    def at(self, agent: Scalar) -> Scalar:
        """The byte of an agent, int32."""
        word = select(self.words, agent >> 2)
        place = (agent & (IN_WORD - 1)) << 3
        return (word >> place.cast(dtypes.uint32) & (SQUARE | FLAG)).cast(dtypes.int32)

    @property
    def squares(self) -> list[Scalar]:
        return [word & SQUARE * EACH for word in self.words]

    @property
    def lower(self) -> Bits:
        """The agents of level 1."""
        return Bits(word & FLAG * EACH for word in self.words)

    @property
    def locked(self) -> Bits:
        """The agents on their goal rows, of all sixteen: White's is row 7, Black's row 0 (G16)."""
        squares = self.squares
        white = [(word + FROM_56 * EACH) & FLAG * EACH for word in squares[:SIDE_WORDS]]
        black = [~(word + FROM_8 * EACH) & FLAG * EACH for word in squares[SIDE_WORDS:]]
        return Bits(white + black)

    def on(self, square: Scalar) -> Bits:
        """The agents on a square: those whose bytes differ from it by 0, to which SQUARE adds up to no FLAG."""
        wanted = square.cast(dtypes.uint32) * EACH
        return Bits(~((word ^ wanted) + SQUARE * EACH) & FLAG * EACH for word in self.squares)

    def put(self, members: Bits, square: Scalar) -> Agents:
        """Put the members of a set on a square; levels stay."""
        wanted, moved = square.cast(dtypes.uint32) * EACH, []
        for word, flags in zip(self.words, members.words, strict=True):
            member = flags - (flags >> 6)  # in their bytes FLAG - 1, which is SQUARE
            moved.append(word ^ ((word ^ wanted) & member))
        return Agents(moved)

    def with_lower(self, lower: Bits) -> Agents:
        """The same squares with other levels."""
        return Agents(squares | flags for squares, flags in zip(self.squares, lower.words, strict=True))


def packed(squares: Sequence[int], levels: Sequence[int]) -> list[int]:
    """Agents in plain numbers -> the words of `Agents`."""
    agents = [square | FLAG * level for square, level in zip(squares, levels, strict=True)]
    by_word = [agents[first : first + IN_WORD] for first in range(0, len(agents), IN_WORD)]
    return [sum(agent << 8 * k for k, agent in enumerate(four)) for four in by_word]


def everybody() -> Bits:
    return Bits.constant(*[FLAG * EACH] * (PLAYERS * SIDE_WORDS))


def of_player(members: Bits, player: int) -> Bits:
    """One player's part of a set."""
    return Bits(members.words[SIDE_WORDS * player :][:SIDE_WORDS])


def count(members: Bits) -> Scalar:
    """How many of one player's agents are in the set, int32."""
    in_bytes = reduce(add, (word >> 6 for word in members.words))
    in_halves = in_bytes + (in_bytes >> 16)
    return ((in_halves + (in_halves >> 8)) & 0xF).cast(dtypes.int32)
