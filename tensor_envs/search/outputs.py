"""Outputs of networks, checked and passed to the kernels: tinygrad Tensors, or arrays of PyTorch, JAX or NumPy."""

from __future__ import annotations

import functools
import math
import operator
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from tinygrad import dtypes

from tensor_envs._runtime.buffers import address_of, upload, write
from tensor_envs._runtime.cuda import before_stream, card_of, copy, is_cuda, on_card
from tensor_envs._runtime.devices import DeviceName
from tensor_envs._runtime.dlpack import Imported
from tensor_envs._runtime.exchange import card_array, from_numpy, keep_exports, to_numpy, torch_stream
from tensor_envs._runtime.launcher import Launch
from tensor_envs._validate import shown
from tensor_envs.envs.state import State
from tensor_envs.search.memory import NetworkOutput

# Function from a State to prior logits [B, A] and values [B] or [B, P], arrays of one library.
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


# attributes that `checked` depends on; not every library's arrays have all of them
ATTRIBUTES = ("shape", "dtype", "device", "layout", "requires_grad")


class OutputForm(NamedTuple):
    """Form of all outputs of one `evaluate`."""

    library: str
    values: int  # per game: 1, or the number of players


def checked(output: Any, state: State, form: OutputForm | None = None) -> tuple[OutputForm, Any, Any]:
    """Check what `evaluate` returned for a batch.

    Args:
        output: the returned value.
        state: the games that were passed to `evaluate`.
        form: form of its first output; None for the first output itself.

    Returns:
        The form, logits [B, A] and values [B] or [B, P].

    Raises:
        TypeError: anything but two arrays of a float dtype, of one library in all calls.
        ValueError: an array of another shape, a Tensor on another device than the games, and an array of PyTorch or JAX
            that requires grad, or is neither on the CPU nor on the card of the games.
    """
    pair: tuple[Any, Any] = output if isinstance(output, tuple) and len(output) == 2 else (None, None)
    # All calls must return arrays of one library, which decides how the search gets at their memory.
    library, other = map(library_of, pair)
    if library is None or library != other:
        raise TypeError(
            "evaluate must return a tuple of two arrays, logits and values, both of tinygrad, of PyTorch, of JAX or of "
            f"NumPy, got {shown(output)}"
        )
    if form is not None and library != form.library:
        raise TypeError(f"evaluate must return arrays of {form.library} as in its first call, got some of {library}")
    logits, values = pair
    env = state.env
    batch = state.batch
    for name, x in (("logits", logits), ("values", values)):
        if not _is_float(library, x):
            raise TypeError(f"evaluate must return {name} of a float dtype, got {x.dtype}")
        _check_memory(library, name, x, state.device)
    shape = batch, env.num_actions
    if tuple(logits.shape) != shape:
        raise ValueError(f"evaluate must return logits [B, A] = {shape}, got {tuple(logits.shape)}")
    # One value per game is enough if those of the other players follow from it.
    shapes: list[tuple[int, ...]] = [(batch, env.num_players)]
    if env.num_players == 1 or (env.num_players == 2 and env.spec.zero_sum):
        shapes.append((batch,))
    # The kernels are compiled for the number of values of the first call.
    if form is not None:
        shapes = [shape for shape in shapes if math.prod(shape) == batch * form.values]
    if tuple(values.shape) not in shapes:
        allowed = " or ".join(map(str, shapes))
        first = "" if form is None else " as in its first call"
        raise ValueError(f"evaluate must return values of shape {allowed}{first}, got {tuple(values.shape)}")
    return form or OutputForm(library, math.prod(values.shape) // batch), logits, values


def _is_float(library: str, x: Any) -> bool:
    if library == "PyTorch":
        return bool(x.is_floating_point())
    return dtypes.is_float(x.dtype) if library == "tinygrad" else "float" in x.dtype.name  # bfloat16 of JAX included


def _check_memory(library: str, name: str, x: Any, device: DeviceName) -> None:
    """Raise ValueError for an array whose memory the search cannot read or copy."""
    if library == "tinygrad" and x.device not in (None, device):  # None: on every device
        raise ValueError(f"evaluate must return {name} on {device} as the games are, got {x.device}")
    if library == "PyTorch":
        if x.requires_grad:
            raise ValueError(f"evaluate must return {name} without grad: decorate it with @torch.inference_mode()")
        if x.layout is not sys.modules["torch"].strided or (x.device.type != "cpu" and not _is_on_card(x, device)):
            form = f"{x.layout} on {x.device}"
            allowed = "cpu or the games' card" if is_cuda(device) else "cpu"
            raise ValueError(f"evaluate must return {name} strided and on {allowed}, got {form}: add .to_dense().cpu()")
    elif library == "JAX" and any(d.platform != "cpu" for d in x.devices()) and not _is_on_card(x, device):
        devices = ", ".join(sorted(map(str, x.devices())))
        allowed = "cpu or the games' card" if is_cuda(device) else "cpu"
        raise ValueError(f"evaluate must return {name} on {allowed}, got {devices}: pass them through jax.device_get")


def _is_on_card(x: Any, device: DeviceName) -> bool:
    """Return whether another library's array is on the card of the games."""
    return is_cuda(device) and on_card(x) and x.__dlpack_device__()[1] == card_of(str(device))


def host_array_of(library: str, x: Any) -> Any:
    """Return an array of a library in a form that NumPy can read: on the host, and not in bfloat16."""
    if library == "tinygrad":
        return to_numpy(x.cast(dtypes.float32))
    return x.float().cpu() if library == "PyTorch" else x


class ArrayForm:
    """Type and attributes of a checked array. An array of the same form needs no check."""

    def __init__(self, array: Any):
        self.type = type(array)
        self.read = operator.attrgetter(*(name for name in ATTRIBUTES if hasattr(array, name)))
        self.attributes = self.read(array)

    def fits(self, array: Any) -> bool:
        """Return whether an array has this form."""
        return type(array) is self.type and self.read(array) == self.attributes


class HostEvaluation:
    """Evaluation of a search's leaves by a function that no jit can capture: of PyTorch, JAX, NumPy, or mixed.

    For games on a card, functions of PyTorch and JAX may work on the card. Arrays on the CPU are copied to it.

    Args:
        evaluate: the function.
        leaves: the state that is passed to it, whose buffers are overwritten in every simulation.
        workgroups: number of workgroups that write a block's observations, see `BlockGrid`.

    Attributes:
        form: form of its outputs.
        output: buffers for the kernels of the search; on the CPU they share memory with `arrays`.

    Raises:
        TypeError, ValueError: as in `checked`.
    """

    def __init__(self, evaluate: Evaluate, leaves: State, workgroups: int = 1):
        env = leaves.env
        layout = leaves.buffers.layout
        self.evaluate = evaluate
        names = ("observation", "legal_action_mask")
        written = env.engine.outputs(layout, names)
        spread = replace(layout, grid=replace(layout.grid, workgroups=workgroups))
        self.observe = env.engine.bind_outputs(leaves.buffers._replace(layout=spread), written)
        observation, mask = (env.engine.view(layout, written, name, by_lanes=False) for name in names)
        self.leaves = State(env, leaves.buffers, (keep_exports(observation), keep_exports(mask)))
        self.observe()
        output = evaluate(self.leaves)
        self.form, *_ = checked(output, leaves)
        self.forms = [ArrayForm(x) for x in output]
        self.arrays = [np.zeros(leaves.batch * size, np.float32) for size in (env.num_actions, self.form.values)]
        self.shaped = [array.reshape(x.shape) for array, x in zip(self.arrays, output, strict=True)]
        self.shares = leaves.device == "CPU"
        make = from_numpy if self.shares else functools.partial(upload, device=leaves.device)
        self.output = NetworkOutput(*map(make, self.arrays))
        self.passed: list[Any] = []  # memory that the latest launch of `pass_to` reads

    def __call__(self) -> None:
        """Evaluate the leaves that the last kernel wrote, and write the outputs to the buffers."""
        for number, x in enumerate(self._evaluated()):
            self._write(number, x)

    def pass_to(self, launch: Launch) -> None:
        """Evaluate the leaves, and launch a kernel that reads the outputs in place if it can.

        The device is one for which `takes_external_memory` is true. A copy of the logits of many actions takes longer
        than the kernel, which reads those of legal actions alone. On a card any copy takes as long as a small kernel.
        """
        addresses = []
        owners = []  # objects that own the memory: they must outlive the launch
        for number, x in enumerate(self._evaluated()):
            address, owner = self._in_place(number, x)
            addresses.append(address)
            owners.append(owner)
        launch(*addresses)
        for owner in owners:
            if isinstance(owner, Imported):
                owner.keep_until_done()
        self.passed = owners

    def _in_place(self, number: int, x: Any) -> tuple[int, Any]:
        """Return the address of the logits (0) or the values (1), and their owner; copy them if they must be."""
        if is_cuda(self.leaves.device) and on_card(x):
            memory = card_array(x, dtypes.float32)
            return memory.address, memory
        if self.shares:
            array = np.asarray(host_array_of(self.form.library, x))
            if array.dtype == np.float32 and array.flags.c_contiguous and array.flags.aligned:
                return array.ctypes.data, array
        self._write(number, x)
        return address_of(self.output[number]), self.output[number]

    def _evaluated(self) -> tuple[Any, Any]:
        """Return the logits and values of the leaves, checked."""
        self.observe()
        device = self.leaves.device
        if is_cuda(device) and self.form.library == "PyTorch":
            # PyTorch uses an earlier export of the leaves, so its stream must wait for the kernels since then.
            before_stream(str(device), torch_stream(str(device)))
        output = self.evaluate(self.leaves)
        # A full check takes longer than the kernel of a small batch.
        is_pair = isinstance(output, tuple) and len(output) == 2
        if not is_pair or not all(form.fits(x) for form, x in zip(self.forms, output, strict=True)):
            checked(output, self.leaves, self.form)
        return output

    def _write(self, number: int, x: Any) -> None:
        """Write the logits (0) or the values (1) into their buffer."""
        array = self.arrays[number]
        buffer = self.output[number]
        if is_cuda(self.leaves.device) and on_card(x):
            memory = card_array(x, dtypes.float32)
            copy(memory.device, address_of(buffer), memory.address, array.nbytes)
            memory.keep_until_done()
            return
        shaped = self.shaped[number]
        shaped[:] = np.asarray(host_array_of(self.form.library, x)).reshape(shaped.shape)
        if not self.shares:
            write(buffer, array)
