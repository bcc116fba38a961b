"""Functions of scalars, run with plain numbers and in a kernel that computes all entries."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from tinygrad import Tensor

from tensor_envs._compiler.tape import BOOL, FLOAT32, INT32, UINT32, UINT64
from tensor_envs._runtime.buffers import download, empty_buffer, upload
from tensor_envs._runtime.launch import lazy_kernel
from tensor_envs.rules.kernel import Cells, loop, trace
from tensor_envs.rules.scalar import Scalar, scalar

KINDS = {"bool": BOOL, "int32": INT32, "uint32": UINT32, "uint64": UINT64, "float32": FLOAT32}
NUMPY = {"bool": np.bool_, "int32": np.int32, "uint32": np.uint32, "uint64": np.uint64, "float32": np.float32}
OF_NUMPY = {np.dtype(kind): name for name, kind in NUMPY.items()}

Function = Callable[..., Any]  # takes a scalar for each column, returns a value or a list


def as_values(result: Any) -> list[Scalar]:
    return [scalar(x) for x in (result if isinstance(result, (list, tuple)) else [result])]


def plain(function: Function, *columns: np.ndarray) -> list[np.ndarray]:
    """Return a column for each result of a function, called with plain numbers for each entry."""
    kinds = [KINDS[OF_NUMPY[column.dtype]] for column in columns]
    rows = []
    for entry in zip(*columns, strict=True):
        rows.append(as_values(function(*(Scalar(x.item(), kind) for x, kind in zip(entry, kinds, strict=True)))))
        assert all(x.is_plain for x in rows[-1])
    results = [[x.kind for x in row] for row in rows]
    assert all(kinds == results[0] for kinds in results), "the kinds of results depend on values"
    return [np.array([row[k].value for row in rows], NUMPY[kind]) for k, kind in enumerate(results[0])]


class Traced:
    """Kernel that calls a function for every entry of some columns.

    Attributes:
        kinds: the kinds of the function's results.
        sizes: how many values of each kind the kernel writes, one array a kind: result by result.
    """

    def __init__(self, function: Function, *columns: np.ndarray):
        self.function, self.entries = function, len(columns[0])
        first = [Scalar(column[0].item(), KINDS[OF_NUMPY[column.dtype]]) for column in columns]
        self.kinds = [x.dtype for x in as_values(function(*first))]
        self.sizes = {kind: self.kinds.count(kind) * self.entries for kind in dict.fromkeys(self.kinds)}

    def body(self, *arrays: Cells) -> None:
        """Record the kernel. `arrays` are the results, then the columns."""
        results = dict(zip(self.sizes, arrays, strict=False))
        with loop(self.entries) as i:
            values = as_values(self.function(*(cells[i] for cells in arrays[len(results) :])))
            assert [x.dtype for x in values] == self.kinds
            written = dict.fromkeys(results, 0)
            for x in values:
                results[x.dtype][i + written[x.dtype] * self.entries] = x
                written[x.dtype] += 1

    def split(self, arrays: list[np.ndarray]) -> list[np.ndarray]:
        """Return the column of every result."""
        rows = {kind: iter(a.reshape(-1, self.entries)) for kind, a in zip(self.sizes, arrays, strict=True)}
        return [next(rows[kind]) for kind in self.kinds]


def kernel(function: Function, *columns: np.ndarray, device: str = "CPU") -> list[np.ndarray]:
    """Return the results of one kernel, in the form of `plain`."""
    traced = Traced(function, *columns)
    results = [empty_buffer(size, kind, device) for kind, size in traced.sizes.items()]
    inputs = (upload(column, device) for column in columns)
    after = lazy_kernel("traced", partial(trace, traced.body), *results, *inputs)
    after = after[: len(results)]
    Tensor.realize(*after)
    return traced.split([download(t) for t in after])


def agree(function: Function, *columns: np.ndarray) -> list[np.ndarray]:
    """Check that both forms agree, and return the columns of results."""
    expected, results = plain(function, *columns), kernel(function, *columns)
    for k, (one, other) in enumerate(zip(expected, results, strict=True)):
        np.testing.assert_array_equal(other, one, err_msg=f"result {k}")
    return expected


def numbers(kind: str, size: int, seed: int = 0, low: int | None = None, high: int | None = None) -> np.ndarray:
    """Return random numbers of a kind, among them the extremes, within inclusive bounds."""
    rng = np.random.default_rng(seed)
    if kind == "bool":
        return rng.integers(0, 2, size).astype(bool)
    if kind == "float32":
        return rng.uniform(-100, 100, size).astype(np.float32)
    limits = np.iinfo(NUMPY[kind])
    low, high = int(limits.min) if low is None else low, int(limits.max) if high is None else high
    values = rng.integers(low, high, size, dtype=limits.dtype, endpoint=True)
    # random words are rarely equal, small ones are
    if max(low, -3) <= min(high, 3):
        small = rng.integers(max(low, -3), min(high, 3), size, endpoint=True).astype(limits.dtype)
        values = np.where(rng.random(size) < 0.3, small, values)
    edges = [x for x in (low, high, 0, 1, -1, high - 1) if low <= x <= high][:size]
    values[: len(edges)] = np.array(edges, dtype=limits.dtype)
    return rng.permutation(values)
