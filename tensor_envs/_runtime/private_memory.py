"""Private (copy-on-write) CPU memory.

tinygrad maps memory as shared, so a process and its fork would write into each other's states. The buffers of this
package therefore have private memory. Buffers that tinygrad allocates itself stay shared. A fork never releases those
that it inherits, and it captures functions again, since their intermediate results lie in such buffers.
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

CAN_FORK = hasattr(os, "fork")
MAX_FREE_BYTES = 2**28  # released memory that may wait to be reused when memory of a new size is allocated
HUGE_PAGES_BYTES = 2**25  # allocations of this size have huge pages, with fewer TLB misses of random accesses
_free: defaultdict[int, list[mmap.mmap]] = defaultdict(list)  # released memory by size
_inherited: list[Any] = []  # buffers of the process that this one was forked from


class ExternalMemory(BufferSpec):
    """Options of a buffer whose memory tinygrad did not allocate. A pickle omits the address: a copy has another."""

    def __reduce__(self) -> Any:
        return BufferSpec, ()


def rounded(size: int) -> int:
    """Round a number of bytes up by at most an eighth, so that buffers of similar sizes share memory."""
    step = 1 << max(size.bit_length() - 4, 0)
    return -(-size // step) * step


class _Lease:
    """Memory that returns to the free list when it is garbage-collected."""

    def __init__(self, size: int, synchronize: Callable[[], object]):
        """Allocate memory. `synchronize` waits for kernels: they may still use memory that was released."""
        self.size = size = rounded(size)
        try:
            # Sizes are rounded, so memory of an earlier buffer of a similar size serves without a system call.
            self.memory = _free[size].pop()
            synchronize()
        except IndexError:
            # A program whose sizes keep changing would never reuse the released memory, so it is unmapped.
            if sum(size * len(released) for size, released in list(_free.items())) > MAX_FREE_BYTES:
                synchronize()
                _free.clear()
            try:
                self.memory = _mapped(size)
            except OSError:  # no memory is left
                synchronize()
                _free.clear()
                self.memory = _mapped(size)

    # `_free` is bound as a default: at the end of the interpreter, globals may be gone.
    def __del__(self, free: defaultdict[int, list[mmap.mmap]] = _free) -> None:
        if hasattr(self, "memory"):  # the allocation may have failed
            free[self.size].append(self.memory)


def _mapped(size: int) -> mmap.mmap:
    memory = mmap.mmap(-1, size, mmap.MAP_ANON | mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE)
    if size >= HUGE_PAGES_BYTES and hasattr(mmap, "MADV_HUGEPAGE"):
        with suppress(OSError):  # a kernel without huge pages
            memory.madvise(mmap.MADV_HUGEPAGE)
    return memory


def allocate(buffer: Any, allocator: Any) -> None:
    """Allocate a buffer of tinygrad's CPU device, uninitialised."""
    lease = _Lease(buffer.nbytes, allocator.dev.synchronize)
    address: int = mv_address(lease.memory)  # type: ignore[no-untyped-call]
    buffer.options = ExternalMemory(external_ptr=address)  # tinygrad neither caches nor frees it
    memory = allocator._alloc(buffer.nbytes, buffer.options)
    # The lease lives as long as tinygrad's memory object, which the buffer and its views refer to.
    memory.meta = lease
    buffer.allocate(memory)


def keep_in_forks(allocator: Any) -> None:
    """Have forks of this process never release the memory that tinygrad has allocated until then."""
    if CAN_FORK:
        os.register_at_fork(after_in_child=functools.partial(_inherit, allocator))


def _inherit(allocator: Any) -> None:
    # This memory is shared with the parent. If it were released here, a new buffer could take it, and both processes
    # would write to it.
    _inherited.extend(buffers.values())
    allocator.free_cache()
