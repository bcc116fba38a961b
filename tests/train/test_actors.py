"""Distributed training: the learner by a stand-in for Ray; Ray itself on two nodes, one of which is killed."""

from __future__ import annotations

import os
import signal
import sys
import types
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tensor_envs import _command
from tensor_envs.files.arrays import read_arrays
from tensor_envs.train import actors
from tensor_envs.train.run import CHECKPOINT, FORMAT
from tests.games.shared import shared_env
from tests.train.sizes import ALPHAZERO, PPO
from tests.train.test_run import lines_of

# *** the learner, with a stand-in ***


class RayError(Exception):
    """Error of the system."""


class RayTaskError(RayError):
    """Error of an actor's code."""


class StandIn:
    """Ray in one process: actors' steps are answered in the order of a script.

    Attributes:
        script: for each answer, the place of the step among those in play, and an error or None for data.
        started: arguments of the actors that were started.
    """

    exceptions = types.SimpleNamespace(RayError=RayError, RayTaskError=RayTaskError)

    def __init__(self, *script: tuple[int, Exception | None]):
        self.script, self.started = deque(script), list[tuple[Any, ...]]()

    def put(self, value: Any) -> Any:
        return value

    def remote(self, **needs: Any) -> Callable[[type], Any]:
        assert needs["num_cpus"] == 1

        def start(*arguments: Any) -> Any:
            self.started.append(arguments)
            play = types.SimpleNamespace(
                remote=lambda version, weights, progress, pool: Step(arguments[4], version, progress, pool)
            )
            return types.SimpleNamespace(play=play)

        return lambda kind: types.SimpleNamespace(remote=start)

    def wait(self, playing: list[Step], num_returns: int, timeout: float) -> tuple[list[Step], list[Step]]:
        assert num_returns == 1 and timeout > 0
        return [playing[self.script[0][0]]], []

    def get(self, step: Step) -> tuple[int, Any, dict[str, float]]:
        _, error = self.script.popleft()
        if error is not None:
            raise error
        return step.version, step, {f"league_return_{step.pool}": 0.5}

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": 4.0}


class Step:
    """Step of self-play in a stand-in."""

    def __init__(self, rank: int, version: int, progress: float, pool: Any):
        self.rank, self.version, self.progress, self.pool = rank, version, progress, pool


class TrainerStandIn:
    """Trainer that notes what it learns from."""

    device, env, config, progress, seconds = "CPU", "env", "config", 0.0, 0.0
    trainable = types.SimpleNamespace(for_actors=lambda: None)

    def __init__(self, steps: int = 0):
        self.steps, self.learned = steps, list[int]()
        self.joined = steps

    def join_league(self) -> bool:
        """Join at every second step."""
        is_due = self.steps % 2 == 0
        self.joined = self.steps if is_due else self.joined
        return is_due

    def pool(self) -> int:
        return self.joined

    def weights(self) -> dict[str, Any]:
        return {}

    def update(self, data: Step) -> dict[str, float]:
        self.steps += 1
        self.learned.append(data.rank)
        return {"step": self.steps}


def learner(ray: StandIn, num_actors: int | None = 2, max_staleness: int | None = None, steps: int = 0) -> Any:
    return actors.Learner(ray, TrainerStandIn(steps), num_actors, max_staleness)  # type: ignore[arg-type]


def test_staleness_is_bounded_and_reported() -> None:
    """Actor 1 delivers four times, then actor 2 its first step, which is too stale, and its next one, which is not."""
    ray = StandIn((0, None), (1, None), (1, None), (1, None), (0, None), (1, None))
    made = learner(ray, max_staleness=3)
    metrics = [made.step() for _ in range(5)]
    assert [line["staleness"] for line in metrics] == [0, 1, 1, 1, 0]
    assert made.trainer.learned == [1, 1, 1, 1, 2] and made.discarded == metrics[-1]["discarded"] == 1
    assert [line["step"] for line in metrics] == [1, 2, 3, 4, 5] and metrics[0]["seconds"] > 0


def test_actors_play_with_the_learners_past_selves() -> None:
    """An actor gets the pool as it was at the version of its weights, and its results are in the metrics."""
    made = learner(StandIn(*[(0, None)] * 5), num_actors=1, steps=1)
    results = [{name for name in made.step() if name.startswith("league")} for _ in range(5)]
    assert results == [{f"league_return_{step}"} for step in (1, 1, 2, 2, 4)]


def test_dead_actors_are_replaced(capsys: pytest.CaptureFixture[str]) -> None:
    ray = StandIn((0, None), (0, RayError("the node is gone")), (1, None), (0, None))
    made = learner(ray, steps=7)
    metrics = [made.step() for _ in range(3)]
    assert [arguments[4:6] for arguments in ray.started] == [(8, 7), (9, 7), (10, 8)]  # ranks, and first steps
    assert metrics[-1]["deaths"] == 1 and len(made.playing) == 2
    assert sorted(made.trainer.learned) == [8, 8, 10] or sorted(made.trainer.learned) == [8, 10, 10]
    assert "an actor died (RayError); its games in play are lost" in capsys.readouterr().err


def test_errors_that_every_actor_would_meet() -> None:
    with pytest.raises(RayTaskError, match="a bug"):
        learner(StandIn((0, RayTaskError("a bug")))).step()
    deaths = [(0, RayError("no package\nmore"))] * 7
    with pytest.raises(RuntimeError, match=r"7 actors in succession died: no package$"):
        learner(StandIn(*deaths)).step()


def test_the_number_of_actors() -> None:
    assert learner(StandIn(), None).num_actors == 3 and learner(StandIn(), None).max_staleness == 12
    assert learner(StandIn(), 5, 0).num_actors == 5 and learner(StandIn(), 5, 0).max_staleness == 0


def test_ray_that_does_not_start(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Ray's own waits are too short on a loaded machine: it is started again, and the last failure is an error."""
    calls = list[dict[str, Any]]()

    def init(address: str, **settings: Any) -> None:
        calls.append({"address": address} | settings)
        if len(calls) % 4:
            raise TimeoutError("the node has\n not started")

    ray = types.SimpleNamespace(
        init=init, shutdown=lambda: None, is_initialized=lambda: False, exceptions=StandIn.exceptions
    )
    monkeypatch.setitem(sys.modules, "ray", ray)  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="Ray did not start in 3 attempts: the node has not started"):
        actors._connect(None, 2)
    assert capsys.readouterr().err.count("Ray did not start in its own time (the node has not started)") == 3
    assert actors._connect("auto", 2) == (ray, True)
    assert calls[0]["address"] == "local" and calls[0]["num_cpus"] == 2
    assert calls[3]["address"] == "auto" and "num_cpus" not in calls[3]
    with pytest.raises(ValueError, match=r"address must be None, 'auto' or 'host:port', got '127.0.0.1:1'"):
        actors._connect("127.0.0.1:1", None)
    ray.is_initialized = lambda: True
    assert actors._connect("auto", None) == (ray, False) and len(calls) == 4


def test_wrong_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    env: Any = shared_env("kuhn_poker")
    config = te.train.PPOConfig()
    with pytest.raises(TypeError, match="env must be of type Env"):
        te.train.distributed("kuhn_poker", config, steps=1)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="config must be an AlphaZeroConfig or a PPOConfig, got 3"):
        te.train.distributed(env, 3, steps=1)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="num_actors must be in 1"):
        te.train.distributed(env, config, steps=1, num_actors=0)
    with pytest.raises(ValueError, match="max_staleness must be in 0"):
        te.train.distributed(env, config, steps=1, max_staleness=-1)
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ImportError, match=r"distributed training needs Ray: pip install 'tensor_envs\[ray\]'"):
        te.train.distributed(env, config, steps=1)


# *** Ray ***


def actors_of_ray() -> list[int]:
    """Return the processes of actors among this process's descendants."""
    processes = []
    for process in _command._descendants(os.getpid()):
        try:
            if Path(f"/proc/{process}/cmdline").read_bytes().startswith(b"ray::Actor"):
                processes.append(process)
        except OSError:
            continue
    return processes


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Start the first node of a cluster, with one core."""
    for name, value in (actors.SETTINGS | actors.LOOPBACK).items():
        monkeypatch.setenv(name, value)
    ray = pytest.importorskip("ray")
    made = pytest.importorskip("ray.cluster_utils").Cluster()
    made.add_node(num_cpus=1, object_store_memory=100 * 2**20, include_dashboard=False)
    yield made
    ray.shutdown()
    made.shutdown()


@pytest.mark.slow
@pytest.mark.extra("ray")
def test_two_nodes_of_which_one_is_killed(cluster: Any, tmp_path: Path) -> None:
    """An actor is killed, then a node: training goes on, and a later call continues from the folder."""
    second = cluster.add_node(num_cpus=1, object_store_memory=100 * 2**20)
    config, events = te.train.AlphaZeroConfig(**ALPHAZERO), list[str]()

    def disturb(trainer: te.train.Trainer, metrics: dict[str, float]) -> None:
        if trainer.steps >= 10 and not events:
            assert len(actors_of_ray()) == 2
            os.kill(actors_of_ray()[0], signal.SIGKILL)
            events.append("actor")
        elif metrics["deaths"] == 1 and len(actors_of_ray()) == 2 and events == ["actor"]:
            cluster.remove_node(second, allow_graceful=False)
            events.append("node")

    budget: dict[str, Any] = {"num_actors": 2, "address": cluster.address, "folder": tmp_path}
    env = te.make("kuhn_poker")
    te.train.distributed(env, config, steps=2000, callbacks=[disturb], **budget)
    lines = lines_of(tmp_path)
    # Ray may place a new actor on the dying node before it notices, which is one more death
    assert events == ["actor", "node"] and lines[-1]["deaths"] >= 2
    assert [line["step"] for line in lines] == [*range(1, 2001)] and lines[-1]["positions"] == 2000 * 32
    assert all(line["staleness"] <= 8 for line in lines) and max(line["staleness"] for line in lines) > 0
    kept = read_arrays(tmp_path / CHECKPOINT, FORMAT)[1]
    assert np.abs(kept["optimizer.m.0"]).max() > 0 and len(kept["replay.value"]) == ALPHAZERO["replay_steps"]
    seen = list[dict[str, Any]]()

    def first(trainer: te.train.Trainer, metrics: dict[str, float]) -> None:
        seen.append({"optimizer": trainer.optimizer.b2_t.item(), **metrics})

    te.train.distributed(env, config, steps=2002, callbacks=[first], **(budget | {"num_actors": 1}))
    assert [line["step"] for line in seen] == [2001, 2002]
    assert seen[0]["optimizer"] < float(kept["optimizer.b2_t"][0])  # it goes on from that of the checkpoint


@pytest.mark.slow
@pytest.mark.extra("ray")
def test_ppo_on_this_machine(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    config = te.train.PPOConfig(**(PPO | {"ratings": 1}))
    rating = te.train.distributed(te.make("kuhn_poker"), config, steps=20, num_actors=2, folder=tmp_path)
    assert rating["score"] >= 0 and [line["staleness"] <= 8 for line in lines_of(tmp_path)] == [True] * 20
