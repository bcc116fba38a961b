"""Names of devices, and tinygrad's devices behind them."""

from __future__ import annotations

import functools
from typing import Any

from tinygrad import Device

from tensor_envs._runtime import private_memory
from tensor_envs._runtime.clang import named_to_tinygrad
from tensor_envs._runtime.context import LOCK, uncached_on_failure

DeviceName = str | tuple[str, ...]


@functools.cache
def opened(name: str) -> Any:
    """Return a device of tinygrad's, which has chosen its renderer."""

    def chosen() -> Any:
        device = Device[name]
        device.renderer  # noqa: B018 (a property that looks for compilers)
        return device

    with LOCK, named_to_tinygrad():
        device = uncached_on_failure(chosen)
    if is_cpu(name):
        private_memory.keep_in_forks(device.allocator)
    return device


def is_cpu(device: str) -> bool:
    """Return whether a device is one of tinygrad's CPU devices."""
    return device.split(":")[0] == "CPU"


@functools.cache  # asking a renderer takes as long as a small kernel
def is_gpu(device: DeviceName) -> bool:
    """Return whether kernels on this device run as workgroups of threads."""
    return bool(Device[primary(device)].renderer.has_local)


def primary(device: DeviceName) -> str:
    """Return the first of the devices."""
    return device if isinstance(device, str) else device[0]
