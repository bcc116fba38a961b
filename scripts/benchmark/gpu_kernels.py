"""Compile every game's kernels for a GPU, which need not be present, and print their resources as a Markdown table.

tinygrad's NULL device compiles kernels for any target and runs none of them. For CUDA the table has registers per
thread, bytes of local memory per thread (its stack: arrays that are not in registers, and spilled registers), bytes of
code, and the threads that are resident on a multiprocessor, out of 2048. A block is 64 games, a thread one game.

    python scripts/benchmark/gpu_kernels.py    # CUDA:sm_90, an H100 or H200; needs nvidia-cuda-nvrtc-cu12
    python scripts/benchmark/gpu_kernels.py --target WGSL --env shed
"""

from __future__ import annotations

import argparse
import struct
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tinygrad.device import CompileError
from tinygrad.helpers import DEV
from tinygrad.runtime.support.elf import elf_loader

import tensor_envs as te
from tensor_envs._command import busy, command_parser, run

if not __package__:  # run as a file: modules of the scripts are in the folder above
    sys.path[0] = str(Path(__file__).resolve().parents[1])


GAMES = 128
# resources of a multiprocessor; a warp's registers are allocated in units
REGISTERS, UNIT, THREADS, BLOCKS = 65536, 256, 2048, 32
WARP, BLOCK = 32, 64
# public calls that compile them, given an environment and a state
KERNELS: dict[str, Callable[[Any, Any], object]] = {
    "step": lambda env, state: env.step(state, te.agents.uniform(state)),
    "uniform": lambda env, state: te.VectorEnv(env, GAMES).step_uniform(),
    "uniform, next_step": lambda env, state: te.VectorEnv(env, GAMES, autoreset="next_step").step_uniform(),
    "uniform, disabled": lambda env, state: te.VectorEnv(env, GAMES, autoreset="disabled").step_uniform(),
    "uniform, observe": lambda env, state: te.VectorEnv(env, GAMES, observe=True).step_uniform(),
    "rollout": lambda env, state: te.rollout_from(state, "uniform", 8),
    "rollout, disabled": lambda env, state: te.rollout_from(state, "uniform", 8, autoreset="disabled"),
    "playout": lambda env, state: te.playout(state, 1),
    "observe": lambda env, state: env.observe(state),
    "gather": lambda env, state: env.take(state, range(GAMES)),
    "reset": lambda env, state: env.reset(state),
    "refresh": lambda env, state: env.engine.refresh(state.buffers),
}


class KernelResources(NamedTuple):
    """Registers and bytes of local memory per thread, and bytes of code."""

    registers: int
    stack: int
    code: int

    @property
    def resident(self) -> int:
        """Threads that are resident on a multiprocessor."""
        warps = BLOCK // WARP
        blocks = REGISTERS // (-(-self.registers * WARP // UNIT) * UNIT * warps)
        return min(blocks, BLOCKS, THREADS // BLOCK) * BLOCK


def resources_of(binary: bytes) -> KernelResources:
    """Read EIATTR_REGCOUNT, EIATTR_MIN_STACK_SIZE and the code size from a kernel compiled for CUDA."""
    sections = elf_loader(binary)[1]
    code = sum(s.header.sh_size for s in sections if s.name.startswith(".text."))
    attributes = next(s.content for s in sections if s.name == ".nv.info")
    values, at = {}, 0
    while at < len(attributes):
        form, kind, size = struct.unpack_from("<BBH", attributes, at)
        if form == 4:  # else the size is the value
            values[kind] = struct.unpack_from("<II", attributes, at + 4)[1]
            at += size
        at += 4
    return KernelResources(values[0x2F], values[0x12], code)


def compiled(name: str, kernel: str) -> Any:
    """Compile a kernel by its public call and return the program."""
    env = te.make(name)
    KERNELS[kernel](env, env.init(GAMES))
    kind = kernel.split(",")[0]
    names = {f"{type(env.rules).__name__}_{kind}", kind}  # games of one layout share a kernel that moves rows
    programs = [program for launcher in env.engine._launchers.values() for program in launcher.programs()]
    return [program for program in programs if program.arg.function_name in names][-1]


def work(options: argparse.Namespace) -> None:
    DEV.value = f"NULL:{options.target}"
    for name in options.env or ():
        te.make(name)
    try:
        te.make("tic_tac_toe").init(GAMES)  # fails early if nothing can be compiled for the target
    except CompileError as error:
        raise ValueError(f"--target {options.target} cannot be compiled for: {error}") from None
    print(f"compiled for {options.target}, run nowhere\n")
    print("| game | kernel | registers | local bytes | code bytes | resident threads |")
    print("|---|---|---|---|---|---|")
    for name in options.env or te.registered():
        for kernel in options.kernel:
            with busy(f"{name}, {kernel}: compiling for {options.target}"):
                binary = compiled(name, kernel).src[-1].arg
            if options.target.startswith("CUDA"):
                used = resources_of(binary)
                row = f"{used.registers} | {used.stack} | {used.code:,} | {used.resident}"
            else:
                row = f"| | {len(binary):,} |"
            print(f"| `{name}` | {kernel} | {row} |", flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser("python scripts/benchmark/gpu_kernels.py", __doc__)
    parser.add_argument("--target", default="CUDA:sm_90", help="renderer and architecture, as in DEV=NULL:...")
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
