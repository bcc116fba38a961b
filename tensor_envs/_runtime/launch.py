"""Kernels as nodes of tinygrad's graph, compilation of kernels, and realisation of lazy tensors."""

from __future__ import annotations

import gc
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from tinygrad import Tensor, UOp, dtypes
from tinygrad.dtype import DType
from tinygrad.engine.realize import run_linear

from tensor_envs._compiler.tape import Tape
from tensor_envs._runtime.buffers import buffer_of, device_of
from tensor_envs._runtime.context import allow_devices, stays_lazy
from tensor_envs._runtime.devices import compiling_in_process, is_gpu, opened, primary
from tensor_envs._runtime.programs import LONG_SECONDS, ProgramFuture, compile_graph, compile_tape
from tensor_envs._runtime.progress import announced
from tensor_envs._runtime.threads import blocks_of

# Function that records a kernel, given the dtype and size of each array, and whether a thread plays one game (a GPU).
Recorder = Callable[[Sequence[tuple[DType, int]], bool], Tape]


def lazy_kernel(name: str, record: Recorder, *arrays: Tensor, any_size: bool = False) -> list[Tensor]:
    """Add a kernel to tinygrad's graph, and return the arrays as they are after it, lazy; see `compile_kernel`."""
    used, program = compile_kernel(name, record, *arrays, any_size=any_size)
    after = Tensor.custom_kernel(*(arrays[k] for k in used), fxn=lambda *_: program())
    results = list(arrays)
    for k, tensor in zip(used, after, strict=True):
        # There is no gradient through a game. Without `detach` tinygrad would ask the kernel for one.
        results[k] = tensor.detach() if dtypes.is_float(tensor.dtype) else tensor
    return results


def lazy_program(
    program: UOp, arrays: Sequence[Tensor], gradient: Callable[..., tuple[UOp | None, ...]] | None = None
) -> list[Tensor]:
    """Add a compiled program to tinygrad's graph, and return the arrays as they are after it, lazy.

    Args:
        program: the program.
        arrays: its arguments.
        gradient: function that returns the gradients of the arrays, see tinygrad's `custom_kernel`.
    """
    return Tensor.custom_kernel(*arrays, fxn=lambda *_: program, grad_fxn=gradient)


def compile_kernel(
    name: str, record: Recorder, *arrays: Tensor, any_size: bool = False
) -> tuple[list[int], ProgramFuture]:
    """Record a kernel and start its compilation.

    Args:
        name: name of the kernel.
        record: function that records it.
        arrays: the arrays that it reads and writes.
        any_size: whether the kernel, and so its program, is the same for arrays of any size.

    Returns:
        The indices of the arrays that the program takes, in order, and a function that waits for the program. Arrays
        that the kernel does not use are left out, since WebGPU allows eight.
    """
    device = primary(device_of(arrays[0]))
    # On several devices a kernel gets shards, so its arrays have the size of a shard.
    sizes = [math.prod(array.uop.max_shard_shape) for array in arrays]
    # A tape is the work of one block. tinygrad's statistics count all blocks of a launch.
    blocks = max(blocks_of(buffer_of(array)) or 1 for array in arrays)
    with without_collecting():
        parameters = [(array.dtype, size) for array, size in zip(arrays, sizes, strict=True)]
        with announced(f"tracing the rules of {name}", LONG_SECONDS):
            tape = record(parameters, is_gpu(device))
        return compile_tape(name, tape, opened(device).renderer, None if any_size else sizes, blocks)


def realize(first: Tensor, *more: Tensor) -> Tensor:
    """Realise tensors. Unlike `Tensor.realize`, compile their kernels in parallel.

    Returns:
        The first tensor.
    """
    lazy = [t for t in (first, *more) if not (t.uop.is_virtual or t.uop.has_buffer_identity())]  # type: ignore[no-untyped-call]
    if lazy:
        with compiling_in_process(), without_collecting():
            linear, variables = Tensor.linear_with_vars(*lazy)
            allow_devices()  # a thread that bypasses this package's lock may be compiling
            compile_graph(linear)
            run_linear(linear, variables)
    return first


def eager(tensor: Tensor) -> Tensor:
    """Realise a tensor, unless a jit is capturing, so that any thread can read it.

    Reading a lazy tensor would make tinygrad compile in the reading thread, and its kernel cache belongs to another.
    """
    return tensor if stays_lazy() else realize(tensor.contiguous())


@contextmanager
def without_collecting() -> Iterator[None]:
    """Switch Python's cyclic garbage collector off: its passes take long while many objects are created."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()
