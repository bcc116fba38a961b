"""Process that plays for `benchmark.py`: this package in one of its modes, C, or a peer.

`benchmark.py` runs it with a job as JSON in argv[1]. It prints JSON lines: first metadata (compile seconds, statistics
of its games, ...), then the steps/s of one timed run for every line "run" of standard input.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

if not __package__:  # run as a file: modules of the scripts are in the folder above
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import numpy as np

from benchmark.c_baseline import CBaseline
from benchmark.peers import EnvPool, OpenSpiel, Pgx
from benchmark.readers import READERS, reader
from benchmark.runner import EpisodeStats, Runner, play_first_episodes
from tensor_envs._runtime.opening import open_device


class TensorEnvs:
    """Runner of this package: `VectorEnv.step_uniform` ("step", "read"), `VectorEnv.step` ("policy") or `rollout`."""

    def __init__(self, te: Any, job: dict[str, Any]):
        from tinygrad import Device
        from tinygrad.helpers import GlobalCounters

        devices: Any = Device
        self.te, self.counters, self.devices = te, GlobalCounters, devices
        self.batch, self.mode, self.length = job["batch"], job["mode"], job["rollout_steps"]
        self.episodes = job["episodes"]
        self.env = te.make(job["env"])
        self.steps = self.batch * (self.length if self.mode == "rollout" else 1)
        # the step's own kernel computes the observation and the mask
        observe = {"observe": True} if self.mode == "read" else {}
        self.vector = te.VectorEnv(self.env, self.batch, device=job["device"], **observe)
        self.device = self.vector.device

    def play(self) -> None:
        if self.mode == "rollout":
            self.te.rollout(self.env, "uniform", self.batch, self.length, device=self.device)
        elif self.mode == "policy":
            self.vector.step(self.te.agents.uniform(self.vector.state))
        else:
            self.vector.step_uniform()

    def wait(self) -> None:
        self.devices[self.device].synchronize()

    def episode_stats(self) -> EpisodeStats:
        vector = self.te.VectorEnv(self.env, self.episodes, device=self.device)

        def step() -> tuple[np.ndarray, np.ndarray]:
            own_policy = self.mode == "policy"
            done = vector.step(self.te.agents.uniform(vector.state)) if own_policy else vector.step_uniform()
            return done.rewards[:, 0].numpy(), (done.terminated | done.truncated).numpy()

        if self.mode == "rollout":
            self._check_rollout()
        if self.mode == "read":
            self._check_read()
        return play_first_episodes(self.episodes, step)

    def _check_rollout(self) -> None:
        """Raise RuntimeError unless a rollout plays the same games as single steps."""
        vector = self.te.VectorEnv(self.env, self.batch, device=self.device)
        for _ in range(self.length):
            vector.step_uniform()
        whole = self.te.rollout(self.env, "uniform", self.batch, self.length, device=self.device)
        same = (whole.episodes == vector.state.episode).all() & (whole.state.ply == vector.state.ply).all()
        if not same.item():
            raise RuntimeError("statistics: the rollout and single steps played different games")

    def _check_read(self) -> None:
        """Raise RuntimeError unless the outputs of a step equal the observation and mask of its state."""
        state = self.vector.state
        observation, mask = self.vector.observation.numpy(), self.vector.legal_action_mask.numpy()
        expected, expected_mask = self.env.observe(state).numpy(), state.legal_action_mask.numpy()
        if not (np.array_equal(observation, expected) and np.array_equal(mask, expected_mask)):
            raise RuntimeError("statistics: the observation or mask of a step is not that of its state")

    def metadata(self) -> dict[str, Any]:
        before = self.counters.kernel_count, self.counters.global_mem
        self.play()
        self.wait()
        steps = self.steps // self.batch
        kernels, moved = self.counters.kernel_count - before[0], self.counters.global_mem - before[1]
        state = self.vector.state  # a copy
        return {
            "kernels_per_step": kernels / steps,
            "bytes_per_step": moved / steps,
            "state_bytes_per_game": sum(t.nbytes() for t in state.tensors) / self.batch,
        }


SYSTEMS: dict[str, tuple[str, Callable[[Any, dict[str, Any]], Runner]]] = {
    "tensor_envs": ("tensor_envs", TensorEnvs),
    **{name: ("tensor_envs", reader) for name in READERS},
    "c": ("tensor_envs", CBaseline),
    "pgx": ("pgx", Pgx),
    "envpool": ("envpool", EnvPool),
    "open_spiel": ("pyspiel", OpenSpiel),
    "numpy_bitboards": ("benchmark.numpy_games", lambda module, job: module.BitBoards(job["batch"])),
    "numpy_table": ("benchmark.numpy_games", lambda module, job: module.PositionTable(job["batch"])),
}


def timed_run(runner: Runner, plays: int, clock: Callable[[], float]) -> float:
    """Return the steps/s of one run."""
    runner.play()
    runner.wait()  # warms the cache after a pause
    start = clock()
    for _ in range(plays):
        runner.play()
    runner.wait()
    return plays * runner.steps / (clock() - start)


def plays_of(wanted: float, runner: Runner, clock: Callable[[], float]) -> int:
    """Return the number of plays that take about as many seconds as wanted."""
    plays = 1
    while (seconds := plays * runner.steps / timed_run(runner, plays, clock)) < wanted / 2:
        plays = max(plays + 1, int(plays * min(20, wanted / seconds)))
    return plays


def prepare(job: dict[str, Any]) -> tuple[Runner, dict[str, Any]]:
    """Return the runner of a job, ready for timing, and its metadata."""
    name, make = SYSTEMS[job["system"]]
    module = importlib.import_module(name)
    start = time.perf_counter()
    runner = make(module, job)
    runner.play()
    runner.wait()
    compile_seconds = time.perf_counter() - start
    statistics = runner.episode_stats().summary()
    for _ in range(2):  # a TinyJit captures at the second call
        runner.play()
    return runner, {"compile_seconds": compile_seconds, "statistics": statistics, **runner.metadata()}


def main() -> None:
    job = json.loads(sys.argv[1])
    sys.path.append(os.getcwd())  # custom games
    answers, sys.stdout = sys.stdout, sys.stderr  # output of libraries must not mix with the answers

    def answer(what: dict[str, Any]) -> None:
        print(json.dumps(what), file=answers, flush=True)

    if job["core"] is not None:
        os.sched_setaffinity(0, {job["core"]})
    if job["system"] == "tensor_envs":
        try:
            open_device(job["device"])
        except (ValueError, RuntimeError) as error:
            answer({"error": str(error), "missing": True})
            return
    # on a pinned core processor time excludes other processes of that core
    alone = job["core"] is not None and job["device"].split(":")[0] == "CPU"
    clock = time.process_time if alone else time.perf_counter
    try:
        runner, metadata = prepare(job)
        answer(metadata)
        plays = 0
        for _ in sys.stdin:
            plays = plays or plays_of(job["seconds"], runner, clock)
            rate = timed_run(runner, plays, clock)
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            answer({"steps_per_second": rate, "peak_kib": memory})
    except Exception as error:
        answer({"error": f"{type(error).__name__}: {error}".split("\n")[0]})


if __name__ == "__main__":
    main()
