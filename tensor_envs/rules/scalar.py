"""Scalars, the numbers that rules compute with.

A `Scalar` is a plain number or a node of the kernel that is being traced. Operations on plain numbers give plain
numbers, with the wrap-around of their kind: the same rules are an ordinary Python program for one game when they are
called with numbers, and a kernel for thousands of games when they are called with nodes.
"""

from __future__ import annotations

import linecache
import operator
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, Protocol, TypeVar, overload

import numpy as np
from tinygrad.dtype import DType

from tensor_envs._compiler import arithmetic
from tensor_envs._compiler.tape import (
    BOOL,
    FLOAT32,
    INT32,
    INT64,
    LIMITS,
    SIGNED,
    UINT32,
    UINT64,
    UNSIGNED,
    Instruction,
    recording,
    wrap,
)
from tensor_envs.rules.kinds import BITS, KIND_NAMES

WORD_BITS = 32
_LANGUAGE = os.path.dirname(os.path.abspath(__file__))

SMALL_INT_END = 1 << 31  # non-negative plain ints below it fit into every kind of integers
# for each kind, non-negative plain ints below this number mix with it without a conversion or check
PLAIN_INT_END = {BOOL: 0, FLOAT32: 0} | {kind: 1 << BITS[kind] - (kind in SIGNED) for kind in SIGNED + UNSIGNED}
_new = object.__new__

Number = bool | int | float


def _source_line() -> str:
    """Return file, line and text of the first caller outside of this package, which is a line of the rules."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_LANGUAGE):
        frame = frame.f_back
    name, line = frame.f_code.co_filename, frame.f_lineno
    return f"{name}:{line}: {linecache.getline(name, line).strip()}"


def refuse(message: str, error: type[Exception] = TypeError) -> NoReturn:
    """Raise an error whose message begins with the line of the rules that caused it."""
    raise error(f"{_source_line()}\n  {message}")


def is_gpu() -> bool:
    """Return whether a kernel is being recorded in which each thread plays one game."""
    tape = recording()
    return tape is not None and tape.gpu


def _with_article(dtype: DType) -> str:
    """Return a kind's name with its article."""
    return f"{'an' if dtype is INT32 else 'a'} {KIND_NAMES[dtype]}"


Operation = Callable[[Any, Any], Any]
Method = Callable[[Any, Any], "Scalar"]


def _divide(a: Any, b: Any) -> Any:
    """Return a // b, rounded down; 0 for b = 0, since a kernel also computes the value that `where` does not choose."""
    return a // b if b else 0


def _remainder(a: Any, b: Any) -> Any:
    """Return a % b with the sign of b; 0 for b = 0."""
    return a % b if b else 0


def _plain_int(value: int, dtype: DType) -> Scalar:
    """Return a plain integer of a kind, wrapped around."""
    if not 0 <= value < SMALL_INT_END:
        low, high = LIMITS[dtype]
        if not low <= value <= high:
            value = (value - low & high - low) + low
    x = _new(Scalar)
    x.node = value
    x.dtype = dtype
    x.is_plain = True
    return x


def _plain_bool(value: Any, _: DType) -> Scalar:
    """Return a plain bool."""
    return TRUE if value else FALSE


# Functions that make a plain result a Scalar, by the kind of the operands: for operations on bits, for arithmetic,
# where a bool counts as 0 or 1, and for comparisons.
Results = dict[DType, Callable[[Any, DType], "Scalar"]]
BIT_RESULTS: Results = {**dict.fromkeys(SIGNED + UNSIGNED, _plain_int), BOOL: _plain_bool}
NUMBER_RESULTS: Results = BIT_RESULTS | {
    BOOL: lambda value, _: _plain_int(value, INT32),
    FLOAT32: lambda value, dtype: Scalar(wrap(value, dtype), dtype),
}
INTEGER_RESULTS: Results = {kind: result for kind, result in NUMBER_RESULTS.items() if kind is not FLOAT32}
COMPARISON_RESULTS: Results = dict.fromkeys(NUMBER_RESULTS, _plain_bool)


def _operator(op: Operation, results: Results) -> tuple[Method, Method]:
    """Return the two methods of an operator, such as `__add__` and `__radd__`.

    Plain operands of one kind are computed directly, without the checks of `_operate`.
    """

    def forward(self: Scalar, x: Any) -> Scalar:
        if self.is_plain:
            dtype = self.dtype
            if type(x) is Scalar:
                if x.dtype is dtype and x.is_plain and dtype in results:
                    return results[dtype](op(self.node, x.node), dtype)
            elif type(x) is int and 0 <= x < PLAIN_INT_END[dtype]:
                return results[dtype](op(self.node, x), dtype)
        return _operate(op, results, self, x)

    def reflected(self: Scalar, x: Any) -> Scalar:
        if type(x) is int and 0 <= x < PLAIN_INT_END[self.dtype] and self.is_plain:
            return results[self.dtype](op(x, self.node), self.dtype)
        return _operate(op, results, x, self)

    return forward, reflected


def _shifts(op: Operation) -> tuple[Method, Method]:
    """Return the two methods of a shift, such as `__lshift__` and `__rlshift__`."""

    def forward(self: Scalar, x: Any) -> Scalar:
        dtype = self.dtype
        if self.is_plain and PLAIN_INT_END[dtype]:
            if type(x) is int and 0 <= x < 32:
                return _plain_int(op(self.node, x), dtype)
            if type(x) is Scalar and x.is_plain and x.dtype is not FLOAT32:
                return _plain_int(op(self.node, x.node & 8 * dtype.itemsize - 1), dtype)
        return _shift(op, self, x)

    def reflected(self: Scalar, x: Any) -> Scalar:
        return _shift(op, x, self)

    return forward, reflected


class Scalar:
    """Number of one game: a bool, an int32, a uint32, a uint64 or a float32.

    Operators (`+ - * // % << >> & | ^ ~ == != < <= > >=`) are NumPy's: `==` compares, `~` negates, and `&` and `|` are
    for bools as well. They take plain numbers, and a bool counts as 0 or 1. `//` rounds down; division by 0 is 0. An
    int32 and a uint32 do not mix: `int32(x)`, `uint32(x)` and `uint64(x)` convert. Code that needs the number itself
    (`if`, `and`, `max`, a list's index) raises a TypeError with what to write instead.

    Examples:
        >>> int32(7) // 2, int32(7) % 2 == 1, uint32(1) - 2
        (int32(3), bool(True), uint32(4294967295))
    """

    __slots__ = ("dtype", "is_plain", "node")

    def __init__(self, node: Any, dtype: DType):
        if type(node) is Instruction and node.op == "const":
            node = node.value
        self.node = node
        self.dtype = dtype
        self.is_plain = type(node) is not Instruction  # a number of Python, not a value of a kernel

    @property
    def value(self) -> Number:
        """Plain number; TypeError in a kernel."""
        if not self.is_plain:
            refuse("a scalar of a kernel has no value: it differs from game to game")
        return self.node

    @property
    def kind(self) -> str:
        """Name of the kind: "bool", "int32", "uint32", "uint64" or "float32"."""
        return KIND_NAMES.get(self.dtype, str(self.dtype))

    @property
    def known(self) -> bool:
        """`is_plain`, by its name of version 0.2, until 0.4."""
        warnings.warn("Scalar.known is Scalar.is_plain now", DeprecationWarning, stacklevel=2)
        return self.is_plain

    def instruction(self) -> Instruction:
        """Return the value as an instruction of the kernel that is being recorded."""
        return arithmetic.const(self.node, self.dtype) if self.is_plain else self.node

    def to(self, dtype: DType) -> Scalar:
        """Convert to another kind; higher bits are dropped."""
        if self.dtype is dtype:
            return self
        if self.is_plain:
            if self.dtype is FLOAT32 or dtype is FLOAT32 or dtype is BOOL:
                return Scalar(wrap(self.node, dtype), dtype)
            return _plain_int(+self.node, dtype)
        return Scalar(arithmetic.cast(self.node, dtype), dtype)

    def __repr__(self) -> str:
        return f"{self.kind}({self.node if self.is_plain else '...'})"

    # *** operations that Python would evaluate wrongly ***

    def __bool__(self) -> bool:
        refuse(
            "a scalar has no truth value for Python (if, and, or, not, in, max, min, sorted): it differs from game to "
            "game. Write where(condition, a, b), a & b, a | b, ~a, maximum(a, b), any_of(x == y for y in values)"
        )

    def __index__(self) -> int:
        refuse(
            "a scalar is no index and no int for Python (values[i], range, int): it differs from game to game. Write "
            "select(values, i), put(values, i, value), lookup(table, i)"
        )

    __int__ = __float__ = __index__  # type: ignore[assignment]

    def __iter__(self) -> NoReturn:
        refuse("a scalar is one number of one game: there is nothing to go through. A field with a shape is a list")

    def __getitem__(self, index: Any) -> NoReturn:
        refuse("a scalar is one number: there is nothing to index. A field with a shape is a list; write has_bit(x, i)")

    __array_ufunc__ = None  # NumPy's numbers leave operators to this class

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        if dtype is not None and np.dtype(dtype).kind == "O":  # for a field's array of scalars
            single = np.empty((), object)
            single.fill(self)
            return single
        refuse(
            "a scalar is no array and no index of one for NumPy: write lookup(array.tolist(), x), or a list of scalars"
        )

    # *** operators ***

    __add__, __radd__ = _operator(operator.add, NUMBER_RESULTS)
    __sub__, __rsub__ = _operator(operator.sub, NUMBER_RESULTS)
    __mul__, __rmul__ = _operator(operator.mul, NUMBER_RESULTS)
    __floordiv__, __rfloordiv__ = _operator(_divide, INTEGER_RESULTS)
    __mod__, __rmod__ = _operator(_remainder, INTEGER_RESULTS)
    __lshift__, __rlshift__ = _shifts(operator.lshift)
    __rshift__, __rrshift__ = _shifts(operator.rshift)
    __and__, __rand__ = _operator(operator.and_, BIT_RESULTS)
    __or__, __ror__ = _operator(operator.or_, BIT_RESULTS)
    __xor__, __rxor__ = _operator(operator.xor, BIT_RESULTS)
    __eq__ = _operator(operator.eq, COMPARISON_RESULTS)[0]  # type: ignore[assignment]
    __ne__ = _operator(operator.ne, COMPARISON_RESULTS)[0]  # type: ignore[assignment]
    __lt__ = _operator(operator.lt, COMPARISON_RESULTS)[0]
    __gt__ = _operator(operator.gt, COMPARISON_RESULTS)[0]
    __le__ = _operator(operator.le, COMPARISON_RESULTS)[0]
    __ge__ = _operator(operator.ge, COMPARISON_RESULTS)[0]

    def __neg__(self) -> Scalar:
        return 0 - self

    def __invert__(self) -> Scalar:
        if self.dtype is FLOAT32:
            refuse("a float32 has no bits")
        if self.is_plain:
            return (FALSE if self.node else TRUE) if self.dtype is BOOL else _plain_int(~self.node, self.dtype)
        if self.dtype is BOOL:
            return Scalar(arithmetic.invert(self.node), BOOL)
        return Scalar(arithmetic.bit_xor(self.node, arithmetic.const(-1, self.dtype)), self.dtype)

    def __truediv__(self, x: Any) -> NoReturn:
        refuse("kernels divide whole numbers: write a // b, or float32(a) * (1 / 10) for a share of a known number")

    __rtruediv__ = __truediv__

    def __pow__(self, x: Any) -> NoReturn:
        refuse("a power is a product or a shift: write x * x or 1 << x")

    __rpow__ = __pow__

    def __abs__(self) -> NoReturn:
        refuse("write where(x < 0, -x, x)")

    def __divmod__(self, x: Any) -> NoReturn:
        refuse("write x // n and x % n")

    __rdivmod__ = __divmod__

    def __hash__(self) -> int:
        return refuse("a scalar is no key of a dictionary and no member of a set: write lookup(table, x), or x == a")


TRUE = Scalar(True, BOOL)
FALSE = Scalar(False, BOOL)
Value = Scalar | Number


class _Set(Protocol):
    """Set of a grid, from whose words `like` makes another one."""

    def like(self, words: Sequence[Any]) -> Any: ...


SetT = TypeVar("SetT", bound=_Set)


def scalar(x: Any, like: DType | None = None) -> Scalar:
    """Convert a plain number to a Scalar.

    Args:
        x: a Scalar or a plain number.
        like: the kind of a plain number; None: by its Python type.

    Returns:
        `x` itself if it is a Scalar.

    Raises:
        TypeError: anything else.
        ValueError: a number that the kind cannot hold.

    Examples:
        >>> scalar(3), scalar(True), scalar(0.5)
        (int32(3), bool(True), float32(0.5))
    """
    kind = type(x)
    if kind is Scalar:
        return x  # type: ignore[no-any-return]
    if kind is bool:
        return TRUE if x else FALSE
    if kind is int and 0 <= x < 0x80000000 and like is not FLOAT32:  # the common case first
        return _plain_int(x, INT32 if like is None or like is BOOL else like)
    # Rare cases: NumPy's numbers, and Python's that need a check of their range.
    if isinstance(x, (bool, np.bool_)):
        return Scalar(bool(x), BOOL)
    if isinstance(x, (float, np.floating)):
        if like is not None and like is not FLOAT32:
            refuse(f"{x!r} does not mix with {_with_article(like)}: write float32(x) for sums with fractions")
        return Scalar(wrap(x, FLOAT32), FLOAT32)
    if not isinstance(x, (int, np.integer)):
        refuse(f"scalars and numbers mix, but not {type(x).__name__}")
    # A number takes the kind of its partner; a bool is no kind to count in.
    dtype = INT32 if like is None or like is BOOL else like
    if dtype is FLOAT32:
        return Scalar(wrap(x, FLOAT32), FLOAT32)
    value = int(x)
    size = BITS[dtype]
    if not -(1 << size - 1) <= value < 1 << (size - 1 if dtype in SIGNED else size):
        refuse(f"{x} does not fit into {_with_article(dtype)} of {size} bits", ValueError)
    return Scalar(wrap(value, dtype), dtype)


def _common(a: Any, b: Any) -> tuple[Scalar, Scalar]:
    """Convert two numbers to scalars of one kind: a plain number takes the other's kind, a bool counts as 0 or 1."""
    if type(a) is not Scalar:
        # A plain int beside a plain float becomes a float; a bool stays one until it is counted below.
        beside_float = isinstance(b, (float, np.floating)) and not isinstance(a, bool)
        a = scalar(a, b.dtype if type(b) is Scalar else FLOAT32 if beside_float else None)
    if type(b) is not Scalar:
        b = scalar(b, a.dtype)
    if a.dtype is b.dtype:
        return a, b
    if a.dtype is BOOL:
        return a.to(b.dtype), b
    if b.dtype is BOOL:
        return a, b.to(a.dtype)
    if {a.dtype, b.dtype} == {INT32, INT64}:  # addresses in kernels; rules have no int64
        return a.to(INT64), b.to(INT64)
    return refuse(f"{a.kind} and {b.kind} do not mix: write int32(x), uint32(x), uint64(x) or float32(x)")


def whole(name: str, value: Value) -> Scalar:
    """Return an integer as a Scalar. TypeError for a float, which kernels and Python round differently."""
    number = scalar(value)
    if number.dtype is FLOAT32:
        refuse(f"{name} is a whole number, got a float32: write int32(x)")
    return number


def _operate(op: Operation, results: Results, a: Any, b: Any) -> Scalar:
    """Apply an operation to two numbers of any kinds, in Python or in the kernel that is being recorded."""
    if not (type(a) is Scalar is type(b) and a.dtype is b.dtype):
        a, b = _common(a, b)
    if a.dtype not in results:
        if results is INTEGER_RESULTS:
            refuse("a float32 has no // and %: write int32(x), or x * (1 / n)")
        refuse("a float32 has no bits")
    if a.is_plain and b.is_plain:
        return results[a.dtype](op(a.node, b.node), a.dtype)
    if (results is NUMBER_RESULTS or results is INTEGER_RESULTS) and a.dtype is BOOL:
        a = a.to(INT32)
        b = b.to(INT32)
    return Scalar(
        _INSTRUCTIONS[op](a.instruction(), b.instruction()), BOOL if results is COMPARISON_RESULTS else a.dtype
    )


def _shift(op: Operation, a: Any, b: Any) -> Scalar:
    """Shift `a` by `b` modulo the number of bits of its kind, as most processors do."""
    if type(a) is not Scalar:
        a = scalar(a, b.dtype)
    if a.dtype is BOOL:
        a = a.to(INT32)
    if a.dtype is FLOAT32:
        refuse("a float32 has no bits")
    dtype = a.dtype
    max_shift = 8 * a.dtype.itemsize - 1
    if type(b) is Scalar:
        b = b.to(dtype)
    elif isinstance(b, (int, np.integer)) and 0 <= b <= max_shift:
        b = Scalar(int(b), dtype)
    else:
        refuse(f"{_with_article(dtype)} is shifted by 0..{max_shift}, got {b!r}", ValueError)
    if a.is_plain and b.is_plain:
        return Scalar(wrap(op(a.node, b.node & max_shift), dtype), dtype)
    amount = b.instruction()
    if not 0 <= amount.low <= amount.high <= max_shift:
        amount = arithmetic.bit_and(amount, arithmetic.const(max_shift, dtype))
    return Scalar(_INSTRUCTIONS[op](a.instruction(), amount), dtype)


_INSTRUCTIONS: dict[Operation, Callable[[Instruction, Instruction], Instruction]] = {
    operator.add: arithmetic.add,
    operator.sub: arithmetic.subtract,
    operator.mul: arithmetic.multiply,
    _divide: arithmetic.divide,
    _remainder: arithmetic.remainder,
    operator.and_: arithmetic.bit_and,
    operator.or_: arithmetic.bit_or,
    operator.xor: arithmetic.bit_xor,
    operator.lshift: arithmetic.shift_left,
    operator.rshift: arithmetic.shift_right,
    operator.eq: arithmetic.equal,
    operator.ne: lambda a, b: arithmetic.invert(arithmetic.equal(a, b)),
    operator.lt: arithmetic.less,
    operator.gt: lambda a, b: arithmetic.less(b, a),
    operator.le: arithmetic.at_most,
    operator.ge: lambda a, b: arithmetic.at_most(b, a),
}


@overload
def where(condition: Value, a: SetT, b: SetT) -> SetT: ...
@overload
def where(condition: Value, a: Sequence[Any], b: Sequence[Any]) -> list[Any]: ...
@overload
def where(condition: Value, a: Value, b: Value) -> Scalar: ...
def where(condition: Any, a: Any, b: Any) -> Any:
    """Return `a` in the games where the condition holds, else `b`.

    Args:
        condition: a bool.
        a, b: two numbers, or two (nested) lists of one shape, chosen entry by entry.

    Returns:
        A Scalar, or a list of them.

    Raises:
        TypeError: a condition of another kind, other lists, or kinds that do not mix.

    Examples:
        >>> where(int32(3) > 2, 1, 0), where(scalar(False), [1, 2], [3, 4])
        (int32(1), [int32(3), int32(4)])
    """
    chosen = condition if type(condition) is Scalar else scalar(condition)
    if chosen.dtype is not BOOL:
        refuse(f"a condition is a bool, got {_with_article(chosen.dtype)}: write x != 0")
    if isinstance(a, (list, tuple)) or isinstance(b, (list, tuple)):
        if not (isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)) and len(a) == len(b)):
            refuse("where chooses between two lists of one length")
        # The choice between sets of a grid is a set of the grid again, so that it has the operators.
        list_type = getattr(a, "like", list)
        return list_type(where_list([chosen] * len(a), a, b))
    # A plain condition selects in Python. The common cases, of operands of one kind, skip the conversion below.
    if chosen.is_plain:
        x, other = (a, b) if chosen.node else (b, a)
        if type(x) is Scalar:
            if (
                x.dtype is other.dtype
                if type(other) is Scalar
                else type(other) is int and 0 <= other < PLAIN_INT_END[x.dtype]
            ):
                return x
        elif type(x) is int is type(other):
            return scalar(x)
    a, b = _common(a, b)
    if chosen.is_plain:
        return a if chosen.node else b
    return Scalar(arithmetic.choose(chosen.node, a.instruction(), b.instruction()), a.dtype)


def where_list(conditions: Sequence[Scalar], a: Sequence[Value], b: Sequence[Value]) -> list[Scalar]:
    """Return a[i] where conditions[i] holds, else b[i], for each i, without calls of `where` in the plain case."""
    return [
        (x if c.node else y)  # type: ignore[misc] # scalars
        if type(x) is Scalar is type(y) and x.dtype is y.dtype and c.is_plain
        else where(c, x, y)
        for c, x, y in zip(conditions, a, b, strict=True)
    ]


def maximum(a: Value, b: Value) -> Scalar:
    """Return the greater of two numbers.

    Examples:
        >>> maximum(2, int32(5))
        int32(5)
    """
    a, b = _common(a, b)
    if a.is_plain and b.is_plain:
        return b if a.node < b.node else a
    return Scalar(arithmetic.maximum(a.instruction(), b.instruction()), a.dtype)


def minimum(a: Value, b: Value) -> Scalar:
    """Return the smaller of two numbers.

    Examples:
        >>> minimum(2, int32(5))
        int32(2)
    """
    a, b = _common(a, b)
    if a.is_plain and b.is_plain:
        return b if b.node < a.node else a
    return Scalar(arithmetic.minimum(a.instruction(), b.instruction()), a.dtype)


def _convert(x: Value, dtype: DType) -> Scalar:
    """Convert a number to a Scalar of a kind."""
    if type(x) is not Scalar:
        x = scalar(x, dtype)
    return x if x.dtype is dtype else x.to(dtype)


def int32(x: Value) -> Scalar:
    """Convert to an int32; a uint32 keeps its 32 bits.

    A float32 is rounded towards 0; one out of range becomes the nearest limit, and NaN becomes 0.

    Examples:
        >>> int32(True), int32(uint32(2**32 - 1))
        (int32(1), int32(-1))
    """
    return _convert(x, INT32)


def uint32(x: Value) -> Scalar:
    """Convert to a uint32; higher bits are dropped. A float32 is rounded and limited as by `int32`.

    Examples:
        >>> uint32(int32(-1))
        uint32(4294967295)
    """
    return _convert(x, UINT32)


def uint64(x: Value) -> Scalar:
    """Convert to a uint64; a negative int32 wraps around. A float32 is rounded and limited as by `int32`.

    Examples:
        >>> uint64(1) << 40
        uint64(1099511627776)
    """
    return _convert(x, UINT64)


def float32(x: Value) -> Scalar:
    """Convert to a float32, for rewards and observations with fractions.

    Examples:
        >>> float32(3) * (1 / 4)
        float32(0.75)
    """
    return _convert(x, FLOAT32)
