"""A network's kernels on a GPU: one for each hidden layer, and one for both heads of a game with few actions.

Features lie in blocks of rows as states do, [blocks, units, lanes]: neighbouring threads, whose rows are neighbours,
load and store neighbouring numbers. The sum of products of every number has one order, so that a row's results do not
depend on the other rows.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import NamedTuple

from tinygrad import Tensor, UOp, dtypes
from tinygrad.dtype import DType
from tinygrad.helpers import TRAINING

from tensor_envs._compiler.tape import FLOAT32, INT32, current
from tensor_envs._engine.batch_layout import LANES, BatchLayout, batch_layout
from tensor_envs._runtime.buffers import empty_buffer
from tensor_envs._runtime.devices import is_gpu, opened
from tensor_envs._runtime.launch import lazy_program
from tensor_envs._runtime.launcher import base_of, is_same_view
from tensor_envs._runtime.programs import ProgramFuture, compile_tape
from tensor_envs.envs.sampling import FLOOR, masked_logits
from tensor_envs.rules.kernel import Cells, bitcast, branch, divide, grid_index, loop, registers, trace
from tensor_envs.rules.scalar import Scalar, Value, float32, maximum, minimum, where
from tensor_envs.search.selection import exp
from tensor_envs.train.architecture import Architecture
from tensor_envs.train.fused import complete_gradients
from tensor_envs.train.fused_source import TYPES

WARP = 32  # neighbouring threads of a workgroup, which compute the same units of different rows
# A thread computes a tile of rows and units: 4 x 8 numbers take 12 loads for 32 products. A small batch has smaller
# tiles and workgroups, so that it has enough of them for all processors of a card.
TILE_ROWS = (4, 2, 1)
TILE_UNITS = 8
MIN_WARPS = 2**10
MIN_GROUPS = 2**8
MAX_GROUP_WARPS = 8  # each computes other units of the same rows
MAX_LOADS = 150  # loads in a turn of the loop over inputs: they are in flight together, each with its own register
MAX_SMALL = 15  # actions of a policy that one thread computes for its row
MAX_INDEX = 2**31


def is_layered(architecture: Architecture, observation: Tensor) -> bool:
    """Return whether a network's evaluation of these observations runs by kernels of this module."""
    device = observation.device
    if not isinstance(device, str) or not is_gpu(device) or architecture.blocks or TRAINING:
        return False
    layout = batch_layout(int(observation.shape[0]), device, 0)
    widest = max(n for shape in architecture.shapes for n in shape)
    # tinygrad's interpreter has fewer lanes
    return observation.dtype in TYPES and layout.grid.lanes == LANES and layout.rows * widest < MAX_INDEX


def evaluate(
    architecture: Architecture, observation: Tensor, mask: Tensor, weights: Sequence[Tensor]
) -> tuple[Tensor, Tensor]:
    """Return log-probabilities [B, A] and values [B], lazy.

    There is no gradient with respect to observations.

    Args:
        architecture: the sizes; the heads are a policy and a value.
        observation: bool, uint8 or float32 [B, inputs].
        mask: legal actions, bool [B, A].
        weights: for each layer a matrix [inputs, outputs] and a bias [outputs], float32.
    """
    layout = batch_layout(int(observation.shape[0]), str(observation.device), 0)
    *hidden, policy, value = zip(weights[::2], weights[1::2], strict=True)
    features = _by_lanes(layout, observation)
    for (inputs, units), layer in zip(architecture.dense, hidden, strict=True):
        (features,) = _run(DenseKernel(layout.rows, inputs, units, architecture.activation), [features, *layer])

    def head(matrix: Tensor, bias: Tensor) -> Tensor:
        """Return the outputs [B, units] of a head, by tinygrad's operations."""
        x = observation.detach().float()
        for layer in hidden:
            x = getattr(x.linear(*layer), architecture.activation)()
        return x.linear(matrix, bias)

    depth = architecture.hidden[-1]
    actions = architecture.heads[0]
    if actions <= MAX_SMALL:
        kernel = HeadsKernel(layout.batch, layout.rows, depth, actions)
        logs, values = _run(
            kernel,
            [features, mask, *policy, *value],
            weights,
            lambda: [_log_softmax(head(*policy), mask), head(*value).squeeze(1)],
        )
        return logs, values

    def dense_head(layer: tuple[Tensor, Tensor], units: int) -> Tensor:
        """Return the outputs [blocks, units, lanes] of a head."""
        kernel = DenseKernel(layout.rows, depth, units)
        below = [x for pair in hidden for x in pair]
        return _run(kernel, [features, *layer], [*below, *layer], lambda: [layout.by_lanes(head(*layer))])[0]

    # tinygrad computes the log softmax: the actions of a row share its work.
    logits = layout.view(dense_head(policy, actions), 0, actions)
    return _log_softmax(logits, mask), layout.column(dense_head(value, 1).reshape(-1))


def _log_softmax(logits: Tensor, mask: Tensor) -> Tensor:
    return masked_logits(logits, mask).log_softmax()


def _by_lanes(layout: BatchLayout, values: Tensor) -> Tensor:
    """Return values [B, count] as [blocks, count, lanes]: the buffer that they are a view of, or a copy."""
    count = int(values.shape[1])
    buffer = Tensor(base_of(values.uop))
    if buffer.numel() == layout.rows * count and is_same_view(layout.view(buffer, 0, count).uop, values.uop):
        return buffer.reshape(-1, count, LANES)
    return layout.by_lanes(values).contiguous()


def _run(
    kernel: DenseKernel | HeadsKernel,
    inputs: Sequence[Tensor],
    weights: Sequence[Tensor] = (),
    by_tinygrad: Callable[[], list[Tensor]] | None = None,
) -> list[Tensor]:
    """Return the outputs of a kernel, lazy.

    Args:
        kernel: the kernel.
        inputs: what it reads.
        weights: what the outputs are differentiated by: of all layers, so that the gradient of one call is that of the
            network. tinygrad realises the features of other calls, and would find no gradient behind them.
        by_tinygrad: returns the outputs as tinygrad's operations on the weights, for their gradient.
    """
    device = str(inputs[0].device)
    shapes = kernel.shapes
    # Each call has outputs of its own, since tinygrad may hold them as long as it likes.
    outputs = [empty_buffer(math.prod(s), dtypes.float32, device).reshape(s) for s in shapes]
    arrays = [*(x.detach() for x in inputs), *outputs]

    def gradient(*gradients: UOp, call: UOp | None = None) -> tuple[UOp | None, ...]:
        """Return the gradients of the arguments of a call that are weights."""
        if call is None:  # tinygrad's way to pass one gradient
            gradients = gradients[:-1]
        assert by_tinygrad is not None
        # incoming gradients may depend on the weights themselves, through the call
        wanted = [g.detach() for g in complete_gradients(gradients, shapes, device)]
        loss = sum(((x * g).sum() for x, g in zip(by_tinygrad(), wanted, strict=True)), Tensor(0.0))
        return (*[None] * len(arrays), *(g.uop for g in loss.gradient(*weights)))

    program = _program(kernel, tuple((x.dtype, x.numel()) for x in arrays), device)
    # The program takes the arrays alone: the weights behind them are there for their gradients.
    return lazy_program(program(), [*arrays, *weights], gradient)[len(inputs) : len(arrays)]


@functools.lru_cache(64)
def _program(
    kernel: DenseKernel | HeadsKernel, parameters: tuple[tuple[DType, int], ...], device: str
) -> ProgramFuture:
    """Return the program of a kernel for arrays of these dtypes and sizes."""
    tape = trace(kernel.trace, parameters, gpu=True)
    return compile_tape(kernel.name, tape, opened(device).renderer, [size for _, size in parameters])[1]


@dataclass(frozen=True)
class DenseKernel:
    """Kernel of a dense layer, from [blocks, inputs, lanes] to [blocks, units, lanes].

    Attributes:
        rows: number of rows, whole blocks.
        activation: "relu", "tanh", or "" for none.
    """

    rows: int
    inputs: int
    units: int
    activation: str = ""
    name = "dense"

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        """Shapes of the float32 arrays that the kernel writes, which follow its inputs."""
        return [(self.rows // LANES, self.units, LANES)]

    def trace(self, *arrays: Cells) -> None:
        """Record the kernel for a thread."""
        x, matrix, bias, y = arrays
        width = min(TILE_UNITS, self.units)
        across = -(-self.units // width)  # tiles
        height = self._height(across)
        down = self.rows // (height * WARP)  # warps
        warps = self._group_warps(down, across)
        groups = across // warps  # workgroups that share rows
        # The threads of a warp have neighbouring rows and the same units, so that all of them load the same weights.
        group = grid_index("group", down * groups)
        thread = grid_index("thread", WARP * warps)
        first_row = group // groups * (height * WARP) + thread % WARP
        first_unit = (group % groups * warps + thread // WARP) * width
        own_rows = [first_row + WARP * k for k in range(height)]
        # A tile that ends behind the last unit computes that one again.
        own_units = [minimum(first_unit + k, self.units - 1) for k in range(width)]
        columns = [Column(matrix, bias, unit, self.units) for unit in own_units]
        sums = products(x, own_rows, self.inputs, columns)
        for row, numbers in zip(own_rows, sums, strict=True):
            start = first_index(row, self.units)
            for unit, number in zip(own_units, numbers, strict=True):
                y[start + unit * LANES] = activated(number, self.activation)

    def _height(self, across: int) -> int:
        """Return the number of rows of a tile, given the number of tiles beside each other."""
        for height in TILE_ROWS:
            if self.rows % (height * WARP) == 0 and self.rows // (height * WARP) * across >= MIN_WARPS:
                return height
        return 1

    def _group_warps(self, down: int, across: int) -> int:
        """Return the number of warps of a workgroup, which divides the number of tiles beside each other."""
        for warps in range(MAX_GROUP_WARPS, 1, -1):
            if across % warps == 0 and down * across // warps >= MIN_GROUPS:
                return warps
        return 1


@dataclass(frozen=True)
class HeadsKernel:
    """Kernel of both heads, from [blocks, inputs, lanes] to the log softmax [B, A] of legal logits and values [B].

    A thread computes a row.

    Attributes:
        batch: number of rows, B.
        rows: the same in whole blocks.
        actions: number of actions, A.
    """

    batch: int
    rows: int
    inputs: int
    actions: int
    name = "heads"

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        """Shapes of the float32 arrays that the kernel writes, which follow its inputs."""
        return [(self.batch, self.actions), (self.batch,)]

    def trace(self, *arrays: Cells) -> None:
        """Record the kernel for a thread."""
        x, mask, matrix, bias, value_matrix, value_bias, logs, values = arrays
        row = grid_index("group", self.rows // WARP) * WARP + grid_index("thread", WARP)
        actions = range(self.actions)
        columns = [Column(matrix, bias, k, self.actions) for k in actions]
        ((*logits, value),) = products(x, [row], self.inputs, [*columns, Column(value_matrix, value_bias, 0, 1)])
        with branch(row < self.batch):
            values[row] = value
            first = row * self.actions
            legal = [where(mask[first + k], logits[k], FLOOR) for k in actions]
            highest = reduce(maximum, legal)
            # The softmax of a row without legal actions is uniform, since all its logits are the floor.
            relative = [logit - highest for logit in legal]
            log_sum = log(reduce(add, map(exp, relative)))
            for k in actions:
                logs[first + k] = relative[k] - log_sum


class Column(NamedTuple):
    """Weights of a unit: a column of a matrix of some width, and a number of the bias."""

    matrix: Cells
    bias: Cells
    unit: Value
    width: int


def first_index(row: Scalar, units: int) -> Scalar:
    """Return the index of a row's first number in an array [blocks, units, lanes]."""
    return row // LANES * (units * LANES) + row % LANES


def products(x: Cells, rows: Sequence[Scalar], inputs: int, columns: Sequence[Column]) -> list[list[Scalar]]:
    """Record a tile of a matrix product plus bias: the numbers of each of these rows of [blocks, inputs, lanes]."""
    current().few_threads = True
    width = len(columns)
    sums = registers(len(rows) * width, FLOAT32)
    for c, column in enumerate(columns):
        start = column.bias[column.unit]
        for r in range(len(rows)):
            sums[r * width + c] = start
    starts = [first_index(row, inputs) for row in rows]
    most = MAX_LOADS // (len(rows) + width)
    count = 1 << most.bit_length() - 1  # inputs of a turn
    if turns := inputs // count:
        with loop(turns) as i:
            add_products(sums, x, starts, columns, [i * count + k for k in range(count)])
    add_products(sums, x, starts, columns, range(turns * count, inputs))
    return [[sums[r * width + c] for c in range(width)] for r in range(len(rows))]


def add_products(
    sums: Cells, x: Cells, starts: Sequence[Scalar], columns: Sequence[Column], inputs: Sequence[Value]
) -> None:
    """Add the products of some inputs to the sums of a tile, whose rows begin at these starts."""
    # All is loaded first, and a sum is loaded and stored once.
    features = [[float32(x[start + j * LANES]) for start in starts] for j in inputs]
    weights = [[c.matrix[j * c.width + c.unit] for c in columns] for j in inputs]
    for r in range(len(starts)):
        for c in range(len(columns)):
            total = sums[r * len(columns) + c]
            for feature, weight in zip(features, weights, strict=True):
                total += feature[r] * weight[c]
            sums[r * len(columns) + c] = total


def activated(x: Scalar, activation: str) -> Scalar:
    """Return an activation of a number."""
    if activation == "tanh":
        # by the exponential of a negative number, which does not overflow
        power = exp(maximum(x, -x) * -2.0)
        size = divide(1.0 - power, power + 1.0)
        return where(x < 0.0, -size, size)
    return maximum(x, 0.0) if activation == "relu" else x


def log(x: Scalar) -> Scalar:
    """Return the natural logarithm of a finite number of at least 1."""
    bits = bitcast(x, INT32)
    # x is 2**exponent times a mantissa between the roots of 1/2 and of 2
    mantissa = bitcast(bits & 0x7FFFFF | 0x3F800000, FLOAT32)
    is_high = mantissa > 2**0.5
    mantissa = where(is_high, mantissa * 0.5, mantissa)
    exponent = (bits >> 23) - 127 + is_high
    # Taylor's series of the area hyperbolic tangent of `ratio`, by Horner's rule
    ratio = divide(mantissa - 1.0, mantissa + 1.0)
    square = ratio * ratio
    series = float32(2 / 9)
    for k in (7, 5, 3, 1):
        series = series * square + 2 / k
    return float32(exponent) * 0.6931471805599453 + series * ratio
