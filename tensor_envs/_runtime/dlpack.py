"""Exchange of CUDA memory with other libraries by DLPack.

Source: https://dmlc.github.io/dlpack/latest/ (struct DLManagedTensor) and its Python specification. The producer of
memory keeps it alive until the consumer calls the deleter. The consumer passes the stream on which it will work, and
the producer has that stream wait for its own kernels.
"""

from __future__ import annotations

import ctypes
import sys
from ctypes import (
    CFUNCTYPE,
    POINTER,
    PYFUNCTYPE,
    Structure,
    c_char_p,
    c_int32,
    c_int64,
    c_uint8,
    c_uint16,
    c_uint64,
    c_void_p,
)
from dataclasses import dataclass
from typing import Any, NamedTuple

from tinygrad import dtypes
from tinygrad.dtype import DType

from tensor_envs._runtime.cuda import CUDA_DEVICE, LEGACY_STREAM, after_stream, before_stream, card_of, keep_until_done

NO_ORDER = -1  # the consumer's stream if it wants no synchronisation
# names of a capsule before and after a consumer has taken its memory
NAME = b"dltensor"
USED_NAME = b"used_dltensor"
# kDLInt, kDLUInt, kDLFloat, kDLBfloat, kDLBool
CODES = {
    dtypes.bool: 6,
    **dict.fromkeys((dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64), 0),
    **dict.fromkeys((dtypes.uint8, dtypes.uint16, dtypes.uint32, dtypes.uint64), 1),
    **dict.fromkeys((dtypes.float16, dtypes.float32, dtypes.float64), 2),
    dtypes.bfloat16: 4,
}
DTYPE_BY_CODE = {(code, 8 * dtype.itemsize): dtype for dtype, code in CODES.items()}


class _Tensor(Structure):
    """The struct DLManagedTensor: the members of a DLTensor, then `manager_ctx` and the deleter."""

    _fields_ = [
        ("data", c_void_p),
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("ndim", c_int32),
        ("code", c_uint8),
        ("bits", c_uint8),
        ("lanes", c_uint16),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
        ("context", c_void_p),
        ("deleter", c_void_p),
    ]


DELETER = CFUNCTYPE(None, c_void_p)
_python = ctypes.pythonapi
_python.PyCapsule_New.restype = ctypes.py_object
_python.PyCapsule_New.argtypes = [c_void_p, c_char_p, DELETER]
_python.PyCapsule_SetName.argtypes = [ctypes.py_object, c_char_p]
# declared with the address of a capsule: `_delete_unused` gets a capsule that has no references any more
_is_valid = PYFUNCTYPE(c_int32, c_void_p, c_char_p)(("PyCapsule_IsValid", _python))
_pointer = PYFUNCTYPE(c_void_p, c_void_p, c_char_p)(("PyCapsule_GetPointer", _python))


class _Export(NamedTuple):
    """Objects that must live until the consumer of exported memory calls the deleter."""

    tensor: _Tensor
    shape: Any
    exporter: Exporter
    stream: int


_exports: dict[int, _Export] = {}  # by the address of the struct


@DELETER  # type: ignore[untyped-decorator]
def _delete(address: int) -> None:
    """Release exported memory; later launches wait for the consumer's stream."""
    if sys is None or sys.is_finalizing():  # at the interpreter's end modules are emptied
        return
    export = _exports.pop(address, None)
    if export is not None and export.stream != NO_ORDER:
        after_stream(export.exporter.device, export.stream)


@DELETER  # type: ignore[untyped-decorator]
def _delete_unused(capsule: int) -> None:
    """Release the memory of a capsule that no consumer has taken."""
    if _is_valid(capsule, NAME):
        _exports.pop(_pointer(capsule, NAME), None)


@dataclass(eq=False)
class Exporter:
    """Producer of DLPack capsules of a buffer on a card.

    Attributes:
        buffer: tinygrad's Buffer, which is kept alive.
        address: address of its memory.
        shape: shape of the values, in C order.
        dtype: their dtype.
        device: tinygrad's name of the card.
    """

    buffer: Any
    address: int
    shape: tuple[int, ...]
    dtype: DType
    device: str

    def __dlpack_device__(self) -> tuple[int, int]:
        return CUDA_DEVICE, card_of(self.device)

    def __dlpack__(self, *, stream: Any = None, **_: Any) -> Any:
        """Return a capsule of the memory, and have the consumer's stream wait for the launches so far.

        Args:
            stream: handle of the consumer's stream; None is the null stream, -1 asks for no synchronisation.
        """
        stream = LEGACY_STREAM if stream is None else int(stream)
        if stream != NO_ORDER:
            before_stream(self.device, stream)
        shape = (c_int64 * max(len(self.shape), 1))(*self.shape)
        bits = 8 * self.dtype.itemsize
        memory = (self.address, CUDA_DEVICE, card_of(self.device))
        deleter = ctypes.cast(_delete, c_void_p).value
        # By DLPack's definition, no strides mean C order.
        tensor = _Tensor(*memory, len(self.shape), CODES[self.dtype], bits, 1, shape, None, 0, None, deleter)
        address = ctypes.addressof(tensor)
        _exports[address] = _Export(tensor, shape, self, stream)
        return _python.PyCapsule_New(address, NAME, _delete_unused)


class Imported(NamedTuple):
    """Memory of another library, in C order.

    Attributes:
        owner: object that keeps the memory alive.
        address: address of the first value.
        shape: shape of the values.
        dtype: their dtype.
        device: tinygrad's name of the card.
        ordered: whether the library reuses released memory only on the stream of the launches, and so after them.
    """

    owner: Any
    address: int
    shape: tuple[int, ...]
    dtype: DType
    device: str
    ordered: bool = False

    def keep_until_done(self) -> None:
        """Keep the memory alive until the launches so far have read it."""
        if not self.ordered:
            keep_until_done(self.device, self.owner)


def imported(x: Any) -> Imported:
    """Return the memory of another library's array on a card; launches wait for the kernels that write it.

    Raises:
        TypeError: tinygrad lacks the dtype.
        ValueError: the values are not in C order.
    """
    capsule = x.__dlpack__(stream=LEGACY_STREAM)
    tensor = _Tensor.from_address(_pointer(id(capsule), NAME))
    # The new name says that a consumer has taken the memory and will call the deleter.
    _python.PyCapsule_SetName(capsule, USED_NAME)
    # The owner is created before the checks, so that the memory of a refused array is released, too.
    owner = _Owner(ctypes.addressof(tensor), tensor.deleter)
    shape = tuple(tensor.shape[: tensor.ndim])
    dtype = DTYPE_BY_CODE.get((tensor.code, tensor.bits))
    if dtype is None or tensor.lanes != 1:
        raise TypeError(
            f"array must be of bool, bfloat16, or integers or floats of 8 to 64 bits, got DLPack's code {tensor.code}"
        )
    if tensor.strides:
        # The stride of an axis of length 1 has no meaning, and libraries set it to different values.
        expected = [stride for k, stride in enumerate(_strides(shape)) if shape[k] > 1]
        if expected != [tensor.strides[k] for k in range(tensor.ndim) if shape[k] > 1]:
            raise ValueError("array must be in C order, got another one")
    device = f"CUDA:{tensor.device_id}" if tensor.device_id else "CUDA"
    # The producer has ordered its kernels before the null stream. This moves our launches to that stream.
    after_stream(device, LEGACY_STREAM)
    return Imported(owner, (tensor.data or 0) + tensor.byte_offset, shape, dtype, device)


def _strides(shape: tuple[int, ...]) -> list[int]:
    """Return the strides of C order, in values."""
    strides = [1]
    for size in shape[:0:-1]:
        strides.insert(0, strides[0] * size)
    return strides


class _Owner:
    """Owner of another library's memory, which is released with it."""

    def __init__(self, address: int, deleter: int):
        self.address = address
        self.deleter = deleter

    def __del__(self) -> None:
        # at the interpreter's end modules are emptied
        if sys is not None and not sys.is_finalizing() and self.deleter:
            DELETER(self.deleter)(self.address)
