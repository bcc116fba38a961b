"""Measure the positions that self-play and learning process per second of processor time, compiling excluded.

    python scripts/benchmark.py --training
    git worktree add ../before 76009c4 && python scripts/benchmark.py --training --before ../before

A step of `te.train.AlphaZero` by its defaults is 16 decisions in each of 256 games, with searches of 32 simulations,
and 24 optimiser steps. With `--before`, a worktree of commit 76009c4, that version's script with the same settings
takes turns with this one. Each has a process of its own, with one thread on the same core.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median, quantiles

from tensor_envs._command import Failure, busy, command_parser, device_of, run, whole

ROOT = Path(__file__).resolve().parents[2]
NOW = """
import tensor_envs as te
trainer = te.train.AlphaZero(te.make({env!r}))
step = trainer.step
positions = trainer.config.num_envs * trainer.config.rollout_length
"""
SETTINGS = "--updates 24 --keep 48 --explore 8 --trust 0.2 --rate 0.004"  # what that version calls today's defaults
BEFORE = """
import command.first
from train import alphazero
options = alphazero.make_parser().parse_args("--env {env} {settings}".split())
options.game, options.known = alphazero.te.make({env!r}), None
learner = alphazero.Learner(options)
step = lambda: learner.update(1.0)
positions = options.num_envs * options.steps
"""
LOOP = """
import os, sys, time
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {{min(os.sched_getaffinity(0))}})
{prepare}
for _ in range(3):  # compiles, captures
    step()
print("ready", flush=True)
for _ in sys.stdin:
    begin = time.process_time()
    step()
    print(positions / (time.process_time() - begin), flush=True)
"""


class Worker:
    """Process that takes a step of training for every line that it reads."""

    def __init__(self, prepare: str, *paths: Path):
        threads = dict.fromkeys(("TENSOR_ENVS_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")
        environment = os.environ | threads | {"PYTHONPATH": os.pathsep.join(map(str, paths))}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        code = LOOP.format(prepare=prepare)
        self.process = subprocess.Popen([sys.executable, "-c", code], cwd=paths[0], env=environment, **pipes)  # type: ignore[call-overload]
        self.line()

    def line(self) -> str:
        text: str = self.process.stdout.readline()
        if not text:
            raise Failure("a process of training ended early; its error is above")
        return text

    def rate(self) -> float:
        """Return the positions per second of one step."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return float(self.line())

    def close(self) -> None:
        with self.process:  # which closes its pipes and waits
            pass


def compare(options: argparse.Namespace) -> None:
    workers = list[Worker]()
    try:
        with busy("compiling"):
            workers.append(Worker(NOW.format(env=options.env), ROOT))
            if options.before is not None:
                text = BEFORE.format(env=options.env, settings=SETTINGS)
                workers.append(Worker(text, options.before, options.before / "scripts"))
        rounds = [[worker.rate() for worker in workers] for _ in range(options.runs)]
    finally:
        for worker in workers:
            worker.close()
    print(f"{options.env} on {device_of()}: {median(r[0] for r in rounds):,.0f} positions/s")
    if options.before is not None:
        ratios = [now / before for now, before in rounds]
        low, _, high = quantiles(ratios)
        rate = median(r[1] for r in rounds)
        print(f"76009c4: {rate:,.0f} positions/s; ratio {median(ratios):.2f} (quartiles {low:.2f} and {high:.2f})")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser("python scripts/benchmark.py", __doc__)
    parser.add_argument("--training", action="store_true", required=True, help="self-play and learning, not steps")
    parser.add_argument("--env", default="connect_four", metavar="ID", help="default: %(default)s")
    parser.add_argument("--runs", type=whole(2, 10_000), default=11, help="steps of training; default: %(default)s")
    parser.add_argument("--before", type=Path, metavar="FOLDER", help="a worktree of commit 76009c4")
    run(parser, compare, arguments)
