"""Hand-traced kernels as nodes of tinygrad's graph: nobody else calls its alpha API `Tensor.custom_kernel`."""

from __future__ import annotations

from collections.abc import Callable

from tinygrad import Tensor, UOp
from tinygrad.renderer import Estimates
from tinygrad.uop.ops import KernelInfo

from tensor_envs.core.memory import tracing


def launch(
    name: str, body: Callable[..., UOp], *arrays: Tensor, estimates: Estimates | None = None
) -> list[Tensor]:
    """The arrays as they are after a kernel, lazy: `body` takes one UOp an array and returns its ended stores.

    estimates: operations and bytes, where tinygrad cannot count them itself (loops whose length it does not know).
    """

    def kernel(*parameters: UOp) -> UOp:
        with tracing():
            info = KernelInfo(name, estimates=estimates)
            return body(*parameters).sink(
                arg=info, tag=1
            )  # tagged: tinygrad's optimiser would break the loops

    return Tensor.custom_kernel(*arrays, fxn=kernel)
