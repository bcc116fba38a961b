"""Words of 64 bits as pairs of 32, as WebGPU needs them, here on the CPU: they are what they were."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from tinygrad import Context, UOp

import tensor_envs as te
from tensor_envs.core.backend import lower, pairs
from tensor_envs.rules import Scalar, Value, halves, integer, joined, popcount, scalar, where, word, word64
from tests.rules.traced import agree, numbers

pytestmark = pytest.mark.cpu


@contextmanager
def splitting() -> Iterator[list[str]]:
    """The CPU's language has no words of 64 bits -> the kernels that had some."""
    names: list[str] = []

    def noted(sink: UOp, renderer: Any) -> UOp:
        done = pairs.in_pairs(sink, renderer)
        assert not any(u.dtype in pairs.LONGS for u in done.toposort())
        if done is not sink:
            names.append(sink.arg.name)
        return done

    lower._lowered.cache_clear()
    with Context(CACHELEVEL=0), pytest.MonkeyPatch.context() as patch:  # type: ignore[no-untyped-call]
        patch.setattr(pairs, "has_words64", lambda renderer: False)
        patch.setattr(lower, "in_pairs", noted)
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
def test_arithmetic(function: Callable[..., list[Value]]) -> None:
    """Numbers of 64 bits of which none is in memory, where tinygrad itself would have to split them."""

    def parts(a: Scalar, b: Scalar, c: Scalar, d: Scalar, n: Scalar, flag: Scalar) -> list[Value]:
        found = [scalar(x) for x in function(joined(a, b), joined(c, d), n, flag)]
        return [half for x in found for half in (halves(x) if x.kind == "word64" else [x])]

    with splitting() as names:
        agree(
            parts,
            *(numbers("word", 200, seed) for seed in range(4)),
            numbers("int", 200, 4, 0, 63),
            numbers("bool", 200, 5),
        )
    assert names == ["traced"]


def played(name: str, plies: int) -> dict[str, np.ndarray]:
    """Every random number is made of them, too; a search keeps one while it compares actions."""
    env, found = te.make(name), dict[str, np.ndarray]()
    state = env.init(64, seed=3)
    for ply in range(plies):
        actions = te.random_policy(state)
        state = env.step(state, actions)
        found |= {f"actions of ply {ply}": actions.numpy()}
        found |= {f"{column} after ply {ply}": values for column, values in state.numpy().items()}
    search = te.search.playout_policy(state, 8, seed=5)
    return found | {"searched actions": search.action.numpy()} | search.search_tree.summary()


@pytest.mark.parametrize("name", ["othello", pytest.param("chess", marks=pytest.mark.slow)])
def test_games(name: str) -> None:
    expected = played(name, 20)
    with splitting() as names:
        found = played(name, 20)
    assert {kernel.split("_")[-1] for kernel in names} >= {"seed", "sample", "step", "search"}
    assert found.keys() == expected.keys()
    for about, values in expected.items():
        np.testing.assert_array_equal(found[about], values, about)
