"""Networks of PyTorch in training."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tinygrad import Tensor

from tensor_envs._runtime.exchange import from_torch, to_torch
from tensor_envs.envs.env import Env
from tensor_envs.envs.sampling import FLOOR
from tensor_envs.train.config import TrainingConfig
from tensor_envs.train.network import save_imported
from tensor_envs.train.parallel import num_learners
from tensor_envs.train.torch_network import TorchNetwork, architecture_of, to_array
from tensor_envs.train.trainable import Loss, TrainableNetwork, check_shape


class TrainableTorch(TrainableNetwork):
    """Network of PyTorch in training, on the card of the games or on the CPU."""

    is_capturable = False
    network: torch.nn.Module

    def __init__(self, env: Env, module: Any, config: TrainingConfig, device: str | None, loss: Loss, epsilon: float):
        """Make an optimiser for a module with its present weights. epsilon: that of Adam."""
        modes = {"bfloat16": config.bfloat16, "compiled": config.compiled}
        self.inner = TorchNetwork(env, module, config.value_scale, device, **modes)
        if not any(parameter.requires_grad for parameter in module.parameters()):
            raise ValueError("network must have parameters that require a gradient, got none")
        self.forward = self.inner.forward  # callable that learns
        # With several learners, PyTorch averages their gradients, and starts them with the weights of rank 0.
        if num_learners() > 1:
            self.forward = torch.nn.parallel.DistributedDataParallel(self.forward)
        self.loss = loss
        self.network = module
        self.optimizer = torch.optim.Adam(module.parameters(), eps=epsilon)
        self.evaluate = self.inner.evaluate

    def __call__(self, observation: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        with torch.inference_mode():
            logs, value = self._masked(self._placed(observation), self._placed(mask), self.inner.forward)
        return from_torch(logs), from_torch(value.contiguous())

    def _masked(self, observation: torch.Tensor, mask: torch.Tensor, forward: Any) -> tuple[torch.Tensor, torch.Tensor]:
        """Return masked log-probabilities [B, A] and values [B] of the module. forward: callable of the module."""
        logits, value = self.inner(observation, forward)
        return logits.masked_fill(~mask, FLOOR).log_softmax(1), value

    def _placed(self, part: Any) -> torch.Tensor:
        """Convert a Tensor or an array to a tensor of PyTorch on the module's device."""
        # An array from another process is read-only, so arrays are copied.
        return (to_torch(part) if isinstance(part, Tensor) else torch.tensor(part)).to(self.inner.place)

    def learn(self, minibatches: Iterable[Sequence[Any]], learning_rate: float, seed: int) -> tuple[float, float]:
        self.optimizer.param_groups[0]["lr"] = learning_rate
        place = self.inner.place
        with torch.random.fork_rng(devices=[] if place == "cpu" else [place]):
            torch.manual_seed(seed)
            self.network.train()
            try:
                losses = [self._fit(*map(self._placed, minibatch)) for minibatch in minibatches]
            finally:
                self.network.eval()
        policy, value = torch.stack(losses).mean(0).tolist()
        return policy, value

    def _fit(self, observation: torch.Tensor, mask: torch.Tensor, *targets: torch.Tensor) -> torch.Tensor:
        """Take an optimiser step and return the losses of policy and value, [2]."""
        losses = torch.stack(self.loss(*self._masked(observation, mask, self.forward), *targets))
        self.optimizer.zero_grad()
        losses.sum().backward()
        self.optimizer.step()
        return losses.detach()

    def weights(self) -> dict[str, np.ndarray]:
        return self.inner.weights()

    def assign_weights(self, arrays: Mapping[str, np.ndarray]) -> None:
        self.inner.assign_weights(arrays)

    def checkpoint(self) -> dict[str, np.ndarray]:
        """Return the weights by name, and the optimiser's state by the number of the parameter."""
        state = self.optimizer.state_dict()["state"]
        arrays = {f"network.{name}": array for name, array in self.weights().items()}
        return arrays | {
            f"optimizer.{number}.{name}": to_array(tensor)
            for number, entries in state.items()
            for name, tensor in entries.items()
        }

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        state: dict[int, dict[str, torch.Tensor]] = {}
        weights = {}
        shapes = [parameter.shape for parameter in self.optimizer.param_groups[0]["params"]]
        for key, array in arrays.items():
            group, _, name = key.partition(".")
            if group == "network":
                weights[name] = array
            elif group == "optimizer":
                number, _, entry = name.partition(".")
                if array.shape:  # A scalar is the number of steps.
                    check_shape(key, array, shapes[int(number)])
                state.setdefault(int(number), {})[entry] = torch.tensor(array)
        self.inner.assign_weights(weights)
        self.optimizer.load_state_dict(self.optimizer.state_dict() | {"state": state})

    def architecture(self) -> dict[str, Any]:
        return architecture_of(self.network)

    def save(self, path: Path) -> None:
        save_imported(self.inner.env, self.architecture(), self.inner.value_scale, self.weights(), path)

    def for_actors(self) -> Any:
        return copy.deepcopy(self.network).cpu()
