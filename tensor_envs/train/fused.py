"""A network's kernels on the CPU: one program evaluates all layers, another one computes the gradients of all weights.

A slice of a program is a block of rows, whose features stay in the caches of one core. The sum of products of every
number has one order, so that results depend neither on the number of threads nor, except for gradients of weights, on
the other rows.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from tinygrad import Tensor, UOp, dtypes
from tinygrad.dtype import DType

from tensor_envs._runtime.buffers import cached_upload, device_of, empty_buffer
from tensor_envs._runtime.devices import opened
from tensor_envs._runtime.launch import launch_program
from tensor_envs._runtime.programs import ProgramFuture, compile_source
from tensor_envs._runtime.threads import all_blocks, runs_natively

ROWS = 48  # rows of a block
MIN_ROWS = 6  # fewest rows of a block: a tile of `fused.c`
MAX_GROUPS = 8  # groups of rows with partial sums of the gradients
GROUP_ROWS = 128  # fewest rows of a group
BLOCK_FEATURES = 2**16  # upper bound for the features of a block's boards
MAX_STACK = 2**19  # floats on a thread's stack
MAX_LANES = 16  # floats of a vector
TYPES = {dtypes.bool: "u8", dtypes.uint8: "u8", dtypes.float32: "float"}
ACTIVATIONS = {"relu": "RELU", "tanh": "TANH"}


@dataclass(frozen=True)
class Architecture:
    """Sizes of a network: a residual tower of 3x3 convolutions or none, hidden layers, then heads.

    Attributes:
        inputs: numbers of an observation, [planes, *board] with a tower.
        hidden: widths of the hidden layers, one at least.
        heads: widths of the heads; the first one's output is a log softmax.
        activation: "relu" or "tanh", of the first convolution and of the hidden layers.
        board: rows and columns, with a tower.
        channels: channels of the tower.
        blocks: residual blocks of two convolutions; 0 for no tower.
    """

    inputs: int
    hidden: tuple[int, ...]
    heads: tuple[int, ...]
    activation: str = "relu"
    board: tuple[int, int] = (1, 1)
    channels: int = 0
    blocks: int = 0

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
        """Shape of each weight matrix, [inputs, outputs]; those of convolutions are [3 * 3 * inputs, outputs]."""
        heads = [(self.hidden[-1], n) for n in self.heads]
        return [*((9 * k, n) for k, n in self.convolutions), *self.dense, *heads]

    @property
    def offsets(self) -> list[int]:
        """First index of each layer's gradients (matrix, then bias) among all gradients, and their total size."""
        sizes = [(k + 1) * n for k, n in self.shapes]
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
    def rows(self) -> int:
        """Number of rows of a block."""
        features = self.cells * self.channels
        return ROWS if not self.blocks else min(ROWS, max(MIN_ROWS, BLOCK_FEATURES // features))

    @property
    def stack(self) -> int:
        """Upper bound for the numbers on a thread's stack, where vectors have `MAX_LANES`."""
        board = self.cells * max(MAX_LANES, self.channels) if self.blocks else 0
        patches = 9 * ROWS * sum(max(MAX_LANES, k) for k in {k for k, _ in self.convolutions})
        wide = self.rows * sum(max(MAX_LANES, n) for n in (*self.hidden, self.heads[0]))
        narrow = sum(MAX_LANES * (k * (n < MAX_LANES) + n * (k < MAX_LANES)) for k, n in self.shapes)
        return (self.rows + 4) * board + patches + wide + narrow + self.inputs * (2 if self.blocks else self.rows)


def is_fused(architecture: Architecture, observation: Tensor) -> bool:
    """Return whether a network's evaluation of these observations, and its gradient, are kernels of this module."""
    device = observation.device
    return (
        isinstance(device, str)
        and runs_natively(device)
        and observation.dtype in TYPES
        and architecture.stack <= MAX_STACK
    )


def evaluate(
    architecture: Architecture, observation: Tensor, mask: Tensor | None, weights: Sequence[Tensor], keep: bool
) -> list[Tensor]:
    """Return the outputs of the heads, lazy: [B, A] of the first head, [B] of all others, which have one unit.

    There is no gradient with respect to observations.

    Args:
        architecture: the sizes.
        observation: bool, uint8 or float32 [B, inputs].
        mask: legal actions, bool [B, A]; None: all are.
        weights: for each layer a matrix [inputs, outputs] and a bias [outputs], float32.
        keep: whether features are kept for the gradient, which computes them otherwise.
    """
    device = str(device_of(observation))
    batch = int(observation.shape[0])
    blocks = -(-batch // architecture.rows)
    fixed = [observation.detach(), *([] if mask is None else [mask.detach()])]
    widths = architecture.heads
    shapes = [(batch, widths[0]), *[(batch,)] * (len(widths) - 1)]

    # Each call has outputs of its own, since tinygrad may hold them as long as it likes.
    def run(keep: bool) -> list[Tensor]:
        outputs = [empty_buffer(math.prod(s), dtypes.float32, device).reshape(s) for s in shapes]
        if keep:
            outputs.append(empty_buffer(batch * architecture.features[-1], dtypes.float32, device))
        program = _program(_Forward(architecture, mask is not None, keep), observation.dtype, device)
        head = [all_blocks(blocks, device), cached_upload((batch,), device), *fixed]
        arrays = [*head, *weights, *outputs]
        results = launch_program(program(), arrays, functools.partial(gradient, len(head)))
        return results[len(head) + len(weights) :]

    def gradient(before: int, *gradients: UOp, call: UOp | None = None) -> tuple[UOp | None, ...]:
        """Return the gradients of the arguments of a call that are weights."""
        if call is None:  # tinygrad's way to pass one gradient
            *gradients, call = gradients  # type: ignore[assignment]
        wanted = complete_gradients(gradients, shapes, device)
        assert call is not None
        # Without kept features, as after a search, the forward kernel runs again.
        outputs = [Tensor(u.after(call)) for u in call.src[1 + before + len(weights) :]]
        logs = outputs[0]
        features = outputs[-1] if keep else run(keep=True)[-1]
        # Threads sum over groups of rows. Their number depends on the batch alone, so that results do not depend on
        # the number of threads.
        groups = max(1, min(MAX_GROUPS, batch // GROUP_ROWS))
        rows = -(-batch // groups)
        size = architecture.offsets[-1]
        partial = empty_buffer(groups * size, dtypes.float32, device)
        transposed = [w.detach().T.contiguous() for w in weights[2::2]]
        program = _program(_Backward(architecture, mask is not None), observation.dtype, device)
        head = [all_blocks(groups, device), cached_upload((batch, rows), device), *fixed]
        arrays = [*head, features.detach(), logs.detach(), *(g.detach() for g in wanted), *transposed, partial]
        total = launch_program(program(), arrays)[-1].reshape(groups, size).sum(0).contiguous()
        # The total holds each matrix, and its bias behind it.
        parts = []
        for at, (k, n) in zip(architecture.offsets, architecture.shapes, strict=False):
            parts += [total[at : at + k * n].reshape(k, n).uop, total[at + k * n : at + (k + 1) * n].uop]
        return (*[None] * before, *parts, *[None] * len(outputs))

    return run(keep)[: len(shapes)]


def complete_gradients(gradients: Sequence[UOp], shapes: Sequence[tuple[int, ...]], device: str) -> list[Tensor]:
    """Return the gradient of every output: zeros for one that nothing uses, for which tinygrad passes none."""
    passed = iter([Tensor(g) for g in gradients])
    complete = len(gradients) == len(shapes)
    # only the first of several outputs has two axes
    return [
        next(passed) if complete or len(s) == gradients[0].ndim else Tensor.zeros(*s, device=device).contiguous()
        for s in shapes
    ]


@functools.lru_cache(64)
def _program(kernel: _Forward | _Backward, dtype: DType, device: str) -> ProgramFuture:
    """Return the program of a kernel for observations of a dtype; it serves any number of rows."""
    source, types, written = kernel.source(dtype)
    return compile_source(kernel.name, source, opened(device).renderer, types, written)


@functools.cache
def _parts() -> str:
    return Path(__file__).with_name("fused.c").read_text()


class _Rows(NamedTuple):
    """Rows of numbers in a kernel: the place of the first row of a block, and the distance between rows."""

    first: str
    pitch: int


class _Text:
    """Text of a kernel, with its parameters.

    In the text, `i` is the first row of a block of `n` rows, and `k` is a row of the block.
    """

    def __init__(self, architecture: Architecture, masked: bool, dtype: DType):
        self.net = architecture
        self.kind = TYPES[dtype]
        self.binary = dtype is dtypes.bool
        self.parameters: list[tuple[str, str, DType, bool]] = []
        self.lines: list[str] = []
        self.functions: dict[str, str] = {}
        self.array("int", "share", dtypes.int32)
        self.array("int", "sizes", dtypes.int32)
        self.array(self.kind, "x", dtype)
        if masked:
            self.array("u8", "mask", dtypes.bool)
        self.mask = "mask + (long)i * {}" if masked else "0"

    def array(self, kind: str, name: str, dtype: DType = dtypes.float32, written: bool = False) -> None:
        self.parameters.append((kind, name, dtype, written))

    def add(self, code: str) -> None:
        """Append lines of C; their indentation is dropped."""
        self.lines += [line.strip() for line in code.strip().split("\n")]

    def features(self, layer: int) -> _Rows:
        """Return the rows of the features of a layer."""
        places = self.net.features
        return _Rows(f"(features + (long)i * {places[-1]} + {places[layer]})", places[-1])

    def function(self, name: str, signature: str, body: str) -> str:
        """Return the name of a function, which is compiled once for all layers of the same sizes."""
        self.functions[name] = f"CALLED void {name}({signature}) {{ {body}; }}\n"
        return name

    def padded(self, name: str, depth: int, columns: int) -> None:
        """Pad a matrix to at least the columns of a vector; the name of the result ends in `p`."""
        self.add(f"""
            float {name}_[{columns} < V ? {depth} * V : 1];
            const float *{name}p = padded({name}, {depth}, {columns}, {name}_);
        """)

    def finish(self, name: str) -> tuple[str, list[DType], list[int]]:
        signature = ", ".join(f"{'' if w else 'const '}{kind} *{n}" for kind, n, _, w in self.parameters)
        body = "\n".join(self.lines)
        source = f"{_parts()}\n{''.join(self.functions.values())}void {name}({signature}) {{\n{body}\n}}\n"
        types = [dtype for _, _, dtype, _ in self.parameters]
        return source, types, [k for k, p in enumerate(self.parameters) if p[3]]

    def board(self) -> None:
        """Convert an observation [planes, cells] to `image` [cells, planes]."""
        planes = self.net.convolutions[0][0]
        cells = self.net.cells
        self.add(f"""
            for (int c = 0; c < {cells}; c++) for (int p = 0; p < {planes}; p++)
            image[c * {planes} + p] = x[((long)i + k) * {self.net.inputs} + p * {cells} + c];
        """)


@dataclass(frozen=True)
class _Forward:
    """Kernel from observations to the outputs of the heads and, if wanted, the features of all layers."""

    net: Architecture
    masked: bool
    keep: bool
    name = "network"

    def source(self, dtype: DType) -> tuple[str, list[DType], list[int]]:
        """Return the source, the dtypes of its arrays, and the indices of the arrays that it writes."""
        net = self.net
        rows = net.rows
        t = _Text(net, self.masked, dtype)
        self._parameters(t)
        self._scratch(t)
        t.add(f"""
            for (int i = share[0] * {rows}; i < smaller(batch, (share[0] + share[1]) * {rows}); i += {rows}) {{
            int n = smaller({rows}, batch - i);
        """)
        # All layers of a block follow each other, so that its features stay in the caches.
        x = self._tower(t) if net.blocks else _Rows(f"(x + (long)i * {net.inputs})", net.inputs)
        for k in range(len(net.hidden)):
            x = self._hidden(t, k, x)
        self._heads(t, x)
        t.add("}")
        return t.finish(self.name)

    def _parameters(self, t: _Text) -> None:
        """Declare the arrays, and pad matrices that are read in vectors: all but those of further heads."""
        net = self.net
        for k in range(len(net.shapes)):
            t.array("float", f"w{k}")
            t.array("float", f"b{k}")
        for k in range(len(net.heads)):
            t.array("float", f"y{k}", written=True)
        if self.keep:
            t.array("float", "features", written=True)
        for k, shape in enumerate(net.shapes[: net.first_head + 1]):
            t.padded(f"w{k}", *shape)

    def _scratch(self, t: _Text) -> None:
        """Declare memory of a block; features that are kept need none."""
        net = self.net
        t.add(f"""
            int batch = sizes[0];
            float sums[{net.rows} + V];
        """)
        if t.kind == "u8" and not net.blocks:
            t.add(f"int places[{net.inputs} + 1];")
        if not self.keep:
            for k, n in enumerate(net.hidden):
                t.add(f"float h{k}[{net.rows * n}];")
        if net.blocks:
            t.add(f"float image[{net.inputs}];")
        if net.blocks and not self.keep:
            size = net.cells * net.channels
            t.add(f"float last[{net.rows * size}], level[3][{size}];")

    def _tower(self, t: _Text) -> _Rows:
        """Write the convolutions, board by board, and return the rows of the last one's features."""
        net = self.net
        size = net.cells * net.channels
        top = len(net.convolutions) - 1

        def level(layer: int) -> str:
            """Return the place of a board's features; a residual block reads three levels, which take turns."""
            if self.keep:
                rows = t.features(layer)
                return f"({rows.first} + (long)k * {rows.pitch})"
            return f"(last + k * {size})" if layer == top else f"level[{layer % 3}]"

        t.add("for (int k = 0; k < n; k++) {")
        t.board()
        for layer, (inputs, outputs) in enumerate(net.convolutions):
            before = level(layer - 1) if layer else "image"
            call = t.function(
                f"convolution_{layer > 0:d}",
                "const float *x, const float *w, const float *start, float *y",
                f"convolution({net.board[0]}, {net.board[1]}, {inputs}, {outputs}, x, w, start, y)",
            )
            t.add(f"{call}({before}, w{layer}p, b{layer}, {level(layer)});")
            # The second convolution of a residual block adds what the block began with.
            if layer and layer % 2 == 0:
                t.add(f"add({size}, {level(layer - 2)}, {level(layer)});")
            activation = "RELU" if layer else ACTIVATIONS[net.activation]
            t.add(f"activate(1, {size}, {level(layer)}, 0, {activation});")
        t.add("}")
        return t.features(top) if self.keep else _Rows("last", size)

    def _hidden(self, t: _Text, k: int, x: _Rows) -> _Rows:
        """Write a hidden layer, and return the rows of its features."""
        inputs, outputs = self.net.dense[k]
        layer = len(self.net.convolutions) + k
        y = t.features(layer) if self.keep else _Rows(f"h{k}", outputs)
        # ReLU is part of the product; other activations need the whole row in vectors.
        activation = ACTIVATIONS[self.net.activation]
        relu = activation == "RELU"
        tail = f"w{layer}p, WIDTH({outputs}), b{layer}, {y.first}, {y.pitch}, {relu:d}"
        # Observations in bytes are mostly zeros, which the first layer skips.
        if not layer and t.kind == "u8":
            t.add(f"sparse_product(n, {inputs}, {outputs}, {x.first}, {int(t.binary)}, {tail}, places);")
        else:
            t.add(f"product(n, {inputs}, {outputs}, {x.first}, {x.pitch}, 1, {tail}, 0);")
        if not relu:
            t.add(f"activate(n, {outputs}, {y.first}, {y.pitch}, {activation});")
        return y

    def _heads(self, t: _Text, x: _Rows) -> None:
        """Write the heads: logits and their log softmax, and one unit for each further head."""
        net = self.net
        depth = net.hidden[-1]
        for k, n in enumerate(net.heads):
            layer = net.first_head + k
            y = f"y{k} + (long)i * {n}"
            if k:
                t.add(f"dot(n, {depth}, {x.first}, {x.pitch}, w{layer}, b{layer}[0], {y});")
            else:
                matrix = f"w{layer}p, WIDTH({n}), b{layer}"
                t.add(f"product(n, {depth}, {n}, {x.first}, {x.pitch}, 1, {matrix}, {y}, {n}, 0, 0);")
        n = net.heads[0]
        t.add(f"log_softmax(n, {n}, y0 + (long)i * {n}, {t.mask.format(n)}, sums);")


@dataclass(frozen=True)
class _Backward:
    """Kernel that computes the gradients of all weights and biases from those of the outputs, in groups of rows."""

    net: Architecture
    masked: bool
    name = "network_gradient"

    def source(self, dtype: DType) -> tuple[str, list[DType], list[int]]:
        """Return the source, the dtypes of its arrays, and the indices of the arrays that it writes."""
        net = self.net
        rows = net.rows
        total = net.offsets[-1]
        t = _Text(net, self.masked, dtype)
        self._parameters(t)
        self._scratch(t)
        # A group of rows has a partial sum of its own, so that threads need not share one.
        t.add(f"""
            for (int group = share[0]; group < share[0] + share[1]; group++) {{
            float *to = partial + (long)group * {total};
            clear({total}, to);
            int end = smaller(batch, (group + 1) * size);
            for (int i = group * size; i < end; i += {rows}) {{
            int n = smaller({rows}, end - i);
        """)
        self._heads(t)
        for k in reversed(range(len(net.hidden))):
            self._hidden(t, k)
        if net.blocks:
            self._tower(t)
        t.add("}")
        t.add("}")
        return t.finish(self.name)

    def _parameters(self, t: _Text) -> None:
        """Declare the arrays, and pad transposed matrices; the first layer's is not read."""
        net = self.net
        t.array("float", "features")
        t.array("float", "logs")
        for k in range(len(net.heads)):
            t.array("float", f"g{k}")
        for k in range(1, len(net.shapes)):
            t.array("float", f"w{k}")
        t.array("float", "partial", written=True)
        for k, (m, n) in enumerate(net.shapes[1 : net.first_head + 1], 1):
            t.padded(f"w{k}", n, m)

    def _scratch(self, t: _Text) -> None:
        """Declare memory of a block: gradients of logits (e), hidden layers (d) and levels of the tower."""
        net = self.net
        t.add(f"""
            int batch = sizes[0], size = sizes[1];
            float e[{net.rows} * WIDTH({net.heads[0]})];
        """)
        for k, n in enumerate(net.hidden):
            t.add(f"float d{k}[{net.rows} * WIDTH({n})];")
        if not net.blocks and t.kind == "u8":
            t.add(f"float input[{net.rows * net.inputs}];")
        if net.blocks:
            size = net.cells * net.channels
            t.add(f"""
                float image[{net.inputs}], last[{net.rows} * WIDTH({size})];
                float outer[{net.cells} * WIDTH({net.channels})], inner[{net.cells} * WIDTH({net.channels})];
                float one[{size}];
            """)

    def _weight_gradient(self, t: _Text, layer: int, x: _Rows, d: str) -> None:
        """Add the gradients of a dense layer's matrix and bias, from its input and the gradient of its output."""
        depth, columns = self.net.shapes[layer]
        at = self.net.offsets[layer]
        matrix = f"{d}, WIDTH({columns})"
        t.add(f"""
            product({depth}, n, {columns}, {x.first}, 1, {x.pitch}, {matrix}, 0, to + {at}, {columns}, 0, 1);
            add_rows(n, {columns}, {matrix}, to + {at + depth * columns});
        """)

    def _heads(self, t: _Text) -> None:
        """Write the gradients of the heads, and of the last hidden layer's features, to which all heads add."""
        net = self.net
        first = net.first_head
        x = t.features(first - 1)
        n = net.heads[0]
        m = net.hidden[-1]
        d = f"d{len(net.hidden) - 1}"
        here = f"(long)i * {n}"
        t.add(f"log_softmax_backward(n, {n}, logs + {here}, g0 + {here}, {t.mask.format(n)}, e, WIDTH({n}));")
        self._weight_gradient(t, first, x, "e")
        t.add(f"product(n, {n}, {m}, e, WIDTH({n}), 1, w{first}p, WIDTH({m}), 0, {d}, WIDTH({m}), 0, 0);")
        for k in range(1, len(net.heads)):
            layer = first + k
            t.add(f"""
                for (int k = 0; k < n; k++) {{
                float *dw = to + {net.offsets[layer]};
                dw[{m}] += g{k}[i + k];
                add_scaled({m}, {x.first} + (long)k * {x.pitch}, g{k}[i + k], dw);
                add_scaled({m}, w{layer}, g{k}[i + k], {d} + k * WIDTH({m}));
                }}
            """)

    def _hidden(self, t: _Text, k: int) -> None:
        """Write the gradients of a hidden layer, and of the features below it; observations have none."""
        net = self.net
        layer = len(net.convolutions) + k
        m, n = net.dense[k]
        y = t.features(layer)
        t.add(f"backward(n, {n}, d{k}, WIDTH({n}), {y.first}, {y.pitch}, {ACTIVATIONS[net.activation]});")
        if layer:
            self._weight_gradient(t, layer, t.features(layer - 1), f"d{k}")
            below = f"d{k - 1}" if k else "last"
            t.add(f"product(n, {n}, {m}, d{k}, WIDTH({n}), 1, w{layer}p, WIDTH({m}), 0, {below}, WIDTH({m}), 0, 0);")
        elif t.kind == "u8":
            t.add(f"for (long k = 0; k < (long)n * {m}; k++) input[k] = x[(long)i * {m} + k];")
            self._weight_gradient(t, 0, _Rows("input", m), "d0")
        else:
            self._weight_gradient(t, 0, _Rows(f"x + (long)i * {m}", m), "d0")

    def _tower(self, t: _Text) -> None:
        """Write the gradients of the convolutions, board by board."""
        net = self.net
        size = net.cells * net.channels
        board = f"{net.board[0]}, {net.board[1]}"

        def level(layer: int) -> str:
            rows = t.features(layer)
            return f"({rows.first} + (long)k * {rows.pitch})"

        def convolution(layer: int, source: str, d: str, dx: str) -> None:
            inputs, outputs = net.convolutions[layer]
            at = net.offsets[layer]
            depth, columns = net.shapes[layer]
            call = t.function(
                f"convolution_backward_{layer > 0:d}",
                "const float *x, const float *d, const float *w, float *dw, float *db, float *dx",
                f"convolution_backward({board}, {inputs}, {outputs}, x, d, w, dw, db, {'dx' if layer else 0})",
            )
            matrix = f"w{layer}p" if layer else "0"
            t.add(f"{call}({source}, {d}, {matrix}, to + {at}, to + {at + depth * columns}, {dx});")

        def derived(layer: int, source: str, to: str, activation: str) -> None:
            """Write rows of WIDTH(channels) of the gradient before an activation."""
            n = net.channels
            t.add(f"""
                for (int c = 0; c < {net.cells}; c++) for (int j = 0; j < {n}; j++)
                {to}[c * WIDTH({n}) + j] = {source}[c * {n} + j];
                backward({net.cells}, {n}, {to}, WIDTH({n}), {level(layer)}, {n}, {activation});
            """)

        t.add(f"""
            for (int k = 0; k < n; k++) {{
            float *dx = last + k * WIDTH({size});
        """)
        t.board()
        for block in reversed(range(net.blocks)):
            one = 2 * block + 1
            two = 2 * block + 2
            derived(two, "dx", "outer", "RELU")
            t.add(f"clear({size}, one);")
            convolution(two, level(one), "outer", "one")
            derived(one, "one", "inner", "RELU")
            # The block's input has the gradient of its sum, and that of the first convolution on top.
            t.add(f"""
                for (int c = 0; c < {net.cells}; c++) for (int j = 0; j < {net.channels}; j++)
                dx[c * {net.channels} + j] = outer[c * WIDTH({net.channels}) + j];
            """)
            convolution(one, level(two - 2), "inner", "dx")
        derived(0, "dx", "outer", ACTIVATIONS[net.activation])
        convolution(0, "image", "outer", "0")
        t.add("}")
