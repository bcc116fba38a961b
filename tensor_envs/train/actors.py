"""Distributed training on Ray: actors play, one learner learns.

Each actor plays its own games on one core or GPU. At the start of each step it takes the newest weights from Ray's
object store. The learner is the calling process: it has the network, the optimiser and the replay buffer, learns from
an actor's data as soon as they arrive, and writes the run's folder. If an actor dies, a new one with new games replaces
it. The data that it has delivered stay in the replay buffer.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from tinygrad import Tensor

from tensor_envs import train as algorithms
from tensor_envs._runtime.exchange import to_numpy
from tensor_envs._runtime.threads import set_num_threads
from tensor_envs._validate import instance, integer, need, wrong_type
from tensor_envs.envs.env import Env
from tensor_envs.train.config import TrainingConfig
from tensor_envs.train.metrics_file import Metrics
from tensor_envs.train.run import Callback, Trainer, train
from tensor_envs.train.trainable import OwnNetwork

if TYPE_CHECKING:
    from tensor_envs.train.league import PastSelves

# Environment variables that Ray reads when it is imported: no usage reports, no warning about GPUs
SETTINGS = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}  # makes Ray listen on the loopback interface only
ATTEMPTS = 3  # attempts to start Ray or to connect, since Ray's timeouts are fixed and short for a loaded machine
MAX_ACTORS = 100_000
STALENESS = 4  # default of `max_staleness`, for each actor
SILENCE = 60.0  # seconds without data after which the learner reports that it waits
DEATHS = 3  # deaths in succession, for each actor, after which training fails


def distributed(
    env: Env,
    config: TrainingConfig,
    *,
    steps: int | None = None,
    seconds: float | None = None,
    folder: str | Path | None = None,
    address: str | None = None,
    num_actors: int | None = None,
    max_staleness: int | None = None,
    device: str | None = None,
    callbacks: Sequence[Callback] = (),
    weights: Mapping[str, np.ndarray] | None = None,
    network: OwnNetwork = None,
) -> Metrics:
    """Train with actors on a Ray cluster (extra `ray`), and return the metrics of the last rating.

    A step of training learns from one actor's step of self-play. Its metrics include "staleness": the number of steps
    of training since the weights with which the data were played. They also include the numbers of "actors", "deaths"
    of actors, and "discarded" steps of self-play.

    Args:
        env: the environment; its package must be installed on every machine.
        config: `AlphaZeroConfig` or `PPOConfig`, which selects the algorithm.
        steps: budget in steps, as in `Trainer.run`.
        seconds: budget in seconds of elapsed time.
        folder: folder of the run; the learner continues from its checkpoint.
        address: "auto" or "host:port" of a running cluster. None: the cluster that the process is connected to, or else
            a new one on this machine.
        num_actors: number of actors, each on one core, or on one GPU unless the device is a CPU. None: one for each GPU
            of the cluster, or for each core but one, which is left to the learner.
        max_staleness: staleness in steps above which data are discarded; None: 4 for each actor.
        device: device of the actors and the learner, as in `Env.init`.
        callbacks: as in `Trainer.run`.
        weights: weights to start from, by name, unless the folder has a checkpoint; None: random ones.
        network: as in `Trainer`; every actor has a copy.

    Raises:
        ImportError: Ray is not installed.
        ValueError, TypeError: an argument is out of range or of another type.
        RuntimeError: Ray did not start, or every new actor dies.

    Examples:
        >>> config = te.train.AlphaZeroConfig(num_envs=64)
        >>> te.train.distributed(te.make("connect_four"), config, steps=100, num_actors=2)  # doctest: +SKIP
    """
    instance("env", env, Env)
    trainers: tuple[type[Trainer], ...] = (algorithms.AlphaZero, algorithms.PPO)
    algorithm = next((cls for cls in trainers if type(config) is cls.Config), None)
    if algorithm is None:
        raise wrong_type("config", "an AlphaZeroConfig or a PPOConfig", config)
    if getattr(config, "overlap", False):
        raise ValueError("overlap must be False with Ray, whose actors always play while the learner learns")
    trainer = algorithm(env, config, device, network=network)
    if weights is not None:
        trainer.assign_weights(weights)
    if num_actors is not None:
        num_actors = integer("num_actors", num_actors, 1, MAX_ACTORS)
    if max_staleness is not None:
        max_staleness = integer("max_staleness", max_staleness, 0, MAX_ACTORS)
    ray, has_connected = _connect(address, num_actors)
    try:
        learner = Learner(ray, trainer, num_actors, max_staleness)
        return train(trainer, learner.step, steps, seconds, folder, callbacks)
    finally:
        if has_connected:
            ray.shutdown()


class Actor:
    """Player of games in a process of the cluster."""

    def __init__(
        self,
        algorithm: type[Trainer],
        env: Env,
        config: TrainingConfig,
        device: str,
        rank: int,
        step: int,
        network: Any,
    ):
        """Start the games of a rank. step: number of its first step of self-play."""
        if device.startswith("CPU"):
            set_num_threads(1)
        self.trainer = algorithm(env, config, device, network=network, rank=rank)
        self.step = step

    def play(
        self, version: int, weights: dict[str, np.ndarray], progress: float, pool: PastSelves
    ) -> tuple[int, Any, Metrics]:
        """Play a step with the learner's weights and past selves.

        Args:
            version: the learner's step at which it had these weights.
            weights: weights of the network.
            progress: the learner's progress.
            pool: past selves.

        Returns:
            The version, the data on the host, and the mean returns against past selves.
        """
        self.trainer.assign_weights(weights)
        self.trainer.set_pool(pool)
        self.trainer.progress = progress
        data = _on_host(self.trainer.play(self.step))
        self.step += 1
        return version, data, self.trainer.league_metrics()


def _on_host(data: Any) -> Any:
    """Convert the Tensors of a step's data to NumPy arrays, since Tensors cannot leave their process."""
    if isinstance(data, list):
        return [_on_host(part) for part in data]
    return to_numpy(data) if isinstance(data, Tensor) else data


class Learner:
    """Learner of distributed training, and its actors.

    Attributes:
        trainer: the trainer that learns.
        deaths: number of actors that have died.
        discarded: number of steps of self-play that were too stale.
    """

    def __init__(self, ray: Any, trainer: Trainer, num_actors: int | None, max_staleness: int | None):
        """Prepare the learner. Actors start with the first step, after the trainer has loaded its checkpoint."""
        self.ray = ray
        self.trainer = trainer
        self.is_on_cpu = trainer.device.startswith("CPU")
        if num_actors is None:
            resources = ray.cluster_resources()
            num_actors = max(1, int(resources.get("CPU", 1)) - 1 if self.is_on_cpu else int(resources.get("GPU", 1)))
        self.num_actors = num_actors
        self.max_staleness = STALENESS * num_actors if max_staleness is None else max_staleness
        self.deaths = 0
        self.discarded = 0
        self.deaths_in_succession = 0
        self.rank = 0  # rank of the newest actor
        self.playing: dict[Any, Any] = {}  # for each reference of data to come, the actor that plays them
        self.version = -1  # step of `weights`
        self.weights = None  # reference of the weights in Ray's object store
        self.pool = None  # reference of the past selves

    def step(self) -> Metrics:
        """Learn from the next data that arrive, and return metrics by name."""
        begin = time.monotonic()
        trainer = self.trainer
        if not self.playing:
            self.rank = trainer.steps  # After a break, a run gets new ranks and so new games.
            for _ in range(self.num_actors):
                self._play(self._new_actor())
        while True:
            version, data, results = self._next()
            staleness = trainer.steps - version
            if staleness <= self.max_staleness:
                break
            self.discarded += 1
        metrics = trainer.update(data) | results
        trainer.seconds += time.monotonic() - begin
        counts = {"actors": self.num_actors, "deaths": self.deaths, "discarded": self.discarded}
        return metrics | {"seconds": trainer.seconds, "staleness": staleness} | counts

    def _new_actor(self) -> Any:
        """Start an actor with a new rank, which gives it its own games and random numbers."""
        self.rank += 1
        needs = {"num_cpus": 1, "num_gpus": 0 if self.is_on_cpu else 1, "scheduling_strategy": "SPREAD"}
        trainer = self.trainer
        settings = type(trainer), trainer.env, trainer.config, trainer.device
        network = trainer.trainable.for_actors()
        return self.ray.remote(**needs)(Actor).remote(*settings, self.rank, trainer.steps, network)

    def _play(self, actor: Any) -> None:
        """Let an actor play a step with the present weights."""
        if self.version != self.trainer.steps:
            self.version = self.trainer.steps
            self.weights = self.ray.put(self.trainer.weights())
            if self.trainer.join_league() or self.pool is None:
                self.pool = self.ray.put(self.trainer.pool())
        self.playing[actor.play.remote(self.version, self.weights, self.trainer.progress, self.pool)] = actor

    def _next(self) -> tuple[int, Any, Metrics]:
        """Wait for the next data of an actor, and return what it played. Restart it, and replace dead actors."""
        errors = self.ray.exceptions
        while True:
            arrived, _ = self.ray.wait(list(self.playing), num_returns=1, timeout=SILENCE)
            if not arrived:
                free = self.ray.available_resources().get("CPU" if self.is_on_cpu else "GPU", 0)
                _say(f"waiting for {self.num_actors} actors; {free:g} cores or GPUs of the cluster are free")
                continue
            actor = self.playing.pop(arrived[0])
            try:
                played: tuple[int, Any, Metrics] = self.ray.get(arrived[0])
            except errors.RayTaskError:
                raise  # The actor's code failed, and would fail in other actors, too.
            except errors.RayError as error:  # The actor, its machine or its data are lost.
                self.deaths += 1
                self.deaths_in_succession += 1
                line = str(error).strip().splitlines()[0]
                if self.deaths_in_succession > DEATHS * self.num_actors:
                    raise RuntimeError(f"{self.deaths_in_succession} actors in succession died: {line}") from error
                _say(f"an actor died ({type(error).__name__}); its games in play are lost, and another one starts")
                self._play(self._new_actor())
                continue
            self.deaths_in_succession = 0
            self._play(actor)  # It plays while the learner learns.
            return played


def _connect(address: str | None, num_actors: int | None) -> tuple[Any, bool]:
    """Return the module of Ray, connected to a cluster, and whether this call has connected it.

    Raises:
        ImportError: Ray is not installed.
        ValueError: there is no cluster at the address.
        RuntimeError: Ray did not start in several attempts.
    """
    for name, value in (SETTINGS | LOOPBACK if address is None else SETTINGS).items():
        os.environ.setdefault(name, value)
    ray = need("ray", "distributed training", "ray")
    if ray.is_initialized():
        return ray, False
    # Ray itself would try a wrong address for minutes, so try it here first.
    if address not in (None, "auto"):
        try:
            instance("address", address, str)
            host, port = str(address).rsplit(":", 1)
            socket.create_connection((host, int(port)), timeout=10).close()
        except (OSError, ValueError, OverflowError) as error:
            raise ValueError(f"address must be None, 'auto' or 'host:port', got {address!r}: {error}") from None
    size: dict[str, Any] = {"num_cpus": num_actors, "include_dashboard": False} if address is None else {}
    for attempt in range(1, ATTEMPTS + 1):
        try:
            ray.init("local" if address is None else address, log_to_driver=False, logging_level="ERROR", **size)
            return ray, True
        except (OSError, RuntimeError, ray.exceptions.RayError) as error:  # OSError includes TimeoutError.
            ray.shutdown()
            message = " ".join(str(error).split())[:200]
            _say(f"Ray did not start in its own time ({message}), attempt {attempt} of {ATTEMPTS}")
    raise RuntimeError(f"Ray did not start in {ATTEMPTS} attempts: {message}")


def _say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)
