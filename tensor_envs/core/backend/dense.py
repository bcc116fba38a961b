"""Matrix products of a network on the CPU: how they are unrolled, so that its compiler makes vectors of them.

tinygrad unrolls 4 rows, 4 columns and 4 products, in vectors of 4 numbers. Where whole sums are unrolled instead, of
some rows at a time, clang makes whole vectors of the loop over columns: 3 to 4 times as fast. It needs columns that lie
side by side and short sums; other products are unrolled in tiles of 8 rows and 8 columns, 1.7 to 1.9 times as fast.

An optimisation: it is off without the names that it is made of (another tinygrad), and where BEAM searches itself.
"""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

from tinygrad import Device, UOp, dtypes
from tinygrad.renderer import Renderer
from tinygrad.renderer.cstyle import ClangRenderer
from tinygrad.uop.ops import AxisType, Ops, PatternMatcher, UPat, graph_rewrite

from tensor_envs.core.backend.write import WHOLE, taught

try:
    from tinygrad.codegen.opt import Opt, OptOps
    from tinygrad.codegen.opt.postrange import Scheduler

    AVAILABLE = True
except ImportError:  # pragma: no cover - these names change from week to week
    AVAILABLE = False

LONGEST = 128  # sum that is unrolled
MOST_PRODUCTS = 704  # that are unrolled
CUT = {Ops.FLOORDIV, Ops.FLOORMOD, Ops.CDIV, Ops.CMOD}  # of an index: tinygrad makes two loops of one
PRODUCTS_A_THREAD = 2**17  # tinygrad's measure, too


def with_products(linear: UOp) -> UOp:
    """Calls of kernels with their products unrolled."""
    return graph_rewrite(linear, PRODUCTS, walk=True) if AVAILABLE else linear


def _changed(call: UOp, sink: UOp) -> UOp | None:
    about: Any = sink.arg
    if sink.tag is not None or about.opts_to_apply is not None or about.beam or about.applied_opts:
        return None
    device: Any = call.device
    new = unrolled(sink, Device[device if isinstance(device, str) else device[0]].renderer)
    return call.replace(src=(new, *call.src[1:])) if new is not sink else None


PRODUCTS = PatternMatcher(
    [(UPat(Ops.CALL, src=(UPat(Ops.SINK, name="sink"),), name="call", allow_any_len=True), _changed)]
)


@functools.lru_cache(256)
def unrolled(sink: UOp, renderer: Renderer) -> UOp:
    """A matrix product for clang, told how it is to be unrolled; any other kernel as it is."""
    if not isinstance(renderer, ClangRenderer) or any(u.op in CUT for u in sink.toposort()):
        return sink
    k = Scheduler(sink, renderer)
    loops, sums = k.axes_of(AxisType.WEAK), k.ranges_of(AxisType.REDUCE)
    if len(k.reduceops) != 1 or len(loops) != 2 or len(sums) != 1 or len(k.rngs) != 3:
        return sink
    add = k.reduceops[0]
    product = add.src[0]
    if add.arg[0] is not Ops.ADD or product.op is not Ops.MUL or product.dtype not in dtypes.floats:
        return sink
    rows, columns, length = (int(x.vmax) + 1 for x in (k.rngs[loops[0]], k.rngs[loops[1]], sums[0]))
    row, column = (k.rngs[axis] for axis in loops)
    left, right = sorted(product.src, key=lambda x: column in x.ranges)
    if column in left.ranges or row in right.ranges:
        return sink
    beside = right.op is Ops.INDEX and column in right.src[1].get_idx().split_uop(Ops.ADD)
    if beside and length <= LONGEST:
        at_once = next(n for n in (8, 4, 2, 1) if rows % n == 0 and n * length <= MOST_PRODUCTS)
        opts = [Opt(OptOps.UPCAST, loops[0], at_once)]
        taught(renderer)
        sink = sink.substitute({sums[0]: sums[0].replace(arg=(WHOLE, *sums[0].arg[1:]))})
    elif columns % 4 == 0 and length % 4 == 0:
        at_once = _divisor(rows, 8)
        opts = [Opt(OptOps.UPCAST, loops[1], 8 if columns % 8 == 0 else 4)]
        opts += [Opt(OptOps.UPCAST, loops[0], at_once), Opt(OptOps.UNROLL, 0, 4)]
    else:
        return sink
    if renderer.global_max is not None:
        threads = min(int(renderer.global_max[0]), rows * columns * length // PRODUCTS_A_THREAD)
        opts.append(Opt(OptOps.THREAD, loops[0], _divisor(rows // at_once, max(threads, 1))))
    about: Any = sink.arg
    return sink.replace(arg=replace(about, opts_to_apply=tuple(opt for opt in opts if opt.arg != 1)))


def _divisor(n: int, most: int) -> int:
    """The largest divisor of n up to `most`."""
    return next(d for d in range(min(n, most), 0, -1) if n % d == 0)
