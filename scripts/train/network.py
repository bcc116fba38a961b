"""The network of the tinygrad commands."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path

from tinygrad import Tensor, nn

import tensor_envs as te
from tensor_envs.core.files import replace_file


class Network:
    """Two hidden layers from the flat observation to log-probabilities [B, A] and values [B]."""

    def __init__(self, env: te.Env, hidden: int):
        self.first = nn.Linear(math.prod(env.observation_shape), hidden)
        self.second = nn.Linear(hidden, hidden)
        self.policy, self.value = nn.Linear(hidden, env.num_actions), nn.Linear(hidden, 1)
        self.policy.weight *= 0.01  # the first policy is nearly uniform
        # realised now, else every capture would draw weights of its own
        Tensor.realize(*nn.state.get_parameters(self))

    def __call__(self, observation: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        features = self.second(self.first(observation).tanh()).tanh()
        return te.masked_logits(self.policy(features), mask).log_softmax(), self.value(features).squeeze(1)


def save(weights: dict[str, Tensor], path: Path) -> None:
    """A safetensors file, in place of the one before."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "weights")
        nn.state.safe_save(weights, str(file))
        replace_file(path, [file.read_bytes()])


def load(env: te.Env, path: str) -> Network:
    """What `save` has saved. ValueError if it is something else, or of another game."""
    try:
        weights = nn.state.safe_load(path)
        network = Network(env, int(weights["first.bias"].shape[0]))
        shapes = {name: tuple(t.shape) for name, t in nn.state.get_state_dict(network).items()}
        if shapes != {name: tuple(t.shape) for name, t in weights.items()}:
            raise ValueError("they are of another game")
        nn.state.load_state_dict(network, weights, verbose=False)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RuntimeError) as error:
        about = f"{type(error).__name__}: {error}"[:100]
        raise ValueError(f"{path} has no weights of a network for {env!r} ({about})") from None
    return network


def look(env: te.Env, state: te.State) -> tuple[Tensor, Tensor]:
    """Observations float32 [B, n] and masks bool [B, A] of those to move."""
    return env.observe(state).flatten(1).float().contiguous(), state.legal_action_mask.contiguous()


def one_hot(index: Tensor, size: int) -> Tensor:
    return (index.unsqueeze(1) == Tensor.arange(size)).float()
