"""Kernels in WGSL, for a browser's GPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tinygrad import UOp
from tinygrad.dtype import DType
from tinygrad.helpers import Target
from tinygrad.renderer import Estimates
from tinygrad.renderer.wgsl import WGSLRenderer
from tinygrad.uop.ops import Ops

from tensor_envs.core.backend.launch import program_of


def wgsl_of(
    name: str, body: Callable[..., UOp], arrays: Sequence[tuple[DType, int]]
) -> tuple[dict[str, Any], list[int]]:
    """A kernel of arrays of these dtypes and lengths, as WebGPU takes it, and which of them it takes, in order."""
    parameters = [UOp.placeholder((length,), dtype, k) for k, (dtype, length) in enumerate(arrays)]
    renderer = WGSLRenderer(Target("WEBGPU"))
    program, used = program_of(name, body, parameters, renderer, estimates=lambda _: Estimates())()
    (source,) = (part.arg for part in program.src if part.op is Ops.SOURCE)
    return {
        "source": source,
        "entryPoint": program.arg.function_name,
        "groups": program.arg.global_size,
    }, used
