"""Lists of scalars, and sets as bit words, where member i is bit i % 32 of word i // 32."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from operator import add, and_, or_
from typing import Any, NoReturn, overload

import numpy as np
from tinygrad.dtype import DType

from tensor_envs._compiler import arithmetic
from tensor_envs._compiler.tape import BOOL, FLOAT32, INT32, UINT32, UINT64
from tensor_envs.rules.kinds import BITS
from tensor_envs.rules.scalar import (
    WORD_BITS,
    Scalar,
    Value,
    int32,
    maximum,
    minimum,
    refuse,
    scalar,
    uint32,
    where,
    where_list,
    whole,
)


class MemoryArray:
    """Memory field of one game: a function from an index to an element. `put` wraps it until the kernel stores it.

    Examples:
        >>> MemoryArray(lambda i: i * i, 5)[3]
        int32(9)
    """

    def __init__(self, element: Callable[[Scalar], Scalar], size: int):
        self.element = element
        self.size = size

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: Scalar | int) -> Scalar:
        if not isinstance(index, Scalar):
            if not -self.size <= index < self.size:
                refuse(f"the index of a memory field must be in {-self.size}..{self.size - 1}, got {index}", IndexError)
            index = index % self.size
        _checked_plain_index(index, self.size)
        return self.element(scalar(index))


class FixedList(list[Any]):
    """Immutable list of a field's numbers or rows. A Scalar as index selects an entry; slices are plain lists."""

    def __init__(self, values: Iterable[Any]):
        super().__init__(FixedList(x) if isinstance(x, (list, tuple)) else x for x in values)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, Scalar):
            return select(self, index)
        if isinstance(index, tuple):
            refuse("a field of several axes is a list of lists: write s.field[i][j]")
        return super().__getitem__(index)

    def __bool__(self) -> bool:
        refuse("a field's list is no condition of Python's: write any_of(x != 0 for x in s.field), or len(s.field)")

    def _refused(self, *_: Any, **__: Any) -> NoReturn:
        """Raise TypeError, in place of the methods that change a list."""
        refuse("a field's list does not change: write s.replace(field=put(s.field, i, value)), or list(s.field)")

    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refused  # type: ignore[assignment]
    append = extend = insert = pop = remove = clear = sort = reverse = _refused  # type: ignore[assignment]


AnyList = Sequence[Any] | MemoryArray


def flat(value: Any) -> list[Any]:
    """Return the numbers of a field's value in C order."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    return [x for entry in value for x in flat(entry)] if isinstance(value, (list, tuple)) else [value]


def shape_of(value: Any) -> tuple[int, ...]:
    """Return the shape of nested lists or of an array; lists of unequal shapes count as single entries."""
    if isinstance(value, np.ndarray):
        return value.shape
    if not isinstance(value, (list, tuple)):
        return ()
    shapes = {shape_of(entry) for entry in value}
    return len(value), *(shapes.pop() if len(shapes) == 1 else ())


def nested(values: Sequence[Any], shape: Sequence[int]) -> Any:
    """Return numbers in C order as nested lists of a shape; for shape () the number itself."""
    if len(shape) < 2:
        return list(values) if shape else values[0]
    size = len(values) // shape[0]
    return [nested(values[first : first + size], shape[1:]) for first in range(0, len(values), size)]


def _of_one_kind(values: Sequence[Value]) -> list[Scalar]:
    """Convert plain numbers among scalars to the kind of the first scalar."""
    like = _kind(values)
    return [scalar(x, like) for x in values]


def _kind(values: Sequence[Value]) -> DType | None:
    """Return the kind of the first Scalar; without one, float32 if there is a float, else None."""
    kind = next((x.dtype for x in values if isinstance(x, Scalar)), None)
    return FLOAT32 if kind is None and any(isinstance(x, (float, np.floating)) for x in values) else kind


def plain_numbers(values: Sequence[Any], dtype: DType) -> list[Any] | None:
    """Return the numbers of plain scalars of a kind, or None if there are other values."""
    numbers = [x.node for x in values if type(x) is Scalar and x.is_plain and x.dtype is dtype]
    return numbers if len(numbers) == len(values) else None


def _checked_plain_index(index: Any, size: int) -> int | None:
    """Return a plain index, or None for one of a kernel. IndexError if a plain one is out of range."""
    index = whole("an index", index)
    if not index.is_plain:
        return None
    number = int(index.node)
    if not 0 <= number < size:
        refuse(f"an index must be in 0..{size - 1}, also where its entry is not used; got {number}", IndexError)
    return number


@overload
def select(values: Sequence[Value] | MemoryArray, index: Value) -> Scalar: ...
@overload
def select(values: Sequence[Sequence[Any]], index: Value) -> list[Any]: ...
def select(values: Any, index: Value) -> Any:
    """Return values[index], a number or a row, at a computed index, which must be in range.

    A field has this as an operator: `s.board[s.current_player]`.

    Examples:
        >>> select([4, 5, 6], int32(2)), select([[1, 2], [3, 4]], int32(1))
        (int32(6), [int32(3), int32(4)])
    """
    if isinstance(values, MemoryArray):
        return values[scalar(index)]
    if len(values) and isinstance(values[0], (list, tuple)):
        plain_index = _checked_plain_index(index, len(values))
        row = values[plain_index or 0]
        for i, other in enumerate(values[1:] if plain_index is None else (), 1):
            row = where(index == i, other, row)
        return FixedList(scalar(x) if not isinstance(x, (list, tuple)) else x for x in row)
    if not len(values):
        refuse("there is nothing to select from an empty list", ValueError)
    plain_index = _checked_plain_index(index, len(values))
    if plain_index is not None:
        value = values[plain_index]
        return value if isinstance(value, Scalar) else scalar(value, _kind(values))
    chosen, *others = _of_one_kind(values)
    for i, value in enumerate(others, 1):
        chosen = where(index == i, value, chosen)
    return chosen


def put(values: AnyList, index: Value, value: Any) -> Any:
    """Return the list with an entry, a number or a row, replaced at a computed index; out of range, it is unchanged.

    Examples:
        >>> put([4, 5, 6], int32(0), 7)
        [int32(7), int32(5), int32(6)]
        >>> put([[1, 2], [3, 4]], int32(1), [5, 6])
        [[int32(1), int32(2)], [int32(5), int32(6)]]
    """
    if isinstance(values, MemoryArray):
        return MemoryArray(lambda i: where(i == index, value, values[i]), values.size)
    index = whole("an index", index)
    return where_list([index == i for i in range(len(values))], [value] * len(values), values)


def lookup(table: Sequence[Value], index: Value) -> Scalar:
    """Return table[index] of a constant table at a computed index, which must be in range.

    The kernel halves the table by each bit of the index.

    Examples:
        >>> lookup([4, 5, 6], int32(1))
        int32(5)
    """
    if not isinstance(index, Scalar) or index.is_plain:
        return select(table, index)
    values = _of_one_kind(table)
    index = scalar(index)
    bit = 0
    while len(values) > 1:
        odd = (index >> bit & 1) != 0
        pairs = zip(values[::2], values[1::2], strict=False)
        values = [where(odd, high, low) for low, high in pairs] + values[len(values) & ~1 :]
        bit += 1
    return values[0]


def any_of(conditions: Iterable[Value]) -> Scalar:
    """Return whether one of several conditions holds; False for none.

    Examples:
        >>> any_of(int32(3) == x for x in (1, 3))
        bool(True)
    """
    conditions = list(conditions)
    numbers = plain_numbers(conditions, BOOL)
    return scalar(any(numbers)) if numbers else reduce(or_, map(_condition, conditions), scalar(False))


def all_of(conditions: Iterable[Value]) -> Scalar:
    """Return whether all of several conditions hold; True for none.

    Examples:
        >>> all_of(int32(3) == x for x in (1, 3))
        bool(False)
    """
    conditions = list(conditions)
    numbers = plain_numbers(conditions, BOOL)
    return scalar(all(numbers)) if numbers else reduce(and_, map(_condition, conditions), scalar(True))


def _condition(value: Value) -> Scalar:
    """Return a condition as a Scalar. TypeError unless it is a bool."""
    condition = scalar(value)
    if condition.dtype is not BOOL:
        refuse(f"a condition is a bool, got {condition.kind}: write x != 0")
    return condition


def sum_of(values: Iterable[Value]) -> Scalar:
    """Sum several numbers, bools counting as 0 or 1; 0 for none.

    Examples:
        >>> sum_of([True, int32(2), 3])
        int32(6)
    """
    values = list(values)
    numbers = plain_numbers(values, BOOL)
    return int32(sum(numbers)) if numbers else scalar(reduce(add, values, 0))


def union_of(words: Iterable[Any]) -> Any:
    """Return the bitwise or of one or more words, or the union of sets of a `Grid`.

    Examples:
        >>> union_of([uint32(1), uint32(6)])
        uint32(7)
    """
    words = list(words)
    numbers = plain_numbers(words, UINT32)
    union = uint32(reduce(or_, numbers)) if numbers else reduce(or_, words)
    return union if isinstance(union, list) else scalar(union, UINT32)


def _non_empty(values: Iterable[Value]) -> list[Scalar]:
    """Return one or more numbers as scalars of one kind."""
    numbers = _of_one_kind(list(values))
    if not numbers:
        refuse("values must have one or more numbers, got none", ValueError)
    return numbers


def max_of(values: Iterable[Value]) -> Scalar:
    """Return the greatest of one or more numbers.

    Examples:
        >>> max_of([2, int32(5), 3])
        int32(5)
    """
    return reduce(maximum, _non_empty(values))


def min_of(values: Iterable[Value]) -> Scalar:
    """Return the least of one or more numbers.

    Examples:
        >>> min_of([2, int32(5), 3])
        int32(2)
    """
    return reduce(minimum, _non_empty(values))


def argmax(values: Iterable[Value]) -> Scalar:
    """Return the index of the greatest of one or more numbers, the first of equal ones.

    Examples:
        >>> argmax([2, int32(5), 5])
        int32(1)
    """
    greatest, *others = _non_empty(values)
    index = int32(0)
    for i, value in enumerate(others, 1):
        index = where(value > greatest, i, index)
        greatest = maximum(greatest, value)
    return index


def sort(values: Iterable[Value]) -> list[Scalar]:
    """Return numbers in ascending order, by Batcher's odd-even merge sort.

    It has 9 comparisons of 5 numbers, 19 of 8 and 63 of 16.

    Examples:
        >>> sort([2, int32(5), 3])
        [int32(2), int32(3), int32(5)]
    """
    numbers = _of_one_kind(list(values))
    size = len(numbers)
    run = 1
    # Merge sorted runs of length `run` to runs of twice the length.
    while run < size:
        gap = run
        while gap:
            for start in range(gap % run, size - gap, 2 * gap):
                for i in range(start, min(start + gap, size - gap)):
                    if i // (2 * run) == (i + gap) // (2 * run):
                        a = numbers[i]
                        b = numbers[i + gap]
                        numbers[i] = minimum(a, b)
                        numbers[i + gap] = maximum(a, b)
            gap //= 2
        run *= 2
    return numbers


def nth_missing(values: Sequence[Value], n: Value) -> Scalar:
    """Return the n-th non-negative int, counted from 0, that is not among `values`, which are different and ascending.

    For a random card that is not taken, n is chance.draw(counter, 52 - len(taken)).

    Examples:
        >>> nth_missing([0, 2, 3], int32(1))
        int32(4)
    """
    number = int32(n)
    for value in values:
        number = number + (number >= value)
    return number


def histogram(values: Iterable[Value], size: int) -> list[Scalar]:
    """Return how often each of 0..size-1 is among the values.

    Examples:
        >>> histogram([int32(1), 2, 1], 3)
        [int32(0), int32(2), int32(1)]
    """
    numbers = list(values)
    return [int32(sum_of(scalar(x) == k for x in numbers)) for k in range(size)]


def sow(ring: Sequence[Value], start: Value, count: Value, skip: Value | None = None) -> list[Scalar]:
    """Sow seeds one by one into a ring of pits, in closed form.

    Args:
        ring: seeds in each of n pits, two or more.
        start: the pit before the first one that gets a seed, 0..n-1. Its own seeds stay: clear it first, with `put`.
        count: number of seeds, not negative; it may be more than a round.
        skip: a pit 0..n-1 that gets no seed; None: no pit is skipped.

    Returns:
        The seeds in each pit afterwards. Seeds go into the pits start + 1, start + 2, ... modulo n, without `skip`.

    Raises:
        ValueError: fewer than two pits.

    Examples:
        >>> sow([0, 0, 0, 0], start=int32(2), count=5, skip=0)
        [int32(0), int32(2), int32(1), int32(2)]
    """
    size = len(ring)
    if size < 2:
        refuse(f"ring must have two or more pits, got {size}", ValueError)
    start = int32(start)
    count = int32(count)
    order = [where(j > start, j - start, j - start + size) - 1 for j in range(size)]  # position in a round, by pit
    pits = size
    if skip is not None:
        # The pits after the skipped one move up.
        skipped = select(order, skip)
        pits = size - 1
        order = [position - int32(position > skipped) for position in order]
    # The first `rest` pits of a round get one seed more.
    rounds = count // pits
    rest = count % pits
    sown = [rounds + (position < rest) for position in order]
    if skip is not None:
        sown = [where(scalar(skip) == j, 0, seeds) for j, seeds in enumerate(sown)]
    return [scalar(old) + seeds for old, seeds in zip(ring, sown, strict=True)]


# *** sets as bit words ***


def num_words(size: int) -> int:
    """Return the number of words of a set with members 0..size-1.

    Examples:
        >>> num_words(33)
        2
    """
    return -(-size // WORD_BITS)


def pack(members: Iterable[int], size: int) -> list[int]:
    """Pack members, plain ints below `size`, into words, plain ints.

    Examples:
        >>> pack([0, 2, 33], 40)
        [5, 2]
    """
    words = [0] * num_words(size)
    for member in members:
        words[member // WORD_BITS] |= 1 << member % WORD_BITS
    return words


def unpack(words: Sequence[int], size: int) -> list[int]:
    """Return the members of a set of words, plain ints, in ascending order.

    Examples:
        >>> unpack([5, 2], 40)
        [0, 2, 33]
    """
    return [i for i in range(size) if words[i // WORD_BITS] >> i % WORD_BITS & 1]


def set_of(members: Iterable[Value], size: int) -> list[Scalar]:
    """Return the words of the set of computed members below `size`; negative numbers are ignored.

    Examples:
        >>> set_of([int32(2), 33, -1], 40)
        [uint32(4), uint32(2)]
    """
    numbers = list(map(int32, members))
    return [
        union_of([uint32(0), *(where(x // WORD_BITS == w, bit(x % WORD_BITS), 0) for x in numbers)])
        for w in range(num_words(size))
    ]


def pack_flags(flags: Sequence[Value]) -> list[Scalar]:
    """Pack conditions, one for each member, into words.

    Examples:
        >>> pack_flags([True, False, True])
        [uint32(5)]
    """
    numbers = plain_numbers(flags, BOOL)
    if numbers is not None:
        return [uint32(w) for w in pack((i for i, flag in enumerate(numbers) if flag), len(numbers))]
    bits = [uint32(scalar(flag)) << i % WORD_BITS for i, flag in enumerate(flags)]
    return [reduce(or_, bits[i : i + WORD_BITS]) for i in range(0, len(bits), WORD_BITS)]


def add_bits(words: list[Scalar], first: int, source: Sequence[Scalar], size: int) -> None:
    """Copy the first `size` bits of `source` into words in place, from bit `first` on, where bits must be clear."""
    for w in range(num_words(size)):
        count = min(size - w * WORD_BITS, WORD_BITS)
        value = source[w] & (1 << count) - 1
        target, shift = divmod(first + w * WORD_BITS, WORD_BITS)
        words[target] = words[target] | value << shift
        if shift + count > WORD_BITS:
            words[target + 1] = words[target + 1] | value >> WORD_BITS - shift


def has_bit(words: Any, index: Value) -> Scalar:
    """Return whether a computed index, which must be in range, is in a set: a Scalar, a list of words or a MemoryArray.

    Examples:
        >>> has_bit(uint32(5), 2), has_bit([0, uint32(2)], int32(33))
        (bool(True), bool(True))
    """
    index = int32(index)
    _checked_plain_index(index, BITS[words.dtype] if isinstance(words, Scalar) else WORD_BITS * len(words))
    if isinstance(words, Scalar):
        return (words >> index & 1) != 0
    if not isinstance(words, MemoryArray) and len(words) == 1:
        chosen = uint32(words[0])
    else:
        chosen = uint32(select(words, index // WORD_BITS))
    return (chosen >> index % WORD_BITS & 1) != 0


def bit(index: Value) -> Scalar:
    """Return a word with only the bit of a computed index 0..31.

    Examples:
        >>> bit(int32(3))
        uint32(8)
    """
    return uint32(1) << int32(index)


def popcount(x: Value, width: int | None = None) -> Scalar:
    """Return the number of set bits of a uint32 or uint64, an int32.

    With `width`, a power of two, bits from there on must be clear.

    Examples:
        >>> popcount(uint32(7))
        int32(3)
    """
    x = scalar(x)
    if x.dtype in (BOOL, INT32):
        refuse(f"bits are counted in a uint32 or a uint64, got {x.kind}")
    if x.is_plain:
        return int32(int(x.value).bit_count())
    if x.dtype is UINT64:
        return sum_of(popcount(half) for half in halves(x)[: num_words(width or BITS[UINT64])])
    return int32(Scalar(arithmetic.popcount(x.node), UINT32))


def nth_bit(x: Value, n: Value, width: int | None = None) -> Scalar:
    """Return the index of the n-th set bit, counted from 0, which must exist, an int32.

    With `width`, a power of two, bits from there on must be clear.

    Examples:
        >>> nth_bit(uint32(0b1010), 1)
        int32(3)
    """
    x = scalar(x)
    n = int32(n)
    position = int32(0)
    if x.is_plain and n.is_plain:
        members = int(x.value)
        for _ in range(int(n.value)):
            members &= members - 1  # clear the lowest set bit
        return int32((members & -members).bit_length() - 1 if members else 0)
    size = width or BITS[x.dtype]
    # Halve the bits until one is left: the n-th one is in the lower half or beyond.
    while size > 1:
        size //= 2
        lower = popcount(x & (1 << size) - 1, size)
        beyond = n >= lower
        n = where(beyond, n - lower, n)
        position = where(beyond, position + size, position)
        x = where(beyond, x >> size, x)
    return position


def halves(x: Scalar) -> tuple[Scalar, Scalar]:
    """Split a uint64 into its low and high words.

    Examples:
        >>> halves(joined(1, 2))
        (uint32(1), uint32(2))
    """
    return uint32(x), uint32(x >> WORD_BITS)


def joined(low: Value, high: Value) -> Scalar:
    """Join a low and a high word to a uint64.

    Examples:
        >>> joined(0, 1)
        uint64(4294967296)
    """
    return uint32(low).to(UINT64) | uint32(high).to(UINT64) << WORD_BITS
