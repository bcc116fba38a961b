"""Gumbel search visits what mctx visits, in every root of ten settings."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from tinygrad import Tensor

import tensor_envs as te
from tensor_envs.search import policies
from tests.games.shared import shared_env
from tests.search.mctx_trees import RECORDED, SETTINGS, by_mctx, noise, played, weights


def found(name: str, simulations: int, plies: int, monkeypatch: pytest.MonkeyPatch) -> tuple[np.ndarray, ...]:
    """Run the search with fixed noise. Returns visits, actions, and which games are not over."""
    env = shared_env(name)
    state, (first, policy, value) = played(env, plies)[0], (Tensor(w).realize() for w in weights(env))

    def evaluate(state: te.State) -> tuple[Tensor, Tensor]:
        x = (env.observe(state).flatten(1).float() @ first).relu()
        return x @ policy, (x @ value).tanh().squeeze(1)

    monkeypatch.setattr(policies, "gumbel_noise", lambda *_: Tensor(noise(env).ravel()).realize())
    result = te.search.gumbel_muzero_policy(state, evaluate, simulations)
    live = ~(state.terminated.numpy() | state.truncated.numpy())
    return result.search_tree.summary()["visit_counts"], result.action.numpy(), live


@pytest.mark.few(2)
@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_visits_and_actions_are_those_recorded_of_mctx(setting: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = json.loads(RECORDED.read_text())[", ".join(map(str, setting))]
    name, simulations, plies = setting
    visits, action, live = found(name, simulations, plies, monkeypatch)
    assert live.sum() > 10 and (visits[live] == np.array(recorded["visits"])[live]).all()
    assert (action[live] == np.array(recorded["action"])[live]).all()


@pytest.mark.extra("mctx", "pgx")
@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_mctx_finds_what_is_recorded(setting: Any) -> None:
    recorded = json.loads(RECORDED.read_text())[", ".join(map(str, setting))]
    for key, value in by_mctx(*setting).items():
        assert (value == np.array(recorded[key])).all(), key
