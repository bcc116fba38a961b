"""Thread pool in C: a launch on the CPU is one native call, which runs its programs on all cores.

The pool (`threads.c`) is compiled by the compiler of the kernels. A program that can be divided (by the blocks of a
batch, or by the cores for which tinygrad wrote it) runs on as many threads as pay off, by its cost at earlier launches.
Work of less than 30 us stays on the caller's thread. Results do not depend on the number of threads.

Other Python threads run during a launch. If one of them launches, too, its launch has one thread. Ctrl-C waits for the
current launch. A forked process has a pool of its own.
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from tinygrad import Tensor
from tinygrad.device import TinyELF
from tinygrad.renderer.cstyle import ClangRenderer
from tinygrad.uop.ops import UOp

from tensor_envs._runtime.buffers import buffer_of, upload
from tensor_envs._runtime.devices import DeviceName, is_cpu, opened
from tensor_envs._runtime.programs import compiled_binary, usable_cores
from tensor_envs._validate import integer

# kinds of programs, as in `threads.c`: indivisible, divided by blocks of games, divided by cores
WHOLE, BLOCKS, CORES = range(3)
WORTH_NS = 15_000  # nanoseconds of work that pay for waking another thread
MAX_ARGUMENTS = 64
MAX_THREADS = 1024
WORDS = ctypes.c_uint64 * 16
_num_blocks: WeakKeyDictionary[UOp, int] = WeakKeyDictionary()  # number of blocks by the buffer of `all_blocks`


class _Pool(ctypes.Structure):
    """The pool's memory, `Pool` in `threads.c`."""

    _fields_ = [
        *((name, ctypes.c_void_p) for name in ("lock", "unlock", "wait", "signal", "create", "clock")),
        ("clock_id", ctypes.c_uint64),
        *((name, WORDS) for name in ("mutex", "attributes", "work", "finished")),
        ("entry", ctypes.c_void_p),
        ("launch", ctypes.c_uint64 * 2),
        *((name, ctypes.c_uint64) for name in ("threads", "min_work", "workers", "asleep", "waiting", "busy")),
        *((name, ctypes.c_uint64) for name in ("generation", "next", "slices", "done", "spent", "job")),
    ]


class _Native:
    """The compiled pool and its memory, which its threads use until the process ends."""

    def __init__(self) -> None:
        from tinygrad.runtime.ops_cpu import CPUProgram  # slow to import

        device = opened("CPU")
        code = compiled_binary(Path(__file__).with_name("threads.c").read_text(), device.renderer)()
        self._program = CPUProgram(device, TinyELF(code, "threads", device.renderer.target, (), b""))
        self.entry = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self._program.addr)
        self.pool = _Pool()
        self.address = ctypes.addressof(self.pool)
        # The pool is not linked to a library, so it gets the addresses of the functions that it calls.
        self._libc = ctypes.CDLL(None)
        names = {"lock": "mutex_lock", "unlock": "mutex_unlock", "wait": "cond_wait", "signal": "cond_signal"}
        for field, name in {**names, "create": "create"}.items():
            setattr(self.pool, field, self._function(f"pthread_{name}"))
        self.pool.clock = self._function("clock_gettime")
        # CLOCK_MONOTONIC, since a clock that is set back would spoil the measured costs. Systems number it differently.
        self.pool.clock_id = 6 if sys.platform == "darwin" else 1
        # Worker threads start in the same function as launches. A launch without programs makes its thread a worker.
        self.pool.entry = self._program.addr
        self.pool.launch[0] = self.address
        self.pool.min_work = WORTH_NS
        self.reset()
        os.register_at_fork(after_in_child=self.reset)

    def _function(self, name: str) -> int | None:
        return ctypes.cast(getattr(self._libc, name), ctypes.c_void_p).value

    def reset(self) -> None:
        """Start without worker threads, in a new process and in a fork, which has none of its parent's threads."""
        self.pool.threads = num_threads()
        for name in ("workers", "asleep", "waiting", "busy", "next", "slices"):
            setattr(self.pool, name, 0)
        # In a fork, a thread that does not exist any more may hold the mutex, so all of these are initialised anew.
        for name, kind in (("mutex", "mutex"), ("work", "cond"), ("finished", "cond"), ("attributes", "attr")):
            words = getattr(self.pool, name)
            ctypes.memset(words, 0, ctypes.sizeof(words))
            init = getattr(self._libc, f"pthread_{kind}_init")
            init(*[ctypes.byref(words)] + [None] * (kind != "attr"))
        # PTHREAD_CREATE_DETACHED: workers live as long as the process, and no thread joins them.
        detached = 2 if sys.platform == "darwin" else 1
        self._libc.pthread_attr_setdetachstate(ctypes.byref(self.pool.attributes), detached)
        # A kernel's arrays are on its thread's stack, whose default size is small on some systems.
        self._libc.pthread_attr_setstacksize(ctypes.byref(self.pool.attributes), ctypes.c_size_t(2**24))


@functools.cache
def _native() -> _Native:
    return _Native()


@functools.cache
def runs_natively(device: str) -> bool:
    """Return whether the device's programs are machine code that the pool can call."""
    return is_cpu(device) and os.name == "posix" and isinstance(opened(device).renderer, ClangRenderer)


def synchronize(devices: DeviceName) -> None:
    """Wait until kernels on CPU devices have ended. Those of the pool end before their launch returns."""
    for device in (devices,) if isinstance(devices, str) else devices:
        if not runs_natively(device) and is_cpu(device):
            opened(device).synchronize()


_chosen_threads: int | None = None  # by `set_num_threads` or the environment variable


def num_threads() -> int:
    """Return the largest number of threads that play a batch on the CPU.

    Returns:
        The number given to `set_num_threads`, or else in the environment variable TENSOR_ENVS_THREADS, or else the
        number of cores that the process may use.

    Raises:
        ValueError: if the variable is no number from 1 to 1,024.

    Examples:
        >>> te.num_threads() >= 1
        True
    """
    global _chosen_threads
    if _chosen_threads is None:
        setting = os.environ.get("TENSOR_ENVS_THREADS")
        if setting is None:
            _chosen_threads = min(usable_cores(), MAX_THREADS)
        elif not setting.isascii() or not setting.isdigit() or not 1 <= int(setting) <= MAX_THREADS:
            allowed = f"a number from 1 to {MAX_THREADS}"
            raise ValueError(f"the environment variable TENSOR_ENVS_THREADS must be {allowed}, got {setting!r}")
        else:
            _chosen_threads = int(setting)
    return _chosen_threads


def set_num_threads(n: int) -> None:
    """Set the largest number of threads that play a batch on the CPU. Results do not depend on it.

    The default is the environment variable TENSOR_ENVS_THREADS, or else the number of cores that the process may use.

    Args:
        n: 1 to 1,024.

    Raises:
        TypeError: if n is no int.
        ValueError: if it is out of range.

    Examples:
        >>> te.set_num_threads(te.num_threads())
    """
    global _chosen_threads
    _chosen_threads = integer("n", n, 1, MAX_THREADS)
    # A pool that does not exist yet will read the number when it is created.
    if _native.cache_info().currsize:
        _native().pool.threads = _chosen_threads


@functools.lru_cache(256)
def all_blocks(blocks: int, device: DeviceName) -> Tensor:
    """Return the range of all blocks, an argument of kernels: int32 [first block, number of blocks] on each device."""
    block_range = upload(np.array([0, blocks] * (1 if isinstance(device, str) else len(device)), np.int32), device)
    buffer = buffer_of(block_range)
    assert buffer is not None
    _num_blocks[buffer] = blocks
    return block_range


def blocks_of(buffer: UOp | None) -> int | None:
    """Return the number of blocks in a buffer of `all_blocks`; None for other buffers."""
    return None if buffer is None else _num_blocks.get(buffer)


class Job:
    """A program of a launch, and the measured cost of a block or core."""

    def __init__(self, program: Any, dimensions: Any, block_range: int | None):
        """Prepare a job; `block_range` is the position of the argument with the range of blocks, if there is one."""
        self.program = program
        self.values = [0 if v is None else int(v) for v in dimensions["vals"]]
        self.kind = WHOLE if block_range is None else BLOCKS
        self.divided_argument = block_range or 0
        self.cores = 1
        # tinygrad divides its own CPU kernels by the variable core_id: a launch calls the program once for each value.
        if block_range is None and "core_id" in program.runtimevars:
            self.kind = CORES
            self.divided_argument = program.runtimevars["core_id"]
            self.cores = dimensions["global_size"][0]
        # The pool writes the measured cost to this memory, and later launches read it.
        self.cost = array("Q", [0])

    def words(self, addresses: Sequence[int]) -> list[int]:
        """Return the job as `threads.c` reads it, given the addresses of its arguments."""
        arguments = [*addresses, *self.values]
        assert len(arguments) <= MAX_ARGUMENTS, "tinygrad makes no program with more"
        # Job in threads.c: function | arguments | kind | divided argument | parts | address of the cost | argument ...
        head = [self.program.addr, len(arguments), self.kind, self.divided_argument, self.cores]
        return [*head, self.cost.buffer_info()[0], *arguments]


# indices into the words of a job
BLOCKS_AT = 4
ARGUMENTS_AT = 6


class NativeLaunch:
    """Call that runs jobs one after another."""

    def __init__(self, count: int, jobs: array[int], *external: int):
        """Prepare a call.

        Args:
            count: number of jobs.
            jobs: their words, see `Job.words`.
            external: addresses in the words that each call replaces by those of external memory.
        """
        native = _native()
        self.count = count
        self.jobs = jobs
        self.entry = native.entry
        # words of a launch: address of the pool | number of jobs | job ...
        self.words = array("Q", [native.address, count]) + jobs
        self.address = self.words.buffer_info()[0]
        self.external_at = [self.words.index(address) for address in external]

    def __call__(self, *external: int) -> None:
        for index, address in zip(self.external_at, external, strict=True):
            self.words[index] = address
        self.entry(self.address)
