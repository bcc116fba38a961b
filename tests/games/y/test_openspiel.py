"""Comparison with OpenSpiel: its `y` plays the same games, also on boards of other sizes."""

from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tests.games.openspiel import play_beside
from tests.games.shared import shared_env

pyspiel = pytest.importorskip("pyspiel")
pytestmark = pytest.mark.extra("pyspiel")


def play_in_lockstep(size: int, batch: int, seed: int) -> set[float]:
    """Play random games in both engines; return the rewards of player 0.

    At every ply legal actions, players to move, ends and returns must agree; at the end, the observations.
    """
    env, game = shared_env("y", size=size), pyspiel.load_game("y", {"board_size": size})
    state, others = env.init(batch, seed), [game.new_initial_state() for _ in range(batch)]
    state, returns = play_beside(state, others)
    for player in (0, 1):
        planes = np.array([other.observation_tensor(player) for other in others])
        assert (env.observe(state, player).numpy() == planes.reshape(batch, 3, size, size)).all()
    start = game.new_initial_state()
    assert all(env.action_names[action] == start.action_to_string(0, action) for action in start.legal_actions())
    return set(returns[:, 0].tolist())


@pytest.mark.few(1)
@pytest.mark.parametrize("size", (7, 4))
def test_random_games_agree(size: int) -> None:
    assert play_in_lockstep(size, batch=24, seed=1) == {1.0, -1.0}


@pytest.mark.slow
@pytest.mark.parametrize("size", (19, 12, 7, 4, 2, 1))
def test_a_thousand_random_games_agree(size: int) -> None:
    assert play_in_lockstep(size, batch=1000, seed=2) == ({1.0, -1.0} if size > 2 else {1.0})


def count(state: Any, plies: int) -> int:
    """Return the number of sequences of legal moves, by OpenSpiel."""
    return sum(count(state.child(action), plies - 1) for action in state.legal_actions()) if plies else 1


def test_perft() -> None:
    found = te.perft(shared_env("y", size=3), 6).sequences
    start = pyspiel.load_game("y", {"board_size": 3}).new_initial_state()
    assert found[1:] == [count(start, plies) for plies in range(1, 7)]
