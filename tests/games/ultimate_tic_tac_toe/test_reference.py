"""Ultimate tic-tac-toe: the tensor engine against the reference ply by ply, golden games, published counts."""

import pytest

import tensor_envs as te
from tests.games.lockstep import play_in_lockstep, replay_traces
from tests.games.shared import shared_env

GAME = "ultimate_tic_tac_toe"


@pytest.mark.slow
def test_random_games_agree_with_the_reference() -> None:
    returns = play_in_lockstep(GAME, batch=24, seed=4, observe_every=9)
    assert set(returns[:, 0]) == {1.0, -1.0, 0.0}


@pytest.mark.slow
def test_many_games_agree_with_the_reference() -> None:
    returns = play_in_lockstep(GAME, batch=2000, seed=8)
    assert set(returns[:, 0]) == {1.0, -1.0, 0.0}


@pytest.mark.slow
def test_golden_games() -> None:
    assert replay_traces(GAME) == 3


def test_perft() -> None:
    assert te.perft(shared_env(GAME), 5, symmetry=True).sequences[1:] == [81, 720, 6336, 55080, 473256]


@pytest.mark.slow
def test_more_perft() -> None:
    assert te.perft(shared_env(GAME), 7, symmetry=True).sequences[6:] == [4020960, 33782544]
