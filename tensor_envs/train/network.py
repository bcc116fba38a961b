"""The network of the players that come with the package, and its files."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from tinygrad import Tensor, nn
from tinygrad.helpers import TRAINING

from tensor_envs._compiler.devices import DeviceName, resolve
from tensor_envs._files import read_arrays, write_arrays
from tensor_envs.env import Env
from tensor_envs.io import about, env_of
from tensor_envs.sampling import masked_logits
from tensor_envs.search.policies import Evaluate
from tensor_envs.state import State

FORMAT = "tensor_envs network 1"
FOLDER = (
    Path(__file__).parents[1] / "weights"
)  # those that come with the package: a game's id and ".safetensors"


class Network:
    """Two hidden layers from the flat observation to log-probabilities [B, A] and values [B].

    With blocks the first of them is a residual tower: a 3x3 convolution, then blocks of two.
    """

    def __init__(
        self,
        env: Env,
        hidden: int = 128,
        blocks: int = 0,
        channels: int = 32,
        *,
        weights: dict[str, np.ndarray] | None = None,
        device: DeviceName | None = None,
    ):
        """weights: those to begin with, which tell the sizes, too; None for random ones.

        ValueError: blocks for what is no board, weights that do not fit.
        """
        if weights is not None:
            hidden, channels = len(weights["second.bias"]), len(weights["first.bias"])
            blocks = sum(name.startswith("tower") for name in weights) // 4  # two weights, two biases
        self.shape = env.observation_shape
        if blocks and len(self.shape) != 3:
            raise ValueError(
                f"blocks must be 0 where [planes, rows, columns] are not observed, got {blocks} for {env!r}"
            )
        first = (self.shape[0], channels) if blocks else (math.prod(self.shape), hidden)
        self.first = nn.Conv2d(*first, 3, padding=1) if blocks else nn.Linear(*first)
        self.tower = [nn.Conv2d(channels, channels, 3, padding=1) for _ in range(2 * blocks)]
        self.second = nn.Linear(channels * math.prod(self.shape[1:]) if blocks else hidden, hidden)
        self.policy, self.value = nn.Linear(hidden, env.num_actions), nn.Linear(hidden, 1)
        self.policy.weight *= 0.01  # the first policy is nearly uniform
        own = nn.state.get_state_dict(self)
        if weights is not None:
            if {k: w.shape for k, w in weights.items()} != {k: w.shape for k, w in own.items()}:
                raise ValueError(f"their shapes are not those of a network for {env!r}")
            for name, array in weights.items():
                own[name].replace(Tensor(array.astype(np.float32)))
        if device is not None:
            for tensor in own.values():
                tensor.replace(tensor.to(device) if isinstance(device, str) else tensor.shard(device))
        resolve(device)  # opens the device with the compiler that is found, for tinygrad's kernels too
        # realised now, else every capture would draw weights of its own
        Tensor.realize(*own.values())

    def __call__(self, observation: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        features = observation.reshape(-1, *self.shape) if self.tower else observation
        features = self._kept(_applied(self.first, features).tanh())
        for one, two in zip(self.tower[::2], self.tower[1::2], strict=True):
            features = self._kept((features + two(self._kept(one(features).relu()))).relu())
        features = self._kept(_applied(self.second, features.flatten(1)).tanh())
        logits = masked_logits(_applied(self.policy, features), mask)
        return logits.log_softmax(), self.value(features).squeeze(1)

    def _kept(self, features: Tensor) -> Tensor:
        """Written to memory, else a convolution or a gradient takes each of them anew for all that it leads to."""
        return features.contiguous() if self.tower or TRAINING else features


def _applied(layer: nn.Linear | nn.Conv2d, features: Tensor) -> Tensor:
    """A layer; of a dense one the weights of an input lie side by side, which is four times as fast on the CPU."""
    if isinstance(layer, nn.Conv2d):
        return layer(features)
    return features.linear(layer.weight.T.contiguous(), layer.bias)


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
    told, stored = read_arrays(path, FORMAT)
    weights = {name: np.array(array) for name, array in stored.items()}  # off the disk
    try:
        env = env_of(told)
        Network(env, weights=weights)
    except (KeyError, TypeError, AttributeError, ValueError, ImportError, ZeroDivisionError) as error:
        raise ValueError(f"{str(path)!r} has no weights that fit: {str(error)[:120]}") from None
    return env, weights
