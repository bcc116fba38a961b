"""Comparison with OpenSpiel: its `chinese_checkers` plays the same games."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tensor_envs.games.chinese_checkers.star import PIXELS
from tests.games.chinese_checkers.players import CELLS, forward_actions
from tests.games.openspiel import OtherNumbers, play_beside
from tests.games.shared import observe, shared_env

pyspiel = pytest.importorskip("pyspiel")
pytestmark = pytest.mark.extra("pyspiel")
GAME = "chinese_checkers"
CONFIGS: list[dict[str, Any]] = [{"max_turns": 300}, {"players": 3, "max_turns": 400}, {"players": 4, "max_turns": 500}]
CONFIGS += [{"players": 6, "max_turns": 700}]


class Judge(OtherNumbers):
    """OpenSpiel's game, which pays players - 1 times as much (S9)."""

    def legal_actions(self) -> list[int]:
        actions: list[int] = self.state.legal_actions()
        return actions

    def apply_action(self, action: int) -> None:
        self.state.apply_action(action)

    def returns(self) -> np.ndarray:
        returns = np.array(self.state.returns())
        return (returns / (len(returns) - 1)).astype(np.float32)


def load(config: dict[str, Any]) -> Any:
    """Return OpenSpiel's game with our rule fields."""
    return pyspiel.load_game(GAME, {"players": config.get("players", 2), "max_moves": config.get("max_turns", 1000)})


def play_in_lockstep(config: dict[str, Any], batch: int, seed: int, care: float) -> np.ndarray:
    """Play games in both engines; compare all that `play_beside` does, and observations now and then -> the returns."""
    env = shared_env(GAME, **config)
    game = load(config)
    assert game.num_distinct_actions() == env.num_actions
    others = [Judge(game.new_initial_state()) for _ in range(batch)]
    rng = np.random.default_rng(seed)

    def choose(state: te.State, ended: np.ndarray) -> np.ndarray:
        return forward_actions(state, rng, care)

    def look(state: te.State) -> None:
        if rng.random() < 0.1:
            compare_observations(state, others)

    state, returns = play_beside(env.init(batch, seed), others, choose, look)
    compare_observations(state, others)
    return returns


def compare_observations(state: te.State, others: list[Judge]) -> None:
    """Compare pieces and empty cells, as every player observes them."""
    players = state.env.num_players
    for player in range(players):
        seen = observe(state, player).reshape(state.batch, players + 3, -1)[:, : players + 1, PIXELS]
        theirs = np.array([other.observation_tensor(player) for other in others])
        assert (seen.reshape(state.batch, -1) == theirs[:, : (players + 1) * CELLS]).all(), player


@pytest.mark.few(1)
@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_games_agree(config: dict[str, Any]) -> None:
    returns = play_in_lockstep(config, batch=4, seed=1, care=1)
    assert returns.any()


@pytest.mark.slow
@pytest.mark.parametrize(("care", "batch"), ((0.5, 50), (0.95, 100), (1, 100)))
@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_many_games_agree(config: dict[str, Any], care: float, batch: int) -> None:
    returns = play_in_lockstep(config, batch, seed=2, care=care)
    assert returns.any(1).mean() > (0.5 if care > 0.9 else -1)


@pytest.mark.slow
def test_a_thousand_games_agree() -> None:
    """Both players win many of them."""
    returns = play_in_lockstep({"max_turns": 300}, batch=1000, seed=3, care=0.97)
    assert (returns[:, 0] > 0).sum() > 400 and (returns[:, 0] < 0).sum() > 400


def sequences(state: Any, depth: int) -> int:
    """Return the number of sequences of so many plies."""
    if depth == 1:
        return len(state.legal_actions())
    return sum(sequences(state.child(action), depth - 1) for action in state.legal_actions())


@pytest.mark.slow
@pytest.mark.parametrize(("players", "count"), ((2, 72608), (3, 58016), (6, 35574)))
def test_counts_agree(players: int, count: int) -> None:
    found = te.perft(shared_env(GAME, players=players), 4).sequences[4]
    assert found == sequences(load({"players": players}).new_initial_state(), 4) == count
