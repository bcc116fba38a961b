"""The network of the players that come with the package, and its files."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from tinygrad import Tensor, nn
from tinygrad.helpers import TRAINING

from tensor_envs.core.backend.device import DeviceName
from tensor_envs.core.env import Env
from tensor_envs.core.files import read_arrays, write_arrays
from tensor_envs.core.state import State
from tensor_envs.policy import masked_logits
from tensor_envs.saving import about, env_of
from tensor_envs.search.tree_search import Evaluate

FORMAT = "tensor_envs network 1"
FOLDER = Path(__file__).parent / "weights"  # those that come with the package: a game's id and ".safetensors"


class Network:
    """Two hidden layers from the flat observation to log-probabilities [B, A] and values [B]."""

    def __init__(
        self,
        env: Env,
        hidden: int,
        weights: dict[str, np.ndarray] | None = None,
        device: DeviceName | None = None,
    ):
        """weights: those to begin with; None for random ones."""
        self.first = nn.Linear(math.prod(env.observation_shape), hidden)
        self.second = nn.Linear(hidden, hidden)
        self.policy, self.value = nn.Linear(hidden, env.num_actions), nn.Linear(hidden, 1)
        self.policy.weight *= 0.01  # the first policy is nearly uniform
        own = nn.state.get_state_dict(self)
        for name, array in (weights or {}).items():
            own[name].replace(Tensor(array.astype(np.float32)))
        if device is not None:
            for tensor in own.values():
                tensor.replace(tensor.to(device) if isinstance(device, str) else tensor.shard(device))
        # realised now, else every capture would draw weights of its own
        Tensor.realize(*own.values())

    def __call__(self, observation: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        features = observation
        for layer in (self.first, self.second):
            features = layer(features).tanh()
            if TRAINING:  # else gradients take every tanh anew for every unit that it leads to
                features = features.contiguous()
        return masked_logits(self.policy(features), mask).log_softmax(), self.value(features).squeeze(1)


def look(env: Env, state: State) -> tuple[Tensor, Tensor]:
    """Observations float32 [B, n] and masks bool [B, A] of those to move."""
    return env.observe(state).flatten(1).float().contiguous(), state.legal_action_mask.contiguous()


def evaluator(env: Env, network: Network) -> Evaluate:
    """For a search: values of the mover, of a game that is not for two with zero sum those of all players."""
    spec = env.spec

    def evaluate(state: State) -> tuple[Tensor, Tensor]:
        logits, value = network(*look(env, state))
        if spec.num_players == 1 or (spec.num_players == 2 and spec.zero_sum):
            return logits, value
        # the others share what the mover loses: right in zero-sum games, else the best that one value can say
        mover = state.current_player.reshape(-1, 1) == Tensor.arange(spec.num_players).reshape(1, -1)
        return logits, mover.where(value.reshape(-1, 1), -value.reshape(-1, 1) / (spec.num_players - 1))

    return evaluate


def save(env: Env, weights: dict[str, Tensor], path: str | Path) -> None:
    """A safetensors file of half precision that names its game, in place of the one before."""
    write_arrays(path, FORMAT, about(env), {k: w.numpy().astype(np.float16) for k, w in weights.items()})


def load(path: str | Path) -> tuple[Env, dict[str, np.ndarray]]:
    """What `save` has saved. FileNotFoundError; ValueError for something else or another version of the game."""
    told, weights = read_arrays(path, FORMAT)
    try:
        env = env_of(told)
        hidden, inputs = len(weights["first.bias"]), math.prod(env.observation_shape)
        sizes = {"first": (hidden, inputs), "second": (hidden, hidden), "policy": (env.num_actions, hidden)}
        sizes["value"] = (1, hidden)
        wanted: dict[str, tuple[int, ...]] = {f"{name}.weight": size for name, size in sizes.items()}
        wanted |= {f"{name}.bias": size[:1] for name, size in sizes.items()}
        if {name: array.shape for name, array in weights.items()} != wanted:
            raise ValueError(f"their shapes are not those of a network for {env!r}")
    except (KeyError, TypeError, AttributeError, ValueError, ImportError) as error:
        raise ValueError(f"{str(path)!r} has no weights that fit: {str(error)[:120]}") from None
    return env, {name: np.array(array) for name, array in weights.items()}  # off the disk
