"""Checks and conversions of arguments with one entry per game."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np
from tinygrad import Tensor, dtypes

from tensor_envs._engine.batch_layout import BatchLayout
from tensor_envs._runtime.buffers import address_of, buffer_of, download, upload
from tensor_envs._runtime.context import stays_lazy
from tensor_envs._runtime.cuda import card_of, copy, is_cuda, on_card
from tensor_envs._runtime.jitted import jit
from tensor_envs._runtime.launch import eager, realize
from tensor_envs._runtime.launcher import base_of

if TYPE_CHECKING:
    from tensor_envs._runtime.dlpack import Imported

INT32_END = 2**31  # the least int that int32 cannot hold


def int_array(name: str, value: Any, layout: BatchLayout, below: int | None = None) -> Tensor:
    """Return integers [B] as an int32 buffer with an entry for every game, padding included.

    Args:
        name: name of the argument, for errors.
        value: a Tensor on the batch's device, an array of another library on its card, or anything that NumPy converts.
            A number that int32 cannot hold becomes -1, or another number that is no action.
        layout: layout of the batch.
        below: entries must be in 0..below-1. Only arrays on the host are checked, since the host does not wait for the
            device.

    Raises:
        TypeError: another dtype.
        ValueError: another shape, device or range.
    """
    if is_cuda(layout.device) and on_card(value):
        # Copy on the card: events order the copy with the libraries' kernels, and the host does not wait.
        actions = layout.empty(1, dtypes.int32)
        memory = card_ints(name, value, layout)
        copy(memory.device, address_of(actions), memory.address, layout.batch * dtypes.int32.itemsize)
        memory.keep_until_done()
        return actions
    if not isinstance(value, Tensor):
        return upload(layout.padded(host_ints(name, value, layout.batch, below)), layout.device)
    _check(name, value.shape, value.dtype, dtypes.is_int(value.dtype), layout.batch)
    return _buffer(_on_device(name, value, layout), layout)


def card_ints(name: str, value: Any, layout: BatchLayout, wide: bool = False) -> Imported:
    """Return another library's integers [B] on the batch's card as int32; it raises the errors of `int_array`.

    wide: whether int64 is returned as it is.
    """
    # Imported here, since the Python of a web page imports this module and lacks what `exchange` needs.
    from tensor_envs._runtime.exchange import card_array

    kind = _kind(value.dtype)
    _check(name, value.shape, value.dtype, "int" in kind, layout.batch)
    memory = card_array(value, dtypes.int64 if wide and kind == "int64" else dtypes.int32)
    if card_of(memory.device) != card_of(str(layout.device)):
        raise ValueError(f"{name} must be on the state's device {layout.device}, got {memory.device}")
    return memory


@functools.cache  # the text of a dtype takes as long as a call of the driver
def _kind(dtype: Any) -> str:
    """Return the name of another library's dtype."""
    return str(dtype).rpartition(".")[2]


def host_ints(name: str, value: Any, size: int | None, below: int | None = None, low: int = 0) -> np.ndarray:
    """Convert a Tensor, or anything that NumPy converts, to int32 [size].

    Args:
        name: name of the argument, for errors.
        value: the integers.
        size: number of entries; None for any number above 0.
        below: entries must be in low..below-1; None for any entries.
        low: lowest entry.

    Raises:
        TypeError: another dtype.
        ValueError: another shape or range.
    """
    value = host_array(name, value)
    if size is None and not value.size:
        raise ValueError(f"{name} must have one or more entries, got none")
    _check(name, value.shape, value.dtype, value.dtype.kind in "iu", size)
    if below is not None and not (value.min() >= low and value.max() < below):
        raise ValueError(f"{name} must be in {low}..{below - 1}, got {value.min()} to {value.max()}")
    # An integer that int32 cannot hold becomes -1. Its low bits might be those of an action.
    narrow = value.astype(np.int32, copy=False)
    if np.can_cast(value.dtype, np.int32) or (narrow == value).all():
        return narrow
    return np.where(narrow == value, narrow, -1).astype(np.int32)


def bool_array(name: str, value: Any, layout: BatchLayout) -> Tensor:
    """Return bool [B] as an int32 buffer with an entry for every game. TypeError or ValueError for anything else."""
    flags = value if isinstance(value, Tensor) else host_array(name, value)
    if flags.dtype not in (dtypes.bool, np.dtype(bool)):
        raise TypeError(f"{name} must be bool, got dtype {flags.dtype}")
    if flags.shape != (layout.batch,):
        raise ValueError(f"{name} must have shape ({layout.batch},), got {flags.shape}")
    if isinstance(flags, Tensor):
        return _buffer(_on_device(name, flags, layout), layout)
    return upload(layout.padded(flags).astype(np.int32), layout.device)


def _check(name: str, shape: Any, dtype: Any, integral: bool, size: int | None) -> None:
    """Raise TypeError unless the dtype is `integral`, and ValueError unless the shape is (size,)."""
    if not integral:
        raise TypeError(f"{name} must be integers, got dtype {dtype}")
    if len(shape) != 1 or shape[0] == 0 or size not in (None, shape[0]):
        raise ValueError(f"{name} must have shape ({'N' if size is None else size},), got {tuple(shape)}")


def host_array(name: str, value: Any) -> np.ndarray:
    """Return the argument `name` as a NumPy array.

    Raises:
        TypeError: the value is no array (a State), or cannot be read (a tensor on PyTorch's device "meta").
        ValueError: nested lists have different lengths, or entries are masked.
    """
    if type(value) is np.ndarray:
        return value
    # NumPy would read a Tensor entry by entry.
    if isinstance(value, Tensor):
        return eager(value).numpy()
    # A State has rows, which NumPy would read one by one.
    if hasattr(value, "__flatten__"):
        raise TypeError(f"{name} must be an array, got a {type(value).__name__}")
    if np.ma.is_masked(value):
        raise ValueError(f"{name} must not have masked entries, got {np.ma.getmaskarray(value).sum()} of them")
    try:
        return np.asarray(value)
    except ValueError as error:
        raise ValueError(f"{name} must be rectangular: {error}") from None
    # Another library may raise an error of any class here.
    except Exception as error:
        raise TypeError(f"{name} must be an array that NumPy can read, got {type(value).__name__}: {error}") from None


def _on_device(name: str, values: Tensor, layout: BatchLayout) -> Tensor:
    """Return values on the batch's device. ValueError if they are on another one; constants can be on every device."""
    if values.device is None:
        return values if stays_lazy() else upload(download(values), layout.device)
    if values.device != layout.device:
        raise ValueError(f"{name} must be on the state's device {layout.device}, got {values.device}")
    # A tensor that every device has a copy of is sharded like the batch.
    if layout.shards > 1 and values.uop.axis is None:
        values = values.to(layout.device[0]).shard(layout.device, axis=0)  # type: ignore[arg-type]
    return values


def _buffer(values: Tensor, layout: BatchLayout) -> Tensor:
    """Return values [B] of a checked dtype as an int32 buffer with an entry for every game, padding included."""
    if values.dtype is dtypes.int32 and layout.rows == layout.batch:
        if stays_lazy() or buffer_of(values) is not None:
            return values
        return realize(values.clone())
    # Actions that a search or a policy of this package returns are a view of a padded buffer, which needs no copy.
    base = Tensor(base_of(values.uop))
    is_padded_buffer = values.dtype is dtypes.int32 and buffer_of(base) is not None and base.numel() == layout.rows
    if is_padded_buffer and layout.column(base).uop is values.uop:
        return base
    return _padded_int32(values, layout.shards, layout.shard_size, layout.grid.rows)


@jit
def _padded_int32(values: Tensor, shards: int, games: int, rows: int) -> Tensor:
    """Convert values of shards of `games` games to int32, and pad each shard to `rows` games."""
    # A number that int32 cannot hold becomes -1.
    if values.dtype in (dtypes.uint32, dtypes.int64, dtypes.uint64):
        values = ((values >= 0) & (values < INT32_END)).where(values, -1)
    values = values.cast(dtypes.int32)
    if rows > games:
        values = values.reshape(shards, games).pad(((0, 0), (0, rows - games))).reshape(shards * rows)
    return values.contiguous()
