"""Networks of tinygrad in training."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tinygrad import Context, Tensor, nn

from tensor_envs._runtime.buffers import buffer_of, upload, write
from tensor_envs._runtime.context import LOCK
from tensor_envs._runtime.exchange import to_numpy
from tensor_envs._runtime.jitted import jit
from tensor_envs._runtime.launch import eager, realize
from tensor_envs._runtime.opening import open_device
from tensor_envs.envs.env import Env
from tensor_envs.train.config import TrainingConfig
from tensor_envs.train.network import Network, evaluator, save
from tensor_envs.train.trainable import Loss, TrainableNetwork, check_shape


class TrainableTinygrad(TrainableNetwork):
    """Network of tinygrad in training. The optimiser step is captured once and replayed."""

    is_capturable = True
    network: Network

    def __init__(self, env: Env, config: TrainingConfig, device: str | None, loss: Loss, epsilon: float):
        """Make a network with random weights; the settings give its sizes. epsilon: that of Adam."""
        self.env = env
        self.value_scale = config.value_scale
        self.device = str(open_device(device))
        self.loss = loss
        self.network = Network(
            env,
            config.hidden,
            config.blocks,
            config.channels,
            activation="tanh" if config.tanh else "relu",
            seed=config.seed,
            device=device,
        )
        self.optimizer = nn.optim.Adam(nn.state.get_parameters(self.network), eps=epsilon)
        self.evaluate = evaluator(env, self.network, config.value_scale)
        self.fit = jit(self._fit)

    def __call__(self, observation: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        return self.network(observation, mask)

    def learn(self, minibatches: Iterable[Sequence[Any]], learning_rate: float, seed: int) -> tuple[float, float]:
        """Take an optimiser step for each minibatch. The network has no random numbers, so `seed` is not used."""
        assign(self.optimizer.lr, np.array([learning_rate]))
        with LOCK, Context(TRAINING=1):  # type: ignore[no-untyped-call]
            losses = [self.fit(*map(self._on_device, minibatch)) for minibatch in minibatches]
        policy, value = np.mean([to_numpy(loss) for loss in losses], 0).tolist()
        return policy, value

    def _on_device(self, part: Any) -> Tensor:
        return part if isinstance(part, Tensor) else upload(part, self.device).reshape(part.shape)

    def _fit(self, observation: Tensor, mask: Tensor, *targets: Tensor) -> Tensor:
        """Take an optimiser step and return the losses of policy and value, [2]."""
        losses = Tensor.stack(*self.loss(*self.network(observation, mask), *targets))
        self.optimizer.zero_grad()
        losses.sum().backward()
        self.optimizer.step()
        return losses

    def weights(self) -> dict[str, np.ndarray]:
        """Return the weights by name, scaled so that the network's values are returns."""
        weights = _scaled(self.network.weights(), self.value_scale)
        return {name: to_numpy(eager(weight), copy=True) for name, weight in weights.items()}

    def assign_weights(self, arrays: Mapping[str, np.ndarray]) -> None:
        values = self.network.matrices(_scaled(arrays, 1 / self.value_scale))
        # A captured network reads these Tensors, so only their contents are replaced.
        for name, tensor in self.network.parameters().items():
            assign(tensor, values[name])

    def _tensors(self) -> dict[str, Tensor]:
        """Return the tensors of a checkpoint by name."""
        optimizer = nn.state.get_state_dict(self.optimizer)
        groups = {
            "network": self.network.parameters(),
            "optimizer": {k: t for k, t in optimizer.items() if k != "lr" and not k.startswith("params.")},
        }
        return {f"{group}.{name}": tensor for group, tensors in groups.items() for name, tensor in tensors.items()}

    def checkpoint(self) -> dict[str, np.ndarray]:
        return {name: to_numpy(tensor) for name, tensor in self._tensors().items()}

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        for name, tensor in self._tensors().items():
            check_shape(name, arrays[name], tensor.shape)
            assign(tensor, arrays[name])

    def architecture(self) -> None:
        return None

    def save(self, path: Path) -> None:
        save(self.env, self.weights(), path, self.network.activation)

    def for_actors(self) -> None:
        return None


def _scaled(weights: Mapping[str, Any], factor: float) -> dict[str, Any]:
    """Return weights with which the network's values are multiplied by a factor."""
    return {name: w if factor == 1 or not name.startswith("value.") else w * factor for name, w in weights.items()}


def assign(tensor: Tensor, array: np.ndarray) -> None:
    """Assign an array to a tensor in place, since captured functions use its buffer."""
    values = np.array(array, np.float32)  # A copy, since the array may be part of a memory-mapped file.
    if buffer_of(tensor) is None:
        realize(tensor.assign(upload(values, open_device(tensor.device)).reshape(array.shape)))
    else:
        write(tensor, values)
