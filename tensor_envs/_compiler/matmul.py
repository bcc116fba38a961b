"""Matrix products of networks on the CPU, unrolled so that clang vectorises them.

tinygrad unrolls 4 rows, 4 columns and 4 products, in vectors of 4 numbers. Where a product's columns are contiguous and
its sums short, whole sums of some rows are unrolled instead, and clang vectorises the loop over columns. Other products
are unrolled in tiles of 8 rows and 8 columns.
"""

from __future__ import annotations

import copy
import functools
from dataclasses import replace
from typing import Any

from tinygrad import UOp, dtypes
from tinygrad.codegen.opt import Opt, OptOps
from tinygrad.codegen.opt.postrange import Scheduler
from tinygrad.device import Compiler
from tinygrad.renderer import Renderer
from tinygrad.renderer.cstyle import ClangRenderer, base_rewrite
from tinygrad.uop.ops import AxisType, Ops, PatternMatcher, UPat

MAX_SUM = 128  # longest sum of products that is unrolled
MAX_PRODUCTS = 704  # upper bound for all products that are unrolled together
FULL_UNROLL = 2**20  # number of a loop that clang unrolls before it vectorises the loop around it
SPLIT = {Ops.FLOORDIV, Ops.FLOORMOD, Ops.CDIV, Ops.CMOD}  # divisions of an index: tinygrad splits a loop in two
MIN_PRODUCTS_PER_THREAD = 2**17  # as in tinygrad


def _full_unroll(ctx: Any, x: UOp) -> str | None:
    if x.arg[0] != FULL_UNROLL:
        return None
    return f"#pragma clang loop unroll(full)\n{base_rewrite.rewrite(x, ctx)}"


LOOPS = PatternMatcher([(UPat(Ops.RANGE, name="x"), _full_unroll)])


@functools.cache
def printer(renderer: Renderer) -> Renderer:
    """Return a renderer of our own for the same target, whose compiler returns the source."""
    new: Any = copy.copy(renderer)
    new.compiler = Compiler()
    if isinstance(renderer, ClangRenderer):
        new.string_rewrite = LOOPS + new.string_rewrite
    return new  # type: ignore[no-any-return]


def unrolled(kernel: UOp, renderer: Renderer) -> UOp:
    """Return a kernel of tinygrad's with the options by which a matrix product is unrolled, or unchanged."""
    info: Any = kernel.arg
    if info.opts_to_apply is not None or info.beam or info.applied_opts or kernel.tag is not None:
        return kernel
    if not isinstance(renderer, ClangRenderer) or any(u.op in SPLIT for u in kernel.toposort()):
        return kernel
    scheduler = Scheduler(kernel, renderer)
    loops, sums = scheduler.axes_of(AxisType.WEAK), scheduler.ranges_of(AxisType.REDUCE)
    if (len(scheduler.reduceops), len(loops), len(sums), len(scheduler.rngs)) != (1, 2, 1, 3):
        return kernel
    (add,) = scheduler.reduceops
    product = add.src[0]
    if add.arg[0] is not Ops.ADD or product.op is not Ops.MUL or product.dtype not in dtypes.floats:
        return kernel
    row, column = (scheduler.rngs[axis] for axis in loops)
    rows, columns, length = (int(x.vmax) + 1 for x in (row, column, sums[0]))
    left, right = sorted(product.src, key=lambda x: column in x.ranges)
    if column in left.ranges or row in right.ranges:
        return kernel
    contiguous = right.op is Ops.INDEX and column in right.src[1].get_idx().split_uop(Ops.ADD)
    if contiguous and length <= MAX_SUM:
        at_once = next(n for n in (8, 4, 2, 1) if rows % n == 0 and n * length <= MAX_PRODUCTS)
        options = [Opt(OptOps.UPCAST, loops[0], at_once)]
        kernel = kernel.substitute({sums[0]: sums[0].replace(arg=(FULL_UNROLL, *sums[0].arg[1:]))})
    elif columns % 4 == 0 and length % 4 == 0:
        at_once = _divisor(rows, 8)
        options = [Opt(OptOps.UPCAST, loops[1], 8 if columns % 8 == 0 else 4)]
        options += [Opt(OptOps.UPCAST, loops[0], at_once), Opt(OptOps.UNROLL, 0, 4)]
    else:
        return kernel
    if renderer.global_max is not None:
        threads = min(int(renderer.global_max[0]), rows * columns * length // MIN_PRODUCTS_PER_THREAD)
        options.append(Opt(OptOps.THREAD, loops[0], _divisor(rows // at_once, max(threads, 1))))
    return kernel.replace(arg=replace(info, opts_to_apply=tuple(x for x in options if x.arg != 1)))


def _divisor(n: int, limit: int) -> int:
    """Return the largest divisor of n up to `limit`."""
    return next(d for d in range(min(n, limit), 0, -1) if n % d == 0)
