"""Boards as bit words: sets of cells in uint32 words, cell i at bit i % 32 of word i // 32.

Everything works alike on kernel scalars, Tensors and, for tests, Python ints below 2^32.
"""

from collections.abc import Iterable, Sequence
from functools import reduce
from itertools import pairwise
from math import prod
from operator import mul, or_
from typing import Any

from tinygrad import dtypes

from tensor_envs.ops.lines import Shape, flat_step, line_directions, placements, starts, strides

WORD = 32
Words = Sequence[Any]


def num_words(cells: int) -> int:
    return -(-cells // WORD)


def pack(cells: Iterable[int], size: int) -> list[int]:
    """Indices of cells on a board of `size` cells -> words as Python ints."""
    words = [0] * num_words(size)
    for cell in cells:
        words[cell // WORD] |= 1 << cell % WORD
    return words


def unpack(words: Sequence[int], size: int) -> list[int]:
    """Words as Python ints -> the indices of their cells, ascending."""
    return [cell for cell in range(size) if words[cell // WORD] >> cell % WORD & 1]


def pack_flags(flags: Sequence[Any]) -> list[Any]:
    """Boolean scalars, one an index -> words."""
    bits = [flag.cast(dtypes.uint32) << i % WORD for i, flag in enumerate(flags)]
    return [reduce(or_, bits[i : i + WORD]) for i in range(0, len(bits), WORD)]


def has(words: Any, index: Any) -> Any:
    """Whether the bit at a computed index (in range) is set; `words`: a list, or anything indexed by scalars."""
    which, bit = index // WORD, (index % WORD).cast(dtypes.uint32)
    word = words[0] if isinstance(words, Sequence) else words[which]
    for i in range(1, len(words) if isinstance(words, Sequence) else 0):
        word = which.eq(i).where(words[i], word)
    return (word >> bit & 1).ne(0)


def _sums(word: Any, width: int) -> list[Any]:
    """Numbers of bits in groups of 1, 2, 4, .. width adjacent bits, each in place of its group."""
    sums, size = [word], 1
    while size < width:
        size *= 2
        low = sum(((1 << size // 2) - 1) << at for at in range(0, WORD, size))
        sums.append((sums[-1] & low) + (sums[-1] >> size // 2 & low))
    return sums


def popcount(word: Any, width: int = WORD) -> Any:
    """Number of bits set, int32; bits from `width` (a power of two) on are clear."""
    return (_sums(word, width)[-1] & (2 * width - 1)).cast(dtypes.int32)


def nth_bit(word: Any, n: Any, width: int = WORD) -> Any:
    """Index of the n-th bit set, from 0, of the lowest `width` (a power of two), int32; n below their number."""
    position = n.const_like(0)
    sums, size = _sums(word, width)[:-1], width
    for groups in reversed(sums):  # halve: is it in the lower half of the group, or that many further on?
        size //= 2
        lower = (groups >> position.cast(dtypes.uint32) & (2 * size - 1)).cast(dtypes.int32)
        upper = (n < lower).logical_not()
        n, position = upper.where(n - lower, n), upper.where(position + size, position)
    return position


def shift_down(words: Words, amount: int) -> list[Any]:
    """Cell i + amount moves to cell i; cells from beyond the end are empty (the int 0)."""
    skip, bits = divmod(amount, WORD)
    beyond = [*words[skip:], *[0] * (skip + 1)]
    return [low >> bits | high << WORD - bits if bits else low for low, high in pairwise(beyond)]


def completed(words: Words, shape: Shape, k: int) -> list[Words]:
    """For every direction that admits a line: the cells at which a completed line of k cells starts.

    This is the Kronecker-delta convolution over its valid placements, on bits: the sum of k shifted boards equals k
    exactly where their conjunction is 1. About log2(k) shifts do for k boards, since a run of a + b cells is a run of
    a cells followed by one of b. Starts are the constant sets of valid placements, so lines never wrap round an edge.
    """
    found: list[Words] = []
    for d in line_directions(len(shape)):
        if not placements(shape, k, d):
            continue
        run, length, step = list(words), 1, flat_step(shape, d)
        while length < k:
            more = min(length, k - length)
            run = [a & b for a, b in zip(run, shift_down(run, more * step), strict=True)]
            length += more
        valid = pack((sum(map(mul, start, strides(shape))) for start in starts(shape, k, d)), prod(shape))
        found.append([a & b for a, b in zip(run, valid, strict=True)])
    return found
