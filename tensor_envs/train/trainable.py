"""Networks in training: what trainers need of a library."""

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

# A module of PyTorch, a function of JAX with its parameters, or None for a network of tinygrad
OwnNetwork: TypeAlias = "torch.nn.Module | tuple[Callable[..., Any], dict[str, Any]] | None"
# A function of log-probabilities [B, A], values [B] and targets to the losses of policy and value, for any library
Loss = Callable[..., tuple[Any, Any]]


class TrainableNetwork(ABC):
    """Network with its optimiser, of one library. Trainers use no other part of a library that networks are of.

    Attributes:
        network: the network, whose values are returns divided by the setting `value_scale`.
        optimizer: an optimiser of the library.
        evaluate: evaluation for searches, as in `te.search.gumbel_muzero_policy`; its values are returns.
        is_capturable: whether `te.jit` can capture a call.
    """

    network: Any
    optimizer: Any  # its methods have no types
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
            learning_rate: learning rate of all these steps.
            seed: seed of what the network draws while it learns, such as dropout.
        """

    @abstractmethod
    def weights(self) -> dict[str, np.ndarray]:
        """Return copies of the weights by name, as in the file that `save` writes."""

    @abstractmethod
    def assign_weights(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Assign arrays of the names, shapes and dtypes of `weights`."""

    @abstractmethod
    def checkpoint(self) -> dict[str, np.ndarray]:
        """Return the state of the network ("network.*") and of the optimiser ("optimizer.*")."""

    @abstractmethod
    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Restore the state that `checkpoint` returned. KeyError or ValueError if it does not fit."""

    @abstractmethod
    def architecture(self) -> dict[str, Any] | None:
        """Return what a run's settings say about the network; None for tinygrad's, which other settings define."""

    @abstractmethod
    def save(self, path: Path) -> None:
        """Write the weights to a file for `te.agents.load`."""

    @abstractmethod
    def for_actors(self) -> Any:
        """Return the argument `network` of a trainer in another process."""


def operations_of(array: Any) -> Any:
    """Return the functions `exp`, `minimum`, `clip`, ... of an array's library: a module, or the arrays' class."""
    return array.__array_namespace__() if hasattr(array, "__array_namespace__") else type(array)


def check_shape(name: str, array: np.ndarray, shape: Sequence[Any]) -> None:
    """Raise ValueError, which names an array of a checkpoint, for another shape."""
    if array.shape != tuple(shape):
        raise ValueError(f"{name} has shape {array.shape} instead of {tuple(shape)}")
