"""Conversion of a tape to tinygrad's operations, for renderers without a dialect: its interpreter and LLVM."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tinygrad import UOp, dtypes
from tinygrad.dtype import AddrSpace
from tinygrad.uop.ops import AxisType, Ops

from tensor_envs._compiler.tape import BOOL, FLOAT32, INT32, UINT32, UNSIGNED_OF, Array, Block, Instruction, Tape

UOPS = {
    "+": Ops.ADD,
    "*": Ops.MUL,
    "%": Ops.CMOD,
    "&": Ops.AND,
    "|": Ops.OR,
    "^": Ops.XOR,
    "<<": Ops.SHL,
    ">>": Ops.SHR,
    "<": Ops.CMPLT,
    "==": Ops.CMPEQ,
    "!=": Ops.CMPNE,
    "?": Ops.WHERE,
}


class Linear:
    """Converter of a finished tape."""

    def __init__(self, tape: Tape, divides: bool):
        """Prepare a conversion.

        Args:
            tape: the tape.
            divides: whether the renderer can divide floats; otherwise it has only reciprocals.
        """
        self.tape = tape
        self.divides = divides

    def uops(self, parameters: Sequence[UOp]) -> list[UOp]:
        """Return the operations, given a parameter for each used array, in order."""
        self.list: list[UOp] = []
        self.uop_of: dict[Any, UOp] = {}
        for array, parameter in zip((a for a in self.tape.arrays if a.used), parameters, strict=True):
            self.uop_of[array] = self.append(parameter)
        # Registers have the slots after those of all parameters.
        for slot, array in enumerate(a for a in self.tape.registers if a.used):
            self.uop_of[array] = self.append(
                UOp.placeholder((array.size,), array.dtype, len(self.tape.arrays) + slot, AddrSpace.REG)
            )
        self.block(self.tape.root)
        return self.list

    def append(self, u: UOp) -> UOp:
        # Renderers read the list in order, so an operation's constants must come before it.
        self.list += [s for s in u.src if s.op is Ops.CONST] + [u]
        return u

    def new(self, op: Ops, dtype: Any, *src: UOp, arg: Any = None) -> UOp:
        """Append an operation. Its tag keeps tinygrad from merging equal ones: two loads may read different values."""
        return self.append(UOp(op, dtype, src, arg, tag=len(self.list)))

    def const(self, value: Any, dtype: Any) -> UOp:
        return self.append(UOp.cconst(value, dtype))

    def value(self, x: Instruction) -> UOp:
        return self.const(x.value, x.dtype) if x.op == "const" else self.uop_of[x]

    def block(self, block: Block) -> None:
        for x in block.body:
            if isinstance(x, Block):
                self.inner(x)
            elif x.op == "store":
                self.store(x.array, *map(self.value, x.operands))
            elif x.op == "store_bits":
                self.store_bits(x)
            else:
                self.uop_of[x] = self.instruction(x, [self.value(operand) for operand in x.operands])

    def store(self, array: Array, index: UOp, value: UOp) -> None:
        cell = self.new(Ops.INDEX, array.dtype, self.uop_of[array], index)
        self.new(Ops.STORE, dtypes.void, cell, value)

    def store_bits(self, x: Instruction) -> None:
        first, bits = x.operands
        word = self.new(Ops.CAST, UINT32, self.value(bits), arg=UINT32)
        # These renderers have no vectors of bits, so each bit is unpacked and stored alone.
        for k in range(bits.dtype.itemsize * 8):
            index = self.new(Ops.ADD, first.dtype, self.value(first), self.const(k, first.dtype))
            bit = self.new(
                Ops.AND, UINT32, self.new(Ops.SHR, UINT32, word, self.const(k, UINT32)), self.const(1, UINT32)
            )
            is_set = self.new(Ops.CMPNE, BOOL, bit, self.const(0, UINT32))
            dtype = x.array.dtype
            self.store(x.array, index, is_set if dtype is BOOL else self.new(Ops.CAST, dtype, is_set, arg=dtype))

    def inner(self, block: Block) -> None:
        if block.kind == "if":
            begin = self.new(Ops.IF, dtypes.void, self.value(block.head))
        else:
            # A RANGE of type void has no bound: it is tinygrad's endless loop, left by the condition of its END.
            size = self.append(UOp(Ops.NOOP)) if block.head is None else self.value(block.head)
            if block.head is not None and block.head.low < 0:
                # tinygrad's LLVM renderer compares a loop's index with its size as unsigned numbers (0.14.0). A
                # negative number of iterations would become billions.
                zero = self.const(0, INT32)
                size = self.new(Ops.WHERE, INT32, self.new(Ops.CMPLT, BOOL, size, zero), zero, size)
            dtype = dtypes.void if block.head is None else INT32
            begin = self.new(Ops.RANGE, dtype, size, arg=(len(self.list), AxisType.WEAK))
            self.uop_of[block.index] = begin
        self.block(block)
        if block.kind == "if":
            self.new(Ops.ENDIF, dtypes.void, begin)
        else:
            # END's first source is the loop's body. It is in the list already, so a NOOP stands for it.
            condition = [] if block.condition is None else [self.value(block.condition)]
            self.new(Ops.END, dtypes.void, self.append(UOp(Ops.NOOP)), begin, *condition)

    def instruction(self, x: Instruction, src: list[UOp]) -> UOp:
        dtype = x.dtype
        match x.op:
            case "load":
                return self.new(Ops.LOAD, dtype, self.new(Ops.INDEX, dtype, self.uop_of[x.array], *src))
            case "group" | "thread":
                return self.new(Ops.SPECIAL, INT32, self.const(x.high + 1, INT32), arg=f"{'gl'[x.op == 'thread']}idx0")
            case "!":
                # tinygrad has no negation of bools.
                return self.new(Ops.CMPNE, BOOL, src[0], self.const(True, BOOL))
            case ">=":
                # `>=` is recorded for integers only, see `OPERATIONS`, so it is the negation of `<`.
                less = self.new(Ops.CMPLT, BOOL, *src)
                return self.new(Ops.CMPNE, BOOL, less, self.const(True, BOOL))
            case "/":
                if dtype is FLOAT32 and not self.divides:
                    return self.new(Ops.MUL, dtype, src[0], self.new(Ops.RECIPROCAL, dtype, src[1]))
                return self.new(Ops.FDIV if dtype is FLOAT32 else Ops.CDIV, dtype, *src)
            # LLVM may assume that tinygrad's signed sums do not overflow, so these are unsigned sums.
            case "+" if x.wraps:
                return self.wrapping_sum(dtype, *src)
            case "-":
                return self.wrapping_sum(dtype, src[0], self.new(Ops.MUL, dtype, src[1], self.const(-1, dtype)))
            case "cast" | "bitcast":
                return self.new(Ops.CAST if x.op == "cast" else Ops.BITCAST, dtype, src[0], arg=dtype)
            case "popcount":
                return self.popcount(src[0])
        return self.new(UOPS[x.op], dtype, *src)

    def wrapping_sum(self, dtype: Any, *src: UOp) -> UOp:
        """Add two numbers. Signed integers are added as unsigned ones.

        tinygrad's LLVM renderer leaves the overflow of signed sums undefined (0.14.0,
        https://github.com/tinygrad/tinygrad/pull/10249).
        """
        unsigned = UNSIGNED_OF.get(dtype)
        if unsigned is None:
            return self.new(Ops.ADD, dtype, *src)
        total = self.new(Ops.ADD, unsigned, *(self.new(Ops.BITCAST, unsigned, x, arg=unsigned) for x in src))
        return self.new(Ops.BITCAST, dtype, total, arg=dtype)

    def popcount(self, x: UOp) -> UOp:
        """Return the number of set bits of a word: add its bits in pairs, then the sums in pairs, and so on."""
        for size, mask in ((1, 0x55555555), (2, 0x33333333), (4, 0x0F0F0F0F), (8, 0x00FF00FF), (16, 0xFFFF)):
            low = self.const(mask, UINT32)
            shift = self.const(size, UINT32)
            parts = (self.new(Ops.AND, UINT32, part, low) for part in (x, self.new(Ops.SHR, UINT32, x, shift)))
            x = self.new(Ops.ADD, UINT32, *parts)
        return x
