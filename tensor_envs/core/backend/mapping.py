"""Memory of the CPU of which a forked process has a copy.

tinygrad maps it as shared: a process and those that it forks would write into each other's states.
"""

from __future__ import annotations

import functools
import mmap
import sys
from contextlib import suppress
from typing import Any

from tinygrad.helpers import mv_address


@functools.cache
def map_privately() -> None:
    """From now on, in the whole process; not on import, which is to be quick."""
    with suppress(ImportError):  # these names change from week to week
        from tinygrad.runtime.ops_cpu import CPUAllocator
        from tinygrad.runtime.support.hcq import HCQBuffer, MMIOInterface

        theirs = CPUAllocator._alloc

        def alloc(self: Any, size: int, options: Any) -> Any:
            if options.external_ptr is not None or sys.platform == "win32":  # which does not fork
                return theirs(self, size, options)
            memory = mmap.mmap(-1, size, mmap.MAP_ANON | mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE)
            address = mv_address(memory)  # type: ignore[no-untyped-call]
            view = MMIOInterface(address, size, fmt="B")
            return HCQBuffer(address, size, meta=memory, view=view, owner=self.dev)

        CPUAllocator._alloc = alloc  # type: ignore[method-assign]
