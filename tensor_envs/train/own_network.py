"""Networks of other libraries: their names in files, and a check of what they return."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import numpy as np

from tensor_envs._runtime.opening import open_device
from tensor_envs._validate import shown

if TYPE_CHECKING:
    from tensor_envs._runtime.devices import DeviceName
    from tensor_envs.envs.env import Env

CHECKED = 3  # games with which a network is tried


def first_device(device: DeviceName | None) -> str:
    """Open the device of games, or the devices that share them, and return the name of the first."""
    opened = open_device(device)
    return opened if isinstance(opened, str) else opened[0]


def imported(name: str) -> Any:
    """Return what "package.module:Name" names. ValueError, which says why, if there is nothing."""
    module, _, attribute = name.partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(f"network must be named as package.module:Name, got {name!r}: {error}") from None


def check_output(env: Env, output: Any, kind: type) -> None:
    """Check what a network of another library returns for `CHECKED` games.

    Args:
        env: the environment.
        output: what it returned.
        kind: type of the library's arrays.

    Raises:
        TypeError: anything but a tuple of two arrays of a float dtype, logits and values.
        ValueError: arrays of other shapes, or with numbers that are not finite.
    """
    if not (isinstance(output, tuple) and len(output) == 2 and all(isinstance(x, kind) for x in output)):
        name = f"{kind.__module__}.{kind.__name__}"
        raise TypeError(f"network must return a tuple of two {name}, logits and values, got {shown(output)}")
    shapes = {"logits [B, A]": (CHECKED, env.num_actions), "values [B]": (CHECKED,)}
    for (name, shape), array in zip(shapes.items(), output, strict=True):
        if tuple(array.shape) != shape:
            raise ValueError(f"network must return {name} = {shape}, got {tuple(array.shape)}")
        if "float" not in str(array.dtype):
            raise TypeError(f"network must return {name} of a float dtype, got {array.dtype}")
        values = array.tolist()
        if not np.isfinite(values).all():
            raise ValueError(f"network must return {name} that are finite, got {shown(values)}")
