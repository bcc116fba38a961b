"""Gin rummy: the tensor engine against the reference ply by ply, golden games, draws, determinize."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.games.chance import game_key
from tests.games.gin_rummy.players import careful_actions
from tests.games.lockstep import compare_observations
from tests.games.shared import reference, shared_env

GAME = "gin_rummy"
CONFIGS: list[dict[str, Any]] = [
    {},
    {"oklahoma": True, "gin_bonus": 7},
    {"knock_card": 2, "undercut_bonus": 0},
    {"knock_card": 0},
]


def play_in_lockstep(batch: int, seed: int, care: float, **config: Any) -> np.ndarray:
    """Play games of careful players in both engines; compare all at every ply -> the returns of player 0."""
    env = shared_env(GAME, **config)
    engine = reference(GAME)
    state = env.init(64 if batch < 64 else batch, seed)
    games = [engine(game_key(seed, row, 0), **config) for row in range(batch)]
    returns = np.zeros(batch)
    rng = np.random.default_rng(seed)
    for ply in range(400):
        now = state.numpy()
        live = [row for row in range(batch) if not games[row].terminated]
        for row in range(batch):
            legal = np.flatnonzero(now["legal_action_mask"][row]).tolist()
            assert legal == games[row].legal_actions(), f"row {row}, ply {ply}: legal actions"
            assert now["terminated"][row] == games[row].terminated, f"row {row}, ply {ply}"
            assert now["current_player"][row] == games[row].current_player, f"row {row}, ply {ply}"
        if ply % 5 == 0:
            compare_observations(state, games, f"ply {ply}")
        for row in live if ply % 5 == 0 else live[:1]:
            written = env.state_to_dict(state, row)
            assert written | games[row].to_dict() == written, f"row {row}, ply {ply}: state"
        if not live:
            return returns
        actions = careful_actions(state, rng, care)
        state = env.step(state, actions)
        rewards = state.rewards.numpy()
        for row in live:
            games[row].apply(int(actions[row]))
            assert rewards[row].tolist() == games[row].rewards, f"row {row}, ply {ply}: rewards"
            returns[row] += rewards[row, 0]
    raise AssertionError("games must end")


def test_games_agree_with_the_reference() -> None:
    returns = play_in_lockstep(batch=24, seed=4, care=0.95)
    assert len(set(returns)) > 10


@pytest.mark.slow
@pytest.mark.parametrize("care", (0, 0.9, 1))
@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_many_games_agree_with_the_reference(config: dict[str, Any], care: float) -> None:
    play_in_lockstep(300, 8, care, **config)
