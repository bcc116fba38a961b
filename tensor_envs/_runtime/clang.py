"""The clang that compiles for the CPU, and the folders of the cache.

The clang is the first of these: the one that TENSOR_ENVS_CC or CC names, that of the ziglang wheel, one on the PATH.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import importlib.util
import os
import platform
import shlex
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from tinygrad.helpers import Context, getenv

# LLVM 21 miscompiles the vectorised remainder of a loop whose length is no multiple of the vector's (seen with AVX-512)
NO_EPILOGUES = "-mllvm -enable-epilogue-vectorization=false"
# LLVM 21 may put a vector of ones, of 128 or 256 bits, into a register from 16 to 31. The instruction has registers 0
# to 15 alone, and overwrites one of them. LLVM 22 has the fix: https://github.com/llvm/llvm-project/pull/169009
NO_HIGH_REGISTERS = "-mno-avx512vl" if platform.machine() in ("x86_64", "AMD64") else ""
# LLVM stops telling addresses apart after 250 of them, and then vectorises no loop. A step of shogi has more.
MANY_ADDRESSES = "-mllvm -alias-set-saturation-threshold=100000"
# Options for an object file that tinygrad's loader accepts. Without errno a square root is one instruction.
OPTIONS = (
    *["-c", "-x", "c", "-O2", "-fPIC", "-ffreestanding", "-fno-math-errno", "-nostdlib", "-fno-ident"],
    *NO_EPILOGUES.split(),
    *NO_HIGH_REGISTERS.split(),
    *MANY_ADDRESSES.split(),
    "-mprefer-vector-width=512",  # otherwise clang uses half the width of AVX-512's vectors
)
NEWEST_CLANG = 30
OLDEST_CLANG = 13
VARIABLE = "TENSOR_ENVS_CC"  # environment variable for this package alone
INSTALL = "install one: `pip install ziglang` (needs nothing else), or a package named clang of your system"


def cache_folders(create: bool = False) -> list[Path]:
    """Return the folders of the cache, in order of preference.

    The first is the user's own, or the one that the environment variable TENSOR_ENVS_CACHE names. The second, in the
    temporary folder, serves if the first cannot be written; `create` creates it.
    """
    named = os.environ.get("TENSOR_ENVS_CACHE")
    home = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")) / "tensor_envs"
    folders = [Path(named) if named else home]
    user = os.getuid() if hasattr(os, "getuid") else 0
    with suppress(OSError):  # there may be no temporary folder that can be written
        temporary = Path(tempfile.gettempdir()) / f"tensor_envs-{user}"
        if create:
            temporary.mkdir(mode=0o700, exist_ok=True)
        # Files of the cache are executed, so a folder that another user owns or may write to is refused. `lstat` does
        # not follow a symbolic link, which another user could have placed here.
        status = temporary.lstat()
        if status.st_uid == user and not status.st_mode & 0o022:
            folders.append(temporary)
    return folders


def store(name: str, content: bytes, mode: int = 0o644) -> str | None:
    """Write a file atomically to the first writable folder of the cache, and return its path; None if there is none."""
    for folder in cache_folders(create=True):
        path = folder / name
        # Other processes and threads may write the same file. Each writes a temporary one, and the last rename wins.
        temporary = path.with_name(f"{path.name}.{os.getpid()}.{threading.get_ident()}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary.write_bytes(content)
            temporary.chmod(mode)
            temporary.replace(path)
            return str(path)
        except OSError:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
    return None


def version(compiler: str) -> str:
    """Return the first line of `compiler --version`, or the reason why there is none."""
    try:
        result = subprocess.run([compiler, "--version"], capture_output=True, text=True, timeout=60, check=False)
    except OSError as error:
        return f"it cannot be run: {error.strerror}"
    except subprocess.TimeoutExpired:
        return "it does not answer"
    line = (result.stdout or result.stderr).strip().split("\n")[0]
    return line or f"it exits with {result.returncode} and says nothing"


def _zig() -> Path | None:
    """Return the path of the ziglang wheel's executable, whose subcommand `clang` is the compiler; None without it."""
    spec = importlib.util.find_spec("ziglang")
    if spec is None or not spec.submodule_search_locations:
        return None
    zig = Path(spec.submodule_search_locations[0]) / "zig"
    return zig if zig.exists() else None


def _compiler_wrapper(*command: str) -> str | None:
    """Return the path of a script that runs a clang without warnings, or None if it cannot be written.

    tinygrad needs it: it calls CC as an executable without further arguments, and shows the user its warnings.
    """
    text = f'#!/bin/sh\nexec {shlex.join(command)} {NO_EPILOGUES} {NO_HIGH_REGISTERS} -w "$@"\n'
    # The name depends on the text, so scripts for different compilers and releases do not overwrite each other.
    name = f"clang-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    for folder in cache_folders():
        with suppress(OSError):
            # The script will be executed, so an existing file is used only if it is the same, byte for byte.
            if (folder / name).read_bytes() == text.encode() and os.access(folder / name, os.X_OK):
                return str(folder / name)
    return store(name, text.encode(), 0o755) or _in_memory(name, text.encode())


@functools.cache
def _in_memory(name: str, content: bytes) -> str | None:
    """Return the path of an executable file in memory, for a process that can write to no disk."""
    if not hasattr(os, "memfd_create"):
        return None
    file = os.memfd_create(name)
    os.write(file, content)
    os.fchmod(file, 0o755)
    return f"/proc/{os.getpid()}/fd/{file}"


@functools.cache
def _default_compiler() -> str | None:
    """Return the path of the ziglang wheel's clang, or of one on the PATH."""
    # Distributions often install clang only under a name with its version. The newest is preferred.
    names = ["clang", *(f"clang-{n}" for n in range(NEWEST_CLANG, OLDEST_CLANG - 1, -1))]
    zig = _zig()
    return (zig and _compiler_wrapper(str(zig), "clang")) or next(filter(None, map(shutil.which, names)), None)


@functools.cache
def cpu_compiler() -> str:
    """Return the clang that compiles for the CPU.

    Raises:
        RuntimeError: TENSOR_ENVS_CC names another compiler, or there is no clang; the message says what to install.
    """
    own = os.environ.get(VARIABLE)
    general = os.environ.get("CC")
    # TENSOR_ENVS_CC is meant for this package alone, so a wrong value is an error.
    if own:
        _check_clang(VARIABLE, own)
        return own
    # CC is meant for other programs, too, and names gcc on most clusters. Another compiler than clang is ignored.
    if general and "clang" in version(general):
        return general
    if default := _default_compiler():
        return default
    # No other clang was found, so the error names CC, which the user has to change.
    if general:
        _check_clang("CC", general)
    raise RuntimeError(f"the CPU device needs a clang and none was found; {INSTALL}")


def _check_clang(variable: str, compiler: str) -> None:
    """Raise RuntimeError unless the compiler that a variable names is a clang."""
    text = version(compiler)
    if "clang" not in text:
        message = f"the environment variable {variable} is {compiler!r}, which is no clang ({text})"
        raise RuntimeError(f"{message}; unset it or {INSTALL}")


def without_compile_processes() -> None:
    """Have tinygrad compile all kernels in this process from now on."""
    Context(PARALLEL=0).__enter__()  # type: ignore[no-untyped-call]


@functools.cache
def nvrtc_library() -> str | None:
    """Return the path of NVRTC, the compiler of CUDA, in NVIDIA's wheels; None without one.

    The oldest of several is returned, since an old driver cannot load the code of a newer one. NVRTC 13 does not find
    a library that lies beside it, so that library is loaded here.
    """
    spec = importlib.util.find_spec("nvidia")
    folders = map(Path, (spec and spec.submodule_search_locations) or ())
    files = [file for folder in folders for file in folder.glob("*/lib/libnvrtc.so.[0-9]*")]
    oldest = min(files, key=lambda file: file.suffix, default=None)
    for builtins in [] if oldest is None else oldest.parent.glob("libnvrtc-builtins.so*"):
        with suppress(OSError):
            ctypes.CDLL(str(builtins))
    return None if oldest is None else str(oldest)


@contextmanager
def compilers_in_environment() -> Iterator[None]:
    """Set CC to the clang for tinygrad's own kernels, and NVRTC_PATH to the NVRTC of a wheel, within this block.

    tinygrad's `getenv` caches the first value that it reads, so tinygrad keeps using this clang in this process.
    """
    before = {name: os.environ.get(name) for name in ("CC", "NVRTC_PATH")}
    if before["NVRTC_PATH"] is None and (library := nvrtc_library()):
        os.environ["NVRTC_PATH"] = library
    compiler = None
    with suppress(RuntimeError):  # a device other than the CPU needs none
        compiler = cpu_compiler()
    if compiler:
        os.environ["CC"] = _compiler_wrapper(compiler) or compiler
        getenv.cache_clear()  # type: ignore[attr-defined]
        getenv("CC", "clang")
        # Compile processes, which tinygrad starts later, read the user's CC again. If that names no clang, or none is
        # found without it, tinygrad compiles in this process from now on.
        names_other = before["CC"] not in (None, compiler)
        if names_other or not shutil.which("clang" if before["CC"] is None else before["CC"]):
            without_compile_processes()
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@functools.cache
def identity() -> str:
    """Return a text that differs for compilers and processors whose programs may differ."""
    zig = _zig()
    compiler = cpu_compiler()
    is_zig = zig is not None and compiler == _compiler_wrapper(str(zig), "clang")
    # An update of the wheel changes its executable, but not the script that calls it.
    file = Path(str(zig) if is_zig else shutil.which(compiler) or compiler)
    status = file.stat()
    return f"{file} {status.st_size} {status.st_mtime_ns} {processor()}"


@functools.cache
def processor() -> str:
    """Return the model and the features of the processor; without /proc/cpuinfo, the name of the system."""
    try:
        with open("/proc/cpuinfo") as file:
            lines = iter(file.readline, "\n")  # an empty line follows the first core
            return "".join(line for line in lines if line.startswith(("model name", "flags", "CPU", "Features")))
    except OSError:
        return str(os.uname() if hasattr(os, "uname") else "")


def compile_object(source: str, arch: str, options: Sequence[str]) -> bytes:
    """Return the object file of a kernel in C.

    Args:
        source: the kernel.
        arch: architecture of the processor, as clang names it in a target.
        options: options of a renderer's compiler, which name the processor.

    Raises:
        RuntimeError: clang refuses the source; the message is clang's.
    """
    # tinygrad's loader reads ELF on every system, so the target has no operating system.
    command = [cpu_compiler(), *OPTIONS, f"--target={arch}-none-unknown-elf", *options, "-", "-o", "-"]
    result = subprocess.run(command, input=source.encode(), capture_output=True, check=False)
    if result.returncode:
        raise RuntimeError(f"{command[0]} exits with {result.returncode}: {result.stderr.decode()}")
    return result.stdout
