"""Hand-traced kernels as nodes of tinygrad's graph: nobody else calls its alpha API `Tensor.custom_kernel`."""

from __future__ import annotations

import gc
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tinygrad import Device, Tensor, UOp, dtypes
from tinygrad.codegen import to_program
from tinygrad.dtype import AddrSpace
from tinygrad.renderer import Estimates, Renderer
from tinygrad.renderer.cstyle import CStyleLanguage
from tinygrad.uop.ops import KernelInfo, Ops

from tensor_envs.core.backend.device import device_of, primary
from tensor_envs.core.backend.program import prepared
from tensor_envs.core.backend.scopes import know_loops
from tensor_envs.core.backend.write import taught
from tensor_envs.rules.control import tracing

know_loops()

ANY_SIZE = 2**40  # in place of an array's length, which is a part of a program


def trace(
    name: str,
    body: Callable[..., UOp],
    parameters: Sequence[UOp],
    renderer: Renderer,
    estimates: Callable[[UOp], Estimates | None] | None = None,
) -> UOp:
    """A kernel from `body`, which takes the parameters and returns its ended stores.

    estimates: operations and bytes, from the traced kernel, where tinygrad cannot count them itself (loops
    whose length it does not know).
    """
    with tracing(taught(renderer), names=isinstance(renderer, CStyleLanguage)):
        done = body(*parameters)
    info = KernelInfo(name, estimates=None if estimates is None else estimates(done))
    return done.sink(arg=info, tag=1)  # tagged: tinygrad's optimiser would break the loops


def launch(
    name: str, body: Callable[..., UOp], *arrays: Tensor, any_size: bool = False, **options: Any
) -> list[Tensor]:
    """The arrays as they are after a kernel, lazy: `body` takes one UOp an array. See `trace`.

    any_size: whether the kernel is the same for arrays of any length.
    """
    renderer = _renderer(arrays)
    # beyond the slots of the kernel's own, which take their place below: none may be taken for another one
    parameters = [UOp.placeholder_like(array.uop, len(arrays) + k) for k, array in enumerate(arrays)]
    sink = trace(name, body, parameters, renderer, **options)
    # a kernel gets the arrays that it reads or writes: OpenCL takes a parameter's slot for its place among them
    nodes = set(sink.toposort())
    used = [k for k, parameter in enumerate(parameters) if parameter in nodes]

    def kernel(*given: UOp) -> UOp:
        if any_size:
            given = tuple(UOp.placeholder((ANY_SIZE,), g.dtype, k) for k, g in enumerate(given))
        own = {parameters[k]: g for k, g in zip(used, given, strict=True)}
        return prepared(sink.substitute(own), renderer)()

    after = Tensor.custom_kernel(*(arrays[k] for k in used), fxn=kernel)
    results = list(arrays)
    for k, tensor in zip(used, after, strict=True):
        # what is learned from games has no gradient through them, for which tinygrad would ask the kernel
        results[k] = tensor.detach() if dtypes.is_float(tensor.dtype) else tensor
    return results


def compiled(
    name: str, body: Callable[..., UOp], *arrays: Tensor, **options: Any
) -> Callable[[], tuple[UOp, list[int]]]:
    """The same kernel without a graph around it -> what waits for its program, and which arrays that takes.

    For the CPU, whose programs are the same for arrays of any length.
    """
    parameters = [UOp.placeholder_like(array.uop, k) for k, array in enumerate(arrays)]
    with without_collecting():
        return program_of(name, body, parameters, _renderer(arrays), **options)


def program_of(
    name: str, body: Callable[..., UOp], parameters: Sequence[UOp], renderer: Renderer, **options: Any
) -> Callable[[], tuple[UOp, list[int]]]:
    """What waits for a kernel's program for a machine, and which parameters it takes, in order; see `trace`."""
    come = prepared(trace(name, body, parameters, renderer, **options), renderer)

    def done() -> tuple[UOp, list[int]]:
        program = to_program(come(), renderer)
        return program, list(program.arg.globals)

    return done


@contextmanager
def without_collecting() -> Iterator[None]:
    """For making graphs, whose nodes go by their reference counts: looking for cycles took a seventh of the time."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def _renderer(arrays: Sequence[Tensor]) -> Renderer:
    return Device[primary(device_of(arrays[0]))].renderer


def total_bytes(arrays: Sequence[Tensor]) -> Estimates:
    """What a kernel moves that reads or writes every array once."""
    return _moved(sum(array.nbytes() for array in arrays))


def bytes_of_blocks(done: UOp, blocks: int) -> Estimates:
    """What a kernel moves that plays so many blocks, each of its other loops being of a known length."""
    size = 0
    for u in done.toposort():
        if u.op in (Ops.LOAD, Ops.STORE) and u.src[0].addrspace is AddrSpace.GLOBAL:
            lengths = [int(r.vmax) + 1 for r in u.src[0].ranges if r.src[0].op is Ops.CONST]
            in_block = len(lengths) < len(u.src[0].ranges)
            size += in_block * math.prod(lengths) * u.src[0].dtype.itemsize
    return _moved(size * blocks)


def _moved(size: int) -> Estimates:
    return Estimates(lds=size, mem=size)
