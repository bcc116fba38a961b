"""Networks of JAX in training."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from tinygrad import Tensor

from tensor_envs._runtime.exchange import from_dlpack
from tensor_envs.envs.env import Env
from tensor_envs.envs.sampling import FLOOR
from tensor_envs.train.config import TrainingConfig
from tensor_envs.train.jax_network import JaxNetwork, Parameters, architecture_of
from tensor_envs.train.network import save_imported
from tensor_envs.train.trainable import Loss, TrainableNetwork, check_shape


class TrainableJax(TrainableNetwork):
    """Network of JAX in training, on the card of the games or on the CPU; its optimiser is Optax's Adam."""

    is_capturable = False
    network: JaxNetwork

    def __init__(
        self, env: Env, pair: tuple[Any, Any], config: TrainingConfig, device: str | None, loss: Loss, epsilon: float
    ):
        """Make an optimiser for the pair of a function and its present parameters. epsilon: that of Adam."""
        self.network = JaxNetwork(env, pair, config.value_scale, device)
        self.loss = loss
        self.optimizer = optax.scale_by_adam(eps=epsilon)
        self.state = jax.device_put(self.optimizer.init(self.network.parameters), self.network.place)
        self.evaluate = self.network.evaluate
        self._call = jax.jit(self._masked)
        self._fit = jax.jit(self._step)

    def __call__(self, observation: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        array = self.network.array
        logs, value = self._call(self.network.parameters, array(observation), array(mask))
        return from_dlpack(logs), from_dlpack(value)

    def _masked(self, parameters: Parameters, observation: jax.Array, mask: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Return masked log-probabilities [B, A] and values [B]."""
        logits, value = self.network(parameters, observation)
        masked = jnp.where(mask, logits.astype(jnp.float32), FLOOR)
        return jax.nn.log_softmax(masked), value.astype(jnp.float32)

    def learn(self, minibatches: Iterable[Sequence[Any]], learning_rate: float, seed: int) -> tuple[float, float]:
        """Take an optimiser step for each minibatch. The function has no random numbers, so `seed` is not used."""
        losses = []
        for minibatch in minibatches:
            arrays = map(self.network.array, minibatch)
            result = self._fit(self.network.parameters, self.state, learning_rate, *arrays)
            self.network.parameters, self.state, step_losses = result
            losses.append(step_losses)
        policy, value = np.mean(np.array(losses), 0).tolist()
        return policy, value

    def _step(
        self,
        parameters: Parameters,
        state: Any,
        learning_rate: float,
        observation: jax.Array,
        mask: jax.Array,
        *targets: jax.Array,
    ) -> tuple[Parameters, Any, jax.Array]:
        """Return parameters and state after an optimiser step, and the losses of policy and value, [2]."""

        def total(parameters: Parameters) -> tuple[jax.Array, jax.Array]:
            losses = jnp.stack(self.loss(*self._masked(parameters, observation, mask), *targets))
            return losses.sum(), losses

        gradients, losses = jax.grad(total, has_aux=True)(parameters)
        updates, state = self.optimizer.update(gradients, state)
        after = jax.tree.map(lambda weight, update: weight - learning_rate * update, parameters, updates)
        return after, state, losses

    def weights(self) -> dict[str, np.ndarray]:
        return self.network.weights()

    def assign_weights(self, arrays: Mapping[str, np.ndarray]) -> None:
        self.network.assign_weights(arrays)

    def checkpoint(self) -> dict[str, np.ndarray]:
        """Return the parameters by name, and the optimiser's arrays by number."""
        arrays = {f"network.{name}": array for name, array in self.weights().items()}
        leaves = jax.tree.leaves(self.state)
        return arrays | {f"optimizer.{number}": np.array(leaf) for number, leaf in enumerate(leaves)}

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        for name, own in self.checkpoint().items():
            check_shape(name, arrays[name], own.shape)
        weights = {name: np.array(arrays[f"network.{name}"]) for name in self.weights()}
        self.network.assign_weights(weights)
        leaves, structure = jax.tree.flatten(self.state)
        stored = [jnp.array(arrays[f"optimizer.{number}"]) for number in range(len(leaves))]
        self.state = jax.device_put(jax.tree.unflatten(structure, stored), self.network.place)

    def architecture(self) -> dict[str, Any]:
        return architecture_of(self.network.function)

    def save(self, path: Path) -> None:
        network = self.network
        save_imported(network.env, self.architecture(), network.value_scale, self.weights(), path)

    def for_actors(self) -> Any:
        return self.network.function, jax.device_get(self.network.parameters)
