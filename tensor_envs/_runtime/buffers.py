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
from tensor_envs._runtime.cuda import is_cuda, tinygrad_operation
from tensor_envs._runtime.devices import DeviceName, compiling_in_process, is_cpu, opened

POOL_MAX_BYTES = 2**20  # size of a pooled buffer; the allocation of a larger one takes little time beside its use
POOL_SIZE = 16  # buffers of a pool
POOLS_MAX_BYTES = 2**25  # bytes of all pools; the least recently used pools are dropped
POOL_PROBES = 4  # buffers of a pool that a call examines
Pool = deque[tuple[Tensor, UOp]]  # buffers of one form, each as a tensor and its node; the least recently used first
PoolKey = tuple[int, DType, str, int]  # size, dtype, device, thread
_pools: OrderedDict[PoolKey, Pool] = OrderedDict()  # the least recently used first
_pooled_bytes = 0
_probe = deque([object()])
UNSHARED_REFCOUNT = sys.getrefcount(_probe[0])  # one reference by the container, one by the argument of this call


def device_of(buffer: Tensor) -> DeviceName:
    """Return the device of a buffer; only an expression of constants has none."""
    assert buffer.device is not None
    return buffer.device


def buffer_of(t: Tensor) -> UOp | None:
    """Return the buffer node of a tensor that is realised, a whole buffer and in its order; otherwise None."""
    u = t.uop
    if u.op is Ops.UNSHARD:
        u = u.src[0]
    # A reshape keeps all values in their order. Other views may select or permute values.
    while u.op is Ops.RESHAPE:
        u = u.src[0]
    memory: Any = buffers.get(u) if u.op is Ops.BUFFER else None
    return u if memory is not None and memory.is_allocated() else None


def empty_buffer(size: int, dtype: DType, device: DeviceName) -> Tensor:
    """Return a flat buffer, uninitialised; on several devices its one axis is sharded.

    A new buffer takes as long as a small kernel, and a step needs several. So each thread has pools of small buffers,
    and reuses those to which nothing else refers.
    """
    if not isinstance(device, str):
        return Tensor(_allocated(UOp.new_buffer(device, size // len(device), dtype)).unshard(0))
    if size * dtype.itemsize > POOL_MAX_BYTES or is_capturing():  # a replay writes to the buffers of its capture
        return Tensor(_allocated(UOp.new_buffer(device, size, dtype)))
    # Pools belong to threads, so that no two threads take the same free buffer.
    key = size, dtype, device, threading.get_ident()
    pool = _pool_of(key)
    for _ in range(min(len(pool), POOL_PROBES)):
        # The least recently used buffer is the likeliest to be free. It comes last from now on.
        pool.rotate(-1)
        # A free buffer has these references alone: the pool refers to the tensor, pool and tensor refer to the node,
        # and tinygrad's table of buffers refers to the memory. Other tensors, views and arrays would add to them, and
        # so would a local name here.
        if (
            sys.getrefcount(pool[-1][0]) == UNSHARED_REFCOUNT
            and sys.getrefcount(pool[-1][1]) == UNSHARED_REFCOUNT + 1
            and sys.getrefcount(buffers[pool[-1][1]]) == UNSHARED_REFCOUNT
            and pool[-1][0].uop is pool[-1][1]  # nothing was assigned to it
        ):
            return pool[-1][0]
    buffer = _allocated(UOp.new_buffer(device, size, dtype))
    new = Tensor(buffer)
    _add_to_pool(key, pool, (new, buffer))
    return new


def _pool_of(key: PoolKey) -> Pool:
    """Return a pool, created if missing, and mark it as the most recently used."""
    try:
        _pools.move_to_end(key)
        return _pools[key]
    except KeyError:  # another thread may also have dropped the pool between the two lines
        return _pools.setdefault(key, deque(maxlen=POOL_SIZE))


def _add_to_pool(key: PoolKey, pool: Pool, new: tuple[Tensor, UOp]) -> None:
    """Add a buffer to a pool, and drop the least recently used pools while all together have too many bytes."""
    global _pooled_bytes
    with LOCK:
        # A full pool drops its first buffer for the new one, so its number of bytes stays the same.
        if len(pool) < POOL_SIZE:
            _pooled_bytes += key[0] * key[1].itemsize
        pool.append(new)
        # The last pool is the one in use, see `_pool_of`, and is never dropped.
        while _pooled_bytes > POOLS_MAX_BYTES and len(_pools) > 1:
            (size, dtype, *_), old = _pools.popitem(last=False)
            _pooled_bytes -= len(old) * size * dtype.itemsize


def _allocated(buffer: UOp) -> UOp:
    with LOCK:  # a capture iterates over tinygrad's table of buffers, which this adds to
        for shard in shards(buffer):
            device = opened(shard.device)
            allow_devices()
            # A forked process gets a copy of private memory. It would share what tinygrad allocates.
            if private_memory.CAN_FORK and is_cpu(shard.device):
                private_memory.allocate(shard, device.allocator)
            else:
                with tinygrad_operation(shard.device):
                    shard.allocate()
    return buffer


def upload(array: np.ndarray, device: DeviceName) -> Tensor:
    """Copy a NumPy array to a flat buffer of the same dtype, sharded if there are several devices."""
    tensor = empty_buffer(array.size, _from_np_dtype(array.dtype), device)
    write(tensor, array)
    return tensor


def write(tensor: Tensor, array: np.ndarray) -> None:
    """Write an array of the same dtype into a flat buffer."""
    buffer = buffer_of(tensor)
    assert buffer is not None
    for shard, values in _with_slices(buffer, np.ascontiguousarray(array).reshape(-1)):
        if is_cpu(shard.device):
            ctypes.memmove(_host_address(shard), values.ctypes.data, values.nbytes)
            continue
        # Some drivers read the memory only after this call has returned, and none takes read-only memory: copy it.
        data = memoryview(bytearray(values.view(np.uint8).data))
        with tinygrad_operation(shard.device):
            shard.allocator._copyin(shard.get_buf(shard.device), data)


def download(values: Tensor) -> np.ndarray:
    """Return a flat tensor's values like `Tensor.numpy`, from a realised buffer without tinygrad's graph."""
    buffer = None if is_capturing() else buffer_of(values)
    if buffer is None:
        with compiling_in_process():  # its lock keeps a capture of another thread from recording these kernels
            return values.numpy()
    host = np.empty(values.shape, _to_np_dtype(values.dtype))
    for shard, target in _with_slices(buffer, host):
        if is_cpu(shard.device):
            ctypes.memmove(target.ctypes.data, _host_address(shard), target.nbytes)
            continue
        with tinygrad_operation(shard.device):
            shard.allocator._copyout(target.view(np.uint8).data, shard.get_buf(shard.device))
    return host


def _host_address(shard: Any) -> int:
    """Return the address of a shard on a CPU device, once its kernels have ended, for a copy by `memmove`.

    tinygrad's own copies define a C type for every size, which ctypes keeps for as long as the process lives.
    """
    shard.allocator.dev.synchronize()
    return shard_address(shard)


def _with_slices(buffer: UOp, flat: np.ndarray) -> Iterator[tuple[Any, np.ndarray]]:
    """Yield each shard of a buffer with the slice of an array that belongs to it."""
    parts = shards(buffer)
    # tinygrad shards an axis into parts of equal size.
    size = flat.size // len(parts)
    return ((shard, flat[k * size : (k + 1) * size]) for k, shard in enumerate(parts))


@functools.lru_cache(256)
def cached_upload(values: tuple[int, ...], device: DeviceName) -> Tensor:
    """Return a cached buffer of int32 values. All callers share it, so none may write to it."""
    return upload(np.array(values, np.int32), device)


def host_memory(tensor: Tensor) -> list[np.ndarray]:
    """Return arrays that share a buffer's memory on CPU devices, one per device; an empty list for other devices.

    The host may read and write them once kernels that use the buffer have ended, see `synchronize`.
    """
    buffer = buffer_of(tensor)
    assert buffer is not None
    parts = shards(buffer)
    if not all(is_cpu(shard.device) for shard in parts):
        return []
    return [np.frombuffer(shard.as_memoryview(force_zero_copy=True), _to_np_dtype(tensor.dtype)) for shard in parts]


def address_of(tensor: Tensor) -> int:
    """Return the address of a buffer on one device, the CPU or a CUDA card."""
    buffer = buffer_of(tensor)
    assert buffer is not None
    return shard_address(shards(buffer)[0])


def shard_address(shard: Any) -> int:
    """Return the address of a shard on the CPU or a CUDA card."""
    memory = shard.get_buf(shard.device)
    return int(memory.value if is_cuda(shard.device) else memory.va_addr)


def shards(buffer: UOp) -> Sequence[Any]:
    """Return the shards of a buffer node: a tinygrad Buffer for each device."""
    memory = buffers.get(buffer)
    memory = buffer.buffer if memory is None else memory  # the property creates a missing Buffer
    return memory.bufs if isinstance(memory, MultiBuffer) else (memory,)
