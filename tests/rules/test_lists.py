"""Lists of scalars, indexed and reduced like Python's lists, in kernels and in plain numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tensor_envs.rules import (
    MemoryArray,
    Scalar,
    all_of,
    any_of,
    has_bit,
    int32,
    lookup,
    put,
    select,
    sum_of,
    uint32,
    union_of,
    where,
)
from tests.rules.traced import agree, numbers

SIZE = 128


@pytest.mark.few("1", "3", "13")
@pytest.mark.parametrize("length", [1, 2, 3, 5, 8, 13])
@pytest.mark.parametrize("kind", ["int32", "uint32", "uint64", "bool"])
def test_reading_and_writing_at_a_computed_index(length: int, kind: str) -> None:
    columns = [numbers(kind, SIZE, 10 + k) for k in range(length)]
    index, value = numbers("int32", SIZE, 1, 0, length - 1), numbers(kind, SIZE, 2)

    def both(i: Scalar, value: Scalar, *values: Scalar) -> list[Scalar]:
        return [select(values, i), lookup(values, i), *put(values, i, value)]

    chosen, looked_up, *written = agree(both, index, value, *columns)
    table = np.stack(columns, axis=1)
    expected = table[np.arange(SIZE), index]
    np.testing.assert_array_equal(chosen, expected)
    np.testing.assert_array_equal(looked_up, expected)
    table[np.arange(SIZE), index] = value
    np.testing.assert_array_equal(np.stack(written, axis=1), table)


def test_an_index_out_of_range_writes_nothing() -> None:
    columns, index = [numbers("int32", SIZE, 10 + k) for k in range(3)], numbers("int32", SIZE, 1, -3, 6)
    written = agree(lambda i, *values: put(values, i, 7), index, *columns)
    for k, (before, after) in enumerate(zip(columns, written, strict=True)):
        np.testing.assert_array_equal(after, np.where(index == k, 7, before))
    assert ((index < 0) | (index > 2)).any()


@pytest.mark.parametrize("length", [1, 2, 7, 32, 45])
def test_constant_tables(length: int) -> None:
    """Binary selection reads tables of any length."""
    table = np.random.default_rng(length).integers(-1000, 1000, length).tolist()
    index = numbers("int32", SIZE, 1, 0, length - 1)
    wanted = np.array(table)[index]
    for column in agree(lambda i: [lookup(table, i), select(table, i), lookup(table, uint32(i))], index):
        np.testing.assert_array_equal(column, wanted)


def test_a_plain_index_reads_a_plain_entry() -> None:
    values: list[Any] = [int32(3), 5, True]
    assert select(values, 1).value == lookup(values, 1).value == 5
    assert [x.value for x in put([1, 2, 3], 1, 9)] == [1, 9, 3]
    x = int32(4)
    assert select([x, x + 1], 0) is x


@pytest.mark.parametrize(
    ("size", "read"),
    [
        (3, lambda i: select([int32(3), 5, 7], i)),
        (3, lambda i: lookup([1, 2, 3], i)),
        (3, lambda i: select(MemoryArray(lambda k: k, 3), i)),
        (32, lambda i: has_bit(uint32(5), i)),
        (64, lambda i: has_bit([1, uint32(2)], i)),
    ],
)
def test_a_plain_index_out_of_range_is_an_error(size: int, read: Callable[[int], Scalar]) -> None:
    """A kernel does not check it, so `te.debug` does."""
    assert read(0).is_plain and read(size - 1).is_plain
    for index in (-1, size, 2**31 - 1):
        message = rf"test_lists.py:\d+: .*\n.* an index must be in 0\.\.{size - 1}, also where .*; got {index}"
        with pytest.raises(IndexError, match=message):
            read(index)


def test_several_at_once() -> None:
    columns = [numbers("int32", SIZE, 10 + k, -5, 5) for k in range(4)]
    words = [numbers("uint32", SIZE, 20 + k) for k in range(3)]

    def function(a: Scalar, b: Scalar, c: Scalar, d: Scalar, *sets: Scalar) -> list[Scalar]:
        values = [a, b, c, d]
        return [
            any_of(x == 3 for x in values), all_of(x < 3 for x in values), sum_of(values),
            sum_of(x > 0 for x in values), any_of([]), all_of([]), sum_of([]), union_of(sets), sum_of([a, True, 2]),
        ]  # fmt: skip

    results = agree(function, *columns, *words)
    table = np.stack(columns)
    wanted: list[Any] = [
        (table == 3).any(0), (table < 3).all(0), table.sum(0), (table > 0).sum(0),
        np.zeros(SIZE, bool), np.ones(SIZE, bool), np.zeros(SIZE, int), np.bitwise_or.reduce(words), columns[0] + 3,
    ]  # fmt: skip
    for k, (column, values) in enumerate(zip(results, wanted, strict=True)):
        np.testing.assert_array_equal(column, values, err_msg=str(k))
    assert [column.dtype for column in results[:4]] == [np.bool_, np.bool_, np.int32, np.int32]
    assert results[6].dtype == np.int32 and 0 < results[0].sum() < SIZE and 0 < results[1].sum() < SIZE


def test_plain_numbers_among_scalars_take_their_kind() -> None:
    """Plain numbers of any size mix with words at any position of a list."""
    x, i = numbers("uint32", SIZE, 1), numbers("int32", SIZE, 2, 0, 2)

    def function(x: Scalar, i: Scalar) -> list[Scalar]:
        return [
            sum_of([2, True, x]), union_of([1 << 31, x]), select([7, 1 << 31, x], i), lookup([7, 1 << 31, x], i),
            union_of([1, 1 << 31]),
        ]  # fmt: skip

    results = agree(function, x, i)
    with np.errstate(over="ignore"):
        table = np.stack([np.full(SIZE, 7, np.uint32), np.full(SIZE, 1 << 31, np.uint32), x])[i, np.arange(SIZE)]
        wanted = [x + np.uint32(3), x | np.uint32(1 << 31), table, table]
    for column, values in zip(results, wanted, strict=False):
        assert column.dtype == np.uint32
        np.testing.assert_array_equal(column, values)
    assert (results[4] == 1 | 1 << 31).all()


def test_arrays_in_memory_are_read_element_by_element_and_changed_by_overlays() -> None:
    """Overlays of a memory field change the new array, and leave the old one."""
    read: list[int] = []

    def element(i: Scalar) -> Scalar:
        read.append(int(i.value))
        return uint32(i) * 10

    array = MemoryArray(element, 1000)
    changed = put(array, 7, 3)
    assert len(changed) == 1000 and not read, "elements are read lazily"
    assert [int(changed[i].value) for i in (6, 7, 8)] == [60, 3, 80]
    assert int(select(array, int32(7)).value) == 70 and int(array[999].value) == 9990
    twice = put(changed, 8, uint32(1))
    assert [int(twice[i].value) for i in (7, 8)] == [3, 1]

    def function(i: Scalar, at: Scalar) -> Scalar:
        squares = MemoryArray(lambda k: k * k, 100)
        return put(put(squares, at, 5), at + 1, where(at == 0, 6, 7))[i]

    i, at = numbers("int32", SIZE, 1, 0, 8), numbers("int32", SIZE, 2, 0, 8)
    wanted = np.where(i == at + 1, np.where(at == 0, 6, 7), np.where(i == at, 5, i * i))
    np.testing.assert_array_equal(agree(function, i, at)[0], wanted)
