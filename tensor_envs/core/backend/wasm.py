"""Kernels in C for WebAssembly, and a module made of them by the clang of the ziglang wheel."""

from __future__ import annotations

import functools
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from tinygrad import UOp, dtypes
from tinygrad.device import Compiler
from tinygrad.dtype import DType
from tinygrad.helpers import Target
from tinygrad.renderer import Estimates
from tinygrad.renderer.cstyle import ClangRenderer
from tinygrad.uop.ops import Ops, PatternMatcher, UPat

from tensor_envs.core.backend.clang import NO_EPILOGUES
from tensor_envs.core.backend.launch import ANY_SIZE, program_of

# 32 bits an address; vectors of 128 bits and filling memory at once are in every browser since 2023
COMPILE = (
    "clang -target wasm32 -O2 -msimd128 -mbulk-memory -ffreestanding -fno-math-errno -ffp-contract=off "
    f"-std=gnu11 -w -x c -c {NO_EPILOGUES}"
).split()
LINK = [
    "wasm-ld",
    "--no-entry",
    "--strip-all",
    "--stack-first",
    "--export=__heap_base",
    "-z",
    "stack-size=1048576",
]


class Renderer(ClangRenderer):
    """C for a machine whose `long` has 32 bits; it is not compiled kernel by kernel."""

    type_map = ClangRenderer.type_map | {dtypes.int64: "long long", dtypes.uint64: "unsigned long long"}
    string_rewrite = (
        PatternMatcher(
            [
                (UPat.cvar("c").cast(dtypes.int64), lambda ctx, c: f"{c.val}ll"),
                (UPat.cvar("c").cast(dtypes.uint64), lambda ctx, c: f"{c.val % 2**64}ull"),
            ]
        )
        + ClangRenderer.string_rewrite
    )

    def __init__(self) -> None:
        super(ClangRenderer, self).__init__(Target("CPU", arch="wasm32"))
        self.compiler = Compiler()


@functools.cache
def _renderer() -> Renderer:
    return Renderer()


def c_of(name: str, body: Callable[..., UOp], kinds: Sequence[DType]) -> tuple[str, list[int]]:
    """A kernel of arrays of these dtypes in C, and which of them it takes, in the order of its parameters."""
    parameters = [UOp.placeholder((ANY_SIZE,), dtype, k) for k, dtype in enumerate(kinds)]
    program, used = program_of(name, body, parameters, _renderer(), estimates=lambda _: Estimates())
    (text,) = (part.arg for part in program.src if part.op is Ops.SOURCE)
    return text, used


def webassembly(sources: Sequence[str], exports: Sequence[str]) -> bytes:
    """A module of some C. RuntimeError if the compiler does not take it."""
    with TemporaryDirectory(prefix="tensor_envs-") as folder:
        made, linked = Path(folder, "game.o"), Path(folder, "game.wasm")
        _zig(*COMPILE, "-", "-o", str(made), text="\n".join(sources))
        _zig(*LINK, *(f"--export={name}" for name in exports), str(made), "-o", str(linked))
        return linked.read_bytes()


def _zig(*arguments: str, text: str = "") -> None:
    command = [sys.executable, "-m", "ziglang", *arguments]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{arguments[0]} cannot make WebAssembly: {done.stderr.strip()[:200]}")
