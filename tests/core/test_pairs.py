"""Words of 64 bits as pairs of 32, as WebGPU needs them, here on the CPU: they are what they were."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from tinygrad import Context, UOp

import tensor_envs as te
from tensor_envs.core.backend import lower, pairs
from tensor_envs.rules import Scalar, Value, halves, integer, joined, popcount, scalar, where, word, word64
from tests.games.shared import shared_env
from tests.rules.traced import agree, numbers

pytestmark = pytest.mark.cpu


@pytest.fixture
def split(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The CPU's language has no words of 64 bits -> the kernels that had some."""
    names: list[str] = []

    def noted(sink: UOp, renderer: Any) -> UOp:
        done = pairs.in_pairs(sink, renderer)
        assert all(u.dtype is not pairs.LONG for u in done.toposort())
        if done is not sink:
            names.append(sink.arg.name)
        return done

    monkeypatch.setattr(pairs, "has_words64", lambda renderer: False)
    monkeypatch.setattr(lower, "in_pairs", noted)
    lower._lowered.cache_clear()
    with Context(CACHELEVEL=0):  # type: ignore[no-untyped-call]
        yield names
    lower._lowered.cache_clear()


def of_two(x: Scalar, y: Scalar, n: Scalar, flag: Scalar) -> list[Value]:
    return [
        x + y,
        x - y,
        x * y,
        x & y,
        x | y,
        x ^ y,
        ~x,
        where(flag, x, y),
        word64(n),
        word64(flag),
        x << n,
        x >> n,
    ]


def with_numbers(x: Scalar, y: Scalar, n: Scalar, flag: Scalar) -> list[Value]:
    """Sums that wrap around, which no simplification may forget."""
    sums = [x + 5, x - 1, x - (1 << 33), (x - 1) & ~x, x ^ (x - 2), x * 7 + (1 << 63), 0 - x, 12 - x]
    return [*sums, x << 5, x >> 40, x & 0xFF00FF00FF, x * 3, where(flag, x, 1 << 33)]


def compared(x: Scalar, y: Scalar, n: Scalar, flag: Scalar) -> list[Value]:
    found = [x == y, x != y, x < y, x <= y, x < 9, x + 9 < y, x - 1 < x, (x ^ y) + 1 < 2]
    return [*found, word(x), integer(word(x >> 33)), popcount(x)]


@pytest.mark.parametrize("function", [of_two, with_numbers, compared])
def test_arithmetic(function: Callable[..., list[Value]], split: list[str]) -> None:
    """Numbers of 64 bits of which none is in memory, where tinygrad itself would have to split them."""

    def parts(a: Scalar, b: Scalar, c: Scalar, d: Scalar, n: Scalar, flag: Scalar) -> list[Value]:
        found = [scalar(x) for x in function(joined(a, b), joined(c, d), n, flag)]
        return [half for x in found for half in (halves(x) if x.kind == "word64" else [x])]

    agree(
        parts,
        *(numbers("word", 200, seed) for seed in range(4)),
        numbers("int", 200, 4, 0, 63),
        numbers("bool", 200, 5),
    )
    assert split == ["traced"]


@pytest.mark.parametrize("name", ["othello", pytest.param("chess", marks=pytest.mark.slow)])
def test_games(name: str, split: list[str]) -> None:
    """Every random number is made of them, too."""
    state, env = shared_env(name).init(64, seed=3), te.make(name)
    other = env.init(64, seed=3)
    for _ in range(20):
        actions = te.random_policy(state).numpy()
        np.testing.assert_array_equal(te.random_policy(other).numpy(), actions)
        state, other = shared_env(name).step(state, actions), env.step(other, actions)
        for column, expected in state.numpy().items():
            np.testing.assert_array_equal(other.numpy()[column], expected, column)
    assert {kernel.split("_")[-1] for kernel in split} >= {"seed", "sample", "step"}
