"""Operations on instructions against exact ints, without a compiler."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest
from tinygrad import dtypes
from tinygrad.dtype import DType

from tensor_envs._compiler import arithmetic
from tensor_envs._compiler.tape import (
    BOOL,
    FLOAT32,
    INT32,
    INT64,
    LIMITS,
    UINT32,
    UINT64,
    Instruction,
    Tape,
    record,
    wrap,
)
from tests.compiler.evaluator import run, wrapped

WHOLE = (INT32, UINT32, INT64, UINT64)
NARROW = (dtypes.int8, dtypes.uint8, dtypes.int16, dtypes.uint16)
Function = Callable[..., Instruction]


def evaluated(function: Function, rows: list[tuple[Any, ...]], *kinds: DType) -> list[Any]:
    """Return a function's result for each row, recorded once with a loop over the rows."""
    parameters = [(kind, len(rows)) for kind in kinds]
    columns = [list(column) for column in zip(*rows, strict=True)]
    with record(Tape(parameters)) as tape, tape.nested("for", tape.const(len(rows), INT32)) as block:
        result = function(*(tape.load(array, block.index) for array in tape.arrays))
        output = tape.register(result.dtype, len(rows))
        tape.store(output, block.index, result)
    tape.arrays.append(output)
    tape.registers.remove(output)
    return run(tape, *columns, [0] * len(rows))[-1]


@cache
def some(dtype: DType) -> list[int]:
    """Return small numbers, powers of two and their neighbours, and the limits of a dtype."""
    low, high = LIMITS[dtype]
    powers = (sign * (1 << k) + d for k in (0, 3, 15, 16, 30, 31, 32, 62) for sign in (1, -1) for d in (-1, 0, 1))
    return sorted({x for x in (*powers, 7, -7, 10, 641, low, low + 1, high - 1, high) if low <= x <= high})


def pairs(dtype: DType) -> list[tuple[int, int]]:
    return list(itertools.product(some(dtype), some(dtype)))


def floor_divide(a: int, b: int) -> int:
    return a // b if b else 0


def modulo(a: int, b: int) -> int:
    return a % b if b else 0


BINARY: dict[str, tuple[Function, Callable[[int, int], int]]] = {
    "add": (arithmetic.add, operator.add),
    "subtract": (arithmetic.subtract, operator.sub),
    "multiply": (arithmetic.multiply, operator.mul),
    "divide": (arithmetic.divide, floor_divide),
    "remainder": (arithmetic.remainder, modulo),
    "bit_and": (arithmetic.bit_and, operator.and_),
    "bit_or": (arithmetic.bit_or, operator.or_),
    "bit_xor": (arithmetic.bit_xor, operator.xor),
    "less": (arithmetic.less, operator.lt),
    "at_most": (arithmetic.at_most, operator.le),
    "equal": (arithmetic.equal, operator.eq),
    "maximum": (arithmetic.maximum, max),
    "minimum": (arithmetic.minimum, min),
}
CONDITIONS = ("less", "at_most", "equal")


@pytest.mark.few("dtypes.int", "dtypes.ulong")
@pytest.mark.parametrize("dtype", WHOLE, ids=str)
@pytest.mark.parametrize("name", BINARY)
def test_two_numbers(name: str, dtype: DType) -> None:
    function, exact = BINARY[name]
    result = BOOL if name in CONDITIONS else dtype
    rows = pairs(dtype)
    assert evaluated(function, rows, dtype, dtype) == [wrapped(exact(a, b), result) for a, b in rows]


@pytest.mark.few("dtypes.int")
@pytest.mark.parametrize("dtype", WHOLE, ids=str)
@pytest.mark.parametrize("name", BINARY)
def test_a_number_and_a_constant(name: str, dtype: DType) -> None:
    """Constants are folded, factors become shifts, and divisors products; on either side."""
    function, exact = BINARY[name]
    result = BOOL if name in CONDITIONS else dtype
    rows = [(x,) for x in some(dtype)]
    for c in (*some(dtype)[:4], *some(dtype)[-4:], *(x for x in (-7, -1, 0, 1, 2, 7, 641) if x in some(dtype))):
        right = evaluated(lambda a, c=c: function(a, arithmetic.const(c, dtype)), rows, dtype)
        left = evaluated(lambda a, c=c: function(arithmetic.const(c, dtype), a), rows, dtype)
        assert right == [wrapped(exact(x, c), result) for (x,) in rows], c
        assert left == [wrapped(exact(c, x), result) for (x,) in rows], c


@pytest.mark.parametrize("name", BINARY)
def test_two_constants(name: str) -> None:
    function, exact = BINARY[name]
    result = BOOL if name in CONDITIONS else INT32
    with record(Tape()):
        for a, b in pairs(INT32):
            x = function(arithmetic.const(a, INT32), arithmetic.const(b, INT32))
            assert (x.op, x.value) == ("const", wrapped(exact(a, b), result)), (a, b)


def bounded(dtype: DType) -> Iterator[tuple[Function, Callable[[int], int]]]:
    """Yield functions whose results have bounds, and their exact values."""

    def const(x: int) -> Instruction:
        return arithmetic.const(x, dtype)

    def masked(mask: int) -> tuple[Function, Callable[[int], int]]:
        return (lambda a: arithmetic.bit_and(a, const(mask))), (lambda x: x & mask)

    def clamped(low: int, high: int) -> tuple[Function, Callable[[int], int]]:
        def clamp(a: Instruction) -> Instruction:
            return arithmetic.minimum(arithmetic.maximum(a, const(low)), const(high))

        return clamp, (lambda x: min(max(x, low), high))

    yield from map(masked, (1, 6, 255, 2**31 - 1))
    for low, high in ((0, 5), (3, 1000), (-9, 4), (-100, -2)):
        if low >= LIMITS[dtype][0]:
            yield clamped(low, high)


@pytest.mark.few("add", "divide")
@pytest.mark.parametrize("dtype", (INT32, UINT32), ids=str)
@pytest.mark.parametrize("name", BINARY)
def test_numbers_with_bounds(name: str, dtype: DType) -> None:
    """The evaluator checks the bounds of each result, and that what is not marked does not wrap around."""
    function, exact = BINARY[name]
    result = BOOL if name in CONDITIONS else dtype
    rows = list(itertools.product(some(dtype)[::3], some(dtype)[1::3]))
    for (f, of_f), (g, of_g) in itertools.product(bounded(dtype), repeat=2):
        values = evaluated(lambda a, b, f=f, g=g: function(f(a), g(b)), rows, dtype, dtype)
        assert values == [wrapped(exact(of_f(a), of_g(b)), result) for a, b in rows]


def test_factors_of_divisors_are_exact() -> None:
    """A product and a shift divide every number up to the bound, as 2 // 3."""
    found = 0
    for divisor in (*range(1, 40), 100, 641, 1000):
        for high in (*range(60), 255, 1023):
            if (multiplier := arithmetic._multiplier(divisor, high)) is not None:
                factor, shift = multiplier
                found += 1
                assert high * factor < 2**31
                assert all(x * factor >> shift == x // divisor for x in range(high + 1)), (divisor, high)
    assert found > 1000


SHIFTS: dict[str, tuple[Function, Callable[[int, int], int]]] = {
    "left": (arithmetic.shift_left, operator.lshift),
    "right": (arithmetic.shift_right, operator.rshift),
}


@pytest.mark.parametrize("dtype", WHOLE, ids=str)
@pytest.mark.parametrize("name", SHIFTS)
def test_shifts(name: str, dtype: DType) -> None:
    function, exact = SHIFTS[name]
    last = 8 * dtype.itemsize - 1
    rows = list(itertools.product(some(dtype), (0, 1, 5, last)))

    def masked(a: Instruction, b: Instruction) -> Instruction:
        return function(a, arithmetic.bit_and(b, arithmetic.const(last, dtype)))

    assert evaluated(masked, rows, dtype, dtype) == [wrapped(exact(a, b), dtype) for a, b in rows]


@pytest.mark.parametrize("dtype", WHOLE, ids=str)
def test_shifts_by_constants_in_a_row(dtype: DType) -> None:
    """Two shifts become one if their sum is a shift of the dtype: (-5 >> 16) >> 16 is -1."""
    bits = 8 * dtype.itemsize
    rows = [(x,) for x in some(dtype)]
    for one, two in itertools.product((0, 1, bits // 2, bits - 1), repeat=2):
        for function, exact in SHIFTS.values():

            def twice(a: Instruction, function: Function = function, one: int = one, two: int = two) -> Instruction:
                return function(function(a, arithmetic.const(one, dtype)), arithmetic.const(two, dtype))

            expected = [wrapped(exact(wrapped(exact(x, one), dtype), two), dtype) for (x,) in rows]
            assert evaluated(twice, rows, dtype) == expected, (one, two)


@pytest.mark.parametrize("old", (BOOL, *WHOLE, *NARROW), ids=str)
def test_conversions_of_whole_numbers(old: DType) -> None:
    rows = [(x,) for x in (some(old) if old is not BOOL else [0, 1])]
    for new in (BOOL, *WHOLE, *NARROW, FLOAT32):
        expected = [wrap(x, new) if new is FLOAT32 else wrapped(x, new) for (x,) in rows]
        if not (new is FLOAT32 and old.itemsize == 8):  # the evaluator rounds 64 bits twice
            assert evaluated(lambda a, new=new: arithmetic.cast(a, new), rows, old) == expected, new
        for between in WHOLE:
            twice = lambda a, new=new, between=between: arithmetic.cast(arithmetic.cast(a, between), new)  # noqa: E731
            if new is not FLOAT32:
                assert evaluated(twice, rows, old) == [wrapped(wrapped(x, between), new) for (x,) in rows]


REALS = [0.0, -0.0, 0.5, -0.5, 2.75, -2.75, 3e9, -3e9, 2.0**31, -(2.0**31), 2.0**32, 3e19, float("inf"), float("-inf")]


@pytest.mark.parametrize("dtype", WHOLE, ids=str)
def test_conversions_of_reals_saturate(dtype: DType) -> None:
    low, high = LIMITS[dtype]
    reals = [wrapped(x, FLOAT32) for x in REALS]
    expected = [low if x <= low else high if x >= high else int(x) for x in reals]
    rows = [(x,) for x in (*reals, float("nan"))]
    assert evaluated(lambda a: arithmetic.cast(a, dtype), rows, FLOAT32) == [*expected, 0]
    assert [wrap(x, dtype) for (x,) in rows] == [*expected, 0]


@pytest.mark.parametrize("name", ["bit_and", "bit_or", "bit_xor", "less", "equal", "choose"])
def test_conditions(name: str) -> None:
    exact: dict[str, Callable[..., Any]] = {
        "bit_and": operator.and_,
        "bit_or": operator.or_,
        "bit_xor": operator.xor,
        "less": operator.lt,
        "equal": operator.eq,
        "choose": lambda a, b, c: b if a else c,
    }
    function, size = getattr(arithmetic, name), 3 if name == "choose" else 2
    rows = list(itertools.product((False, True), repeat=size))
    assert evaluated(function, rows, *[BOOL] * size) == [exact[name](*row) for row in rows]
    inverse = evaluated(lambda *a: arithmetic.invert(function(*a)), rows, *[BOOL] * size)
    assert inverse == [not exact[name](*row) for row in rows]
    for at, known in itertools.product(range(size), (False, True)):

        def with_constant(*a: Instruction, at: int = at, known: bool = known) -> Instruction:
            return function(*a[:at], arithmetic.const(known, BOOL), *a[at + 1 :])

        expected = [exact[name](*row[:at], known, *row[at + 1 :]) for row in rows]
        assert evaluated(with_constant, rows, *[BOOL] * size) == expected


def test_bits_are_counted() -> None:
    rows = [(x,) for x in some(UINT32)]
    assert evaluated(arithmetic.popcount, rows, UINT32) == [x.bit_count() for (x,) in rows]


def test_bits_of_reals() -> None:
    rows = [(x,) for x in REALS]
    there = evaluated(lambda a: arithmetic.bitcast(a, UINT32), rows, FLOAT32)
    assert there[:3] == [0, 0x80000000, 0x3F000000] and there[-2:] == [0x7F800000, 0xFF800000]
    back = evaluated(lambda a: arithmetic.bitcast(a, FLOAT32), [(x,) for x in there], UINT32)
    assert list(map(repr, back)) == [repr(wrapped(x, FLOAT32)) for (x,) in rows]
