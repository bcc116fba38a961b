"""Settings of training runs: dataclasses whose fields have ranges, and their files."""

from __future__ import annotations

import difflib
import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from tensor_envs._validate import instance, integer, number, shown
from tensor_envs.envs.env import Env
from tensor_envs.envs.registry import env_metadata, env_of
from tensor_envs.files.arrays import replace_file

MAX_COUNT = 2**31 - 1  # upper bound of counts without another limit
SEED_HIGH = 2**32 - 2  # ratings use the seed after the run's


def setting(default: Any, low: float, high: float, text: str) -> Any:
    """Return a dataclass field: a number of the default's type in low..high, or a bool."""
    return field(default=default, metadata={"low": low, "high": high, "help": text})


def flag(text: str) -> Any:
    """Return a dataclass field that is False by default."""
    return setting(False, 0, 1, text)


@dataclass(frozen=True)
class TrainingConfig:
    """Settings that all algorithms share.

    Raises:
        ValueError, TypeError: a value is out of range or of another type; the message names the field.
    """

    seed: int = setting(0, 0, SEED_HIGH, "seed of games, weights and actions")
    num_envs: int = setting(256, 1, MAX_COUNT, "games in a batch")
    rollout_length: int = setting(16, 1, MAX_COUNT, "decisions of every game in a step of training")
    hidden: int = setting(128, 1, MAX_COUNT, "units of each of two hidden layers")
    blocks: int = setting(0, 0, 64, "residual blocks of two 3x3 convolutions, which replace the first hidden layer")
    tanh: bool = flag("tanh in place of ReLU as the activation of the hidden layers")
    channels: int = setting(32, 1, MAX_COUNT, "channels of each convolution")
    bfloat16: bool = flag("compute in bfloat16 where PyTorch's autocast does (networks of PyTorch)")
    compiled: bool = flag("compile the network by torch.compile, which needs a C++ compiler (networks of PyTorch)")
    league_share: float = setting(0.0, 0, 1, "share of the games in which a past self plays all seats but one")
    league_size: int = setting(4, 1, 1024, "past selves in the league")
    league_steps: int = setting(50, 1, MAX_COUNT, "steps from one addition to the league to the next")
    value_scale: float = setting(1.0, 1e-4, 1e4, "return that the network learns as a value of 1")
    ratings: int = setting(10, 0, MAX_COUNT, "ratings of the player during a run")
    rating_games: int = setting(128, 1, MAX_COUNT, "games of a rating")
    rating_opening: int = setting(2, 0, 10_000, "random plies at the start of these games")
    rival_simulations: int = setting(64, 0, 2**20, "simulations of the opponent's playout search; 0: uniform play")
    regret: bool = flag("also rate by exact values (games that te.solve or an oracle of the game solves)")
    exploitability: bool = flag("also rate by exact exploitability (games that te.exploitability holds)")
    checkpoint_steps: int = setting(20, 1, MAX_COUNT, "steps from one checkpoint to the next")

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            low = item.metadata["low"]
            high = item.metadata["high"]
            if isinstance(item.default, bool):
                instance(item.name, value, bool)
            elif isinstance(item.default, int):
                object.__setattr__(self, item.name, integer(item.name, value, low, high))
            else:
                object.__setattr__(self, item.name, float(number(item.name, value, low, high)))


@dataclass(frozen=True)
class AlphaZeroConfig(TrainingConfig):
    """Settings of `AlphaZero`.

    Examples:
        >>> te.train.AlphaZeroConfig(num_simulations=16).num_simulations
        16
        >>> te.train.AlphaZeroConfig(num_simulations=0)
        Traceback (most recent call last):
            ...
        ValueError: num_simulations must be in 1..1048576, got 0
    """

    num_simulations: int = setting(32, 1, 2**20, "simulations of a search")
    playout_share: float = setting(0.0, 0, 1, "share of the run, from its start, in which playout search plays")
    playout_simulations: int = setting(256, 1, 2**20, "simulations of these playout searches")
    explore_plies: int = setting(8, 0, MAX_COUNT, "first plies of self-play with random actions, 0 to 100 % in a game")
    exact_ply: int = setting(0, 0, MAX_COUNT, "first ply whose value targets are exact, by te.solve; 0: none")
    search_value_weight: float = setting(0.2, 0, 1, "weight of the search's value at every decision in value targets")
    replay_steps: int = setting(48, 1, MAX_COUNT, "steps whose positions are in the replay buffer")
    updates: int = setting(24, 1, MAX_COUNT, "optimiser steps in a step of training")
    minibatch: int = setting(1024, 1, MAX_COUNT, "positions of an optimiser step")
    learning_rate: float = setting(4e-3, 0, 1, "initial learning rate, which decreases linearly to a tenth")
    overlap: bool = flag("learn during self-play, which uses the weights of the step before (networks of PyTorch)")

    def __post_init__(self) -> None:
        super().__post_init__()
        # PyTorch compiles for the shapes of the first calls, whose order would depend on the timing of two threads.
        if self.overlap and self.compiled:
            raise ValueError("overlap must be False where compiled is True")


@dataclass(frozen=True)
class PPOConfig(TrainingConfig):
    """Settings of `PPO`.

    Examples:
        >>> te.train.PPOConfig(num_envs=64, minibatches=2).epochs
        4
        >>> te.train.PPOConfig(minibatches=3)
        Traceback (most recent call last):
            ...
        ValueError: minibatches must divide num_envs, got 3 and 256
    """

    hidden: int = setting(64, 1, MAX_COUNT, "units of each of two hidden layers")
    rating_games: int = setting(1024, 1, MAX_COUNT, "games of a rating")
    rating_opening: int = setting(0, 0, 10_000, "random plies at the start of these games")
    rival_simulations: int = setting(0, 0, 2**20, "simulations of the opponent's playout search; 0: uniform play")
    epochs: int = setting(4, 1, MAX_COUNT, "passes over a rollout")
    minibatches: int = setting(4, 1, MAX_COUNT, "equal groups of games, with one optimiser step each")
    learning_rate: float = setting(5e-3, 0, 1, "initial learning rate, which decreases linearly to 0")
    entropy: float = setting(0.2, 0, 100, "weight of the policy's entropy, which keeps self-play diverse")
    kl: float = setting(0.0, 0, 100, "weight of the divergence from the rollout's policy: magnetic mirror descent")
    clip: float = setting(0.2, 0, 1, "largest change of a probability ratio from 1 that has a gradient")
    gamma: float = setting(1.0, 0, 1, "discount from one decision of a player to the next")
    gae_lambda: float = setting(0.95, 0, 1, "lambda of the advantages")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.num_envs % self.minibatches:
            raise ValueError(f"minibatches must divide num_envs, got {self.minibatches} and {self.num_envs}")


C = TypeVar("C", bound=TrainingConfig)


class RunSettings(NamedTuple, Generic[C]):
    """Settings of a run.

    Attributes:
        env: the environment.
        config: settings of the algorithm.
        network: name ("class") and "arguments" of a class of PyTorch, or name of a "function" of JAX; None: the
            settings define a network of tinygrad.
    """

    env: Env
    config: C
    network: dict[str, Any] | None


def write_config(
    path: Path, algorithm: str, env: Env, config: TrainingConfig, network: dict[str, Any] | None = None
) -> None:
    """Write the settings of a run as TOML. ValueError for an environment that the file would not give back."""
    game = env_metadata(env)
    rules = {name: value for name, value in game.pop("rules").items() if value is not None}  # TOML has no None
    tables = {"env": game, "env.rules": rules, "config": asdict(config)}
    if network is not None:
        tables["network"] = {key: value for key, value in network.items() if key != "arguments"}
        if "arguments" in network:
            tables["network.arguments"] = network["arguments"]
    lines = [f"algorithm = {json.dumps(algorithm)}"]
    for table, values in tables.items():
        pairs = ((name, json.dumps(value, ensure_ascii=False)) for name, value in values.items())
        lines += ["", f"[{table}]", *(f"{name} = {value}" for name, value in pairs)]
    text = "\n".join([*lines, ""])
    try:
        stored = env_metadata(env_of(tomllib.loads(text)["env"]))
    except (TypeError, ValueError, KeyError, AttributeError, ImportError):
        stored = {}
    if stored != env_metadata(env):
        raise ValueError(f"env must be registered, with rule fields that a file of TOML can hold, got {env!r}")
    replace_file(path, [text.encode()])


def read_config(path: Path, algorithm: str, kind: type[C]) -> RunSettings[C]:
    """Return the settings of a run.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: names the file, and the nearest key for an unknown one.
    """
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        network = table.pop("network", None)
        _check_keys("", table, ("algorithm", "env", "config"), complete=True)
        if network is not None:
            instance("network", network, dict)
            keys = ("function",) if "function" in network else ("class", "arguments")
            _check_keys("network.", network, keys, complete=True)
            instance(f"network.{keys[0]}", network[keys[0]], str)
            instance("network.arguments", network.get("arguments", {}), dict)
        if table["algorithm"] != algorithm:
            raise ValueError(f"algorithm must be {algorithm!r}, got {shown(table['algorithm'])}")
        game = table["env"]
        values = table["config"]
        instance("config", values, dict)
        _check_keys("env.", game, ("id", "version", "illegal", "rules"), complete=True)
        _check_keys("config.", values, [item.name for item in fields(kind)])
        return RunSettings(env_of(game), kind(**values), network)
    except FileNotFoundError:
        raise FileNotFoundError(f"no file {str(path)!r}") from None
    except (TypeError, ValueError, KeyError, AttributeError, ImportError) as error:
        raise ValueError(f"{str(path)!r} has no settings that can be used: {error}") from None


def _check_keys(prefix: str, table: Mapping[str, Any], names: Iterable[str], complete: bool = False) -> None:
    """Raise ValueError for a key that is not among the names or, if the table must be complete, for a missing one."""
    names = list(names)
    for key in table:
        if key not in names:
            near = difflib.get_close_matches(key, names, 1, 0)[0]
            raise ValueError(f"there is no key {shown(prefix + key)}; the nearest is {prefix + near!r}")
    if missing := [name for name in names if complete and name not in table]:
        raise ValueError(f"the key {prefix + missing[0]!r} is missing")
