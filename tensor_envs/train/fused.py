"""Kernels of a network on the CPU: one program evaluates all layers, another computes the gradients of all weights.

A thread evaluates one block of rows after another, so that the features of a block stay in the caches of its core.
Products are summed in a fixed order, so that results do not depend on the number of threads. Outputs of a row do not
depend on the other rows, either.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

from tinygrad import Tensor, UOp, dtypes
from tinygrad.dtype import DType

from tensor_envs._runtime.buffers import cached_upload, device_of, empty_buffer
from tensor_envs._runtime.devices import opened
from tensor_envs._runtime.launch import lazy_program
from tensor_envs._runtime.programs import ProgramFuture, compile_source
from tensor_envs._runtime.threads import all_blocks, runs_natively
from tensor_envs.train.architecture import Architecture
from tensor_envs.train.fused_source import TYPES, Backward, Forward

MAX_GROUPS = 8  # upper bound for the groups of rows, each of which has partial sums of the gradients
GROUP_ROWS = 128  # lower bound for the rows of a group, if there are several
MAX_STACK = 2**19  # upper bound for the floats on a thread's stack


def is_fused(architecture: Architecture, observation: Tensor) -> bool:
    """Return whether the kernels of this module can evaluate a network on these observations."""
    device = observation.device
    return (
        isinstance(device, str)
        and runs_natively(device)
        and observation.dtype in TYPES
        and architecture.stack <= MAX_STACK
    )


def evaluate(
    architecture: Architecture, observation: Tensor, mask: Tensor | None, weights: Sequence[Tensor], keep: bool
) -> list[Tensor]:
    """Return the lazy outputs of the heads: log-probabilities [B, A] of the first, and [B] of each further head.

    Only weights have gradients, not observations.

    Args:
        architecture: sizes of the network.
        observation: bool, uint8 or float32 [B, inputs].
        mask: legal actions, bool [B, A]; None: all are legal.
        weights: for each layer a matrix [inputs, outputs] and a bias [outputs], float32.
        keep: whether to keep the features of all layers for the gradient, which otherwise computes them again.
    """
    device = str(device_of(observation))
    batch = int(observation.shape[0])
    blocks = -(-batch // architecture.rows)
    fixed = [observation.detach(), *([] if mask is None else [mask.detach()])]
    widths = architecture.heads
    shapes = [(batch, widths[0]), *[(batch,)] * (len(widths) - 1)]  # of the outputs

    def run(keep: bool) -> list[Tensor]:
        """Return the outputs of the forward kernel, followed by the features if they are kept."""
        # Each call has outputs of its own, since tinygrad may keep and read them at any later time.
        outputs = [empty_buffer(math.prod(s), dtypes.float32, device).reshape(s) for s in shapes]
        if keep:
            outputs.append(empty_buffer(batch * architecture.features[-1], dtypes.float32, device))
        program = _program(Forward(architecture, mask is not None, keep), observation.dtype, device)
        head = [all_blocks(blocks, device), cached_upload((batch,), device), *fixed]
        arrays = [*head, *weights, *outputs]
        results = lazy_program(program(), arrays, functools.partial(gradient, len(head)))
        return results[len(head) + len(weights) :]

    def gradient(before: int, *gradients: UOp, call: UOp | None = None) -> tuple[UOp | None, ...]:
        """Return the gradients of the arguments of a call: None for the first `before`, then those of the weights."""
        # tinygrad passes a single gradient and the call as two positional arguments.
        if call is None:
            *gradients, call = gradients  # type: ignore[assignment]
        of_outputs = complete_gradients(gradients, shapes, device)
        assert call is not None
        # If the features were not kept, the forward kernel computes them again.
        outputs = [Tensor(u.after(call)) for u in call.src[1 + before + len(weights) :]]
        logs = outputs[0]
        features = outputs[-1] if keep else run(keep=True)[-1]
        # Each thread sums the gradients of whole groups of rows. The number of groups depends only on the batch, so the
        # order of sums does not depend on the number of threads.
        groups = max(1, min(MAX_GROUPS, batch // GROUP_ROWS))
        rows = -(-batch // groups)
        size = architecture.offsets[-1]
        partial = empty_buffer(groups * size, dtypes.float32, device)
        transposed = [w.detach().T.contiguous() for w in weights[2::2]]
        program = _program(Backward(architecture, mask is not None), observation.dtype, device)
        head = [all_blocks(groups, device), cached_upload((batch, rows), device), *fixed]
        arrays = [*head, features.detach(), logs.detach(), *(g.detach() for g in of_outputs), *transposed, partial]
        total = lazy_program(program(), arrays)[-1].reshape(groups, size).sum(0).contiguous()
        # The total has the gradients of each layer: those of the matrix, then those of the bias.
        parts = []
        for matrix, (inputs, units) in zip(architecture.offsets, architecture.shapes, strict=False):
            bias = matrix + inputs * units
            parts += [total[matrix:bias].reshape(inputs, units).uop, total[bias : bias + units].uop]
        return (*[None] * before, *parts, *[None] * len(outputs))

    return run(keep)[: len(shapes)]


def complete_gradients(gradients: Sequence[UOp], shapes: Sequence[tuple[int, ...]], device: str) -> list[Tensor]:
    """Return the gradients of all outputs; an unused output, for which tinygrad passes no gradient, has zeros."""
    # A missing gradient is found by its axes, since only the first output has two.
    passed = iter([Tensor(g) for g in gradients])
    complete = len(gradients) == len(shapes)
    return [
        next(passed) if complete or len(s) == gradients[0].ndim else Tensor.zeros(*s, device=device).contiguous()
        for s in shapes
    ]


@functools.lru_cache(64)
def _program(kernel: Forward | Backward, dtype: DType, device: str) -> ProgramFuture:
    """Return the program of a kernel for observations of a dtype and any number of rows."""
    source, types, written = kernel.source(dtype)
    return compile_source(kernel.name, source, opened(device).renderer, types, written)
