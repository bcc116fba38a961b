"""Source of a network's kernels on the CPU: C statements that call the functions of `fused.c`."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path
from string import Template
from textwrap import dedent
from typing import Any, NamedTuple

from tinygrad import dtypes
from tinygrad.dtype import DType

from tensor_envs.train.architecture import Architecture

TYPES = {dtypes.bool: "u8", dtypes.uint8: "u8", dtypes.float32: "float"}
ACTIVATIONS = {"relu": "RELU", "tanh": "TANH"}


@functools.cache
def _functions() -> str:
    """Return the C functions that kernels call."""
    return Path(__file__).with_name("fused.c").read_text()


class _Rows(NamedTuple):
    """Rows of an array in a kernel's text.

    Attributes:
        start: pointer to the first row of the block.
        stride: distance between rows, in numbers.
    """

    start: str
    stride: int | str


class _Source:
    """Source of a kernel in C, with its parameters.

    The first parameters of a kernel are `share`, a thread's first block (or group of rows) and its number of blocks,
    and `sizes`. In the text, `first` is the first row of a block, `rows` the number of its rows, and `row` a row within
    the block. Layers are numbered from the first convolution to the last head: layer 2 has the matrix `weight2` and the
    bias `bias2`.
    """

    def __init__(self, architecture: Architecture, masked: bool, dtype: DType):
        self.net = architecture
        self.observation_type = TYPES[dtype]
        self.binary = dtype is dtypes.bool
        self.parameters: list[tuple[str, str, DType, bool]] = []
        self.lines: list[str] = []
        self.functions: dict[str, str] = {}
        self.array("int", "share", dtypes.int32)
        self.array("int", "sizes", dtypes.int32)
        self.array(self.observation_type, "observations", dtype)
        if masked:
            self.array("u8", "mask", dtypes.bool)
        self.mask = "mask + (long)first * ACTIONS" if masked else "0"
        # A network without a tower reads the observations of a block as rows.
        self.observations = _Rows("(observations + (long)first * INPUTS)", "INPUTS")

    def array(self, kind: str, name: str, dtype: DType = dtypes.float32, written: bool = False) -> None:
        """Declare an array as a parameter. kind: C type of its numbers."""
        self.parameters.append((kind, name, dtype, written))

    def add(self, code: str, **values: Any) -> None:
        """Append lines of C, in which `$name` stands for the value of that name."""
        self.lines += dedent(Template(code).substitute(values)).strip().split("\n")

    def features(self, layer: int) -> _Rows:
        """Return the rows of the features of a layer."""
        return _Rows(f"(features + (long)first * FEATURES + {self.net.features[layer]})", "FEATURES")

    def board(self, rows: _Rows) -> str:
        """Return a pointer to the features of a board. Each row has one board."""
        return f"({rows.start} + (long)row * {rows.stride})"

    def function(self, name: str, signature: str, body: str) -> str:
        """Define a function that layers of the same sizes share, so that it is compiled once; return its name."""
        self.functions[name] = f"CALLED void {name}({signature}) {{ {body}; }}\n"
        return name

    def pad(self, layer: int, depth: int, columns: int) -> None:
        """Declare `padded0`, a copy of `weight0` with at least as many columns as a vector has numbers, or itself."""
        self.add(
            """
            float memory$layer[$columns < LANES ? $depth * LANES : 1];
            const float *padded$layer = padded(weight$layer, $depth, $columns, memory$layer);
            """,
            layer=layer,
            depth=depth,
            columns=columns,
        )

    def finish(self, name: str) -> tuple[str, list[DType], list[int]]:
        """Return the source, the dtypes of its arrays, and the indices of the arrays that it writes."""
        signature = ", ".join(f"{'' if w else 'const '}{kind} *{n}" for kind, n, _, w in self.parameters)
        constants = ", ".join(f"{name} = {value}" for name, value in self._constants().items())
        head = f"{_functions()}\nenum {{ {constants} }};\n{''.join(self.functions.values())}"
        body = "\n".join(self.lines)
        source = f"{head}void {name}({signature}) {{\n{body}\n}}\n"
        types = [dtype for _, _, dtype, _ in self.parameters]
        return source, types, [k for k, p in enumerate(self.parameters) if p[3]]

    def _constants(self) -> dict[str, int]:
        net = self.net
        constants = {
            "BLOCK_ROWS": net.rows,
            "INPUTS": net.inputs,  # numbers of an observation
            "ACTIONS": net.heads[0],
            "FEATURES": net.features[-1],  # features of all layers for one row
            "GRADIENTS": net.offsets[-1],  # numbers of all weights and biases
        }
        if net.blocks:
            constants |= {
                "BOARD_HEIGHT": net.board[0],
                "BOARD_WIDTH": net.board[1],
                "CELLS": net.cells,
                "PLANES": net.convolutions[0][0],
                "CHANNELS": net.channels,
                "BOARD_FEATURES": net.cells * net.channels,  # features of a board
            }
        return constants

    def add_image(self) -> None:
        """Write the loop that transposes an observation [planes, cells] to `image` [cells, planes]."""
        self.add("""
            for (int cell = 0; cell < CELLS; cell++)
              for (int plane = 0; plane < PLANES; plane++)
                image[cell * PLANES + plane] = observations[((long)first + row) * INPUTS + plane * CELLS + cell];
        """)


@dataclass(frozen=True)
class Forward:
    """Kernel that evaluates a network on observations.

    Attributes:
        net: sizes of the network.
        masked: whether there is a mask of legal actions.
        keep: whether the kernel also writes the features of all layers.
    """

    net: Architecture
    masked: bool
    keep: bool
    name = "network"

    def source(self, dtype: DType) -> tuple[str, list[DType], list[int]]:
        """Return the source, the dtypes of its arrays, and the indices of the arrays that it writes."""
        net = self.net
        t = _Source(net, self.masked, dtype)
        self._parameters(t)
        self._scratch(t)
        # Evaluate all layers of a block before the next block, so that its features stay in the caches.
        t.add("""
            int end = smaller(batch, (share[0] + share[1]) * BLOCK_ROWS);
            for (int first = share[0] * BLOCK_ROWS; first < end; first += BLOCK_ROWS) {
            int rows = smaller(BLOCK_ROWS, batch - first);
        """)
        tower = self._tower(t) if net.blocks else t.observations
        x = tower
        for k in range(len(net.hidden)):
            x = self._hidden(t, k, x)
        self._heads(t, x)
        if net.action_planes:
            self._local_policy(t, tower)
        t.add(f"log_softmax(rows, ACTIONS, output0 + (long)first * ACTIONS, {t.mask}, sums);")
        t.add("}")
        return t.finish(self.name)

    def _parameters(self, t: _Source) -> None:
        """Declare the arrays, and pad the matrices that are read in vectors.

        Heads after the first have a single column, which is no vector.
        """
        net = self.net
        for layer in range(len(net.shapes)):
            t.array("float", f"weight{layer}")
            t.array("float", f"bias{layer}")
        for k in range(len(net.heads)):
            t.array("float", f"output{k}", written=True)
        if self.keep:
            t.array("float", "features", written=True)
        for layer, shape in enumerate(net.shapes):
            if layer <= net.first_head or layer == net.local_policy:
                t.pad(layer, *shape)

    def _scratch(self, t: _Source) -> None:
        """Declare the memory on the stack for the features of a block, unless they are kept in an array."""
        net = self.net
        t.add("""
            int batch = sizes[0];
            float sums[BLOCK_ROWS + LANES];
        """)
        if t.observation_type == "u8" and not net.blocks:
            t.add("int indices[INPUTS + 1];")
        if not self.keep:
            for k, width in enumerate(net.hidden):
                t.add(f"float hidden{k}[BLOCK_ROWS * {width}];")
        if net.blocks:
            t.add("float image[INPUTS];")
        if net.blocks and not self.keep:
            t.add("float last[BLOCK_ROWS * BOARD_FEATURES], level[3][BOARD_FEATURES];")

    def _tower(self, t: _Source) -> _Rows:
        """Write the convolutions, board by board, and return the rows of the last convolution's features."""
        net = self.net
        top = len(net.convolutions) - 1

        def level(layer: int) -> str:
            """Return the pointer to a board's features after a convolution.

            A residual block needs its input and both convolutions, so three buffers take turns.
            """
            if self.keep:
                return t.board(t.features(layer))
            return "(last + row * BOARD_FEATURES)" if layer == top else f"level[{layer % 3}]"

        t.add("for (int row = 0; row < rows; row++) {")
        t.add_image()
        for layer, (inputs, outputs) in enumerate(net.convolutions):
            call = t.function(
                f"convolution_{layer > 0:d}",
                "const float *x, const float *w, const float *start, float *y",
                f"convolution(BOARD_HEIGHT, BOARD_WIDTH, {inputs}, {outputs}, x, w, start, y)",
            )
            below = level(layer - 1) if layer else "image"
            t.add(f"{call}({below}, padded{layer}, bias{layer}, {level(layer)});")
            # After its second convolution, a residual block adds its input.
            if layer and layer % 2 == 0:
                t.add(f"add(BOARD_FEATURES, {level(layer - 2)}, {level(layer)});")
            activation = "RELU" if layer else ACTIVATIONS[net.activation]
            t.add(f"activate(1, BOARD_FEATURES, {level(layer)}, 0, {activation});")
        t.add("}")
        return t.features(top) if self.keep else _Rows("last", "BOARD_FEATURES")

    def _hidden(self, t: _Source, k: int, x: _Rows) -> _Rows:
        """Write a hidden layer, and return the rows of its features."""
        inputs, outputs = self.net.dense[k]
        layer = len(self.net.convolutions) + k
        y = t.features(layer) if self.keep else _Rows(f"hidden{k}", outputs)
        # The product applies ReLU itself. Other activations follow it as a pass over whole rows.
        activation = ACTIVATIONS[self.net.activation]
        relu = activation == "RELU"
        sizes = f"rows, {inputs}, {outputs}"
        weights = f"padded{layer}, WIDTH({outputs}), bias{layer}"
        result = f"{y.start}, {y.stride}, {relu:d}"
        # Most bytes of observations are zeros, which the first layer skips.
        if not layer and t.observation_type == "u8":
            t.add(f"sparse_product({sizes}, {x.start}, {t.binary:d}, {weights}, {result}, indices);")
        else:
            t.add(f"product({sizes}, {x.start}, {x.stride}, 1, {weights}, {result}, 0);")
        if not relu:
            t.add(f"activate(rows, {outputs}, {y.start}, {y.stride}, {activation});")
        return y

    def _heads(self, t: _Source, x: _Rows) -> None:
        """Write the heads: the logits of the first, and a dot product for each further head of one unit."""
        net = self.net
        for k, width in enumerate(net.heads):
            layer = net.first_head + k
            values = {"depth": net.hidden[-1], "x": x.start, "stride": x.stride, "layer": layer, "width": width, "k": k}
            if k:
                code = "dot(rows, $depth, $x, $stride, weight$layer, bias$layer[0], output$k + (long)first * $width);"
            else:
                code = """
                    product(rows, $depth, ACTIONS, $x, $stride, 1, padded$layer, WIDTH(ACTIONS), bias$layer,
                            output0 + (long)first * ACTIONS, ACTIONS, 0, 0);
                """
            t.add(code, **values)

    def _local_policy(self, t: _Source, boards: _Rows) -> None:
        """Write the local policy, which adds to the logits, board by board."""
        layer = self.net.local_policy
        t.add(f"""
            for (int row = 0; row < rows; row++)
              add_planes(CELLS, CHANNELS, {self.net.action_planes}, {t.board(boards)}, padded{layer}, bias{layer},
                         output0 + ((long)first + row) * ACTIONS);
        """)


@dataclass(frozen=True)
class Backward:
    """Kernel that computes the gradients of all weights and biases from the gradients of the outputs.

    Each group of rows has a partial sum of its own. In the text, the gradient of the loss with respect to x is `d_x`:
    `d_hidden0` for the features of hidden layer 0.

    Attributes:
        net: sizes of the network.
        masked: whether there is a mask of legal actions.
    """

    net: Architecture
    masked: bool
    name = "network_gradient"

    def source(self, dtype: DType) -> tuple[str, list[DType], list[int]]:
        """Return the source, the dtypes of its arrays, and the indices of the arrays that it writes."""
        net = self.net
        t = _Source(net, self.masked, dtype)
        self._parameters(t)
        self._scratch(t)
        # Threads work on different groups, so no two threads add to the same sum.
        t.add("""
            for (int group = share[0]; group < share[0] + share[1]; group++) {
            float *sum = partial_sums + (long)group * GRADIENTS;
            clear(GRADIENTS, sum);
            int end = smaller(batch, (group + 1) * group_rows);
            for (int first = group * group_rows; first < end; first += BLOCK_ROWS) {
            int rows = smaller(BLOCK_ROWS, end - first);
        """)
        self._heads(t)
        for k in reversed(range(len(net.hidden))):
            self._hidden(t, k)
        if net.blocks:
            self._tower(t)
        t.add("}")
        t.add("}")
        return t.finish(self.name)

    def _parameters(self, t: _Source) -> None:
        """Declare the arrays, and pad the transposed matrices.

        The first layer needs no matrix, since observations have no gradient.
        """
        net = self.net
        t.array("float", "features")
        t.array("float", "logs")
        for k in range(len(net.heads)):
            t.array("float", f"d_output{k}")
        for layer in range(1, len(net.shapes)):
            t.array("float", f"weight{layer}")
        t.array("float", "partial_sums", written=True)
        for layer, (inputs, outputs) in enumerate(net.shapes):
            if 1 <= layer <= net.first_head or layer == net.local_policy:
                t.pad(layer, outputs, inputs)

    def _scratch(self, t: _Source) -> None:
        """Declare the memory on the stack for the gradients of a block's logits, hidden layers and boards."""
        net = self.net
        t.add("""
            int batch = sizes[0], group_rows = sizes[1];
            float d_logits[BLOCK_ROWS * WIDTH(ACTIONS)];
        """)
        for k, width in enumerate(net.hidden):
            t.add(f"float d_hidden{k}[BLOCK_ROWS * WIDTH({width})];")
        if not net.blocks and t.observation_type == "u8":
            t.add("float input[BLOCK_ROWS * INPUTS];")
        if net.blocks:
            t.add("""
                float image[INPUTS], d_tower[BLOCK_ROWS * WIDTH(BOARD_FEATURES)];
                float d_outer[CELLS * WIDTH(CHANNELS)], d_inner[CELLS * WIDTH(CHANNELS)];
                float d_level[BOARD_FEATURES];
            """)

    def _weight_gradient(self, t: _Source, layer: int, x: _Rows, d: str) -> None:
        """Write the gradients of a dense layer's matrix and bias.

        They are added to `sum`, from the layer's input `x` and the gradient `d` of its output.
        """
        depth, columns = self.net.shapes[layer]
        matrix = self.net.offsets[layer]
        t.add(
            """
            product($depth, rows, $columns, $x, 1, $stride, $d, WIDTH($columns), 0, sum + $matrix, $columns, 0, 1);
            add_rows(rows, $columns, $d, WIDTH($columns), sum + $bias);
            """,
            depth=depth,
            columns=columns,
            x=x.start,
            stride=x.stride,
            d=d,
            matrix=matrix,
            bias=matrix + depth * columns,
        )

    def _input_gradient(self, t: _Source, layer: int, d: str, below: str) -> None:
        """Write the gradient of a dense layer's input to `below`, from the gradient `d` of its output."""
        inputs, outputs = self.net.shapes[layer]
        t.add(f"""
            product(rows, {outputs}, {inputs}, {d}, WIDTH({outputs}), 1, padded{layer}, WIDTH({inputs}), 0,
                    {below}, WIDTH({inputs}), 0, 0);
        """)

    def _heads(self, t: _Source) -> None:
        """Write the gradients of the heads, and of the last hidden layer's features as the sum over all heads."""
        net = self.net
        x = t.features(net.first_head - 1)
        below = f"d_hidden{len(net.hidden) - 1}"
        t.add(f"""
            log_softmax_backward(rows, ACTIONS, logs + (long)first * ACTIONS, d_output0 + (long)first * ACTIONS,
                                 {t.mask}, d_logits, WIDTH(ACTIONS));
        """)
        self._weight_gradient(t, net.first_head, x, "d_logits")
        self._input_gradient(t, net.first_head, "d_logits", below)
        for k in range(1, len(net.heads)):
            layer = net.first_head + k
            t.add(
                """
                for (int row = 0; row < rows; row++) {
                  float d = d_output$k[first + row];
                  float *dw = sum + $offset;
                  dw[$depth] += d;
                  add_scaled($depth, $x + (long)row * $stride, d, dw);
                  add_scaled($depth, weight$layer, d, $below + row * WIDTH($depth));
                }
                """,
                k=k,
                layer=layer,
                offset=net.offsets[layer],
                depth=net.hidden[-1],
                x=x.start,
                stride=x.stride,
                below=below,
            )

    def _hidden(self, t: _Source, k: int) -> None:
        """Write the gradients of a hidden layer, and of its input unless this is the observation."""
        net = self.net
        layer = len(net.convolutions) + k
        width = net.hidden[k]
        d = f"d_hidden{k}"
        y = t.features(layer)
        activation = ACTIVATIONS[net.activation]
        t.add(f"backward(rows, {width}, {d}, WIDTH({width}), {y.start}, {y.stride}, {activation});")
        if layer:
            self._weight_gradient(t, layer, t.features(layer - 1), d)
            self._input_gradient(t, layer, d, f"d_hidden{k - 1}" if k else "d_tower")
        elif t.observation_type == "u8":
            # The product takes floats, so the bytes of observations are converted.
            t.add("for (long k = 0; k < (long)rows * INPUTS; k++) input[k] = observations[(long)first * INPUTS + k];")
            self._weight_gradient(t, 0, _Rows("input", "INPUTS"), d)
        else:
            self._weight_gradient(t, 0, t.observations, d)

    def _tower(self, t: _Source) -> None:
        """Write the gradients of the convolutions, board by board.

        A residual block is relu(x + outer(relu(inner(x)))) with two convolutions. In the text, `dx` is the gradient of
        the block's output and then of its input, and `d_level` that of relu(inner(x)), both [cells, channels].
        `d_outer` and `d_inner` are the gradients before the activations, in rows of WIDTH(CHANNELS) numbers.
        """
        net = self.net
        t.add("""
            for (int row = 0; row < rows; row++) {
            float *dx = d_tower + row * WIDTH(BOARD_FEATURES);
        """)
        t.add_image()
        if net.action_planes:
            self._local_policy(t)
        for block in reversed(range(net.blocks)):
            inner = 2 * block + 1
            outer = 2 * block + 2
            self._activation_gradient(t, outer, "dx", "d_outer", "RELU")
            t.add("clear(BOARD_FEATURES, d_level);")
            self._convolution_gradient(t, outer, t.board(t.features(inner)), "d_outer", "d_level")
            self._activation_gradient(t, inner, "d_level", "d_inner", "RELU")
            # The block's input has two gradients: that of the sum, and that of the inner convolution, added to it.
            t.add("""
                for (int cell = 0; cell < CELLS; cell++)
                  for (int channel = 0; channel < CHANNELS; channel++)
                    dx[cell * CHANNELS + channel] = d_outer[cell * WIDTH(CHANNELS) + channel];
            """)
            self._convolution_gradient(t, inner, t.board(t.features(inner - 1)), "d_inner", "dx")
        self._activation_gradient(t, 0, "dx", "d_outer", ACTIVATIONS[net.activation])
        self._convolution_gradient(t, 0, "image", "d_outer", "0")
        t.add("}")

    def _local_policy(self, t: _Source) -> None:
        """Write the gradients of the local policy's matrix, bias and input, a board's last features."""
        net = self.net
        layer = net.local_policy
        offset = net.offsets[layer]
        t.add(
            """
            add_planes_backward(CELLS, CHANNELS, $planes, $x, d_logits + row * WIDTH(ACTIONS), padded$layer,
                                sum + $matrix, sum + $bias, dx);
            """,
            planes=net.action_planes,
            x=t.board(t.features(len(net.convolutions) - 1)),
            layer=layer,
            matrix=offset,
            bias=offset + net.channels * net.action_planes,
        )

    def _convolution_gradient(self, t: _Source, layer: int, x: str, d: str, dx: str) -> None:
        """Write the gradients of a convolution's matrix, bias and input, from the gradient `d` of its output.

        They are added to `sum` and to `dx`. The first convolution's input has no gradient.
        """
        inputs, outputs = self.net.convolutions[layer]
        depth, columns = self.net.shapes[layer]
        sizes = f"BOARD_HEIGHT, BOARD_WIDTH, {inputs}, {outputs}"
        call = t.function(
            f"convolution_backward_{layer > 0:d}",
            "const float *x, const float *d, const float *w, float *dw, float *db, float *dx",
            f"convolution_backward({sizes}, x, d, w, dw, db, {'dx' if layer else 0})",
        )
        transposed = f"padded{layer}" if layer else "0"
        offset = self.net.offsets[layer]
        t.add(f"{call}({x}, {d}, {transposed}, sum + {offset}, sum + {offset + depth * columns}, {dx});")

    def _activation_gradient(self, t: _Source, layer: int, d: str, result: str, activation: str) -> None:
        """Write the gradient before a convolution's activation to `result`, in rows of WIDTH(CHANNELS) numbers."""
        t.add(
            """
            for (int cell = 0; cell < CELLS; cell++)
              for (int channel = 0; channel < CHANNELS; channel++)
                $result[cell * WIDTH(CHANNELS) + channel] = $d[cell * CHANNELS + channel];
            backward(CELLS, CHANNELS, $result, WIDTH(CHANNELS), $y, CHANNELS, $activation);
            """,
            result=result,
            d=d,
            y=t.board(t.features(layer)),
            activation=activation,
        )
