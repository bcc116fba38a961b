"""Every operator on plain numbers is NumPy's with wrap-around, and gives the same in a kernel."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from tensor_envs.rules import Scalar, float32, int32, maximum, minimum, scalar, uint32, uint64, where
from tests.rules.traced import NUMPY, agree, numbers

SIZE = 300
WHOLE = ["int32", "uint32", "uint64"]
TO = {"int32": int32, "uint32": uint32, "uint64": uint64, "float32": float32}
ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
}
BITWISE: dict[str, Callable[[Any, Any], Any]] = {"&": operator.and_, "|": operator.or_, "^": operator.xor}
COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
ALL = ARITHMETIC | BITWISE | COMPARISONS


@pytest.fixture(autouse=True)
def numpy_wraps() -> Iterator[None]:
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        yield


def check(operations: dict[str, Callable[..., Any]], expected: Callable[..., Any], *columns: np.ndarray) -> None:
    """Check each operation in one kernel and in plain numbers against NumPy; `expected` brings columns to one dtype."""
    results = agree(lambda *arguments: [op(*arguments) for op in operations.values()], *columns)
    for (name, op), column in zip(operations.items(), results, strict=True):
        wanted = op(*expected(*columns))
        assert column.dtype == wanted.dtype, f"{name}: {column.dtype} is not {wanted.dtype}"
        np.testing.assert_array_equal(column, wanted, err_msg=name)


@pytest.mark.parametrize("kind", WHOLE)
def test_two_of_a_kind(kind: str) -> None:
    a, b = numbers(kind, SIZE, 1), numbers(kind, SIZE, 2)
    divisors = (b != 0) & ~((a == np.iinfo(np.int32).min) & (b == NUMPY[kind](0) - NUMPY[kind](1)))
    check(ALL, lambda a, b: (a, b), a[divisors], b[divisors])
    assert (a < 0).any() == (kind == "int32") and (a == b).any() and (~divisors).any()


@pytest.mark.parametrize("kind", ["uint32", "uint64"])
def test_words_that_have_wrapped_around(kind: str) -> None:
    """Simplification keeps the wrap-around before comparisons, quotients and conversions."""
    bits = 32 if kind == "uint32" else 64
    edges = [0, 1, 3, 5, 7, (1 << bits - 1) - 1, 1 << bits - 1, (1 << bits) - 5, (1 << bits) - 1]
    x: np.ndarray = np.array(edges, NUMPY[kind])

    def sums(x: Scalar) -> list[Scalar]:
        return [x + 5, x - 3, 3 - x, x * 3, x << 2, (x & 7) - 3, where(x < 6, x + 1, x - 9), (x + 5) >> 1]

    uses: list[Callable[[Scalar], Any]] = [
        *(lambda s, n=n: s < n for n in (1, 5, 1 << bits - 1)),
        *(lambda s, n=n: s == n for n in (2, (1 << bits) - 2)),
        lambda s: s // 3 < 9,
        lambda s: s % 5 == 1,
        lambda s: uint64(s) >> 3 < 9,
        lambda s: int32(s) < 0,
    ]
    columns = agree(lambda x: [use(s) for use in uses for s in sums(x)], x)
    assert sum(0 < column.sum() < len(x) for column in columns) > 40


@pytest.mark.parametrize("kind", WHOLE)
def test_undefined_divisions_do_not_crash(kind: str) -> None:
    """Kernels compute both branches of `where`: a quotient by 0 is 0, and the lowest int by -1 wraps around."""
    a, b = numbers(kind, SIZE, 1), numbers(kind, SIZE, 2, high=1)
    b[: SIZE // 2] = 0
    quotient, remainder, chosen = agree(lambda a, b: [a // b, a % b, where(b != 0, a % b, 7)], a, b)
    assert not quotient[b == 0].any() and not remainder[b == 0].any() and (chosen[b == 0] == 7).all()
    lowest = np.full(4, np.iinfo(np.int32).min, np.int32)
    assert agree(lambda a, b: [a // b, a % b], lowest, np.full(4, -1, np.int32))[0].tolist() == lowest.tolist()


def test_bools() -> None:
    """Bools are combined as bools; in sums each counts as 0 or 1."""
    a, b = numbers("bool", 64, 1), numbers("bool", 64, 2)
    check(BITWISE | {"==": operator.eq, "!=": operator.ne}, lambda a, b: (a, b), a, b)
    as_int = lambda a, b: (a.astype(np.int32), b.astype(np.int32))  # noqa: E731
    check({name: ARITHMETIC[name] for name in "+-*"}, as_int, a, b)
    check({"~": operator.inv}, lambda a: (a,), a)
    flipped = agree(lambda a: [a & True, a | False, False | a, a & False, True | a, a ^ True, a == 1, a < 1], a)
    wanted = [a, a, a, a & False, a | True, ~a, a, ~a]
    assert all((x == y).all() for x, y in zip(flipped, wanted, strict=True))


@pytest.mark.parametrize("kind", WHOLE)
@pytest.mark.parametrize("bool_first", [True, False])
def test_a_bool_counts_as_0_or_1(kind: str, bool_first: bool) -> None:
    flag, x = numbers("bool", SIZE, 1), numbers(kind, SIZE, 2)
    if bool_first:
        x = np.where(x == 0, 1, x).astype(x.dtype)  # a valid divisor
        check(ALL, lambda f, x: (f.astype(x.dtype), x), flag, x)
    else:
        operations = {name: op for name, op in ALL.items() if name not in ("//", "%")}
        check(operations, lambda x, f: (x, f.astype(x.dtype)), x, flag)


@pytest.mark.parametrize("kind", WHOLE)
def test_plain_numbers_mix_in_on_either_side(kind: str) -> None:
    """A plain number takes the other's kind, and a negative one wraps around in a word."""
    x = numbers(kind, SIZE, 3)
    if kind == "int32":  # NumPy warns of the lowest int divided by -1
        x = np.where(x == np.iinfo(np.int32).min, 5, x).astype(np.int32)
    plain = (1, 3, 8, 100, 2**31 - 1, -1, -7, -(2**31))
    uses = [
        (name, number, is_first)
        for name, number, is_first in itertools.product(ALL, plain, (True, False))
        if is_first or name not in ("//", "%")
    ]
    results = agree(lambda x: [ALL[name](x, n) if is_first else ALL[name](n, x) for name, n, is_first in uses], x)
    for (name, number, is_first), column in zip(uses, results, strict=True):
        wrapped: Any = np.array(number, np.int64).astype(NUMPY[kind])
        wanted = ALL[name](x, wrapped) if is_first else ALL[name](wrapped, x)
        np.testing.assert_array_equal(column, wanted, err_msg=f"{name} {number}")


@pytest.mark.parametrize("kind", WHOLE)
def test_one_of_a_kind(kind: str) -> None:
    x = numbers(kind, SIZE, 4)
    check({"-": operator.neg, "~": operator.inv}, lambda x: (x,), x)


@pytest.mark.parametrize("kind", WHOLE)
def test_shifts(kind: str) -> None:
    """Shifts work with computed and plain amounts, and on plain numbers."""
    bits = 64 if kind == "uint64" else 32
    x, by = numbers(kind, SIZE, 5), numbers(kind, SIZE, 6, 0, bits - 1)
    shifts: dict[str, Callable[..., Any]] = {"<<": operator.lshift, ">>": operator.rshift}
    check(shifts, lambda x, by: (x, by), x, by)
    fixed = list(itertools.product(shifts, (0, 1, 7, bits - 1)))
    results = agree(lambda x: [shifts[name](x, amount) for name, amount in fixed], x)
    for (name, amount), column in zip(fixed, results, strict=True):
        np.testing.assert_array_equal(column, shifts[name](x, NUMPY[kind](amount)), err_msg=f"{name} {amount}")
    results = agree(lambda by: [1 << by, 5 >> by], by)
    np.testing.assert_array_equal(results[0], NUMPY[kind](1) << by)
    np.testing.assert_array_equal(results[1], NUMPY[kind](5) >> by)


def test_amounts_of_any_kind_that_count_modulo_the_bits() -> None:
    """Shift amounts count modulo the bits of a word, in scalar and in vector code."""
    x, by = numbers("uint32", SIZE, 7), numbers("int32", SIZE, 8)
    results = agree(lambda x, by: [x << by, x >> by, uint64(x) << by, int32(x) >> uint32(by), x << (by == 3)], x, by)
    np.testing.assert_array_equal(results[0], x << (by & 31).astype(np.uint32))
    np.testing.assert_array_equal(results[1], x >> (by & 31).astype(np.uint32))
    np.testing.assert_array_equal(results[2], x.astype(np.uint64) << (by & 63).astype(np.uint64))
    np.testing.assert_array_equal(results[3], x.astype(np.int32) >> (by & 31))
    np.testing.assert_array_equal(results[4], np.where(by == 3, x << np.uint32(1), x))
    assert (by < 0).any() and (by > 31).any() and (by == 3).any()


@pytest.mark.parametrize("kind", WHOLE)
def test_conversions(kind: str) -> None:
    """Conversions cut off high bits and extend ints by their sign, as in C and NumPy."""
    x = numbers(kind, SIZE, 9)
    results = agree(lambda x: [int32(x), uint32(x), uint64(x), float32(x), x != 0], x)
    for column, dtype in zip(results, (np.int32, np.uint32, np.uint64, np.float32, np.bool_), strict=True):
        np.testing.assert_array_equal(column, x.astype(dtype))
    there_and_back = agree(lambda x: [int32(uint32(int32(x))), int32(uint64(int32(x)))], x)
    assert all((column == x.astype(np.int32)).all() for column in there_and_back)


def test_conversions_of_bools_and_reals() -> None:
    flag, x = numbers("bool", 64, 1), numbers("float32", 64, 2)
    for kind, column in zip(TO, agree(lambda f: [to(f) for to in TO.values()], flag), strict=True):
        np.testing.assert_array_equal(column, flag.astype(NUMPY[kind]))
    toward_zero, truth = agree(lambda x: [int32(x), x != 0.0], x)
    np.testing.assert_array_equal(toward_zero, x.astype(np.int32))
    assert truth.all() and (x < 0).any()


def test_reals() -> None:
    """Sums and products are rounded to float32 after every operation."""
    a, b = numbers("float32", SIZE, 1), numbers("float32", SIZE, 2)
    check({name: ALL[name] for name in ("+", "-", "*", *COMPARISONS)}, lambda a, b: (a, b), a, b)
    third = np.float32(1 / 3)
    results = agree(lambda a: [a * (1 / 3), 0.1 + a, a - 1, -a, 2 * a], a)
    wanted = [a * third, np.float32(0.1) + a, a - np.float32(1), -a, np.float32(2) * a]
    for column, values in zip(results, wanted, strict=True):
        np.testing.assert_array_equal(column, values)


@pytest.mark.parametrize("kind", [*WHOLE, "float32"])
def test_choices(kind: str) -> None:
    flag, a, b = numbers("bool", SIZE, 1), numbers(kind, SIZE, 2), numbers(kind, SIZE, 3)
    results = agree(
        lambda f, a, b: [
            where(f, a, b), where(f, a, 3), where(f, 0, b), maximum(a, b), minimum(a, b), where(True, a, b)
        ],
        flag, a, b,
    )  # fmt: skip
    three, zero = a.dtype.type(3), a.dtype.type(0)
    wanted = [
        np.where(flag, a, b), np.where(flag, a, three), np.where(flag, zero, b), np.maximum(a, b), np.minimum(a, b), a
    ]  # fmt: skip
    for column, values in zip(results, wanted, strict=True):
        np.testing.assert_array_equal(column, values)
        assert column.dtype == values.dtype


def test_choices_between_lists_and_bools() -> None:
    flag, a = numbers("bool", 64, 1), numbers("int32", 64, 2)
    results = agree(
        lambda f, a: [*where(f, [a, a + 1], (7, a)), where(f, a > 0, a == 0), where(f, a > 0, True)], flag, a
    )
    wanted = [
        np.where(flag, a, 7), np.where(flag, a + np.int32(1), a), np.where(flag, a > 0, a == 0), (a > 0) | ~flag
    ]  # fmt: skip
    for column, values in zip(results, wanted, strict=True):
        np.testing.assert_array_equal(column, values)


def test_operations_on_plain_numbers_stay_plain() -> None:
    x = uint32(2**32 - 1)
    assert x.is_plain and (x + 1).value == 0 and (x + 1).kind == "uint32"
    assert (int32(2**31 - 1) + 1).value == -(2**31) and int32(x).value == -1
    assert repr(x + 1) == "uint32(0)" and repr(x == x) == "bool(True)"
    assert (
        scalar(np.int64(3)).kind == "int32" and scalar(np.bool_(True)).kind == "bool" and scalar(0.5).kind == "float32"
    )
    assert (uint64(1) << 63).value == 2**63 and (-uint32(1)).value == 2**32 - 1
    one = Scalar(1, x.dtype)
    assert scalar(one) is one and one.to(x.dtype) is one
