"""Flat Monte Carlo takes what is there, in every game of a state that is asked for."""

from functools import partial
from itertools import count
from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tensor_envs.search import flat_monte_carlo, monte_carlo
from tests.games.shared import shared_env


def wins_at_hand(env: te.Env) -> te.State:
    """Return two games with X to move; the winning cells are 2 and 6."""
    state = env.init(2)
    for actions in ([0, 8], [3, 5], [1, 7], [4, 4]):
        state = env.step(state, actions)
    return state


@pytest.mark.slow
def test_a_win_at_hand_is_taken() -> None:
    env = shared_env("tic_tac_toe")
    found = flat_monte_carlo(wins_at_hand(env), 8, seed=1, limit=9)
    assert found.tolist() == [2, 6] and found.shape == (2,)


@pytest.mark.parametrize("branches", [1, 5, 512])
def test_branches_are_cut_into_kernels_of_one_size(branches: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(monte_carlo, "BRANCHES", branches)
    assert flat_monte_carlo(wins_at_hand(shared_env("tic_tac_toe")), 8).tolist() == [2, 6]


def test_games_that_are_over_or_not_asked_for() -> None:
    env = shared_env("tic_tac_toe")
    state = wins_at_hand(env)
    assert flat_monte_carlo(state, 8, rows=[1]).tolist() == [0, 6]
    over = env.step(state, [2, 0])
    assert over.terminated.numpy().tolist() == [True, False]
    assert flat_monte_carlo(over, 8)[0] == 0
    whole = env.step(state, [2, 6])
    assert flat_monte_carlo(whole, 8).tolist() == [0, 0]


def test_a_seed_is_a_choice() -> None:
    env = shared_env("tic_tac_toe")
    state = env.init(64)
    one, again, other = (flat_monte_carlo(state, 1, seed) for seed in (3, 3, 4))
    assert np.array_equal(one, again) and not np.array_equal(one, other)
    assert state.legal_action_mask.numpy()[np.arange(64), one].all()


# but in chess, where random games go on for hundreds of plies and mostly end drawn: a quarter of an hour is too little;
# and in hanabi, where the uniform player is a partner, who loses all life tokens
@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [name for name in te.registered() if name not in ("chess", "gardner_chess", "hanabi", "shogi")]
)
def test_the_uniform_player_is_beaten_in_every_game(name: str) -> None:
    env, seeds = te.make(name), count()
    policy = partial(flat_monte_carlo, num_playouts=16, limit=1000)
    players = [lambda state: policy(state, seed=next(seeds)), *[te.agents.uniform] * (env.num_players - 1)]
    assert te.evaluate(env, players, games=32, seed=5).mean_returns[0] > 0.5


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"num_playouts": 0}, ValueError),
        ({"num_playouts": 2.5}, TypeError),
        ({"seed": -1}, ValueError),
        ({"seed": 2**44}, ValueError),
        ({"limit": 0}, ValueError),
        ({"state": None}, TypeError),
    ],
)
def test_wrong_arguments(arguments: dict[str, Any], error: type[Exception]) -> None:
    given: dict[str, Any] = {"state": wins_at_hand(shared_env("tic_tac_toe")), "num_playouts": 1} | arguments
    with pytest.raises(error, match=next(iter(arguments))):
        flat_monte_carlo(**given)
