"""Words of 64 bits as pairs of 32, low before high, for languages that have none: WebGPU's.

tinygrad does the same, node by node, and looks for each through all that comes before it: two minutes for a step of
chess. Here every node is looked at once; the arithmetic on pairs is tinygrad's.

An optimisation: it is off without the names that it is made of (another tinygrad).
"""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

from tinygrad import UOp, dtypes
from tinygrad.dtype import DType, truncate
from tinygrad.renderer import Renderer
from tinygrad.uop.ops import GroupOp, Ops, PatternMatcher, UPat, graph_rewrite

try:
    from tinygrad.codegen.decomp.dtype import l2i, l2i_dt, reindex
    from tinygrad.codegen.decomp.op import threefry2x32

    AVAILABLE = True
except ImportError:  # pragma: no cover - these names change from week to week
    AVAILABLE = False

LONGS = {dtypes.int64, dtypes.uint64}
SUMS = {Ops.ADD, Ops.SUB, Ops.MUL}
BITS = {Ops.AND, Ops.OR, Ops.XOR, Ops.SHL, Ops.SHR}
OF_NUMBERS = SUMS | BITS | {Ops.MAX, Ops.WHERE, Ops.CAST, Ops.CONST, Ops.CUSTOM}
OF_REGISTERS = {Ops.BUFFER, Ops.AFTER, Ops.INDEX, Ops.LOAD}  # an array has twice as many halves
FROM_LONG = GroupOp.Comparison | {Ops.CAST, Ops.STORE}


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
        if any(x.dtype in LONGS for x in (u, *u.src)):
            new[u] = _split(u, src)
        else:
            new[u] = u.replace(src=tuple(src))
    done: UOp = new[known]
    return done


def has_words64(renderer: Renderer) -> bool:
    return dtypes.uint64 in renderer.supported_dtypes()


def _is_usual(u: UOp) -> bool:
    if u.dtype not in LONGS:
        return u.op in FROM_LONG or all(s.dtype not in LONGS for s in u.src)
    if u.op in OF_NUMBERS:
        return all(s.dtype is not dtypes.weakint or s.op is Ops.CONST for s in u.src)
    return u.op in OF_REGISTERS


def _split(u: UOp, src: list[Any]) -> Any:
    """The halves of a word of 64 bits, or what is no such word of some; src: its operands, done already."""
    long = u.dtype if u.dtype in LONGS else next(s.dtype for s in u.src if s.dtype in LONGS)
    half = l2i_dt[long]
    match u.op:
        case Ops.BUFFER:
            return UOp(Ops.BUFFER, src=(src[0] * 2,), arg=replace(u.arg, dtype=half))
        case Ops.AFTER:
            return u.replace(dtype=half, src=tuple(src))
        case Ops.INDEX:
            return tuple(reindex(u.replace(dtype=half, src=tuple(src)), k) for k in range(2))
        case Ops.LOAD:
            return tuple(place.load() for place in src[0])
        case Ops.STORE:
            place, value = src[0], _pair(src[1], half)
            return UOp.group(*(to.store(x) for to, x in zip(place, value, strict=True)))
        case Ops.CUSTOM:  # a name, which kept simplifications away that are over
            return src[0]
        case Ops.CONST:
            return _number(u.val, half)
        case Ops.CAST if not isinstance(src[0], tuple):
            return l2i(Ops.CAST, u.dtype, *src)
        case Ops.CAST if u.dtype is dtypes.bool:
            return (src[0][0] | src[0][1]).ne(0)
        case Ops.CAST:
            return l2i(*((Ops.BITCAST, half) if u.dtype in LONGS else (Ops.CAST, u.dtype)), *src[0])
    condition = [src.pop(0)] if u.op is Ops.WHERE else []
    halves = [x for s in src for x in _pair(s, half)]
    if u.op in (Ops.SHL, Ops.SHR):
        halves.pop()  # a count is less than 64
    return l2i(u.op, half, *condition, *halves)


def _pair(x: Any, half: DType) -> tuple[UOp, UOp]:
    """Of a number that no dtype was given to, or of a word."""
    return x if isinstance(x, tuple) else _number(x.val, half)


def _number(x: int, half: DType) -> tuple[UOp, UOp]:
    low, high = (UOp.const(truncate[half](x >> k & 0xFFFFFFFF), half) for k in (0, 32))
    return low, high


@functools.cache
def _random() -> PatternMatcher:
    """Threefry as its rounds."""
    return PatternMatcher([(UPat(Ops.THREEFRY, name="x"), lambda x: threefry2x32(*x.src))])
