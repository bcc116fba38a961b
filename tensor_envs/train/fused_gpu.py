"""Kernels of a network on a GPU: one for each hidden layer, and one for both heads of a game with few actions.

Features have the layout of states, [blocks, units, lanes]. Neighbouring threads have neighbouring rows, and so load and
store neighbouring numbers. Products are summed in a fixed order, so that the results of a row do not depend on the
other rows.
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
# A thread computes a tile of rows and units: for each input, a tile of 4 x 8 takes 12 loads for 32 products. In a small
# batch tiles have fewer rows and workgroups fewer warps, so that there are enough for all processors of a card.
TILE_ROWS = (4, 2, 1)
TILE_UNITS = 8
MIN_WARPS = 2**10
MIN_GROUPS = 2**8
MAX_GROUP_WARPS = 8  # warps of a workgroup, which compute different units of the same rows
MAX_LOADS = 150  # loads in an iteration over inputs; they are in flight together, each with a register
MAX_FUSED_ACTIONS = 15  # actions of a policy of which one thread computes a whole row
MAX_INDEX = 2**31


def is_layered(architecture: Architecture, observation: Tensor) -> bool:
    """Return whether the kernels of this module can evaluate a network on these observations."""
    device = observation.device
    if not isinstance(device, str) or not is_gpu(device) or architecture.blocks or TRAINING:
        return False
    layout = batch_layout(int(observation.shape[0]), device, 0)
    widest = max(n for shape in architecture.shapes for n in shape)
    # On tinygrad's interpreter blocks have fewer lanes.
    return observation.dtype in TYPES and layout.grid.lanes == LANES and layout.rows * widest < MAX_INDEX


def evaluate(
    architecture: Architecture, observation: Tensor, mask: Tensor, weights: Sequence[Tensor]
) -> tuple[Tensor, Tensor]:
    """Return lazy log-probabilities [B, A] and values [B].

    Only weights have gradients, not observations.

    Args:
        architecture: sizes of the network; its heads are a policy and a value.
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
        """Return the outputs [B, units] of a head by tinygrad's operations, which have a gradient."""
        x = observation.detach().float()
        for layer in hidden:
            x = getattr(x.linear(*layer), architecture.activation)()
        return x.linear(matrix, bias)

    depth = architecture.hidden[-1]
    actions = architecture.heads[0]
    if actions <= MAX_FUSED_ACTIONS:
        kernel = HeadsKernel(layout.batch, layout.rows, depth, actions)
        logs, values = _run(
            kernel,
            [features, mask, *policy, *value],
            weights,
            lambda: [_log_softmax(head(*policy), mask), head(*value).squeeze(1)],
        )
        return logs, values

    def dense_head(layer: tuple[Tensor, Tensor], units: int) -> Tensor:
        """Return the outputs [blocks, units, lanes] of a head by a kernel."""
        kernel = DenseKernel(layout.rows, depth, units)
        below = [x for pair in hidden for x in pair]
        return _run(kernel, [features, *layer], [*below, *layer], lambda: [layout.by_lanes(head(*layer))])[0]

    # tinygrad computes the log softmax, since it spreads the actions of a row over threads.
    logits = layout.view(dense_head(policy, actions), 0, actions)
    return _log_softmax(logits, mask), layout.column(dense_head(value, 1).reshape(-1))


def _log_softmax(logits: Tensor, mask: Tensor) -> Tensor:
    return masked_logits(logits, mask).log_softmax()


def _by_lanes(layout: BatchLayout, values: Tensor) -> Tensor:
    """Return values [B, count] in the layout [blocks, count, lanes].

    If the values are a view of a buffer with this layout, it is returned without a copy.
    """
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
    """Return the lazy outputs of a kernel.

    Args:
        kernel: the kernel.
        inputs: arrays that it reads.
        weights: weights of all layers below the outputs, which get gradients from this call. A call for a single layer
            cannot pass gradients on to the layers below, since tinygrad realises its inputs.
        by_tinygrad: function that returns the outputs by tinygrad's operations on the weights, for the gradient.
    """
    device = str(inputs[0].device)
    shapes = kernel.shapes
    # Each call has outputs of its own, since tinygrad may keep and read them at any later time.
    outputs = [empty_buffer(math.prod(s), dtypes.float32, device).reshape(s) for s in shapes]
    arrays = [*(x.detach() for x in inputs), *outputs]

    def gradient(*gradients: UOp, call: UOp | None = None) -> tuple[UOp | None, ...]:
        """Return the gradients of the arguments of a call: None for arrays, then those of the weights."""
        # tinygrad passes a single gradient and the call as two positional arguments.
        if call is None:
            gradients = gradients[:-1]
        assert by_tinygrad is not None
        # Detached, since the gradients of the outputs may depend on the weights, through the outputs.
        of_outputs = [g.detach() for g in complete_gradients(gradients, shapes, device)]
        loss = sum(((x * g).sum() for x, g in zip(by_tinygrad(), of_outputs, strict=True)), Tensor(0.0))
        return (*[None] * len(arrays), *(g.uop for g in loss.gradient(*weights)))

    program = _program(kernel, tuple((x.dtype, x.numel()) for x in arrays), device)
    # The program takes only the arrays. The weights follow as arguments of the call, so that they get gradients.
    return lazy_program(program(), [*arrays, *weights], gradient)[len(inputs) : len(arrays)]


@functools.lru_cache(64)
def _program(
    kernel: DenseKernel | HeadsKernel, parameters: tuple[tuple[DType, int], ...], device: str
) -> ProgramFuture:
    """Return the program of a kernel for arrays of the given dtypes and sizes."""
    tape = trace(kernel.trace, parameters, gpu=True)
    return compile_tape(kernel.name, tape, opened(device).renderer, [size for _, size in parameters])[1]


@dataclass(frozen=True)
class DenseKernel:
    """Kernel of a dense layer, from [blocks, inputs, lanes] to [blocks, units, lanes].

    Attributes:
        rows: number of rows of all blocks, including padding.
        inputs: number of features of a row below the layer.
        units: number of features of a row after it.
        activation: "relu", "tanh", or "" for none.
    """

    rows: int
    inputs: int
    units: int
    activation: str = ""
    name = "dense"

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        """Shapes of the float32 arrays that the kernel writes; they are its last arguments."""
        return [(self.rows // LANES, self.units, LANES)]

    def trace(self, *arrays: Cells) -> None:
        """Record the kernel of a thread.

        The output [rows, units] is cut into bands of rows, each band into tiles of units, one for each warp. A
        workgroup has the warps of some neighbouring tiles of a band.
        """
        x, matrix, bias, y = arrays
        tile_units = min(TILE_UNITS, self.units)
        tiles = -(-self.units // tile_units)  # of a band
        tile_rows = self._tile_rows(tiles)
        bands = self.rows // (tile_rows * WARP)
        warps = self._group_warps(bands, tiles)
        groups = tiles // warps  # of a band
        # The threads of a warp have neighbouring rows and the same units, so that all of them load the same weights.
        group = grid_index("group", bands * groups)
        thread = grid_index("thread", WARP * warps)
        first_row = group // groups * (tile_rows * WARP) + thread % WARP
        first_unit = (group % groups * warps + thread // WARP) * tile_units
        own_rows = [first_row + WARP * k for k in range(tile_rows)]
        # In place of units beyond the last one, a tile computes the last one again.
        own_units = [minimum(first_unit + k, self.units - 1) for k in range(tile_units)]
        columns = [Column(matrix, bias, unit, self.units) for unit in own_units]
        sums = products(x, own_rows, self.inputs, columns)
        for row, numbers in zip(own_rows, sums, strict=True):
            start = first_index(row, self.units)
            for unit, number in zip(own_units, numbers, strict=True):
                y[start + unit * LANES] = activated(number, self.activation)

    def _tile_rows(self, tiles: int) -> int:
        """Return the number of rows of a thread's tile: the largest that leaves enough warps. tiles: of a band."""
        for tile_rows in TILE_ROWS:
            if self.rows % (tile_rows * WARP) == 0 and self.rows // (tile_rows * WARP) * tiles >= MIN_WARPS:
                return tile_rows
        return 1

    def _group_warps(self, bands: int, tiles: int) -> int:
        """Return the number of warps of a workgroup: the largest divisor of `tiles` that leaves enough workgroups."""
        for warps in range(MAX_GROUP_WARPS, 1, -1):
            if tiles % warps == 0 and bands * tiles // warps >= MIN_GROUPS:
                return warps
        return 1


@dataclass(frozen=True)
class HeadsKernel:
    """Kernel of both heads, from [blocks, inputs, lanes] to log-probabilities [B, A] and values [B].

    A thread computes a row.

    Attributes:
        batch: number of rows, B.
        rows: number of rows of all blocks, including padding.
        inputs: number of features of a row below the heads.
        actions: number of actions, A.
    """

    batch: int
    rows: int
    inputs: int
    actions: int
    name = "heads"

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        """Shapes of the float32 arrays that the kernel writes; they are its last arguments."""
        return [(self.batch, self.actions), (self.batch,)]

    def trace(self, *arrays: Cells) -> None:
        """Record the kernel of a thread."""
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
            # Without legal actions all logits are the floor, so the softmax is uniform.
            relative = [logit - highest for logit in legal]
            log_sum = log(reduce(add, map(exp, relative)))
            for k in actions:
                logs[first + k] = relative[k] - log_sum


class Column(NamedTuple):
    """Weights of a unit: a column of a matrix with `width` columns, and a number of the bias."""

    matrix: Cells
    bias: Cells
    unit: Value
    width: int


def first_index(row: Scalar, units: int) -> Scalar:
    """Return the index of a row's first number in an array [blocks, units, lanes]."""
    return row // LANES * (units * LANES) + row % LANES


def products(x: Cells, rows: Sequence[Scalar], inputs: int, columns: Sequence[Column]) -> list[list[Scalar]]:
    """Record the matrix product of some rows of x and some columns, plus bias, and return its numbers by row.

    Args:
        x: features [blocks, inputs, lanes].
        rows: rows of x.
        inputs: number of features of a row.
        columns: weights of the units.
    """
    current().few_threads = True
    width = len(columns)
    sums = registers(len(rows) * width, FLOAT32)
    for c, column in enumerate(columns):
        start = column.bias[column.unit]
        for r in range(len(rows)):
            sums[r * width + c] = start
    starts = [first_index(row, inputs) for row in rows]
    # An iteration takes as many inputs as there are registers for, rounded down to a power of two.
    most = MAX_LOADS // (len(rows) + width)
    count = 1 << most.bit_length() - 1
    if iterations := inputs // count:
        with loop(iterations) as i:
            add_products(sums, x, starts, columns, [i * count + k for k in range(count)])
    add_products(sums, x, starts, columns, range(iterations * count, inputs))
    return [[sums[r * width + c] for c in range(width)] for r in range(len(rows))]


def add_products(
    sums: Cells, x: Cells, starts: Sequence[Scalar], columns: Sequence[Column], inputs: Sequence[Value]
) -> None:
    """Add the products of some inputs to the sums of a tile. starts: index of the first feature of each row in x."""
    # Load everything first, so that loads overlap. Load and store each sum once.
    features = [[float32(x[start + j * LANES]) for start in starts] for j in inputs]
    weights = [[c.matrix[j * c.width + c.unit] for c in columns] for j in inputs]
    for r in range(len(starts)):
        for c in range(len(columns)):
            total = sums[r * len(columns) + c]
            for feature, weight in zip(features, weights, strict=True):
                total += feature[r] * weight[c]
            sums[r * len(columns) + c] = total


def activated(x: Scalar, activation: str) -> Scalar:
    """Return the activation of a number."""
    if activation == "tanh":
        # The exponential of a number of at most 0 does not overflow.
        power = exp(maximum(x, -x) * -2.0)
        size = divide(1.0 - power, power + 1.0)
        return where(x < 0.0, -size, size)
    return maximum(x, 0.0) if activation == "relu" else x


def log(x: Scalar) -> Scalar:
    """Return the natural logarithm of a finite number of at least 1."""
    bits = bitcast(x, INT32)
    # x = 2**exponent * mantissa, with the mantissa in sqrt(1/2)..sqrt(2)
    mantissa = bitcast(bits & 0x7FFFFF | 0x3F800000, FLOAT32)
    is_high = mantissa > 2**0.5
    mantissa = where(is_high, mantissa * 0.5, mantissa)
    exponent = (bits >> 23) - 127 + is_high
    # log(mantissa) = 2 artanh(ratio), as a Taylor series by Horner's rule
    ratio = divide(mantissa - 1.0, mantissa + 1.0)
    square = ratio * ratio
    series = float32(2 / 9)
    for k in (7, 5, 3, 1):
        series = series * square + 2 / k
    return float32(exponent) * 0.6931471805599453 + series * ratio
