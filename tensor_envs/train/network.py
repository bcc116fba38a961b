"""Network of the players that come with the package, and its files."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from tinygrad import Tensor, nn
from tinygrad.helpers import TRAINING

from tensor_envs._compiler.devices import DeviceName, resolve
from tensor_envs._files import read_arrays, write_arrays
from tensor_envs.registry import env_metadata, env_of
from tensor_envs.sampling import masked_logits

if TYPE_CHECKING:
    from tensor_envs.env import Env
    from tensor_envs.search.policies import Evaluate
    from tensor_envs.state import State

FORMAT = "tensor_envs network 1"
FOLDER = Path(__file__).parents[1] / "weights"  # weights of the package: files <id of the game>.safetensors


class Network:
    """Network of two hidden layers from the observation to log-probabilities [B, A] and values [B].

    With `blocks`, a residual tower replaces the first layer: a 3x3 convolution, then blocks of two convolutions.

    Examples:
        >>> env = te.make("tic_tac_toe")
        >>> state, network = env.init(2), te.train.Network(env, hidden=8)
        >>> logits, values = network(env.observe(state).flatten(1).float(), state.legal_action_mask)
        >>> logits.shape, values.shape
        ((2, 9), (2,))
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
        """Build the layers with random weights, or with given ones, which also define the sizes.

        Args:
            env: the environment.
            hidden: width of the hidden layers.
            blocks: number of residual blocks; 0 for none.
            channels: channels of the tower.
            weights: initial weights by name.
            device: as in `Env.init`; None leaves the weights on the default device.

        Raises:
            ValueError: blocks for an observation that is not [planes, rows, columns], or weights that do not fit.
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
        self.policy.weight *= 0.01  # the initial policy is nearly uniform
        own = nn.state.get_state_dict(self)
        if weights is not None:
            if {k: w.shape for k, w in weights.items()} != {k: w.shape for k, w in own.items()}:
                raise ValueError(f"their shapes are not those of a network for {env!r}")
            for name, array in weights.items():
                own[name].replace(Tensor(array.astype(np.float32)))
        if device is not None:
            for tensor in own.values():
                tensor.replace(tensor.to(device) if isinstance(device, str) else tensor.shard(device))
        resolve(device)  # opens the device with the package's compiler, for tinygrad's kernels too
        # realised here, otherwise every capture would draw new random weights
        Tensor.realize(*own.values())

    def __call__(self, observation: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return masked log-probabilities [B, A] and values [B]."""
        features = observation.reshape(-1, *self.shape) if self.tower else observation
        features = self._stored(_applied(self.first, features).tanh())
        for one, two in zip(self.tower[::2], self.tower[1::2], strict=True):
            features = self._stored((features + two(self._stored(one(features).relu()))).relu())
        features = self._stored(_applied(self.second, features.flatten(1)).tanh())
        logits = masked_logits(_applied(self.policy, features), mask)
        return logits.log_softmax(), self.value(features).squeeze(1)

    def _stored(self, features: Tensor) -> Tensor:
        """Write features to memory, where convolutions and gradients would otherwise recompute them for every use."""
        return features.contiguous() if self.tower or TRAINING else features


def _applied(layer: nn.Linear | nn.Conv2d, features: Tensor) -> Tensor:
    """Apply a layer. The weights of a dense layer are transposed to contiguous memory, which is faster on the CPU."""
    if isinstance(layer, nn.Conv2d):
        return layer(features)
    return features.linear(layer.weight.T.contiguous(), layer.bias)


def look(env: Env, state: State) -> tuple[Tensor, Tensor]:
    """Return observations, float32 [B, n], and masks, bool [B, A], of the players to move."""
    return env.observe(state).flatten(1).float().contiguous(), state.legal_action_mask.contiguous()


def evaluator(env: Env, network: Network) -> Evaluate:
    """Return an evaluation for searches; its values are [B] for one player or two with zero sum, else [B, P].

    Examples:
        >>> env = te.make("tic_tac_toe")
        >>> evaluate = te.train.evaluator(env, te.train.Network(env, hidden=8))
        >>> te.search.gumbel_muzero_policy(env.init(2), evaluate, num_simulations=4).action.shape
        (2,)
    """
    spec = env.spec

    def evaluate(state: State) -> tuple[Tensor, Tensor]:
        logits, value = network(*look(env, state))
        if spec.num_players == 1 or (spec.num_players == 2 and spec.zero_sum):
            return logits, value
        # the other players share the negated value equally: exact only in zero-sum games
        mover = state.current_player.reshape(-1, 1) == Tensor.arange(spec.num_players).reshape(1, -1)
        return logits, mover.where(value.reshape(-1, 1), -value.reshape(-1, 1) / (spec.num_players - 1))

    return evaluate


def save(env: Env, weights: dict[str, Tensor], path: str | Path) -> None:
    """Write weights in half precision, with the environment, to a safetensors file; replaces an existing one."""
    write_arrays(path, FORMAT, env_metadata(env), {k: w.numpy().astype(np.float16) for k, w in weights.items()})


def load(path: str | Path) -> tuple[Env, dict[str, np.ndarray]]:
    """Return the environment and the weights of a file by `save`.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: a file of another kind, or of another version of the game.
    """
    metadata, stored = read_arrays(path, FORMAT)
    weights = {name: np.array(array) for name, array in stored.items()}  # copies of the mapped file
    try:
        env = env_of(metadata)
        Network(env, weights=weights)
    except (KeyError, TypeError, AttributeError, ValueError, ImportError, ZeroDivisionError) as error:
        raise ValueError(f"{str(path)!r} has no weights that fit: {str(error)[:120]}") from None
    return env, weights
