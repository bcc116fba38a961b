"""Evaluator of tapes in plain Python: one thread, one instruction after the other, with exact ints.

It has its own definition of every operation, and checks what a compiler takes for granted: each value is within the
bounds of its instruction, an operation that is not marked does not wrap around, shifts and indices are in range.
"""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensor_envs._compiler.tape import BOOL, FLOAT32, INT32, LIMITS, STORES, UINT32, Array, Block, Instruction, Tape

POISON = 0xA5A5A5A5  # of registers that were never stored to
FORMATS = {FLOAT32: "f", INT32: "i", UINT32: "I"}


def quotient(a: Any, b: Any) -> Any:
    """Return a / b; integers are rounded towards 0, and must not be divided by 0."""
    if isinstance(a, float):
        with np.errstate(all="ignore"):
            return float(np.float32(a) / np.float32(b))
    return abs(a) // abs(b) * (-1 if (a < 0) != (b < 0) else 1)


EXACT: dict[str, Callable[..., Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": quotient,
    "%": lambda a, b: a - b * quotient(a, b),
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "<": operator.lt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "!": operator.not_,
    "?": lambda condition, a, b: a if condition else b,
    "popcount": int.bit_count,
}


def wrapped(value: Any, dtype: Any) -> Any:
    """Return a number as one of a dtype: integers lose their high bits, floats are rounded to float32."""
    if dtype is BOOL:
        return bool(value)
    if dtype is FLOAT32:
        with np.errstate(over="ignore"):
            return float(np.float32(value))
    bits = 8 * dtype.itemsize
    value = int(value) & (1 << bits) - 1
    return value - (1 << bits) if LIMITS[dtype][0] < 0 and value >> bits - 1 else value


def run(tape: Tape, *arrays: Sequence[Any]) -> list[list[Any]]:
    """Return the arrays after a kernel.

    Raises:
        AssertionError: if a promise of the tape is broken.
    """
    memory: dict[Array, list[Any]] = {}
    for array, values in zip(tape.arrays, arrays, strict=True):
        memory[array] = [wrapped(x, array.dtype) for x in values]
    for array in tape.registers:
        memory[array] = [wrapped(POISON, array.dtype)] * array.size
    _Run(memory).block(tape.root)
    return [memory[array] for array in tape.arrays]


class _Run:
    def __init__(self, memory: dict[Array, list[Any]]):
        self.memory = memory
        self.values: dict[Instruction, Any] = {}

    def value(self, x: Instruction) -> Any:
        return x.value if x.op == "const" else self.values[x]

    def block(self, block: Block) -> None:
        for x in block.body:
            if isinstance(x, Block):
                self.inner(x)
            elif x.op in STORES:
                self.store(x)
            else:
                self.values[x] = self.instruction(x, [self.value(y) for y in x.operands])

    def inner(self, block: Block) -> None:
        if block.kind == "for":
            for turn in range(self.value(block.head)):
                self.values[block.index] = turn
                self.block(block)
        elif block.kind == "if":
            if self.value(block.head):
                self.block(block)
        else:
            self.block(block)
            while self.value(block.condition):
                self.block(block)

    def store(self, x: Instruction) -> None:
        at, value = map(self.value, x.operands)
        cells = self.memory[x.array]
        count = 1 if x.op == "store" else 8 * x.operands[1].dtype.itemsize
        assert 0 <= at <= len(cells) - count, f"{x.op} at {at} of {x.array.name}"
        for k in range(count):
            cells[at + k] = wrapped(value if x.op == "store" else value >> k & 1, x.array.dtype)

    def instruction(self, x: Instruction, values: list[Any]) -> Any:
        result = self.result(x, values)
        assert x.low <= result <= x.high or result != result, f"{x.op} of {values} is {result}, not {x.low}..{x.high}"
        return result

    def result(self, x: Instruction, values: list[Any]) -> Any:
        if x.op == "load":
            cells, (at,) = self.memory[x.array], values
            assert 0 <= at < len(cells), f"load at {at} of {x.array.name}"
            return cells[at]
        if x.op == "bitcast":
            return struct.unpack(FORMATS[x.dtype], struct.pack(FORMATS[x.operands[0].dtype], values[0]))[0]
        if x.op == "cast":
            if x.operands[0].dtype is FLOAT32:
                assert LIMITS[x.dtype][0] <= math.trunc(values[0]) <= LIMITS[x.dtype][1], f"cast of {values[0]}"
            return wrapped(values[0], x.dtype)
        if x.op in ("<<", ">>"):
            assert 0 <= values[1] < 8 * x.dtype.itemsize, f"shift by {values[1]}"
        exact = EXACT[x.op](*values)
        if x.dtype is FLOAT32 or x.wraps:
            return wrapped(exact, x.dtype)
        if x.op not in ("<<", ">>"):
            assert LIMITS[x.dtype][0] <= exact <= LIMITS[x.dtype][1], f"{x.op} of {values} wraps around"
        return wrapped(exact, x.dtype)
