"""A network's kernels on the CPU: one program evaluates all layers, another one computes the gradients of all weights.

A slice of a program is a block of rows, whose features stay in the caches of one core. The sum of products of every
number has one order, so that results depend neither on the number of threads nor, except for gradients of weights, on
the other rows.
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

MAX_GROUPS = 8  # groups of rows with partial sums of the gradients
GROUP_ROWS = 128  # fewest rows of a group
MAX_STACK = 2**19  # floats on a thread's stack


def is_fused(architecture: Architecture, observation: Tensor) -> bool:
    """Return whether a network's evaluation of these observations, and its gradient, are kernels of this module."""
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
    """Return the outputs of the heads, lazy: [B, A] of the first head, [B] of all others, which have one unit.

    There is no gradient with respect to observations.

    Args:
        architecture: the sizes.
        observation: bool, uint8 or float32 [B, inputs].
        mask: legal actions, bool [B, A]; None: all are.
        weights: for each layer a matrix [inputs, outputs] and a bias [outputs], float32.
        keep: whether features are kept for the gradient, which computes them otherwise.
    """
    device = str(device_of(observation))
    batch = int(observation.shape[0])
    blocks = -(-batch // architecture.rows)
    fixed = [observation.detach(), *([] if mask is None else [mask.detach()])]
    widths = architecture.heads
    shapes = [(batch, widths[0]), *[(batch,)] * (len(widths) - 1)]  # of the outputs

    # Each call has outputs of its own, since tinygrad may hold them as long as it likes.
    def run(keep: bool) -> list[Tensor]:
        outputs = [empty_buffer(math.prod(s), dtypes.float32, device).reshape(s) for s in shapes]
        if keep:
            outputs.append(empty_buffer(batch * architecture.features[-1], dtypes.float32, device))
        program = _program(Forward(architecture, mask is not None, keep), observation.dtype, device)
        head = [all_blocks(blocks, device), cached_upload((batch,), device), *fixed]
        arrays = [*head, *weights, *outputs]
        results = lazy_program(program(), arrays, functools.partial(gradient, len(head)))
        return results[len(head) + len(weights) :]

    def gradient(before: int, *gradients: UOp, call: UOp | None = None) -> tuple[UOp | None, ...]:
        """Return the gradients of the arguments of a call that are weights."""
        if call is None:  # tinygrad's way to pass one gradient
            *gradients, call = gradients  # type: ignore[assignment]
        wanted = complete_gradients(gradients, shapes, device)
        assert call is not None
        # Without kept features, as after a search, the forward kernel runs again.
        outputs = [Tensor(u.after(call)) for u in call.src[1 + before + len(weights) :]]
        logs = outputs[0]
        features = outputs[-1] if keep else run(keep=True)[-1]
        # Threads sum over groups of rows. Their number depends on the batch alone, so that results do not depend on
        # the number of threads.
        groups = max(1, min(MAX_GROUPS, batch // GROUP_ROWS))
        rows = -(-batch // groups)
        size = architecture.offsets[-1]
        partial = empty_buffer(groups * size, dtypes.float32, device)
        transposed = [w.detach().T.contiguous() for w in weights[2::2]]
        program = _program(Backward(architecture, mask is not None), observation.dtype, device)
        head = [all_blocks(groups, device), cached_upload((batch, rows), device), *fixed]
        arrays = [*head, features.detach(), logs.detach(), *(g.detach() for g in wanted), *transposed, partial]
        total = lazy_program(program(), arrays)[-1].reshape(groups, size).sum(0).contiguous()
        # The total holds each matrix, and its bias behind it.
        parts = []
        for matrix, (inputs, units) in zip(architecture.offsets, architecture.shapes, strict=False):
            bias = matrix + inputs * units
            parts += [total[matrix:bias].reshape(inputs, units).uop, total[bias : bias + units].uop]
        return (*[None] * before, *parts, *[None] * len(outputs))

    return run(keep)[: len(shapes)]


def complete_gradients(gradients: Sequence[UOp], shapes: Sequence[tuple[int, ...]], device: str) -> list[Tensor]:
    """Return the gradient of every output: zeros for one that nothing uses, for which tinygrad passes none."""
    passed = iter([Tensor(g) for g in gradients])
    complete = len(gradients) == len(shapes)
    # only the first of several outputs has two axes
    return [
        next(passed) if complete or len(s) == gradients[0].ndim else Tensor.zeros(*s, device=device).contiguous()
        for s in shapes
    ]


@functools.lru_cache(64)
def _program(kernel: Forward | Backward, dtype: DType, device: str) -> ProgramFuture:
    """Return the program of a kernel for observations of a dtype; it serves any number of rows."""
    source, types, written = kernel.source(dtype)
    return compile_source(kernel.name, source, opened(device).renderer, types, written)
