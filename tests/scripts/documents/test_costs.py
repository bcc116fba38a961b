"""The forms that costs.md compares give the same states."""

from __future__ import annotations

import pytest

import tensor_envs as te
from documents.costs import Forms


@pytest.mark.few("6-7")
@pytest.mark.parametrize(("slow", "fast"), [(0, 1), (4, 5), (6, 7)])
def test_both_forms_agree(slow: int, fast: int) -> None:
    states = []
    for form in (slow, fast):
        state = te.Env(te.GameEntry("forms", Forms), Forms(form), "forms").init(70)
        for k in range(5):
            state = state.env.step(state, [(3 * row + k) % 14 for row in range(70)])
        states.append(state.numpy())
    assert all((states[0][name] == states[1][name]).all() for name in states[0])
