"""Functions of scalars called twice: with plain numbers, and in a kernel that plays all entries at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from tinygrad import Tensor, UOp

from tensor_envs.core.backend.device import download, empty_buffer, upload
from tensor_envs.core.backend.launch import launch
from tensor_envs.rules.control import loop
from tensor_envs.rules.scalar import BOOL, INT, REAL, WORD, WORD64, Scalar, scalar

KINDS = {"bool": BOOL, "int": INT, "word": WORD, "word64": WORD64, "real": REAL}
NUMPY = {"bool": np.bool_, "int": np.int32, "word": np.uint32, "word64": np.uint64, "real": np.float32}
OF_NUMPY = {np.dtype(kind): name for name, kind in NUMPY.items()}

Function = Callable[..., Any]  # of scalars, one a column, to a value or a list of them


def as_values(result: Any) -> list[Scalar]:
    return [scalar(x) for x in (result if isinstance(result, (list, tuple)) else [result])]


def plain(function: Function, *columns: np.ndarray) -> list[np.ndarray]:
    """What a function gives for every entry of the columns in plain numbers, a column a result."""
    rows = []
    kinds = [KINDS[OF_NUMPY[column.dtype]] for column in columns]
    for entry in zip(*columns, strict=True):
        given = [Scalar(x.item(), kind) for x, kind in zip(entry, kinds, strict=True)]
        rows.append(as_values(function(*given)))
        assert all(x.known for x in rows[-1])
    kinds_of = [[x.kind for x in row] for row in rows]
    assert all(kinds == kinds_of[0] for kinds in kinds_of), "the kinds of results depend on values"
    return [np.array([row[k].value for row in rows], NUMPY[kind]) for k, kind in enumerate(kinds_of[0])]


def kernel(function: Function, *columns: np.ndarray) -> list[np.ndarray]:
    """The same in one kernel on the CPU: a loop over the entries."""
    size = len(columns[0])
    kinds = [KINDS[OF_NUMPY[column.dtype]] for column in columns]
    shapes = as_values(function(*(Scalar(c[0].item(), kind) for c, kind in zip(columns, kinds, strict=True))))
    results = [empty_buffer(size, x.dtype, "CPU") for x in shapes]

    def body(*arrays: UOp) -> UOp:
        i = loop(size)
        given = [Scalar(a[i].load(), kind) for a, kind in zip(arrays[len(results) :], kinds, strict=True)]
        values = as_values(function(*given))
        assert [x.kind for x in values] == [x.kind for x in shapes]
        stores = [array[i].store(x.uop()) for array, x in zip(arrays, values, strict=False)]
        return UOp.group(*stores).end(i)

    done = launch("traced", body, *results, *(upload(column, "CPU") for column in columns))[: len(results)]
    Tensor.realize(*done)
    return [download(t) for t in done]


def agree(function: Function, *columns: np.ndarray) -> list[np.ndarray]:
    """Both, which must be equal -> the columns of results."""
    expected, found = plain(function, *columns), kernel(function, *columns)
    for k, (one, other) in enumerate(zip(expected, found, strict=True)):
        np.testing.assert_array_equal(other, one, err_msg=f"result {k}")
    return expected


def numbers(
    kind: str, size: int, seed: int = 0, low: int | None = None, high: int | None = None
) -> np.ndarray:
    """Random numbers of a kind, the extremes among them; low and high (inclusive) bound them."""
    rng = np.random.default_rng(seed)
    if kind == "bool":
        return rng.integers(0, 2, size).astype(bool)
    if kind == "real":
        return rng.uniform(-100, 100, size).astype(np.float32)
    about = np.iinfo(NUMPY[kind])
    low, high = int(about.min) if low is None else low, int(about.max) if high is None else high
    values = rng.integers(low, high, size, dtype=about.dtype, endpoint=True)
    # small ones, too: of random words hardly two are equal
    if max(low, -3) <= min(high, 3):
        small = rng.integers(max(low, -3), min(high, 3), size, endpoint=True).astype(about.dtype)
        values = np.where(rng.random(size) < 0.3, small, values)
    edges = [x for x in (low, high, 0, 1, -1, high - 1) if low <= x <= high][:size]
    values[: len(edges)] = np.array(edges, dtype=about.dtype)
    return rng.permutation(values)
