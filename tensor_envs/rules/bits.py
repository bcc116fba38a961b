"""Sets as bit words: member i is bit i % 32 of word i // 32."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import or_
from typing import Any

from tensor_envs._compiler import arithmetic
from tensor_envs._compiler.tape import BOOL, INT, WORD, WORD64
from tensor_envs.rules.lists import MemoryArray, select, sum_of
from tensor_envs.rules.scalar import BITS, WORD_BITS, Scalar, Value, integer, is_gpu, refuse, scalar, where, word


def num_words(size: int) -> int:
    """Return the number of words of a set with members 0..size-1.

    Examples:
        >>> num_words(33)
        2
    """
    return -(-size // WORD_BITS)


def pack(members: Iterable[int], size: int) -> list[int]:
    """Pack members, plain ints below size, to words, plain ints.

    Examples:
        >>> pack([0, 2, 33], 40)
        [5, 2]
    """
    words = [0] * num_words(size)
    for member in members:
        words[member // WORD_BITS] |= 1 << member % WORD_BITS
    return words


def unpack(words: Sequence[int], size: int) -> list[int]:
    """Unpack words, plain ints, to members in ascending order.

    Examples:
        >>> unpack([5, 2], 40)
        [0, 2, 33]
    """
    return [i for i in range(size) if words[i // WORD_BITS] >> i % WORD_BITS & 1]


def pack_flags(flags: Sequence[Value]) -> list[Scalar]:
    """Pack conditions, one per member, to words.

    Examples:
        >>> pack_flags([True, False, True])
        [word(5)]
    """
    bits = [word(scalar(flag)) << i % WORD_BITS for i, flag in enumerate(flags)]
    return [reduce(or_, bits[i : i + WORD_BITS]) for i in range(0, len(bits), WORD_BITS)]


def has_bit(words: Any, index: Value) -> Scalar:
    """Return whether a set (a Scalar, a list of words or a MemoryArray) has a member of a computed index, in range.

    Examples:
        >>> has_bit(word(5), 2), has_bit([0, word(2)], integer(33))
        (bool(True), bool(True))
    """
    if isinstance(words, Scalar):
        return (words >> integer(index) & 1) != 0
    index = integer(index)
    if not isinstance(words, MemoryArray) and len(words) == 1:
        chosen = word(words[0])
    else:
        chosen = word(select(words, index // WORD_BITS))
    return (chosen >> index % WORD_BITS & 1) != 0


def bit(index: Value) -> Scalar:
    """Return the word with the one bit 0..31 of a computed index.

    Examples:
        >>> bit(integer(3))
        word(8)
    """
    return word(1) << integer(index)


def _counts(x: Scalar, width: int) -> list[Scalar]:
    """Count the bits in groups of 1, 2, 4, ... width adjacent bits, each count in place of its group."""
    counts, size = [x], 1
    while size < width:
        size *= 2
        low = sum(((1 << size // 2) - 1) << at for at in range(0, BITS[x.dtype], size))
        counts.append((counts[-1] & low) + (counts[-1] >> size // 2 & low))
    return counts


def popcount(x: Value, width: int | None = None) -> Scalar:
    """Count the set bits of a word or word64, an int; bits from `width` (a power of two) on must be clear.

    Examples:
        >>> popcount(word(7))
        int(3)
    """
    x = scalar(x)
    if x.dtype in (BOOL, INT):
        refuse(f"bits are counted in a word or a word64, got {x.kind}")
    if x.known:
        return integer(int(x.value).bit_count())
    width = width or BITS[x.dtype]
    if not is_gpu():  # vectors of a processor rarely count bits
        return integer(_counts(x, width)[-1] & (2 * width - 1))
    if x.dtype is WORD64:
        return sum_of(popcount(half) for half in halves(x))
    return integer(Scalar(arithmetic.popcount(x.node), WORD))


def nth_bit(x: Value, n: Value, width: int | None = None) -> Scalar:
    """Return the index of the n-th set bit, from 0, among the lowest `width` (a power of two), an int; n must exist.

    Examples:
        >>> nth_bit(word(0b1010), 1)
        int(3)
    """
    x, n, position = scalar(x), integer(n), integer(0)
    if x.known and n.known:
        members = int(x.value)
        for _ in range(int(n.value)):
            members &= members - 1  # without the lowest
        return integer((members & -members).bit_length() - 1 if members else 0)
    size = width or BITS[x.dtype]
    levels = _counts(x, size)[:-1]
    # a GPU's threads shift each by a number of its own, which the lanes of a vector cannot in WebAssembly
    apart = is_gpu()
    while levels:  # halve the group: the bit is in its lower half or beyond
        size, groups = size // 2, levels.pop()
        lower = integer((groups >> position if apart else groups) & (2 * size - 1))
        upper = n >= lower
        n, position = where(upper, n - lower, n), where(upper, position + size, position)
        levels = levels if apart else [where(upper, level >> size, level) for level in levels]
    return position


def halves(x: Scalar) -> tuple[Scalar, Scalar]:
    """Split a word64 into its low and high words.

    Examples:
        >>> halves(joined(1, 2))
        (word(1), word(2))
    """
    return word(x), word(x >> WORD_BITS)


def joined(low: Value, high: Value) -> Scalar:
    """Join a low and a high word to a word64.

    Examples:
        >>> joined(0, 1)
        word64(4294967296)
    """
    return word(low).to(WORD64) | word(high).to(WORD64) << WORD_BITS
