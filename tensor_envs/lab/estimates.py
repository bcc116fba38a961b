"""Estimates with 95 % intervals, and comparisons of many of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Z = 1.96  # half the width of a 95 % interval, in standard errors
LEVEL = 0.05  # significance level of a whole family of comparisons
K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True)
class Measurement:
    """Estimate of a number.

    Attributes:
        value: the estimate.
        low, high: ends of its 95 % interval; both are the value if it is exact.
        error: standard error; 0 if it is exact, NaN if it must not be compared.

    Examples:
        >>> from tensor_envs.lab import Measurement
        >>> print(Measurement(0.5123, 0.4823, 0.5423, 0.0153), Measurement(9, 9, 9, 0))
        0.512 ± 0.030 9
    """

    value: float
    low: float
    high: float
    error: float

    @classmethod
    def exactly(cls, value: float) -> Measurement:
        """Return the measurement of an exact value."""
        return cls(value, value, value, 0.0)

    @property
    def half_width(self) -> float:
        """Distance from the value to the farther end of the interval."""
        return max(self.high - self.value, self.value - self.low)

    def __str__(self) -> str:
        """Return the value and half the width of its interval, with two digits."""
        if self.half_width == 0:
            return f"{self.value:.6g}"
        decimals = min(max(1 - math.floor(math.log10(self.half_width)), 0), 6)
        return f"{self.value:.{decimals}f} ± {self.half_width:.{decimals}f}"


def first(means: NDArray[Any]) -> NDArray[Any]:
    """Return the first mean, which is the default of `estimate`."""
    return np.asarray(means[0])


def ratio(means: NDArray[Any]) -> NDArray[Any]:
    """Return the first mean divided by the second one."""
    return np.asarray(means[0] / means[1])


def estimate(
    *columns: NDArray[Any],
    of: Callable[[NDArray[Any]], NDArray[Any]] = first,
    share: bool = False,
    more: NDArray[Any] | None = None,
    scale: Callable[[float], float] = float,
) -> Measurement:
    """Estimate a function of means by the jackknife, from one value per game in each column.

    Args:
        columns: values of N independent games or deals, float64 [N] each.
        of: function of the means, [number of columns, ...], in operations that broadcast.
        share: whether the number is in 0..1 and `columns` are its numerator and, if there are two, its denominator.
            The interval is then that of a sample with two more games of 0 and two of 1 (Agresti and Coull 1998), since
            a share of 0 or 1 would have an interval of width 0.
        more: further games for the interval only, columns as an array [number of columns, M].
        scale: increasing function that is applied to the value and to the ends of the interval.

    Returns:
        The estimate, without the jackknife's bias of order 1 / N.
    """
    table = np.array(columns, np.float64)
    value, error = _jackknife(table, of)
    centre = value
    if share:
        size = table[1].mean() if len(table) > 1 else 1.0
        more = np.array([[0, 0, size, size], [size] * 4][: len(table)])
    if more is not None:
        centre, error = _jackknife(np.concatenate([table, more], 1), of)
    low = min(centre - Z * error, value)
    high = max(centre + Z * error, value)
    if share:
        low = max(low, 0.0)
        high = min(high, 1.0)
    value = scale(value)
    low = scale(low)
    high = scale(high)
    return Measurement(value, low, high, (high - low) / (2 * Z))


def _jackknife(table: NDArray[Any], of: Callable[[NDArray[Any]], NDArray[Any]]) -> tuple[float, float]:
    """Return the jackknife's estimate of a function of the means of a table [columns, N], and its standard error."""
    count = table.shape[1]
    total = table.sum(1, keepdims=True)
    of_all = float(of(total[:, 0] / count))
    leave_one_out = of((total - table) / (count - 1))
    squares = float(np.square(leave_one_out - leave_one_out.mean()).sum())
    return count * of_all - (count - 1) * float(leave_one_out.mean()), math.sqrt(squares * (count - 1) / count)


def quantile(values: NDArray[Any], share: float) -> Measurement:
    """Estimate a quantile by order statistics. It is not to be compared, since values may be discrete."""
    ordered = np.sort(values)
    count = len(values)
    half = Z * math.sqrt(count * share * (1 - share))
    ranks = np.clip([count * share - half - 1, count * share + half], 0, count - 1)
    low = ordered[math.floor(ranks[0])]
    high = ordered[math.ceil(ranks[1])]
    return Measurement(float(np.quantile(ordered, share)), float(low), float(high), math.nan)


def significant(pairs: Mapping[K, tuple[Measurement, Measurement]]) -> set[K]:
    """Return the keys of pairs that differ significantly, with a family-wise error rate of 5 % (Holm 1979)."""
    tests = {key: p_value(*pair) for key, pair in pairs.items()}
    keys: set[K] = set()
    for rank, (key, p) in enumerate(sorted(tests.items(), key=lambda item: item[1])):
        if p > LEVEL / (len(tests) - rank):
            break
        keys.add(key)
    return keys


def p_value(a: Measurement, b: Measurement) -> float:
    """Return the p-value of the difference of two independent estimates."""
    error = math.hypot(a.error, b.error)
    if math.isnan(error):
        return 1.0
    if error == 0:
        return float(a.value == b.value)
    return math.erfc(abs(a.value - b.value) / error / math.sqrt(2))


def sums(tables: Sequence[NDArray[Any]], names: Sequence[str]) -> dict[str, list[NDArray[Any]]]:
    """Add up the columns of each table [N, columns] that have the same name."""
    order = {name: number for number, name in enumerate(dict.fromkeys(names))}
    columns = np.array([order[name] for name in names])
    return {name: [table[:, columns == number].sum(1) for table in tables] for name, number in order.items()}
