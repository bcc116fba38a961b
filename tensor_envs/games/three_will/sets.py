"""Sets of squares and of agents as bits of several words."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from operator import or_

from tinygrad import UOp, dtypes

from tensor_envs.core.spec import Scalar


def word(value: int) -> Scalar:
    return UOp.const(value, dtypes.uint32)


class Bits:
    """A set in uint32 words: `a & b` both, `a | b` either, `a - b` what of a is not in b."""

    def __init__(self, words: Iterable[Scalar]):
        self.words = tuple(words)

    @staticmethod
    def constant(*words: int) -> Bits:
        return Bits(map(word, words))

    def __and__(self, other: Bits) -> Bits:
        return Bits(a & b for a, b in zip(self.words, other.words, strict=True))

    def __or__(self, other: Bits) -> Bits:
        return Bits(a | b for a, b in zip(self.words, other.words, strict=True))

    def __sub__(self, other: Bits) -> Bits:
        return Bits(a & ~b for a, b in zip(self.words, other.words, strict=True))

    def only_if(self, condition: Scalar) -> Bits:
        """The set where the condition holds, elsewhere the empty one."""
        return Bits(condition.where(word, 0) for word in self.words)

    @property
    def some(self) -> Scalar:
        """Whether there is a member."""
        return reduce(or_, self.words).ne(0)


def choose(condition: Scalar, a: Bits, b: Bits) -> Bits:
    """condition ? a : b."""
    return Bits(condition.where(x, y) for x, y in zip(a.words, b.words, strict=True))
