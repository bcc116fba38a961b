"""Operations on instructions: simplification, and exact bounds of results.

Bounds decide which comparisons and clamps are needless, and whether a result may wrap around. Operations of two numbers
that are known while a kernel is recorded are computed in Python (`rules.scalar`), so at most one operand is a constant,
except where simplification has created both.
"""

from __future__ import annotations

from typing import Any

from tinygrad.dtype import DType

from tensor_envs._compiler.tape import (
    BOOL,
    FLOAT32,
    INT32,
    LIMITS,
    OPERATIONS,
    SIGNED,
    UINT32,
    UINT64,
    Instruction,
    current,
    reinterpret,
    wrap,
)

I = Instruction  # noqa: E741


def const(value: Any, dtype: DType) -> I:
    """Return a constant, wrapped around."""
    return current().const(wrap(value, dtype), dtype)


def _is_const(x: I) -> bool:
    return x.op == "const"


def _constant_second(a: I, b: I) -> tuple[I, I]:
    """Order the operands of a commutative operation, a constant last, so that a + b and b + a are shared."""
    return (b, a) if _is_const(a) or (not _is_const(b) and b.number < a.number) else (a, b)


def _wrapping(op: str, a: I, b: I, low: int, high: int) -> I:
    """Record an operation whose exact result is within low..high, and mark it if it may wrap around."""
    min_value, max_value = LIMITS[a.dtype]
    if low < min_value or high > max_value:
        return current().pure(op, a.dtype, (a, b), min_value, max_value, True)
    return current().pure(op, a.dtype, (a, b), low, high)


def _real(op: str, a: I, b: I) -> I:
    return current().pure(op, FLOAT32, (a, b), *LIMITS[FLOAT32])


# *** sums and products ***


def add(a: I, b: I) -> I:
    a, b = _constant_second(a, b)
    if a.dtype is FLOAT32:
        return _real("+", a, b)
    if _is_const(b):
        if b.value == 0:
            return a
        # (x + c) + d is x + (c + d), also with wrap-around, since that is addition modulo a power of two.
        if a.op == "+" and _is_const(a.operands[1]):
            return add(a.operands[0], const(a.operands[1].value + b.value, a.dtype))
    return _wrapping("+", a, b, a.low + b.low, a.high + b.high)


def subtract(a: I, b: I) -> I:
    if a.dtype is FLOAT32:
        return _real("-", a, b)
    if a is b:
        return const(0, a.dtype)
    # x - c becomes x + (-c), so that sums with constants have one form. An unsigned -c is a large number, with which
    # the sum would wrap around. So an unsigned x - c with known x >= c stays as it is, and keeps its bounds.
    if _is_const(b) and (a.dtype in SIGNED or b.value == 0 or b.value > a.low):
        return add(a, const(-b.value, a.dtype))
    if _is_const(a) and b.op == "+" and _is_const(b.operands[1]):
        return subtract(const(a.value - b.operands[1].value, a.dtype), b.operands[0])
    return _wrapping("-", a, b, a.low - b.high, a.high - b.low)


def multiply(a: I, b: I) -> I:
    a, b = _constant_second(a, b)
    if a.dtype is FLOAT32:
        return _real("*", a, b)
    if _is_const(b):
        if b.value in (0, 1):
            return a if b.value else b
        # (x + c) * d becomes x * d + c * d, so that addresses share their variable part.
        if not a.wraps and a.op in "+*" and _is_const(a.operands[1]):
            inner, constant = a.operands
            if a.op == "*":
                return multiply(inner, const(constant.value * b.value, a.dtype))
            return add(multiply(inner, b), const(constant.value * b.value, a.dtype))
    # A product is linear in each factor, so its extremes are at the corners of the rectangle of both bounds.
    ends = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
    return _wrapping("*", a, b, min(ends), max(ends))


# *** bits ***


def _ones(x: int) -> int:
    """Return the lowest number that has only ones as bits and is at least x."""
    return (1 << x.bit_length()) - 1


def _bounds_of_bits(a: I, b: I) -> tuple[int, int]:
    """Return bounds of a | b and of a ^ b."""
    if a.dtype is BOOL or a.low < 0 or b.low < 0:
        return LIMITS[a.dtype]
    # The result has no bit above the highest bit of both operands.
    return 0, _ones(a.high | b.high)


def bit_and(a: I, b: I) -> I:
    a, b = _constant_second(a, b)
    if _is_const(b):
        # A mask with every bit that x may have changes nothing. Fields are often masked again after they are unpacked.
        if b.value == 0 or (a.dtype is not BOOL and a.low >= 0 and b.value > 0 and _ones(a.high) & ~b.value == 0):
            return a if b.value else b
        if (a.dtype is BOOL and b.value) or b.value == -1:
            return a
        if a.op == "&" and _is_const(a.operands[1]):
            return bit_and(a.operands[0], const(a.operands[1].value & b.value, a.dtype))
    low, high = LIMITS[a.dtype]
    # A nonnegative operand limits the result, whatever the sign of the other operand is.
    if a.low >= 0 or b.low >= 0:
        low = 0
        high = min(x.high for x in (a, b) if x.low >= 0)
    return current().pure("&", a.dtype, (a, b), low, high)


def bit_or(a: I, b: I) -> I:
    a, b = _constant_second(a, b)
    if _is_const(b):
        if b.value == 0:
            return a
        if a.dtype is BOOL:
            return b
    # A nonnegative result has all bits of both operands, so it is at least the larger one.
    low, high = _bounds_of_bits(a, b)
    return current().pure("|", a.dtype, (a, b), max(low, a.low, b.low) if low == 0 else low, high)


def bit_xor(a: I, b: I) -> I:
    a, b = _constant_second(a, b)
    if _is_const(b):
        if b.value == 0:
            return a
        if a.op == "^" and _is_const(a.operands[1]):
            return bit_xor(a.operands[0], const(a.operands[1].value ^ b.value, a.dtype))
    return current().pure("^", a.dtype, (a, b), *_bounds_of_bits(a, b))


def shift_left(a: I, b: I) -> I:
    """Return a << b for b within 0..bits-1."""
    if _is_const(b) and b.value == 0:
        return a
    # A larger shift moves a number away from 0, so the extremes are at no shift and at the largest one.
    return _wrapping("<<", a, b, min(a.low, a.low << b.high), max(a.high, a.high << b.high))


def shift_right(a: I, b: I) -> I:
    """Return a >> b for b within 0..bits-1; the sign is kept."""
    if _is_const(b):
        if b.value == 0:
            return a
        if a.low >= 0 and a.high >> b.value == 0:
            return const(0, a.dtype)
        if a.op == ">>" and _is_const(a.operands[1]):
            # A shift by all bits or more is undefined in C and masked on processors, so two such shifts stay two.
            whole = a.operands[1].value + b.value
            if whole < 8 * a.dtype.itemsize:
                return shift_right(a.operands[0], const(whole, a.dtype))
    # A shift raises a negative number and lowers a positive one, so the sign decides which shift gives the bound.
    low = min(a.low, a.low >> b.low, a.low >> b.high)
    high = max(a.high >> b.low, a.high >> b.high)
    return current().pure(">>", a.dtype, (a, b), low, high)


def popcount(a: I) -> I:
    """Count the bits of a uint32."""
    return current().pure("popcount", a.dtype, (a,), 0, a.high.bit_length())


# *** quotients ***


def _power_of_2(x: I) -> int | None:
    """Return the exponent of a constant power of two."""
    if _is_const(x) and x.value > 0 and x.value & x.value - 1 == 0:
        return int(x.value).bit_length() - 1
    return None


def divide(a: I, b: I) -> I:
    """Return a // b, rounded down; 0 where b is 0, wrapped around where b is -1."""
    if _is_const(b) and b.value in (0, 1, -1):
        return multiply(a, b)
    if (exponent := _power_of_2(b)) is not None:
        return shift_right(a, const(exponent, a.dtype))
    # x86 traps at a divisor of 0, and at the lowest integer divided by -1, whose quotient is beyond the dtype.
    if b.low > 0 or b.high < -1:
        return _round_down(a, b)
    special = equal(b, const(0, b.dtype))
    if b.dtype in SIGNED:
        special = bit_or(special, equal(b, const(-1, b.dtype)))
    # For both divisors a * b is the result. The division is computed as well, so it gets 1 instead.
    return choose(special, multiply(a, b), _round_down(a, choose(special, const(1, b.dtype), b)))


def _round_down(a: I, b: I) -> I:
    """Return a // b for b neither 0 nor -1."""
    # For nonnegative numbers, rounding towards 0 is rounding down.
    if a.low >= 0 and b.low >= 0:
        if _is_const(b) and (multiplier := _multiplier(b.value, a.high)) is not None:
            factor, shift = multiplier
            return shift_right(multiply(a, const(factor, a.dtype)), const(shift, a.dtype))
        return current().pure("/", a.dtype, (a, b), a.low // b.high, a.high // max(b.low, 1))
    # Processors round towards 0. The quotient is then one too high if there is a remainder and the signs differ.
    towards_0 = current().pure("/", a.dtype, (a, b), *LIMITS[a.dtype])
    rest = subtract(a, multiply(towards_0, b))
    zero = const(0, a.dtype)
    beyond = bit_and(invert(equal(rest, zero)), bit_xor(less(a, zero), less(b, zero)))
    return subtract(towards_0, cast(beyond, a.dtype))


def _multiplier(divisor: int, high: int) -> tuple[int, int] | None:
    """Return a factor and a shift with x // divisor == x * factor >> shift for all x in 0..high; None without such.

    Processors have no division of vectors. The product has to be below 2**31.
    """
    # See Granlund and Montgomery, Division by Invariant Integers using Multiplication (1994). The factor is
    # 2**shift / divisor rounded up, and its error must stay too small to change a quotient. The smallest such shift has
    # the smallest factor, so if its product is too large, no other shift fits.
    for shift in range(1, 31):
        factor = (1 << shift) // divisor + 1
        if high * (factor * divisor - (1 << shift)) < 1 << shift:
            return (factor, shift) if high * factor < 2**31 else None
    return None


def remainder(a: I, b: I) -> I:
    """Return a % b with the sign of b; 0 where b is 0."""
    if _is_const(b) and b.value in (0, 1, -1):
        return const(0, a.dtype)
    if _power_of_2(b) is not None:
        return bit_and(a, const(b.value - 1, a.dtype))
    if a.low >= 0 and b.low > 0:
        if a.high < b.low:
            return a
        if not _is_const(b) or _multiplier(b.value, a.high) is None:
            return current().pure("%", a.dtype, (a, b), 0, min(a.high, b.high - 1))
    # a - a // b * b shares the division with a quotient. Its bounds follow from the divisor.
    zero = const(0, a.dtype)
    rest = choose(equal(b, zero), zero, subtract(a, multiply(divide(a, b), b)))
    return _narrowed(rest, min(b.low + 1, 0), max(b.high - 1, 0))


def divide_reals(a: I, b: I) -> I:
    return _real("/", a, b)


# *** conditions ***


def less(a: I, b: I) -> I:
    if a.dtype is BOOL:
        return bit_and(invert(a), b)
    # The sign of a converted integer, such as a reward, is that of the integer, whose bounds are known.
    if a.dtype is FLOAT32:
        for x, y in ((a, b), (b, a)):
            if _is_const(x) and x.value == 0 and y.op == "cast":  # the sign of an integer
                whole = y.operands[0]
                zero = const(0, whole.dtype)
                return less(zero, whole) if x is a else less(whole, zero)
    else:
        if a.high < b.low or a.low >= b.high:
            return const(a.high < b.low, BOOL)
        # x + c < y becomes x < y - c. Not so with wrap-around, where x + 1 < 5 holds for the greatest x.
        for x, y in ((a, b), (b, a)):
            if _is_const(y) and x.op == "+" and not x.wraps and _is_const(x.operands[1]):
                inner = x.operands[0]
                moved = y.value - x.operands[1].value
                if wrap(moved, a.dtype) == moved:
                    moved = const(moved, a.dtype)
                    return less(inner, moved) if x is a else less(moved, inner)
    return current().pure("<", BOOL, (a, b), 0, 1)


def at_most(a: I, b: I) -> I:
    """Return whether a <= b, which is false for NaN."""
    return bit_or(less(a, b), equal(a, b)) if a.dtype is FLOAT32 else invert(less(b, a))


def equal(a: I, b: I) -> I:
    a, b = _constant_second(a, b)
    if a.dtype is not FLOAT32:
        if a is b:
            return const(True, BOOL)
        if a.high < b.low or b.high < a.low:
            return const(False, BOOL)
        if _is_const(b):
            # int32(condition) == 1 is the condition; fields of one bit are often compared so.
            if a.op == "cast" and a.operands[0].dtype is BOOL:
                return a.operands[0] if b.value else invert(a.operands[0])
            if a.op == "+" and _is_const(a.operands[1]):
                return equal(a.operands[0], const(b.value - a.operands[1].value, a.dtype))
    return current().pure("==", BOOL, (a, b), 0, 1)


def invert(a: I) -> I:
    """Return the negation of a condition."""
    if a.op == "!":
        return a.operands[0]
    opposite = OPERATIONS[a.op].opposite if a.op in OPERATIONS else ""
    if opposite and (a.op in ("==", "!=") or a.operands[0].dtype is not FLOAT32):  # x < y and x >= y are false for NaN
        return current().pure(opposite, BOOL, a.operands, 0, 1)
    return current().pure("!", BOOL, (a,), 0, 1)


def choose(condition: I, a: I, b: I) -> I:
    """Return a where the condition holds, else b."""
    if _is_const(condition) or a is b:
        return a if condition.value or a is b else b
    # Choices have no negated condition, so that equal ones are shared.
    if condition.op == "!":
        return choose(condition.operands[0], b, a)
    if a.dtype is BOOL:
        if _is_const(a):
            return bit_or(condition, b) if a.value else bit_and(invert(condition), b)
        if _is_const(b):
            return bit_or(invert(condition), a) if b.value else bit_and(condition, a)
    # A choice of 1 or 0 is a conversion, which is cheaper, and in which `equal` finds the condition again.
    elif a.dtype is not FLOAT32 and _is_const(a) and _is_const(b) and {a.value, b.value} == {0, 1}:
        return cast(condition if a.value else invert(condition), a.dtype)
    return current().pure("?", a.dtype, (condition, a, b), min(a.low, b.low), max(a.high, b.high))


def _narrowed(x: I, low: Any, high: Any) -> I:
    """Tighten the bounds of a recorded instruction."""
    x.low = max(x.low, low)
    x.high = min(x.high, high)
    return x


def maximum(a: I, b: I) -> I:
    if a.dtype is FLOAT32:
        return choose(less(a, b), b, a)
    # A clamp of a number that is in range is needless.
    if a.low >= b.high or b.low >= a.high:
        return a if a.low >= b.high else b
    a, b = _constant_second(a, b)
    if a.op == "?" and _is_const(b):
        condition, x, y = a.operands
        if _is_const(x) or _is_const(y) or (condition.op, condition.operands) == ("<", (x, y)):
            # max(min(x, c), 0) becomes a choice of max(x, 0) or max(c, 0) by the condition of min. Otherwise ptxas of
            # CUDA 12.8 to 13.0 (not 13.4) compiles a later comparison with c wrongly on sm_90 and sm_100: it takes
            # VIMNMX.RELU's predicate for the comparison's result.
            greater = choose(condition, _greater(x, b), _greater(y, b))
            return _narrowed(greater, max(a.low, b.low), max(a.high, b.high))
    return _greater(a, b)


def _greater(a: I, b: I) -> I:
    return _narrowed(choose(less(a, b), b, a), max(a.low, b.low), max(a.high, b.high))


def minimum(a: I, b: I) -> I:
    if a.dtype is FLOAT32:
        return choose(less(b, a), b, a)
    if a.high <= b.low or b.high <= a.low:
        return a if a.high <= b.low else b
    return _narrowed(choose(less(b, a), b, a), min(a.low, b.low), min(a.high, b.high))


# *** conversions ***


def cast(a: I, dtype: DType) -> I:
    """Convert to another dtype: integers wrap around, floats are rounded towards 0 and saturate."""
    if a.dtype is dtype:
        return a
    if _is_const(a):
        return const(a.value, dtype)
    # Every number but 0 is true.
    if dtype is BOOL:
        return invert(equal(a, const(0, a.dtype)))
    low, high = LIMITS[dtype]
    if a.dtype is FLOAT32:
        return _saturated(a, dtype)
    if dtype is FLOAT32:
        return current().pure("cast", dtype, (a,), low, high)
    # Skip an inner conversion that keeps all bits that this one keeps, or that changes no value.
    if a.op == "cast" and a.operands[0].dtype is not FLOAT32:
        inner = a.operands[0]
        min_value, max_value = LIMITS[a.dtype]
        if a.dtype.itemsize >= dtype.itemsize or min_value <= inner.low <= inner.high <= max_value:
            return cast(inner, dtype)
    # The low word of a uint64 that was joined from two words is one of these.
    if a.dtype is UINT64 and dtype in (UINT32, INT32) and a.op == "|":
        for x, y in (a.operands, a.operands[::-1]):
            if x.op == "<<" and _is_const(x.operands[1]) and x.operands[1].value == 32:
                return cast(y, dtype)
    if low <= a.low and a.high <= high:
        return current().pure("cast", dtype, (a,), a.low, a.high)
    return current().pure("cast", dtype, (a,), low, high)


def _saturated(a: I, dtype: DType) -> I:
    """Convert a float32 to an integer: rounded towards 0, the nearest limit if out of range, 0 for NaN.

    Languages leave a conversion out of range undefined, so only a number within the limits is converted.
    """
    low, high = LIMITS[dtype]
    zero = const(0.0, FLOAT32)
    first = const(float(low), FLOAT32)
    end = const(float(high + 1), FLOAT32)
    within = bit_and(at_most(first, a), less(a, end))
    # Convert 0 instead of a number out of range, and NaN is one: it fails the comparisons.
    whole = current().pure("cast", dtype, (choose(within, a, zero),), low, high)
    above = choose(at_most(end, a), const(high, dtype), const(0, dtype))
    return choose(within, whole, choose(less(a, first), const(low, dtype), above))


def bitcast(a: I, dtype: DType) -> I:
    """Return the same 32 bits as another dtype."""
    if a.dtype is dtype:
        return a
    if _is_const(a):
        return const(reinterpret(a.value, a.dtype, dtype), dtype)
    if a.op == "bitcast":
        return bitcast(a.operands[0], dtype)
    if FLOAT32 not in (a.dtype, dtype):
        return cast(a, dtype)
    return current().pure("bitcast", dtype, (a,), *LIMITS[dtype])
