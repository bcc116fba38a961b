"""Compare every game's kernels with the limits of one core, as a Markdown table.

The rows are a step of the uniform policy with auto-reset and a step of a rollout, the columns, per game and step:
kernels, bytes moved, operations, nanoseconds, and the limit. The limit is the longer of two times: bytes over the
bandwidth of a copy of the same size, and operations over the rate of `limits/rate.c`, both measured in the same run.
Operations are counted on the kernel's tape, with one iteration of loops of unknown length. The C compiler removes some
operations, so a kernel can exceed its limit.

    python scripts/benchmark/kernel_table.py --batch 4096 65536
"""

from __future__ import annotations

import argparse
import ctypes
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

if not __package__:  # run as a file: modules of the scripts are in the folder above
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import numpy as np
from tinygrad import Context
from tinygrad.helpers import GlobalCounters

import tensor_envs as te
from benchmark.c_baseline import library
from tensor_envs._command import add_games, busy, command_parser, device_of, run, whole

STEPS, RUNS, SECONDS = 64, 5, 0.2


def median_time(call: Callable[[], object]) -> float:
    """Return the seconds of a call, the median of several runs of many calls."""
    call()
    start = time.perf_counter()
    call()
    count = max(1, int(SECONDS / (time.perf_counter() - start)))
    runs = []
    for _ in range(RUNS):
        start = time.perf_counter()
        for _ in range(count):
            call()
        runs.append((time.perf_counter() - start) / count)
    return statistics.median(runs)


def operation_rate() -> float:
    """Measure the operations per second of the vector units."""
    c = library("rate")
    values, rounds = (ctypes.c_uint32 * 128)(*range(128)), 1_000_000
    per_round = ctypes.c_int64.in_dll(c, "operations_a_round").value
    return per_round * rounds / median_time(lambda: c.rate(values, ctypes.c_int64(rounds)))


def bandwidth(size: int) -> float:
    """Measure the bytes per second, read plus written, of a copy that moves `size` bytes in all."""
    source = np.ones(max(size // 2, 64), np.uint8)
    target = np.empty_like(source)
    return 2 * source.nbytes / median_time(lambda: np.copyto(target, source))


def operations(env: te.Env, task: str, batch: int) -> float:
    """Return the operations of the last compiled kernel of a task, per game and step."""
    launchers = [launcher for (kernel, *_), launcher in env.engine._launchers.items() if kernel.name == task]
    assert launchers, f"{task} has not been compiled"
    (program,) = launchers[-1].programs()
    blocks = next(filter(None, launchers[-1].compiled_blocks))
    lanes = env.engine.batch_layout(batch, "CPU").grid.lanes
    return float(program.src[0].arg.estimates.ops / blocks / lanes)


def lines(name: str, batch: int, rate: float) -> list[str]:
    env = te.make(name)
    vector = te.VectorEnv(env, batch)
    vector.step_uniform()
    before = GlobalCounters.kernel_count, GlobalCounters.global_mem
    vector.step_uniform()
    kernels, moved = GlobalCounters.kernel_count - before[0], (GlobalCounters.global_mem - before[1]) / batch
    state = env.init(batch)
    step = median_time(vector.step_uniform) / batch
    te.rollout_from(state, "uniform", STEPS)
    rollout = median_time(lambda: te.rollout_from(state, "uniform", STEPS)) / batch / STEPS
    table = []
    for task, count, size, took in (("uniform", kernels, moved, step), ("rollout", 1 / STEPS, 0.0, rollout)):
        done = operations(env, task, batch)
        memory, arithmetic = size / bandwidth(int(moved * batch)), done / rate
        limit = max(memory, arithmetic)
        mode = "step" if task == "uniform" else f"rollout of {STEPS}"
        by = "memory" if memory > arithmetic else "operations"
        row = f"`{name}` | {batch:,} | {mode} | {count:.2g} | {size:.0f} | {done:.0f} | {took * 1e9:.1f}"
        table.append(f"| {row} | {limit * 1e9:.1f} | {by} | {limit / took:.0%} |")
    return table


def work(options: argparse.Namespace) -> None:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    with busy("measuring the core"):
        rate, sizes = operation_rate(), (2**16, 2**20, 2**24)
        copies = ", ".join(f"{size >> 10} KiB {bandwidth(size) / 1e9:.0f} GB/s" for size in sizes)
    print(f"One core, {device_of()}; {rate / 1e9:.0f} billion 32-bit operations a second; copies: {copies}\n")
    print("| game | batch | | kernels | bytes | operations | ns | limit, ns | of | reached |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name in options.env:
        for batch in options.batch:
            with (
                busy(f"{name}, batch {batch}: compiling and timing"),
                Context(CACHELEVEL=0),  # type: ignore[no-untyped-call]  # a cached program has no tape
            ):
                table = lines(name, batch, rate)
            print("\n".join(table), flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser("python scripts/benchmark/kernel_table.py", __doc__)
    add_games(parser)
    parser.add_argument("--batch", nargs="+", type=whole(1), default=[4096, 65536], metavar="B")
    run(parser, work, arguments)


if __name__ == "__main__":
    main()
