"""Play one large batch of random games in several processes, or on several machines by Ray.

    python scripts/distributed_rollout.py --env tic_tac_toe --batch 65536 --steps 1000 --workers 2
    python scripts/distributed_rollout.py --workers 64 --ray auto   # a running cluster; --ray alone starts one

Each worker plays consecutive rows on one core. A game is a pure function of the seed, its row and its episode, so
workers do not communicate, and together they return what one process returns, bit for bit. With Ray (extra `ray`)
tensor_envs must be installed on all machines of the cluster.
"""

import argparse
import importlib
import multiprocessing
import os
import signal
import socket
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any, NamedTuple

import numpy as np

import tensor_envs as te
from tensor_envs._command import MAX_COUNT, add_game, busy, command_parser, game_of, run, whole
from tensor_envs._validate import need

RAY_SETTINGS = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}  # no reports, no warning
RAY_LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}  # Ray listens on the loopback interface only


class Results(NamedTuple):
    """Results of every row: `returns` [B, P] float32, `wins` [B, P] int32, `episodes` [B] int32; seconds of play."""

    returns: np.ndarray
    wins: np.ndarray
    episodes: np.ndarray
    seconds: float


def play(env: te.Env, share: te.Shard, seed: int, steps: int) -> Results:
    """Play one worker's rows."""
    te.set_num_threads(1)
    state = env.init(share.batch, seed, "CPU", share.first_row)
    te.rollout_from(state, "uniform", 1).wins.numpy()  # compiles the kernels
    start = time.perf_counter()
    result = te.rollout_from(state, "uniform", steps)
    arrays = result.returns.numpy(), result.wins.numpy(), result.episodes.numpy()
    return Results(*arrays, time.perf_counter() - start)


def in_processes(tasks: Sequence[tuple[Any, ...]]) -> list[Results]:
    """Call `play` with each tuple of arguments, in a process of this machine."""
    with ProcessPoolExecutor(len(tasks), multiprocessing.get_context("spawn")) as pool:
        # A terminal's Ctrl-C also reaches the processes of the pool, which would print where they were. They start
        # without a handler, and this process ends them.
        handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
        results = pool.map(play, *zip(*tasks, strict=True))
        signal.signal(signal.SIGINT, handler)
        try:
            return list(results)
        finally:  # after Ctrl-C the pool would wait for its processes
            for process in multiprocessing.active_children():
                process.terminate()


def on_ray(tasks: Sequence[tuple[Any, ...]], address: str) -> list[Results]:
    """Call `play` with each tuple of arguments, on a core of a Ray cluster; "local" starts one on this machine."""
    local = address.startswith(("local", "127."))
    if address not in ("local", "auto"):  # Ray itself would try for minutes
        try:
            host, port = address.rsplit(":", 1)
            socket.create_connection((host, int(port)), timeout=10).close()
        except (OSError, ValueError, OverflowError) as error:
            raise ValueError(f"--ray must be auto or host:port, got {address!r}: {error}") from None
    for name, value in (RAY_SETTINGS | RAY_LOOPBACK if local else RAY_SETTINGS).items():
        os.environ.setdefault(name, value)  # Ray reads its settings when it is imported
    need("ray", "--ray", "ray")
    ray: Any = importlib.import_module("ray")
    size = {"num_cpus": len(tasks), "include_dashboard": False} if address == "local" else {}
    try:
        ray.init(address, log_to_driver=False, logging_level="ERROR", **size)
        ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])  # other machines lack this module
        worker = ray.remote(num_cpus=1, scheduling_strategy="SPREAD")(play)
        return list(ray.get([worker.remote(*task) for task in tasks]))
    except ray.exceptions.RayError as error:
        raise RuntimeError(f"a worker failed: {str(error).strip().splitlines()[-1]}") from error
    finally:
        ray.shutdown()


def rollout(env: te.Env, batch: int, steps: int, workers: int, seed: int, address: str | None) -> Results:
    """Return `te.rollout(env, "uniform", batch, steps, seed)`, by processes or at the address of a Ray cluster."""
    tasks = [(env, te.shard(batch, rank, workers), seed, steps) for rank in range(workers)]
    with busy(f"{workers} workers start, compile and play"):
        parts = in_processes(tasks) if address is None else on_ray(tasks, address)
    returns, wins, episodes, seconds = zip(*parts, strict=True)
    return Results(np.concatenate(returns), np.concatenate(wins), np.concatenate(episodes), max(seconds))


def work(options: argparse.Namespace) -> None:
    batch, steps, workers = options.batch, options.steps, min(options.workers, options.batch)
    results = rollout(game_of(options), batch, steps, workers, options.seed, options.ray)
    games = int(results.episodes.sum(dtype=np.int64))
    print(f"{options.env}: {batch:,} rows x {steps:,} steps, {games:,} games ended")
    print("| player | wins | share of games | mean return a game |\n|---|---:|---:|---:|")
    wins, returns = results.wins.sum(0, dtype=np.int64), results.returns.sum(0, dtype=np.float64)
    for player, (won, earned) in enumerate(zip(wins.tolist(), returns.tolist(), strict=True)):
        print(f"| {player} | {won:,} | {won / max(games, 1):.4f} | {earned / max(games, 1):+.4f} |")
    speeds = f"{games / results.seconds:,.0f} games/s, {batch * steps / results.seconds:,.0f} steps/s"
    print(f"{workers} workers, {results.seconds:.2f} s: {speeds}")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser("python scripts/distributed_rollout.py", __doc__)
    add_game(parser)
    parser.add_argument("--batch", type=whole(1, MAX_COUNT), default=65536)
    parser.add_argument("--steps", type=whole(1, MAX_COUNT), default=1000)
    parser.add_argument("--workers", type=whole(1, 4096), default=os.cpu_count(), help="default: the cores")
    parser.add_argument("--seed", type=whole(0, 2**64 - 1), default=0)
    parser.add_argument("--ray", nargs="?", const="local", metavar="ADDRESS", help="auto or host:port")
    run(parser, work, arguments)
