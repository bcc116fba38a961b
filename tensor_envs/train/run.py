"""Trainers, and their runs in folders: settings, metrics, checkpoints, weights and curves.

All random numbers of training are a function of the seed, the step and the rank of the actor or learner. So a
checkpoint needs no state of a random generator, and a run that continues from a checkpoint equals one without a break.
"""

from __future__ import annotations

import json
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import numpy as np

from tensor_envs._runtime.opening import open_device
from tensor_envs._validate import file_path, function, instance, integer, need, number, shown
from tensor_envs.envs.env import Env
from tensor_envs.envs.registry import env_metadata, has_words_of, words_metadata
from tensor_envs.files.arrays import lock_file, read_arrays, replace_file, write_arrays
from tensor_envs.files.states import state_arrays, state_of
from tensor_envs.train.config import MAX_COUNT, RunSettings, TrainingConfig, read_config, write_config
from tensor_envs.train.curves import curves
from tensor_envs.train.metrics_file import Metrics, MetricsFile, digest_until, steps_of
from tensor_envs.train.network import WEIGHTS
from tensor_envs.train.parallel import broadcast, num_learners
from tensor_envs.train.replay import ReplayBuffer
from tensor_envs.train.trainable import OwnNetwork, TrainableNetwork

if TYPE_CHECKING:
    from tensor_envs.train.league import League, PastSelves

FORMAT = "tensor_envs checkpoint 1"
CONFIG = "config.toml"
CHECKPOINT = "checkpoint.safetensors"
CURVES = "curves.svg"
LEARN = 2  # first number of the key of random numbers for learning; algorithms use others
ROUNDING = 1e-9  # tolerance for rounding errors: 29 / 100 * 100 is a little less than 29 in floats


class Callback(Protocol):
    """Function that receives the metrics of every step, such as `TensorBoard` and `WandB`.

    Examples:
        >>> losses = []
        >>> def callback(trainer: te.train.Trainer, metrics: dict[str, float]) -> None:
        ...     losses.append(metrics["policy_loss"])
    """

    def __call__(self, trainer: Trainer, metrics: Metrics, /) -> object:
        """Receive the metrics of a step. They include those of a rating, such as "mean_return", if it was rated."""


class Trainer(ABC):
    """Base class of training algorithms, in which a network plays against itself and learns.

    Attributes:
        env: the environment.
        config: the settings.
        device: device of the games and the network, as in `Env.init`.
        trainable: the network in training with its optimiser, behind an interface for all libraries.
        network: the network; its values are returns divided by the setting `value_scale`.
        evaluate: the network's evaluation for searches, whose values are returns.
        optimizer: an optimiser of the network's library.
        league: past selves as opponents; None unless the setting `league_share` is above 0.
        steps: number of steps of training so far. A step plays `rollout_length` decisions in every game, and learns.
        positions: number of decisions so far, including those of past selves.
        seconds: processor time of these steps, or elapsed time on a card; ratings and checkpoints do not count.
        progress: share of the run's budget that is spent, 0..1.

    Examples:
        >>> trainer: te.train.Trainer = te.train.PPO(te.make("kuhn_poker"))
        >>> trainer.algorithm, trainer.steps, trainer.state.batch
        ('ppo', 0, 256)
    """

    algorithm: ClassVar[str]
    Config: ClassVar[type[TrainingConfig]]
    adam_epsilon: ClassVar[float]
    replay: ReplayBuffer | None = None  # only for algorithms that learn from earlier steps

    def __init__(
        self,
        env: Env,
        config: TrainingConfig | None = None,
        device: str | None = None,
        *,
        network: OwnNetwork = None,
        rank: int = 0,
    ):
        """Start the games, with a new network or the given one.

        Args:
            env: the environment.
            config: settings; None for the defaults.
            device: as in `Env.init`.
            network: module of PyTorch from observations, float32 [B, *observation_shape], to logits [B, A] and values
                [B]. It moves to the games' device and learns from its present weights. For JAX it is a pair: a function
                of parameters and observations, and the parameters as nested dictionaries of arrays. None: a network of
                tinygrad with random weights; the settings give its sizes.
            rank: number of this actor or learner; each rank plays games of its own.

        Raises:
            ValueError, TypeError: an argument is of another type, the settings do not fit the game, or the network
                returns wrong shapes or dtypes, or numbers that are not finite.
        """
        instance("env", env, Env)
        config = self.Config() if config is None else config
        instance("config", config, self.Config)
        if config.rating_games < env.num_players:
            raise ValueError(f"rating_games must be in {env.num_players}..{MAX_COUNT}, got {config.rating_games}")
        self.env = env
        self.config = config
        self.device = str(open_device(device))
        self.rank = rank
        self.steps = 0
        self.positions = 0
        self.seconds = 0.0
        self.progress = 0.0
        self.trainable = self._trainable(network, device)
        self.network = self.trainable.network
        self.optimizer = self.trainable.optimizer
        self.evaluate = self.trainable.evaluate
        self.league: League | None = None
        if config.league_share > 0:
            from tensor_envs.train.league import League  # Only runs with a league load its module.

            self.league = League(env, config, self.device, lambda: self._trainable(self.trainable.for_actors(), device))
        self.state = env.init(config.num_envs, config.seed, device, rank * config.num_envs)

    # *** defined by each algorithm ***

    @abstractmethod
    def play(self, step: int) -> Any:
        """Play one step, and return its data: arrays and Tensors, nested in lists and tuples."""

    @abstractmethod
    def minibatches(self, data: Any) -> Iterable[Sequence[Any]]:
        """Yield the minibatches of a step: observations, masks, and the targets of `loss`."""

    @abstractmethod
    def loss(self, logs: Any, value: Any, *targets: Any) -> tuple[Any, Any]:
        """Return the losses of policy and value of a minibatch; training minimises their sum.

        Args:
            logs: masked log-probabilities of the network, [n, A].
            value: values of the network, [n].
            *targets: targets in the order of `minibatches`; all arrays are of the network's library.
        """

    @abstractmethod
    def rate(self) -> Metrics:
        """Rate the player according to the settings, and return metrics by name."""

    @abstractmethod
    def learning_rate(self) -> float:
        """Return the learning rate at the present progress."""

    # *** shared by all algorithms ***

    def _trainable(self, network: Any, device: str | None) -> TrainableNetwork:
        """Return the network in training; the type of the argument decides the library."""
        common = self.config, device, self.loss, self.adam_epsilon
        modes = [name for name in ("bfloat16", "compiled", "overlap") if getattr(self.config, name, False)]
        library = "PyTorch"
        if network is None:
            library = "tinygrad"
        elif isinstance(network, tuple):
            library = "JAX"
        if modes and library != "PyTorch":
            raise ValueError(f"{modes[0]} must be False for a network of {library}")
        if num_learners() > 1 and library != "PyTorch":
            raise ValueError("network must be a module of PyTorch where torchrun has started several learners")
        if network is None:
            from tensor_envs.train.trainable_tinygrad import TrainableTinygrad

            return TrainableTinygrad(self.env, *common)
        if isinstance(network, tuple):
            need("optax", "a network of JAX", "jax")
            from tensor_envs.train.trainable_jax import TrainableJax  # its module imports JAX

            return TrainableJax(self.env, network, *common)
        need("torch", "the argument network", "torch")
        from tensor_envs.train.trainable_torch import TrainableTorch  # its module imports PyTorch

        return TrainableTorch(self.env, network, *common)

    def random(self, *key: int) -> np.random.Generator:
        """Return the random generator of a key, which also depends on the run's seed."""
        return np.random.default_rng([self.config.seed, *key])

    def weights(self) -> dict[str, np.ndarray]:
        """Return copies of the network's weights by name, as in the file of weights."""
        return self.trainable.weights()

    def assign_weights(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Assign arrays to the network's weights, with the names and shapes of `weights`.

        Raises:
            ValueError: names or shapes differ, or a number is not finite.
        """
        weights = self.weights()
        shapes = {name: array.shape for name, array in arrays.items()}
        if shapes != {name: array.shape for name, array in weights.items()}:
            raise ValueError(f"weights must be those of a network with the settings' sizes, got {shown(shapes)}")
        # Arrays of files have half precision.
        wide = {name: np.asarray(array, weights[name].dtype) for name, array in arrays.items()}
        if broken := [name for name, array in wide.items() if not np.isfinite(array).all()]:
            raise ValueError(f"weights must be finite numbers, got others in {broken}")
        self.trainable.assign_weights(wide)

    def copy_from_first(self) -> None:
        """Copy weights, optimiser, counters and past selves from the learner of rank 0, which may continue a run."""
        if num_learners() > 1:
            counters = self.steps, self.positions, self.seconds
            arrays, counters, pool = broadcast((self.trainable.checkpoint(), counters, self.pool()))
            self.trainable.restore(arrays)
            self.steps, self.positions, self.seconds = counters
            self.set_pool(pool)

    def pool(self) -> PastSelves:
        """Return the past selves in the league; an empty list without a league."""
        return [] if self.league is None else self.league.pool

    def set_pool(self, pool: PastSelves) -> None:
        """Replace the past selves by those of another trainer, as its `pool` returned them."""
        if self.league is not None:
            self.league.set_pool(pool)

    def join_league(self) -> bool:
        """Add the present network to the league if a new member is due, and return whether one was."""
        return self.league is not None and self.league.add(self.steps, self.weights)

    def league_metrics(self) -> Metrics:
        """Return the mean returns against past selves in the games that ended since the last call."""
        return {} if self.league is None else self.league.metrics()

    def step(self) -> Metrics:
        """Train for one step, and return metrics by name."""
        clock = time.process_time if self.device.startswith("CPU") else time.monotonic
        begin = clock()
        self.join_league()
        metrics = self.play_and_learn() | self.league_metrics()
        self.seconds += clock() - begin
        return metrics | {"seconds": self.seconds}

    def play_and_learn(self) -> Metrics:
        """Play a step and learn from its data; return metrics by name."""
        return self.update(self.play(self.steps))

    def update(self, data: Any) -> Metrics:
        """Learn from the data of `play`, which may come from another process, and return metrics by name."""
        return self._count(self.learn(data))

    def _count(self, losses: Metrics) -> Metrics:
        """Count a step, and return its metrics by name. FloatingPointError if a loss is not finite."""
        rate = self.learning_rate()
        if broken := {name: loss for name, loss in losses.items() if not np.isfinite(loss)}:
            raise FloatingPointError(
                f"training diverged in step {self.steps + 1}: {broken}; try a smaller learning_rate"
            )
        self.steps += 1
        self.positions += self.config.num_envs * self.config.rollout_length * num_learners()
        return {"step": self.steps, "positions": self.positions, "learning_rate": rate, **losses}

    def learn(self, data: Any) -> Metrics:
        """Learn from the data of a step and return the mean losses."""
        return self._learn(self.minibatches(data))

    def _learn(self, minibatches: Iterable[Sequence[Any]]) -> Metrics:
        """Learn from minibatches and return the mean losses."""
        seed = int(self.random(LEARN, self.steps).integers(2**31))
        policy, value = self.trainable.learn(minibatches, self.learning_rate(), seed)
        return {"policy_loss": policy, "value_loss": value}

    def run(
        self,
        steps: int | None = None,
        seconds: float | None = None,
        folder: str | Path | None = None,
        callbacks: Sequence[Callback] = (),
    ) -> Metrics:
        """Train until a budget is spent, and return the metrics of this call's last rating.

        With a budget in steps and on one thread, the final weights depend only on the settings, also after an
        interruption.

        Args:
            steps: budget in steps, including those already done.
            seconds: budget in seconds of processor time, or of elapsed time on a card, including those already spent.
            folder: folder of the run. If it has a checkpoint, a new trainer continues from it.
            callbacks: functions that are called with the trainer and the metrics of every step.

        Raises:
            ValueError: neither or both budgets are given; the folder has a run of another game or with other settings,
                a damaged run, or one in progress.
            TypeError: an argument of another type.
            FloatingPointError: a loss is not finite; the last checkpoint stays as it was.
            OSError: a file cannot be written; the message names it.
        """
        return train(self, self.step, steps, seconds, folder, callbacks)

    # *** files ***

    def save(self, folder: str | Path) -> None:
        """Write settings, checkpoint and weights to a folder, each atomically.

        Raises:
            ValueError: the folder has a run of another game or with other settings.
            OSError: a file cannot be written; the message names it.
        """
        path = file_path("folder", folder)
        self._save(path, digest_until(path, self.steps))

    def _save(self, path: Path, metrics: str | None = None) -> None:
        """Write the files of `save`. metrics: digest of the folder's metrics until this step; None without any."""
        self._write_settings(path)
        arrays = self.trainable.checkpoint()
        arrays |= {f"state.{name}": array for name, array in state_arrays(self.state).items()}
        if self.replay is not None:
            arrays |= {f"replay.{name}": array for name, array in self.replay.arrays().items()}
        if self.league is not None:
            arrays |= {f"league.{name}": array for name, array in self.league.arrays().items()}
        counters = {"steps": self.steps, "positions": self.positions, "seconds": self.seconds}
        metadata: dict[str, Any] = {"algorithm": self.algorithm, "env": words_metadata(self.env), "counters": counters}
        metadata |= {"settings": self._settings(), "metrics": metrics}
        write_arrays(path / CHECKPOINT, FORMAT, metadata, arrays)
        self._write_weights(path)

    def _settings(self) -> dict[str, Any]:
        """Return the game, the settings and the network in JSON's types, for a comparison with a checkpoint."""
        settings = {"env": env_metadata(self.env), "config": asdict(self.config)}
        return json.loads(json.dumps(settings | {"network": self.trainable.architecture()}))

    def _write_settings(self, folder: Path) -> None:
        """Write the settings to a folder. If it has settings, check instead that they are the same."""
        path = folder / CONFIG
        folder.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            # If only the file of settings is lost, it is written again with the same settings.
            if (folder / CHECKPOINT).exists():
                self._check_fits(folder / CHECKPOINT)
            write_config(path, self.algorithm, self.env, self.config, self.trainable.architecture())
            return
        env, config, network = read_config(path, self.algorithm, self.Config)
        if env_metadata(env) != env_metadata(self.env):
            raise ValueError(f"{str(folder)!r} has a run of {env!r}, got {self.env!r}")
        stored = asdict(config)
        wanted = asdict(self.config)
        for name in wanted:
            if stored[name] != wanted[name]:
                raise ValueError(f"{str(folder)!r} has a run with {name}={stored[name]}, got {wanted[name]}")
        if network != (own := self.trainable.architecture()):
            raise ValueError(f"{str(folder)!r} has a run with the network {network}, got {own}")

    def _write_weights(self, folder: Path) -> None:
        self.trainable.save(folder / WEIGHTS)

    @classmethod
    def load(cls, folder: str | Path, device: str | None = None) -> Self:
        """Load a trainer from the folder of a run.

        Args:
            folder: folder of a run or of `save`.
            device: as in `Env.init`.

        Raises:
            FileNotFoundError: a file is missing.
            ValueError: a file is damaged or of another algorithm, or has unknown settings, or settings that differ
                from the checkpoint's; the message names it.
        """
        path = file_path("folder", folder)
        trainer = cls.from_settings(read_config(path / CONFIG, cls.algorithm, cls.Config), device, path)
        trainer.resume(path)
        return trainer

    @classmethod
    def from_settings(
        cls, settings: RunSettings[Any], device: str | None = None, folder: str | Path | None = None, rank: int = 0
    ) -> Self:
        """Return a new trainer with the settings of a run.

        A network of JAX takes the names and shapes of its parameters from the checkpoint in the folder.

        Raises:
            FileNotFoundError: a network of JAX has no checkpoint.
            ValueError: the network cannot be imported or constructed.
        """
        network: OwnNetwork = None
        if settings.network is not None and "function" in settings.network:
            need("optax", "the network of this run", "jax")
            from tensor_envs.train import jax_network  # its module imports JAX

            assert folder is not None
            _, arrays = read_arrays(Path(folder) / CHECKPOINT, FORMAT)
            network = jax_network.build(settings.network, _group("network", arrays))
        elif settings.network is not None:
            need("torch", "the network of this run", "torch")
            from tensor_envs.train.torch_network import build  # its module imports PyTorch

            network = build(settings.network, settings.env, settings.config.seed)
        return cls(settings.env, settings.config, device, network=network, rank=rank)

    def resume(self, folder: str | Path) -> None:
        """Continue from the checkpoint of a folder; its game and settings must be the same."""
        self._resume(Path(folder))

    def _resume(self, folder: Path) -> dict[str, Any]:
        """Continue from a checkpoint and return its metadata."""
        path = folder / CHECKPOINT
        metadata, arrays = read_arrays(path, FORMAT)
        try:
            self._check_settings(metadata.get("settings"))
            if metadata["algorithm"] != self.algorithm or not has_words_of(metadata["env"], self.env):
                raise ValueError(f"it is of {metadata['algorithm']} on {shown(metadata['env'])}")
            self.trainable.restore(arrays)
            self.state = state_of(self.env, _group("state", arrays), self.device)
            counters = metadata["counters"]
            self.steps, self.positions, self.seconds = (counters[k] for k in ("steps", "positions", "seconds"))
            if self.replay is not None:
                self.replay.restore(_group("replay", arrays), self.steps)
            if self.league is not None:
                self.league.restore(_group("league", arrays))
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{str(path)!r} has no checkpoint that fits: {error}") from None
        return metadata

    def _check_fits(self, path: Path) -> None:
        """Raise ValueError, which names the file, if a checkpoint has other settings."""
        metadata, _ = read_arrays(path, FORMAT)
        try:
            self._check_settings(metadata.get("settings"))
        except ValueError as error:
            raise ValueError(f"{str(path)!r} has no checkpoint that fits: {error}") from None

    def _check_settings(self, stored: dict[str, Any] | None) -> None:
        """Raise ValueError if a checkpoint has other settings. Checkpoints of earlier versions have none."""
        if stored is None:
            return
        own = self._settings()
        if stored["env"] != own["env"]:
            raise ValueError(f"it is of the game {shown(stored['env'])}, and the settings say {shown(own['env'])}")
        for name, value in stored["config"].items():
            if own["config"].get(name) != value:
                raise ValueError(f"it is of a run with {name}={value}, and the settings say {own['config'].get(name)}")
        if stored.get("network") != own["network"]:
            network = stored.get("network")
            raise ValueError(f"it is of a run with the network {network}, and the settings say {own['network']}")


def _group(name: str, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the arrays of one group of a checkpoint, by their names within the group."""
    return {key.removeprefix(f"{name}."): array for key, array in arrays.items() if key.startswith(f"{name}.")}


def train(
    trainer: Trainer,
    step: Callable[[], Metrics],
    steps: int | None,
    seconds: float | None,
    folder: str | Path | None,
    callbacks: Sequence[Callback],
) -> Metrics:
    """Call `step` until a budget is spent, as described at `Trainer.run`; actors of Ray may play the steps."""
    if (steps is None) == (seconds is None):
        raise ValueError(f"give a budget of either steps or seconds, got steps={steps} and seconds={seconds}")
    if steps is not None:
        steps = integer("steps", steps, 0, MAX_COUNT)
    else:
        seconds = number("seconds", seconds, 0, 1e9)
    # Check all arguments before the folder is opened and written.
    instance("callbacks", callbacks, Sequence)
    for k, callback in enumerate(callbacks):
        function(f"callbacks[{k}]", callback)

    def progress() -> float:
        done, budget = (trainer.seconds, seconds) if steps is None else (trainer.steps, steps)
        share: float = broadcast(min(1.0, done / budget) if budget else 1.0)
        return share

    rating = Metrics()
    ratings = trainer.config.ratings
    # All learners take part in a step, since their gradients are averaged. Only rank 0 writes, rates and reports.
    is_first = trainer.rank == 0
    has_folder = folder is not None and is_first
    with closing(RunFolder(file_path("folder", folder), trainer)) if has_folder else nullcontext() as log:
        trainer.copy_from_first()
        # A run that continues has made progress, on which the learning rate depends.
        trainer.progress = progress()
        while (before := trainer.progress) < 1:
            metrics = step()
            trainer.progress = progress()
            # A rating is due when progress passes a multiple of 1 / ratings.
            if is_first and int(trainer.progress * ratings + ROUNDING) > int(before * ratings + ROUNDING):
                rating = trainer.rate()
                metrics |= rating
            if log is not None:
                log.add(trainer, metrics)
            for callback in callbacks if is_first else ():
                callback(trainer, metrics)
    return rating


class RunFolder:
    """Folder of a run: settings, checkpoint, weights, metrics of every step as lines of JSON, and curves.

    A lock keeps other runs out while it is open.
    """

    def __init__(self, path: Path, trainer: Trainer):
        """Open or create a folder. A new trainer continues from the folder's checkpoint.

        Raises:
            ValueError: the folder has another run, is damaged, or another process trains in it; or the trainer has
                steps, but not as many as the checkpoint.
        """
        self.path = path
        path.mkdir(parents=True, exist_ok=True)
        self.lock = os.open(path, os.O_RDONLY)
        try:
            lock_file(self.lock, f"folder must have no run in progress, got {str(path)!r}, which has one")
            trainer._write_settings(path)
            self._continue(trainer)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Release the lock on the folder."""
        os.close(self.lock)

    def _continue(self, trainer: Trainer) -> None:
        """Resume from the checkpoint, if there is one, and drop the metrics of later steps."""
        path = self.path
        metadata = dict[str, Any]()
        if (path / CHECKPOINT).exists():
            if trainer.steps == 0:
                metadata = trainer._resume(path)
                # A process that was killed after it wrote the checkpoint has left older weights.
                trainer._write_weights(path)
            else:
                metadata = read_arrays(path / CHECKPOINT, FORMAT)[0]
                if trainer.steps != (step := metadata["counters"]["steps"]):
                    text = f"{str(path)!r} has a checkpoint of step {step}, got a trainer at step {trainer.steps}"
                    raise ValueError(text)
        elif (path / WEIGHTS).exists():
            raise ValueError(f"{str(path)!r} has weights of a run, but not its {CHECKPOINT}: name another folder")
        # Without checkpoint and weights, a run was interrupted before its first checkpoint, or these files are lost.
        elif (steps := steps_of(path)) > trainer.config.checkpoint_steps:
            lost = f"neither its {CHECKPOINT} nor its {WEIGHTS}"
            raise ValueError(f"{str(path)!r} has metrics of {steps} steps of a run, but {lost}: name another folder")
        self.metrics = MetricsFile(path, trainer.steps, metadata.get("metrics"))

    def add(self, trainer: Trainer, metrics: Metrics) -> None:
        """Append the metrics of a step; draw curves after a rating; write a checkpoint if it is due."""
        self.metrics.add(metrics)
        if "mean_return" in metrics:
            title = f"{trainer.algorithm} on {trainer.env.id}"
            replace_file(self.path / CURVES, [curves(self.metrics.lines, title).encode()])
        if trainer.progress == 1 or trainer.steps % trainer.config.checkpoint_steps == 0:
            trainer._save(self.path, self.metrics.digest())
