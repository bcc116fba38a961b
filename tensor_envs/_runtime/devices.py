"""Device names, the tinygrad devices they stand for, and tinygrad's settings while it compiles."""

from __future__ import annotations

import functools
import os
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

from tinygrad import Device
from tinygrad.helpers import CACHEDB, CACHELEVEL, Context, diskcache_get, diskcache_put

from tensor_envs._runtime import private_memory
from tensor_envs._runtime.clang import compilers_in_environment
from tensor_envs._runtime.context import LOCK, allow_devices
from tensor_envs._runtime.cuda import is_cuda, open_card, tinygrad_operation

DeviceName = str | tuple[str, ...]
T = TypeVar("T")
_PROCESS = os.getpid()


@functools.cache
def opened(name: str) -> Any:
    """Return a tinygrad device, opened, with its renderer chosen."""

    def open_with_renderer() -> Any:
        device = Device[name]
        device.renderer  # noqa: B018 (this property looks for a compiler)
        return device

    # tinygrad chooses a device's compiler while it opens the device, so CC and NVRTC_PATH must be set by then.
    with LOCK, compilers_in_environment():
        opening = partial(retry_without_cache, open_with_renderer)
        device = open_card(name, opening) if is_cuda(name) else opening()
    if is_cpu(name):
        private_memory.keep_in_forks(device.allocator)
    return device


def is_cpu(device: str) -> bool:
    """Return whether a device is one of tinygrad's CPU devices."""
    return device.split(":")[0] == "CPU"


@functools.cache  # the lookup of a renderer takes as long as a small kernel
def is_gpu(device: DeviceName) -> bool:
    """Return whether kernels on this device run as workgroups of threads."""
    return bool(opened(primary(device)).renderer.has_local)


def primary(device: DeviceName) -> str:
    """Return the first device of a tuple, or a single device itself."""
    return device if isinstance(device, str) else device[0]


@contextmanager
def compiling_in_process() -> Iterator[None]:
    """Have tinygrad compile its own kernels in this process, and use its kernel cache only where that is safe.

    Starting compile processes takes longer than compiling most graphs. The cache is an SQLite connection, which works
    only in one thread of one process.
    """
    main = threading.current_thread() is threading.main_thread() and os.getpid() == _PROCESS
    with LOCK, tinygrad_operation(), Context(PARALLEL=0, CACHELEVEL=CACHELEVEL.value if main and _cache_works() else 0):  # type: ignore[no-untyped-call]
        allow_devices()
        yield


@functools.cache
def _cache_works() -> bool:
    """Return whether tinygrad's kernel cache can be written and read."""
    try:
        # A full or locked disk can often still be read, so this writes first.
        diskcache_put("tensor_envs", "works", True)  # type: ignore[no-untyped-call]
        diskcache_get("tensor_envs", "works")
    except Exception as error:  # a locked or full disk, a damaged file
        message = f"tinygrad's kernels are compiled anew, since its cache {CACHEDB} fails: {error}"
        warnings.warn(message, RuntimeWarning, stacklevel=2)
        CACHELEVEL.value = 0  # for the whole process, since a caller's own Tensors would fail, too
        return False
    return True


def retry_without_cache(action: Callable[[], T]) -> T:
    """Return the result of an action in which tinygrad may compile. If it fails, repeat it without the cache."""
    with compiling_in_process():
        try:
            return action()
        except Exception:
            if not CACHELEVEL:
                raise
        with Context(CACHELEVEL=0):  # type: ignore[no-untyped-call]
            return action()
