"""Matrix products in a jit on the CPU: how they are unrolled, and that their values are NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tinygrad import Device, Tensor
from tinygrad.codegen import to_program_cache
from tinygrad.codegen.opt import OptOps
from tinygrad.uop.ops import Ops, UOp

import tensor_envs as te
from tensor_envs._compiler import matmul, programs
from tensor_envs._compiler.capture import CapturedFunction

WHOLE, TILES, NONE = "whole sums", "tiles", "as tinygrad likes"


def product(left: np.ndarray, right: np.ndarray, turned: bool = False) -> tuple[np.ndarray, UOp]:
    """Return a product with a bias and an activation in a jit, and its program.

    turned: the numbers of a column are contiguous, not those of a row.
    """
    (rows, length), columns = left.shape, right.shape[1]
    bias = np.arange(columns, dtype=np.float32)

    def function(x: Tensor, y: Tensor, b: Tensor) -> tuple[Tensor]:
        y = y.reshape(columns, length).T if turned else y.reshape(length, columns)
        return ((x.reshape(rows, length) @ y + b).relu().realize(),)

    arguments = [Tensor(np.ascontiguousarray(a).ravel(), device="CPU").realize() for a in (left, right, bias)]
    if turned:
        arguments[1] = Tensor(np.ascontiguousarray(right.T).ravel(), device="CPU").realize()
    captured = CapturedFunction(function)
    captured(*arguments)
    (result,) = captured(*arguments)
    (program,) = captured.programs()
    expected = np.maximum(left @ right + bias, 0)
    assert np.abs(result.numpy() - expected).max() <= 1e-4 * np.abs(expected).max() + 1e-5
    return result.numpy(), program


def way(program: UOp) -> str:
    if any("unroll(full)" in u.arg for u in program.src if u.op is Ops.SOURCE):
        return WHOLE
    return TILES if max(amounts(program, OptOps.UPCAST), default=0) > 4 else NONE


def amounts(program: UOp, op: OptOps) -> list[int]:
    kernel_info: Any = program.src[0].arg
    return [opt.arg for opt in kernel_info.applied_opts if opt.op is op]


def numbers(rows: int, length: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(rows + length + columns)
    return (
        random.normal(size=(rows, length)).astype(np.float32),
        random.normal(size=(length, columns)).astype(np.float32),
    )


@pytest.mark.parametrize(
    "sizes, turned, expected",
    (
        ((64, 64, 64), False, WHOLE),
        ((64, 84, 128), False, WHOLE),
        ((64, 18, 7), False, WHOLE),
        ((7, 128, 9), False, WHOLE),  # no tile divides
        ((16, 64, 64), True, TILES),  # strided columns
        ((16, 256, 16), False, TILES),  # long sums
        ((7, 256, 16), False, TILES),
        ((16, 97, 8), False, WHOLE),
        ((16, 256, 9), False, NONE),
        ((16, 254, 16), False, NONE),
    ),
)
def test_products(sizes: tuple[int, int, int], turned: bool, expected: str) -> None:
    assert way(product(*numbers(*sizes), turned)[1]) == expected


def test_threads_share_rows() -> None:
    """Results are equal for any number of threads, since programs have slices for tinygrad's number of cores."""
    left, right = numbers(2048, 64, 64)
    before, products = te.num_threads(), []
    try:
        for n in (1, 2, 3):
            te.set_num_threads(n)
            products.append(product(left, right))
    finally:
        te.set_num_threads(before)
    assert all((numbers == products[0][0]).all() for numbers, _ in products)
    cores: Any = Device["CPU"].renderer.global_max
    max_threads = min(cores[0], 2048 * 64 * 64 // matmul.MIN_PRODUCTS_PER_THREAD)
    threads = max(n for n in range(1, max_threads + 1) if 2048 // 8 % n == 0)
    assert amounts(products[0][1], OptOps.THREAD) == [threads] * (threads > 1)


@pytest.mark.parametrize(
    "function",
    (
        lambda x: x.sum(1),
        lambda x: (x.reshape(8, 4, 64) @ x.reshape(8, 64, 4)).contiguous(),
        lambda x: (x * x).max(0),
        lambda x: x.cumsum(1).contiguous(),
    ),
)
def test_other_kernels_are_unchanged(function: Callable[[Tensor], Tensor], monkeypatch: pytest.MonkeyPatch) -> None:
    """Values are the same without `unrolled`."""
    x = Tensor(np.random.default_rng(0).normal(size=32 * 64).astype(np.float32), device="CPU").realize()

    def values() -> np.ndarray:
        captured = CapturedFunction(lambda x: (function(x.reshape(32, 64)).realize(),))
        captured(x)
        return captured(x)[0].numpy()

    with_it = values()
    monkeypatch.setattr(programs, "unrolled", lambda kernel, _: kernel)
    to_program_cache.clear()
    assert (with_it == values()).all()


def test_a_loop_that_tinygrad_splits() -> None:
    """Rows in blocks, as in a state, make tinygrad split the loop."""
    blocks = np.random.default_rng(1).normal(size=(4, 18, 64)).astype(np.float32)
    weights = np.random.default_rng(2).normal(size=(18, 9)).astype(np.float32)

    def function(x: Tensor, w: Tensor) -> tuple[Tensor]:
        rows = x.reshape(4, 18, 64).permute(0, 2, 1).reshape(256, 18)
        return ((rows @ w.reshape(18, 9)).realize(),)

    arguments = [Tensor(a.ravel(), device="CPU").realize() for a in (blocks, weights)]
    captured = CapturedFunction(function)
    captured(*arguments)
    expected = blocks.transpose(0, 2, 1).reshape(256, 18) @ weights
    assert np.abs(captured(*arguments)[0].numpy() - expected).max() < 1e-4
