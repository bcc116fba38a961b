"""Matrix products of a network on the CPU: how they are unrolled, so that its compiler makes vectors of them.

tinygrad unrolls 4 rows, 4 columns and 4 products, in vectors of 4 numbers. Where whole sums are unrolled instead, of
some rows at a time, clang makes whole vectors of the loop over columns: 3 to 4 times as fast. It needs columns that lie
side by side and short sums; other products are unrolled in tiles of 8 rows and 8 columns, 1.7 to 1.9 times as fast.

An optimisation: it is off without the names that it is made of (another tinygrad), and where BEAM searches itself.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from tinygrad import Device, UOp, dtypes
from tinygrad.engine import realize
from tinygrad.renderer import Renderer
from tinygrad.renderer.cstyle import ClangRenderer
from tinygrad.uop.ops import AxisType, Ops, PatternMatcher, UPat, graph_rewrite

try:
    from tinygrad.codegen.opt import KernelOptError, Opt, OptOps
    from tinygrad.codegen.opt.postrange import Scheduler

    AVAILABLE = hasattr(realize, "lower_and_compile")
except ImportError:  # pragma: no cover - these names change from week to week
    AVAILABLE = False

LONGEST = 128  # sum that is unrolled
MOST_PRODUCTS = 704  # that are unrolled
MOST_UNROLLED = 32  # at once, tinygrad's limit
PRODUCTS_A_THREAD = 2**17  # tinygrad's measure, too


@contextmanager
def dense_products() -> Iterator[None]:
    """What tinygrad compiles meanwhile has them unrolled so."""
    if not AVAILABLE:
        yield
        return
    compiled = realize.lower_and_compile
    realize.lower_and_compile = lambda linear: compiled(graph_rewrite(linear, PRODUCTS, walk=True))
    try:
        yield
    finally:
        realize.lower_and_compile = compiled


def _unrolled(call: UOp, sink: UOp) -> UOp | None:
    about: Any = sink.arg
    if sink.tag is not None or about.opts_to_apply is not None or about.beam or about.applied_opts:
        return None
    device: Any = call.device
    opts = unrolling(sink, Device[device if isinstance(device, str) else device[0]].renderer)
    if not opts:
        return None
    return call.replace(src=(sink.replace(arg=replace(about, opts_to_apply=opts)), *call.src[1:]))


PRODUCTS = PatternMatcher(
    [(UPat(Ops.CALL, src=(UPat(Ops.SINK, name="sink"),), name="call", allow_any_len=True), _unrolled)]
)


@functools.lru_cache(256)
def unrolling(sink: UOp, renderer: Renderer) -> tuple[Any, ...]:
    """How a kernel is to be unrolled; nothing if it is no matrix product for clang, or of sizes that do not divide."""
    if not isinstance(renderer, ClangRenderer):
        return ()
    k = Scheduler(sink, renderer)
    loops, sums = k.axes_of(AxisType.WEAK), k.axes_of(AxisType.REDUCE)
    if len(k.reduceops) != 1 or len(loops) != 2 or len(sums) != 1 or len(k.rngs) != 3:
        return ()
    add = k.reduceops[0]
    product = add.src[0]
    if add.arg[0] is not Ops.ADD or product.op is not Ops.MUL or product.dtype not in dtypes.floats:
        return ()
    (rows, columns), length = (int(k.full_shape[axis]) for axis in loops), int(k.full_shape[sums[0]])
    row, column = (k.rngs[axis] for axis in loops)
    left, right = sorted(product.src, key=lambda x: column in x.ranges)
    if column in left.ranges or row in right.ranges:
        return ()
    beside = right.op is Ops.INDEX and column in right.src[1].get_idx().split_uop(Ops.ADD)
    most, wide = _divisor(length, MOST_UNROLLED), next((n for n in (8, 4) if columns % n == 0), 0)
    if beside and length <= LONGEST and length // most <= MOST_UNROLLED:
        at_once = next(n for n in (8, 4, 2, 1) if rows % n == 0 and n * length <= MOST_PRODUCTS)
        opts = [
            (OptOps.UPCAST, loops[0], at_once),
            (OptOps.UNROLL, 0, most),
            (OptOps.UNROLL, 0, length // most),
        ]
    elif wide:
        at_once = _divisor(rows, 8)
        opts = [(OptOps.UPCAST, loops[1], wide), (OptOps.UPCAST, loops[0], at_once), (OptOps.UNROLL, 0, 4)]
    else:
        return ()
    if renderer.global_max is not None:
        threads = min(int(renderer.global_max[0]), rows * columns * length // PRODUCTS_A_THREAD)
        opts.append((OptOps.THREAD, loops[0], _divisor(rows // at_once, max(threads, 1))))
    try:
        for kind, axis, amount in opts:
            if amount > 1:
                k.apply_opt(Opt(kind, axis, amount))
    except KernelOptError:
        return ()
    return tuple(k.applied_opts)


def _divisor(n: int, most: int) -> int:
    """The largest divisor of n up to `most`."""
    return next(d for d in range(min(n, most), 0, -1) if n % d == 0)
