"""Loops in rules, for what is too long to unroll. Plain numbers make them loops of Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import or_
from typing import Any

from tensor_envs._compiler.tape import BOOL, INT, recording
from tensor_envs.rules.kernel import do_while, loop, registers, unrolls
from tensor_envs.rules.scalar import Scalar, Value, integer, refuse, scalar


def _unrolled(size: int, term: Callable[[Any], Any]) -> list[Scalar] | None:
    """Return the terms in a plain program, or of one index; None where a kernel needs a loop."""
    if recording() is not None and size > 1:
        return None
    return [scalar(term(integer(i))) for i in range(size)]


def _accumulated(size: int, start: Scalar, combine: Callable[[Scalar, Scalar], Scalar]) -> Scalar:
    """Return the last value of a variable that a loop combines with every index."""
    total = registers(1, start.dtype)
    total[0] = start
    with loop(size) as i:
        total[0] = combine(total[0], i)
    return total[0]


def any_in_range(size: int, condition: Callable[[Scalar], Scalar]) -> Scalar:
    """Return whether a condition holds for some index 0..size-1, by a loop.

    Examples:
        >>> any_in_range(5, lambda i: i * i == 9)
        bool(True)
    """
    terms = _unrolled(size, condition)
    if terms is None:
        return _accumulated(size, integer(0), lambda holds, i: holds | integer(condition(i))) != 0
    return Scalar(any(t.value for t in terms), BOOL) if all(t.is_plain for t in terms) else terms[0]


def sum_in_range(size: int, term: Callable[[Scalar], Scalar]) -> Scalar:
    """Sum a non-negative term over the indices 0..size-1 to an int, by a loop.

    Examples:
        >>> sum_in_range(5, lambda i: i)
        int(10)
    """
    terms = _unrolled(size, term)
    if terms is None:
        return _accumulated(size, integer(0), lambda total, i: total + integer(term(i)))
    return sum((integer(t) for t in terms), start=integer(0))


def union_in_range(size: int, term: Callable[[Scalar], Scalar]) -> Scalar:
    """Return all bits that a term has for some index 0..size-1, by a loop; no bit may come twice.

    Examples:
        >>> union_in_range(3, lambda i: word(1) << i)
        word(7)
    """
    terms = _unrolled(size, term)
    if terms is not None:
        return reduce(or_, terms)
    kind = scalar(term(integer(0))).dtype
    return _accumulated(size, scalar(0, kind), lambda total, i: total | term(i))


def repeat(size: int, start: Sequence[Value], step: Callable[[list[Scalar]], Sequence[Value]]) -> list[Scalar]:
    """Apply a step `size` times to a list of numbers of one kind, by a loop that ends once a step changes nothing.

    Examples:
        >>> repeat(3, [integer(1), 0], lambda values: [values[0] * 2, values[0]])
        [int(8), int(4)]
    """
    kind = next((x.dtype for x in start if isinstance(x, Scalar)), None)

    def of_one_kind(values: Sequence[Value]) -> list[Scalar]:
        scalars = [scalar(x, kind) for x in values]
        if len(scalars) != len(start) or any(x.dtype is not scalars[0].dtype for x in scalars):
            refuse(f"a list of {len(start)} numbers of one kind is repeated, got {scalars!r}")
        return scalars

    values = of_one_kind(start)
    if recording() is None or size < 2 or not values:
        for _ in range(size):
            before, values = values, of_one_kind(step(values))
            if all(a.is_plain and b.is_plain and a.value == b.value for a, b in zip(before, values, strict=True)):
                break
        return values
    count = len(values)
    variables, remaining = registers(count, values[0].dtype), registers(1, INT)
    for k, x in enumerate(values):
        variables[k] = x
    remaining[0] = size
    with do_while() as turn:
        old = [variables[k] for k in range(count)]
        new = of_one_kind(step(old))
        for k, x in enumerate(new):
            variables[k] = x
        remaining[0] = remaining[0] - 1
        turn.again = reduce(or_, (a != b for a, b in zip(old, new, strict=True))) & (remaining[0] > 0)
    return [variables[k] for k in range(count)]


def map_range(size: int, term: Callable[[Any], Scalar]) -> list[Scalar]:
    """Return a term for every index 0..size-1; it is a loop in code that runs rarely, as for a first state.

    Examples:
        >>> map_range(3, lambda i: integer(2) * i)
        [int(0), int(2), int(4)]
    """
    if unrolls():
        return [term(k) for k in range(size)]
    values: Any = None
    with loop(size, unroll=False) as i:
        value = scalar(term(i))
        values = registers(size, value.dtype)
        values[i] = value
    return [values[k] for k in range(size)]
