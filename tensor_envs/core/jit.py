"""Captured calls: the only place where `TinyJit` is used, with its hazards kept away from everybody else.

What TinyJit does not do and is done here: containers such as a `State` are flattened into tensors and rebuilt; every
call is checked against shapes, dtypes and devices, since a capture replayed with other sizes reads out of bounds;
inputs that are no plain buffers are made so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tinygrad import Tensor, TinyJit
from tinygrad.engine import realize
from tinygrad.uop.ops import Ops, UOp


def is_capturing() -> bool:
    """Whether somebody's TinyJit is recording: what is called now must stay lazy."""
    return bool(realize.capturing)


def buffer_of(t: Tensor) -> UOp | None:
    """The realised buffer that a tensor is, whole and in order; None if it is anything else."""
    u = t.uop
    if u.op is Ops.UNSHARD:
        u = u.src[0]
    while u.op is Ops.RESHAPE:
        u = u.src[0]
    return u if u.op is Ops.BUFFER and u.is_realized else None


class Replay:
    """A function of tensors that writes into some of them, captured at its first call and replayed after it.

    The arguments must be whole buffers, of the same shapes, dtypes and devices in every call (the caller's cache key);
    which of them are written is up to the function. A replay costs about a tenth of a TinyJit call, because the
    arguments need no inspection.
    """

    def __init__(self, function: Callable[..., None]):
        self.function = function
        self.captured: Any = None

    def __call__(self, *tensors: Tensor) -> None:
        if self.captured is None:
            jit = TinyJit(self.function)
            jit.cnt = (
                1  # capture at once: TinyJit's first call would only run, and a call must take effect once
            )
            jit(*tensors)
            self.captured = jit.captured
            return
        buffers = [buffer_of(t) for t in tensors]
        assert None not in buffers, "a replayed call takes whole buffers"
        self.captured(buffers, {})
