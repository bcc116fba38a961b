"""Counts of critical positions, in which some legal action loses value."""

from __future__ import annotations

import numpy as np
import pytest

import tensor_envs as te
from tensor_envs.train.rating import CriticalPositions
from tests.games.shared import shared_env


@pytest.mark.slow
@pytest.mark.parametrize("method", ["enumerate", "search"])
def test_critical_positions(method: str) -> None:
    env = shared_env("tic_tac_toe")
    exact: te.Oracle = te.solve(env) if method == "enumerate" else te.solve(env, method="search", memory=2**20)

    def careless(state: te.State) -> np.ndarray:
        """Return a legal action that loses value, where there is one."""
        legal = state.legal_action_mask.numpy()
        return np.asarray((legal * 1 + (legal & ~exact.best_actions(state))).argmax(1))

    counts = []
    for player, all_kept in ((te.agents.perfect(exact), True), (careless, False)):
        judge = CriticalPositions(exact)
        lost = te.regret(env, player, judge, games=64, opening=3)
        assert lost == te.regret(env, player, exact, games=64, opening=3)
        assert judge.count and judge.kept == (judge.count if all_kept else 0) and (lost == 0) == all_kept
        counts.append(judge.count)
    assert counts[0] < 64 * 6
    # after the centre an edge loses and a corner draws; after a corner only the centre draws
    judge = CriticalPositions(exact)
    state = env.step(env.init(3), [4, 4, 0])
    judge.regret(state, np.array([0, 1, 4]))
    assert (judge.count, judge.kept) == (3, 2)
