"""Kernels written one after the other, and compiled for the CPU side by side, while Python goes on.

tinygrad waits for each compiler, or leaves all to other processes. To start those takes .4 s, more than most functions
need, and they know no words of ours. A clang is a process of its own anyway.

An optimisation: it is off without the names that it is made of (another tinygrad), and where BEAM searches itself.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

from tinygrad import UOp, device
from tinygrad.codegen import to_program
from tinygrad.device import Compiler
from tinygrad.engine import realize
from tinygrad.helpers import BEAM, Context
from tinygrad.renderer import Renderer
from tinygrad.renderer.cstyle import ClangRenderer
from tinygrad.uop.ops import Ops

from tensor_envs.core.backend.dense import with_products
from tensor_envs.core.backend.threads import usable_cores

try:
    from tinygrad.codegen import do_to_program, to_program_cache, to_program_key
    from tinygrad.codegen.opt import KernelOptError

    AVAILABLE = hasattr(realize, "lower_and_compile") and hasattr(realize, "_get_call_to_compile")
except ImportError:  # pragma: no cover - these names change from week to week
    AVAILABLE = False

Coming = Callable[[], UOp]  # waits for a program


def compile_ahead(kernel: UOp, renderer: Renderer) -> Coming:
    """A kernel's program, which clang may still be working at; other compilers are done with it."""
    ahead = AVAILABLE and not BEAM and isinstance(renderer, ClangRenderer)
    if not ahead or (key := to_program_key(kernel, renderer)) in to_program_cache:
        known = to_program(kernel, renderer)
        return lambda: known
    # a twin with a compiler that gives the source back: another thread may be using the renderer
    twin: Renderer = object.__new__(type(renderer))
    twin.__dict__ |= renderer.__dict__ | {"compiler": Compiler()}
    *written, source, _ = (program := do_to_program(kernel, twin)).src
    binary = _binary(source.arg, renderer.compiler)

    def come() -> UOp:
        if key not in to_program_cache:
            done = UOp(Ops.BINARY, arg=binary())
            to_program_cache[key] = program.replace(src=(*written, source, done))
        return to_program_cache[key]

    return come


def _binary(source: str, compiler: Compiler) -> Callable[[], bytes]:
    """As `compiler.compile_cached`, with its compiler in another thread; once that has failed, in this one."""
    table = compiler.cachekey
    known: bytes | None = None if table is None else device.diskcache_get(table, source)  # type: ignore[attr-defined]
    if known is not None:
        return lambda: known
    begun = []
    with suppress(RuntimeError):  # no thread can be started, as while the interpreter ends
        begun.append(_pool(os.getpid()).submit(compiler.compile, source))

    def binary() -> bytes:
        made = begun.pop().result() if begun else compiler.compile(source)
        return made if table is None else device.diskcache_put(table, source, made)  # type: ignore[attr-defined,no-any-return]

    return binary


@functools.cache
def _pool(process: int) -> ThreadPoolExecutor:
    """process: a forked one has no threads of this one's."""
    return ThreadPoolExecutor(usable_cores(), "clang")


@contextmanager
def compiling() -> Iterator[list[Callable[[], object]]]:
    """What tinygrad compiles here is compiled so, with a network's products unrolled.

    It gives a list for what may be done while the next kernels are compiled, and is done in the end in any case.
    """
    meanwhile: list[Callable[[], object]] = []
    theirs: Any = getattr(realize, "lower_and_compile", None)

    def lower_and_compile(linear: UOp) -> Any:
        try:
            return theirs(_compiled(with_products(linear), meanwhile))
        except KernelOptError:  # tinygrad has cut a loop up before it unrolls
            return theirs(_compiled(linear, meanwhile))

    if AVAILABLE:
        realize.lower_and_compile = lower_and_compile
    try:
        with Context(PARALLEL=0):  # type: ignore[no-untyped-call]
            yield meanwhile
            _do(meanwhile)
    finally:
        if AVAILABLE:
            realize.lower_and_compile = theirs


def _compiled(linear: UOp, meanwhile: list[Callable[[], object]]) -> UOp:
    """The same calls, whose programs tinygrad has in its cache now."""
    calls = [realize._get_call_to_compile(u) for u in linear.toposort() if u.op is Ops.CALL]
    kernels = {to_program_key(*call): call for call in calls if call is not None}
    if coming := [compile_ahead(*call) for key, call in kernels.items() if key not in to_program_cache]:
        _do(meanwhile)
    for come in coming:
        come()
    return linear


def _do(acts: list[Callable[[], object]]) -> None:
    while acts:
        acts.pop()()
