"""Networks in training: the interface between trainers and the libraries of networks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
from tinygrad import Tensor

if TYPE_CHECKING:
    import torch

    from tensor_envs.search.outputs import Evaluate

# a module of PyTorch, a function of JAX with its parameters, or None for a network of tinygrad
OwnNetwork: TypeAlias = "torch.nn.Module | tuple[Callable[..., Any], dict[str, Any]] | None"
# function from log-probabilities [B, A], values [B] and targets to the losses of policy and value, for any library
Loss = Callable[..., tuple[Any, Any]]


class TrainableNetwork(ABC):
    """Network of a library with its optimiser. Trainers use the library only through this class.

    Attributes:
        network: the network, whose values are returns divided by the setting `value_scale`.
        optimizer: an optimiser of the library.
        evaluate: evaluation for searches, as in `te.search.gumbel_muzero_policy`; its values are returns.
        is_capturable: whether `te.jit` can capture a call of the network.
    """

    network: Any
    optimizer: Any
    evaluate: Evaluate
    is_capturable: ClassVar[bool]

    @abstractmethod
    def __call__(self, observation: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return masked log-probabilities [B, A] and values [B] for observations [B, n]."""

    @abstractmethod
    def learn(self, minibatches: Iterable[Sequence[Any]], learning_rate: float, seed: int) -> tuple[float, float]:
        """Take an optimiser step for each minibatch, and return the mean losses of policy and value.

        Args:
            minibatches: Tensors or arrays of observations [n, ...], masks [n, A], and the targets of the loss.
            learning_rate: learning rate of these steps.
            seed: seed of the network's random numbers, such as those of dropout.
        """

    @abstractmethod
    def weights(self) -> dict[str, np.ndarray]:
        """Return copies of the weights by name, as in the file that `save` writes."""

    @abstractmethod
    def assign_weights(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Assign arrays to the weights. Names, shapes and dtypes are those of `weights`."""

    @abstractmethod
    def checkpoint(self) -> dict[str, np.ndarray]:
        """Return the state of the network ("network.*") and of the optimiser ("optimizer.*")."""

    @abstractmethod
    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Restore the state that `checkpoint` returned. KeyError or ValueError if it does not fit."""

    @abstractmethod
    def architecture(self) -> dict[str, Any] | None:
        """Return the description of the network in a run's settings.

        It is None for a network of tinygrad, whose sizes are settings.
        """

    @abstractmethod
    def save(self, path: Path) -> None:
        """Write the weights to a file for `te.agents.load`."""

    @abstractmethod
    def for_actors(self) -> Any:
        """Return the argument `network` of another trainer with such a network, maybe in another process."""


def operations_of(array: Any) -> Any:
    """Return a module or class with the functions `exp`, `minimum`, `clip`, ... of an array's library."""
    return array.__array_namespace__() if hasattr(array, "__array_namespace__") else type(array)


def check_shape(name: str, array: np.ndarray, shape: Sequence[Any]) -> None:
    """Raise ValueError if an array of a checkpoint has another shape; the message has its name."""
    if array.shape != tuple(shape):
        raise ValueError(f"{name} has shape {array.shape} instead of {tuple(shape)}")
