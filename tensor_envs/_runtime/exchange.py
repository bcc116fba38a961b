"""Zero-copy exchange with NumPy, PyTorch and every library with DLPack: `to_numpy`, `from_numpy` and so on.

`copy` is as in NumPy 2: None (the default) shares memory if possible and copies otherwise, False shares or raises
ValueError, True always copies. Host memory is shared between tensors on tinygrad's CPU device, NumPy arrays and
PyTorch's CPU tensors; GPU memory between tensors on tinygrad's CUDA device and PyTorch's CUDA tensors of the same card.

Rules for shared memory:
- Either side keeps the memory alive for as long as it uses it.
- A write of either side changes the values of both. Later steps do not write into the memory of a state, also of a
  `VectorEnv`, or of its properties. A `VectorEnv` overwrites its transitions' `actions`, its `observation` and its
  `legal_action_mask` in the next step: use a shared array of these only until then, or pass `copy=True`.
- `to_numpy` returns read-only arrays, since a state is immutable. PyTorch has no read-only tensors: do not write into
  one that shares a state's memory. `Tensor.assign` on an imported tensor writes into the array that it came from.
- `VectorEnv.step` on the CPU reads contiguous int32 actions in place, before it returns. `Env.step` copies them, 4
  bytes per game. Both convert other integers.
- The arrays and tensors that these functions return support DLPack (`np.from_dlpack`, `torch.from_dlpack`). JAX refuses
  the read-only arrays of `to_numpy` by DLPack, but takes them by `jax.numpy.asarray`.
- tinygrad's own Tensors do not support DLPack (https://github.com/tinygrad/tinygrad/issues/14072): `to_dlpack` wraps
  them. NumPy's `np.asarray` makes an array of objects of them. A subclass with these protocols is no way out, since
  TinyJit captures its values as constants (tinygrad 0.14).
- Pending kernels of one side end before later kernels of the other side use the memory. On CUDA the current stream of
  PyTorch, or the stream that a consumer of DLPack names, waits by an event, and the host does not stop. Work on other
  streams of PyTorch must be ordered with its current one, as within PyTorch itself.
"""

from __future__ import annotations

import functools
import importlib
import math
import sys
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np
from tinygrad import Tensor, dtypes
from tinygrad.dtype import DType, strong_dtype
from tinygrad.uop.ops import Ops

from tensor_envs._runtime.buffers import buffer_of, device_of, shards, upload
from tensor_envs._runtime.context import LOCK, allow_devices, stays_lazy
from tensor_envs._runtime.cuda import (
    LEGACY_STREAM,
    after_stream,
    before_stream,
    card_of,
    is_cuda,
    keep_until_done,
    on_card,
    tinygrad_operation,
)
from tensor_envs._runtime.devices import compiling_in_process, opened
from tensor_envs._runtime.dlpack import Exporter, Imported, imported
from tensor_envs._runtime.launch import realize
from tensor_envs._runtime.opening import open_device
from tensor_envs._runtime.private_memory import ExternalMemory
from tensor_envs._runtime.threads import synchronize
from tensor_envs._validate import instance

if TYPE_CHECKING:
    import torch

NUMPY_NAMES = {
    getattr(dtypes, name): name
    for name in (
        *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float16", "float32", "float64"),
    )
}
NUMPY_DTYPES = {dtype: np.dtype(name) for dtype, name in NUMPY_NAMES.items()}
BYTES = np.dtype(np.uint8)
TORCH_NAMES = NUMPY_NAMES | {dtypes.bfloat16: "bfloat16"}
ALIGNMENT = 16  # bytes: aligned vector loads of tinygrad's CPU kernels fault at other addresses


def to_numpy(tensor: Tensor, copy: bool | None = None) -> np.ndarray:
    """Return a tensor's values as an array.

    A lazy tensor is realised first, and its buffer is shared. This works in every thread, while tinygrad's own
    `tolist`, `item` and `numpy` of a lazy Tensor work only in the thread that compiled first. With copy=None a view
    that is not contiguous is copied, and so is a tensor on several devices or on another device than "CPU".

    Args:
        tensor: Tensor of a dtype that NumPy has.
        copy: False insists on shared memory, True on a copy; None shares where it can.

    Returns:
        An array of its shape and dtype; read-only, unless copy=True.

    Raises:
        TypeError: another argument, and dtypes that NumPy lacks (bfloat16, float8).
        ValueError: copy=False cannot be met.
        RuntimeError: inside a jit.

    Examples:
        >>> te.to_numpy(te.make("tic_tac_toe").init(2).current_player)
        array([0, 0], dtype=int32)
    """
    is_on_card = is_cuda(getattr(tensor, "device", None) or "")
    kept = None if is_on_card else _kept_exports(tensor, copy)  # a tensor on a card is copied
    if kept is not None and kept.numpy is not None:
        return kept.numpy.view()
    tensor = _exportable(tensor, copy, NUMPY_NAMES)
    flat = _host_array(tensor, copy, NUMPY_DTYPES[tensor.dtype], readonly=copy is not True)
    array = flat.reshape(tensor.shape)
    if kept is not None:
        kept.numpy = array
    return array


def to_torch(tensor: Tensor, copy: bool | None = None) -> torch.Tensor:
    """Return a tensor's values as a `torch.Tensor` on PyTorch's CPU, or on "cuda:1" for a tensor on "CUDA:1".

    Args:
        tensor: Tensor of a dtype that PyTorch has, bfloat16 included.
        copy: as in `to_numpy`.

    Returns:
        A `torch.Tensor` of its shape and dtype. PyTorch cannot forbid writing to it.

    Raises:
        ImportError: without PyTorch.
        RuntimeError: the tensor is on CUDA and PyTorch sees no such card, or inside a jit.
        TypeError, ValueError: as in `to_numpy`.

    Examples:
        >>> te.to_torch(te.make("tic_tac_toe").init(2).ply)  # doctest: +SKIP
        tensor([0, 0], dtype=torch.int32)
    """
    kept = _kept_exports(tensor, copy)
    if kept is not None and kept.torch is not None:
        return kept.torch.detach()
    torch = _torch()
    tensor = _exportable(tensor, copy, TORCH_NAMES)
    dtype = getattr(torch, TORCH_NAMES[tensor.dtype])
    shape = tuple(tensor.shape)
    kind, _, number = str(tensor.device).partition(":")
    if not math.prod(tensor.shape):
        return torch.empty(shape, dtype=dtype)
    with torch.inference_mode(False):  # a tensor of inference mode could not take part in training
        if kind == "CUDA":
            if int(number or 0) >= torch.cuda.device_count():
                raise RuntimeError(f"tensor is on {tensor.device}, which this PyTorch cannot use: copy it to CPU")
            result = torch.from_dlpack(_exporter(tensor, copy))
            result = result.clone() if copy else result
        else:
            flat = torch.from_numpy(_host_array(tensor, copy, BYTES, readonly=False))
            result = flat.view(dtype).reshape(shape)
    if kept is not None:
        kept.torch = result
    return result


def from_numpy(array: np.ndarray, copy: bool | None = None) -> Tensor:
    """Return an array as a tensor on tinygrad's CPU device.

    Memory can be shared if it is writable, C-contiguous, in native byte order and aligned to 16 bytes. NumPy's
    allocations are aligned; slices such as a[1:] may not be, and tinygrad's kernels would crash on them.

    Args:
        array: array of a dtype that tinygrad has.
        copy: False insists on shared memory, True on a copy; None shares where it can.

    Returns:
        A tensor of its shape and dtype.

    Raises:
        TypeError: another argument or dtype.
        ValueError: copy=False cannot be met, with the reason; entries are masked.

    Examples:
        >>> te.from_numpy(np.arange(3, dtype=np.int32)).tolist()
        [0, 1, 2]
    """
    instance("array", array, np.ndarray)
    if np.ma.is_masked(array):
        raise ValueError("array must have no masked entries")
    dtype = next((dtype for dtype, name in NUMPY_NAMES.items() if name == array.dtype.name), None)
    if dtype is None:
        raise TypeError(f"array must be of {', '.join(NUMPY_NAMES.values())}, got dtype {array.dtype}")
    return _from_host("array", array, array, dtype, copy)


def from_torch(tensor: torch.Tensor, copy: bool | None = None) -> Tensor:
    """Return a `torch.Tensor` as a tensor on the same device: "CPU", or "CUDA:1" for "cuda:1".

    Memory is shared as in `from_numpy`. Pass actions to a step without this function: tinygrad takes longer to create a
    Tensor than a step takes to copy them.

    Args:
        tensor: Tensor of a dtype that tinygrad has.
        copy: as in `from_numpy`.

    Returns:
        A tensor of its shape and dtype.

    Raises:
        ImportError: without PyTorch.
        TypeError: another argument or dtype.
        ValueError: a tensor that requires grad, is sparse, or is on another device, or copy=False cannot be met.

    Examples:
        >>> te.from_torch(torch.arange(3)).tolist()  # doctest: +SKIP
        [0, 1, 2]
    """
    torch = _torch()
    instance("tensor", tensor, torch.Tensor)
    dtype = next((d for d, name in TORCH_NAMES.items() if getattr(torch, name) is tensor.dtype), None)
    if dtype is None:
        raise TypeError(f"tensor must be of {', '.join(TORCH_NAMES.values())}, got dtype {tensor.dtype}")
    if tensor.requires_grad:
        raise ValueError("tensor requires grad, which tinygrad cannot follow: pass tensor.detach()")
    if tensor.layout is not torch.strided or tensor.device.type not in ("cpu", "cuda"):
        raise ValueError(
            f"tensor must be strided and on cpu or cuda, got {tensor.layout} on {tensor.device}: "
            "pass tensor.to_dense().cpu()"
        )
    if tensor.device.type == "cpu":
        array = (tensor.view(torch.int16) if dtype is dtypes.bfloat16 else tensor).numpy()
        return _from_host("tensor", tensor, array, dtype, copy)
    reasons = {"is not contiguous": not tensor.is_contiguous(), **_unaligned(tensor.data_ptr())}
    if not _can_share("tensor", copy, reasons):
        tensor = tensor.clone(memory_format=torch.contiguous_format)
    device = _card(tensor.device.index)
    after_stream(device, torch_stream(device))
    return _wrap(tensor, tensor.data_ptr(), tensor.shape, dtype, device)


def to_dlpack(tensor: Tensor) -> Any:
    """Return a tensor's values as an object with DLPack's protocol, for JAX, CuPy and others.

    On "CUDA" the memory is shared, and the consumer's stream waits for the kernels so far. For other devices the result
    is that of `to_numpy`.

    Args:
        tensor: Tensor of a dtype that NumPy has, or bfloat16 on CUDA.

    Returns:
        An object that `jax.dlpack.from_dlpack`, `cupy.from_dlpack` and `torch.from_dlpack` take. It keeps the memory
        alive, as its consumers do.

    Raises:
        TypeError: another argument or dtype.
        RuntimeError: inside a jit.

    Examples:
        >>> np.from_dlpack(te.to_dlpack(te.make("tic_tac_toe").init(2).ply))
        array([0, 0], dtype=int32)
    """
    if isinstance(tensor, Tensor) and tensor.device is not None and is_cuda(tensor.device):
        return _exporter(_exportable(tensor, None, TORCH_NAMES), None)
    return to_numpy(tensor)


def from_dlpack(array: Any) -> Tensor:
    """Return another library's array as a tensor on the same device: "CPU", or "CUDA:1" for card 1.

    Memory is shared as in `from_numpy`. Launches wait for the kernels that write the array.

    Args:
        array: an object with DLPack's protocol in C order, of a dtype that tinygrad has.

    Returns:
        A tensor of its shape and dtype.

    Raises:
        TypeError: an object without the protocol, or another dtype.
        ValueError: an array that is not in C order.

    Examples:
        >>> te.from_dlpack(np.arange(3, dtype=np.int32)).tolist()
        [0, 1, 2]
    """
    if not hasattr(array, "__dlpack__"):
        raise TypeError(f"array must have DLPack's protocol, got {type(array).__name__}")
    if not on_card(array):
        return from_numpy(np.from_dlpack(array))
    memory = imported(array)
    return _wrap(memory.owner, memory.address, memory.shape, memory.dtype, memory.device)


def card_array(x: Any, dtype: DType) -> Imported:
    """Return an array of another library on a card, converted to a dtype and C order; launches wait for its kernels.

    Args:
        x: integers or floats of PyTorch, JAX or CuPy.
        dtype: int32 (integers out of its range are clipped), int64 (if `x` has it already), or float32.
    """
    torch = sys.modules.get("torch")
    is_torch = torch is not None and isinstance(x, torch.Tensor)
    name = NUMPY_NAMES[dtype]
    if x.dtype.itemsize > dtype.itemsize and dtype is dtypes.int32:
        x = x.clip(-1, 2**31 - 1)  # an action of 2**32 must not become action 0
    if not is_torch:
        return imported(x.astype(name))
    target = getattr(torch, name)
    # PyTorch creates a new object even for a conversion without effect
    if x.dtype is not target or not x.is_contiguous():
        x = x.to(target).contiguous()
    device = _card(x.device.index)
    stream = torch_stream(device)
    after_stream(device, stream)
    # PyTorch's allocator reuses memory on the stream for which it was allocated. PyTorch itself assumes that this is
    # the current stream. If that is the stream of the launches, the memory need not be kept for them.
    return Imported(x, x.data_ptr(), tuple(x.shape), dtype, device, stream <= LEGACY_STREAM)


@functools.cache
def _card(number: int) -> str:
    """Open a card and return its name in tinygrad."""
    return str(open_device(f"CUDA:{number}"))


# *** out ***


class _Exports:
    """Arrays of other libraries that share a tensor's memory."""

    def __init__(self, tensor: Tensor):
        self.uop = tensor.uop
        self.device = device_of(tensor)
        self.numpy: np.ndarray | None = None
        self.torch: Any = None


_exports: dict[int, _Exports] = {}  # kept exports by the id of the tensor


def keep_exports(tensor: Tensor) -> Tensor:
    """Keep the first export of a tensor, of which later exports are views, and return the tensor.

    This is for a buffer that is written and exported in every step: an export takes longer than a small step. The
    buffer must not come from a pool, since its memory would count as in use.
    """
    device = device_of(tensor)
    if device != "CPU" and not is_cuda(device):  # exports would be copies
        return tensor
    _exports[id(tensor)] = _Exports(tensor)
    weakref.finalize(tensor, _exports.pop, id(tensor)).atexit = False
    return tensor


def _kept_exports(tensor: Any, copy: Any) -> _Exports | None:
    """Return the kept exports of a tensor, after its kernels; None if there are none, and for copies and captures."""
    kept = _exports.get(id(tensor))
    if kept is None or kept.uop is not tensor.uop or (copy is not None and copy is not False) or stays_lazy():
        return None
    if not is_cuda(kept.device):
        synchronize(kept.device)
    elif kept.torch is not None and not _torch().cuda.is_current_stream_capturing():
        # Whoever replays a graph that PyTorch captures has to order it.
        before_stream(str(kept.device), torch_stream(str(kept.device)))
    return kept


class ExportInJitError(RuntimeError):
    """Export of a tensor, or a search, in a function that a jit is capturing or will capture."""


def _exporter(tensor: Tensor, copy: bool | None) -> Exporter:
    """Return a DLPack producer of a realised tensor on a card."""
    buffer = _buffer(tensor, copy)
    return Exporter(buffer, int(buffer._buf.value), tuple(map(int, tensor.shape)), tensor.dtype, str(tensor.device))


def _exportable(tensor: Any, copy: Any, names: dict[DType, str]) -> Tensor:
    """Return a tensor, realised. Raise TypeError for a dtype that `names` lacks, RuntimeError inside a jit."""
    instance("tensor", tensor, Tensor)
    _check_copy(copy)
    if stays_lazy():
        raise ExportInJitError("a jit cannot capture an export: it would look at the memory of the capture alone")
    strong = tensor if tensor.dtype not in dtypes.weaks else tensor.cast(strong_dtype(tensor.dtype))
    if strong.dtype not in names:
        raise TypeError(f"tensor must be of {', '.join(names.values())}, got {strong.dtype}: cast it first")
    if buffer_of(strong) is not None:
        return strong
    return realize(strong.clone("CPU") if strong.device is None else strong)


def _buffer(tensor: Tensor, copy: bool | None) -> Any:
    """Return tinygrad's Buffer of a realised tensor's values in C order; a strided view gets a new one."""
    if (whole := buffer_of(tensor)) is not None:  # much faster than `_realised`
        return shards(whole)[0]
    buffer = _realised(tensor)
    base = tensor.uop.base
    while base.op is Ops.BITCAST:
        base = base.src[0].base
    own = base.is_realized and getattr(base.buffer, "base", None) is buffer.base
    _can_share("tensor", copy, {"is no contiguous view of its buffer": not own})
    return buffer


def _realised(tensor: Tensor) -> Any:
    """Return tinygrad's Buffer of a tensor's values."""
    with compiling_in_process():  # its lock keeps a capture of another thread from recording these kernels
        return tensor._buffer()


def _host_array(tensor: Tensor, copy: bool | None, dtype: np.dtype[Any], readonly: bool) -> np.ndarray:
    """Return the memory of a realised tensor, or a copy of it, as a flat array of a dtype."""
    if not math.prod(tensor.shape):
        empty = np.empty(0, dtype)
        empty.flags.writeable = not readonly
        return empty
    reasons = {f"is on {tensor.device}, whose memory the host cannot share": tensor.device != "CPU"}
    if _can_share("tensor", copy, reasons):
        buffer = _buffer(tensor, copy)
        memory = buffer.as_memoryview(force_zero_copy=True)  # synchronises
        memory.obj.held = buffer  # the array keeps the buffer alive
    else:
        with tinygrad_operation():
            memory = _realised(tensor).as_memoryview()
    return np.frombuffer(memory.toreadonly() if readonly else memory, dtype)


# *** in ***


class _Import:
    """Owner of the external memory of a buffer. When the buffer goes, it lives on until the device has finished."""

    def __init__(self, owner: Any, device: str):
        self.owner = owner
        self.name = device
        self.device = opened(device)  # here, since a lookup in `__del__` may fail while tinygrad compiles

    def __del__(self) -> None:
        if sys is None or sys.is_finalizing():  # at the interpreter's end modules are emptied
            return
        if is_cuda(self.name):
            keep_until_done(self.name, self.owner)
        else:
            self.device.synchronize()


def _wrap(owner: Any, address: int, shape: Any, dtype: DType, device: str) -> Tensor:
    """Return a tensor that shares the owner's memory and keeps the owner alive."""
    with LOCK:  # a capture iterates over tinygrad's table of buffers, which this adds to
        allow_devices()
        tensor = Tensor.from_blob(address, tuple(shape), dtype=dtype, device=open_device(device))
    buffer: Any = tensor.uop.buffer
    buffer.options = ExternalMemory(external_ptr=address)
    buffer.borrowed = _Import(owner, buffer.device)
    return tensor


def _from_host(name: str, owner: Any, array: np.ndarray, dtype: DType, copy: bool | None) -> Tensor:
    """Return a CPU tensor that shares an array's memory, which belongs to the owner, or has a copy of it."""
    reasons = {
        "is read-only": not array.flags.writeable,
        "is not C-contiguous": not array.flags.c_contiguous,
        "is not in native byte order": not array.dtype.isnative,
        **_unaligned(array.ctypes.data),
    }
    if not array.size:
        return Tensor.empty(*array.shape, dtype=dtype, device=open_device("CPU"))
    if _can_share(name, copy, reasons):
        return _wrap(owner, array.ctypes.data, array.shape, dtype, "CPU")
    native = array.astype(array.dtype.newbyteorder("="))
    flat = upload(native, open_device("CPU"))
    return (flat if flat.dtype is dtype else flat.bitcast(dtype)).reshape(array.shape)


def _unaligned(address: int) -> dict[str, bool]:
    return {f"begins {address % ALIGNMENT} bytes off a multiple of {ALIGNMENT}": address % ALIGNMENT != 0}


def _can_share(name: str, copy: bool | None, reasons: dict[str, bool]) -> bool:
    """Return whether to share memory, given reasons against it. Raise ValueError if one holds and copy=False."""
    _check_copy(copy)
    against = [reason for reason, holds in reasons.items() if holds]
    if copy is False and against:
        raise ValueError(f"{name} {' and '.join(against)}, so copy=False cannot be met: use copy=None or True")
    return not copy and not against


def _check_copy(copy: Any) -> None:
    if copy is not None and not isinstance(copy, bool):
        raise TypeError(f"copy must be None, False or True, got {copy!r}")


def torch_stream(device: str) -> int:
    """Return the handle of PyTorch's current stream on a card."""
    torch = _torch()
    number = card_of(device)
    if not torch.cuda.is_initialized():  # the public function initialises CUDA, or raises an error with the reason
        return int(torch.cuda.current_stream(number).cuda_stream)
    # The public function creates an object for the stream, which takes as long as a launch.
    return int(torch._C._cuda_getCurrentRawStream(number))


def _torch() -> Any:
    try:
        return sys.modules.get("torch") or importlib.import_module("torch")
    except ImportError:
        raise ImportError("this needs PyTorch: pip install 'tensor_envs[torch]'") from None
