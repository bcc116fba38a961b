"""Lines of Action: the tensor engine against the reference ply by ply, golden games, counts."""

import pytest

import tensor_envs as te
from tests.games.lockstep import play_in_lockstep, replay_traces
from tests.games.shared import shared_env

GAME = "lines_of_action"


@pytest.mark.slow
def test_random_games_agree_with_the_reference() -> None:
    returns = play_in_lockstep(GAME, batch=3, seed=4, observe_every=25, quiet_plies=20)
    assert 0.0 in returns[:, 0]


@pytest.mark.slow
@pytest.mark.parametrize("quiet_plies", (8, 100))
def test_many_games_agree_with_the_reference(quiet_plies: int) -> None:
    returns = play_in_lockstep(GAME, batch=40, seed=8, quiet_plies=quiet_plies)
    assert set(returns[:, 0]) == ({1.0, -1.0, 0.0} if quiet_plies == 100 else {0.0})


@pytest.mark.slow
def test_golden_games() -> None:
    assert replay_traces(GAME) == 3


@pytest.mark.slow
def test_perft() -> None:
    assert te.perft(shared_env(GAME), 3).sequences[1:] == [36, 1244, 44952]
