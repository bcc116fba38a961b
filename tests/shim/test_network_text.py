"""The CUDA and Metal text of a network's kernels computes NumPy's results."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tinygrad.dtype import _from_np_dtype

from tensor_envs._compiler.dialects import CUDA
from tensor_envs.rules.kernel import trace
from tensor_envs.train.fused import Architecture
from tensor_envs.train.fused_gpu import LANES, DenseKernel, HeadsKernel
from tests import nvrtc
from tests.shim.emulator import POISON, Kernel, load
from tests.shim.test_gpu_text import LANGUAGES
from tests.train.test_fused import Case, numbers, reference

BATCH, ROWS = 70, 128  # two blocks, the second padded
CASES: tuple[Case, ...] = (
    (Architecture(19, (9,), (3, 1), "tanh"), BATCH, np.bool_, True),
    (Architecture(84, (64, 17), (15, 1)), BATCH, np.uint8, True),
    (Architecture(33, (8,), (1, 1), "tanh"), BATCH, np.float32, True),
)


def by_lanes(x: np.ndarray) -> np.ndarray:
    """Return numbers [B, n] as [blocks, n, lanes]."""
    rows = np.concatenate([x, np.zeros((ROWS - len(x), x.shape[1]), x.dtype)])
    return rows.reshape(-1, LANES, x.shape[1]).transpose(0, 2, 1).copy()


@pytest.mark.few("CUDA-0")
@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
@pytest.mark.parametrize("language", LANGUAGES)
def test_same_as_in_numpy(language: str, case: Case) -> None:
    net = case[0]
    x, mask, weights = numbers(case)
    assert mask is not None
    layers = [DenseKernel(ROWS, *shape, net.activation) for shape in net.dense]
    heads = HeadsKernel(BATCH, ROWS, net.hidden[-1], net.heads[0])
    arrays, kernels, steps = [by_lanes(x)], dict[str, Kernel](), list[tuple[str, list[np.ndarray]]]()
    for k, kernel in enumerate((*layers, heads)):
        is_last = kernel is heads
        inputs = [arrays[-1], mask, *weights[2 * k :]] if is_last else [arrays[-1], *weights[2 * k : 2 * k + 2]]
        outputs = [np.full(math.prod(s), POISON, np.uint8).astype(np.float32) for s in kernel.shapes]
        given = [a.ravel() for a in (*inputs, *outputs)]
        tape = trace(kernel.trace, [(_from_np_dtype(a.dtype), a.size) for a in given], gpu=True)
        kernels[f"{kernel.name}_{k}"] = Kernel(LANGUAGES[language](tape).source(f"{kernel.name}_{k}"), tape, CUDA)
        kernels[f"{kernel.name}_{k}"] = kernels[f"{kernel.name}_{k}"]._replace(language=LANGUAGES[language])
        steps.append((f"{kernel.name}_{k}", given))
        arrays.append(outputs[0])
    run = load(kernels)
    features = arrays[0].ravel()
    for name, given in steps:
        after = run(name, [features, *given[1:]])
        features = after[3] if name.startswith("dense") else features
    logs, values = after[-2].reshape(BATCH, -1), after[-1]
    allowed = np.logical_or(mask, ~mask.any(1, keepdims=True))
    expected = reference(net, x, mask, weights)
    assert np.abs(logs - expected[0])[allowed].max() < 1e-5 and np.abs(values - expected[1]).max() < 1e-5


def test_loads_are_issued_together() -> None:
    """Sums are in registers, and a turn of the loop waits for memory once."""
    pytest.importorskip("nvidia.cuda_nvrtc", reason="needs nvidia-cuda-nvrtc-cu12 (extra dev, Linux)")
    kernel = DenseKernel(16384, 64, 64, "relu")
    shapes = [16384 * 64, 64 * 64, 64, 16384 * 64]
    tape = trace(kernel.trace, [(_from_np_dtype(np.dtype(np.float32)), size) for size in shapes], gpu=True)
    text = CUDA(tape).source("dense")
    assert "__launch_bounds__(128, 1)" in text
    binary = nvrtc.compiled(text, "sm_90", "PTX")
    assert b".local" not in binary and b"fma" not in binary
    loop = binary.partition(b"$L__BB0_1:")[2].partition(b"bra")[0]
    loads, products = loop.count(b"ld.global"), loop.count(b"mul.rn.f32")
    assert products == 8 * 4 * 8 and loads == 8 * (4 + 8)
