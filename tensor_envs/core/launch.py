"""Hand-traced kernels as nodes of tinygrad's graph; `Tensor.custom_kernel` is an alpha API, so few call it."""

from __future__ import annotations

from collections.abc import Callable

from tinygrad import Tensor, UOp
from tinygrad.uop.ops import KernelInfo

from tensor_envs.core.memory import tracing


def launch(name: str, body: Callable[..., UOp], *arrays: Tensor) -> list[Tensor]:
    """The arrays as they are after a kernel, lazy: `body` takes one UOp an array and returns its ended stores."""

    def kernel(*parameters: UOp) -> UOp:
        with tracing():
            return body(*parameters).sink(arg=KernelInfo(name), tag=1)  # tagged: not for the optimiser

    return Tensor.custom_kernel(*arrays, fxn=kernel)
