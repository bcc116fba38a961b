"""Words of 64 bits as pairs of 32, low before high, for languages that have none: WebGPU's.

tinygrad does the same, node by node, and looks for each through all that comes before it: two minutes for a step of
chess. Here every node is looked at once; the arithmetic on pairs is tinygrad's.

An optimisation: it is off without the names that it is made of (another tinygrad).
"""

from __future__ import annotations

import functools
from typing import Any

from tinygrad import UOp, dtypes
from tinygrad.renderer import Renderer
from tinygrad.uop.ops import GroupOp, Ops, PatternMatcher, UPat, graph_rewrite

try:
    from tinygrad.codegen.decomp.dtype import l2i
    from tinygrad.codegen.decomp.op import threefry2x32

    AVAILABLE = True
except ImportError:  # pragma: no cover - these names change from week to week
    AVAILABLE = False

LONG, HALF = dtypes.uint64, dtypes.uint32
SUMS = {Ops.ADD, Ops.SUB, Ops.MUL}
BITS = {Ops.AND, Ops.OR, Ops.XOR, Ops.SHL, Ops.SHR}
TO_LONG = SUMS | BITS | {Ops.WHERE, Ops.CAST, Ops.CONST}
FROM_LONG = GroupOp.Comparison | {Ops.CAST}


def in_pairs(sink: UOp, renderer: Renderer) -> UOp:
    """A kernel without words of 64 bits; as it is where the language has them, or something unusual is done to them."""
    if not AVAILABLE or has_words64(renderer):
        return sink
    known = graph_rewrite(sink, _random())
    nodes = known.toposort()
    if not all(_is_usual(u) for u in nodes):
        return sink
    new: dict[UOp, Any] = {}  # a node, or a pair
    for u in nodes:
        src = [new[s] for s in u.src]
        if u.dtype is LONG or any(isinstance(s, tuple) for s in src):
            new[u] = _split(u, src)
        else:
            new[u] = u.replace(src=tuple(src))
    done: UOp = new[known]
    return done


def has_words64(renderer: Renderer) -> bool:
    return LONG in renderer.supported_dtypes()


def _is_usual(u: UOp) -> bool:
    if u.dtype is LONG:
        return u.op in TO_LONG and all(s.dtype is not dtypes.weakint or s.op is Ops.CONST for s in u.src)
    return u.dtype is not dtypes.int64 and (u.op in FROM_LONG or all(s.dtype is not LONG for s in u.src))


def _split(u: UOp, src: list[Any]) -> Any:
    """The halves of a word of 64 bits, or what is no such word of some; src: its operands, done already."""
    if u.op is Ops.CONST:
        return _number(u.val)
    if u.op is Ops.CAST:
        if not isinstance(src[0], tuple):
            return l2i(Ops.CAST, LONG, *src)
        return (src[0][0] | src[0][1]).ne(0) if u.dtype is dtypes.bool else l2i(Ops.CAST, u.dtype, *src[0])
    condition = [src.pop(0)] if u.op is Ops.WHERE else []
    halves = [half for s in src for half in (s if isinstance(s, tuple) else _number(s.val))]
    if u.op in (Ops.SHL, Ops.SHR):
        halves.pop()  # a count is less than 64
    return l2i(u.op, HALF, *condition, *halves)


def _number(x: int) -> tuple[UOp, UOp]:
    low, high = (UOp.const(x >> k & 0xFFFFFFFF, HALF) for k in (0, 32))
    return low, high


@functools.cache
def _random() -> PatternMatcher:
    """Threefry as its rounds."""
    return PatternMatcher([(UPat(Ops.THREEFRY, name="x"), lambda x: threefry2x32(*x.src))])
