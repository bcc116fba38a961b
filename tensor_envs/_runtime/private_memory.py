"""Private (copy-on-write) CPU memory.

tinygrad maps memory as shared, so a process and its fork would write into each other's states. Buffers that tinygrad
makes itself stay shared: in a fork none of them is released to be used again, and captured functions, whose
intermediate results stand in such buffers, are captured again.
"""

from __future__ import annotations

import functools
import mmap
import os
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from tinygrad.device import BufferSpec
from tinygrad.helpers import mv_address
from tinygrad.uop.ops import buffers

OWNS_MEMORY = hasattr(os, "fork")
KEPT = 2**28  # bytes of released memory that new sizes leave to be used again
HUGE = 2**25  # bytes of an allocation from which huge pages are asked for: random accesses miss the TLB less
_free: defaultdict[int, list[mmap.mmap]] = defaultdict(list)
_inherited: list[Any] = []  # buffers of the process that this one was forked from


class OwnMemory(BufferSpec):
    """Options of a buffer in memory that is not tinygrad's. A pickle leaves its address out: a copy is elsewhere."""

    def __reduce__(self) -> Any:
        return BufferSpec, ()


def rounded(size: int) -> int:
    """Round a number of bytes up by at most an eighth, so that buffers of similar sizes share memory."""
    step = 1 << max(size.bit_length() - 4, 0)
    return -(-size // step) * step


class _Lease:
    """Memory that returns to the free list when its last user lets go of it."""

    def __init__(self, size: int, synchronize: Callable[[], object]):
        """Keep a function that waits for kernels, which may still use memory that was released."""
        self.size = size = rounded(size)
        try:
            # Sizes are rounded, so memory of an earlier buffer of a similar size serves without a call of the system.
            self.memory = _free[size].pop()
            synchronize()
        except IndexError:
            # A program with ever new sizes would never use the released memory again, so it is given back.
            if sum(size * len(released) for size, released in list(_free.items())) > KEPT:
                synchronize()
                _free.clear()
            flags = mmap.MAP_ANON | mmap.MAP_PRIVATE
            access = mmap.PROT_READ | mmap.PROT_WRITE
            try:
                self.memory = mmap.mmap(-1, size, flags, access)
            except OSError:  # no memory is left
                synchronize()
                _free.clear()
                self.memory = mmap.mmap(-1, size, flags, access)
            if size >= HUGE and hasattr(mmap, "MADV_HUGEPAGE"):
                with suppress(OSError):  # the kernel has none
                    self.memory.madvise(mmap.MADV_HUGEPAGE)

    def __del__(self, free: defaultdict[int, list[mmap.mmap]] = _free) -> None:  # the interpreter may be ending
        if hasattr(self, "memory"):  # the allocation may have failed
            free[self.size].append(self.memory)


def allocate(buffer: Any, allocator: Any) -> None:
    """Allocate a buffer of tinygrad's CPU device, uninitialised."""
    lease = _Lease(buffer.nbytes, allocator.dev.synchronize)
    address: int = mv_address(lease.memory)  # type: ignore[no-untyped-call]
    buffer.options = OwnMemory(external_ptr=address)  # tinygrad neither keeps nor frees it
    memory = allocator._alloc(buffer.nbytes, buffer.options)
    # tinygrad's object keeps the lease alive. When the last buffer drops it, the memory returns to the list.
    memory.meta = lease
    buffer.allocate(memory)


def keep_in_forks(allocator: Any) -> None:
    """Have forks of this process keep the memory of buffers that tinygrad made."""
    if OWNS_MEMORY:
        os.register_at_fork(after_in_child=functools.partial(_inherit, allocator))


def _inherit(allocator: Any) -> None:
    # Memory from tinygrad is shared with the parent. If it were released here, a new buffer could take it, and both
    # processes would write to it.
    _inherited.extend(buffers.values())
    allocator.free_cache()
