"""Memory of the CPU of which a forked process has a copy.

tinygrad maps it as shared: a process and those that it forks would write into each other's states.
"""

from __future__ import annotations

import mmap
import sys
from typing import Any

try:
    from tinygrad.helpers import mv_address
    from tinygrad.runtime.ops_cpu import CPUAllocator
    from tinygrad.runtime.support.hcq import HCQBuffer, MMIOInterface

    AVAILABLE = sys.platform != "win32"  # which does not fork
except ImportError:  # pragma: no cover - these names change from week to week
    AVAILABLE = False


def map_privately() -> None:
    """From now on, in the whole process."""
    if AVAILABLE and not hasattr(CPUAllocator._alloc, "theirs"):
        CPUAllocator._alloc = _private(CPUAllocator._alloc)  # type: ignore[method-assign]


def _private(theirs: Any) -> Any:
    def alloc(self: Any, size: int, options: Any) -> Any:
        if options.external_ptr is not None:
            return theirs(self, size, options)
        memory = mmap.mmap(-1, size, mmap.MAP_ANON | mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE)
        address = mv_address(memory)  # type: ignore[no-untyped-call]
        return HCQBuffer(
            address, size, meta=memory, view=MMIOInterface(address, size, fmt="B"), owner=self.dev
        )

    alloc.theirs = theirs  # type: ignore[attr-defined]
    return alloc
