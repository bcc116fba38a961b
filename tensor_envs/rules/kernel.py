"""Imperative code of kernels: arrays, loops and branches. Rules have the functions under "loops in rules" instead.

Instructions are recorded in the order in which Python runs. Loads and stores happen exactly where they stand;
arithmetic is shared and moved out of loops. A value from inside a loop or branch cannot be used after it: store it in
registers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import reduce
from operator import or_
from typing import Any

from tinygrad import dtypes
from tinygrad.dtype import DType

from tensor_envs._compiler import arithmetic
from tensor_envs._compiler.tape import (
    BOOL,
    FLOAT32,
    INT32,
    INT64,
    LIMITS,
    STORES,
    Array,
    Block,
    Instruction,
    Tape,
    current,
    record,
    recording,
)
from tensor_envs.rules.scalar import Scalar, Value, int32, is_gpu, refuse, scalar, whole

UINTS = {8: dtypes.uint8, 16: dtypes.uint16, 32: dtypes.uint32}
_no_unroll: ContextVar[bool] = ContextVar("_no_unroll", default=False)


class Cells:
    """Array of the kernel that is being recorded: a parameter, or registers."""

    def __init__(self, array: Array):
        self.array = array
        self.dtype = array.dtype
        self.size = array.size

    def __getitem__(self, index: Value) -> Scalar:
        """Record a load of an element at this point of the kernel."""
        return Scalar(current().load(self.array, _index(index)), self.dtype)

    def __setitem__(self, index: Value, value: Value) -> None:
        """Record a store of an element, converted to the array's dtype, at this point of the kernel."""
        x = scalar(value, self.dtype if self.dtype in (FLOAT32, INT64) else None)
        if x.dtype is FLOAT32 and self.dtype is not FLOAT32:
            raise TypeError(f"an array of {self.dtype} cannot hold a float32")
        current().store(self.array, _index(index), arithmetic.cast(x.instruction(), self.dtype))

    def store_bits(self, index: Value, bits: Scalar, count: int) -> None:
        """Store the lowest `count` bits of a word, 8, 16 or 32, as elements 0 or 1 from `index` on."""
        narrow = arithmetic.cast(bits.instruction(), UINTS[count])
        current().store_bits(self.array, _index(index), narrow)


def _index(index: Value) -> Instruction:
    """Return an index as an instruction."""
    return scalar(index).instruction()


def registers(size: int, dtype: DType) -> Cells:
    """Return an uninitialised array in registers of the kernel."""
    return Cells(current().register(dtype, size))


def grid_index(axis: str, size: int) -> Scalar:
    """Return, on a GPU, the number of the workgroup (axis "group") or that of the thread in it (axis "thread")."""
    return Scalar(current().grid_index(axis, size), INT32)


# *** blocks ***


@contextmanager
def loop(size: Value, unroll: bool = True, together: bool = False, vector: int = 0) -> Iterator[Scalar]:
    """Record a loop over 0..size-1; a size of 0 or less skips it.

    Args:
        size: number of iterations.
        unroll: whether the compiler may unroll the loop.
        together: whether games may iterate together, as often as the game that needs most, see `_compiler.lanes`.
        vector: number of iterations that one vector of a CPU computes, a divisor of the size. Sums of floats may be
            reordered.

    Yields:
        The index of the iteration.
    """
    with current().nested("for", scalar(size).instruction()) as block:
        block.unroll = unroll
        block.together = together
        block.vector = vector
        yield Scalar(block.index, INT32)


@contextmanager
def branch(condition: Scalar) -> Iterator[None]:
    """Record code that runs only where the condition holds."""
    assert condition.dtype is BOOL
    with current().nested("if", condition.instruction()):
        yield


class Iteration:
    """Iteration of a `do_while`.

    Attributes:
        again: whether another iteration follows; the body of the loop must set it.
    """

    again: Scalar


@contextmanager
def do_while(together: bool = False) -> Iterator[Iteration]:
    """Record a loop that runs once, and again while `iteration.again` holds at its end; for `together` see `loop`."""
    iteration = Iteration()
    with current().nested("while") as block:
        block.together = together
        yield iteration
        assert iteration.again.dtype is BOOL
        block.condition = iteration.again.instruction()


@contextmanager
def no_unroll() -> Iterator[None]:
    """Make `map_range` a loop: code that runs rarely should compile quickly."""
    token = _no_unroll.set(True)
    try:
        yield
    finally:
        _no_unroll.reset(token)


# *** values ***


def bitcast(x: Value, dtype: DType) -> Scalar:
    """Return the same 32 bits as a number of another dtype."""
    return Scalar(arithmetic.bitcast(scalar(x).instruction(), dtype), dtype)


def divide(a: Value, b: Value) -> Scalar:
    """Return the quotient of two floats."""
    return Scalar(arithmetic.divide_reals(scalar(a, FLOAT32).instruction(), scalar(b, FLOAT32).instruction()), FLOAT32)


def team_sum(x: Scalar) -> Scalar:
    """Return the sum of an int32 over the threads of a team; the number itself if each game has one thread."""
    return _of_team("team_sum", x)


def team_min(x: Scalar) -> Scalar:
    """Return the lowest value of an integer among the threads of a team, see `team_sum`."""
    return _of_team("team_min", x)


def team_max(x: Scalar) -> Scalar:
    """Return the highest value of an integer among the threads of a team, see `team_sum`."""
    return _of_team("team_max", x)


def _of_team(operation: str, x: Scalar) -> Scalar:
    """Record an operation across the threads of a team."""
    tape = current()
    if tape.team == 1:
        return x
    operand = x.instruction()
    low, high = LIMITS[x.dtype] if operation == "team_sum" else (operand.low, operand.high)
    return Scalar(tape.pure(operation, x.dtype, (operand,), low, high), x.dtype)


def depends_on(values: Iterable[Scalar], source: Scalar) -> bool:
    """Return whether one of the values is computed from `source`, directly or through registers."""
    # A value in registers depends on all that is stored there, and on the conditions under which it is stored.
    stored: dict[Array, list[Instruction]] = {}

    def collect(block: Block, conditions: list[Instruction]) -> None:
        conditions = conditions + [x for x in (block.head, block.condition) if x is not None]
        for x in block.body:
            if isinstance(x, Block):
                collect(x, conditions)
            elif x.op in STORES:
                stored.setdefault(x.array, []).extend((*x.operands, *conditions))

    collect(current().root, [])
    waiting = [x.instruction() for x in values]
    visited: set[Any] = set()
    while waiting:
        x = waiting.pop()
        if x is source.node:
            return True
        if x not in visited:
            visited.add(x)
            waiting += x.operands
            if x.op == "load" and x.array not in visited:
                visited.add(x.array)
                waiting += stored.get(x.array, ())
    return False


# *** loops in rules, instead of code that is too long if it is unrolled; with plain numbers they run in Python ***


def _python_terms(size: int, term: Callable[[Any], Any]) -> list[Scalar] | None:
    """Return the terms of all indices, computed in Python; None if a kernel is recorded and needs a loop."""
    if recording() is not None and size > 1:
        return None
    return [scalar(term(int32(i))) for i in range(size)]


def _reduce_in_range(size: int, start: Scalar, combine: Callable[[Scalar, Scalar], Scalar]) -> Scalar:
    """Return the value of a variable after a loop that combines it with every index."""
    total = registers(1, start.dtype)
    total[0] = start
    with loop(size, together=True) as i:
        total[0] = combine(total[0], i)
    return total[0]


def any_in_range(size: int, condition: Callable[[Scalar], Scalar]) -> Scalar:
    """Return whether a condition holds for some index 0..size-1, by a loop.

    Examples:
        >>> any_in_range(5, lambda i: i * i == 9)
        bool(True)
    """
    terms = _python_terms(size, condition)
    if terms is None:
        return _reduce_in_range(size, int32(0), lambda holds, i: holds | int32(condition(i))) != 0
    return Scalar(any(t.value for t in terms), BOOL) if all(t.is_plain for t in terms) else terms[0]


def sum_in_range(size: int, term: Callable[[Scalar], Scalar]) -> Scalar:
    """Sum a non-negative term over the indices 0..size-1 to an int, by a loop.

    Examples:
        >>> sum_in_range(5, lambda i: i)
        int32(10)
    """
    terms = _python_terms(size, term)
    if terms is None:
        return _reduce_in_range(size, int32(0), lambda total, i: total + int32(term(i)))
    return sum((int32(t) for t in terms), start=int32(0))


def union_in_range(size: int, term: Callable[[Scalar], Scalar]) -> Scalar:
    """Return the union of the bits of a term over the indices 0..size-1, by a loop; no two terms may share a bit.

    Examples:
        >>> union_in_range(3, lambda i: uint32(1) << i)
        uint32(7)
    """
    terms = _python_terms(size, term)
    if terms is not None:
        return reduce(or_, terms)
    kind = scalar(term(int32(0))).dtype
    return _reduce_in_range(size, scalar(0, kind), lambda total, i: total | term(i))


def repeat(
    size: Value, start: Sequence[Value], step: Callable[[list[Scalar]], Sequence[Value]], most: int | None = None
) -> list[Scalar]:
    """Apply a step `size` times to a list of numbers of one kind, by a loop that ends once a step changes nothing.

    If the size differs from game to game, a kernel takes all steps, also those that change nothing.

    Args:
        size: the number of steps.
        start: the numbers before the first step.
        step: function from the numbers before a step to those after it.
        most: upper bound of the size, if steps beyond the size change nothing. A CPU, whose games step in
            vectors, then takes that many steps in every game, without a loop.

    Examples:
        >>> repeat(3, [int32(1), 0], lambda values: [values[0] * 2, values[0]])
        [int32(8), int32(4)]
    """
    kind = next((x.dtype for x in start if isinstance(x, Scalar)), None)

    def of_one_kind(values: Sequence[Value]) -> list[Scalar]:
        scalars = [scalar(x, kind) for x in values]
        if len(scalars) != len(start) or any(x.dtype is not scalars[0].dtype for x in scalars):
            refuse(f"a list of {len(start)} numbers of one kind is repeated, got {scalars!r}")
        return scalars

    # The steps are taken in Python outside a kernel, if there are fewer than two, or without a loop by `most`.
    values = of_one_kind(start)
    unrolled_steps = None if recording() is None or is_gpu() else most
    steps = whole("the number of steps", size if unrolled_steps is None else unrolled_steps)
    if not values or (steps.is_plain and (unrolled_steps is not None or recording() is None or steps.value < 2)):
        for _ in range(int(steps.value)):
            before = values
            values = of_one_kind(step(values))
            if all(a.is_plain and b.is_plain and a.value == b.value for a, b in zip(before, values, strict=True)):
                break
        return values
    # The body of a loop is traced once, so the numbers that it changes must be in registers.
    count = len(values)
    variables = registers(count, values[0].dtype)
    remaining = registers(1, INT32)

    def take_step() -> Scalar:
        """Take a step; return whether it has changed a variable."""
        old = [variables[k] for k in range(count)]
        new = of_one_kind(step(old))
        for k, x in enumerate(new):
            variables[k] = x
        return reduce(or_, (a != b for a, b in zip(old, new, strict=True)))

    for k, x in enumerate(values):
        variables[k] = x
    if steps.is_plain:
        remaining[0] = steps
        # A loop of a fixed size ends for all games together once no game changes.
        with do_while(together=True) as block:
            changed = take_step()
            remaining[0] = remaining[0] - 1
            block.again = changed & (remaining[0] > 0)
    else:
        # Games with different sizes take all of their steps, without a test for changes.
        with loop(steps, together=True):
            take_step()
    return [variables[k] for k in range(count)]


def map_range(size: int, term: Callable[[Any], Scalar]) -> list[Scalar]:
    """Return a term for every index 0..size-1; in code that runs rarely, such as `init`, by a loop.

    Examples:
        >>> map_range(3, lambda i: int32(2) * i)
        [int32(0), int32(2), int32(4)]
    """
    if not _no_unroll.get():
        return [term(k) for k in range(size)]
    values: Any = None
    with loop(size, unroll=False, together=True) as i:
        value = scalar(term(i))
        values = registers(size, value.dtype)
        values[i] = value
    return [values[k] for k in range(size)]


# *** kernels ***


def trace(body: Callable[..., object], parameters: Sequence[tuple[DType, int]], gpu: bool = False) -> Tape:
    """Record a kernel.

    Args:
        body: function that records the kernel, with a `Cells` for every parameter as arguments.
        parameters: dtype and size of each array.
        gpu: whether each thread plays one game.
    """
    with record(Tape(parameters, gpu)) as tape:
        body(*map(Cells, tape.arrays))
    return tape
