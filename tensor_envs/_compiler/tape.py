"""Kernels as instructions in program order, in blocks for loops and branches.

Instructions are in static single assignment form: each computes one value, with a dtype and exact bounds. Equal pure
instructions are shared, and moved out of loops that do not change their operands. Loads and stores stay where they are
recorded. The table `OPERATIONS` has the names, types and exact values of the pure operations.
"""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

import numpy as np
from tinygrad import dtypes
from tinygrad.dtype import DType

# *** operations ***

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
    """Convert a Python number to a dtype.

    An integer wraps around. A float is rounded to float32; as an integer it is cut off and saturates, and NaN is 0.
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
    """Return a float64 that rounds to the same float32 as an integer of any size."""
    # If float64 rounded first, its result could be a tie that float32 rounds the wrong way. So keep the highest 50
    # bits, and set the last of them if any bit below is set (a sticky bit): then there is no such tie.
    lost = max(abs(value).bit_length() - 50, 0)
    return float((value >> lost | (value & (1 << lost) - 1 != 0)) << lost)


def reinterpret(value: Any, old: DType, new: DType) -> Any:
    """Return the number of another dtype that has the same 32 bits."""
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
        name: name in a printed tape.
        operands: a letter for the type of each operand: "x" for one of `dtypes`, the same for all; "b" for a bool.
        result: a letter for the type of the result: "x", "b", or "y" for any.
        dtypes: the types that "x" stands for.
        value: function from Python numbers to the exact result, before `wrap`; None if it depends on dtypes.
        opposite: operation with the negated result. For `<` it is valid only for integers: with NaN, neither holds.
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
TEAM_OPERATIONS = ("team_sum", "team_min", "team_max")
# Keys are operators of C, if there is one. `>=` is an operation of integers only: for floats it is not the negation of
# `<`, since both are false for NaN.
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
    # reductions over all threads of a team, which have to reach them together
    **{name: Operation(name, "x", "x", (INT32, INT64), None) for name in TEAM_OPERATIONS},
    "group": Operation("group_id", "", "y", (), None),
    "thread": Operation("thread_id", "", "y", (), None),
}


# *** tapes ***

STORES = ("store", "store_bits")
TYPE_NAMES = {  # in a printed tape
    BOOL: "bool",
    FLOAT32: "float32",
    **{d: f"int{8 * d.itemsize}" for d in SIGNED},
    **{d: f"uint{8 * d.itemsize}" for d in UNSIGNED},
}


class Array:
    """Array of a kernel: a parameter, or an array in the kernel's registers.

    Attributes:
        dtype: dtype of the elements.
        size: number of elements.
        slot: position among the parameters; None for registers.
        name: name in a printed tape and in a source.
        version: number of stores recorded so far.
        used: whether a live instruction loads from it or stores to it; set by `Tape.finish`.
        written: whether a live instruction stores to it; set by `Tape.finish`.
    """

    def __init__(self, dtype: DType, size: int, slot: int | None, name: str):
        self.dtype = dtype
        self.size = size
        self.slot = slot
        self.name = name
        self.version = 0
        self.used = self.written = False


class Instruction:
    """Instruction of a kernel, and the value that it computes.

    Attributes:
        op: "const", "index" (of a loop), "load", "store", "store_bits", or a key of `OPERATIONS`.
        dtype: dtype of the value; None for a store.
        operands: the instructions whose values it uses.
        low: lowest possible value.
        high: highest possible value.
        value: the number of a constant, else None.
        array: the array of a load or store, else None.
        wraps: whether the exact result may be beyond the dtype, so that it wraps around.
        block: the block that it belongs to.
        number: position in the order of recording; 0 for constants.
        uses: number of live instructions and blocks that use it; set by `Tape.finish`.
        user: block of the last of these; set by `Tape.finish`.
        text: printed form; set by a dialect.
    """

    __slots__ = (
        "array", "block", "dtype", "high", "low", "number", "op", "operands", "text", "user", "uses", "value", "wraps"
    )  # fmt: skip

    def __init__(self, op: str, dtype: Any, operands: tuple[Instruction, ...], low: Any, high: Any):
        self.op = op
        self.dtype = dtype
        self.operands = operands
        self.low = low
        self.high = high
        self.value: Any = None
        self.array: Any = None
        self.wraps = False
        self.block: Any = None
        self.number = self.uses = 0
        self.user: Block | None = None
        self.text = ""


class Block:
    """A sequence of instructions and nested blocks.

    Attributes:
        kind: "kernel", "for", "while" (runs once, then while `condition` holds) or "if".
        head: the number of iterations of a "for", the condition of an "if".
        condition: whether a "while" runs again.
        index: the counter of a "for".
        barrier: the block that no instruction of this one is moved out of.
        body: the instructions and nested blocks.
        shared: the pure instructions of the block, by operation and operands.
        unroll: whether compilers may unroll a "for".
        vector: iterations of a "for" that one vector computes, a divisor of their number; 0 leaves it to the compiler.
        together: whether lanes may run a loop together, each for as many iterations as the lane that needs most.
        live: whether it contains a store to a used array; set by `Tape.finish`, which removes other blocks.
    """

    def __init__(self, kind: str, parent: Block | None = None, head: Any = None):
        self.kind = kind
        self.parent = parent
        self.head = head
        self.depth: int = 0 if parent is None else parent.depth + 1
        # The work of a branch stays in it: otherwise all games would do it.
        self.barrier: Block = self if parent is None or kind == "if" else parent.barrier
        self.body: list[Instruction | Block] = []
        self.shared: dict[Any, Instruction] = {}
        self.index: Any = None
        self.condition: Any = None
        self.is_open = True
        self.live = False
        self.unroll = True
        self.together = False
        self.vector = 0

    def ends_with_short_loop(self, size: int) -> bool:
        """Return whether the block ends with a nested block of at most `size` instructions and no other blocks."""
        last = self.body[-1]
        return isinstance(last, Block) and len(last.body) <= size and not any(isinstance(x, Block) for x in last.body)


class Tape:
    """Record of a kernel's instructions."""

    def __init__(self, parameters: Sequence[tuple[DType, int]] = (), gpu: bool = False):
        """Start a tape.

        Args:
            parameters: dtype and size of each parameter.
            gpu: whether the kernel is for a GPU, where a thread plays one game.
        """
        self.gpu = gpu
        self.root = self.block = Block("kernel")
        self.arrays = [Array(dtype, size, k, f"data{k}") for k, (dtype, size) in enumerate(parameters)]
        self.registers: list[Array] = []
        self.grid: dict[str, int] = {}  # number of workgroups ("group") and of their threads ("thread") on a GPU
        self.team = 1  # threads of a GPU that play a game together: all take the same branches and iterations
        # Whether few threads run on a processor, each with many loads in flight: it may then use more registers.
        self.few_threads = False
        self.count = 0  # instructions recorded
        self.is_finished = False
        self._constants: dict[Any, Instruction] = {}

    # *** instructions ***

    def const(self, value: Any, dtype: DType) -> Instruction:
        """Return the constant; `value` must be one of the dtype."""
        key = (repr(value) if dtype is FLOAT32 else int(value), dtype)  # 0.0 equals -0.0, but is another constant
        if (existing := self._constants.get(key)) is None:
            # a NaN has no bounds
            low, high = LIMITS[dtype] if value != value else (value, value)
            existing = self._constants[key] = Instruction("const", dtype, (), low, high)
            existing.value = value
            existing.block = self.root
        return existing

    def pure(
        self, op: str, dtype: DType, operands: tuple[Instruction, ...], low: Any, high: Any, wraps: bool = False
    ) -> Instruction:
        """Return an instruction without side effects; an equal one that is visible here is shared."""
        # Fold an operation of constants. Its exact value wraps around as it would on a device.
        value = OPERATIONS[op].value
        if value is not None and all(x.op == "const" for x in operands):
            return self.const(wrap(value(*(x.value for x in operands)), dtype), dtype)
        # Place it in the outermost block in which all operands exist, but in no block around the current branch. So a
        # value that does not change in a loop is computed before the loop.
        block = self.block.barrier
        for x in operands:
            if x.block.depth > block.depth:
                block = x.block
        # Share an equal instruction of this block or one around it. Other blocks may not have run.
        key = (op, dtype, wraps, *map(id, operands))
        visible = block
        while visible is not None:
            if (existing := visible.shared.get(key)) is not None:
                return existing
            visible = visible.parent  # type: ignore[assignment]
        new = self._append(Instruction(op, dtype, operands, low, high), block)
        new.wraps = wraps
        block.shared[key] = new
        return new

    def load(self, array: Array, index: Instruction) -> Instruction:
        return self._access(Instruction("load", array.dtype, (index,), *LIMITS[array.dtype]), array)

    def store(self, array: Array, index: Instruction, value: Instruction) -> None:
        assert value.dtype is array.dtype, f"a value of {value.dtype} for an array of {array.dtype}"
        array.version += 1
        self._access(Instruction("store", None, (index, value), 0, 0), array)

    def store_bits(self, array: Array, index: Instruction, bits: Instruction) -> None:
        """Store every bit of an unsigned number, the lowest first, as an element 0 or 1 of its own."""
        assert bits.dtype in UNSIGNED and not self.gpu
        array.version += 1
        self._access(Instruction("store_bits", None, (index, bits), 0, 0), array)

    def grid_index(self, axis: str, size: int) -> Instruction:
        """Return the index of the workgroup ("group") or of the thread in it ("thread"), which is below `size`."""
        assert self.gpu and self.grid.setdefault(axis, size) == size
        return self.pure(axis, INT32, (), 0, size - 1)

    def register(self, dtype: DType, size: int) -> Array:
        """Return an uninitialised array in registers."""
        self.registers.append(Array(dtype, size, None, f"r{len(self.registers)}"))
        return self.registers[-1]

    def _access(self, new: Instruction, array: Array) -> Instruction:
        """Append a load or store of an array to the current block."""
        new.array = array
        return self._append(new, self.block)

    def _append(self, new: Instruction, block: Block) -> Instruction:
        for x in new.operands:
            assert x.block.is_open, f"the value of a {x.op!r} is used after its loop or branch has ended"
        self.count += 1
        new.number = self.count
        new.block = block
        block.body.append(new)
        return new

    # *** blocks ***

    @contextmanager
    def nested(self, kind: str, head: Any = None) -> Iterator[Block]:
        """Record a block of a kind, see `Block`."""
        outer = self.block
        block = self.block = Block(kind, outer, head)
        if kind == "for":
            # The index of a loop that may have no iteration still needs valid bounds.
            block.index = Instruction("index", INT32, (), 0, max(head.high - 1, 0))
            block.index.block = block
        yield block
        assert self.block is block
        block.is_open = False
        self.block = outer
        outer.body.append(block)

    # *** the recorded kernel ***

    def finish(self) -> None:
        """Remove the instructions and blocks that no store to a parameter depends on."""
        assert self.block is self.root, "a loop or branch has not ended"
        if self.is_finished:
            return
        self.is_finished = True
        self._mark_live()
        _remove_dead(self.root)

    def _mark_live(self) -> None:
        """Mark what stores to parameters depend on, by `used` of arrays, `uses` of instructions, `live` of blocks.

        Liveness spreads backwards from these stores. A store needs its operands, and the conditions and sizes of the
        blocks around it. A load needs all stores to its array.
        """
        stores: dict[Array, list[Instruction]] = {}
        waiting: list[Instruction] = []

        def use(x: Instruction, block: Block) -> None:
            # The operands of an instruction are visited once, after its first use.
            if not x.uses:
                waiting.append(x)
            x.uses += 1
            x.user = block

        def use_array(array: Array) -> None:
            array.used = True
            # The stores leave the table, so a second visit of the array does nothing.
            for store in stores.pop(array, ()):
                array.written = True
                for operand in store.operands:
                    use(operand, store.block)
                # Go up to the first block that is live already: the blocks around it are live, too.
                block = store.block
                while not block.live:
                    block.live = True
                    if block.head is not None:
                        use(block.head, block.parent)
                    if block.condition is not None:
                        use(block.condition, block)
                    block = block.parent or block

        for x, _ in self.instructions():
            if x.op in STORES:
                stores.setdefault(x.array, []).append(x)
        for array in self.arrays:
            if array in stores:
                use_array(array)
        while waiting:
            x = waiting.pop()
            if x.op == "load":
                use_array(x.array)
            for operand in x.operands:
                use(operand, x.block)

    def instructions(self) -> Iterator[tuple[Instruction, int]]:
        """Yield the instructions, and how often each runs. Loops of unknown length count once, branches as taken."""

        def walk(block: Block, times: int) -> Iterator[tuple[Instruction, int]]:
            for x in block.body:
                if not isinstance(x, Block):
                    yield x, times
                elif x.kind == "for" and x.head is not None and x.head.op == "const":
                    yield from walk(x, times * x.head.value)
                else:
                    yield from walk(x, times)

        return walk(self.root, math.prod(self.grid.values()))

    def __repr__(self) -> str:
        """Return the kernel as text: a line for each instruction, with its dtype and bounds, and indented blocks."""
        names: dict[Instruction, str] = {}
        lines: list[str] = []

        def name(x: Instruction) -> str:
            return str(x.value) if x.op == "const" else names.setdefault(x, f"%{len(names)}")

        def line(x: Instruction) -> str:
            values = [name(operand) for operand in x.operands]
            if x.op in STORES:
                return f"{x.op} {x.array.name}[{values[0]}], {values[1]}"
            if x.op == "load":
                return f"{name(x)}: {_typed(x)} = load {x.array.name}[{values[0]}]"
            operation = OPERATIONS[x.op].name + ".wrap" * x.wraps
            return f"{name(x)}: {_typed(x)} = {operation} {', '.join(values)}".rstrip()

        def show(block: Block, indent: str) -> None:
            for x in block.body:
                if not isinstance(x, Block):
                    lines.append(indent + line(x))
                    continue
                head = "do"
                if x.kind == "for":
                    head = f"for {name(x.index)} in 0..{name(x.head)}"
                elif x.kind == "if":
                    head = f"if {name(x.head)}"
                lines.append(f"{indent}{head} {{")
                show(x, f"{indent}  ")
                end = "}" if x.condition is None else f"}} while {name(x.condition)}"
                lines.append(indent + end)

        arrays = [f"{x.name}: {TYPE_NAMES[x.dtype]}[{x.size}]" for x in (*self.arrays, *self.registers)]
        count = len(self.arrays)
        lines += [f"kernel({', '.join(arrays[:count])}) {{", *(f"  {x}" for x in arrays[count:])]
        show(self.root, "  ")
        return "\n".join([*lines, "}"])

    def work(self) -> tuple[int, int]:
        """Return the number of operations, and the bytes of parameters that are loaded or stored.

        On a CPU only those in loops count: these are the work of one block.
        """
        operations = moved = 0
        for x, times in self.instructions():
            if not self.gpu and x.block is self.root:
                continue
            if x.op not in ("load", *STORES):
                operations += times
            elif x.array.slot is not None:
                elements = x.operands[1].dtype.itemsize * 8 if x.op == "store_bits" else 1
                moved += x.array.dtype.itemsize * elements * times
        return operations, moved


def _remove_dead(block: Block) -> None:
    """Remove the instructions and nested blocks that are not live. A loop without effect would still run."""
    block.body = [
        x for x in block.body if (x.live if isinstance(x, Block) else x.array.used if x.op in STORES else x.uses)
    ]
    for x in block.body:
        if isinstance(x, Block):
            _remove_dead(x)


def _typed(x: Instruction) -> str:
    """Return an instruction's dtype, and its bounds where they are narrower."""
    bounds = "" if (x.low, x.high) == LIMITS[x.dtype] else f" {x.low}..{x.high}"
    return f"{TYPE_NAMES[x.dtype]}{bounds}"


_recording: ContextVar[Tape | None] = ContextVar("_recording", default=None)


def recording() -> Tape | None:
    """Return the tape of the kernel that is being recorded; None if there is none."""
    return _recording.get()


def current() -> Tape:
    """Return the tape of the kernel that is being recorded."""
    tape = _recording.get()
    assert tape is not None, "no kernel is being recorded"
    return tape


@contextmanager
def record(tape: Tape) -> Iterator[Tape]:
    """Make a tape the current one."""
    token = _recording.set(tape)
    try:
        yield tape
    finally:
        _recording.reset(token)
