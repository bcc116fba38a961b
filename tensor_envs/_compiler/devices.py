"""Devices: opened by name when first used, never at import; buffers on them, uploads and downloads."""

from __future__ import annotations

import functools
import os
import re
import sys
import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np
from tinygrad import Device, Tensor, dtypes
from tinygrad.device import MultiBuffer
from tinygrad.dtype import DType, _from_np_dtype, _to_np_dtype
from tinygrad.engine import realize
from tinygrad.helpers import CACHEDB, CACHELEVEL, Context, diskcache_get, diskcache_put
from tinygrad.uop.ops import Ops, UOp, buffers

from tensor_envs._compiler import private_memory
from tensor_envs._compiler.clang import cpu_compiler, named_to_tinygrad
from tensor_envs._compiler.dialects import SUPPORTED, dialect

DeviceName = str | tuple[str, ...]
T = TypeVar("T")

# Renderers without a dialect whose kernels play right. X86Renderer's do not: observations of 4x4x4 are wrong.
CONVERTED = {"CPULLVMRenderer", "PythonRenderer"}

# a register as tinygrad's LLVM code has it, which LLVM reads from version 17 on
LLVM_REGISTER = "define void @f() {\n  %a = alloca [1 x i32]\n  store i32 0, i32* %a\n  ret void\n}\n"

# guards what threads share: tinygrad's settings, captures, and buffers between kernels. A call takes it once.
LOCK = threading.RLock()
if hasattr(os, "register_at_fork"):  # a forked process has no thread that would release it
    os.register_at_fork(before=LOCK.acquire, after_in_parent=LOCK.release, after_in_child=LOCK.release)
_PROCESS = os.getpid()
POOL_MAX_BYTES = 2**20  # size of a pooled buffer; larger ones cost little beside their use
POOL_SIZE, POOL_PROBES = 16, 4  # buffers per pool, and how many a call examines
_before_captures: list[tuple[int, list[Tensor]]] = []  # for each run, its thread and the tensors to realise at its end
_alone = deque([object()])
UNSHARED_REFCOUNT = sys.getrefcount(_alone[0])  # by a container and, during the call, by the argument


# *** opening ***


def resolve(device: Any) -> DeviceName:
    """Open devices and return their full names.

    Args:
        device: a name, a tuple of names (the batch axis is sharded) or None (tinygrad's default).

    Raises:
        TypeError: if it is no name.
        ValueError: if the device does not exist here, or if its kernels would not play right.
        RuntimeError: if the CPU lacks a compiler.
    """
    if isinstance(device, (tuple, list)):
        if not device:
            raise ValueError("device must name at least one device, got an empty tuple")
        names = tuple(_resolve_one(name) for name in device)
        if len(set(names)) < len(names) or len({name.split(":")[0] for name in names}) > 1:
            raise ValueError(f"device must name different devices of one kind, got {', '.join(names)}")
        return names if len(names) > 1 else names[0]
    if device is None:
        _open_default()
        device = Device.DEFAULT
    return _resolve_one(device)


def _resolve_one(device: Any) -> str:
    if not isinstance(device, str):
        raise TypeError(
            f"device must be a name such as 'CPU' or 'CUDA:1', got {device!r} of type {type(device).__name__}"
        )
    if not re.fullmatch(r"[A-Za-z]+(:\d+)?", device):
        raise ValueError(f"device must be a name such as 'CPU' or 'CUDA:1', got {device!r}")
    name = Device.canonicalize(device)
    if is_cpu(name):
        cpu_compiler()
    try:
        renderer = _opened(name).renderer
    except Exception as error:  # whatever a backend raises when it is not there
        reason = f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
        if isinstance(error, ModuleNotFoundError) and (error.name or "").startswith("tinygrad.runtime.ops_"):
            reason = "tinygrad has 'CPU', 'CUDA' (NVIDIA), 'AMD', 'METAL' (Apple), 'CL' (OpenCL), 'WEBGPU' and others"
        raise ValueError(f"device {device!r} cannot be opened here: {reason}") from None
    if type(renderer).__name__ == "PTXRenderer":  # what tinygrad takes without NVRTC
        raise ValueError(
            f"device {device!r} needs NVRTC, NVIDIA's compiler of CUDA, when it is first opened: pip install "
            "'tensor_envs[cuda]', or name its library by the environment variable NVRTC_PATH, without PTX in DEV"
        )
    if dialect(renderer) is None and type(renderer).__name__ not in CONVERTED:
        raise ValueError(
            f"device {device!r} would be programmed by tinygrad's {type(renderer).__name__}; kernels are written in "
            f"{SUPPORTED}, or by {' and '.join(sorted(CONVERTED))}. The environment variable DEV chooses another, "
            "as in DEV=CPU, or DEV=CPU:LLVM with LLVM 17 or newer"
        )
    if type(renderer).__name__ == "CPULLVMRenderer" and not _compiles(renderer, LLVM_REGISTER):
        raise ValueError(
            f"device {device!r} would be programmed by an LLVM that is older than 17, whose language tinygrad does not "
            "write. Install LLVM 17 or newer and name its library by the environment variable LLVM_PATH, or use "
            "DEV=CPU, whose clang is installed with this package"
        )
    if not is_cpu(name) and name.split(":")[0] != "NULL" and not is_capturing() and not _computes(name):
        raise ValueError(f"device {device!r} opens here, but what it computes is wrong: it may have no adapter")
    return name


@functools.cache
def _open_default() -> None:
    """Have tinygrad choose its default device, which it does by opening one after another."""
    with LOCK, named_to_tinygrad():
        uncached_on_failure(lambda: Device.DEFAULT)


@functools.cache
def _opened(name: str) -> Any:
    """Return a device of tinygrad's, which has chosen its renderer."""

    def opened() -> Any:
        device = Device[name]
        device.renderer  # noqa: B018 (a property that looks for compilers)
        return device

    with LOCK, named_to_tinygrad():
        device = uncached_on_failure(opened)
    if is_cpu(name):
        private_memory.keep_in_forks(device.allocator)
    return device


def is_cpu(device: str) -> bool:
    """Return whether a device is one of tinygrad's CPU devices."""
    return device.split(":")[0] == "CPU"


@contextmanager
def compiling_in_process() -> Iterator[None]:
    """Have tinygrad compile kernels of its own in this process, and without its cache where that fails.

    To start its compile processes takes longer than most graphs need. Its cache is an SQLite connection, which belongs
    to one thread of one process.
    """
    main = threading.current_thread() is threading.main_thread() and os.getpid() == _PROCESS
    with LOCK, Context(PARALLEL=0, CACHELEVEL=CACHELEVEL.value if main and _cache_works() else 0):  # type: ignore[no-untyped-call]
        yield


@functools.cache
def _cache_works() -> bool:
    """Return whether tinygrad's kernel cache can be written and read."""
    try:
        diskcache_put("tensor_envs", "works", True)  # type: ignore[no-untyped-call]
        diskcache_get("tensor_envs", "works")
    except Exception as error:  # a locked or full disk, a damaged file
        message = f"tinygrad's kernels are compiled anew, since its cache {CACHEDB} fails: {error}"
        warnings.warn(message, RuntimeWarning, stacklevel=2)
        CACHELEVEL.value = 0  # for what callers do with Tensors, too
        return False
    return True


def uncached_on_failure(action: Callable[[], T]) -> T:
    """Return the result of an action in which tinygrad compiles; repeat it without the cache if it fails."""
    with compiling_in_process():
        try:
            return action()
        except Exception:
            if not CACHELEVEL:
                raise
        with Context(CACHELEVEL=0):  # type: ignore[no-untyped-call]
            return action()


@functools.cache
def _computes(device: str) -> bool:
    """Return whether kernels have an effect: Dawn offers an adapter that does nothing where no driver is found."""
    with compiling_in_process():
        return bool((Tensor([1, 2], dtype=dtypes.int32, device=device) + 1).tolist() == [2, 3])


def _compiles(renderer: Any, source: str) -> bool:
    try:
        renderer.compiler.compile(source)
    except Exception:  # of no class of its own
        return False
    return True


@functools.cache  # asking a renderer takes as long as a small kernel
def is_gpu(device: DeviceName) -> bool:
    """Return whether kernels on this device run as workgroups of threads."""
    return bool(Device[primary(device)].renderer.has_local)


def primary(device: DeviceName) -> str:
    """Return the first of the devices."""
    return device if isinstance(device, str) else device[0]


def device_of(buffer: Tensor) -> DeviceName:
    """Return the device of a buffer; only an expression of constants has none."""
    assert buffer.device is not None
    return buffer.device


def is_capturing() -> bool:
    """Return whether a TinyJit is capturing in this thread, so that no value can be read now."""
    return bool(realize.capturing) and any(_is_here(getattr(jit, "thread", None)) for jit in realize.capturing)


def stays_lazy() -> bool:
    """Return whether calls become nodes of a graph now: that of a capture, or of the run before it."""
    return is_capturing() or (bool(_before_captures) and any(_is_here(thread) for thread, _ in _before_captures))


def _is_here(thread: int | None) -> bool:
    """Return whether a capture is this thread's; that of a user's TinyJit has no thread.

    A capture and its thread are read as one: the thread of another capture might be gone when it is compared.
    """
    return thread in (None, threading.get_ident())


@contextmanager
def before_capture() -> Iterator[None]:
    """Run a function with the kernels of its later capture, so that they are compiled once.

    At the end all states that it made are realised, since it may keep one that none of its results needs.
    """
    with compiling_in_process():
        _before_captures.append((threading.get_ident(), []))
        try:
            yield
        finally:
            _, made = _before_captures.pop()
            if made:
                Tensor.realize(*made)


def keep_valid(*buffers: Tensor) -> None:
    """Realise buffers at the end of the run before a capture, if this is one."""
    for thread, made in _before_captures[-1:]:
        if _is_here(thread):
            made.extend(buffers)


def buffer_of(t: Tensor) -> UOp | None:
    """Return the realised buffer that a tensor is, whole and in order; None if it is anything else."""
    u = t.uop
    if u.op is Ops.UNSHARD:
        u = u.src[0]
    while u.op is Ops.RESHAPE:
        u = u.src[0]
    memory: Any = buffers.get(u) if u.op is Ops.BUFFER else None
    return u if memory is not None and memory.is_allocated() else None


def empty_buffer(size: int, dtype: DType, device: DeviceName) -> Tensor:
    """Return a flat buffer, uninitialised; on several devices its one axis is sharded.

    A new buffer takes as long as a small kernel, and a step needs several: a thread reuses small ones to which nothing
    else refers.
    """
    if not isinstance(device, str):
        return Tensor(_allocated(UOp.new_buffer(device, size // len(device), dtype)).unshard(0))
    if size * dtype.itemsize > POOL_MAX_BYTES or is_capturing():  # a capture needs buffers of its own
        return Tensor(_allocated(UOp.new_buffer(device, size, dtype)))
    pool = _pool(size, dtype, device, threading.get_ident())
    for _ in range(min(len(pool), POOL_PROBES)):
        pool.rotate(-1)
        # The pool refers to the tensor, both to the buffer, tinygrad's table of buffers to its memory. More
        # references are other tensors, views, or arrays that share the memory.
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
def _pool(size: int, dtype: DType, device: str, thread: int) -> deque[tuple[Tensor, UOp]]:
    """Return a thread's latest buffers of a kind, each with its tensor; the least recently used comes first."""
    return deque(maxlen=POOL_SIZE)


def _allocated(buffer: UOp) -> UOp:
    with LOCK:  # a capture goes through tinygrad's table of buffers, which this adds to
        for part in shards(buffer):
            device = _opened(part.device)
            if private_memory.OWNS_MEMORY and is_cpu(part.device):
                private_memory.allocate(part, device.allocator)
            else:
                part.allocate()
    return buffer


def upload(array: np.ndarray, device: DeviceName) -> Tensor:
    """Copy a NumPy array to a flat buffer of the same dtype; on several devices its one axis is sharded.

    The copy bypasses tinygrad's graph, where it would take a hundred times as long.
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
        # some drivers read the caller's memory only later, and none takes read-only memory
        if data.readonly or not is_cpu(part.device):
            data = memoryview(bytearray(data))
        part.allocator._copyin(part.get_buf(part.device), data)


def download(values: Tensor) -> np.ndarray:
    """Return a flat tensor's values like `Tensor.numpy`, from a realised buffer without tinygrad's graph."""
    buffer = None if is_capturing() else buffer_of(values)
    if buffer is None:
        with compiling_in_process():  # a capture of another thread would take the kernels
            return values.numpy()
    host = np.empty(values.shape, _to_np_dtype(values.dtype))
    for part, piece in _shares(buffer, host):
        part.allocator._copyout(piece.view(np.uint8).data, part.get_buf(part.device))
    return host


def _shares(buffer: UOp, flat: np.ndarray) -> Iterator[tuple[Any, np.ndarray]]:
    """Yield the memory of a buffer on every device, and the part of an array that belongs there."""
    memory = shards(buffer)
    size = flat.size // len(memory)
    return ((part, flat[k * size : (k + 1) * size]) for k, part in enumerate(memory))


@functools.lru_cache(256)
def cached_upload(values: tuple[int, ...], device: DeviceName) -> Tensor:
    """Return a buffer of int32 values, shared by all callers, which must not write to it."""
    return upload(np.array(values, np.int32), device)


def host_memory(tensor: Tensor) -> list[np.ndarray]:
    """Return a buffer's memory on each of its devices, to be read and written by the host; empty but for CPU devices.

    Kernels that use it must have ended, see `synchronize`.
    """
    buffer = buffer_of(tensor)
    assert buffer is not None
    parts = shards(buffer)
    if not all(is_cpu(part.device) for part in parts):
        return []
    return [np.frombuffer(part.as_memoryview(force_zero_copy=True), _to_np_dtype(tensor.dtype)) for part in parts]


def shards(buffer: UOp) -> Sequence[Any]:
    """Return tinygrad's Buffers of a buffer node, one for each device."""
    memory = buffers.get(buffer)
    memory = buffer.buffer if memory is None else memory  # makes it
    return memory.bufs if isinstance(memory, MultiBuffer) else (memory,)
