"""From the loops and scalars of a traced kernel to what the renderer of a C compiler takes, in a third of the time.

tinygrad's own way there (`codegen.full_rewrite_to_sink`) takes three times as long: it looks for vectors, images and
gates that are not there, and below every conjunction, down to the kernel's first line, for an index. The few of its
rewrites that a kernel needs which comes with its loops, loads and stores are here, for the CPU and for GPUs. It is an
optimisation: `TENSOR_ENVS_LOWER=0` switches it off, and without the rewrites that it is made of (another tinygrad) it
is off.
"""

from __future__ import annotations

import functools
import os

from tinygrad import UOp, dtypes
from tinygrad.renderer import Renderer
from tinygrad.renderer.cstyle import CStyleLanguage
from tinygrad.uop.ops import GroupOp, Ops, PatternMatcher, graph_rewrite

from tensor_envs.core.backend.pairs import in_pairs

try:
    from tinygrad.codegen import (
        CFGContext,
        pm_add_control_flow,
        pm_cast_weak,
        pm_casted_consts,
        pm_commit_weak,
        pm_flatten_range,
        pm_lower_index_dtype,
        pm_split_ends,
    )
    from tinygrad.codegen.decomp.op import get_late_rewrite_patterns, get_simplifying_rewrite_patterns
    from tinygrad.codegen.gpudims import pm_add_gpudims
    from tinygrad.uop.symbolic import simplify_valid, sym, symbolic_simple

    AVAILABLE = True
except ImportError:  # pragma: no cover - these names change from week to week
    AVAILABLE = False

LONGS = {dtypes.int64, dtypes.uint64}
LOOPS = {Ops.RANGE, Ops.NOOP, Ops.END, Ops.AFTER, Ops.GROUP, Ops.SINK}
MEMORY = {Ops.PARAM, Ops.BUFFER, Ops.INDEX, Ops.LOAD, Ops.STORE}
PLAIN = (
    GroupOp.ALU | LOOPS | MEMORY | {Ops.CONST, Ops.CAST, Ops.BITCAST, Ops.SPECIAL, Ops.CUSTOM, Ops.CUSTOMI}
)


@functools.cache  # asking the environment takes as long as a launch
def enabled() -> bool:
    return AVAILABLE and os.environ.get("TENSOR_ENVS_LOWER", "1") != "0"


def lowered(sink: UOp, renderer: Renderer) -> UOp:
    """A kernel for a compiler of C's kind as a program that only has to be written out; any other as it is."""
    return _lowered(sink, renderer) if lowers(renderer) else sink


def lowers(renderer: Renderer) -> bool:
    return isinstance(renderer, CStyleLanguage) and enabled()


@functools.lru_cache(64)
def _lowered(sink: UOp, renderer: Renderer) -> UOp:
    # in this order: simplifications take it that sums do not wrap around, those of pairs do
    simple = in_pairs(graph_rewrite(sink, _simpler() + pm_flatten_range), renderer)
    if renderer.has_local:
        simple = graph_rewrite(simple, pm_add_gpudims, ctx=renderer)
    if any(u.op not in PLAIN or u.is_invalid for u in simple.toposort()):
        return sink
    typed = graph_rewrite(simple, pm_lower_index_dtype, ctx={})
    if not {u.dtype for u in typed.toposort()} & LONGS <= renderer.supported_dtypes():
        return sink  # an index needs 64 bits
    known = graph_rewrite(typed, _words(renderer), ctx=renderer)
    known = graph_rewrite(known, pm_casted_consts, walk=True)
    ordered = graph_rewrite(known, pm_add_control_flow, ctx=CFGContext(known), bottom_up=True)
    return UOp(Ops.PROGRAM, src=(ordered,))


@functools.cache
def _simpler() -> PatternMatcher:
    """All of tinygrad's simplifications but the one that looks below every conjunction for an index.

    And those of stores, which make gates.
    """
    kept = [
        (p, rule) for p, rule in sym.patterns if rule is not simplify_valid and Ops.STORE not in (p.op or ())
    ]
    return PatternMatcher(kept)


@functools.cache
def _words(renderer: Renderer) -> PatternMatcher:
    """Decompose operations that the language lacks."""
    known = tuple(renderer.code_for_op)
    rules = pm_commit_weak + pm_cast_weak + symbolic_simple
    # an index that is a product stays one: of a shift clang does not know that it cannot overflow, and then it compares
    # every store of a block with every other one, for minutes
    late = tuple(op for op in known if op is not Ops.SHL)
    rules += get_simplifying_rewrite_patterns(known) + get_late_rewrite_patterns(late, False)
    return rules + (renderer.extra_matcher or PatternMatcher([])) + pm_split_ends
