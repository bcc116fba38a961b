"""Sizes of a network, and of the blocks of rows that its kernels on the CPU evaluate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

ROWS = 48  # rows of a block
MIN_ROWS = 6  # fewest rows of a block: a tile of `fused.c`
PATCH_CELLS = 48  # cells of a board whose neighbourhoods are on the stack together, as in `fused.c`
BLOCK_FEATURES = 2**16  # upper bound for the features of a block's boards
MAX_LANES = 16  # floats of a vector


def board_shape(shape: Sequence[int]) -> tuple[int, int, int]:
    """Return an observation's shape as [planes, rows, columns], which convolutions need.

    A board of more dimensions is seen as its layers of rows and columns, each a plane of its own.

    Raises:
        ValueError: an observation of fewer dimensions.
    """
    if len(shape) < 3:
        raise ValueError(f"observations must be [planes, ..., rows, columns], got shape {tuple(shape)}")
    return math.prod(shape[:-2]), shape[-2], shape[-1]


def planes_of_actions(num_actions: int, cells: int, planes: int | None = None) -> int:
    """Return how many planes of actions a local policy scores; None: as many as the actions fill.

    Raises:
        ValueError: more planes than that.
    """
    most = num_actions // cells
    if planes is not None and not 0 <= planes <= most:
        raise ValueError(
            f"action_planes must be in 0..{most} for {num_actions} actions and {cells} cells, got {planes}"
        )
    return most if planes is None else planes


@dataclass(frozen=True)
class Architecture:
    """Sizes of a network: a residual tower of 3x3 convolutions or none, hidden layers, then heads.

    In most board games actions are planes over the board: plane k of cell c is action k * cells + c, such as a point of
    go, or a square and a direction in breakthrough. A tower's last features of a cell score its actions by a 1x1
    convolution, the local policy, which is added to the first head.

    Attributes:
        inputs: numbers of an observation, [planes, *board] with a tower, see `board_shape`.
        hidden: widths of the hidden layers, one at least.
        heads: widths of the heads; the first one's output is a log softmax.
        activation: "relu" or "tanh", of the first convolution and of the hidden layers.
        board: rows and columns, with a tower.
        channels: channels of the tower.
        blocks: residual blocks of two convolutions; 0 for no tower.
        action_planes: planes of the local policy; 0 for none.
    """

    inputs: int
    hidden: tuple[int, ...]
    heads: tuple[int, ...]
    activation: str = "relu"
    board: tuple[int, int] = (1, 1)
    channels: int = 0
    blocks: int = 0
    action_planes: int = 0

    @property
    def cells(self) -> int:
        """Number of cells of the board."""
        return math.prod(self.board)

    @property
    def convolutions(self) -> list[tuple[int, int]]:
        """Input and output channels of each convolution."""
        if not self.blocks:
            return []
        return [(self.inputs // self.cells, self.channels), *[(self.channels, self.channels)] * (2 * self.blocks)]

    @property
    def dense(self) -> list[tuple[int, int]]:
        """Input and output features of each hidden layer."""
        first = self.cells * self.channels if self.blocks else self.inputs
        return list(zip((first, *self.hidden), self.hidden, strict=False))

    @property
    def shapes(self) -> list[tuple[int, int]]:
        """Shape of each weight matrix, [inputs, outputs]; those of 3x3 convolutions are [3 * 3 * inputs, outputs]."""
        convolutions = [(9 * inputs, outputs) for inputs, outputs in self.convolutions]
        heads = [(self.hidden[-1], width) for width in self.heads]
        local = [(self.channels, self.action_planes)] if self.action_planes else []
        return [*convolutions, *self.dense, *heads, *local]

    @property
    def offsets(self) -> list[int]:
        """First index of each layer's gradients (matrix, then bias) among all gradients, and their total size."""
        sizes = [(inputs + 1) * outputs for inputs, outputs in self.shapes]
        return [*accumulate(sizes, initial=0)]

    @property
    def features(self) -> list[int]:
        """First index of the features of each layer in a row of all features, and the length of that row."""
        sizes = [*[self.cells * self.channels] * len(self.convolutions), *self.hidden]
        return [*accumulate(sizes, initial=0)]

    @property
    def first_head(self) -> int:
        """Index of the first head among all layers."""
        return len(self.convolutions) + len(self.hidden)

    @property
    def local_policy(self) -> int:
        """Index of the local policy among all layers, which is the last one."""
        return self.first_head + len(self.heads)

    @property
    def rows(self) -> int:
        """Number of rows of a block."""
        features = self.cells * self.channels
        return ROWS if not self.blocks else min(ROWS, max(MIN_ROWS, BLOCK_FEATURES // features))

    @property
    def stack(self) -> int:
        """Upper bound for the numbers on a thread's stack, where vectors have `MAX_LANES`."""
        # the last level of all boards of a block, and four levels of one board
        board = self.cells * max(MAX_LANES, self.channels) if self.blocks else 0
        boards = (self.rows + 4) * board
        # neighbourhoods in the two functions of convolutions: the first one's, and those of all others
        patches = 9 * PATCH_CELLS * sum(max(MAX_LANES, inputs) for inputs in {k for k, _ in self.convolutions})
        hidden = self.rows * sum(max(MAX_LANES, width) for width in (*self.hidden, self.heads[0]))
        # matrices, or their transposes, that are padded to the columns of a vector
        padded = sum(
            MAX_LANES * (inputs * (outputs < MAX_LANES) + outputs * (inputs < MAX_LANES))
            for inputs, outputs in self.shapes
        )
        local = self.cells * max(MAX_LANES, self.action_planes) if self.action_planes else 0
        inputs = self.inputs * (2 if self.blocks else self.rows)
        return boards + patches + hidden + padded + local + inputs
