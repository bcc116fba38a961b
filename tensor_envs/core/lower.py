"""From the loops and scalars of a traced kernel to what the renderer of a C compiler takes.

tinygrad's own way there (`codegen.full_rewrite_to_sink`) takes three times as long: it looks for vectors, images and
gates that are not there, and below every conjunction, down to the kernel's first line, for an index. The few of its
rewrites that a kernel needs which comes with its loops, loads and stores are here.
"""

from __future__ import annotations

import functools

from tinygrad import UOp
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
from tinygrad.renderer import Renderer
from tinygrad.uop.ops import GroupOp, Ops, PatternMatcher, graph_rewrite
from tinygrad.uop.symbolic import simplify_valid, sym, symbolic_simple

LOOPS = {Ops.RANGE, Ops.NOOP, Ops.END, Ops.AFTER, Ops.GROUP, Ops.SINK}
MEMORY = {Ops.PARAM, Ops.BUFFER, Ops.INDEX, Ops.LOAD, Ops.STORE}
PLAIN = GroupOp.ALU | LOOPS | MEMORY | {Ops.CONST, Ops.CAST, Ops.BITCAST}
# all of tinygrad's simplifications but the one that looks below every conjunction for an index, and those of stores,
# which make gates
SIMPLER = PatternMatcher(
    [(p, rule) for p, rule in sym.patterns if rule is not simplify_valid and Ops.STORE not in (p.op or ())]
)


@functools.lru_cache(64)
def lowered(sink: UOp, renderer: Renderer) -> UOp:
    """A kernel as a program that only has to be written out; one with gates or operations not PLAIN stays as it is."""
    simple = graph_rewrite(sink, SIMPLER + pm_flatten_range)
    if any(u.op not in PLAIN or u.is_invalid for u in simple.toposort()):
        return sink
    typed = graph_rewrite(simple, symbolic_simple + pm_lower_index_dtype, ctx={})
    known = graph_rewrite(typed, _words(renderer), ctx=renderer)
    known = graph_rewrite(known, pm_casted_consts, walk=True)
    ordered = graph_rewrite(known, pm_add_control_flow, ctx=CFGContext(known), bottom_up=True)
    return UOp(Ops.PROGRAM, src=(ordered,))


@functools.cache
def _words(renderer: Renderer) -> PatternMatcher:
    """What the language has no words for, in those that it has."""
    known = tuple(renderer.code_for_op)
    rules = pm_commit_weak + pm_cast_weak + symbolic_simple
    rules += get_simplifying_rewrite_patterns(known) + get_late_rewrite_patterns(known, False)
    return rules + (renderer.extra_matcher or PatternMatcher([])) + pm_split_ends
