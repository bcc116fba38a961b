"""State that threads share: the lock, and tinygrad's captures."""

from __future__ import annotations

import os
import threading

from tinygrad import Tensor
from tinygrad.engine import realize
from tinygrad.helpers import ALLOW_DEVICE_USAGE

# Guards what threads share: tinygrad's settings, captures, and the buffers of searches. A public call takes it once.
LOCK = threading.RLock()
if hasattr(os, "register_at_fork"):
    # A fork copies only the thread that calls it, so a lock that another thread holds would never be released.
    os.register_at_fork(before=LOCK.acquire, after_in_parent=LOCK.release, after_in_child=LOCK.release)
# Runs of functions that will be captured next (see `capture.before_capture`), innermost last: the thread of each, and
# the tensors to realise at its end.
runs_before_capture: list[tuple[int, list[Tensor]]] = []


def allow_devices() -> None:
    """Allow tinygrad to use devices.

    tinygrad sets this switch to 0 for all threads while one of them compiles, and then restores the value that it
    found. If two threads compile at once, the second one finds 0, and the switch stays at 0.
    """
    ALLOW_DEVICE_USAGE.value = 1


def is_capturing() -> bool:
    """Return whether a TinyJit is capturing in this thread, so that no value can be read now."""
    return bool(realize.capturing) and any(_is_this_thread(getattr(jit, "thread", None)) for jit in realize.capturing)


def stays_lazy() -> bool:
    """Return whether kernels must be added to tinygrad's graph instead of being launched.

    This holds in a capture, and in the run before it, which compiles the kernels of the capture.
    """
    return is_capturing() or (
        bool(runs_before_capture) and any(_is_this_thread(thread) for thread, _ in runs_before_capture)
    )


def _is_this_thread(thread: int | None) -> bool:
    """Return whether this thread is the given one; None, for a user's own TinyJit, stands for every thread."""
    return thread in (None, threading.get_ident())


def realize_before_capture(*buffers: Tensor) -> None:
    """Have the current run before a capture realise these buffers at its end; outside of such a run do nothing."""
    for thread, to_realize in runs_before_capture[-1:]:
        if _is_this_thread(thread):
            to_realize.extend(buffers)
