"""State that threads share: the lock, and tinygrad's captures."""

from __future__ import annotations

import os
import threading

from tinygrad import Tensor
from tinygrad.engine import realize
from tinygrad.helpers import ALLOW_DEVICE_USAGE

# guards what threads share: tinygrad's settings, captures, and buffers between kernels. A call takes it once.
LOCK = threading.RLock()
if hasattr(os, "register_at_fork"):  # a forked process has no thread that would release it
    os.register_at_fork(before=LOCK.acquire, after_in_parent=LOCK.release, after_in_child=LOCK.release)
before_captures: list[tuple[int, list[Tensor]]] = []  # for each run, its thread and the tensors to realise at its end


def allow_devices() -> None:
    """Allow tinygrad to use devices.

    It forbids that to all threads while one of them compiles. The second of two such threads restores what it found,
    so that devices would stay forbidden.
    """
    ALLOW_DEVICE_USAGE.value = 1


def is_capturing() -> bool:
    """Return whether a TinyJit is capturing in this thread, so that no value can be read now."""
    return bool(realize.capturing) and any(_is_here(getattr(jit, "thread", None)) for jit in realize.capturing)


def stays_lazy() -> bool:
    """Return whether calls become nodes of a graph now: that of a capture, or of the run before it."""
    return is_capturing() or (bool(before_captures) and any(_is_here(thread) for thread, _ in before_captures))


def _is_here(thread: int | None) -> bool:
    """Return whether this thread is capturing. Captures of a user's TinyJit have no thread and count for all.

    A capture and its thread are read as one: the thread of another capture might be gone when it is compared.
    """
    return thread in (None, threading.get_ident())


def keep_valid(*buffers: Tensor) -> None:
    """Realise buffers at the end of the run before a capture, if this is one."""
    for thread, made in before_captures[-1:]:
        if _is_here(thread):
            made.extend(buffers)
