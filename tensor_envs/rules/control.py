"""Loops of a kernel: what is too long to unroll. Called with plain numbers they are Python's."""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from tinygrad import UOp, dtypes
from tinygrad.dtype import AddrSpace
from tinygrad.uop.ops import AxisType, Ops

from tensor_envs.rules.scalar import INT, Scalar, Value, can_name, integer, refuse, scalar

_ids: ContextVar[Iterator[int] | None] = ContextVar("_ids", default=None)
_no_unroll: ContextVar[bool] = ContextVar("_no_unroll", default=False)
popcount_word: ContextVar[str | None] = ContextVar("popcount_word", default=None)  # of the kernel's language


@contextmanager
def tracing(popcount: str | None = None, names: bool = False) -> Iterator[None]:
    """While one kernel is traced: its loops are numbered from 0, so that the same kernel always gets the same code.

    popcount: the language's own function for it, if there is one to be named.
    names: whether a number may have a name of its own in it.
    """
    token, word, named = _ids.set(itertools.count()), popcount_word.set(popcount), can_name.set(names)
    try:
        yield
    finally:
        _ids.reset(token)
        popcount_word.reset(word)
        can_name.reset(named)


def next_id() -> int:
    """A number that the kernel being traced has not used for a loop or a register yet."""
    ids = _ids.get()
    assert ids is not None, "no kernel is being traced"
    return next(ids)


@contextmanager
def no_unroll() -> Iterator[None]:
    """While what is played once in a while is traced: `map_range` is a loop, which is short to compile."""
    token = _no_unroll.set(True)
    try:
        yield
    finally:
        _no_unroll.reset(token)


def loop(size: UOp | int, kind: AxisType = AxisType.WEAK) -> UOp:
    """The index of a new loop 0..size-1; what depends on it runs inside. LOOP: it stays one. For the core."""
    return UOp.range(size, next_id(), kind)


def register(size: int, dtype: Any) -> UOp:
    """A new array of a kernel's own."""
    return UOp.placeholder((size,), dtype, next_id(), AddrSpace.REG)


def _reduce(size: int, term: Callable[[Scalar], Scalar], op: Ops) -> Scalar:
    """Of terms that are not negative: 0 is neutral."""
    i = loop(size)
    value = scalar(term(Scalar(i, INT))).to(INT).uop()
    total = register(1, dtypes.int32)
    start = total.after(*(r for r in value.ranges if r is not i))[0].store(0)
    so_far = total.after(start, i)[0]
    return Scalar(total.after(so_far.store(so_far.load().alu(op, value)).end(i))[0].load(), INT)


def _unrolled(size: int, term: Callable[[Any], Any]) -> list[Scalar] | None:
    """The terms one by one, of a plain program and of a single index; None where a kernel needs a loop."""
    if _ids.get() is not None and size > 1:
        return None
    return [scalar(term(integer(i))) for i in range(size)]


def any_in_range(size: int, condition: Callable[[Scalar], Scalar]) -> Scalar:
    """Whether the condition holds for some index 0..size-1: a loop.

    Examples:
        >>> any_in_range(5, lambda i: i * i == 9)
        bool(True)
    """
    terms = _unrolled(size, condition)
    if terms is None:
        return _reduce(size, condition, Ops.MAX) != 0
    return Scalar(any(t.value for t in terms), dtypes.bool) if all(t.known for t in terms) else terms[0]


def sum_in_range(size: int, term: Callable[[Scalar], Scalar]) -> Scalar:
    """The sum of a term that is never negative over the indices 0..size-1, an int: a loop.

    Examples:
        >>> sum_in_range(5, lambda i: i)
        int(10)
    """
    terms = _unrolled(size, term)
    if terms is None:
        return _reduce(size, term, Ops.ADD)
    return sum((integer(t) for t in terms), start=integer(0))


def union_in_range(size: int, term: Callable[[Scalar], Scalar]) -> Scalar:
    """All bits that a term has for some index 0..size-1, no bit for two of them: a loop.

    Examples:
        >>> union_in_range(3, lambda i: word(1) << i)
        word(7)
    """
    terms = _unrolled(size, term)
    if terms is None:
        i = loop(size)
        value = term(Scalar(i, INT))
        return Scalar(value.uop().reduce(i, arg=Ops.ADD), value.dtype)
    found = terms[0]
    for other in terms[1:]:
        found = found | other
    return found


def repeat(
    size: int, start: Sequence[Value], step: Callable[[list[Scalar]], Sequence[Value]]
) -> list[Scalar]:
    """What becomes of a list of numbers of one kind in so many steps: a loop, left once a step changes nothing.

    Examples:
        >>> repeat(3, [integer(1), 0], lambda values: [values[0] * 2, values[0]])
        [int(8), int(4)]
    """
    kind = next((x.dtype for x in start if isinstance(x, Scalar)), None)

    def alike(values: Sequence[Value]) -> list[Scalar]:
        found = [scalar(x, kind) for x in values]
        if len(found) != len(start) or any(x.dtype is not found[0].dtype for x in found):
            refuse(f"a list of {len(start)} numbers of one kind is repeated, got {found!r}")
        return found

    values = alike(start)
    if _ids.get() is None or size < 2 or not values:
        for _ in range(size):
            before, values = values, alike(step(values))
            if all(a.known and b.known and a.value == b.value for a, b in zip(before, values, strict=True)):
                break
        return values
    nodes, dtype = [x.uop() for x in values], values[0].dtype
    around = tuple(dict.fromkeys(r for node in nodes for r in node.ranges))
    held, fresh = register(len(nodes), dtype), register(len(nodes), dtype)
    left = register(1, dtypes.int32)
    begun = UOp.group(*_stores(held.after(*around), nodes), left.after(*around)[0].store(size))
    turn = UOp.loop(next_id())
    now = [Scalar(x, dtype) for x in _loads(held.after(begun, turn), len(nodes))]
    new = alike(step(now))
    more = Scalar(left.after(begun, turn)[0].load(), INT) - 1
    again = functools.reduce(operator.or_, map(operator.ne, now, new)) & (more > 0)
    # all are worked out before one is overwritten
    worked_out = UOp.group(*_stores(fresh.after(begun, turn), [x.uop() for x in new]))
    stores = _stores(held.after(worked_out), _loads(fresh.after(worked_out), len(nodes)))
    done = UOp.group(*stores, left.after(worked_out)[0].store(more.uop())).end(turn, again.uop())
    # tinygrad takes the loops around for ended, too, where the condition depends on them: they are named again
    return [Scalar(x, dtype) for x in _loads(held.after(done).after(*around), len(nodes))]


def _stores(cells: UOp, values: Sequence[UOp]) -> list[UOp]:
    return [cells[k].store(x) for k, x in enumerate(values)]


def _loads(cells: UOp, size: int) -> list[UOp]:
    return [cells[k].load() for k in range(size)]


def map_range(size: int, term: Callable[[Any], Scalar]) -> list[Scalar]:
    """A term for every index 0..size-1; a loop in code that runs once in a while (a game's first state).

    Examples:
        >>> map_range(3, lambda i: integer(2) * i)
        [int(0), int(2), int(4)]
    """
    if not _no_unroll.get():
        return [term(k) for k in range(size)]
    i = loop(size, AxisType.LOOP)
    value = term(Scalar(i, INT))
    node = value.uop()
    values = register(size, node.dtype)
    done = values.after(*(r for r in node.ranges if r is not i))[i].store(node).end(i)
    return [Scalar(values.after(done)[k].load(), value.dtype) for k in range(size)]
