"""Arguments with one entry a game, from NumPy or tinygrad: checked, and brought to the state's device."""

from __future__ import annotations

from typing import Any

import numpy as np
from tinygrad import Tensor, dtypes

from tensor_envs.core.device import buffer_of, is_capturing, upload
from tensor_envs.core.state import State

INT32 = 2**31


def integers(
    name: str, value: Any, state: State, size: int | None = None, below: int | None = None
) -> Tensor:
    """Integers [size] (None: any number above 0), a Tensor on the state's device or anything that NumPy takes.

    below: an array's entries must be in 0..below-1; a Tensor's are not looked at. What int32 cannot hold becomes -1.
    TypeError for another dtype, ValueError for another shape, device or range.
    """
    if not isinstance(value, Tensor):
        return upload(host_integers(name, value, size, below), state.device)
    _check_integers(name, value.shape, value.dtype, dtypes.is_int(value.dtype), size)
    value = on(state, name, value)
    if value.dtype in (dtypes.uint32, dtypes.int64, dtypes.uint64):
        value = ((value >= 0) & (value < INT32)).where(value, -1)
    return value


def host_integers(name: str, value: Any, size: int | None = None, below: int | None = None) -> np.ndarray:
    """The same of anything that NumPy takes, int32."""
    value = _array(name, value)
    _check_integers(name, value.shape, value.dtype, value.dtype.kind in "iu", size)
    if below is not None and not (value.min() >= 0 and value.max() < below):
        raise ValueError(f"{name} must be in 0..{below - 1}, got {value.min()} to {value.max()}")
    if not np.can_cast(value.dtype, np.int32):
        value = np.where((value >= -INT32) & (value < INT32), value, -1)
    return value.astype(np.int32, copy=False)


def _check_integers(name: str, shape: Any, dtype: Any, integral: bool, size: int | None) -> None:
    if not integral:
        raise TypeError(f"{name} must be integers, got dtype {dtype}")
    if len(shape) != 1 or shape[0] == 0 or size not in (None, shape[0]):
        raise ValueError(f"{name} must have shape ({'N' if size is None else size},), got {shape}")


def _array(name: str, value: Any) -> np.ndarray:
    try:
        return np.asarray(value)
    except ValueError as error:
        raise ValueError(f"{name} must be rectangular: {error}") from None


def flags(name: str, value: Any, state: State) -> Tensor:
    """bool [B], a Tensor on the state's device or anything that NumPy takes. ValueError for anything else."""
    chosen = value if isinstance(value, Tensor) else _array(name, value)
    if chosen.shape != (state.batch,) or chosen.dtype not in (dtypes.bool, np.dtype(bool)):
        raise ValueError(
            f"{name} must be bool of shape ({state.batch},), got {chosen.dtype} of {chosen.shape}"
        )
    return on(state, name, chosen) if isinstance(chosen, Tensor) else upload(chosen, state.device)


def on(state: State, name: str, values: Tensor) -> Tensor:
    """Values on the state's device, else ValueError; a Tensor without any device is on every one."""
    if values.device is None:
        return values if is_capturing() else upload(values.numpy(), state.device)
    if values.device != state.device:
        raise ValueError(f"{name} must be on the state's device {state.device}, got {values.device}")
    return values


def int32_buffer(values: Tensor) -> Tensor:
    flat = values.cast(dtypes.int32)
    return flat if is_capturing() or buffer_of(flat) is not None else flat.clone().realize()


def check_legal(state: State, actions: Tensor) -> None:
    """ValueError naming rows and actions if a game that goes on gets an illegal one; looks at them on the host."""
    if is_capturing():
        raise RuntimeError(
            'illegal="raise" looks at the actions on the host, so it cannot be captured by a jit'
        )
    now, chosen = state.numpy(), actions.numpy().reshape(-1)
    inside = (chosen >= 0) & (chosen < state.env.num_actions)
    legal = inside & now["legal_action_mask"][np.arange(len(chosen)), np.where(inside, chosen, 0)]
    wrong = np.flatnonzero(~legal & ~now["terminated"] & ~now["truncated"])
    if len(wrong):
        pairs = ", ".join(f"row {row}: {chosen[row]}" for row in wrong[:8]) + (
            ", ..." if len(wrong) > 8 else ""
        )
        raise ValueError(f"{len(wrong)} illegal actions ({pairs}); legal_action_mask says what is allowed")
