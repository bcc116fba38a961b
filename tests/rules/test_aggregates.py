"""Functions of several numbers: sorting networks, sowing in closed form, and errors for wrong lists."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest

from tensor_envs.rules import Scalar, argmax, int32, max_of, maximum, min_of, select, sort, sow, where
from tests.rules import reference
from tests.rules.traced import agree, numbers


@pytest.mark.parametrize("size", range(17))
def test_sorting_by_the_principle_of_zeros_and_ones(size: int) -> None:
    """A network that sorts all lists of zeros and ones sorts every list."""
    every = (
        itertools.product((0, 1), repeat=size)
        if size < 11
        else ((k * 7919 >> i & 1 for i in range(size)) for k in range(999))
    )
    for values in map(list, every):
        assert [x.value for x in sort(values)] == sorted(values)


@pytest.mark.parametrize("size", [2, 3, 7, 14])
@pytest.mark.parametrize("skips", [False, True])
def test_sowing_seed_by_seed(size: int, skips: bool) -> None:
    columns = [numbers("int32", 300, seed, 0, high) for seed, high in enumerate((size - 1, 60, size - 1))]

    def sown(start: Scalar, count: Scalar, skip: Scalar) -> list[Scalar]:
        return sow(list(range(size)), start, count, skip if skips else None)

    found = np.stack(agree(sown, *columns), axis=1)
    for row, (start, count, skip) in zip(found, zip(*columns, strict=True), strict=True):
        expected = reference.sow(list(range(size)), int(start), int(count), int(skip) if skips else None)
        assert row.tolist() == [pit.value for pit in expected]


def test_plain_ints_and_floats_mix() -> None:
    chosen = where(int32(1) > 0, 0, 0.5), where(int32(1) > 0, 0.5, 0), maximum(1, 0.5), select([0, 0.5], int32(1))
    assert [(x.kind, x.value) for x in chosen] == [
        ("float32", 0.0),
        ("float32", 0.5),
        ("float32", 1.0),
        ("float32", 0.5),
    ]
    assert max_of([0, 0.5, 2]).value == 2.0 and argmax([0, 0.5]).value == 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: max_of([]), "values must have one or more numbers, got none"),
        (lambda: min_of([]), "values must have one or more numbers, got none"),
        (lambda: argmax([]), "values must have one or more numbers, got none"),
        (lambda: sow([1], 0, 1), "ring must have two or more pits, got 1"),
    ],
)
def test_wrong_lists(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
