"""`te.jit`: capture and replay of functions of States and Tensors, without the hazards of TinyJit.

Unlike TinyJit, it flattens containers such as a `State` into tensors and rebuilds them. It has a capture for each
combination of shapes, dtypes and devices, since a replay with other sizes would read out of bounds. Arguments may be
lazy tensors and views. Results are in new buffers, so that a later call does not overwrite them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from enum import Enum
from typing import Any, ParamSpec, TypeVar

import numpy as np
from tinygrad import Tensor
from tinygrad.dtype import DType
from tinygrad.helpers import TRAINING, GlobalCounters
from tinygrad.uop.ops import Ops

from tensor_envs._runtime.buffers import buffer_of
from tensor_envs._runtime.capture import CapturedFunction, NothingRecordedError, before_capture
from tensor_envs._runtime.context import LOCK, stays_lazy
from tensor_envs._runtime.launch import realize
from tensor_envs._runtime.launcher import base_of, get_or_create
from tensor_envs._runtime.pytree import DistinctLeaves, flatten, rebuild
from tensor_envs._validate import function as check_function

# Types of plain values in results. Another object could hold tensors, and a replay would return those of the capture.
PLAIN = (bool, int, float, complex, str, bytes, np.generic, DType, Enum, type(None))


P = ParamSpec("P")
R = TypeVar("R")


def jit(function: Callable[P, R]) -> Callable[P, R]:
    """Capture a function of States, Tensors and plain values (nested in tuples or lists) and replay its kernels.

    A signature is the structure, shapes, dtypes, devices and plain values of the arguments, and whether tinygrad
    trains. The first call for a signature runs the function, the second captures it, later ones replay it. Within the
    capture of another function, the function becomes a part of that capture.

    A replay runs no Python:

    - Tensors that the function closes over are those of the capture. Assign realised values to them instead of
      replacing them.
    - A plain value that differs in every call causes a capture in every call.
    - Objects that the function stores are those of its first run.
    - A returned argument is the same object. An argument that is lazy or a part of a buffer is copied first, so that an
      assignment to it has no effect outside.

    Args:
        function: the function to capture.

    Returns:
        A function of the same arguments and results, whose results stay valid. It raises TypeError for arguments or
        results of other types.

    Raises:
        TypeError: `function` is not callable.

    Examples:
        >>> env = te.make("tic_tac_toe")
        >>> step = te.jit(lambda state: env.reset(env.step(state, te.agents.uniform(state))))
        >>> state = env.init(64)
        >>> for _ in range(3):
        ...     state = step(state)
        >>> state.ply.tolist()[0]
        3
    """
    check_function("function", function)
    captures: dict[Any, _Capture] = {}

    @functools.wraps(function)
    def call(*arguments: P.args, **named: P.kwargs) -> R:
        if stays_lazy():
            return function(*arguments, **named)
        leaves = DistinctLeaves()
        structure = flatten((arguments, tuple(sorted(named.items()))), leaves, Hashable)
        signature = structure, bool(TRAINING), tuple((t.shape, t.dtype, t.device) for t in leaves.tensors)
        with LOCK:
            capture = get_or_create(captures, signature, lambda: _Capture(function, structure))
            result: R = capture(leaves.tensors)
        return result

    return call


class _Capture:
    """Capture of a function for one signature."""

    def __init__(self, function: Callable[..., Any], structure: Any):
        self.function = function
        self.structure = structure
        self.results: Any = None  # structure of the results, known after the first run
        self.idle = False  # whether the function runs no kernels, so that there is nothing to capture
        self.replay = CapturedFunction(self.flat)

    def flat(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        """Call the function with the tensors of its arguments, and return the tensors of its results.

        Arguments among the results are left out, since a replay would return those of the capture. Views of existing
        buffers are copied.
        """
        arguments, named = rebuild(self.structure, tensors)
        outputs = DistinctLeaves(tensors)
        inputs = {buffer_of(t) for t in tensors}
        self.results = flatten(self.function(*arguments, **dict(named)), outputs, PLAIN)

        def is_view(t: Tensor) -> bool:
            whole = buffer_of(t)
            return whole in inputs if whole is not None else base_of(t.uop).op is Ops.BUFFER

        return tuple(t.clone() if is_view(t) else t for t in outputs.tensors[len(tensors) :])

    def __call__(self, leaves: Sequence[Tensor]) -> Any:
        tensors = _buffers(leaves)
        if self.results is not None and not self.idle:
            # The function may run no kernel after all: kernels of another thread were counted in its first run.
            with suppress(NothingRecordedError):
                return rebuild(self.results, [*leaves, *self.replay.call(*tensors)])
        before = GlobalCounters.kernel_count
        with before_capture():
            outputs = self.flat(*tensors)
            if outputs:
                realize(*outputs)
            # The kernels of states that the function stores run after this block, so they do not count.
            self.idle = GlobalCounters.kernel_count == before
        return rebuild(self.results, [*leaves, *outputs])


def _buffers(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Return tensors that are whole buffers, each a different one; copy those that are not."""
    whole = []
    used = set()
    for t in tensors:
        buffer = buffer_of(t)
        if buffer is None or buffer in used:
            t = realize(t.clone())
            buffer = buffer_of(t)
        used.add(buffer)
        whole.append(t)
    return whole
