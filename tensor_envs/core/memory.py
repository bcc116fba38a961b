"""What a game too large to unroll needs inside a kernel: arrays in memory, access at computed indices, and loops."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from tinygrad import UOp, dtypes
from tinygrad.dtype import AddrSpace
from tinygrad.uop.ops import AxisType, Ops

Scalar = UOp

_numbers: ContextVar[Iterator[int]] = ContextVar("_numbers")
_rolled: ContextVar[bool] = ContextVar("_rolled", default=False)


@contextmanager
def tracing() -> Iterator[None]:
    """While one kernel is traced: its loops are numbered from 0, so that the same kernel always gets the same code."""
    token = _numbers.set(itertools.count())
    try:
        yield
    finally:
        _numbers.reset(token)


def number() -> int:
    """A number that the kernel being traced has not used for a loop or a register yet."""
    return next(_numbers.get())


@contextmanager
def rolled() -> Iterator[None]:
    """While what is played once in a while is traced: `series` are loops, which are short to compile."""
    token = _rolled.set(True)
    try:
        yield
    finally:
        _rolled.reset(token)


def loop(size: Scalar | int, kind: AxisType = AxisType.WEAK) -> Scalar:
    """The index of a new loop 0..size-1; what depends on it runs inside."""
    return UOp.range(size, number(), kind)


def branch(condition: Scalar) -> Scalar:
    """A loop that runs once where the condition holds and never where it does not: a C compiler's branch.

    A GPU language without booleans that count (WGSL) does not take it. Its bound is a bool, which tinygrad does not
    take for an index: ending it leaves the loops alone that the condition depends on.
    """
    return UOp(Ops.RANGE, src=(condition,), arg=(number(), AxisType.WEAK))


def _reduce(size: int, term: Callable[[Scalar], Scalar], op: Ops) -> Scalar:
    """Of terms that are not negative: 0 is neutral."""
    if size == 1:
        return term(UOp.const(0, dtypes.int32)).cast(dtypes.int32)
    i, register = loop(size), UOp.placeholder((1,), dtypes.int32, number(), AddrSpace.REG)
    value = term(i).cast(dtypes.int32)
    start = register.after(*(r for r in value.ranges if r is not i))[0].store(0)
    so_far = register.after(start, i)[0]
    return register.after(so_far.store(so_far.load().alu(op, value)).end(i))[0].load()


def any_of(size: int, condition: Callable[[Scalar], Scalar]) -> Scalar:
    """Whether the condition holds for some index 0..size-1."""
    return _reduce(size, condition, Ops.MAX).ne(0)


def sum_of(size: int, term: Callable[[Scalar], Scalar]) -> Scalar:
    """The sum of a term over the indices 0..size-1, int32."""
    return _reduce(size, term, Ops.ADD)


def series(size: int, term: Callable[[Any], Scalar]) -> list[Scalar]:
    """A term for 0..size-1: for each number alone or, where `rolled`, in a loop whose index it is given."""
    if not _rolled.get():
        return [term(k) for k in range(size)]
    i = loop(size)
    value = term(i)
    register = UOp.placeholder((size,), value.dtype, number(), AddrSpace.REG)
    done = register.after(*(r for r in value.ranges if r is not i))[i].store(value).end(i)
    return [register.after(done)[k].load() for k in range(size)]


class MemoryArray:
    """A `memory` field of one game, element by element. Changes are overlays until the kernel stores them."""

    def __init__(self, element: Callable[[Scalar], Scalar], size: int):
        self.element, self.size = element, size

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: Scalar) -> Scalar:
        return self.element(index)


Array = Sequence[Any] | MemoryArray


def select(array: Array, index: Scalar) -> Scalar:
    """array[index] at a computed index (in range)."""
    if isinstance(array, MemoryArray):
        return array[index]
    value: Scalar = array[0]
    for i in range(1, len(array)):
        value = index.eq(i).where(array[i], value)
    return value


def put(array: Array, index: Scalar, value: Scalar) -> Array:
    """The array with one element changed at a computed index."""
    if isinstance(array, MemoryArray):
        return MemoryArray(lambda i: i.eq(index).where(value, array[i]), array.size)
    return [index.eq(i).where(value, old) for i, old in enumerate(array)]
