"""State that threads share: the lock, tinygrad's settings while it compiles, and its captures."""

from __future__ import annotations

import functools
import os
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from tinygrad import Tensor
from tinygrad.engine import realize
from tinygrad.helpers import CACHEDB, CACHELEVEL, Context, diskcache_get, diskcache_put

T = TypeVar("T")

# guards what threads share: tinygrad's settings, captures, and buffers between kernels. A call takes it once.
LOCK = threading.RLock()
if hasattr(os, "register_at_fork"):  # a forked process has no thread that would release it
    os.register_at_fork(before=LOCK.acquire, after_in_parent=LOCK.release, after_in_child=LOCK.release)
_PROCESS = os.getpid()
_before_captures: list[tuple[int, list[Tensor]]] = []  # for each run, its thread and the tensors to realise at its end


@contextmanager
def compiling_in_process() -> Iterator[None]:
    """Have tinygrad compile kernels of its own in this process, and without its cache where that fails.

    To start its compile processes takes longer than most graphs need. Its cache is an SQLite connection, which belongs
    to one thread of one process.
    """
    main = threading.current_thread() is threading.main_thread() and os.getpid() == _PROCESS
    with LOCK, Context(PARALLEL=0, CACHELEVEL=CACHELEVEL.value if main and _cache_works() else 0):  # type: ignore[no-untyped-call]
        yield


@functools.cache
def _cache_works() -> bool:
    """Return whether tinygrad's kernel cache can be written and read."""
    try:
        diskcache_put("tensor_envs", "works", True)  # type: ignore[no-untyped-call]
        diskcache_get("tensor_envs", "works")
    except Exception as error:  # a locked or full disk, a damaged file
        message = f"tinygrad's kernels are compiled anew, since its cache {CACHEDB} fails: {error}"
        warnings.warn(message, RuntimeWarning, stacklevel=2)
        CACHELEVEL.value = 0  # for what callers do with Tensors, too
        return False
    return True


def uncached_on_failure(action: Callable[[], T]) -> T:
    """Return the result of an action in which tinygrad compiles; repeat it without the cache if it fails."""
    with compiling_in_process():
        try:
            return action()
        except Exception:
            if not CACHELEVEL:
                raise
        with Context(CACHELEVEL=0):  # type: ignore[no-untyped-call]
            return action()


def is_capturing() -> bool:
    """Return whether a TinyJit is capturing in this thread, so that no value can be read now."""
    return bool(realize.capturing) and any(_is_here(getattr(jit, "thread", None)) for jit in realize.capturing)


def stays_lazy() -> bool:
    """Return whether calls become nodes of a graph now: that of a capture, or of the run before it."""
    return is_capturing() or (bool(_before_captures) and any(_is_here(thread) for thread, _ in _before_captures))


def _is_here(thread: int | None) -> bool:
    """Return whether a capture is this thread's; that of a user's TinyJit has no thread.

    A capture and its thread are read as one: the thread of another capture might be gone when it is compared.
    """
    return thread in (None, threading.get_ident())


@contextmanager
def before_capture() -> Iterator[None]:
    """Run a function with the kernels of its later capture, so that they are compiled once.

    At the end all states that it made are realised, since it may keep one that none of its results needs.
    """
    with compiling_in_process():
        _before_captures.append((threading.get_ident(), []))
        try:
            yield
        finally:
            _, made = _before_captures.pop()
            if made:
                Tensor.realize(*made)


def keep_valid(*buffers: Tensor) -> None:
    """Realise buffers at the end of the run before a capture, if this is one."""
    for thread, made in _before_captures[-1:]:
        if _is_here(thread):
            made.extend(buffers)
