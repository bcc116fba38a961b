"""Small networks of PyTorch, as users write them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

import tensor_envs as te


class Small(nn.Module):  # type: ignore[misc] # PyTorch has no types where it is not installed
    """One hidden layer with batch normalisation and dropout, which differ between learning and play."""

    def __init__(self, env: te.Env, width: int = 8, *, dropout: float = 0.25):
        super().__init__()
        self.width = width
        self.dropout = dropout
        inputs = math.prod(env.observation_shape)
        self.body = nn.Sequential(
            nn.Flatten(), nn.Linear(inputs, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Dropout(dropout)
        )
        self.policy = nn.Linear(width, env.num_actions)
        self.value = nn.Linear(width, 1)

    def forward(self, observation: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        features = self.body(observation)
        return self.policy(features), self.value(features).squeeze(1)


class Noting(Small):
    """Network whose state has an entry that is no tensor."""

    def get_extra_state(self) -> str:
        return "noted"


class Centred(Small):
    """Network that subtracts a half from its input, in place or not."""

    in_place = True

    def forward(self, observation: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return super().forward(observation.sub_(0.5) if self.in_place else observation - 0.5)


class Returning(nn.Module):  # type: ignore[misc]
    """Network that returns what a function makes of the observations."""

    def __init__(self, function: Any):
        super().__init__()
        self.function = function

    def forward(self, observation: torch.Tensor) -> Any:
        return self.function(observation)


class Twice(nn.Module):  # type: ignore[misc]
    """Network for tic-tac-toe that uses its weights twice, and calls a function between."""

    def __init__(self, between: Callable[[], object]):
        super().__init__()
        self.layer = nn.Linear(18, 18)
        self.between = between

    def forward(self, observation: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        features = self.layer(observation.flatten(1))
        self.between()
        features = self.layer(features)
        return features[:, :9], features[:, 9]
