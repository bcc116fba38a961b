"""Exploitability without a tree against that of the tree, for functions of the observation; bounds and bad input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tensor_envs.solve import branches, response_values
from tensor_envs.solve.exploitability import responses
from tests.games.shared import shared_env
from tests.solve.hidden_dice import hidden_dice

GAMES: list[tuple[str, dict[str, Any]]] = [
    ("kuhn_poker", {}),
    ("leduc_poker", {}),
    ("liars_dice", {"sides": 3}),
    ("dark_hex", {"size": 2}),
    ("dark_hex", {"size": 2, "abrupt": True}),
    ("hidden_dice", {"players": 2}),
    ("hidden_dice", {"players": 3, "sides": 2}),
]


def env_of(game: str, config: dict[str, Any]) -> te.Env:
    return hidden_dice(**config) if game == "hidden_dice" else shared_env(game, **config)


class OfObservation:
    """Random probabilities as a function of the observation, the ply and what is legal; some are 0."""

    def __init__(self, env: te.Env):
        rng = np.random.default_rng(5)
        self.weights = rng.normal(size=(np.prod(env.observation_shape), env.num_actions))
        self.states = 0

    def __call__(self, state: te.State) -> np.ndarray:
        self.states += state.batch
        seen = state.env.observe(state).numpy().reshape(state.batch, -1).astype(float)
        legal = state.legal_action_mask.numpy()
        likely = np.exp(2 * np.sin(seen @ self.weights + state.ply.numpy()[:, None]))
        likely[:, 0] *= np.where(legal.sum(1) > 1, likely[:, 0] > 1, 1)
        return np.asarray(likely * legal / (likely * legal).sum(1, keepdims=True))


@pytest.mark.parametrize(("game", "config"), GAMES, ids=str)
def test_it_is_that_of_the_tree(game: str, config: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare exploitability, values and every best response; small parts change nothing."""
    env = env_of(game, config)
    policy, tree = OfObservation(env), te.game_tree(env)
    expected = te.exploitability(tree, policy)
    assert te.exploitability(env, policy) == pytest.approx(expected, abs=1e-12) and expected > 0.05
    monkeypatch.setattr(response_values, "PAIRS", 7)
    monkeypatch.setattr(response_values, "PARENTS", 64)
    monkeypatch.setattr(branches, "EDGES", 100)
    found = responses(env, policy, 10**6)
    assert found.states < tree.nodes
    for player in range(env.num_players):
        best = te.best_response(tree, policy, player)
        assert found.best(player) == pytest.approx(best.values[player], abs=1e-12)
    table = te.TabularPolicy(tree, te.equilibrium(tree, iterations=1).strategies)
    assert te.exploitability(env, table) == te.exploitability(tree, table)


def test_a_subgame() -> None:
    """Games of a State are all equally likely; some are equal, and some are over."""
    env = shared_env("leduc_poker")
    state = env.step(env.init(40, seed=2), [1] * 40)[[*range(40), 3, 3, 5]]
    policy = OfObservation(env)
    expected = te.exploitability(te.game_tree(state), policy)
    assert te.exploitability(state, policy) == pytest.approx(expected, abs=1e-12)


@pytest.mark.slow
def test_more_histories_than_a_tree_holds() -> None:
    """Uniform play in abrupt 3x3 dark Hex with four cells taken: the tree has 30 times as many nodes as states."""
    env = shared_env("dark_hex", size=3, abrupt=True)
    state = env.init(1)
    for cell in (4, 0, 8, 2):
        state = env.step(state, [cell])
    policy = OfObservation(env)
    tree = te.game_tree(state)
    found = responses(state, policy, 10**6)
    assert found.states * 30 < tree.nodes
    assert te.exploitability(state, policy) == pytest.approx(te.exploitability(tree, policy), abs=1e-12)


def test_bad_input() -> None:
    env = shared_env("leduc_poker")
    with pytest.raises(
        ValueError, match="max_nodes must be at least 360 to hold the states of <Env leduc_poker-v0> to"
    ):
        te.exploitability(env, OfObservation(env), max_nodes=200)
    with pytest.raises(ValueError, match="with a sum of 1, got"):
        te.exploitability(env, lambda state: np.ones((state.batch, 3)))
    with pytest.raises(TypeError, match="policy must be a function"):
        te.exploitability(env, 3)  # type: ignore[arg-type]
