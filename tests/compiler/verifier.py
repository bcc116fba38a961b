"""Verifier of tapes, for tests alone: a kernel that users run is printed, and its compiler need not check it twice."""

from __future__ import annotations

from tensor_envs._compiler.tape import (
    BOOL,
    FLOAT32,
    LIMITS,
    OPERATIONS,
    SIGNED,
    STORES,
    UNSIGNED,
    Block,
    Instruction,
    Tape,
)


class TapeError(Exception):
    """A rule of tapes that an instruction breaks."""


def require(holds: bool, x: Instruction, rule: str) -> None:
    if not holds:
        raise TapeError(f"{x.op} {x.number}: {rule}")


def verify(tape: Tape) -> int:
    """Check every instruction of a tape, and return their number.

    Raises:
        TapeError: a wrong type, a use that its definition does not precede, or bounds that cannot hold.
    """
    return _block(tape, tape.root, set())


def _block(tape: Tape, block: Block, defined: set[Instruction]) -> int:
    """Check a block; `defined` are the values of the blocks around it."""
    defined, count = {*defined}, 0

    def use(x: Instruction) -> None:
        require(x.op == "const" or x in defined, x, "is used where it is not defined")
        _bounds(x)

    if block.kind == "for":
        defined.add(block.index)
    for x in block.body:
        if isinstance(x, Block):
            if x.head is not None:
                use(x.head)
                wanted = (BOOL,) if x.kind == "if" else SIGNED + UNSIGNED
                require(x.head.dtype in wanted, x.head, f"is the head of a block {x.kind!r}")
            count += _block(tape, x, defined)
            continue
        for operand in x.operands:
            use(operand)
        _types(tape, x)
        if x.op not in STORES:
            _bounds(x)
            defined.add(x)
        count += 1
    if (block.kind == "while") != (block.condition is not None):
        raise TapeError(f"a block {block.kind!r} with the condition {block.condition}")
    if block.condition is not None:
        use(block.condition)
        require(block.condition.dtype is BOOL, block.condition, "is the condition of a loop")
    return count


def _types(tape: Tape, x: Instruction) -> None:
    if x.op == "load" or x.op in STORES:
        array, index, *stored = x.array, *x.operands
        require(array in tape.arrays or array in tape.registers, x, "accesses an array of another tape")
        require(index.dtype in SIGNED + UNSIGNED, x, "has an index that is no integer")
        require(index.op != "const" or 0 <= index.value < array.size, x, f"is beyond the {array.size} elements")
        if x.op == "load":
            require(x.dtype is array.dtype, x, "has another dtype than its array")
        elif x.op == "store":
            require(stored[0].dtype is array.dtype, x, "stores another dtype than its array's")
        else:
            require(stored[0].dtype in UNSIGNED, x, "stores the bits of a number with a sign")
        return
    require(x.op in OPERATIONS, x, "is no operation")
    operation = OPERATIONS[x.op]
    require(len(x.operands) == len(operation.operands), x, f"takes {len(operation.operands)} operands")
    same = {y.dtype for y, letter in zip(x.operands, operation.operands, strict=True) if letter == "x"}
    require(len(same) <= 1 and same <= {*operation.dtypes}, x, f"does not take {same}")
    conditions = [y for y, letter in zip(x.operands, operation.operands, strict=True) if letter == "b"]
    require(all(y.dtype is BOOL for y in conditions), x, "takes a condition")
    require({"b": {BOOL}, "x": same, "y": {x.dtype}}[operation.result] == {x.dtype}, x, f"does not give {x.dtype}")


def _bounds(x: Instruction) -> None:
    """Check what bounds say for every input: their order, the dtype's limits, and no unmarked wrap-around."""
    low, high = LIMITS[x.dtype]
    require(low <= x.low <= x.high <= high or x.value != x.value, x, f"has the bounds {x.low}..{x.high}")
    require(x.op != "const" or x.low == x.value == x.high or x.value != x.value, x, "is not within its bounds")
    if x.dtype is FLOAT32 or not x.operands:
        return
    a, b = x.operands[0], x.operands[-1]
    if x.op in ("<<", ">>"):
        require(0 <= b.low <= b.high < 8 * x.dtype.itemsize, x, f"shifts by {b.low}..{b.high}")
    if x.op in ("/", "%"):
        require(b.low > 0 or b.high < 0 or b.op == "?", x, "may divide by 0")
    if x.op in ("+", "-", "*") and not x.wraps:
        value = OPERATIONS[x.op].value
        assert value is not None
        ends = [value(p, q) for p in (a.low, a.high) for q in (b.low, b.high)]
        require(low <= min(ends) and max(ends) <= high, x, "may wrap around and is not marked")
        require(x.low <= max(ends) and x.high >= min(ends), x, f"is {min(ends)}..{max(ends)}, not {x.low}..{x.high}")
