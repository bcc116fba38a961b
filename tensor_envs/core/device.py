"""Devices: by name, opened when first used and never at import."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from tinygrad import Device, Tensor
from tinygrad.dtype import DType, _from_np_dtype, _to_np_dtype
from tinygrad.uop.ops import Ops, UOp

from tensor_envs.core.compiler import cpu_compiler
from tensor_envs.core.jit import buffer_of, is_capturing

DeviceName = str | tuple[str, ...]


def resolve(device: Any) -> DeviceName:
    """A device name, a tuple of them (the batch axis is sharded) or None (tinygrad's default) -> its full name.

    ValueError if the device does not exist here, TypeError if it is no name; RuntimeError if the CPU lacks a compiler.
    """
    if isinstance(device, (tuple, list)):
        if not device:
            raise ValueError("device must name at least one device, got an empty tuple")
        names = tuple(_resolve_one(name) for name in device)
        return names if len(names) > 1 else names[0]
    return _resolve_one(Device.DEFAULT if device is None else device)


def _resolve_one(device: Any) -> str:
    if not isinstance(device, str):
        raise TypeError(
            f"device must be a name such as 'CPU' or 'CUDA:1', got {device!r} of type {type(device).__name__}"
        )
    name = Device.canonicalize(device)
    if name.split(":")[0] == "CPU":
        cpu_compiler()
    try:
        Device[name]
    except Exception as error:  # whatever a backend raises when it is not there
        reason = str(error).strip().split("\n")[0]
        raise ValueError(
            f"device {device!r} cannot be opened here: {type(error).__name__}: {reason}"
        ) from None
    return name


@functools.cache  # asking a renderer takes as long as a small kernel
def is_gpu(device: DeviceName) -> bool:
    """Whether kernels on this device run as workgroups of threads."""
    return bool(Device[device if isinstance(device, str) else device[0]].renderer.has_local)


def first(device: DeviceName) -> str:
    return device if isinstance(device, str) else device[0]


def device_of(buffer: Tensor) -> DeviceName:
    """Where a buffer is: only expressions without any buffer are nowhere."""
    assert buffer.device is not None
    return buffer.device


def empty_buffer(size: int, dtype: DType, device: DeviceName) -> Tensor:
    """A flat buffer, allocated and not written; on several devices its one axis is sharded.

    What `Tensor.empty` makes at half its price, which every step pays several times.
    """
    shards = 1 if isinstance(device, str) else len(device)
    buffer = UOp.new_buffer(device, size // shards, dtype)
    for part in _parts(buffer):
        part.ensure_allocated()
    return Tensor(buffer if shards == 1 else buffer.unshard(0))


def upload(array: np.ndarray, device: DeviceName) -> Tensor:
    """A NumPy array as a flat buffer of the same dtype on the device or, its one axis sharded, on the devices.

    Copied straight into the buffer: as a node of tinygrad's graph it would cost a hundred times as much.
    """
    flat = np.ascontiguousarray(array).reshape(-1)
    tensor = empty_buffer(flat.size, _from_np_dtype(flat.dtype), device)
    parts = _parts(tensor.uop.src[0] if tensor.uop.op is Ops.UNSHARD else tensor.uop)
    for part, piece in zip(parts, np.split(flat, len(parts)), strict=True):
        part.allocator._copyin(part.get_buf(part.device), piece.view(np.uint8).data)
    return tensor


def download(values: Tensor) -> np.ndarray:
    """A flat Tensor on the host: what `numpy` gives, straight from a realised buffer as `upload` goes into one."""
    buffer = None if is_capturing() else buffer_of(values)
    if buffer is None:
        return values.numpy()
    host = np.empty(values.shape, _to_np_dtype(values.dtype))
    parts = _parts(buffer)
    for part, piece in zip(parts, np.split(host, len(parts)), strict=True):
        part.allocator._copyout(piece.view(np.uint8).data, part.get_buf(part.device))
    return host


def _parts(buffer: UOp) -> list[Any]:
    """The memory of a buffer, one part a device."""
    memory: Any = buffer.buffer  # a property that takes its time
    return getattr(memory, "bufs", [memory])
