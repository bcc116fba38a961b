"""Kernels in C for WebAssembly, and a module made of them by the clang of the ziglang wheel."""

from __future__ import annotations

import functools
import subprocess
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
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
TARGET = ["clang", "-target", "wasm32", "-msimd128", "-mbulk-memory", "-w", "-c"]
OPTIMIZE = f"-O2 -ffreestanding -fno-math-errno -ffp-contract=off -std=gnu11 -x c {NO_EPILOGUES} -".split()
# Operations as they stand: from -O1 on, they are put where their results are used, in half the bytes.
WRITE = ["-O0", "-mllvm", "-fast-isel=false"]
LONG = 100_000  # characters of a kernel
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

    def render(self, uops: list[UOp]) -> str:
        return super().render(interleaved(uops))


STAY = {Ops.STORE, Ops.RANGE, Ops.END, Ops.IF, Ops.ENDIF, Ops.PARAM, Ops.SINK}  # others move between these


def interleaved(uops: list[UOp]) -> list[UOp]:
    """Operations by how many wait for each, one for the other: those of several lanes alternate.

    A browser leaves them in their order, and a processor that waits for one does not look far ahead.
    """
    ordered: list[UOp] = []
    part: list[UOp] = []
    for u in uops:
        if u.op not in STAY:
            part.append(u)
            continue
        waiting = dict.fromkeys(part, 0)
        for x in reversed(part):
            for source in x.src:
                if source in waiting:
                    waiting[source] = max(waiting[source], waiting[x] + 1)
        ordered += [*sorted(part, key=lambda x: -waiting[x]), u]
        part = []
    return ordered + part


@functools.cache
def _renderer() -> Renderer:
    return Renderer()


def c_of(name: str, body: Callable[..., UOp], kinds: Sequence[DType]) -> tuple[str, list[int]]:
    """A kernel of arrays of these dtypes in C, and which of them it takes, in the order of its parameters."""
    parameters = [UOp.placeholder((ANY_SIZE,), dtype, k) for k, dtype in enumerate(kinds)]
    program, used = program_of(name, body, parameters, _renderer(), estimates=lambda _: Estimates())()
    (text,) = (part.arg for part in program.src if part.op is Ops.SOURCE)
    return text, used


def webassembly(sources: Mapping[str, str], fast: Collection[str]) -> bytes:
    """A module of kernels in C by their names; fast: those to be so, unless they are long.

    RuntimeError if the compiler does not take it.
    """
    parts = ["", ""]
    for name, text in sources.items():
        parts[name in fast and len(text) <= LONG] += text
    with TemporaryDirectory(prefix="tensor_envs-") as folder:
        small, code, large, linked = (
            str(Path(folder, name)) for name in ("small.o", "large.bc", "large.o", "game.wasm")
        )
        _zig(*TARGET, *OPTIMIZE, "-o", small, text=parts[0])
        _zig(*TARGET, *OPTIMIZE, "-emit-llvm", "-o", code, text=parts[1])
        _zig(*TARGET, *WRITE, code, "-o", large)
        _zig(*LINK, *(f"--export={name}" for name in sources), small, large, "-o", linked)
        return Path(linked).read_bytes()


def _zig(*arguments: str, text: str = "") -> None:
    command = [sys.executable, "-m", "ziglang", *arguments]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{arguments[0]} cannot make WebAssembly: {done.stderr.strip()[:200]}")
