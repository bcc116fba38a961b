"""What compilers are told that tinygrad's renderers have no words for."""

from __future__ import annotations

import functools

from tinygrad import dtypes
from tinygrad.renderer import Renderer
from tinygrad.renderer.cstyle import (
    ClangRenderer,
    CStyleLanguage,
    CUDARenderer,
    HIPRenderer,
    MetalRenderer,
    OpenCLRenderer,
    base_rewrite,
)
from tinygrad.renderer.wgsl import WGSLRenderer
from tinygrad.uop.ops import AxisType, Ops, PatternMatcher, UOp, UPat

# a loop with a bool for its bound is a branch; in these languages bools do not count
BRANCHES = PatternMatcher(
    [
        (
            UPat(Ops.RANGE, dtypes.bool, name="x"),
            lambda ctx, x: f"for (;;) {{\n  if (!({ctx[x.src[0]]})) {{ break; }}",
        ),
        (UPat(Ops.END, src=(UPat(), UPat(Ops.RANGE, dtypes.bool))), lambda: "  break;\n}"),
    ]
)


def _loop(ctx: CStyleLanguage, x: UOp) -> str | None:
    """What should stay a loop, since it runs once in a while, NVIDIA's compiler would unroll."""
    return f"#pragma unroll 1\n{base_rewrite.rewrite(x, ctx)}" if x.arg[-1] is AxisType.LOOP else None


WHOLE = 2**20  # the number of a loop over products that clang is to unroll before it looks for vectors


def _whole(ctx: CStyleLanguage, x: UOp) -> str | None:
    return f"#pragma clang loop unroll(full)\n{base_rewrite.rewrite(x, ctx)}" if x.arg[0] == WHOLE else None


LOOPS, WHOLE_LOOPS = (PatternMatcher([(UPat(Ops.RANGE, name="x"), written)]) for written in (_loop, _whole))


# clang finds out itself what counts bits
POPCOUNT: dict[type[Renderer], str] = {
    CUDARenderer: "__popc",
    HIPRenderer: "__builtin_popcount",
    MetalRenderer: "popcount",
    OpenCLRenderer: "popcount",
    WGSLRenderer: "countOneBits",
}


@functools.cache
def taught(renderer: Renderer) -> str | None:
    """Have the renderer of a device write these things -> its language's word for a popcount, if known."""
    if isinstance(renderer, CStyleLanguage):
        more = BRANCHES + LOOPS if isinstance(renderer, CUDARenderer) else BRANCHES
        more = WHOLE_LOOPS if isinstance(renderer, ClangRenderer) else more
        renderer.string_rewrite = more + renderer.string_rewrite
    return next((name for kind, name in POPCOUNT.items() if isinstance(renderer, kind)), None)
