"""Loops over lanes, recorded anew from their instructions, so that a processor works on many lanes at once.

A loop without blocks is unrolled: a few of its turns are taken together, see `unroll_lanes`.

Loops inside it are turned inside out, so that compilers vectorise them: `for lane { a; while { b } c }` becomes
`for lane { a } while { for lane { b } } for lane { c }`. All lanes take as many turns as the one that needs most, so
that this is for loops whose further turns change nothing (`Block.together`). A loop with another number of turns in
each lane becomes `for lane { for turns { b } }`, since often few lanes need it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any

from tensor_envs._compiler import arithmetic
from tensor_envs._compiler.tape import FLOAT32, INT32, STORES, Array, Block, Instruction, Tape

ADDRESSES = {"+": arithmetic.add, "*": arithmetic.multiply}  # operations of addresses
MAX_RECOMPUTED = 3  # operations of a value that is computed again rather than stored for a later part


def unroll_lanes(tape: Tape, count: int) -> None:
    """Unroll the last loop of the open block, which has no blocks: `count` of its turns, far apart, are taken at once.

    The instructions of these turns alternate, so that a processor works on all of them while it waits for one. Stores
    come last: one between the loads of two turns would keep compilers from vectorising the loop.
    """
    loop = tape.block.body.pop()
    assert isinstance(loop, Block)
    share = loop.head.value // count
    ranked: list[tuple[int, Instruction]] = []
    stores: list[Instruction] = []
    with tape.nested("for", arithmetic.const(share, INT32)) as unrolled:
        ranks: dict[Instruction, int] = {}  # places in the order that all turns share
        for turn in range(count):
            unrolled.body.clear()
            copies = {loop.index: arithmetic.add(unrolled.index, arithmetic.const(turn * share, INT32))}
            for x in loop.body:
                assert isinstance(x, Instruction)
                copies[x] = _copy(tape, x, [copies.get(operand, operand) for operand in x.operands])
            rank = 0
            stored = set[Array]()
            for new in unrolled.body:
                assert isinstance(new, Instruction)
                if new.op in STORES:
                    stored.add(new.array)
                    stores.append(new)
                    continue
                assert new.op != "load" or new.array not in stored, "stores come last, and this array is read after one"
                # after the instruction before it, and after its operands, which an earlier turn may have recorded
                rank = ranks[new] = max(rank, *(ranks.get(operand, 0) for operand in new.operands), 0) + 1
                ranked.append((rank, new))
        # The sort is stable: within a rank the turns keep their order.
        ranked.sort(key=lambda item: item[0])
        unrolled.body[:] = [*(x for _, x in ranked), *stores]


def _copy(tape: Tape, x: Instruction, operands: Sequence[Instruction]) -> Instruction:
    """Record a pure instruction, a load or a store again with other operands."""
    if x.array is not None:
        return getattr(tape, x.op)(x.array, *operands)  # type: ignore[no-any-return]
    if x.op in ADDRESSES and x.dtype is not FLOAT32:
        # a lane's number may now end in a constant, and addresses share what comes before it
        return ADDRESSES[x.op](*operands)
    return tape.pure(x.op, x.dtype, tuple(operands), x.low, x.high, x.wraps)


def turn_inside_out(tape: Tape, private: Sequence[Array]) -> bool:
    """Turn the last loop of the open block inside out if lanes may take the loops in it together; return whether.

    private: arrays of one lane's own, which get the values of all lanes.
    """
    loop = tape.block.body[-1]
    assert isinstance(loop, Block)
    inner = [x for x in loop.body if isinstance(x, Block)]
    if not inner or not all(map(_together, inner)):
        return False
    tape.block.body.pop()
    _InsideOut(tape, loop, private).record()
    return True


def _together(block: Block) -> bool:
    """Return whether lanes may take the turns of a loop, and of the loops in it, together, or it is `_apart`."""
    inner = [x for x in block.body if isinstance(x, Block)]
    return block.together and (not inner if _apart(block) else all(map(_together, inner)))


def _apart(block: Block) -> bool:
    """Return whether the number of a loop's turns is computed."""
    return block.head is not None and block.head.op != "const"


class _InsideOut:
    """A loop over lanes that is recorded anew.

    Attributes:
        parts: parts of the loop and of each one in it: sequences of instructions, each with the loop that follows.
        home: the part, by identity, in which an instruction stands.
        stored: the parts that store to an array.
        imports: values of other parts that a part loads first, in the order of recording.
        spilled: arrays of values that are stored for other parts.
    """

    def __init__(self, tape: Tape, loop: Block, private: Sequence[Array]):
        self.tape = tape
        self.loop = loop
        self.lanes = loop.head
        self.private = {*private}
        self.parts: dict[Block, list[tuple[list[Instruction], Block | None]]] = {}
        self.home: dict[Any, int] = {}
        self.stored: dict[Array, set[int]] = {}
        self.imports: dict[int, list[Instruction]] = {}
        self.spilled: dict[Instruction, Array] = {}
        self.costs: dict[Instruction, float] = {}
        self.indices: dict[Instruction, Instruction] = {}  # new indices of the inner loops
        self._cut(loop)
        for block in self.parts:
            self._plan(block)

    def record(self) -> None:
        for array in self.private:
            array.size *= self.lanes.value
        self._record(self.loop)

    # *** what a part needs of others ***

    def _cut(self, block: Block) -> None:
        """Cut a block into parts, each with the loop that follows; it begins and ends with a part."""
        part: list[Instruction] = []
        parts = self.parts[block] = []
        for x in block.body:
            if isinstance(x, Block):
                self._cut(x)
                parts.append((part, x))
                part = []
                continue
            part.append(x)
            self.home[x] = id(part)
            if x.op in STORES:
                self.stored.setdefault(x.array, set()).add(id(part))
        parts.append((part, None))

    def _plan(self, block: Block) -> None:
        """Find the values of other parts that the parts of a block need."""
        for part, inner in self.parts[block]:
            needed: set[Instruction] = set()
            for x in part:
                for operand in x.operands:
                    self._need(id(part), operand, needed)
            for end in () if inner else (block.condition, block.head):
                if end is not None:
                    self._need(id(part), end, needed)
            self.imports[id(part)] = sorted(needed, key=lambda x: x.number)

    def _need(self, part: int, x: Instruction, needed: set[Instruction]) -> None:
        if self.home.get(x, part) == part or x in needed:
            return
        # A stored value costs a store and a load for each lane, and memory for all lanes; a cheap one is computed
        # again.
        if self._cost(x) > MAX_RECOMPUTED:
            needed.add(x)
            if x not in self.spilled:
                self.spilled[x] = self.tape.register(x.dtype, self.lanes.value)
            return
        # A load that is repeated must come before the stores of its new part, so it is imported like a spilled value.
        if x.op == "load":
            needed.add(x)
        for operand in x.operands:
            self._need(part, operand, needed)

    def _cost(self, x: Instruction) -> float:
        """Return the number of operations that compute a value again in another part."""
        if x not in self.home:
            return 0
        if x not in self.costs:
            # A value is loaded again only if its array is as it was. Private arrays change in every turn. The last part
            # is an exception: it runs once, after all others.
            last = {id(self.parts[self.loop][-1][0])}  # a part loads what it imports before it stores
            changes = x.op == "load" and (x.array in self.private or self.stored.get(x.array, last) != last)
            self.costs[x] = inf if changes else 1 + sum(map(self._cost, x.operands))
        return self.costs[x]

    # *** recording ***

    def _record(self, block: Block, any_lane: Array | None = None) -> None:
        """Record the parts and loops of a block. any_lane: becomes 1 if the block's condition holds for a lane."""
        zero = arithmetic.const(0, INT32)
        for part, inner in self.parts[block]:
            with self.tape.nested("for", self.lanes) as lanes:
                self.part = id(part)
                self.lane = lanes.index
                self.copies = {self.loop.index: lanes.index}
                for x in (*self.imports[self.part], *part):
                    self._copy(x)
                if inner is None and any_lane is not None and block.condition is not None:
                    again = arithmetic.cast(self._value(block.condition), INT32)
                    self.tape.store(any_lane, zero, arithmetic.bit_or(self.tape.load(any_lane, zero), again))
            if inner is not None and _apart(inner):
                self._each_lane(inner)
            elif inner is not None:
                self._inner(inner)

    def _each_lane(self, block: Block) -> None:
        """Record a loop of which every lane takes its own turns."""
        ((part, _),) = self.parts[block]
        with self.tape.nested("for", self.lanes) as lanes:
            self.part = id(part)
            self.lane = lanes.index
            self.copies = {self.loop.index: lanes.index}
            for x in self.imports[self.part]:
                self._copy(x)
            with self.tape.nested("for", self._value(block.head)) as turns:
                self.copies[block.index] = turns.index
                for x in part:
                    self._copy(x)

    def _inner(self, block: Block) -> None:
        with self.tape.nested(block.kind, block.head) as new:
            new.unroll = block.unroll
            new.vector = block.vector
            if block.kind == "for":
                self.indices[block.index] = new.index
                self._record(block)
            else:
                # The loop goes on while it does for any lane: the or of all lanes is a register that each turn clears.
                any_lane = self.tape.register(INT32, 1)
                zero = arithmetic.const(0, INT32)
                self.tape.store(any_lane, zero, zero)
                self._record(block, any_lane)
                new.condition = arithmetic.less(zero, self.tape.load(any_lane, zero))

    def _value(self, x: Instruction) -> Instruction:
        """Return a value of the original loop as an instruction of the part that is being recorded."""
        if x not in self.copies and x in self.home:
            self._copy(x)
        return self.copies.get(x) or self.indices.get(x, x)

    def _copy(self, x: Instruction) -> None:
        """Record an instruction for this part: a load if another part has spilled its value, else the computation."""
        tape = self.tape
        if self.home[x] != self.part and x in self.spilled:
            copy = tape.load(self.spilled[x], self.lane)
        else:
            operands = [*map(self._value, x.operands)]
            if x.array in self.private:
                # One element of all lanes is contiguous, so that a vector of lanes is one load or store.
                operands[0] = arithmetic.add(arithmetic.multiply(operands[0], self.lanes), self.lane)
            copy = _copy(tape, x, operands)
        self.copies[x] = copy
        if self.home[x] == self.part and x in self.spilled:
            tape.store(self.spilled[x], self.lane, copy)
