"""Transformations of loops over lanes, for the vectors and the out-of-order execution of a processor.

A loop over lanes without inner blocks is unrolled, and its iterations are interleaved (`unroll_lanes`).

Compilers do not vectorise a loop over lanes with inner loops. It is divided into its parts, and exchanged with each
inner loop (`interchange_loops`: loop distribution and interchange):

    for lane {              for lane { a }
      a                     while {
      while { b }    ->       for lane { b }
      c                     }
    }                       for lane { c }

All lanes then take as many iterations as the lane that needs most, so surplus iterations of the inner loop must change
nothing (`Block.together`). A "for" whose number of iterations is computed stays within the loop over lanes,
`for lane { for n { b } }`, since often only few lanes need it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import inf
from typing import Any

from tensor_envs._compiler import arithmetic
from tensor_envs._compiler.tape import FLOAT32, INT32, STORES, Array, Block, Instruction, Tape

# Operations of addresses, with functions that record them in canonical form.
ADDRESSES = {"+": arithmetic.add, "*": arithmetic.multiply}
MAX_RECOMPUTED = 3  # operations of a value that other parts compute again; a longer computation is stored


def unroll_lanes(tape: Tape, count: int) -> None:
    """Unroll the last loop of the current block, which has no inner blocks, by `count`.

    A new iteration k has the lanes k, k + n, k + 2 * n, ..., where n is the new number of iterations. Their
    instructions are interleaved, so that a processor works on some lanes while others wait for memory. Stores come
    last: a store between the loads of two lanes would keep compilers from vectorising the loop.
    """
    loop = tape.block.body.pop()
    assert isinstance(loop, Block)
    iterations = loop.head.value // count
    ranked: list[tuple[int, Instruction]] = []
    stores: list[Instruction] = []
    with tape.nested("for", arithmetic.const(iterations, INT32)) as unrolled:
        # Sort the instructions of all copies by rank: the n-th instructions of the copies have about the same rank.
        ranks: dict[Instruction, int] = {}
        for k in range(count):
            unrolled.body.clear()
            copies = {loop.index: arithmetic.add(unrolled.index, arithmetic.const(k * iterations, INT32))}
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
                # The rank is above that of the instruction before, and those of the operands: an operand that copies
                # share belongs to an earlier copy.
                rank = max(rank, *(ranks.get(operand, 0) for operand in new.operands), 0) + 1
                ranks[new] = rank
                ranked.append((rank, new))
        # The sort is stable: within a rank the copies keep their order.
        ranked.sort(key=lambda item: item[0])
        unrolled.body[:] = [*(x for _, x in ranked), *stores]


def _copy(tape: Tape, x: Instruction, operands: Sequence[Instruction]) -> Instruction:
    """Record a pure instruction, a load or a store again, with other operands."""
    if x.array is not None:
        return getattr(tape, x.op)(x.array, *operands)  # type: ignore[no-any-return]
    if x.op in ADDRESSES and x.dtype is not FLOAT32:
        # An unrolled lane's number is a sum with a constant. `arithmetic` moves the constant to the end of an address,
        # so that the addresses of all copies share the part before it.
        return ADDRESSES[x.op](*operands)
    return tape.pure(x.op, x.dtype, tuple(operands), x.low, x.high, x.wraps)


def interchange_loops(tape: Tape, private: Sequence[Array]) -> bool:
    """Exchange the current block's last loop, over lanes, with its inner loops; return False if that is impossible.

    private: arrays for one lane's numbers, which are enlarged to hold those of all lanes.
    """
    loop = tape.block.body[-1]
    assert isinstance(loop, Block)
    inner = [x for x in loop.body if isinstance(x, Block)]
    if not inner or not all(map(_is_exchangeable, inner)):
        return False
    tape.block.body.pop()
    _Interchange(tape, loop, private).record()
    return True


def _is_exchangeable(block: Block) -> bool:
    """Return whether a loop can be exchanged with a loop over lanes."""
    # A loop of computed length stays within the loop over lanes, so it must be innermost.
    inner = [x for x in block.body if isinstance(x, Block)]
    return block.together and (not inner if _has_computed_length(block) else all(map(_is_exchangeable, inner)))


def _has_computed_length(block: Block) -> bool:
    """Return whether a loop's number of iterations is computed, so that it may differ between lanes."""
    return block.head is not None and block.head.op != "const"


class _Interchange:
    """Recorder of a loop over lanes again, with its inner loops outside of it.

    The loop is divided into parts, which are the instructions between inner loops. Each part becomes its own loop over
    lanes. If it uses a value of another part, the value is either stored for all lanes (spilled) and loaded again, or
    computed again.

    Attributes:
        parts: for the loop and each inner loop its parts, each with the inner loop that follows it, or None.
        part_of: the part of each instruction, by the part's identity.
        storing_parts: the parts that store to an array.
        imports: the values of other parts that a part loads or computes first, in the order of recording.
        spilled: the array of each value that is stored for other parts.
        costs: the number of operations that compute a value again.
        indices: the new index of each inner loop by the old one.
        part: identity of the part that is being recorded.
        lane: index of the new loop over lanes around it.
        copies: its new instructions by the old ones.
    """

    def __init__(self, tape: Tape, loop: Block, private: Sequence[Array]):
        self.tape = tape
        self.loop = loop
        self.lanes = loop.head
        self.private = {*private}
        self.parts: dict[Block, list[tuple[list[Instruction], Block | None]]] = {}
        self.part_of: dict[Any, int] = {}
        self.storing_parts: dict[Array, set[int]] = {}
        self.imports: dict[int, list[Instruction]] = {}
        self.spilled: dict[Instruction, Array] = {}
        self.costs: dict[Instruction, float] = {}
        self.indices: dict[Instruction, Instruction] = {}
        self.part = 0
        self.lane = loop.index
        self.copies: dict[Instruction, Instruction] = {}
        self._divide(loop)
        for block in self.parts:
            self._find_imports(block)

    def record(self) -> None:
        for array in self.private:
            array.size *= self.lanes.value
        self._record_block(self.loop)

    # *** what a part needs of others ***

    def _divide(self, block: Block) -> None:
        """Divide a block into parts, each with the loop that follows; the first and the last part may be empty."""
        part: list[Instruction] = []
        parts = self.parts[block] = []
        for x in block.body:
            if isinstance(x, Block):
                self._divide(x)
                parts.append((part, x))
                part = []
                continue
            part.append(x)
            self.part_of[x] = id(part)
            if x.op in STORES:
                self.storing_parts.setdefault(x.array, set()).add(id(part))
        parts.append((part, None))

    def _find_imports(self, block: Block) -> None:
        """Find the values of other parts that the parts of a block need."""
        for part, inner in self.parts[block]:
            needed: set[Instruction] = set()
            for x in part:
                for operand in x.operands:
                    self._need(id(part), operand, needed)
            # The last part also needs the condition of a loop, and a computed number of iterations.
            for end in () if inner else (block.condition, block.head):
                if end is not None:
                    self._need(id(part), end, needed)
            self.imports[id(part)] = sorted(needed, key=lambda x: x.number)

    def _need(self, part: int, x: Instruction, needed: set[Instruction]) -> None:
        """Add to `needed` what a part has to load or compute before it can use a value."""
        if self.part_of.get(x, part) == part or x in needed:
            return
        # Cheap values are computed again. A spilled value costs a store, a load, and memory for all lanes.
        if self._cost(x) > MAX_RECOMPUTED:
            needed.add(x)
            if x not in self.spilled:
                self.spilled[x] = self.tape.register(x.dtype, self.lanes.value)
            return
        # A load that is repeated must come before the stores of the part, so it is imported, too.
        if x.op == "load":
            needed.add(x)
        for operand in x.operands:
            self._need(part, operand, needed)

    def _cost(self, x: Instruction) -> float:
        """Return the number of operations that compute a value again in another part; infinity if none can."""
        if x not in self.part_of:
            return 0
        if x not in self.costs:
            # A load may be repeated only if its array has not changed since. Private arrays change in every iteration.
            # Stores of the last part do no harm: it runs once, after all others, and loads before it stores.
            last = {id(self.parts[self.loop][-1][0])}
            changes = x.op == "load" and (x.array in self.private or self.storing_parts.get(x.array, last) != last)
            self.costs[x] = inf if changes else 1 + sum(map(self._cost, x.operands))
        return self.costs[x]

    # *** recording ***

    def _record_block(self, block: Block, any_lane: Array | None = None) -> None:
        """Record the parts and inner loops of a block. any_lane: register to set if its condition holds for a lane."""
        for part, inner in self.parts[block]:
            with self._each_lane(part):
                self._copy_all(part)
                if inner is None and any_lane is not None and block.condition is not None:
                    zero = arithmetic.const(0, INT32)
                    again = arithmetic.cast(self._value(block.condition), INT32)
                    self.tape.store(any_lane, zero, arithmetic.bit_or(self.tape.load(any_lane, zero), again))
            if inner is not None:
                self._record_loop(inner)

    def _record_loop(self, block: Block) -> None:
        """Record an inner loop: around loops over lanes, or within one if its number of iterations is computed."""
        if _has_computed_length(block):
            ((part, _),) = self.parts[block]
            with self._each_lane(part), self.tape.nested("for", self._value(block.head)) as own:
                self.copies[block.index] = own.index
                self._copy_all(part)
            return
        with self.tape.nested(block.kind, block.head) as new:
            new.unroll = block.unroll
            new.vector = block.vector
            if block.kind == "for":
                self.indices[block.index] = new.index
                self._record_block(block)
                return
            # Repeat the loop while its condition holds for any lane. A register holds the OR of all lanes, and each
            # iteration clears it first.
            any_lane = self.tape.register(INT32, 1)
            zero = arithmetic.const(0, INT32)
            self.tape.store(any_lane, zero, zero)
            self._record_block(block, any_lane)
            new.condition = arithmetic.less(zero, self.tape.load(any_lane, zero))

    @contextmanager
    def _each_lane(self, part: list[Instruction]) -> Iterator[None]:
        """Record a loop over lanes for a part, beginning with the values that the part imports."""
        with self.tape.nested("for", self.lanes) as lanes:
            self.part = id(part)
            self.lane = lanes.index
            self.copies = {self.loop.index: lanes.index}
            self._copy_all(self.imports[self.part])
            yield

    def _value(self, x: Instruction) -> Instruction:
        """Return a value of the original loop as an instruction of the part that is being recorded."""
        if x not in self.copies and x in self.part_of:
            self._copy(x)
        return self.copies.get(x) or self.indices.get(x, x)

    def _copy_all(self, instructions: Sequence[Instruction]) -> None:
        for x in instructions:
            self._copy(x)

    def _copy(self, x: Instruction) -> None:
        """Record an instruction in this part, or load its value if another part has spilled it."""
        tape = self.tape
        is_own = self.part_of[x] == self.part
        if x in self.spilled and not is_own:
            copy = tape.load(self.spilled[x], self.lane)
        else:
            operands = [*map(self._value, x.operands)]
            if x.array in self.private:
                # [elements, lanes]: an element of all lanes is contiguous, so that a vector is one load or store.
                operands[0] = arithmetic.add(arithmetic.multiply(operands[0], self.lanes), self.lane)
            copy = _copy(tape, x, operands)
        self.copies[x] = copy
        if x in self.spilled and is_own:
            tape.store(self.spilled[x], self.lane, copy)
