"""Loops of kernels and of plain numbers agree with Python's loops."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tinygrad import dtypes

from tensor_envs._compiler.tape import Block
from tensor_envs.rules import (
    Scalar,
    Value,
    any_in_range,
    int32,
    map_range,
    repeat,
    sum_in_range,
    uint32,
    union_in_range,
    where,
)
from tensor_envs.rules.kernel import no_unroll, trace
from tests.rules.traced import agree, kernel, numbers, plain

SIZE = 128


@pytest.mark.parametrize("length", [0, 1, 2, 17])
def test_loops(length: int) -> None:
    x = numbers("int32", SIZE, 1, -20, 20)

    def function(x: Scalar) -> list[Scalar]:
        results = [any_in_range(length, lambda i: i * 3 == x), sum_in_range(length, lambda i: where(x > i, i + 1, 0))]
        if length:  # an empty list has no kind
            results.append(union_in_range(length, lambda i: where((x + 20) >> i & 1 != 0, uint32(1) << i, 0)))
        return results

    some, total, *union = agree(function, x)
    terms = range(length)
    assert some.dtype == np.bool_ and some.tolist() == [any(3 * i == v for i in terms) for v in x]
    assert total.tolist() == [sum(i + 1 for i in terms if v > i) for v in x]
    for column in union:
        assert column.tolist() == [sum(1 << i for i in terms if int(v) + 20 >> i & 1) for v in x]
        assert column.any()
    assert length < 2 or 0 < some.sum() < SIZE


def test_loops_in_loops() -> None:
    """An inner loop restarts in every round of the outer one; both depend on the game."""
    x = numbers("int32", SIZE, 2, 0, 30)

    def function(x: Scalar) -> list[Scalar]:
        return [
            sum_in_range(5, lambda i: sum_in_range(4, lambda j: where(i * j < x, i + j, 0))),
            any_in_range(5, lambda i: any_in_range(4, lambda j: i * j + j == x)),
            sum_in_range(6, lambda i: int32(any_in_range(4, lambda j: i * j == x))),
            union_in_range(3, lambda i: union_in_range(3, lambda j: where(i * 3 + j < x, uint32(1) << (i * 3 + j), 0))),
        ]

    results = agree(function, x)
    for row, value in enumerate(x.tolist()):
        pairs = [(i, j) for i in range(5) for j in range(4)]
        assert results[0][row] == sum(i + j for i, j in pairs if i * j < value)
        assert results[1][row] == any(i * j + j == value for i, j in pairs)
        assert results[2][row] == sum(any(i * j == value for j in range(4)) for i in range(6))
        assert results[3][row] == sum(1 << k for k in range(9) if k < value)


@pytest.mark.parametrize("length", [0, 1, 2, 17])
def test_repeated_steps(length: int) -> None:
    """Each step reads the values of the step before, even where they swap places; values from outside stay constant."""
    x, y = numbers("uint32", SIZE, 3, 0, 9), numbers("uint32", SIZE, 4, 0, 9)

    def function(x: Scalar, y: Scalar) -> list[Scalar]:
        return repeat(length, [x, y * 2, 1], lambda v: [v[1], v[0] + v[1] * y, v[2] + x])

    results = agree(function, x, y)
    for row, (a, b) in enumerate(zip(x.tolist(), y.tolist(), strict=True)):
        values = [a, b * 2, 1]
        for _ in range(length):
            values = [values[1], values[0] + values[1] * b, values[2] + a]
        assert [int(column[row]) for column in results] == [value % 2**32 for value in values]


def test_repeated_steps_of_another_number_in_each_game() -> None:
    """Sizes differ, also below 0 and in an outer loop; a step that changes nothing may come before others."""
    x, y = numbers("int32", SIZE, 8, -3, 12), numbers("int32", SIZE, 9, 0, 9)

    def function(x: Scalar, y: Scalar) -> list[Scalar]:
        nested = sum_in_range(3, lambda i: repeat(x - i, [y, 0], lambda v: [v[0] + 1, v[1] + v[0]])[1])
        inner = repeat(x, [y], lambda v: [v[0] + repeat(y, [0, 1], lambda u: [u[1], u[0] + u[1]])[0]])
        return [*repeat(x, [y, 1], lambda v: [v[1], v[0] + v[1]]), nested, *inner, *repeat(x, [0, y], lambda v: v)]

    results = agree(function, x, y)
    for row, (a, b) in enumerate(zip(x.tolist(), y.tolist(), strict=True)):
        values, fibonacci = [b, 1], [0, 1]
        for _ in range(a):
            values = [values[1], sum(values)]
        for _ in range(b):
            fibonacci = [fibonacci[1], sum(fibonacci)]
        nested = sum(b + k for i in range(3) for k in range(a - i))
        inner = b + max(a, 0) * fibonacci[0]
        assert [int(column[row]) for column in results] == [*values, nested, inner, 0, b]


def test_harmless_steps_are_written_out_on_a_cpu_alone() -> None:
    x = numbers("int32", SIZE, 10, -3, 7)

    def function(x: Scalar) -> list[Scalar]:
        return repeat(x, [int32(0), 1], lambda v: [v[0] + 1, where(v[0] < x, v[1] * 3, v[1])], most=7)[1:]

    def blocks(gpu: bool) -> list[str]:
        tape = trace(lambda a, b: b.__setitem__(0, function(a[0])[0]), [(dtypes.int32, 1)] * 2, gpu)
        return [block.kind for block in tape.root.body if isinstance(block, Block)]

    assert agree(function, x)[0].tolist() == [3 ** max(v, 0) for v in x.tolist()]
    assert blocks(gpu=False) == [] and blocks(gpu=True) == ["for"]


def test_repeated_steps_end_when_they_change_nothing() -> None:
    """Each game stops by itself: the test would time out if it ran all steps."""
    x, y = numbers("int32", SIZE, 6, -40, 40), numbers("int32", SIZE, 7, 0, 40)

    def function(x: Scalar, y: Scalar) -> list[Scalar]:
        climbed = repeat(2**31 - 1, [x], lambda v: [v[0] + int32(v[0] < y)])
        met = repeat(2**31 - 1, [x < y, x == y, x > y], lambda v: [v[0] & ~v[1], v[1] | v[2], v[2]])
        return [*climbed, *met, *repeat(9, [x], lambda v: [v[0] + int32(v[0] < y)])]

    results = agree(function, x, y)
    assert results[0].tolist() == np.maximum(x, y).tolist()
    assert [column.tolist() for column in results[1:4]] == [
        ((x < y) & (x != y)).tolist(),
        (x >= y).tolist(),
        (x > y).tolist(),
    ]
    assert results[4].tolist() == np.where(x < y, np.minimum(x + 9, y), x).tolist()
    assert 0 < (y > x + 9).sum() < SIZE and (x > y).any()


@pytest.mark.parametrize("step", (lambda v: [v[0]], lambda v: [v[0], uint32(1)], lambda v: [v[0], v[1], 1]))
def test_repeated_steps_keep_number_and_kind(step: Callable[[list[Scalar]], list[Value]]) -> None:
    with pytest.raises(TypeError, match="a list of 2 numbers of one kind"):
        repeat(2, [int32(1), 2], step)


def test_repeated_steps_in_loops() -> None:
    """Steps restart in every round of an outer loop, and may contain loops."""
    x = numbers("int32", SIZE, 5, 0, 20)

    def function(x: Scalar) -> list[Scalar]:
        outer = sum_in_range(4, lambda i: repeat(3, [i + x, 0], lambda v: [v[0] + 1, v[1] + v[0]])[1])
        twice = repeat(3, repeat(2, [x], lambda v: [v[0] + 1]), lambda v: [v[0] * 2])
        inner = repeat(3, [x], lambda v: [v[0] + sum_in_range(3, lambda i: where(i < v[0], i, 0))])
        return [outer, *twice, *inner]

    results = agree(function, x)
    for row, value in enumerate(x.tolist()):
        assert results[0][row] == sum(i + value + k for i in range(4) for k in range(3))
        assert results[1][row] == 8 * (value + 2)
        for _ in range(3):
            value += sum(i for i in range(3) if i < value)
        assert results[2][row] == value


def test_a_term_for_every_index() -> None:
    """Both forms give a list: unrolled, or filled by a loop in kernels."""
    x = numbers("int32", SIZE, 3, -50, 50)

    def unrolled(x: Scalar) -> list[Scalar]:
        values = map_range(9, lambda i: x * i + where(i == 4, 100, 0))
        return [*values, values[3] + values[8]]

    def rolled(x: Scalar) -> list[Scalar]:
        if x.is_plain:  # a plain program keeps no loops
            return unrolled(x)
        with no_unroll():
            return unrolled(x)

    wanted = [x * i + 100 * (i == 4) for i in range(9)]
    wanted.append(wanted[3] + wanted[8])
    for columns in (plain(unrolled, x), kernel(unrolled, x), kernel(rolled, x)):
        for column, values in zip(columns, wanted, strict=True):
            np.testing.assert_array_equal(column, values)


def test_loops_of_one_index_are_none() -> None:
    assert any_in_range(1, lambda i: i == 0).value is True
    assert sum_in_range(3, lambda i: i * i).value == 5
    assert union_in_range(4, lambda i: uint32(1) << i).value == 15
