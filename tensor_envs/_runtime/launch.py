"""Kernels as nodes of tinygrad's graph, or compiled for a direct launch."""

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

# dtype and size of each array, and whether a thread plays one game -> the recorded kernel
Recorder = Callable[[Sequence[tuple[DType, int]], bool], Tape]


def launch(name: str, record: Recorder, *arrays: Tensor, any_size: bool = False) -> list[Tensor]:
    """Return the arrays as they are after a kernel, lazy.

    Args:
        name: the name of the kernel.
        record: records the kernel; on several devices its arrays are of a shard's size.
        arrays: what the kernel reads and writes.
        any_size: whether the kernel is the same for arrays of any length, and its program too.
    """
    # A kernel gets only the arrays that it uses, since WebGPU allows eight.
    used, program = _compiled(name, record, arrays, any_size)
    after = Tensor.custom_kernel(*(arrays[k] for k in used), fxn=lambda *_: program())
    results = list(arrays)
    for k, tensor in zip(used, after, strict=True):
        # there is no gradient through a game, and tinygrad would ask the kernel for it
        results[k] = tensor.detach() if dtypes.is_float(tensor.dtype) else tensor
    return results


def launch_program(
    program: UOp, arrays: Sequence[Tensor], gradient: Callable[..., tuple[UOp | None, ...]] | None = None
) -> list[Tensor]:
    """Return the arrays as they are after a finished program, lazy.

    Args:
        program: the program.
        arrays: what it takes.
        gradient: the gradients of the arrays, as tinygrad's `custom_kernel` takes them.
    """
    return Tensor.custom_kernel(*arrays, fxn=lambda *_: program, grad_fxn=gradient)


def compiled(
    name: str, record: Recorder, *arrays: Tensor, any_size: bool = False
) -> Callable[[], tuple[UOp, list[int]]]:
    """Compile a kernel for a `ProgramLauncher`; see `launch`.

    Returns:
        A function that waits for the program and returns it with the numbers of the arrays that it takes.
    """
    used, program = _compiled(name, record, arrays, any_size)
    return lambda: (program(), used)


def _compiled(
    name: str, record: Recorder, arrays: tuple[Tensor, ...], any_size: bool
) -> tuple[list[int], ProgramFuture]:
    device = primary(device_of(arrays[0]))
    # On several devices a kernel gets shards, so its arrays have the size of a shard.
    sizes = [math.prod(array.uop.max_shard_shape) for array in arrays]
    # A tape has the work of one block. tinygrad's statistics count all blocks of a launch.
    blocks = max(blocks_of(buffer_of(array)) or 1 for array in arrays)
    with without_collecting():
        parameters = [(array.dtype, size) for array, size in zip(arrays, sizes, strict=True)]
        with announced(f"tracing the rules of {name}", LONG_SECONDS):
            tape = record(parameters, is_gpu(device))
        return compile_tape(name, tape, opened(device).renderer, None if any_size else sizes, blocks)


def realize(first: Tensor, *more: Tensor) -> Tensor:
    """Realise tensors like tinygrad, which would wait for the compiler of one kernel after the other.

    Returns:
        The first of them.
    """
    lazy = [t for t in (first, *more) if not (t.uop.is_virtual or t.uop.has_buffer_identity())]  # type: ignore[no-untyped-call]
    if lazy:
        with compiling_in_process(), without_collecting():
            linear, variables = Tensor.linear_with_vars(*lazy)
            allow_devices()  # tinygrad itself may have compiled meanwhile, for a thread that does not hold the lock
            compile_graph(linear)
            run_linear(linear, variables)
    return first


def settled(tensor: Tensor) -> Tensor:
    """Realise a tensor, unless a jit is capturing, so that it can be read in any thread.

    tinygrad compiles what it needs when a lazy tensor is read, and its kernel cache belongs to one thread.
    """
    return tensor if stays_lazy() else realize(tensor.contiguous())


@contextmanager
def without_collecting() -> Iterator[None]:
    """Switch the search for reference cycles off, which takes long while many objects are made."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()
