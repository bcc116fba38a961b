"""Networks of PyTorch that `python -m tensor_envs.train --network` names, to use or to copy.

Each is a function of observations, float32 [B, *observation_shape], to logits [B, A] and values [B]. Arguments of a
class are attributes of the same name, so that the settings of a run can name them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from torch import nn

from tensor_envs.train.architecture import board_shape, planes_of_actions

if TYPE_CHECKING:
    from tensor_envs.envs.env import Env

# numbers per cell from which the heads compute logits and the value, and width of the value's hidden layer
POLICY_PLANES = 8
VALUE_PLANES = 4
VALUE_HIDDEN = 64


def nearly_uniform(layer: nn.Module) -> nn.Module:
    """Return a layer to logits with smaller weights, so that the initial policy is nearly uniform."""
    with torch.no_grad():
        layer.weight *= 0.01
    return layer


class Heads(nn.Module):  # type: ignore[misc] # PyTorch has no types where it is not installed
    """Heads of a network with features of every cell, [B, cells, channels]."""

    def __init__(self, env: Env, cells: int, channels: int):
        super().__init__()
        last = nearly_uniform(nn.Linear(POLICY_PLANES * cells, env.num_actions))
        self.policy = nn.Sequential(nn.Linear(channels, POLICY_PLANES), nn.ReLU(), nn.Flatten(), last)
        self.value = nn.Sequential(
            nn.Linear(channels, VALUE_PLANES),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(VALUE_PLANES * cells, VALUE_HIDDEN),
            nn.ReLU(),
            nn.Linear(VALUE_HIDDEN, 1),
        )

    def forward(self, features: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self.policy(features), self.value(features).squeeze(1)


class Dense(nn.Module):  # type: ignore[misc]
    """Network of two hidden layers, for observations of any shape: `te.train.Network` in PyTorch.

    With `blocks`, a residual tower replaces the first layer, and adds a local policy of `action_planes`; None: as many
    as the actions fill. Weights have the names of files of `te.train.Network`.
    """

    def __init__(
        self,
        env: Env,
        hidden: int = 128,
        blocks: int = 0,
        channels: int = 32,
        tanh: bool = False,
        action_planes: int | None = None,
    ):
        super().__init__()
        self.action_planes = 0
        self.hidden = hidden
        self.blocks = blocks
        self.channels = channels
        self.tanh = tanh
        inputs = math.prod(env.observation_shape)
        if blocks:
            planes, rows, columns = board_shape(env.observation_shape)
            self.first = nn.Conv2d(planes, channels, 3, padding=1)
            self.second = nn.Linear(channels * rows * columns, hidden)
            self.action_planes = planes_of_actions(env.num_actions, rows * columns, action_planes)
        else:
            self.first = nn.Linear(inputs, hidden)
            self.second = nn.Linear(hidden, hidden)
        self.tower = nn.ModuleList(nn.Conv2d(channels, channels, 3, padding=1) for _ in range(2 * blocks))
        self.policy = nearly_uniform(nn.Linear(hidden, env.num_actions))
        self.value = nn.Linear(hidden, 1)
        if self.action_planes:
            self.local = nearly_uniform(nn.Conv2d(channels, self.action_planes, 1))

    def forward(self, observation: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        activation = torch.tanh if self.tanh else torch.relu
        features = activation(self.first(observation.flatten(1, -3) if self.blocks else observation.flatten(1)))
        for k in range(0, 2 * self.blocks, 2):
            inner = self.tower[k](features).relu()
            features = (features + self.tower[k + 1](inner)).relu()
        hidden = activation(self.second(features.flatten(1)))
        logits = self.policy(hidden)
        if self.action_planes:
            local = self.local(features).flatten(1)
            logits = logits + nn.functional.pad(local, (0, logits.shape[1] - local.shape[1]))
        return logits, self.value(hidden).squeeze(1)


class ResidualBlock(nn.Module):  # type: ignore[misc]
    """Residual block of two 3x3 convolutions."""

    def __init__(self, channels: int):
        super().__init__()
        self.inner = nn.Sequential(*convolution(channels, channels), nn.ReLU(), *convolution(channels, channels))

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        return (features + self.inner(features)).relu()


def convolution(inputs: int, outputs: int) -> tuple[nn.Module, nn.Module]:
    """Return a 3x3 convolution and its normalisation."""
    return nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs)


class ResNet(nn.Module):  # type: ignore[misc]
    """Residual tower for observations [planes, rows, columns], or of more dimensions, see `board_shape`.

    Source: D. Silver et al., "Mastering the game of Go without human knowledge", Nature 550, 2017.
    """

    def __init__(self, env: Env, blocks: int = 5, channels: int = 64):
        super().__init__()
        self.blocks = blocks
        self.channels = channels
        planes, rows, columns = board_shape(env.observation_shape)
        tower = [ResidualBlock(channels) for _ in range(blocks)]
        self.body = nn.Sequential(*convolution(planes, channels), nn.ReLU(), *tower)
        self.heads = Heads(env, rows * columns, channels)

    def forward(self, observation: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self.heads(self.body(observation.flatten(1, -3)).flatten(2).transpose(1, 2))


class Transformer(nn.Module):  # type: ignore[misc]
    """Transformer whose tokens are the cells of observations [planes, ...], or the numbers of observations [n]."""

    def __init__(self, env: Env, blocks: int = 4, channels: int = 64, heads: int = 4):
        super().__init__()
        self.blocks = blocks
        self.channels = channels
        self.heads = heads
        shape = env.observation_shape
        planes, *cells = shape if len(shape) > 1 else (1, *shape)
        self.planes = planes
        self.token = nn.Linear(planes, channels)
        self.place = nn.Parameter(torch.randn(math.prod(cells), channels) / math.sqrt(channels))
        layer = nn.TransformerEncoderLayer(
            channels, heads, 4 * channels, dropout=0.0, batch_first=True, norm_first=True
        )
        self.body = nn.TransformerEncoder(layer, blocks, nn.LayerNorm(channels), enable_nested_tensor=False)
        self.outputs = Heads(env, math.prod(cells), channels)

    def forward(self, observation: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        cells = observation.reshape(-1, self.planes, len(self.place)).transpose(1, 2)
        return self.outputs(self.body(self.token(cells) + self.place))
