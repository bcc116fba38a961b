"""Oracle for `tensor_envs.rules`: numbers in plain Python, written from the language's documentation alone.

Every name has the meaning that it has in `tensor_envs.rules`, so that the same source runs with either module.
"""

from __future__ import annotations

import itertools
import operator
import struct
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Any

import numpy as np

NAN = 0x7FC00000  # one of the words that are no number
BITS = {"bool": 1, "int32": 32, "uint32": 32, "uint64": 64}


def wrapped(value: Any, kind: str) -> Any:
    """Return a number as one of a kind: integers wrap around, floats are rounded to float32 once."""
    if kind == "bool":
        return value != 0
    if kind == "float32":
        exact = value if isinstance(value, float) else (np.int64 if value < 0 else np.uint64)(value)
        with np.errstate(over="ignore"):
            return float(np.float32(exact))
    if isinstance(value, float):
        if value != value:
            return 0
        low = -(1 << 31) if kind == "int32" else 0
        return int(min(max(value, low), low + (1 << BITS[kind]) - 1))
    value = int(value) & (1 << BITS[kind]) - 1
    return value - (1 << 32) if kind == "int32" and value >> 31 else value


class Number:
    """One number of a kind."""

    __slots__ = ("kind", "value")

    def __init__(self, value: Any, kind: str):
        self.value, self.kind = wrapped(value, kind), kind

    def __repr__(self) -> str:
        return f"{self.kind}({self.value})"

    def __add__(self, x: Any) -> Number:
        return _arithmetic(operator.add, self, x)

    def __radd__(self, x: Any) -> Number:
        return _arithmetic(operator.add, x, self)

    def __sub__(self, x: Any) -> Number:
        return _arithmetic(operator.sub, self, x)

    def __rsub__(self, x: Any) -> Number:
        return _arithmetic(operator.sub, x, self)

    def __mul__(self, x: Any) -> Number:
        return _arithmetic(operator.mul, self, x)

    def __rmul__(self, x: Any) -> Number:
        return _arithmetic(operator.mul, x, self)

    def __floordiv__(self, x: Any) -> Number:
        return _arithmetic(lambda a, b: a // b if b else 0, self, x)

    def __rfloordiv__(self, x: Any) -> Number:
        return _arithmetic(lambda a, b: a // b if b else 0, x, self)

    def __mod__(self, x: Any) -> Number:
        return _arithmetic(lambda a, b: a % b if b else 0, self, x)

    def __rmod__(self, x: Any) -> Number:
        return _arithmetic(lambda a, b: a % b if b else 0, x, self)

    def __and__(self, x: Any) -> Number:
        return _bitwise(operator.and_, self, x)

    def __or__(self, x: Any) -> Number:
        return _bitwise(operator.or_, self, x)

    def __xor__(self, x: Any) -> Number:
        return _bitwise(operator.xor, self, x)

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def __lshift__(self, x: Any) -> Number:
        return _shift(operator.lshift, self, x)

    def __rlshift__(self, x: Any) -> Number:
        return _shift(operator.lshift, x, self)

    def __rshift__(self, x: Any) -> Number:
        return _shift(operator.rshift, self, x)

    def __rrshift__(self, x: Any) -> Number:
        return _shift(operator.rshift, x, self)

    def __neg__(self) -> Number:
        return 0 - self

    def __invert__(self) -> Number:
        return Number(not self.value if self.kind == "bool" else ~self.value, self.kind)

    def __eq__(self, x: object) -> Number:  # type: ignore[override]
        return _compare(operator.eq, self, x)

    def __ne__(self, x: object) -> Number:  # type: ignore[override]
        return _compare(operator.ne, self, x)

    def __lt__(self, x: Any) -> Number:
        return _compare(operator.lt, self, x)

    def __le__(self, x: Any) -> Number:
        return _compare(operator.le, self, x)

    def __gt__(self, x: Any) -> Number:
        return _compare(operator.gt, self, x)

    def __ge__(self, x: Any) -> Number:
        return _compare(operator.ge, self, x)

    __hash__ = None  # type: ignore[assignment]


def scalar(x: Any, like: str = "int32") -> Number:
    """Return a plain number as one of a kind; a bool is a bool, a float is a float32."""
    if isinstance(x, Number):
        return x
    return Number(x, {bool: "bool", float: "float32"}.get(type(x), "int32" if like == "bool" else like))


def _alike(a: Any, b: Any) -> tuple[Number, Number]:
    """Return both as numbers of one kind: a bool counts as 0 or 1."""
    a = scalar(a, b.kind if isinstance(b, Number) else "int32")
    b = scalar(b, a.kind)
    if a.kind == b.kind:
        return a, b
    assert "bool" in (a.kind, b.kind), f"{a} and {b} do not mix"
    return (Number(a.value, b.kind), b) if a.kind == "bool" else (a, Number(b.value, a.kind))


def _arithmetic(operation: Callable[[Any, Any], Any], a: Any, b: Any) -> Number:
    a, b = _alike(a, b)
    return Number(operation(a.value, b.value), "int32" if a.kind == "bool" else a.kind)


def _bitwise(operation: Callable[[Any, Any], Any], a: Any, b: Any) -> Number:
    a, b = _alike(a, b)
    return Number(operation(a.value, b.value), a.kind)


def _compare(operation: Callable[[Any, Any], Any], a: Any, b: Any) -> Number:
    a, b = _alike(a, b)
    return Number(operation(a.value, b.value), "bool")


def _shift(operation: Callable[[Any, Any], Any], a: Any, amount: Any) -> Number:
    amount = scalar(amount)
    a = scalar(a, amount.kind)
    kind = "int32" if a.kind == "bool" else a.kind
    return Number(operation(int(a.value), int(amount.value) % BITS[kind]), kind)


def int32(x: Any) -> Number:
    return Number(scalar(x).value, "int32")


def uint32(x: Any) -> Number:
    return Number(scalar(x, "uint32").value, "uint32")


def uint64(x: Any) -> Number:
    return Number(scalar(x, "uint64").value, "uint64")


def float32(x: Any) -> Number:
    return Number(scalar(x, "float32").value, "float32")


# *** choices and lists ***


def where(condition: Any, a: Any, b: Any) -> Any:
    if isinstance(a, list):
        return [where(condition, x, y) for x, y in zip(a, b, strict=True)]
    return _alike(a, b)[0 if scalar(condition).value else 1]


def maximum(a: Any, b: Any) -> Number:
    a, b = _alike(a, b)
    return b if a.value < b.value else a


def minimum(a: Any, b: Any) -> Number:
    a, b = _alike(a, b)
    return b if b.value < a.value else a


def MemoryArray(element: Callable[[Number], Any], size: int) -> list[Number]:
    return [scalar(element(int32(i))) for i in range(size)]


def select(values: Sequence[Any], index: Any) -> Number:
    kind = next((x.kind for x in values if isinstance(x, Number)), "int32")
    return scalar(values[scalar(index).value], kind)


lookup = select


def put(values: Sequence[Any], index: Any, value: Any) -> list[Number]:
    at = scalar(index).value
    return [_alike(value, old)[0 if i == at else 1] for i, old in enumerate(values)]


def any_of(conditions: Iterable[Any]) -> Number:
    return Number(any([scalar(x).value for x in conditions]), "bool")


def all_of(conditions: Iterable[Any]) -> Number:
    return Number(all([scalar(x).value for x in conditions]), "bool")


def sum_of(values: Iterable[Any]) -> Number:
    return scalar(reduce(operator.add, values, 0))


def union_of(words: Iterable[Any]) -> Number:
    return reduce(operator.or_, words)


def max_of(values: Iterable[Any]) -> Number:
    return reduce(maximum, values)


def min_of(values: Iterable[Any]) -> Number:
    return reduce(minimum, values)


def sort(values: Iterable[Any]) -> list[Number]:
    numbers = list(values)
    kind = next((x.kind for x in numbers if isinstance(x, Number)), "int32")
    return sorted((scalar(x, kind) for x in numbers), key=lambda x: x.value)


def argmax(values: Iterable[Any]) -> Number:
    entries = list(values)
    kind = next((x.kind for x in entries if isinstance(x, Number)), "int32")
    numbers = [scalar(x, kind).value for x in entries]
    return Number(numbers.index(max(numbers)), "int32")


def nth_missing(values: Iterable[Any], n: Any) -> Number:
    taken = {scalar(x).value for x in values}
    missing = (number for number in itertools.count() if number not in taken)
    return Number(next(itertools.islice(missing, int(scalar(n).value), None)), "int32")


def histogram(values: Iterable[Any], size: int) -> list[Number]:
    numbers = [scalar(x).value for x in values]
    return [Number(numbers.count(k), "int32") for k in range(size)]


def sow(ring: Sequence[Any], start: Any, count: Any, skip: Any = None) -> list[Number]:
    """Sow seed by seed."""
    pits, at = [scalar(x) for x in ring], int(scalar(start).value)
    for _ in range(int(scalar(count).value)):
        at = (at + 1) % len(pits)
        if skip is not None and at == scalar(skip).value:
            at = (at + 1) % len(pits)
        pits[at] = pits[at] + 1
    return pits


# *** sets ***


def popcount(x: Number, width: int | None = None) -> Number:
    return Number(bin(x.value).count("1"), "int32")


def nth_bit(x: Number, n: Any, width: int | None = None) -> Number:
    """Return the position of the n-th member, or -1 if there is none, where the language promises nothing."""
    members = [i for i in range(BITS[x.kind]) if x.value >> i & 1]
    at = scalar(n).value
    return Number(members[at] if 0 <= at < len(members) else -1, "int32")


def has_bit(words: Any, index: Any) -> Number:
    whole, at = words, scalar(index).value
    if isinstance(words, list):
        whole = Number(sum(x.value << 32 * k for k, x in enumerate(words)), "uint64")
    return Number(whole.value >> at & 1, "bool")


def bit(index: Any) -> Number:
    return Number(1 << scalar(index).value, "uint32")


def set_of(members: Iterable[Any], size: int) -> list[Number]:
    inside = {scalar(x).value for x in members}
    return pack_flags([k in inside for k in range(size)])


def pack_flags(flags: Sequence[Any]) -> list[Number]:
    whole = sum(1 << i for i, flag in enumerate(flags) if scalar(flag).value)
    return [Number(whole >> at, "uint32") for at in range(0, len(flags), 32)]


def halves(x: Number) -> tuple[Number, Number]:
    return Number(x.value, "uint32"), Number(x.value >> 32, "uint32")


def joined(low: Any, high: Any) -> Number:
    return Number(uint32(low).value + (uint32(high).value << 32), "uint64")


def threefry(key: Sequence[Any], counter: Sequence[Any]) -> tuple[Number, Number]:
    """Return Threefry-2x32 with 20 rounds, see `tensor_envs.rules.chance` for the paper."""
    mask = 2**32 - 1
    keys = [uint32(x).value for x in key]
    keys.append(keys[0] ^ keys[1] ^ 0x1BD11BDA)
    low, high = ((uint32(x).value + k) & mask for x, k in zip(counter, keys, strict=False))
    for turn in range(20):
        rotation = (13, 15, 26, 6, 17, 29, 16, 24)[turn % 8]
        low = (low + high) & mask
        high = (high << rotation & mask | high >> 32 - rotation) ^ low
        if turn % 4 == 3:
            n = turn // 4 + 1
            low, high = (low + keys[n % 3]) & mask, (high + keys[(n + 1) % 3] + n) & mask
    return Number(low, "uint32"), Number(high, "uint32")


# *** loops ***


def any_in_range(size: int, condition: Callable[[Number], Any]) -> Number:
    return any_of([condition(int32(i)) for i in range(size)])


def sum_in_range(size: int, term: Callable[[Number], Any]) -> Number:
    return Number(sum(int(scalar(term(int32(i))).value) for i in range(size)), "int32")


def union_in_range(size: int, term: Callable[[Number], Any]) -> Number:
    return union_of([scalar(term(int32(i))) for i in range(size)])


def repeat(
    size: Any, start: Sequence[Any], step: Callable[[list[Number]], Sequence[Any]], most: int | None = None
) -> list[Number]:
    kind = next((x.kind for x in start if isinstance(x, Number)), "int32")
    values = [scalar(x, kind) for x in start]
    for _ in range(int(scalar(size).value)):
        before, values = values, [scalar(x, kind) for x in step(values)]
        if [x.value for x in before] == [x.value for x in values]:
            break
    return values


def map_range(size: int, term: Callable[[Any], Any]) -> list[Number]:
    return [scalar(term(int32(i))) for i in range(size)]


rolled_map_range = map_range


# *** bits ***


def encoded(value: Any, kind: str) -> list[int]:
    """Return a number of a kind as its words of 32 bits, the low one first."""
    if kind == "float32":
        return [NAN] if value != value else [struct.unpack("I", struct.pack("f", value))[0]]
    bits = int(value) & 2**64 - 1
    return [bits & 2**32 - 1, bits >> 32] if kind == "uint64" else [bits & 2**32 - 1]


def decoded(words: Sequence[int], kind: str) -> Any:
    """Return the number of a kind that is encoded in words."""
    if kind == "float32":
        return struct.unpack("f", struct.pack("I", words[0]))[0]
    return wrapped(sum(int(x) << 32 * k for k, x in enumerate(words)), kind)
