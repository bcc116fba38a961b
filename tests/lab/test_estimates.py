"""Intervals on samples of known distributions, and families of comparisons."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tensor_envs.lab import Measurement, measures
from tensor_envs.lab.estimates import estimate, quantile, ratio, significant

RUNS = 400
BAND = (0.91, 0.985)  # 95 % and about 3.5 standard errors of 400 runs


def coverage(found: list[Measurement], truth: float) -> float:
    return float(np.mean([one.low <= truth <= one.high for one in found]))


def test_a_mean_and_a_ratio_by_hand() -> None:
    x, y = np.array([1.0, 2, 3, 4]), np.array([2.0, 2, 2, 2])
    mean = estimate(x)
    assert mean.value == pytest.approx(2.5) and mean.error == pytest.approx(x.std(ddof=1) / 2)
    assert mean.high - mean.low == pytest.approx(2 * 1.96 * mean.error)
    assert estimate(x, y, of=ratio).value == pytest.approx(1.25)
    assert estimate(np.full(9, 3.0)) == Measurement(3, 3, 3, 0)


def test_intervals_of_means_ratios_shares_and_quantiles() -> None:
    rng = np.random.default_rng(1)
    normal = [rng.normal(3, 2, 100) for _ in range(RUNS)]
    assert BAND[0] < coverage([estimate(x) for x in normal], 3) < BAND[1]
    lengths = [rng.integers(1, 20, 100) for _ in range(RUNS)]
    part = [rng.binomial(n, 0.3) for n in lengths]
    ratios = [estimate(x, n, of=ratio, share=True) for x, n in zip(part, lengths, strict=True)]
    assert BAND[0] < coverage(ratios, 0.3) < BAND[1]
    for truth in (0.02, 0.5):
        shares = [estimate(rng.binomial(1, truth, 100), share=True) for _ in range(RUNS)]
        assert coverage(shares, truth) > 0.92
    assert coverage([quantile(x, 0.95) for x in normal], 3 + 2 * 1.644854) > 0.92


def test_a_share_of_none_has_an_interval() -> None:
    none = estimate(np.zeros(100), share=True)
    assert none.value == none.low == 0 and 0.02 < none.high < 0.06
    assert estimate(np.ones(100), share=True).low == pytest.approx(1 - none.high)


def test_luck_and_skill_of_a_known_model() -> None:
    """A deal is won by player 0, by player 1 (.2 each), or by the stronger one with probability .8."""
    rng = np.random.default_rng(2)
    luck, skill = list[Measurement](), list[Measurement]()
    for _ in range(RUNS):
        deal = rng.choice(3, p=[0.2, 0.2, 0.6], size=200)
        first = [np.where(deal == 2, rng.random(200) < p, deal == 0).astype(float) for p in (0.8, 0.2)]
        found = dict(measures.contest(np.array([[x, 1 - x] for x in first]).transpose(0, 2, 1)[:, None], 1.0))
        luck.append(found["luck"])
        skill.append(found["skill"])
    # means .68 and .32, variance .25; E[x y] = .2 + .6 * .8 * .2
    assert BAND[0] < coverage(luck, (0.2 + 0.6 * 0.16 - 0.68 * 0.32) / 0.25) < BAND[1]
    assert BAND[0] < coverage(skill, 0.18**2 / 0.25) < BAND[1]
    assert abs(np.mean([one.value for one in luck]) - 0.3136) < 0.01


def test_holms_method() -> None:
    """P values .01, .02, .03 and .9 of four: .01 <= .05 / 4, and .02 > .05 / 3 ends it."""
    z = {0.01: 2.5758, 0.02: 2.3263, 0.03: 2.1701, 0.9: 0.1257}
    pairs = {p: (Measurement(0, 0, 0, 0.6), Measurement(x, x, x, 0.8)) for p, x in z.items()}
    assert significant(pairs) == {0.01}
    assert significant({p: pairs[p] for p in (0.01, 0.02)}) == {0.01, 0.02}
    exact, other = Measurement.exactly(1), Measurement.exactly(2)
    assert significant({"same": (exact, exact), "other": (exact, other)}) == {"other"}
    unknown = Measurement(5, 5, 5, math.nan)
    assert not significant({"quantile": (unknown, other)})


@pytest.mark.slow
def test_few_false_alarms() -> None:
    """Of families of 50 equal pairs at most about 5 % mark any."""
    rng, alarms = np.random.default_rng(3), 0
    for _ in range(200):
        pairs = {k: (estimate(rng.normal(0, 1, 50)), estimate(rng.normal(0, 1, 50))) for k in range(50)}
        alarms += bool(significant(pairs))
    assert alarms < 30


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (Measurement(0.5123, 0.4823, 0.5423, 0.0153), "0.512 ± 0.030"),
        (Measurement(146.04, 143.1, 148.9, 1.5), "146.0 ± 2.9"),
        (Measurement(1234.5, 1000, 1500, 100), "1234 ± 266"),
        (Measurement.exactly(5.4068262), "5.40683"),
        (Measurement(0, 0, 0.00123, 0.0003), "0.0000 ± 0.0012"),
    ],
)
def test_numbers_as_text(number: Measurement, text: str) -> None:
    assert str(number) == text
