"""A clang for tinygrad's CPU device: a CC that is one, the ziglang wheel's, or one on the PATH, in this order."""

import functools
import hashlib
import importlib.util
import os
import shutil
import stat
import subprocess
import tempfile
from pathlib import Path

from tinygrad.helpers import getenv

# LLVM 21 miscompiles the vectorised rest of a loop whose length is no multiple of the vector's (seen with AVX-512)
NO_EPILOGUES = "-mllvm -enable-epilogue-vectorization=false"
NEWEST_CLANG, OLDEST_CLANG = 30, 13
INSTALL = "install one: `pip install ziglang` (needs nothing else), or a package named clang of your system"


def _version(compiler: str) -> str:
    """The first line of `compiler --version`, or why there is none."""
    try:
        done = subprocess.run(
            [compiler, "--version"], capture_output=True, text=True, timeout=60, check=False
        )
    except OSError as error:
        return f"it cannot be run: {error.strerror}"
    except subprocess.TimeoutExpired:
        return "it does not answer"
    return (done.stdout or done.stderr).strip().split("\n")[
        0
    ] or f"it exits with {done.returncode} and says nothing"


def _zig_shim() -> str | None:
    """Path of a script that runs the ziglang wheel's clang: tinygrad takes CC as one executable, without arguments."""
    spec = importlib.util.find_spec("ziglang")
    if spec is None or not spec.submodule_search_locations:
        return None
    zig = Path(spec.submodule_search_locations[0]) / "zig"
    if not zig.exists():
        return None
    text = f"#!/bin/sh\nexec '{zig}' clang {NO_EPILOGUES} \"$@\"\n"
    name = f"zig-clang-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    cache = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"))
    for folder in (cache / "tensor_envs", Path(tempfile.gettempdir()) / f"tensor_envs-{os.getuid()}"):
        shim = folder / name
        try:
            if not shim.exists():
                folder.mkdir(parents=True, exist_ok=True)
                fresh = folder / f"{name}.{os.getpid()}"
                fresh.write_text(text)
                fresh.chmod(fresh.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
                fresh.replace(shim)
            return str(shim)
        except OSError:
            continue
    return None


@functools.cache
def _found() -> str | None:
    """The ziglang wheel's clang, or one on the PATH."""
    names = ["clang", *(f"clang-{n}" for n in range(NEWEST_CLANG, OLDEST_CLANG - 1, -1))]
    return _zig_shim() or next(filter(None, map(shutil.which, names)), None)


def offer_cpu_compiler() -> None:
    """Name the clang that is found to tinygrad, unless CC names one: at import, so that a user's own tensors work."""
    if not os.environ.get("CC") and (compiler := _found()):
        os.environ["CC"] = compiler
        getenv.cache_clear()  # type: ignore[attr-defined] # else it remembers a name that failed


@functools.cache
def cpu_compiler() -> str:
    """The clang that the CPU device uses. RuntimeError that says what to install, or what is wrong with CC."""
    offer_cpu_compiler()
    chosen = os.environ.get("CC")
    if not chosen:
        raise RuntimeError(f"the CPU device needs a clang and none was found; {INSTALL}")
    version = "clang" if chosen == _found() else _version(chosen)
    if "clang" not in version:
        message = f"the environment variable CC is {chosen!r}, which is no clang ({version})"
        raise RuntimeError(f"{message}; unset it or {INSTALL}")
    return chosen


def describe() -> str:
    """Name and version of the CPU compiler, for benchmark tables."""
    return _version(cpu_compiler())
