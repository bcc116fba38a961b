"""Comparison with OpenSpiel: its `othello` plays the same games."""

import numpy as np
import pytest

import tensor_envs as te
from tests.games.openspiel import play_beside, random_actions
from tests.games.shared import shared_env

pyspiel = pytest.importorskip("pyspiel")
pytestmark = pytest.mark.extra("pyspiel")


def play_in_lockstep(batch: int, seed: int) -> tuple[set[float], int]:
    """Play random games in both engines; return black's rewards and the number of passes.

    At every ply legal actions, players to move, ends and returns must agree; at the end, the boards.
    """
    env, game = shared_env("othello"), pyspiel.load_game("othello")
    assert game.num_distinct_actions() == env.num_actions
    state, others = env.init(batch, seed), [game.new_initial_state() for _ in range(batch)]
    passes = 0

    def counted(state: te.State, ended: np.ndarray) -> np.ndarray:
        nonlocal passes
        actions = random_actions(state, ended)
        passes += int((actions[~ended] == 64).sum())
        return actions

    state, returns = play_beside(state, others, counted)
    planes = np.array([other.observation_tensor(0) for other in others]).reshape(batch, 3, 8, 8)
    assert (env.observe(state, 0).numpy() == planes[:, 1:]).all()  # theirs begin with the empty squares
    return set(returns[:, 0].tolist()), passes


def test_random_games_agree() -> None:
    results, passes = play_in_lockstep(batch=48, seed=1)
    assert {1.0, -1.0} <= results and passes


@pytest.mark.slow
def test_thousands_of_random_games_agree() -> None:
    assert play_in_lockstep(batch=2000, seed=2)[0] == {1.0, -1.0, 0.0}
