"""One large batch of random games on several cores or machines, by Ray (extra `ray`).

    python scripts/ray_rollout.py --env tic_tac_toe --batch 65536 --steps 1000 --workers 2
    python scripts/ray_rollout.py --env three_will --workers 64 --address auto    # a cluster that runs already

Every worker is an actor on a core of its own, and holds a part of the batch: the rows from some row on. A game is a
pure function of the seed, its row and its episode, so the workers need nothing from each other, and the results are
those of one process bit for bit, however many there are and wherever they run. A worker that dies is started again and
plays the same games. On machines of a cluster tensor_envs must be installed.
"""

from __future__ import annotations

import argparse
import importlib
import os
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import tensor_envs as te
from tensor_envs._command import MAX_COUNT, add_game, busy, command_parser, game_of, run, whole

QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}  # no reports, no warning
# Ray's own switch, on every system, for listening on the loopback interface instead of all
LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
STORE_BYTES = 100 * 2**20  # Ray's shared memory on this machine; results are 20 bytes a row and two players
MAX_WORKERS = 4096


@dataclass(frozen=True)
class Results:
    """What became of every row [B]: `returns` float32 [B, P], `wins` int32 [B, P], `episodes` int32 [B]."""

    returns: np.ndarray
    wins: np.ndarray
    episodes: np.ndarray
    seconds: float  # of the slowest worker's rollout with its way here, compilation apart
    nodes: int  # machines that took part


def import_ray(address: str | None) -> Any:
    """Ray, which reads its settings when it is first imported. ImportError that names the extra if it is not there."""
    here = address is None or address.startswith(("127.", "localhost:"))
    for name, value in (QUIET | LOOPBACK if here else QUIET).items():
        os.environ.setdefault(name, value)
    try:
        return importlib.import_module("ray")
    except ImportError as error:
        raise ImportError("Ray is not installed; install it with `pip install 'tensor_envs[ray]'`") from error


def rollout(
    env: te.Env, batch: int, steps: int, workers: int, seed: int = 0, address: str | None = None
) -> Results:
    """`te.rollout(env, "uniform", batch, steps, seed)` by so many workers, each on one core's CPU device.

    address: of a Ray cluster that runs already ("auto": the one of this machine); by default Ray is started on this
    machine, on the loopback interface, and shut down again. ValueError for more workers than rows and for an impossible
    address, before Ray is started; ImportError without Ray; ConnectionError if there is no
    cluster at the address; RuntimeError if a worker fails.
    """
    if not 1 <= workers <= (most := min(batch, MAX_WORKERS)):
        raise ValueError(f"workers must be in 1..{most}, got {workers}")
    if address is not None and address != "auto":
        knock(address)
    with busy("starting Ray"):
        ray = import_ray(address)
    try:
        with busy("starting Ray"):
            connect(ray, address, workers)
        with busy(f"{workers} workers start and compile"):
            shares = [te.shard(batch, rank, workers) for rank in range(workers)]
            actors = [worker(ray).remote(env, share, seed) for share in shares]
            nodes = ray.get([actor.warm_up.remote() for actor in actors])
        with busy(f"{workers} workers play"):
            start = time.perf_counter()
            parts = ray.get([actor.play.remote(steps) for actor in actors])
            seconds = time.perf_counter() - start
    except ray.exceptions.RayError as error:
        raise RuntimeError(f"a worker failed: {str(error).strip().splitlines()[-1]}") from error
    finally:
        ray.shutdown()
    returns, wins, episodes = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return Results(returns, wins, episodes, seconds, len(set(nodes)))


def connect(ray: Any, address: str | None, workers: int) -> None:
    """A cluster with a core for every worker; ValueError if that at the address has fewer."""
    quiet = {"log_to_driver": False, "logging_level": "ERROR"}
    if address is None:
        size = {"num_cpus": workers, "object_store_memory": STORE_BYTES}
        ray.init("local", include_dashboard=False, **size, **quiet)
        return
    ray.init(address, **quiet)
    cores = int(ray.cluster_resources().get("CPU", 0))
    if workers > cores:
        raise ValueError(f"workers must be at most the {cores} cores of the cluster, got {workers}")


def knock(address: str) -> None:
    """ConnectionError unless somebody listens at host:port: Ray would try for minutes. ValueError for no address."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 2**16:
        raise ValueError(f"address must be 'auto' or host:port, got {address!r}")
    try:
        socket.create_connection((host, int(port)), timeout=10).close()
    except OSError as error:
        raise ConnectionError(f"there is no Ray cluster at address {address!r}: {error}") from None


def worker(ray: Any) -> Any:
    """The actor class. Defined in here, so that Ray sends its code along and other machines need no copy of this."""
    environment = {"env_vars": ONE_THREAD}

    @ray.remote(
        num_cpus=1,
        runtime_env=environment,
        scheduling_strategy="SPREAD",
        max_restarts=2,
        max_task_retries=2,
    )
    class Worker:
        """A share of the batch."""

        def __init__(self, env: te.Env, share: te.Shard, seed: int):
            import tensor_envs

            self.te = tensor_envs
            self.state = env.init(share.batch, seed, "CPU", share.first_row)

        def warm_up(self) -> str:
            """Compile, capture, and say on which node."""
            for _ in range(2):
                self.play(1)
            return str(ray.get_runtime_context().get_node_id())

        def process(self) -> int:
            return os.getpid()

        def play(self, steps: int) -> tuple[Any, Any, Any]:
            """The first `steps` steps of every row -> returns, wins, episodes."""
            whole = self.te.rollout_from(self.state, "uniform", steps)
            return whole.returns.numpy(), whole.wins.numpy(), whole.episodes.numpy()

    return Worker


def table(env: te.Env, results: Results, steps: int) -> str:
    """Sums over all rows. Games are counted by their ends, so long games are cut off more often than short ones."""
    games, rows = int(results.episodes.sum(dtype=np.int64)), len(results.episodes)
    lines = [f"{env.id}: {rows:,} rows x {steps:,} steps, {games:,} games ended"]
    wins, returns = results.wins.sum(0, dtype=np.int64), results.returns.sum(0, dtype=np.float64)
    lines.append("| player | wins | share of games | mean return a game |")
    lines.append("|---|---:|---:|---:|")
    for player, (won, earned) in enumerate(zip(wins.tolist(), returns.tolist(), strict=True)):
        share, mean = won / max(games, 1), earned / max(games, 1)
        lines.append(f"| {player} | {won:,} | {share:.4f} | {mean:+.4f} |")
    return "\n".join(lines)


def work(options: argparse.Namespace) -> None:
    names = ("batch", "steps", "workers", "seed", "address")
    env = game_of(options)
    results = rollout(env, **{name: getattr(options, name) for name in names})
    games, moves = int(results.episodes.sum(dtype=np.int64)), options.batch * options.steps
    print(table(env, results, options.steps))
    print(
        f"{options.workers} workers on {results.nodes} nodes, each on its CPU, {results.seconds:.2f} s:"
        f" {games / results.seconds:,.0f} games/s, {moves / results.seconds:,.0f} steps/s"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser("ray_rollout.py", __doc__)
    add_game(parser)
    parser.add_argument("--batch", type=whole(1, MAX_COUNT), default=65536)
    parser.add_argument("--steps", type=whole(1, MAX_COUNT), default=1000)
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="default: the cores")
    parser.add_argument("--seed", type=whole(0, 2**64 - 1), default=0)
    parser.add_argument("--address", help="of a Ray cluster that runs already, or auto")
    run(parser, work, arguments)


if __name__ == "__main__":
    main()
