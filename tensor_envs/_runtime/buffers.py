"""Buffers on devices: allocated, uploaded and downloaded without tinygrad's graph."""

from __future__ import annotations

import ctypes
import functools
import sys
import threading
from collections import OrderedDict, deque
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from tinygrad import Tensor
from tinygrad.device import MultiBuffer
from tinygrad.dtype import DType, _from_np_dtype, _to_np_dtype
from tinygrad.uop.ops import Ops, UOp, buffers

from tensor_envs._runtime import private_memory
from tensor_envs._runtime.context import LOCK, allow_devices, is_capturing
from tensor_envs._runtime.cuda import callers_context, is_cuda
from tensor_envs._runtime.devices import DeviceName, compiling_in_process, is_cpu, opened

POOL_MAX_BYTES = 2**20  # size of a pooled buffer; larger ones cost little beside their use
POOL_SIZE = 16  # buffers of a pool
POOLS_MAX_BYTES = 2**25  # bytes of all pools; the least recently used pools are dropped
POOL_PROBES = 4  # buffers of a pool that a call examines
Pool = deque[tuple[Tensor, UOp]]
PoolKey = tuple[int, DType, str, int]
_pools: OrderedDict[PoolKey, Pool] = OrderedDict()  # the least recently used first
_pooled_bytes = 0
_alone = deque([object()])
UNSHARED_REFCOUNT = sys.getrefcount(_alone[0])  # by a container and, during the call, by the argument


def device_of(buffer: Tensor) -> DeviceName:
    """Return the device of a buffer; only an expression of constants has none."""
    assert buffer.device is not None
    return buffer.device


def buffer_of(t: Tensor) -> UOp | None:
    """Return the realised buffer that a tensor is, whole and in order; None if it is anything else."""
    u = t.uop
    if u.op is Ops.UNSHARD:
        u = u.src[0]
    # A reshape keeps all values in their order. Other views may select or permute values, so they are no buffer here.
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
    # Each thread has pools of its own, so that no two threads take the same free buffer.
    key = size, dtype, device, threading.get_ident()
    pool = _pool(key)
    for _ in range(min(len(pool), POOL_PROBES)):
        # The least recently used buffer is the likeliest to be free. It comes last from now on.
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
    new = Tensor(buffer)
    _keep(key, pool, (new, buffer))
    return new


def _pool(key: PoolKey) -> Pool:
    """Return a thread's latest buffers of a kind, each with its tensor; the least recently used comes first."""
    try:
        _pools.move_to_end(key)
        return _pools[key]
    except KeyError:  # also where another thread has given the pool up meanwhile
        return _pools.setdefault(key, deque(maxlen=POOL_SIZE))


def _keep(key: PoolKey, pool: Pool, new: tuple[Tensor, UOp]) -> None:
    """Add a buffer to a pool. The least recently used pools are given up where all take too many bytes."""
    global _pooled_bytes
    with LOCK:
        # A full pool drops its first buffer for the new one, so its number of bytes stays the same.
        if len(pool) < POOL_SIZE:
            _pooled_bytes += key[0] * key[1].itemsize
        pool.append(new)
        # The last pool is the one in use, see `_pool`, and is never given up.
        while _pooled_bytes > POOLS_MAX_BYTES and len(_pools) > 1:
            (size, dtype, *_), old = _pools.popitem(last=False)
            _pooled_bytes -= len(old) * size * dtype.itemsize


def _allocated(buffer: UOp) -> UOp:
    with LOCK:  # a capture goes through tinygrad's table of buffers, which this adds to
        for part in shards(buffer):
            device = opened(part.device)
            allow_devices()
            # A forked process gets a copy of private memory. It would share what tinygrad allocates.
            if private_memory.OWNS_MEMORY and is_cpu(part.device):
                private_memory.allocate(part, device.allocator)
            else:
                with callers_context(part.device):
                    part.allocate()
    return buffer


def upload(array: np.ndarray, device: DeviceName) -> Tensor:
    """Copy a NumPy array to a flat buffer of the same dtype, sharded if there are several devices.

    The copy bypasses tinygrad's graph, which is slow.
    """
    tensor = empty_buffer(array.size, _from_np_dtype(array.dtype), device)
    write(tensor, array)
    return tensor


def write(tensor: Tensor, array: np.ndarray) -> None:
    """Write an array of the same dtype into a flat buffer."""
    buffer = buffer_of(tensor)
    assert buffer is not None
    for part, piece in _shares(buffer, np.ascontiguousarray(array).reshape(-1)):
        if is_cpu(part.device):
            ctypes.memmove(_host_address(part), piece.ctypes.data, piece.nbytes)
            continue
        # some drivers read the caller's memory only later, and none takes read-only memory
        data = memoryview(bytearray(piece.view(np.uint8).data))
        with callers_context(part.device):
            part.allocator._copyin(part.get_buf(part.device), data)


def download(values: Tensor) -> np.ndarray:
    """Return a flat tensor's values like `Tensor.numpy`, from a realised buffer without tinygrad's graph."""
    buffer = None if is_capturing() else buffer_of(values)
    if buffer is None:
        with compiling_in_process():  # a capture of another thread would take the kernels
            return values.numpy()
    host = np.empty(values.shape, _to_np_dtype(values.dtype))
    for part, piece in _shares(buffer, host):
        if is_cpu(part.device):
            ctypes.memmove(piece.ctypes.data, _host_address(part), piece.nbytes)
            continue
        with callers_context(part.device):
            part.allocator._copyout(piece.view(np.uint8).data, part.get_buf(part.device))
    return host


def _host_address(part: Any) -> int:
    """Return the address of tinygrad's Buffer on a CPU device, whose kernels have ended.

    tinygrad's own copies define a C type for every size, which ctypes keeps for as long as the process lives.
    """
    part.allocator.dev.synchronize()
    return address_on(part, part.device)


def _shares(buffer: UOp, flat: np.ndarray) -> Iterator[tuple[Any, np.ndarray]]:
    """Yield the memory of a buffer on every device, and the part of an array that belongs there."""
    memory = shards(buffer)
    # tinygrad shards an axis into parts of equal size.
    size = flat.size // len(memory)
    return ((part, flat[k * size : (k + 1) * size]) for k, part in enumerate(memory))


@functools.lru_cache(256)
def cached_upload(values: tuple[int, ...], device: DeviceName) -> Tensor:
    """Return a cached buffer of int32 values. All callers share it, so none may write to it."""
    return upload(np.array(values, np.int32), device)


def host_memory(tensor: Tensor) -> list[np.ndarray]:
    """Return views of a buffer's memory on CPU devices, one per device; the list is empty on other devices.

    The host may read and write them once kernels that use the buffer have ended, see `synchronize`.
    """
    buffer = buffer_of(tensor)
    assert buffer is not None
    parts = shards(buffer)
    if not all(is_cpu(part.device) for part in parts):
        return []
    return [np.frombuffer(part.as_memoryview(force_zero_copy=True), _to_np_dtype(tensor.dtype)) for part in parts]


def address_of(tensor: Tensor) -> int:
    """Return the address of a buffer on one device, the CPU or a CUDA card."""
    buffer = buffer_of(tensor)
    assert buffer is not None
    return address_on(shards(buffer)[0], str(tensor.device))


def address_on(part: Any, device: str) -> int:
    """Return the address of tinygrad's Buffer on a device, the CPU or a CUDA card."""
    memory = part.get_buf(device)
    return int(memory.value if is_cuda(device) else memory.va_addr)


def shards(buffer: UOp) -> Sequence[Any]:
    """Return tinygrad's Buffers of a buffer node, one for each device."""
    memory = buffers.get(buffer)
    memory = buffer.buffer if memory is None else memory  # makes it
    return memory.bufs if isinstance(memory, MultiBuffer) else (memory,)
