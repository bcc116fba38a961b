"""Lists of scalars: at computed indices, and as a whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from operator import add, and_, or_
from typing import Any, NoReturn

from tinygrad.dtype import DType

from tensor_envs._compiler.tape import WORD
from tensor_envs.rules.scalar import Scalar, Value, refuse, scalar, where


class MemoryArray:
    """Memory field of one game, computed element by element. Changes are overlays until the kernel stores them.

    Examples:
        >>> MemoryArray(lambda i: i * i, 5)[3]
        int(9)
    """

    def __init__(self, element: Callable[[Scalar], Scalar], size: int):
        self.element, self.size = element, size

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: Scalar | int) -> Scalar:
        return self.element(scalar(index))


class FixedList(list[Any]):
    """Immutable list of a field's numbers. Slices and copies are plain lists."""

    def _refused(self, *_: Any, **__: Any) -> NoReturn:
        refuse("a field's list does not change: write s.replace(field=put(s.field, i, value)), or list(s.field)")

    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refused  # type: ignore[assignment]
    append = extend = insert = pop = remove = clear = sort = reverse = _refused  # type: ignore[assignment]


Array = Sequence[Value] | MemoryArray


def as_list(value: Any) -> list[Any]:
    """Return a field's value as a list of numbers."""
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _alike(values: Sequence[Value]) -> list[Scalar]:
    """Convert plain numbers among scalars to the kind of the first scalar."""
    like = _kind(values)
    return [scalar(x, like) for x in values]


def _kind(values: Sequence[Value]) -> DType | None:
    return next((x.dtype for x in values if isinstance(x, Scalar)), None)


def _known(index: Any) -> int | None:
    index = scalar(index)
    return int(index.value) if index.known else None


def select(values: Array, index: Value) -> Scalar:
    """Return values[index] at a computed index, which must be in range.

    Examples:
        >>> select([4, 5, 6], integer(2))
        int(6)
    """
    if isinstance(values, MemoryArray):
        return values[scalar(index)]
    if not values:
        refuse("there is nothing to select from an empty list", ValueError)
    at = _known(index)
    if at is not None:  # beyond the range, as in a kernel: the first
        value = values[at if 0 <= at < len(values) else 0]
        return value if isinstance(value, Scalar) else scalar(value, _kind(values))
    chosen, *others = _alike(values)
    for i, value in enumerate(others, 1):
        chosen = where(index == i, value, chosen)
    return chosen


def put(values: Array, index: Value, value: Value) -> Any:
    """Return the list with one entry replaced at a computed index; an index out of range changes nothing.

    Examples:
        >>> put([4, 5, 6], integer(0), 7)
        [int(7), int(5), int(6)]
    """
    if isinstance(values, MemoryArray):
        return MemoryArray(lambda i: where(i == index, value, values[i]), values.size)
    return [where(scalar(index) == i, value, old) for i, old in enumerate(values)]


def lookup(table: Sequence[Value], index: Value) -> Scalar:
    """Return table[index] of a constant table at a computed index, which must be in range, by halving.

    Examples:
        >>> lookup([4, 5, 6], integer(1))
        int(5)
    """
    at = _known(index)
    if at is not None:
        return select(table, at)
    values = _alike(table)
    index, bit = scalar(index), 0
    while len(values) > 1:
        odd = (index >> bit & 1) != 0
        pairs = zip(values[::2], values[1::2], strict=False)
        values = [where(odd, high, low) for low, high in pairs] + values[len(values) & ~1 :]
        bit += 1
    return values[0]


def any_of(conditions: Iterable[Value]) -> Scalar:
    """Return whether one of several conditions holds; False for none.

    Examples:
        >>> any_of(integer(3) == x for x in (1, 3))
        bool(True)
    """
    return reduce(or_, map(scalar, conditions), scalar(False))


def all_of(conditions: Iterable[Value]) -> Scalar:
    """Return whether all of several conditions hold; True for none.

    Examples:
        >>> all_of(integer(3) == x for x in (1, 3))
        bool(False)
    """
    return reduce(and_, map(scalar, conditions), scalar(True))


def sum_of(values: Iterable[Value]) -> Scalar:
    """Sum several numbers, bools counting as 0 or 1; 0 for none.

    Examples:
        >>> sum_of([True, integer(2), 3])
        int(6)
    """
    return scalar(reduce(add, values, 0))


def union_of(words: Iterable[Value]) -> Scalar:
    """Return the bitwise or of one or more words.

    Examples:
        >>> union_of([word(1), word(6)])
        word(7)
    """
    return scalar(reduce(or_, words), WORD)
