"""Compilation of C to WebAssembly by the clang of the ziglang wheel."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

from tensor_envs._runtime.clang import NO_EPILOGUES

# All browsers since 2023 have vectors of 128 bits and bulk memory operations.
COMPILE = ["clang", "-target", "wasm32", "-msimd128", "-mbulk-memory", "-O2", "-ffreestanding", "-fno-math-errno"]
COMPILE += ["-ffp-contract=off", "-std=gnu11", "-w", *NO_EPILOGUES.split(), "-c", "-x", "c", "-"]
LINK = ["wasm-ld", "--no-entry", "--strip-all", "--stack-first", "--export=__heap_base", "-z", "stack-size=1048576"]


def webassembly(source: str, names: Iterable[str]) -> bytes:
    """Return a WebAssembly module that exports functions of a source, its memory and `__heap_base`.

    Args:
        source: the text in C.
        names: names of the functions.

    Raises:
        RuntimeError: the compiler refuses the source.
    """
    with TemporaryDirectory(prefix="tensor_envs-") as folder:
        compiled, linked = (str(Path(folder, name)) for name in ("game.o", "game.wasm"))
        _zig(*COMPILE, "-o", compiled, text=source)
        _zig(*LINK, *(f"--export={name}" for name in names), compiled, "-o", linked)
        return Path(linked).read_bytes()


def _zig(*arguments: str, text: str = "") -> None:
    command = [sys.executable, "-m", "ziglang", *arguments]
    result = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if result.returncode:
        raise RuntimeError(f"{arguments[0]} cannot make WebAssembly: {result.stderr.strip()[:200]}")
