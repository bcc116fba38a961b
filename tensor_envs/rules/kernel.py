"""Imperative code of kernels: arrays, loops and branches. Rules have the functions of `control` instead.

Instructions are recorded in the order in which Python runs. Loads and stores happen exactly where they stand;
arithmetic is shared and moved out of loops. A value from inside a loop or branch cannot be used after it: store it in
registers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from tinygrad import dtypes
from tinygrad.dtype import DType

from tensor_envs._compiler import arithmetic
from tensor_envs._compiler.tape import BOOL, INT, LONG, REAL, STORES, Array, Block, Instruction, Tape, current, record
from tensor_envs.rules.scalar import Scalar, Value, scalar

UINTS = {8: dtypes.uint8, 16: dtypes.uint16, 32: dtypes.uint32}
_no_unroll: ContextVar[bool] = ContextVar("_no_unroll", default=False)


class Cells:
    """An array of the kernel that is being recorded: a parameter, or registers."""

    def __init__(self, array: Array):
        self.array, self.dtype, self.size = array, array.dtype, array.size

    def __getitem__(self, index: Value) -> Scalar:
        """Load an element, here."""
        return Scalar(current().load(self.array, _index(index)), self.dtype)

    def __setitem__(self, index: Value, value: Value) -> None:
        """Store an element, here; it is converted to the array's dtype."""
        x = scalar(value, self.dtype if self.dtype in (REAL, LONG) else None)
        if x.dtype is REAL and self.dtype is not REAL:
            raise TypeError(f"an array of {self.dtype} cannot hold a real")
        current().store(self.array, _index(index), arithmetic.cast(x.instruction(), self.dtype))

    def store_bits(self, index: Value, bits: Scalar, count: int) -> None:
        """Store the lowest `count` bits of a word as elements 0 or 1, from `index` up. count: 8, 16 or 32."""
        narrow = arithmetic.cast(bits.instruction(), UINTS[count])
        current().store_bits(self.array, _index(index), narrow)


def _index(index: Value) -> Instruction:
    return scalar(index).instruction()


def registers(size: int, dtype: DType) -> Cells:
    """Return an uninitialised array of the kernel's own."""
    return Cells(current().register(dtype, size))


def grid_index(axis: str, size: int) -> Scalar:
    """Return the number of the workgroup (axis "group") or of the thread in it ("thread"), on a GPU."""
    return Scalar(current().place(axis, size), INT)


# *** blocks ***


@contextmanager
def loop(size: Value, unroll: bool = True) -> Iterator[Scalar]:
    """Record a loop over 0..size-1; a size of 0 or less skips it."""
    with current().nested("for", scalar(size).instruction()) as block:
        block.unroll = unroll
        yield Scalar(block.index, INT)


@contextmanager
def branch(condition: Scalar) -> Iterator[None]:
    """Record what runs only where the condition holds."""
    assert condition.dtype is BOOL
    with current().nested("if", condition.instruction()):
        yield


class Turn:
    """A turn of a `do_while`.

    Attributes:
        again: whether another turn follows, to be set inside.
    """

    again: Scalar


@contextmanager
def do_while() -> Iterator[Turn]:
    """Record a loop that runs once, and again while `turn.again` holds at its end."""
    turn = Turn()
    with current().nested("while") as block:
        yield turn
        assert turn.again.dtype is BOOL
        block.condition = turn.again.instruction()


@contextmanager
def no_unroll() -> Iterator[None]:
    """Make `map_range` a loop: code that runs rarely should compile quickly."""
    token = _no_unroll.set(True)
    try:
        yield
    finally:
        _no_unroll.reset(token)


def unrolls() -> bool:
    """Return whether `map_range` unrolls."""
    return not _no_unroll.get()


# *** values ***


def bitcast(x: Value, dtype: DType) -> Scalar:
    """Return the same 32 bits as a number of another dtype."""
    return Scalar(arithmetic.bitcast(scalar(x).instruction(), dtype), dtype)


def divide(a: Value, b: Value) -> Scalar:
    """Return the quotient of two real numbers."""
    return Scalar(arithmetic.divide_reals(scalar(a, REAL).instruction(), scalar(b, REAL).instruction()), REAL)


def depends_on(values: Iterable[Scalar], source: Scalar) -> bool:
    """Return whether one of the values is computed from `source`, also by way of registers."""
    stored: dict[Array, list[Instruction]] = {}

    def collect(block: Block, around: list[Instruction]) -> None:
        around = around + [x for x in (block.head, block.condition) if x is not None]
        for x in block.body:
            if isinstance(x, Block):
                collect(x, around)
            elif x.op in STORES:
                stored.setdefault(x.arg, []).extend((*x.operands, *around))

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
            if x.op == "load" and x.arg not in visited:
                visited.add(x.arg)
                waiting += stored.get(x.arg, ())
    return False


# *** kernels ***


def trace(body: Callable[..., object], parameters: Sequence[tuple[DType, int]], gpu: bool = False) -> Tape:
    """Record a kernel.

    Args:
        body: is called with a `Cells` for every parameter.
        parameters: dtype and size of each array.
        gpu: whether each thread plays one game.
    """
    with record(Tape(parameters, gpu)) as tape:
        body(*map(Cells, tape.arrays))
    return tape


@contextmanager
def tracing() -> Iterator[Tape]:
    """Record instructions for an analysis."""
    with record(Tape()) as tape:
        yield tape
