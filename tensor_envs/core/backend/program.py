"""Programs of traced kernels, from the disk where an earlier process has made them.

tinygrad keeps there what a compiler makes of a source; the way to the source takes three times as long as tracing.
"""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path

import tinygrad
from tinygrad import UOp, device, helpers
from tinygrad.codegen import to_program_key
from tinygrad.device import Compiler
from tinygrad.renderer import Renderer
from tinygrad.uop.ops import Ops

from tensor_envs.core.backend.compiling import Coming, compile_ahead
from tensor_envs.core.backend.lower import lowered, lowers

TABLE = "tensor_envs_program"


def prepared(sink: UOp, renderer: Renderer) -> Coming:
    """A kernel as tinygrad takes it: a program, if it is lowered here, else as it is.

    With a cache the program has what launches it alone: source, binary, and of the nodes the parameters. Without one
    (CACHELEVEL=0, CCACHE=0), and where tinygrad shows what it does (DEBUG=3, VIZ=1), a CPU's has yet to be written out;
    a GPU's tinygrad would refuse, so it is alone, too, or left to tinygrad where that shows it.
    """
    shows, key = helpers.DEBUG >= 3 or helpers.VIZ or not lowers(renderer), _key(sink, renderer)
    if shows or (key is None and not renderer.has_local):
        unwritten = sink if renderer.has_local else lowered(sink, renderer)
        return lambda: unwritten
    known: UOp | None = None if key is None else device.diskcache_get(TABLE, key)  # type: ignore[attr-defined]
    if isinstance(known, UOp):
        return lambda: known
    made = lowered(sink, renderer)
    if made.op is not Ops.PROGRAM:
        return lambda: made
    come = compile_ahead(made, renderer)

    def kept() -> UOp:
        whole = come()
        info, linear, *code = whole.src
        parameters = tuple(u for u in linear.src if u.op is Ops.PARAM)
        alone = whole.replace(src=(UOp(Ops.SINK, arg=info.arg), UOp(Ops.LINEAR, src=parameters), *code))
        if key is not None:
            device.diskcache_put(TABLE, key, alone)  # type: ignore[attr-defined]
        return alone

    return kept


def _key(sink: UOp, renderer: Renderer) -> str | None:
    """By which the disk knows a kernel's program; None for none: no cache (CACHELEVEL=0, CCACHE=0), or no device."""
    compiler = renderer.compiler.cachekey
    if type(renderer.compiler) is Compiler and helpers.CCACHE:  # a device takes the source
        compiler = type(renderer).__name__
    if not compiler or helpers.CACHELEVEL < 1 or renderer.target.device == "NULL":
        return None
    about = (to_program_key(sink, renderer), compiler, _makers())
    return hashlib.sha256(repr(about).encode()).hexdigest()


@functools.cache
def _makers() -> list[tuple[str, int, int]]:
    """The files that make a program of a kernel, by size and time: with others it is made anew."""
    theirs = Path(tinygrad.__file__).parent
    folders = (Path(__file__).parent, *(theirs / name for name in ("codegen", "renderer", "uop")))
    files = sorted(file for folder in folders for file in folder.rglob("*.py"))
    return [(str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in files]
