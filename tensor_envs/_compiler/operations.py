"""Table of the pure operations of a tape: names, types and exact values."""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from tinygrad import dtypes
from tinygrad.dtype import DType

BOOL, FLOAT32 = dtypes.bool, dtypes.float32
INT32, UINT32 = dtypes.int32, dtypes.uint32
INT64, UINT64 = dtypes.int64, dtypes.uint64
SIGNED = (dtypes.int8, dtypes.int16, INT32, INT64)
UNSIGNED = (dtypes.uint8, dtypes.uint16, UINT32, UINT64)
UNSIGNED_OF = {INT32: UINT32, INT64: UINT64}  # overflow of signed integers is undefined in many languages
LIMITS: dict[DType, tuple[Any, Any]] = {  # the lowest and the highest value of each dtype
    BOOL: (0, 1),
    FLOAT32: (float("-inf"), float("inf")),
    **{d: (0, (1 << 8 * d.itemsize) - 1) for d in UNSIGNED},
    **{d: (-1 << 8 * d.itemsize - 1, (1 << 8 * d.itemsize - 1) - 1) for d in SIGNED},
}
FLOAT32_END = 2.0**128 - 2.0**103  # the least number that rounds to infinity as a float32
_FORMATS = {FLOAT32: "f", INT32: "i", UINT32: "I"}


def wrap(value: Any, dtype: DType) -> Any:
    """Return a Python number as one of a dtype.

    Integers wrap around. Floats are rounded, and saturate as integers, where NaN is 0.
    """
    if dtype is BOOL:
        return bool(value)
    if dtype is FLOAT32:
        real = value if isinstance(value, float) else _to_float64(int(value))
        return math.copysign(math.inf, real) if abs(real) >= FLOAT32_END else float(np.float32(real))
    low, high = LIMITS[dtype]
    if isinstance(value, float):
        return 0 if math.isnan(value) else low if value <= low else high if value >= high else int(value)
    return (int(value) - low) % (high - low + 1) + low


def _to_float64(value: int) -> float:
    """Return a float64 that rounds to the float32 next to an integer: its last bit stands for all bits lost."""
    # float64 rounds first, and float32 would round a tie of that result the wrong way. With a sticky bit below the 24
    # that count there is no such tie.
    lost = max(abs(value).bit_length() - 50, 0)
    return float((value >> lost | (value & (1 << lost) - 1 != 0)) << lost)


def reinterpret(value: Any, old: DType, new: DType) -> Any:
    """Return a number of another dtype with the same 32 bits."""
    return struct.unpack(_FORMATS[new], struct.pack(_FORMATS[old], value))[0]


def _divide(a: Any, b: Any) -> Any:
    """Return a / b. The quotient of integers is rounded towards 0, as processors do."""
    if isinstance(a, float):
        with np.errstate(all="ignore"):
            return float(np.float64(a) / np.float64(b))
    return abs(a) // abs(b) * (-1 if (a < 0) != (b < 0) else 1)


class Operation(NamedTuple):
    """A pure operation.

    Attributes:
        name: the name in a printed tape.
        operands: the type of each operand by a letter: "x" for one of `dtypes`, the same for all, "b" for a bool.
        result: the type of the result by a letter: "x", "b", or "y" for any.
        dtypes: what "x" may be.
        value: the exact result of Python numbers, before `wrap`; None where it depends on dtypes.
        opposite: the operation with the negated result; that of `<` is for integers alone, since NaN is never greater.
    """

    name: str
    operands: str
    result: str
    dtypes: tuple[DType, ...]
    value: Callable[..., Any] | None
    opposite: str = ""


INTEGERS = SIGNED + UNSIGNED
NUMBERS = (*INTEGERS, FLOAT32)
BITWISE = (*INTEGERS, BOOL)
ANY = (*NUMBERS, BOOL)
# by the operator of C, if it has one
# `>=` is of integers alone: of floats, it is not the negation of `<` where one is NaN.
OPERATIONS: dict[str, Operation] = {
    "+": Operation("add", "xx", "x", NUMBERS, operator.add),
    "-": Operation("sub", "xx", "x", NUMBERS, operator.sub),
    "*": Operation("mul", "xx", "x", NUMBERS, operator.mul),
    "/": Operation("div", "xx", "x", NUMBERS, _divide),
    "%": Operation("rem", "xx", "x", INTEGERS, lambda a, b: a - b * _divide(a, b)),
    "&": Operation("and", "xx", "x", BITWISE, operator.and_),
    "|": Operation("or", "xx", "x", BITWISE, operator.or_),
    "^": Operation("xor", "xx", "x", BITWISE, operator.xor),
    "<<": Operation("shl", "xx", "x", INTEGERS, operator.lshift),
    ">>": Operation("shr", "xx", "x", INTEGERS, operator.rshift),
    "<": Operation("lt", "xx", "b", NUMBERS, operator.lt, ">="),
    ">=": Operation("ge", "xx", "b", INTEGERS, operator.ge, "<"),
    "==": Operation("eq", "xx", "b", ANY, operator.eq, "!="),
    "!=": Operation("ne", "xx", "b", ANY, operator.ne, "=="),
    "!": Operation("not", "b", "b", (), operator.not_),
    "?": Operation("select", "bxx", "x", ANY, lambda condition, a, b: a if condition else b),
    "popcount": Operation("popcount", "x", "x", (UINT32,), int.bit_count),
    "cast": Operation("cast", "x", "y", ANY, None),
    "bitcast": Operation("bitcast", "x", "y", (FLOAT32, INT32, UINT32), None),
    "group": Operation("group_id", "", "y", (), None),
    "thread": Operation("thread_id", "", "y", (), None),
}
