"""Hand-traced kernels as nodes of tinygrad's graph: nobody else calls its alpha API `Tensor.custom_kernel`."""

from __future__ import annotations

from collections.abc import Callable

from tinygrad import Device, Tensor, UOp
from tinygrad.renderer import Estimates
from tinygrad.renderer.cstyle import ClangRenderer
from tinygrad.uop.ops import KernelInfo

from tensor_envs.core.device import device_of, first
from tensor_envs.core.lower import lowered
from tensor_envs.core.memory import tracing


def launch(
    name: str, body: Callable[..., UOp], *arrays: Tensor, estimates: Estimates | None = None
) -> list[Tensor]:
    """The arrays as they are after a kernel, lazy: `body` takes one UOp an array and returns its ended stores.

    estimates: operations and bytes, where tinygrad cannot count them itself (loops whose length it does not know).
    """

    renderer = Device[first(device_of(arrays[0]))].renderer

    def kernel(*parameters: UOp) -> UOp:
        with tracing():
            # tagged: tinygrad's optimiser would break the loops
            sink = body(*parameters).sink(arg=KernelInfo(name, estimates=estimates), tag=1)
        return lowered(sink, renderer) if isinstance(renderer, ClangRenderer) else sink

    return Tensor.custom_kernel(*arrays, fxn=kernel)
