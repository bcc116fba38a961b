"""Compilation of kernels to programs, in a pool of threads, with a cache of binaries on disk.

A compilation starts as soon as the source is known, and the first launch waits for it. The cache is a folder with a
file for each binary, named by a hash of everything that the binary depends on. A file is written atomically and starts
with a checksum of its name and content: a damaged or exchanged file is compiled again and never gives a wrong program.
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
FORMAT = 2  # version of the files' names and contents
CACHE_MAX_BYTES = 2**29
DIGEST_BYTES = 32
# For each class of tinygrad's compilers: the module of its library, and the function that writes the version's numbers.
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
# Size of an array in a program for any size: tinygrad's programs name sizes, and this one is an upper bound of all.
ANY_SIZE = 2**40

ProgramFuture = Callable[[], UOp]  # waits for the compiler and returns tinygrad's PROGRAM node


def usable_cores() -> int:
    """Return the number of cores that this process may use, by its affinity and its container's quota."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # not on this system
        cores = os.cpu_count() or 1
    try:
        # A container may limit processor time and still show all cores.
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        cores = min(cores, max(1, round(int(quota) / int(period))))
    except (OSError, ValueError):  # no such file, or "max"
        pass
    return cores


def compile_tape(
    name: str, tape: Tape, renderer: Renderer, sizes: Sequence[int] | None = None, blocks: int = 1
) -> tuple[list[int], ProgramFuture]:
    """Start the compilation of a tape for a device.

    Args:
        name: name of the kernel.
        tape: the recorded kernel.
        renderer: renderer of the device.
        sizes: size of each of the tape's arrays; None for a program that takes arrays of any size.
        blocks: number of blocks that a launch plays on a CPU, for tinygrad's statistics.

    Returns:
        The indices of the arrays that the program takes, in order, and a function that waits for the program.
    """
    used, parameters, source = printed(name, tape, renderer, sizes)
    written = [n for n, k in enumerate(used) if tape.arrays[k].written]
    groups, threads = ((tape.grid.get(axis, 1), 1, 1) for axis in ("group", "thread"))
    # `work` counts the operations and bytes of one block.
    operations, size = (x * blocks for x in tape.work())
    estimates = Estimates(operations, size, size)
    return used, _program_future(name, source, renderer, parameters, written, estimates, groups, threads)


def printed(
    name: str, tape: Tape, renderer: Renderer, sizes: Sequence[int] | None = None
) -> tuple[list[int], list[UOp], str]:
    """Finish a tape and print it; the arguments are those of `compile_tape`.

    Returns:
        The indices of the arrays that the program takes, a placeholder for each, and the source.
    """
    # Remove dead code first: an array that only dead code uses is no parameter.
    tape.finish()
    used = [k for k, array in enumerate(tape.arrays) if array.used]
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
    """Start the compilation of a source in C, for arrays of any size.

    Args:
        name: name of the function.
        source: the source.
        renderer: renderer of the device.
        types: dtypes of the arrays.
        written: indices of the arrays that it writes.

    Returns:
        A function that waits for the program.
    """
    parameters = [UOp.placeholder((ANY_SIZE,), dtype, slot) for slot, dtype in enumerate(types)]
    return _program_future(name, source, renderer, parameters, written)


def _program_future(
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
    # Every array is an input, also a written one: the elements that the kernel does not write keep their values.
    info = ProgramInfo(name, groups, threads, (), slots, tuple(written), slots, renderer.target)
    if DEBUG >= 4:
        print(source)
    # The compilation starts here. Only a call of the returned function waits for the binary.
    binary = compiled_binary(source, renderer)
    head = (
        UOp(Ops.SINK, arg=KernelInfo(name, estimates=estimates)),
        UOp(Ops.LINEAR, src=tuple(parameters)),
        UOp(Ops.SOURCE, arg=source),
    )
    return lambda: UOp(Ops.PROGRAM, src=(*head, UOp(Ops.BINARY, arg=binary())), arg=info)


def compile_graph(linear: UOp) -> None:
    """Compile tinygrad's own kernels of a graph in parallel, and put their programs into its cache in memory.

    tinygrad would compile them one after another, or start processes, and its cache on disk has no checksums.
    """
    started: dict[Any, tuple[UOp, BinaryFuture]] = {}
    # With BEAM tinygrad times many candidates for each kernel, so it has to compile them itself.
    for call in () if BEAM else linear.toposort():
        if call.op is not Ops.CALL or call.src[0].op is not Ops.SINK:
            continue
        renderer = Device[to_tuple(call.device)[0]].renderer
        key = to_program_key(call.src[0], renderer)
        if key not in started and key not in to_program_cache and _compiles_in_threads(renderer):
            # The compiler of `_printer` returns the source. Remove it here; the binary takes its place below.
            *rest, source, _ = (program := do_to_program(call.src[0], _printer(renderer))).src
            started[key] = program.replace(src=(*rest, source)), compiled_binary(source.arg, renderer)
    for key, (program, binary) in started.items():
        to_program_cache[key] = program.replace(src=(*program.src, UOp(Ops.BINARY, arg=binary())))


@functools.cache
def _printer(renderer: Renderer) -> Renderer:
    """Return a copy of a renderer whose compiler returns the source unchanged."""
    new: Any = copy.copy(renderer)  # other threads may be using the renderer itself
    new.compiler = Compiler()
    return new  # type: ignore[no-any-return]


def _compiles_in_threads(renderer: Renderer) -> bool:
    return type(renderer.compiler).__name__ in THREAD_SAFE


LONG_SECONDS = 5.0  # a compilation that takes longer is announced


class BinaryFuture:
    """Binary of a source, from the cache or from a compiler that may still be running. A call waits for it."""

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
        if future is not None and self.process == os.getpid():  # the threads of a pool do not exist in a fork
            with suppress(Exception):  # compile again below: the cause of the error may be gone
                self.binary = future.result()
        if self.binary is None:
            self.binary = self._compile()
        return self.binary

    def _compile(self) -> bytes:
        # tinygrad's own call of clang would lack `clang.OPTIONS`.
        if self.is_clang:
            binary = clang.compile_object(self.source, self.compiler.arch, self.compiler.args)
        else:
            binary = self.compiler.compile(self.source)
        if self.file is not None:
            clang.store(self.file, _digest(self.file, binary) + binary)
        return binary

    def _file(self) -> str | None:
        """Return the name of the file in the cache; None without a cache, or for a device that takes the source."""
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
    """Return the version of the library or program behind one of tinygrad's compilers, by the name of its class.

    A compiler that comes with the driver, as for OpenCL and Metal, has the version of the operating system.
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
    """Return the binary in a file of the cache; None if there is none with a valid checksum."""
    for folder in clang.cache_folders():
        with suppress(OSError):
            content = (folder / file).read_bytes()
            binary = content[DIGEST_BYTES:]
            if _digest(file, binary) == content[:DIGEST_BYTES]:
                return binary
    return None


@functools.cache
def _pool(process: int) -> ThreadPoolExecutor:
    """Return the thread pool of a process; a fork needs one of its own."""
    pool = ThreadPoolExecutor(usable_cores(), "compiler")
    # Only processes that compile add files, so each of them trims the folder once.
    pool.submit(_trim, clang.cache_folders()[0] / FOLDER)
    return pool


def _trim(folder: Path) -> None:
    """Remove the least recently read files from a folder that has grown too large."""
    with suppress(OSError):
        files = sorted((status.st_atime, status.st_size, file) for file in folder.iterdir() if (status := file.stat()))
        total = sum(size for _, size, _ in files)
        for _, size, file in files:
            if total <= CACHE_MAX_BYTES:
                break
            file.unlink(missing_ok=True)
            total -= size
