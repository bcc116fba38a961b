"""A game's kernels as one WebAssembly module: the same ones that the CPU device runs, written for another machine."""

from __future__ import annotations

import functools
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tinygrad import UOp, dtypes
from tinygrad.codegen import to_program
from tinygrad.device import Compiler
from tinygrad.dtype import DType
from tinygrad.helpers import Target
from tinygrad.renderer import Estimates
from tinygrad.renderer.cstyle import ClangRenderer
from tinygrad.uop.ops import KernelInfo, Ops, PatternMatcher, UPat

from tensor_envs.core.backend.clang import NO_EPILOGUES
from tensor_envs.core.backend.launch import ANY_SIZE
from tensor_envs.core.backend.lower import lowered
from tensor_envs.core.env import Env
from tensor_envs.core.kernels.block import LANES, Grid
from tensor_envs.core.kernels.rollout import Rollout
from tensor_envs.core.kernels.states import Init, Seed
from tensor_envs.core.kernels.step import Sample, Step
from tensor_envs.core.kernels.tracer import Kernel, Tracer
from tensor_envs.core.layout import RNG_WORDS
from tensor_envs.rules.control import tracing

# what a page does with its games: the arrays of a kernel by the names that `arrays` has, a state being changed in place
KERNELS: dict[str, tuple[Kernel, tuple[str | None, ...]]] = {
    "seed": (Seed(), ("rng", "scalars")),
    "init": (Init(), ("words", "rng")),
    "uniform": (Step("same_step", uniform=True), ("words", None, "rng", "actions")),
    "rollout": (Rollout("same_step"), ("words", "words", "rng", "totals", "scalars")),
    "sample": (Sample(), ("words", "rng", "actions")),
    "step": (Step(), ("words", None, "rng", "actions")),
}
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
def renderer() -> Renderer:
    return Renderer()


def arrays(env: Env) -> dict[str, tuple[DType, int]]:
    """What the kernels of a game read and write: dtype, and values a game; 0 of what is of no game."""
    return {
        "words": (dtypes.uint32, env._engine.layout.words),
        "rng": (dtypes.uint32, RNG_WORDS),
        "actions": (dtypes.int32, 1),
        "totals": (dtypes.float32, 2 * env.num_players),
        "scalars": (dtypes.int32, 0),  # the seed's words and the first row; a rollout's steps
        "share": (dtypes.int32, 0),  # the first block to play, and how many
    }


def source(env: Env, name: str) -> tuple[str, list[str]]:
    """A kernel in C, and the names of its arrays in the order of its parameters."""
    kernel, given = KERNELS[name]
    known = arrays(env)
    slots = list(known)
    parameter = {
        array: UOp.placeholder((ANY_SIZE,), dtype, k) for k, (array, (dtype, _)) in enumerate(known.items())
    }
    engine, form = env._engine, Grid(1, LANES, gpu=False).form
    with tracing():
        tracer = Tracer(engine.game, engine.layout, form, parameter["share"])
        passed = [None if array is None else parameter[array] for array in given]
        done = kernel.trace(tracer, type(kernel).Arrays(*passed))  # type: ignore[attr-defined]
    sink = done.sink(arg=KernelInfo(name, estimates=Estimates()), tag=1)
    program: Any = to_program(lowered(sink, renderer()), renderer())
    (text,) = (part.arg for part in program.src if part.op is Ops.SOURCE)
    return text, [slots[k] for k in program.arg.globals]


def module(env: Env) -> tuple[bytes, dict[str, list[str]]]:
    """All kernels of a game as a WebAssembly module, and the names of the arrays that each takes.

    RuntimeError if the compiler does not take them.
    """
    sources = {name: source(env, name) for name in KERNELS}
    text = "\n".join(text for text, _ in sources.values())
    with TemporaryDirectory(prefix="tensor_envs-") as folder:
        made, linked = Path(folder, "game.o"), Path(folder, "game.wasm")
        _zig(*COMPILE, "-", "-o", str(made), text=text)
        exports = [f"--export={name}" for name in sources]
        _zig(*LINK, *exports, str(made), "-o", str(linked))
        return linked.read_bytes(), {name: names for name, (_, names) in sources.items()}


def _zig(*arguments: str, text: str = "") -> None:
    done = subprocess.run(
        [sys.executable, "-m", "ziglang", *arguments], input=text, capture_output=True, text=True
    )
    if done.returncode:
        raise RuntimeError(f"{arguments[0]} cannot make WebAssembly: {done.stderr.strip()[:200]}")


def described(env: Env) -> dict[str, Any]:
    """What a page must know of a game besides its kernels: names of actions, sizes of arrays, and where things lie."""
    layout = env._engine.layout
    return {
        "id": env.id,
        "players": env.num_players,
        "actions": [env.action_to_string(action) for action in range(env.num_actions)],
        "arrays": {name: values for name, (_, values) in arrays(env).items()},
        "rewards": layout.rewards,
        "mask": layout.mask,
        "slots": {name: [list(slot) for slot in slots] for name, slots in layout.slots.items()},
    }
