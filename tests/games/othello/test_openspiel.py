"""OpenSpiel as a judge: its `othello` plays the same games."""

import numpy as np
import pytest

import tensor_envs as te
from tests.games.shared import shared_env

pyspiel = pytest.importorskip("pyspiel")
pytestmark = pytest.mark.extra("pyspiel")


def play_in_lockstep(batch: int, seed: int) -> tuple[set[float], int]:
    """Random games in both engines -> what black got, and the number of passes.

    At every ply legal actions, players to move, ends and returns must agree; at the end, the boards.
    """
    env, game = shared_env("othello"), pyspiel.load_game("othello")
    assert game.num_distinct_actions() == env.num_actions
    state, others = env.init(batch, seed), [game.new_initial_state() for _ in range(batch)]
    returns, passes = np.zeros((batch, 2)), 0
    while True:
        now = state.numpy()
        returns += now["rewards"]
        ended = np.array([other.is_terminal() for other in others])
        assert (now["terminated"] == ended).all() and not now["truncated"].any()
        for row, other in enumerate(others):
            assert np.flatnonzero(now["legal_action_mask"][row]).tolist() == other.legal_actions(), row
            assert (returns[row] == other.returns()).all(), row
            assert ended[row] or now["current_player"][row] == other.current_player(), row
        if ended.all():
            break
        actions = te.random_policy(state).numpy()
        passes += int((actions[~ended] == 64).sum())
        for row in np.flatnonzero(~ended).tolist():
            others[row].apply_action(int(actions[row]))
        state = env.step(state, actions)
    planes = np.array([other.observation_tensor(0) for other in others]).reshape(batch, 3, 8, 8)
    assert (env.observe(state, 0).numpy() == planes[:, 1:]).all()  # theirs begin with the empty squares
    return set(returns[:, 0].tolist()), passes


def test_random_games_agree() -> None:
    results, passes = play_in_lockstep(batch=48, seed=1)
    assert {1.0, -1.0} <= results and passes


@pytest.mark.slow
def test_thousands_of_random_games_agree() -> None:
    assert play_in_lockstep(batch=2000, seed=2)[0] == {1.0, -1.0, 0.0}
