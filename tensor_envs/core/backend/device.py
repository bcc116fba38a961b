"""Devices: by name, opened when first used and never at import."""

from __future__ import annotations

import functools
import re
import sys
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from tinygrad import Device, Tensor, dtypes
from tinygrad.device import MultiBuffer
from tinygrad.dtype import DType, _from_np_dtype, _to_np_dtype
from tinygrad.engine import realize
from tinygrad.renderer.cstyle import CStyleLanguage
from tinygrad.uop.ops import Ops, UOp, buffers

from tensor_envs.core.backend.clang import cpu_compiler
from tensor_envs.core.backend.mapping import map_privately

DeviceName = str | tuple[str, ...]

# Renderers whose kernels are known to be right, besides those of languages of C's kind. Not so X86Renderer: what
# players see of 4x4x4 is wrong, and playouts do not compile.
FIT = {"CPULLVMRenderer", "PythonRenderer"}

LOCK = (
    threading.RLock()
)  # of what threads share: tinygrad's graph while it is recorded or run, and buffers' owners
POOL_MAX_BYTES = 2**20  # of a buffer; larger ones cost little beside their use
POOL_SIZE, POOL_PROBES = 16, 4  # buffers of a kind that are kept, and those that are looked at
_before_captures: list[list[Tensor]] = []  # one for each that is running: what is to be there in the end
_alone = deque([object()])
UNSHARED_REFCOUNT = sys.getrefcount(_alone[0])  # by a container and, while asked, by the asking


def resolve(device: Any) -> DeviceName:
    """A device name, a tuple of them (the batch axis is sharded) or None (tinygrad's default) -> its full name.

    ValueError if the device does not exist here or is not known to play right, TypeError if it is no name;
    RuntimeError if the CPU lacks a compiler.
    """
    if isinstance(device, (tuple, list)):
        if not device:
            raise ValueError("device must name at least one device, got an empty tuple")
        names = tuple(_resolve_one(name) for name in device)
        if len(set(names)) < len(names) or len({name.split(":")[0] for name in names}) > 1:
            raise ValueError(f"device must name different devices of one kind, got {', '.join(names)}")
        return names if len(names) > 1 else names[0]
    return _resolve_one(Device.DEFAULT if device is None else device)


def _resolve_one(device: Any) -> str:
    if not isinstance(device, str):
        raise TypeError(
            f"device must be a name such as 'CPU' or 'CUDA:1', got {device!r} of type {type(device).__name__}"
        )
    if not re.fullmatch(r"[A-Za-z]+(:\d+)?", device):
        raise ValueError(f"device must be a name such as 'CPU' or 'CUDA:1', got {device!r}")
    name = Device.canonicalize(device)
    if name.split(":")[0] == "CPU":
        cpu_compiler()
        map_privately()
    try:
        with LOCK:
            renderer = Device[name].renderer
    except Exception as error:  # whatever a backend raises when it is not there
        reason = str(error).strip().split("\n")[0]
        raise ValueError(
            f"device {device!r} cannot be opened here: {type(error).__name__}: {reason}"
        ) from None
    if not isinstance(renderer, CStyleLanguage) and type(renderer).__name__ not in FIT:
        raise ValueError(
            f"device {device!r} would be programmed by tinygrad's {type(renderer).__name__}, which is not known to "
            "play games right; the environment variable DEV chooses another, as in DEV=CPU or DEV=CPU:LLVM"
        )
    if name.split(":")[0] not in ("CPU", "NULL") and not is_capturing() and not _computes(name):
        raise ValueError(
            f"device {device!r} opens here, but what it computes is wrong: it may have no adapter"
        )
    return name


@functools.cache
def _computes(device: str) -> bool:
    """Whether a kernel does anything: Dawn offers an adapter that does nothing where there is no driver for another."""
    with LOCK:
        return bool((Tensor([1, 2], dtype=dtypes.int32, device=device) + 1).tolist() == [2, 3])


@functools.cache  # asking a renderer takes as long as a small kernel
def is_gpu(device: DeviceName) -> bool:
    """Whether kernels on this device run as workgroups of threads."""
    return bool(Device[primary(device)].renderer.has_local)


def primary(device: DeviceName) -> str:
    return device if isinstance(device, str) else device[0]


def device_of(buffer: Tensor) -> DeviceName:
    """Where a buffer is: only expressions without any buffer are nowhere."""
    assert buffer.device is not None
    return buffer.device


def is_capturing() -> bool:
    """Whether somebody's TinyJit is recording: nothing can be looked at now."""
    with LOCK:  # not another thread's, if it is one of ours
        return bool(realize.capturing)


def stays_lazy() -> bool:
    """Whether what is called now is to be nodes of a graph: of a capture, or of the run before it."""
    with LOCK:
        return is_capturing() or bool(_before_captures)


@contextmanager
def before_capture() -> Iterator[None]:
    """For the first run of a function that is captured later: it has the kernels of the capture, made once.

    In the end all states that it made are there: the function may have kept one that none of its results needs.
    """
    with LOCK:
        _before_captures.append([])
        try:
            yield
        finally:
            if made := _before_captures.pop():
                Tensor.realize(*made)


def keep_valid(*buffers: Tensor) -> None:
    """Have buffers written in the end of the run before a capture, if it is one, whoever asks for them."""
    for made in _before_captures[-1:]:  # no other thread can empty it in between
        made.extend(buffers)


def buffer_of(t: Tensor) -> UOp | None:
    """The realised buffer that a tensor is, whole and in order; None if it is anything else."""
    u = t.uop
    if u.op is Ops.UNSHARD:
        u = u.src[0]
    while u.op is Ops.RESHAPE:
        u = u.src[0]
    memory: Any = buffers.get(u) if u.op is Ops.BUFFER else None
    return u if memory is not None and memory.is_allocated() else None


def empty_buffer(size: int, dtype: DType, device: DeviceName) -> Tensor:
    """A flat buffer, allocated and not written; on several devices its one axis is sharded.

    Making one takes as long as a small kernel, and every step needs several: small ones that nobody holds any more are
    used again.
    """
    if not isinstance(device, str):
        return Tensor(_allocated(UOp.new_buffer(device, size // len(device), dtype)).unshard(0))
    if size * dtype.itemsize > POOL_MAX_BYTES or is_capturing():  # what a capture makes is its own
        return Tensor(_allocated(UOp.new_buffer(device, size, dtype)))
    with LOCK:
        pool = _pool(size, dtype, device)
        for _ in range(min(len(pool), POOL_PROBES)):
            pool.rotate(-1)
            # the tensor is held by the pool, the buffer by both, its memory by tinygrad's table of buffers; else by
            # another tensor, a view of one, or an array on its memory, too
            if (
                sys.getrefcount(pool[-1][0]) == UNSHARED_REFCOUNT
                and sys.getrefcount(pool[-1][1]) == UNSHARED_REFCOUNT + 1
                and sys.getrefcount(buffers[pool[-1][1]]) == UNSHARED_REFCOUNT
                and pool[-1][0].uop is pool[-1][1]  # nothing was assigned to it
            ):
                return pool[-1][0]
        buffer = _allocated(UOp.new_buffer(device, size, dtype))
        pool.append((Tensor(buffer), buffer))
        return pool[-1][0]


@functools.lru_cache(256)
def _pool(size: int, dtype: DType, device: str) -> deque[tuple[Tensor, UOp]]:
    """The last buffers made of this kind, each with its tensor; the one longest out of use first."""
    return deque(maxlen=POOL_SIZE)


def _allocated(buffer: UOp) -> UOp:
    for part in shards(buffer):
        part.ensure_allocated()
    return buffer


def upload(array: np.ndarray, device: DeviceName) -> Tensor:
    """A NumPy array as a flat buffer of the same dtype on the device or, its one axis sharded, on the devices.

    Copied straight into the buffer: as a node of tinygrad's graph it would cost a hundred times as much.
    """
    tensor = empty_buffer(array.size, _from_np_dtype(array.dtype), device)
    write(tensor, array)
    return tensor


def write(tensor: Tensor, array: np.ndarray) -> None:
    """Write an array of the same dtype into a flat buffer."""
    buffer = buffer_of(tensor)
    assert buffer is not None
    for part, piece in _shares(buffer, np.ascontiguousarray(array).reshape(-1)):
        data = piece.view(np.uint8).data
        # some drivers read the caller's memory only later; none takes what may not be written (a file's bytes)
        if data.readonly or part.device.split(":")[0] != "CPU":
            data = memoryview(bytearray(data))
        part.allocator._copyin(part.get_buf(part.device), data)


def download(values: Tensor) -> np.ndarray:
    """A flat Tensor on the host: what `numpy` gives, straight from a realised buffer as `upload` goes into one."""
    buffer = None if is_capturing() else buffer_of(values)
    if buffer is None:
        return values.numpy()
    host = np.empty(values.shape, _to_np_dtype(values.dtype))
    for part, piece in _shares(buffer, host):
        part.allocator._copyout(piece.view(np.uint8).data, part.get_buf(part.device))
    return host


def _shares(buffer: UOp, flat: np.ndarray) -> Iterator[tuple[Any, np.ndarray]]:
    """The memory of a buffer on every device, and the part of an array that belongs there."""
    memory = shards(buffer)
    size = flat.size // len(memory)
    return ((part, flat[k * size : (k + 1) * size]) for k, part in enumerate(memory))


@functools.lru_cache(256)
def cached_upload(values: tuple[int, ...], device: DeviceName) -> Tensor:
    """What `upload` makes of int32 values, for reading alone; kept, since the same ones come again and again."""
    return upload(np.array(values, np.int32), device)


def shards(buffer: UOp) -> Sequence[Any]:
    """The memory of a buffer, one part a device."""
    memory = buffers.get(buffer)
    memory = buffer.buffer if memory is None else memory  # which makes it
    return memory.bufs if isinstance(memory, MultiBuffer) else (memory,)
