"""Those who play in `benchmark.py`: this package in its four modes, C, and peers, each in a process of its own.

Run by `benchmark.py` with a job as JSON in argv[1]. It answers with one JSON line a line of standard input: first what
it is (compile seconds, statistics of its games, ...), then for every "run" the steps/s of one timed run.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from benchmark_limits import Limit
from benchmark_peers import EnvPool, OpenSpiel, Pgx
from benchmark_tally import MIN_GAMES, Player, Tally, tally_steps


class TensorEnvs:
    """`VectorEnv.step_uniform`, the same with observation and mask read, policy and step apart, or `rollout`."""

    def __init__(self, te: Any, job: dict[str, Any]):
        from tinygrad import Device
        from tinygrad.helpers import GlobalCounters

        devices: Any = Device
        self.te, self.counters, self.devices = te, GlobalCounters, devices
        self.batch, self.mode, self.length = job["batch"], job["mode"], job["rollout_steps"]
        self.env = te.make(job["env"])
        self.steps = self.batch * (self.length if self.mode == "rollout" else 1)
        self.vector = te.VectorEnv(self.env, self.batch, device=job["device"])
        self.device = self.vector.state.device
        self.look = te.jit(
            lambda state: (self.env.observe(state).contiguous(), state.legal_action_mask.contiguous())
        )

    def play(self) -> None:
        if self.mode == "rollout":
            self.te.rollout(self.env, "uniform", self.batch, self.length, device=self.device)
        elif self.mode == "policy":
            self.vector.step(self.te.random_policy(self.vector.state))
        else:
            self.vector.step_uniform()
        if self.mode == "read":
            self.look(self.vector.state)

    def wait(self) -> None:
        self.devices[self.device].synchronize()

    def tally(self) -> Tally:
        # row r plays the same games in a batch of any size, so a larger one extends the sample
        batch = max(self.batch, MIN_GAMES)
        vector = self.te.VectorEnv(self.env, batch, device=self.device)

        def step() -> tuple[np.ndarray, np.ndarray]:
            own_policy = self.mode == "policy"
            done = vector.step(self.te.random_policy(vector.state)) if own_policy else vector.step_uniform()
            return done.rewards[:, 0].numpy(), (done.terminated | done.truncated).numpy()

        if self.mode == "rollout":
            self._check_rollout()
        return tally_steps(batch, step)

    def _check_rollout(self) -> None:
        """A rollout must be the same games as single steps; RuntimeError if not."""
        vector = self.te.VectorEnv(self.env, self.batch, device=self.device)
        for _ in range(self.length):
            vector.step_uniform()
        whole = self.te.rollout(self.env, "uniform", self.batch, self.length, device=self.device)
        same = (whole.episodes == vector.state.episode).all() & (whole.state.ply == vector.state.ply).all()
        if not same.item():
            raise RuntimeError("statistics: the rollout and single steps played different games")

    def about(self) -> dict[str, Any]:
        before = self.counters.kernel_count, self.counters.global_mem
        self.play()
        self.wait()
        steps = self.steps // self.batch
        state = self.vector.state
        return {
            "kernels_per_step": (self.counters.kernel_count - before[0]) / steps,
            "bytes_per_step": (self.counters.global_mem - before[1]) / steps,
            "state_bytes_per_game": sum(t.nbytes() for t in state.tensors) / self.batch,
        }


MODULES: dict[str, tuple[str, Callable[[Any, dict[str, Any]], Player]]] = {
    "tensor_envs": ("tensor_envs", TensorEnvs),
    "c": ("tensor_envs", Limit),
    "pgx": ("pgx", Pgx),
    "envpool": ("envpool", EnvPool),
    "open_spiel": ("pyspiel", OpenSpiel),
    "numpy": ("benchmark_numpy", lambda module, job: module.BitBoards(job["batch"])),
    "numpy_table": ("benchmark_numpy", lambda module, job: module.Positions(job["batch"])),
}


def timed_run(player: Player, plays: int) -> float:
    """Steps/s of one run."""
    player.play()
    player.wait()  # a process that has slept finds its data out of the cache
    start = time.perf_counter()
    for _ in range(plays):
        player.play()
    player.wait()
    return plays * player.steps / (time.perf_counter() - start)


def enter(job: dict[str, Any]) -> tuple[Player, dict[str, Any]]:
    """The player of a job, ready to be timed, and what there is to say of it."""
    name, make = MODULES[job["system"]]
    module = importlib.import_module(name)
    start = time.perf_counter()
    player = make(module, job)
    player.play()
    player.wait()
    compile_seconds = time.perf_counter() - start
    statistics = player.tally().summary()
    for _ in range(2):  # a TinyJit captures at the second call
        player.play()
    return player, {"compile_seconds": compile_seconds, "statistics": statistics, **player.about()}


def main() -> None:
    job = json.loads(sys.argv[1])
    answers, sys.stdout = sys.stdout, sys.stderr  # whatever a library prints stays out of the answers

    def answer(what: dict[str, Any]) -> None:
        print(json.dumps(what), file=answers, flush=True)

    if job["core"] is not None:
        os.sched_setaffinity(0, {job["core"]})
    try:
        player, about = enter(job)
        plays = 1
        while (seconds := plays * player.steps / timed_run(player, plays)) < job["seconds"] / 2:
            plays = max(plays + 1, int(plays * min(20, job["seconds"] / seconds)))
        answer(about)
        for _ in sys.stdin:
            rate = timed_run(player, plays)
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            answer({"steps_per_second": rate, "peak_kib": memory})
    except Exception as error:
        answer({"error": f"{type(error).__name__}: {error}".split("\n")[0], "kind": type(error).__name__})


if __name__ == "__main__":
    main()
