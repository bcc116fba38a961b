"""Checks of board arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
from tinygrad import Tensor, dtypes

from tensor_envs._runtime.opening import open_device
from tensor_envs._validate import integer
from tensor_envs.ops.lines import MAX_CELLS, MAX_RANK

BoardArray = Tensor | np.ndarray


def check_k(shape: tuple[int, ...], k: int) -> int:
    """Return k as a plain int. TypeError for others, ValueError unless a line of k cells fits on these sides."""
    if not 1 <= len(shape) <= MAX_RANK or min(shape) < 1:
        raise ValueError(f"board must have 1..{MAX_RANK} axes, all of them of 1 or more cells, got shape {shape}")
    k = integer("k", k, 1, MAX_CELLS)
    if k > max(shape):
        raise ValueError(f"k must be in 1..{max(shape)} for a line to fit on shape {shape}, got {k}")
    return k


def as_board(board: Any, k: int, rank: int | None, device: Any) -> tuple[Tensor, tuple[int, ...], tuple[int, ...], int]:
    """Return a board argument as a Tensor, the sizes of its batch axes, its sides, and k as a plain int.

    Args:
        board: signed integers. The values of an array are checked; those of a Tensor, which stays lazy, are not.
        k: length of a line.
        rank: the number of trailing axes that are the board; the axes before them are a batch. None: all.
        device: device of the result for an array; a Tensor stays on its device.

    Raises:
        TypeError: another type or dtype.
        ValueError: values in an array other than -1, 0, 1, a rank above the board's, an empty batch, a second device,
            or a k as in `check_k`.
    """
    if not isinstance(board, (Tensor, np.ndarray)):
        raise TypeError(f"board must be a Tensor or a NumPy array, got {type(board).__name__}")
    # An unsigned dtype has no -1, so its boards would silently have no second player.
    integral = dtypes.is_int(board.dtype) if isinstance(board, Tensor) else board.dtype.kind in "iu"
    unsigned = isinstance(board, Tensor) and dtypes.is_unsigned(board.dtype)
    if not integral or unsigned or (isinstance(board, np.ndarray) and board.dtype.kind == "u"):
        raise TypeError(f"board must have a signed integer dtype, for -1, 0 and 1, got {board.dtype}")
    axes = len(board.shape) if rank is None else integer("rank", rank, 1, len(board.shape))
    sizes = tuple(int(n) for n in board.shape)
    lead = sizes[: len(sizes) - axes]
    shape = sizes[len(sizes) - axes :]
    if 0 in lead:
        raise ValueError(f"board must hold one or more boards, got shape {sizes}")
    k = check_k(shape, k)
    if isinstance(board, np.ndarray):
        return _upload(board, device), lead, shape, k
    # A Tensor stays on its device; a constant has none, so it is copied to the chosen one.
    own = open_device(device if board.device is None else board.device)
    if not isinstance(own, str):
        raise ValueError(f"board must be on one device, got {own}")
    if device is not None and open_device(device) != own:
        raise ValueError(f"device must be None or the board's own, {own}, got {device!r}")
    return board if board.device is not None else board.clone(own), lead, shape, k


def _upload(board: np.ndarray, device: Any) -> Tensor:
    low = int(board.min())
    high = int(board.max())
    if low < -1 or high > 1:
        raise ValueError(f"board must have no values but -1, 0 and 1, got values from {low} to {high}")
    return Tensor(np.ascontiguousarray(board, dtype=np.int8), device=open_device(device))
