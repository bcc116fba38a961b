"""The fused kernels of networks: values and gradients are NumPy's, for any sizes, threads and captures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tinygrad import Device, Tensor
from tinygrad.renderer.cstyle import ClangRenderer

import tensor_envs as te
from tensor_envs._runtime.capture import CapturedFunction
from tensor_envs._runtime.opening import open_device
from tensor_envs.train.architecture import Architecture
from tensor_envs.train.fused import evaluate, is_fused

pytestmark = pytest.mark.skipif(
    not isinstance(Device[str(open_device("CPU"))].renderer, ClangRenderer), reason="kernels in C for the CPU"
)
MLP = Architecture(84, (128, 128), (7, 1))
# sizes below, at and above whole vectors and tiles; with a board of 19x19 the neighbourhoods come in several parts
CASES = (
    (MLP, 300, np.bool_, True),
    (Architecture(33, (37, 70, 9), (83, 1), "tanh"), 7, np.float32, False),
    (Architecture(3 * 9, (11,), (9, 1), "tanh", (3, 3), 5, 2), 50, np.float32, True),
    (Architecture(2 * 42, (128,), (7, 1), "relu", (6, 7), 32, 2), 7, np.bool_, True),
    (Architecture(5, (3,), (2, 1)), 1, np.uint8, True),
    (Architecture(84, (128, 128), (7, 1), "tanh"), 257, np.uint8, True),
    (Architecture(1, (1, 1), (1, 1), "tanh"), 49, np.float32, True),
    (Architecture(200, (255, 17, 16), (31,)), 1025, np.uint8, False),
    (Architecture(130, (64, 33), (362, 1)), 129, np.float32, True),
    (Architecture(1 * 361, (17,), (362, 1), "tanh", (19, 19), 40, 1), 9, np.bool_, True),
    (Architecture(3 * 64, (48,), (65, 1), "relu", (8, 8), 16, 3, 1), 49, np.uint8, True),
    (Architecture(2 * 15, (9,), (64, 1), "tanh", (5, 3), 7, 1, 4), 13, np.bool_, True),
    (Architecture(2 * 6, (9,), (120, 1), "relu", (2, 3), 20, 1, 20), 8, np.bool_, False),
)
Case = tuple[Architecture, int, Any, bool]


def numbers(case: Case) -> tuple[np.ndarray, np.ndarray | None, list[np.ndarray]]:
    """Return random observations, a mask or None, and weights; in a row of the mask no action is legal."""
    net, batch, dtype, masked = case
    random = np.random.default_rng(batch)
    x: Any = (
        random.normal(size=(batch, net.inputs)) if dtype is np.float32 else random.random((batch, net.inputs)) < 0.3
    )
    if dtype is np.uint8:
        x = x * random.integers(1, 256, x.shape)
    mask = random.random((batch, net.heads[0])) < 0.6
    mask[-1] = False
    weights: list[np.ndarray] = []
    for k, n in net.shapes:
        scale = 1 if dtype is not np.uint8 or weights else 100  # of observations
        weights += [random.normal(size=(k, n)) / k**0.5 / scale, random.normal(size=n) / 3]
    return x.astype(dtype), mask if masked else None, [w.astype(np.float32) for w in weights]


def reference(net: Architecture, x: Any, mask: Any, weights: Any) -> list[Any]:
    """Return the heads' outputs in NumPy, also for complex weights."""
    matrices = iter(zip(weights[::2], weights[1::2], strict=True))

    def relu(x: Any) -> Any:
        return np.where(x.real > 0, x, 0)

    def dense(x: Any) -> Any:
        matrix, bias = next(matrices)
        return x @ matrix + bias

    def convolution(x: Any) -> Any:  # [B, rows, columns, channels]
        padded, (rows, columns) = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0))), net.board
        parts = [padded[:, i : i + rows, j : j + columns] for i in range(3) for j in range(3)]
        return dense(np.concatenate(parts, -1))

    activation: Callable[[Any], Any] = relu if net.activation == "relu" else np.tanh
    features = x.astype(float)
    if net.blocks:
        features = activation(convolution(features.reshape(len(x), -1, *net.board).transpose(0, 2, 3, 1)))
        for _ in range(net.blocks):
            features = relu(features + convolution(relu(convolution(features))))
        boards = features
        features = features.reshape(len(x), -1)
    for _ in net.hidden:
        features = activation(dense(features))
    logits, *others = [dense(features) for _ in net.heads]
    if net.action_planes:
        local = dense(boards).transpose(0, 3, 1, 2).reshape(len(x), -1)  # [B, planes * cells]
        logits = logits + np.pad(local, ((0, 0), (0, logits.shape[1] - local.shape[1])))
    logits = logits if mask is None else np.where(mask, logits, -1e9)
    logits = logits - logits.real.max(1, keepdims=True)
    return [logits - np.log(np.exp(logits).sum(1, keepdims=True)), *(x[:, 0] for x in others)]


def run(case: Case, keep: bool, part: slice = slice(None)) -> tuple[list[np.ndarray], list[np.ndarray], list[Any]]:
    """Return the outputs of these rows, the gradients of a random sum of them, and the factors of the sum."""
    x, mask, weights = numbers(case)
    x, mask = x[part], None if mask is None else mask[part]
    tensors = [Tensor(w, device="CPU").realize() for w in weights]
    seen, legal = Tensor(x, device="CPU").realize(), None if mask is None else Tensor(mask, device="CPU").realize()
    assert is_fused(case[0], seen)
    outputs = evaluate(case[0], seen, legal, tensors, keep)
    random = np.random.default_rng(1)
    factors = [random.normal(size=o.shape).astype(np.float32) for o in outputs]
    if mask is not None:
        factors[0] *= mask
    loss = sum(((o * Tensor(f)).sum() for o, f in zip(outputs, factors, strict=True)), Tensor(0.0))
    gradients = [g.numpy() for g in loss.gradient(*tensors)]
    return [o.numpy() for o in outputs], gradients, factors


@pytest.mark.few(1)
@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_values_and_gradients(case: Case) -> None:
    """The derivative along random directions is exact in complex numbers: no difference is taken."""
    net, (x, mask, weights), random = case[0], numbers(case), np.random.default_rng(2)
    outputs, gradients, factors = run(case, keep=True)
    for found, expected in zip(outputs, reference(net, x, mask, weights), strict=True):
        legal = slice(None) if mask is None or found.ndim == 1 else np.logical_or(mask, ~mask.any(1, keepdims=True))
        assert np.abs(found - expected)[legal].max() < 1e-5
    for k, gradient in enumerate(gradients):
        direction = random.normal(size=weights[k].shape)
        moved = [w + 1e-30j * direction if n == k else w.astype(complex) for n, w in enumerate(weights)]
        slopes = [f * o.imag * 1e30 for f, o in zip(factors, reference(net, x, mask, moved), strict=True)]
        error = sum(s.sum() for s in slopes) - (gradient * direction).sum()
        assert abs(error) < 2e-5 * np.sqrt((gradient**2).sum()) + 1e-5, f"weights {k}"
    anew = run(case, keep=False)  # features that are computed anew are the same
    assert all((a == b).all() for n in (0, 1) for a, b in zip((outputs, gradients)[n], anew[n], strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES[:4], ids=range(4))
def test_rows_and_threads(case: Case) -> None:
    """A row's outputs do not depend on other rows, and nothing depends on the number of threads."""
    outputs, gradients, _ = run(case, keep=True)
    for rows in (slice(0, 1), slice(3, 5), slice(-6, None)):
        assert all((a[rows] == b).all() for a, b in zip(outputs, run(case, True, rows)[0], strict=True))
    before = te.num_threads()
    try:
        for n in (1, 3):
            te.set_num_threads(n)
            found = run(case, keep=True)
            for expected, others in ((outputs, found[0]), (gradients, found[1])):
                assert all((a == b).all() for a, b in zip(expected, others, strict=True))
    finally:
        te.set_num_threads(before)


def test_one_program_evaluates_all_layers() -> None:
    case = CASES[0]
    x, mask, weights = numbers(case)
    tensors = [Tensor(w, device="CPU").realize() for w in weights]
    captured = CapturedFunction(lambda x, mask: tuple(evaluate(MLP, x, mask, tensors, False)))
    for rows in (300, 7):  # the same program
        seen, legal = (Tensor(a[:rows], device="CPU").realize() for a in (x, mask) if a is not None)
        jitted = te.jit(lambda x, mask: tuple(evaluate(MLP, x, mask, tensors, False)))
        for _ in range(3):
            logs, values = jitted(seen, legal)
        expected = run(case, True, slice(rows))[0]
        assert (logs.numpy() == expected[0]).all() and (values.numpy() == expected[1]).all()
    captured(seen, legal)
    assert [program.arg.name for program in captured.programs()] == ["network"]
    tensors[1].assign(tensors[1] + 1).realize()  # weights are read in place
    moved = jitted(seen, legal)[1].numpy()
    assert (moved != values.numpy()).any()


def test_a_loss_of_one_output() -> None:
    """The other output has no gradient."""
    x, mask, weights = numbers(CASES[0])
    for used in (0, 1):
        tensors = [Tensor(w, device="CPU").realize() for w in weights]
        output = evaluate(MLP, Tensor(x, device="CPU"), Tensor(mask, device="CPU"), tensors, True)[used]
        factor = np.linspace(-1, 1, output.numel()).reshape(output.shape)
        factor = factor * mask if used == 0 else factor  # type: ignore[operator]
        gradients = (output * Tensor(factor.astype(np.float32))).sum().gradient(*tensors)
        idle, busy = (slice(6, 8), slice(4, 6))[:: 1 - 2 * used]
        assert all((g.numpy() == 0).all() for g in gradients[idle])
        assert all((g.numpy() != 0).any() for g in gradients[busy])


def test_networks_too_large_for_a_stack() -> None:
    seen = Tensor.zeros(1, 3 * 361, device="CPU")
    assert is_fused(Architecture(3 * 361, (64,), (362, 1), "relu", (19, 19), 64, 4), seen)
    assert not is_fused(Architecture(3 * 361, (64,), (362, 1), "relu", (19, 19), 512, 4), seen)
    assert not is_fused(MLP, seen.cast("int32"))
