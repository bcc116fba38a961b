"""Programs of traced kernels, from the disk where an earlier process has made them.

tinygrad keeps there what a compiler makes of a source; the way to the source takes three times as long as tracing.
"""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path

import tinygrad
from tinygrad import UOp, device, helpers
from tinygrad.codegen import to_program, to_program_key
from tinygrad.renderer import Renderer
from tinygrad.uop.ops import Ops

from tensor_envs.core.backend.lower import lowered, lowers

TABLE = "tensor_envs_program"


def prepared(sink: UOp, renderer: Renderer) -> UOp:
    """A kernel as tinygrad takes it: a program, if it is lowered here, else as it is.

    With a cache the program has what launches it alone: source, binary, and of the nodes the parameters. Without one
    (CACHELEVEL=0, CCACHE=0), and where tinygrad shows what it does (DEBUG=3, VIZ=1), it has yet to be written out.
    """
    compiler = renderer.compiler.cachekey
    if not compiler or helpers.CACHELEVEL < 1 or helpers.DEBUG >= 3 or helpers.VIZ or not lowers(renderer):
        return lowered(sink, renderer)
    about = (to_program_key(sink, renderer), compiler, _makers())
    key = hashlib.sha256(repr(about).encode()).hexdigest()
    kept: UOp | None = device.diskcache_get(TABLE, key)  # type: ignore[attr-defined]
    if kept is None:
        made = lowered(sink, renderer)
        if made.op is not Ops.PROGRAM:
            return made
        whole = to_program(made, renderer)
        info, linear, *code = whole.src
        parameters = tuple(u for u in linear.src if u.op is Ops.PARAM)
        kept = whole.replace(src=(UOp(Ops.SINK, arg=info.arg), UOp(Ops.LINEAR, src=parameters), *code))
        device.diskcache_put(TABLE, key, kept)  # type: ignore[attr-defined]
    return kept


@functools.cache
def _makers() -> list[tuple[str, int, int]]:
    """The files that make a program of a kernel, by size and time: with others it is made anew."""
    theirs = Path(tinygrad.__file__).parent
    folders = (Path(__file__).parent, *(theirs / name for name in ("codegen", "renderer", "uop")))
    files = sorted(file for folder in folders for file in folder.rglob("*.py"))
    return [(str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in files]
