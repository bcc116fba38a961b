"""Flattening of nested values into tensors, and the way back; like `jax.tree_util`."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from tinygrad import Tensor
from tinygrad.uop.ops import UOp


class Leaves:
    """Tensors of nested values, in order."""

    def __init__(self) -> None:
        self.tensors: list[Tensor] = []

    def add(self, tensor: Tensor) -> int:
        """Add a tensor and return its position."""
        self.tensors.append(tensor)
        return len(self.tensors) - 1


class DistinctLeaves(Leaves):
    """Tensors of nested values, in order; tensors with the same UOp share a leaf."""

    def __init__(self, tensors: Sequence[Tensor] = ()):
        super().__init__()
        self._indices: dict[UOp, int] = {}
        for tensor in tensors:
            self.add(tensor)

    def add(self, tensor: Tensor) -> int:
        if tensor.uop not in self._indices:
            self._indices[tensor.uop] = super().add(tensor)
        return self._indices[tensor.uop]


def flatten(value: Any, leaves: Leaves, static: Any) -> Any:
    """Add the tensors of a value to `leaves` and return its structure.

    Args:
        value: a Tensor, an object with `__flatten__` (a State), or a static value, nested in tuples or lists.
        leaves: the tensors so far.
        static: type, or tuple of types, of the static values; `Hashable` for the arguments of a jitted function.

    Returns:
        A hashable structure for `rebuild`. Values with equal structures differ only in their tensors.

    Raises:
        TypeError: a value of another type.
    """
    if isinstance(value, Tensor):
        return leaves.add(value)
    if isinstance(value, (tuple, list)):
        return "items", type(value), *[flatten(item, leaves, static) for item in value]
    if hasattr(value, "__flatten__"):
        metadata, tensors = value.__flatten__()
        return "object", type(value), metadata, flatten(tensors, leaves, static)
    if static is Hashable and isinstance(value, np.generic):  # a NumPy scalar and the Python number share a capture
        value = value.item()
    if not isinstance(value, static) or hasattr(value, "__dlpack__"):  # an array of another library is mutable
        kind = type(value).__name__
        raise TypeError(
            f"a jitted function takes and returns States, Tensors, tuples, lists and plain values, got {kind}"
        )
    return "static", type(value), value, repr(value) if isinstance(value, (float, complex)) else ""  # -0.0 equals 0.0


def flatten_arrays(arrays: tuple[Any, ...]) -> tuple[Any, list[Tensor]]:
    """Return the structure of a kernel's arrays, nested tuples of Tensors and None, and the Tensors in order."""
    leaves = Leaves()
    return flatten(arrays, leaves, type(None)), leaves.tensors


def rebuild(structure: Any, tensors: Sequence[Any]) -> Any:
    """Return a value of a structure with the given leaves."""
    if type(structure) is int:
        return tensors[structure]
    kind, *rest = structure
    if kind == "static":
        return rest[1]
    if kind == "object":
        return rest[0].__unflatten__(rest[1], rebuild(rest[2], tensors))
    items = [rebuild(item, tensors) for item in rest[1:]]
    return rest[0](*items) if hasattr(rest[0], "_fields") else rest[0](items)
