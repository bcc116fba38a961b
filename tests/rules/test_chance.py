"""Threefry in the language of rules: published answers; kernels, plain numbers and the reference agree."""

from __future__ import annotations

import numpy as np
import pytest

from tensor_envs.rules import Scalar, threefry
from tensor_envs.rules.chance import KeyedChance, NoChance, scale
from tests.games import chance
from tests.rules.traced import agree, numbers

KNOWN = [  # key, counter, output: the known-answer tests of Random123
    ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
    ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
    ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
]


@pytest.mark.parametrize(("key", "counter", "output"), KNOWN)
def test_known_answers(key: tuple[int, int], counter: tuple[int, int], output: tuple[int, int]) -> None:
    assert tuple(x.value for x in threefry(key, counter)) == output == chance.threefry(key, counter)
    column = [np.full(4, x, np.uint32) for x in (*key, *counter)]
    results = agree(lambda a, b, c, d: list(threefry((a, b), (c, d))), *column)
    assert [x.tolist() for x in results] == [[y] * 4 for y in output]


def test_random_keys_and_counters() -> None:
    columns = [numbers("uint32", 200, k) for k in range(4)]
    low, high = agree(lambda a, b, c, d: list(threefry((a, b), (c, d))), *columns)
    for row in range(200):
        a, b, c, d = (int(column[row]) for column in columns)
        assert (low[row], high[row]) == chance.threefry((a, b), (c, d))


def test_draws() -> None:
    """A draw is an int, uniform in 0..n-1, for plain or computed counters and n."""
    low, high, counter = (numbers("uint32", 200, k) for k in range(3))
    n = numbers("int32", 200, 3, 1, 2**31 - 1)

    def function(a: Scalar, b: Scalar, c: Scalar, n: Scalar) -> list[Scalar]:
        drawn = KeyedChance((a, b))
        return [drawn.bits(c), drawn.draw(c, n), drawn.draw(5, 6), drawn.draw(c, 1), scale(a, n)]

    results = agree(function, low, high, counter, n)
    assert [x.dtype.name for x in results] == ["uint32", "int32", "int32", "int32", "int32"]
    for row in range(200):
        key = (int(low[row]), int(high[row]))
        expected = [
            chance.bits(key, int(counter[row])), chance.draw(key, int(counter[row]), int(n[row])),
            chance.draw(key, 5, 6), 0, key[0] * int(n[row]) >> 32,
        ]  # fmt: skip
        assert [int(x[row]) for x in results] == expected


def test_a_game_that_declares_no_chance_draws_none() -> None:
    with pytest.raises(RuntimeError, match="these rules draw chance, so their Spec must say chance=True"):
        NoChance().bits(0)
    with pytest.raises(RuntimeError, match=r"NoChance\(\).draw\(0, 6\)\n  these rules draw chance"):
        NoChance().draw(0, 6)
