"""Hand-traced kernels as nodes of tinygrad's graph: nobody else calls its alpha API `Tensor.custom_kernel`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tinygrad import Device, Tensor, UOp
from tinygrad.renderer import Estimates
from tinygrad.uop.ops import KernelInfo

from tensor_envs.core.backend.device import device_of, primary
from tensor_envs.core.backend.lower import lowered
from tensor_envs.rules.control import tracing


def launch(
    name: str,
    body: Callable[..., UOp],
    *arrays: Tensor,
    estimates: Callable[[], Estimates | None] | None = None,
) -> list[Tensor]:
    """The arrays as they are after a kernel, lazy: `body` takes one UOp an array and returns its ended stores.

    estimates: operations and bytes, asked for once the kernel is traced, where tinygrad cannot count them itself (loops
    whose length it does not know).
    """
    renderer = Device[primary(device_of(arrays[0]))].renderer
    parameters = [UOp.placeholder_like(array.uop, slot=k) for k, array in enumerate(arrays)]
    with tracing():
        done = body(*parameters)
    info = KernelInfo(name, estimates=None if estimates is None else estimates())
    sink = done.sink(arg=info, tag=1)  # tagged: tinygrad's optimiser would break the loops
    # a kernel gets the arrays that it reads or writes: OpenCL takes a parameter's slot for its place among them
    nodes = set(sink.toposort())
    used = [k for k, parameter in enumerate(parameters) if parameter in nodes]

    def kernel(*given: UOp) -> UOp:
        moved = {parameters[k]: g for k, g in zip(used, given, strict=True) if parameters[k] is not g}
        return lowered(sink.substitute(moved) if moved else sink, renderer)

    after = Tensor.custom_kernel(*(arrays[k] for k in used), fxn=kernel)
    results = list(arrays)
    for k, tensor in zip(used, after, strict=True):
        results[k] = tensor
    return results


def total_bytes(arrays: Sequence[Tensor]) -> Estimates:
    """What a kernel moves that reads or writes every array once."""
    size = sum(array.nbytes() for array in arrays)
    return Estimates(lds=size, mem=size)
