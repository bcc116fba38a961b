"""Compare a network on one core with the same network in NumPy (OpenBLAS) in the same run.

    python scripts/benchmark.py --network
    python scripts/benchmark.py --network --env othello --batch 256 --blocks 2

Each row is `tensor_envs.train.network.Network` on positions of the game: "evaluation" is the kernel as a search
launches it, "call" the same through `te.jit`, and "learning" a step: evaluation, AlphaZero's loss, gradients and Adam.
NumPy does the same on float32 observations; its convolutions are products of gathered neighbourhoods. Both take turns
on one thread. Times are processor times, and ratios are medians of the rounds' ratios. Values and weights are compared
before any number is printed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from tensor_envs._command import Failure, add_game, command_parser, game_of, run, whole
from tensor_envs._runtime import clang

ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "TENSOR_ENVS_THREADS")
RATE, BETAS, EPSILON = 0.001, (0.9, 0.999), 1e-8  # of Adam
Array = Any


class NumPyNetwork:
    """The network in NumPy, with its gradient and Adam. Features of boards are [B, cells, channels]."""

    def __init__(self, architecture: Any, matrices: list[np.ndarray]):
        self.net, self.weights, self.steps = architecture, matrices, 0
        self.moments = [[np.zeros_like(w) for w in matrices] for _ in BETAS]

    def neighbourhoods(self, x: Array) -> Array:
        rows, columns = self.net.board
        padded = np.pad(x.reshape(len(x), rows, columns, -1), ((0, 0), (1, 1), (1, 1), (0, 0)))
        parts = [padded[:, i : i + rows, j : j + columns] for i in range(3) for j in range(3)]
        return np.concatenate(parts, -1).reshape(len(x) * rows * columns, -1)

    def spread(self, patches: Array, batch: int) -> Array:
        """Return the sums of the neighbourhoods' gradients at the cells that they were gathered from."""
        rows, columns = self.net.board
        channels = patches.shape[1] // 9
        parts = patches.reshape(batch, rows, columns, 9, channels)
        to = np.zeros((batch, rows + 2, columns + 2, channels), np.float32)
        for k in range(9):
            to[:, k // 3 : k // 3 + rows, k % 3 : k % 3 + columns] += parts[..., k, :]
        return to[:, 1:-1, 1:-1].reshape(batch, rows * columns, channels)

    def evaluate(self, x: Array, mask: Array) -> tuple[Array, Array]:
        """Return log-probabilities and values; keeps each layer's inputs and outputs."""
        net, parts = self.net, iter(range(0, len(self.weights), 2))
        self.inputs: list[Array] = []
        self.outputs: list[Array] = []

        def layer(x: Array, rest: Array = None, relu: bool = True) -> Array:
            k = next(parts)
            y = x @ self.weights[k]
            y += self.weights[k + 1]
            if rest is not None:
                y += rest
            if relu:
                np.maximum(y, 0, out=y)
            self.inputs.append(x)
            self.outputs.append(y)
            return y

        if net.blocks:
            shape = (len(x), net.cells, -1)
            x = layer(self.neighbourhoods(x.reshape(len(x), -1, net.cells).transpose(0, 2, 1)))
            for _ in range(net.blocks):
                inner = layer(self.neighbourhoods(x.reshape(shape)))
                x = layer(self.neighbourhoods(inner.reshape(shape)), x)
            x = x.reshape(len(mask), -1)
        for _ in net.hidden:
            x = layer(x)
        logits, value = layer(x, relu=False), layer(x, relu=False)
        logits = np.where(mask, logits, np.float32(-1e9))
        logits -= logits.max(1, keepdims=True)
        return logits - np.log(np.exp(logits).sum(1, keepdims=True)), value[:, 0]

    def learn(self, x: Array, mask: Array, targets: Array, values: Array) -> None:
        logs, value = self.evaluate(x, mask)
        net, batch = self.net, len(x)
        gradients: list[Array] = [None] * len(self.weights)

        def back(k: int, d: Array) -> None:
            gradients[2 * k], gradients[2 * k + 1] = self.inputs[k].T @ d, d.sum(0)

        top = len(self.outputs) - 2
        d_logits = (np.exp(logs) * targets.sum(1, keepdims=True) - targets) * mask / np.float32(batch)
        d_value = ((value - values) * np.float32(2 / batch))[:, None]
        back(top, d_logits)
        back(top + 1, d_value)
        d = d_logits @ self.weights[2 * top].T + d_value @ self.weights[2 * top + 2].T
        tower = 1 + 2 * net.blocks if net.blocks else 0
        for k in reversed(range(tower, top)):
            d *= self.outputs[k] > 0
            back(k, d)
            if k:
                d = d @ self.weights[2 * k].T
        if tower:
            d = d.reshape(batch * net.cells, -1)
            for k in reversed(range(1, tower, 2)):
                d *= self.outputs[k + 1] > 0
                back(k + 1, d)
                inner = self.spread(d @ self.weights[2 * k + 2].T, batch).reshape(d.shape) * (self.outputs[k] > 0)
                back(k, inner)
                d = d + self.spread(inner @ self.weights[2 * k].T, batch).reshape(d.shape)
            d *= self.outputs[0] > 0
            back(0, d)
        self.steps += 1
        one, two = BETAS
        first, second = (1 - beta**self.steps for beta in BETAS)
        for w, g, m, v in zip(self.weights, gradients, *self.moments, strict=True):
            m += (1 - one) * (g - m)
            v += (1 - two) * (g * g - v)
            w -= RATE * (m / first) / (np.sqrt(v / second) + EPSILON)


def compare(options: Any) -> None:
    if any(os.environ.get(name) != "1" for name in ONE_THREAD):  # read when NumPy is imported
        command = [sys.executable, str(Path(__file__).parents[1] / "benchmark.py"), *options.arguments]
        environment = os.environ | dict.fromkeys(ONE_THREAD, "1")
        raise SystemExit(subprocess.run(command, env=environment, check=False).returncode)
    print(f"{clang.version(clang.cpu_compiler())}, NumPy {np.__version__}, one thread\n")
    print("| network | batch | work | time, us | NumPy, us | of NumPy's time |")
    print("|---|---|---|---|---|---|")
    for blocks in options.blocks:
        for batch in options.batch:
            for row in rows(options, blocks, batch):
                print("| " + " | ".join(row) + " |", flush=True)


def rows(options: Any, blocks: int, batch: int) -> list[list[str]]:
    from tinygrad import Tensor, nn
    from tinygrad.helpers import Context

    import tensor_envs as te
    from tensor_envs._runtime.capture import CapturedFunction
    from tensor_envs.train.network import Network

    env, random = options.game, np.random.default_rng(1)
    state = te.rollout(env, "uniform", batch=batch, steps=options.steps, seed=1, device="CPU").state
    seen, mask = env.observe(state).flatten(1).contiguous().realize(), state.legal_action_mask.contiguous().realize()
    network = Network(env, options.hidden, blocks, options.channels, device="CPU")
    tensors = nn.state.get_parameters(network)
    peer = NumPyNetwork(network.architecture, [t.numpy().copy() for t in tensors])
    x, legal = te.to_numpy(seen).astype(np.float32), te.to_numpy(mask)
    targets = np.where(legal, random.random(legal.shape), 0).astype(np.float32)
    targets /= np.maximum(targets.sum(1, keepdims=True), 1e-6)
    values = random.uniform(-1, 1, batch).astype(np.float32)
    goal, value = (Tensor(a, device="CPU").realize() for a in (targets, values))

    call = te.jit(lambda seen, mask: network(seen, mask))
    captured = CapturedFunction(lambda seen, mask, logs, value: Tensor.realize(
        *(old.assign(new) for old, new in zip((logs, value), network(seen, mask), strict=True))
    ))  # fmt: skip
    outputs = [Tensor.zeros(*shape, device="CPU").contiguous().realize() for shape in (legal.shape, (batch,))]
    captured(seen, mask, *outputs)
    launch = captured.bind(seen, mask, *outputs)
    launch()
    for result, expected in zip((*outputs, *call(seen, mask)), 2 * peer.evaluate(x, legal), strict=True):
        if not np.allclose(result.numpy(), expected, atol=1e-4, rtol=1e-4):
            raise Failure(f"the evaluations differ by {np.abs(result.numpy() - expected).max():g}")

    optimiser = nn.optim.Adam(tensors, lr=RATE)

    def step(seen: Tensor, mask: Tensor, goal: Tensor, value: Tensor) -> None:
        logs, values = network(seen, mask)
        loss = -(goal * logs).sum(1).mean() + (values - value).square().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()

    learn = te.jit(step)

    def learning() -> None:
        with Context(TRAINING=1):  # type: ignore[no-untyped-call]
            learn(seen, mask, goal, value)

    for _ in range(3):
        learning()
        peer.learn(x, legal, targets, values)
    error = max(float(np.abs(t.numpy() - w).max()) for t, w in zip(tensors, peer.weights, strict=True))
    if error > RATE:
        raise Failure(f"the learned weights differ by {error:g}")
    name = f"{env.id}, {blocks} blocks" if blocks else f"{env.id}, hidden layers"
    works: list[tuple[str, Callable[[], object], Callable[[], object]]] = [
        ("evaluation", launch, lambda: peer.evaluate(x, legal)),
        ("call", lambda: call(seen, mask), lambda: peer.evaluate(x, legal)),
        ("learning", learning, lambda: peer.learn(x, legal, targets, values)),
    ]
    table = []
    for work, own, other in works:
        rounds = [seconds(own, other) for _ in range(options.runs)]
        times = (median(r[k] for r in rounds) * 1e6 for k in (0, 1))
        table.append(
            [name, f"{batch:,}", work, *(f"{t:,.0f}" for t in times), f"{median(a / b for a, b in rounds):.2f}"]
        )
    return table


def seconds(*works: Callable[[], object]) -> tuple[float, float]:
    """Return the processor times of two functions, one call of each."""
    times = [time.process_time()]
    for work in works:
        work()
        times.append(time.process_time())
    first, second = (b - a for a, b in pairwise(times))
    return first, second


def work(options: Any) -> None:
    options.game = game_of(options)
    compare(options)


def main(arguments: Sequence[str] | None = None) -> None:
    count = whole(1, 2**20)
    parser = command_parser("python scripts/benchmark.py", __doc__)
    parser.add_argument("--network", action="store_true", required=True, help="a network, not steps")
    add_game(parser, "connect_four")
    parser.add_argument("--batch", nargs="+", type=count, default=[256, 1024])
    parser.add_argument("--hidden", type=count, default=128, help="units of a hidden layer; default: %(default)s")
    parser.add_argument(
        "--blocks", nargs="+", type=whole(0, 64), default=[0, 2], help="residual blocks; default: 0 and 2"
    )
    parser.add_argument("--channels", type=count, default=32, help="of the tower; default: %(default)s")
    parser.add_argument(
        "--steps", type=count, default=12, help="random plies before the positions; default: %(default)s"
    )
    parser.add_argument("--runs", type=count, default=51, help="rounds; default: %(default)s")
    parser.set_defaults(arguments=sys.argv[1:] if arguments is None else list(arguments))
    run(parser, work, arguments)
