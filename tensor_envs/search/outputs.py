"""Outputs of networks: tensors of tinygrad, or arrays of PyTorch, JAX or NumPy, checked and written for the kernels."""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from tinygrad import dtypes

from tensor_envs._runtime.buffers import upload, write
from tensor_envs._runtime.devices import DeviceName
from tensor_envs._validate import shown
from tensor_envs.interop import from_numpy
from tensor_envs.search.simulation import NetworkOutput
from tensor_envs.state import State

# A function of a State to prior logits [B, A] and values [B] or [B, P], of one library
Evaluate = Callable[[State], tuple[Any, Any]]
LIBRARIES = {"tinygrad": ("tinygrad", "Tensor"), "PyTorch": ("torch", "Tensor"), "JAX": ("jax", "Array")}
LIBRARIES |= {"NumPy": ("numpy", "ndarray")}


def library_of(x: Any) -> str | None:
    """Return the library of an array; None for anything else. No library is imported."""
    for library, (module, name) in LIBRARIES.items():
        kind = getattr(sys.modules.get(module), name, None)
        if kind is not None and isinstance(x, kind):
            return library
    return None


class OutputForm(NamedTuple):
    """Form of all outputs of one `evaluate`."""

    library: str
    values: int  # per game: 1, or the number of players


def checked(output: Any, state: State, form: OutputForm | None = None) -> tuple[OutputForm, Any, Any]:
    """Check what `evaluate` returned for a batch.

    Args:
        output: what it returned.
        state: the games that it got.
        form: form of its first output; None if this is the first.

    Returns:
        The form, logits [B, A] and values [B] or [B, P].

    Raises:
        TypeError: anything but two arrays of a float dtype, of one library in all calls.
        ValueError: an array of another shape, a Tensor on another device than the games, and an array of PyTorch or JAX
            that requires grad or is not on the CPU.
    """
    pair: tuple[Any, Any] = output if isinstance(output, tuple) and len(output) == 2 else (None, None)
    library, other = map(library_of, pair)
    if library is None or library != other:
        raise TypeError(
            "evaluate must return a tuple of two arrays, logits and values, both of tinygrad, of PyTorch, of JAX or of "
            f"NumPy, got {shown(output)}"
        )
    if form is not None and library != form.library:
        raise TypeError(f"evaluate must return arrays of {form.library} as in its first call, got some of {library}")
    logits, values = pair
    env, batch = state.env, state.batch
    for name, x in (("logits", logits), ("values", values)):
        if not _is_float(library, x):
            raise TypeError(f"evaluate must return {name} of a float dtype, got {x.dtype}")
        _check_memory(library, name, x, state.device)
    shape = batch, env.num_actions
    if tuple(logits.shape) != shape:
        raise ValueError(f"evaluate must return logits [B, A] = {shape}, got {tuple(logits.shape)}")
    shapes: list[tuple[int, ...]] = [(batch, env.num_players)]
    if env.num_players == 1 or (env.num_players == 2 and env.spec.zero_sum):
        shapes.append((batch,))
    if form is not None:
        shapes = [shape for shape in shapes if math.prod(shape) == batch * form.values]
    if tuple(values.shape) not in shapes:
        allowed, first = " or ".join(map(str, shapes)), "" if form is None else " as in its first call"
        raise ValueError(f"evaluate must return values of shape {allowed}{first}, got {tuple(values.shape)}")
    return form or OutputForm(library, math.prod(values.shape) // batch), logits, values


def _is_float(library: str, x: Any) -> bool:
    if library == "PyTorch":
        return bool(x.is_floating_point())
    return dtypes.is_float(x.dtype) if library == "tinygrad" else "float" in x.dtype.name  # bfloat16 of JAX included


def _check_memory(library: str, name: str, x: Any, device: DeviceName) -> None:
    """Raise ValueError for a Tensor on another device, and for an array of PyTorch or JAX that NumPy cannot read."""
    if library == "tinygrad" and x.device not in (None, device):  # None: on every device
        raise ValueError(f"evaluate must return {name} on {device} as the games are, got {x.device}")
    if library == "PyTorch":
        if x.requires_grad:
            raise ValueError(f"evaluate must return {name} without grad: decorate it with @torch.inference_mode()")
        if x.device.type != "cpu" or x.layout is not sys.modules["torch"].strided:
            form = f"{x.layout} on {x.device}"
            raise ValueError(f"evaluate must return {name} strided and on cpu, got {form}: add .to_dense().cpu()")
    elif library == "JAX" and any(device.platform != "cpu" for device in x.devices()):
        places = ", ".join(sorted(map(str, x.devices())))
        raise ValueError(f"evaluate must return {name} on cpu, got {places}: pass them through jax.device_get")


class HostEvaluation:
    """Evaluation of a search's leaves by a function of PyTorch, JAX or NumPy.

    Args:
        evaluate: the function.
        leaves: what it gets; its buffers are overwritten in every simulation.

    Attributes:
        form: form of its outputs.
        output: buffers for the kernels of the search; on the CPU they share memory with `arrays`.

    Raises:
        TypeError, ValueError: as in `checked`; `evaluate` exports tensors or searches, and returns tensors of tinygrad.
    """

    def __init__(self, evaluate: Evaluate, leaves: State):
        env, batch = leaves.env, leaves.batch
        self.evaluate = evaluate
        names, layout = ("observation", "legal_action_mask"), leaves.buffers.layout
        written = env.engine.outputs(layout, names)
        self.observe = env.engine.bind_outputs(leaves.buffers, written)
        observation, mask = (env.engine.view(layout, written, name, by_lanes=False) for name in names)
        self.leaves = State(env, leaves.buffers, (observation, mask))
        self.observe()
        self.form, *_ = checked(evaluate(self.leaves), leaves)
        if self.form.library == "tinygrad":
            raise TypeError(
                "evaluate must return arrays of another library if it exports tensors or searches, got Tensors"
            )
        self.arrays = [np.zeros(batch * size, np.float32) for size in (env.num_actions, self.form.values)]
        self.shares = leaves.device == "CPU"
        make = from_numpy if self.shares else functools.partial(upload, device=leaves.device)
        self.output = NetworkOutput(*map(make, self.arrays))

    def __call__(self) -> None:
        """Evaluate the leaves that the last kernel wrote."""
        self.observe()
        _, *results = checked(self.evaluate(self.leaves), self.leaves, self.form)
        for array, buffer, x in zip(self.arrays, self.output, results, strict=True):
            # NumPy has no bfloat16, in which PyTorch's tensors may be
            array.reshape(x.shape)[:] = x.float() if self.form.library == "PyTorch" else x
            if not self.shares:
                write(buffer, array)
