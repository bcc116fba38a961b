"""Every game's kernels compiled for a GPU that need not be here, and what they need of it, as a Markdown table.

tinygrad's NULL device renders and compiles kernels for any target and runs none of them. For CUDA the compiled code
says what it needs of a multiprocessor: registers a thread, bytes of local memory a thread (its stack: arrays that did
not become registers, and registers that were spilled), bytes of code, and from the registers the threads that are
resident at the same time, out of 2048. A block is 64 games, a thread a game.

With --model the table says instead what a game's step moves and does, and how many billion steps a second of all games
together a card's memory and its arithmetic would let through: bandwidth / bytes, and rate / instructions.

    python scripts/benchmark/gpu_kernels.py    # CUDA:sm_90, an H100 or H200; needs nvidia-cuda-nvrtc-cu12
    python scripts/benchmark/gpu_kernels.py --model H100 --kernel uniform rollout
    python scripts/benchmark/gpu_kernels.py --target WGSL --env shed
"""

from __future__ import annotations

import argparse
import os
import struct
import sys
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from tinygrad.device import CompileError
from tinygrad.helpers import DEV
from tinygrad.runtime.support.elf import elf_loader

import tensor_envs as te
from tensor_envs._command import Failure, busy, command_parser, run

if not __package__:  # run as a file: what the scripts share lies in the folder above
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from benchmark.gpu_model import CARDS, HEAD, rounds, row, work_of

GAMES = 128
# of a multiprocessor; a warp's registers come in units
REGISTERS, UNIT, THREADS, BLOCKS = 65536, 256, 2048, 32
WARP, BLOCK = 32, 64
# the call that makes each of them, with an environment and a state
KERNELS: dict[str, Callable[[Any, Any], object]] = {
    "step": lambda env, state: env.step(state, te.agents.uniform(state)),
    "uniform": lambda env, state: te.VectorEnv(env, GAMES).step_uniform(),
    "uniform, next_step": lambda env, state: te.VectorEnv(env, GAMES, autoreset="next_step").step_uniform(),
    "uniform, disabled": lambda env, state: te.VectorEnv(env, GAMES, autoreset="disabled").step_uniform(),
    "uniform, observe": lambda env, state: te.VectorEnv(env, GAMES, observe=True).step_uniform(),
    "rollout": lambda env, state: te.rollout_from(state, "uniform", 8),
    "rollout, disabled": lambda env, state: te.rollout_from(state, "uniform", 8, autoreset=False),
    "playout": lambda env, state: te.playout(state, 1),
    "observe": lambda env, state: env.observe(state),
    "gather": lambda env, state: env.take(state, range(GAMES)),
    "reset": lambda env, state: env.reset(state),
    "refresh": lambda env, state: env.engine.refresh(state._games),
}


class Needs(NamedTuple):
    """Registers and bytes of local memory of a thread, bytes of code."""

    registers: int
    stack: int
    code: int

    @property
    def resident(self) -> int:
        """Threads of a multiprocessor that run at the same time."""
        warps = BLOCK // WARP
        blocks = REGISTERS // (-(-self.registers * WARP // UNIT) * UNIT * warps)
        return min(blocks, BLOCKS, THREADS // BLOCK) * BLOCK


def needs(binary: bytes) -> Needs:
    """What a kernel compiled for CUDA says of itself: the attributes EIATTR_REGCOUNT and EIATTR_MIN_STACK_SIZE."""
    sections = elf_loader(binary)[1]
    code = sum(s.header.sh_size for s in sections if s.name.startswith(".text."))
    about = next(s.content for s in sections if s.name == ".nv.info")
    values, at = {}, 0
    while at < len(about):
        form, kind, size = struct.unpack_from("<BBH", about, at)
        if form == 4:  # else the size is the value
            values[kind] = struct.unpack_from("<II", about, at + 4)[1]
            at += size
        at += 4
    return Needs(values[0x2F], values[0x12], code)


def cuda_library() -> str | None:
    """NVRTC in the package nvidia-cuda-nvrtc-cu12, if that is installed."""
    try:
        files = metadata.files("nvidia-cuda-nvrtc-cu12") or []
    except metadata.PackageNotFoundError:
        return None
    return next((str(f.locate()) for f in files if f.name.startswith("libnvrtc.so")), None)


def machine_code(binary: bytes) -> bytes:
    """The instructions of a kernel compiled for CUDA."""
    return next(bytes(s.content) for s in elf_loader(binary)[1] if s.name.startswith(".text."))


def compiled(name: str, kernel: str) -> Any:
    """Return the program of a kernel, made by the call that a user makes."""
    env = te.make(name)
    KERNELS[kernel](env, env.init(GAMES))
    name = f"{type(env.rules).__name__}_{kernel.split(',')[0]}"
    programs = [program for function in env.engine._captures.values() for program in function.programs()]
    return [program for program in programs if program.arg.function_name == name][-1]


def modelled(card: str, name: str, kernel: str, program: Any) -> str:
    """A row of a card's model; Failure if a kernel's loops cannot be told."""
    try:
        steps = kernel.split(",")[0] in ("rollout", "playout")
        does = work_of(machine_code(program.src[-1].arg), rounds(program.src[2].arg, steps))
        return row(CARDS[card], name, kernel, does)
    except ValueError as error:
        raise Failure(f"{name!r}, {kernel}: no model of it, {error}") from None


def work(options: argparse.Namespace) -> None:
    if options.model and not options.target.startswith("CUDA"):
        raise ValueError(f"--model needs a --target of CUDA, got {options.target}")
    DEV.value = f"NULL:{options.target}"
    if options.target.startswith("CUDA") and (library := cuda_library()):
        os.environ.setdefault("NVRTC_PATH", library)
    for name in options.env or ():
        te.make(name)
    try:
        te.make("tic_tac_toe").init(GAMES)  # a kernel for the target, to see that there can be one
    except CompileError as error:
        raise ValueError(f"--target {options.target} cannot be compiled for: {error}") from None
    print(f"compiled for {options.target}, run nowhere\n")
    if options.model:
        print(f"A model: {CARDS[options.model].about}; billions of steps a second\n\n{HEAD}")
    else:
        print("| game | kernel | registers | local bytes | code bytes | resident threads |")
        print("|---|---|---|---|---|---|")
    for name in options.env or te.registered():
        for kernel in options.kernel:
            with busy(f"{name}, {kernel}: compiling for {options.target}"):
                program = compiled(name, kernel)
            if options.model:
                print(modelled(options.model, name, kernel, program), flush=True)
                continue
            binary = program.src[-1].arg
            if options.target.startswith("CUDA"):
                need = needs(binary)
                row = f"{need.registers} | {need.stack} | {need.code:,} | {need.resident}"
            else:
                row = f"| | {len(binary):,} |"
            print(f"| `{name}` | {kernel} | {row} |", flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser("gpu_kernels.py", __doc__)
    parser.add_argument(
        "--target", default="CUDA:sm_90", help="renderer and architecture, as in DEV=NULL:..."
    )
    parser.add_argument("--model", choices=list(CARDS), help="a card whose steps a second are worked out")
    parser.add_argument("--env", nargs="+", metavar="ID", help="ids or package.module:Class; default: all")
    parser.add_argument(
        "--kernel",
        nargs="+",
        choices=list(KERNELS),
        default=["uniform", "rollout", "playout"],
        metavar="KERNEL",
        help=f"among {', '.join(map(repr, KERNELS))}",
    )
    run(parser, work, arguments)


if __name__ == "__main__":
    main()
