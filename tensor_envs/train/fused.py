"""A network's kernels on the CPU: one program evaluates all layers, another one computes the gradients of all weights.

A slice of a program is a block of rows, whose features stay in the caches of one core. The sum of products of every
number has one order, so that results depend neither on the number of threads nor, except for gradients of weights, on
the other rows.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from tinygrad import Tensor, UOp, dtypes
from tinygrad.dtype import DType

from tensor_envs._runtime.buffers import cached_upload, device_of, empty_buffer
from tensor_envs._runtime.devices import opened
from tensor_envs._runtime.launch import launch_program
from tensor_envs._runtime.programs import ProgramFuture, compile_source
from tensor_envs._runtime.threads import all_blocks, runs_natively

ROWS = 48  # of a block
MIN_ROWS = 6  # of a block, a tile of `fused.c`
# number of partial sums of the gradients of weights, and the least number of rows of each
MAX_GROUPS = 8
GROUP_ROWS = 128
BLOCK_FEATURES = 2**16  # upper bound for the features of a block's boards
# floats on a thread's stack, and in a vector
MAX_STACK = 2**19
MAX_LANES = 16
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
        """Places of the gradients of each weight matrix, with its bias behind it, and their total size."""
        sizes = [(k + 1) * n for k, n in self.shapes]
        return [*accumulate(sizes, initial=0)]

    @property
    def features(self) -> list[int]:
        """First index of the features of each layer in a row of all features, and the length of that row."""
        sizes = [*[self.cells * self.channels] * len(self.convolutions), *self.hidden]
        return [*accumulate(sizes, initial=0)]

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
        passed = iter([Tensor(g) for g in gradients])
        # an output that nothing uses has none, and only the first one has two axes
        complete = len(gradients) == len(shapes)
        wanted = [
            next(passed) if complete or len(s) == gradients[0].ndim else Tensor.zeros(*s, device=device).contiguous()
            for s in shapes
        ]
        assert call is not None
        made = [Tensor(u.after(call)) for u in call.src[1 + before + len(weights) :]]
        logs = made[0]
        features = made[-1] if keep else run(keep=True)[-1]
        grouped = max(1, min(MAX_GROUPS, batch // GROUP_ROWS))
        rows = -(-batch // grouped)
        size = architecture.offsets[-1]
        partial = empty_buffer(grouped * size, dtypes.float32, device)
        turned = [w.detach().T.contiguous() for w in weights[2::2]]
        program = _program(_Backward(architecture, mask is not None), observation.dtype, device)
        head = [all_blocks(grouped, device), cached_upload((batch, rows), device), *fixed]
        arrays = [*head, features.detach(), logs.detach(), *(g.detach() for g in wanted), *turned, partial]
        total = launch_program(program(), arrays)[-1].reshape(grouped, size).sum(0).contiguous()
        parts = []
        for at, (k, n) in zip(architecture.offsets, architecture.shapes, strict=False):
            parts += [total[at : at + k * n].reshape(k, n).uop, total[at + k * n : at + (k + 1) * n].uop]
        return (*[None] * before, *parts, *[None] * len(made))

    return run(keep)[: len(shapes)]


@functools.lru_cache(64)
def _program(kernel: _Forward | _Backward, dtype: DType, device: str) -> ProgramFuture:
    """Return the program of a kernel for observations of a dtype; it serves any number of rows."""
    source, types, written = kernel.source(dtype)
    return compile_source(kernel.name, source, opened(device).renderer, types, written)


@functools.cache
def _parts() -> str:
    return Path(__file__).with_name("fused.c").read_text()


class _Text:
    """Text of a kernel, with its parameters."""

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

    def add(self, *lines: str) -> None:
        self.lines += lines

    def function(self, name: str, signature: str, body: str) -> str:
        """Return the name of a function, which is compiled once for all layers of the same sizes."""
        self.functions[name] = f"CALLED void {name}({signature}) {{ {body}; }}\n"
        return name

    def padded(self, name: str, depth: int, columns: int) -> str:
        """Pad a matrix to at least the columns of a vector, and return its name."""
        self.add(f"float {name}_[{columns} < V ? {depth} * V : 1];")
        self.add(f"const float *{name}p = padded({name}, {depth}, {columns}, {name}_);")
        return f"{name}p"

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
        self.add(f"for (int c = 0; c < {cells}; c++) for (int p = 0; p < {planes}; p++)")
        self.add(f"image[c * {planes} + p] = x[((long)i + k) * {self.net.inputs} + p * {cells} + c];")


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
        t = _Text(self.net, self.masked, dtype)
        convolutions = len(net.convolutions)
        hidden = len(net.hidden)
        rows = net.rows
        kind = ACTIVATIONS[net.activation]
        for k in range(len(net.shapes)):
            t.array("float", f"w{k}")
            t.array("float", f"b{k}")
        for k in range(len(net.heads)):
            t.array("float", f"y{k}", written=True)
        places = net.features
        if self.keep:
            t.array("float", "features", written=True)
        matrices = [t.padded(f"w{k}", *shape) for k, shape in enumerate(net.shapes[: convolutions + hidden + 1])]
        t.add("int batch = sizes[0];", f"float sums[{rows} + V];")
        if t.kind == "u8" and not net.blocks:
            t.add(f"int places[{net.inputs} + 1];")
        for k, n in enumerate(net.hidden):
            t.add(*([] if self.keep else [f"float h{k}[{rows * n}];"]))
        if net.blocks:
            t.add(f"float image[{net.inputs}];")
            size = net.cells * net.channels
            t.add(*([] if self.keep else [f"float last[{rows * size}], level[3][{size}];"]))
        t.add(f"for (int i = share[0] * {rows}; i < smaller(batch, (share[0] + share[1]) * {rows}); i += {rows}) {{")
        t.add(f"int n = smaller({rows}, batch - i);")
        source = f"(x + (long)i * {net.inputs})"
        pitch = net.inputs

        def features(layer: int) -> str:
            return f"(features + (long)i * {places[-1]} + {places[layer]})"

        if net.blocks:
            size = net.cells * net.channels
            t.add("for (int k = 0; k < n; k++) {")
            t.board()

            def level(layer: int) -> str:
                if self.keep:
                    return f"({features(layer)} + (long)k * {places[-1]})"
                return f"(last + k * {size})" if layer == convolutions - 1 else f"level[{layer % 3}]"

            for layer, (inputs, outputs) in enumerate(net.convolutions):
                before = "image" if not layer else level(layer - 1)
                call = t.function(
                    f"convolution_{layer > 0:d}",
                    "const float *x, const float *w, const float *start, float *y",
                    f"convolution({net.board[0]}, {net.board[1]}, {inputs}, {outputs}, x, w, start, y)",
                )
                t.add(f"{call}({before}, {matrices[layer]}, b{layer}, {level(layer)});")
                if layer and layer % 2 == 0:
                    t.add(f"add({size}, {level(layer - 2)}, {level(layer)});")
                t.add(f"activate(1, {size}, {level(layer)}, 0, {'RELU' if layer else kind});")
            t.add("}")
            source, pitch = (features(convolutions - 1), places[-1]) if self.keep else ("last", size)
        for k, (inputs, outputs) in enumerate(net.dense):
            layer = convolutions + k
            to, stride = (features(layer), places[-1]) if self.keep else (f"h{k}", outputs)
            matrix = matrices[layer]
            relu = kind == "RELU"
            tail = f"WIDTH({outputs}), b{layer}, {to}, {stride}, {relu:d}"
            if not layer and t.kind == "u8":
                t.add(f"sparse_product(n, {inputs}, {outputs}, {source}, {int(t.binary)}, {matrix}, {tail}, places);")
            else:
                t.add(f"product(n, {inputs}, {outputs}, {source}, {pitch}, 1, {matrix}, {tail}, 0);")
            if not relu:
                t.add(f"activate(n, {outputs}, {to}, {stride}, {kind});")
            source = to
            pitch = stride
        for k, n in enumerate(net.heads):
            layer = convolutions + hidden + k
            to = f"y{k} + (long)i * {n}"
            depth = net.hidden[-1]
            if k:
                t.add(f"dot(n, {depth}, {source}, {pitch}, w{layer}, b{layer}[0], {to});")
            else:
                matrix = f"{matrices[layer]}, WIDTH({n}), b{layer}"
                t.add(f"product(n, {depth}, {n}, {source}, {pitch}, 1, {matrix}, {to}, {n}, 0, 0);")
        t.add(f"log_softmax(n, {net.heads[0]}, y0 + (long)i * {net.heads[0]}, {t.mask.format(net.heads[0])}, sums);")
        t.add("}")
        return t.finish(self.name)


@dataclass(frozen=True)
class _Backward:
    """Kernel that computes the gradients of all weights and biases from those of the outputs, in groups of rows."""

    net: Architecture
    masked: bool
    name = "network_gradient"

    def source(self, dtype: DType) -> tuple[str, list[DType], list[int]]:
        """Return the source, the dtypes of its arrays, and the indices of the arrays that it writes."""
        net = self.net
        t = _Text(self.net, self.masked, dtype)
        convolutions = len(net.convolutions)
        rows = net.rows
        places = net.features
        kind = ACTIVATIONS[net.activation]
        shapes = net.shapes
        offsets = net.offsets
        first_head = len(net.features) - 1
        t.array("float", "features")
        t.array("float", "logs")
        for k in range(len(net.heads)):
            t.array("float", f"g{k}")
        for k in range(1, len(shapes)):
            t.array("float", f"w{k}")
        t.array("float", "partial", written=True)
        matrices = {k: t.padded(f"w{k}", n, m) for k, (m, n) in enumerate(shapes[: first_head + 1]) if k}
        t.add("int batch = sizes[0], size = sizes[1];")
        t.add(f"float e[{rows} * WIDTH({net.heads[0]})];")
        for k, n in enumerate(net.hidden):
            t.add(f"float d{k}[{rows} * WIDTH({n})];")
        if not net.blocks and t.kind == "u8":
            t.add(f"float input[{rows * net.inputs}];")
        if net.blocks:
            size = net.cells * net.channels
            t.add(f"float image[{net.inputs}], last[{rows} * WIDTH({size})];")
            t.add(f"float outer[{net.cells} * WIDTH({net.channels})], inner[{net.cells} * WIDTH({net.channels})];")
            t.add(f"float one[{size}];")
        t.add("for (int group = share[0]; group < share[0] + share[1]; group++) {")
        t.add(f"float *to = partial + (long)group * {offsets[-1]};", f"clear({offsets[-1]}, to);")
        t.add("int end = smaller(batch, (group + 1) * size);")
        t.add(f"for (int i = group * size; i < end; i += {rows}) {{", f"int n = smaller({rows}, end - i);")

        def features(layer: int) -> str:
            return f"(features + (long)i * {places[-1]} + {places[layer]})"

        def weight_gradient(layer: int, source: str, pitch: int, d: str) -> None:
            depth, columns = shapes[layer]
            at = offsets[layer]
            matrix = f"{d}, WIDTH({columns})"
            to = f"to + {at}, {columns}"
            t.add(f"product({depth}, n, {columns}, {source}, 1, {pitch}, {matrix}, 0, {to}, 0, 1);")
            t.add(f"add_rows(n, {columns}, {d}, WIDTH({columns}), to + {at + depth * columns});")

        last = len(net.hidden) - 1
        top = features(first_head - 1)
        n = net.heads[0]
        m = net.hidden[-1]
        mask = t.mask.format(net.heads[0])
        here = f"(long)i * {n}"
        t.add(f"log_softmax_backward(n, {n}, logs + {here}, g0 + {here}, {mask}, e, WIDTH({n}));")
        weight_gradient(first_head, top, places[-1], "e")
        t.add(
            f"product(n, {n}, {m}, e, WIDTH({n}), 1, {matrices[first_head]}, WIDTH({m}), 0, d{last}, WIDTH({m}), 0, 0);"
        )
        for k in range(1, len(net.heads)):
            layer = first_head + k
            t.add("for (int k = 0; k < n; k++) {")
            t.add(f"float *dw = to + {offsets[layer]};", f"dw[{m}] += g{k}[i + k];")
            t.add(f"add_scaled({m}, {top} + (long)k * {places[-1]}, g{k}[i + k], dw);")
            t.add(f"add_scaled({m}, w{layer}, g{k}[i + k], d{last} + k * WIDTH({m}));", "}")
        for k in reversed(range(len(net.hidden))):
            layer = convolutions + k
            m, n = net.dense[k]
            t.add(f"backward(n, {n}, d{k}, WIDTH({n}), {features(layer)}, {places[-1]}, {kind});")
            if layer:
                weight_gradient(layer, features(layer - 1), places[-1], f"d{k}")
                to = f"d{k - 1}" if k else "last"
                matrix = f"{matrices[layer]}, WIDTH({m})"
                t.add(f"product(n, {n}, {m}, d{k}, WIDTH({n}), 1, {matrix}, 0, {to}, WIDTH({m}), 0, 0);")
            elif t.kind == "u8":
                t.add(f"for (long k = 0; k < (long)n * {m}; k++) input[k] = x[(long)i * {m} + k];")
                weight_gradient(0, "input", m, "d0")
            else:
                weight_gradient(0, f"x + (long)i * {m}", m, "d0")
        if net.blocks:
            self._tower(t, features)
        t.add("}", "}")
        return t.finish(self.name)

    def _tower(self, t: _Text, features: Callable[[int], str]) -> None:
        """Write the gradients of the convolutions, board by board."""
        net = self.net
        size = net.cells * net.channels
        places = net.features
        offsets = net.offsets
        shapes = net.shapes
        board = f"{net.board[0]}, {net.board[1]}"

        def level(layer: int) -> str:
            return f"({features(layer)} + (long)k * {places[-1]})"

        def convolution(layer: int, source: str, d: str, dx: str) -> None:
            inputs, outputs = net.convolutions[layer]
            at = offsets[layer]
            depth, columns = shapes[layer]
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
            t.add(f"for (int c = 0; c < {net.cells}; c++) for (int j = 0; j < {n}; j++)")
            t.add(f"{to}[c * WIDTH({n}) + j] = {source}[c * {n} + j];")
            t.add(f"backward({net.cells}, {n}, {to}, WIDTH({n}), {level(layer)}, {n}, {activation});")

        t.add("for (int k = 0; k < n; k++) {", f"float *dx = last + k * WIDTH({size});")
        t.board()
        for block in reversed(range(net.blocks)):
            one = 2 * block + 1
            two = 2 * block + 2
            derived(two, "dx", "outer", "RELU")
            t.add(f"clear({size}, one);")
            convolution(two, level(one), "outer", "one")
            derived(one, "one", "inner", "RELU")
            t.add(f"for (int c = 0; c < {net.cells}; c++) for (int j = 0; j < {net.channels}; j++)")
            t.add(f"dx[c * {net.channels} + j] = outer[c * WIDTH({net.channels}) + j];")
            convolution(one, level(two - 2), "inner", "dx")
        derived(0, "dx", "outer", ACTIVATIONS[net.activation])
        convolution(0, "image", "outer", "0")
        t.add("}")
