"""Lines on boards that are sets of cells: cell i is bit i % 32 of word i // 32.

Words are scalars of rules, Tensors or Python ints below 2^32.
"""

from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from math import prod
from operator import mul
from typing import Any

from tensor_envs.ops.lines import Shape, flat_step, line_directions, placements, starts, strides
from tensor_envs.rules import WORD_BITS, pack

Words = Sequence[Any]


def shift_down(words: Words, amount: int) -> list[Any]:
    """Move cell i + amount to cell i; cells from beyond the end are empty (the int 0)."""
    skip, bits = divmod(amount, WORD_BITS)
    down = [*words[skip:], *[0] * min(skip, len(words))]
    if not bits:
        return down
    shifted = [low >> bits | high << WORD_BITS - bits for low, high in pairwise(down)]
    return [*shifted, down[-1] >> bits]


def completed(words: Words, shape: Shape, k: int) -> list[Words]:
    """Return the cells at which completed lines of k cells start, for every direction that admits a line.

    A line starts where the conjunction of k shifted boards is 1. About log2(k) shifts suffice, since a run of a + b
    cells is a run of a cells followed by one of b. A constant set of valid starts excludes lines that wrap round an
    edge.
    """
    starts: list[Words] = []
    for step, valid in _starts(shape, k):
        run = list(words)
        length = 1
        while length < k:
            more = min(length, k - length)
            run = [a & b for a, b in zip(run, shift_down(run, more * step), strict=True)]
            length += more
        starts.append([a & b for a, b in zip(run, valid, strict=True)])
    return starts


@cache
def _starts(shape: Shape, k: int) -> list[tuple[int, list[int]]]:
    """Return the flat step and the valid starts of every direction that admits a line."""
    steps = strides(shape)
    return [
        (flat_step(shape, d), pack((sum(map(mul, start, steps)) for start in starts(shape, k, d)), prod(shape)))
        for d in line_directions(len(shape))
        if placements(shape, k, d)
    ]
