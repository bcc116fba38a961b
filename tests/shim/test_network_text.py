"""The CUDA and Metal text of a network's kernels computes NumPy's results."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tinygrad.dtype import _from_np_dtype

from tensor_envs._compiler.dialects import CUDA
from tensor_envs._engine.batch_layout import LANES
from tensor_envs.rules.kernel import trace
from tensor_envs.train.architecture import Architecture
from tensor_envs.train.fused_gpu import DenseKernel, HeadsKernel
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
    sequence: list[DenseKernel | HeadsKernel] = [*layers, HeadsKernel(BATCH, ROWS, net.hidden[-1], net.heads[0])]
    kernels, arrays = dict[str, Kernel](), dict[str, list[np.ndarray]]()
    for k, kernel in enumerate(sequence):
        name = f"{kernel.name}_{k}"
        features = x if k == 0 else np.zeros((BATCH, net.hidden[k - 1]), np.float32)
        inputs = [mask, *weights[2 * k :]] if isinstance(kernel, HeadsKernel) else weights[2 * k : 2 * k + 2]
        outputs = [np.full(math.prod(shape), POISON, np.float32) for shape in kernel.shapes]
        arrays[name] = [a.ravel() for a in (by_lanes(features), *inputs, *outputs)]
        tape = trace(kernel.trace, [(_from_np_dtype(a.dtype), a.size) for a in arrays[name]], gpu=True)
        kernels[name] = Kernel(LANGUAGES[language](tape).source(name), tape, LANGUAGES[language])
    run = load(kernels)
    after: list[np.ndarray] = []
    for name, given in arrays.items():
        # the last array of a hidden layer is the first one of the next kernel
        after = run(name, [after[-1], *given[1:]] if after else given)
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
