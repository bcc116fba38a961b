"""Which loops a line of a kernel stands in, where a condition ends a loop.

tinygrad orders a kernel's lines by how often they run. What comes after a loop that a condition ends ("until all games
of the block are over") it takes to be outside of every loop that the condition depends on, also of that over blocks. So
it may put an index into a loop that its other users are not in, which no compiler takes.
"""

from __future__ import annotations

from tinygrad import UOp, codegen, dtypes
from tinygrad.codegen.late.linearizer import linearize
from tinygrad.helpers import Context
from tinygrad.uop.ops import Ops

KNOWN = "_RECURSIVE_PROPERTY__ranges"  # where tinygrad keeps the loops that a node is in
BOUNDS = "_min_max"  # and the lowest and highest value of it
MANY = 5000  # nodes of a kernel; below, comparing them all takes less than a tenth of a second


def _linearize(sink: UOp) -> list[UOp]:
    """tinygrad's order, of nodes that know their loops: a condition ends the one that it is given for.

    On GPUs, and of many nodes, those that may come in any order stay as they are: looking through all that two of them
    are made of takes seconds.
    """
    nodes = list(sink.toposort())
    if any(u.op is Ops.END and u.src[-1].op is not Ops.RANGE for u in nodes):
        loops: dict[UOp, dict[UOp, None]] = {}
        ended: dict[UOp, set[UOp]] = {}  # by a node itself, or by those that it comes after
        for u in nodes:
            if u.op is Ops.END:
                ended[u] = {s for s in u.src[1:] if s.op is Ops.RANGE}
            elif u.op is Ops.AFTER:
                ended[u] = {loop for s in u.src[1:] for loop in ended.get(s, ())}
            left = ended.get(u, ())
            inside = {loop: None for s in u.src for loop in loops[s] if loop not in left}
            u.__dict__[KNOWN] = inside
            if u.op is Ops.RANGE and u.dtype is dtypes.bool:
                u.__dict__[BOUNDS] = (
                    False,
                    True,
                )  # else tinygrad takes a branch for a part of what is around it
            loops[u] = {u: None, **inside} if u.op is Ops.RANGE else inside
    compares = len(nodes) < MANY and all(u.op is not Ops.SPECIAL for u in nodes)
    with Context(TUPLE_ORDER=int(compares)):  # type: ignore[no-untyped-call]
        return linearize(sink)


def know_loops() -> None:
    """Put it in the place of tinygrad's; other kernels are ordered as before."""
    codegen.linearize = _linearize  # type: ignore[attr-defined]
