"""Programs of kernels: compiled ahead of need in a pool of threads, their binaries cached on disk.

The cache is a folder of files, one for each binary, named by a hash of everything that the binary depends on. A file is
written whole or not at all and starts with a checksum of its name and content, so damage or an exchange of files costs
a compilation and never gives a wrong program.
"""

from __future__ import annotations

import copy
import ctypes
import functools
import hashlib
import importlib
import os
import platform
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

from tinygrad import Device, UOp
from tinygrad.codegen import do_to_program, to_program_cache, to_program_key
from tinygrad.device import Compiler
from tinygrad.dtype import DType
from tinygrad.helpers import BEAM, DEBUG, getenv, to_function_name, to_tuple
from tinygrad.renderer import Estimates, Renderer
from tinygrad.renderer.cstyle import ClangRenderer
from tinygrad.uop.ops import KernelInfo, Ops, ProgramInfo

from tensor_envs._compiler.dialects import dialect
from tensor_envs._compiler.tape import Tape
from tensor_envs._runtime import clang
from tensor_envs._runtime.linear import Linear
from tensor_envs._runtime.progress import announced

FOLDER = "programs"  # folder in the cache
FORMAT = 2
CACHE_MAX_BYTES = 2**29
DIGEST_BYTES = 32
# by the class of tinygrad's compiler the module of its library, and the function that writes the parts of its version
VERSIONS: dict[str, tuple[str, str, list[Any]]] = {
    "NVRTCCompiler": ("nvrtc", "nvrtcVersion", [ctypes.c_int32] * 2),
    "NVPTXCompiler": ("nvrtc", "nvrtcVersion", [ctypes.c_int32] * 2),
    "HIPCompiler": ("comgr", "amd_comgr_get_version", [ctypes.c_size_t] * 2),
    **dict.fromkeys(
        ("CPULLVMCompiler", "AMDLLVMCompiler", "LVPCompiler"), ("llvm", "LLVMGetVersion", [ctypes.c_uint32] * 3)
    ),
}
COMMANDS = {"NVCCCompiler": "nvcc", "HIPCCCompiler": "hipcc"}  # compilers that are executables
THREAD_SAFE = {"ClangCompiler", "NVRTCCompiler"}
ANY_SIZE = 2**40  # stands for the length of an array, which is a part of tinygrad's programs

ProgramFuture = Callable[[], UOp]  # waits for the compiler and returns the PROGRAM


def usable_cores() -> int:
    """Return the number of cores that this process may use, by affinity and by a container's quota."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # not on this system
        cores = os.cpu_count() or 1
    try:
        # A container may limit the processor time of a group without a limit of its cores.
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        cores = min(cores, max(1, round(int(quota) / int(period))))
    except (OSError, ValueError):  # no such file, or "max"
        pass
    return cores


def compile_tape(
    name: str, tape: Tape, renderer: Renderer, sizes: Sequence[int] | None = None, blocks: int = 1
) -> tuple[list[int], ProgramFuture]:
    """Compile a tape for a device.

    Args:
        sizes: length of each of the tape's arrays; None makes a program that serves arrays of any length.
        blocks: number of blocks that a launch plays on a CPU, for tinygrad's statistics.

    Returns:
        The numbers of the arrays that the program takes, in order, and a function that waits for it.
    """
    used, parameters, source = printed(name, tape, renderer, sizes)
    written = [n for n, k in enumerate(used) if tape.arrays[k].written]
    groups, threads = ((tape.grid.get(axis, 1), 1, 1) for axis in ("group", "thread"))
    # A tape has the work of one block.
    operations, size = (x * blocks for x in tape.work())
    return used, _finished(
        name, source, renderer, parameters, written, Estimates(operations, size, size), groups, threads
    )


def printed(
    name: str, tape: Tape, renderer: Renderer, sizes: Sequence[int] | None = None
) -> tuple[list[int], list[UOp], str]:
    """Finish a tape and print it; see `compile_tape`.

    Returns:
        The numbers of the arrays that the program takes, a placeholder for each, and the source.
    """
    # Dead code is removed first: an array that only dead code uses is no parameter.
    tape.finish()
    used = [k for k, array in enumerate(tape.arrays) if array.used]
    # tinygrad's programs contain the lengths of their arrays. A program for any length names one above all others.
    parameters = [
        UOp.placeholder((ANY_SIZE if sizes is None else sizes[k],), tape.arrays[k].dtype, slot)
        for slot, k in enumerate(used)
    ]
    language = dialect(renderer)
    if language is None:
        return used, parameters, renderer.render(Linear(tape, Ops.FDIV in renderer.code_for_op).uops(parameters))
    return used, parameters, language(tape).source(to_function_name(name))


def compile_source(
    name: str, source: str, renderer: Renderer, types: Sequence[DType], written: Sequence[int]
) -> ProgramFuture:
    """Compile a source in C, whose function has that name, for arrays of any length.

    Args:
        types: dtypes of the arrays.
        written: numbers of the arrays that it writes.

    Returns:
        A function that waits for the program.
    """
    parameters = [UOp.placeholder((ANY_SIZE,), dtype, slot) for slot, dtype in enumerate(types)]
    return _finished(name, source, renderer, parameters, written)


def _finished(
    name: str,
    source: str,
    renderer: Renderer,
    parameters: Sequence[UOp],
    written: Sequence[int],
    estimates: Estimates | None = None,
    groups: tuple[int, int, int] = (1, 1, 1),
    threads: tuple[int, int, int] = (1, 1, 1),
) -> ProgramFuture:
    slots = tuple(range(len(parameters)))
    # all are inputs: what a kernel does not write stays
    info = ProgramInfo(name, groups, threads, (), slots, tuple(written), slots, renderer.target)
    if DEBUG >= 4:
        print(source)
    # A thread-safe compiler starts now, in a pool of threads. Only the first launch waits for the binary.
    binary = compiled_binary(source, renderer)
    head = (
        UOp(Ops.SINK, arg=KernelInfo(name, estimates=estimates)),
        UOp(Ops.LINEAR, src=tuple(parameters)),
        UOp(Ops.SOURCE, arg=source),
    )
    return lambda: UOp(Ops.PROGRAM, src=(*head, UOp(Ops.BINARY, arg=binary())), arg=info)


def compile_graph(linear: UOp) -> None:
    """Compile tinygrad's own kernels of a graph side by side and put their programs into its cache in memory.

    tinygrad would wait for one compiler after the other, or start processes, and its cache on disk has no checksums.
    """
    started: dict[Any, tuple[UOp, BinaryFuture]] = {}
    # With BEAM tinygrad compiles many candidates of each kernel and times them, so it has to compile by itself.
    for call in () if BEAM else linear.toposort():
        if call.op is not Ops.CALL or call.src[0].op is not Ops.SINK:
            continue
        renderer = Device[to_tuple(call.device)[0]].renderer
        key = to_program_key(call.src[0], renderer)
        if key not in started and key not in to_program_cache and _compiles_in_threads(renderer):
            # `_printer` gives the source in place of a binary. It is removed here, and the binary is appended below.
            *rest, source, _ = (program := do_to_program(call.src[0], _printer(renderer))).src
            started[key] = program.replace(src=(*rest, source)), compiled_binary(source.arg, renderer)
    for key, (program, binary) in started.items():
        to_program_cache[key] = program.replace(src=(*program.src, UOp(Ops.BINARY, arg=binary())))


@functools.cache
def _printer(renderer: Renderer) -> Renderer:
    """Return a renderer of our own for the same target, whose compiler returns the source."""
    # The renderer is tinygrad's, and other threads may use it, so a copy gets the other compiler.
    new: Any = copy.copy(renderer)
    new.compiler = Compiler()
    return new  # type: ignore[no-any-return]


def _compiles_in_threads(renderer: Renderer) -> bool:
    return type(renderer.compiler).__name__ in THREAD_SAFE


LONG_SECONDS = 5.0  # a compilation that takes longer is announced


class BinaryFuture:
    """The binary of a source: from the cache, or from a compiler that may still be running. A call waits for it."""

    def __init__(self, source: str, renderer: Renderer):
        self.source = source
        self.is_clang = isinstance(renderer, ClangRenderer)
        self.compiler: Any = renderer.compiler
        self.file = self._file()
        self.binary = None if self.file is None else _read(self.file)
        self.process = os.getpid()
        self.future: Future[bytes] | None = None
        if self.binary is None and _compiles_in_threads(renderer):
            with suppress(RuntimeError):  # no thread can be started while the interpreter ends
                self.future = _pool(self.process).submit(self._compile)

    def __call__(self) -> bytes:
        if self.binary is not None:
            return self.binary
        with announced("compiling a kernel, which later runs find in the cache", LONG_SECONDS):
            return self._wait()

    def _wait(self) -> bytes:
        future, self.future = self.future, None
        if future is not None and self.process == os.getpid():  # a forked process has no such thread
            with suppress(Exception):  # an earlier call may have seen the error, and its cause may be gone
                self.binary = future.result()
        if self.binary is None:
            self.binary = self._compile()
        return self.binary

    def _compile(self) -> bytes:
        # tinygrad's own call of clang would compile without `clang.OPTIONS`.
        if self.is_clang:
            binary = clang.compile_object(self.source, self.compiler.arch, self.compiler.args)
        else:
            binary = self.compiler.compile(self.source)
        if self.file is not None:
            clang.store(self.file, _digest(self.file, binary) + binary)
        return binary

    def _file(self) -> str | None:
        """Return the name of the file in the cache; None without a cache, or where a device takes the source."""
        if self.compiler.cachekey is None or getenv("CACHELEVEL", 2) < 1:
            return None
        # tinygrad's compilers hold their options, such as the architecture, in attributes of these types.
        flags = [x for x in vars(self.compiler).values() if isinstance(x, (str, bool, list))]
        if self.is_clang:
            compiler: Any = clang.OPTIONS, clang.identity()
        else:
            compiler = compiler_version(type(self.compiler).__name__), clang.processor()
        key = f"{FORMAT} {type(self.compiler).__name__} {flags} {compiler}\n{self.source}"
        return f"{FOLDER}/{hashlib.sha256(key.encode()).hexdigest()}"


compiled_binary = functools.lru_cache(512)(BinaryFuture)


@functools.cache
def compiler_version(kind: str) -> str:
    """Return the version of the library or program of a compiler of tinygrad, by the name of its class.

    A device's own compiler, as of OpenCL or Metal, comes with the driver and the system.
    """
    if kind in COMMANDS:
        return clang.version(COMMANDS[kind])
    if kind not in VERSIONS:
        return f"{platform.release()} {platform.version()}"
    module, function, types = VERSIONS[kind]
    library = importlib.import_module(f"tinygrad.runtime.autogen.{module}")
    parts = [number() for number in types]
    getattr(library, function)(*map(ctypes.byref, parts))
    return ".".join(str(part.value) for part in parts)


def _digest(file: str, binary: bytes) -> bytes:
    """Return the checksum of a binary in a file of the cache."""
    return hashlib.sha256(file.encode() + b"\n" + binary).digest()


def _read(file: str) -> bytes | None:
    """Return the binary in a file of the cache, if there is one, it is whole and of that name."""
    for folder in clang.cache_folders():
        with suppress(OSError):
            content = (folder / file).read_bytes()
            binary = content[DIGEST_BYTES:]
            # A damaged or exchanged file counts as missing, so that it costs a compilation only.
            if _digest(file, binary) == content[:DIGEST_BYTES]:
                return binary
    return None


@functools.cache
def _pool(process: int) -> ThreadPoolExecutor:
    """Return the threads of a process."""
    pool = ThreadPoolExecutor(usable_cores(), "compiler")
    # Only a process that compiles adds files, so the folder is trimmed when its threads are made.
    pool.submit(_trim, clang.cache_folders()[0] / FOLDER)
    return pool


def _trim(folder: Path) -> None:
    """Remove the files that were read longest ago from a folder that has grown too large."""
    with suppress(OSError):
        files = sorted((status.st_atime, status.st_size, file) for file in folder.iterdir() if (status := file.stat()))
        total = sum(size for _, size, _ in files)
        for _, size, file in files:
            if total <= CACHE_MAX_BYTES:
                break
            file.unlink(missing_ok=True)
            total -= size
