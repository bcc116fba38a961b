"""Amazons: the tensor engine against the reference ply by ply, golden games, published counts."""

import pytest

import tensor_envs as te
from tests.games.lockstep import play_in_lockstep, replay_traces
from tests.games.shared import shared_env

GAME = "amazons"


@pytest.mark.slow
@pytest.mark.parametrize(("size", "batch"), ((10, 4), (6, 40)))
def test_random_games_agree_with_the_reference(size: int, batch: int) -> None:
    returns = play_in_lockstep(GAME, batch, seed=4, observe_every=25, size=size)
    assert set(returns[:, 0]) == {1.0, -1.0}


@pytest.mark.slow
@pytest.mark.parametrize("size", (6, 8, 10))
def test_many_games_agree_with_the_reference(size: int) -> None:
    returns = play_in_lockstep(GAME, batch=1000, seed=8, observe_every=31, size=size)
    assert set(returns[:, 0]) == {1.0, -1.0}


@pytest.mark.slow
def test_golden_games() -> None:
    assert replay_traces(GAME) == 4


@pytest.mark.slow
def test_perft() -> None:
    """Check the first turn, of three plies."""
    assert te.perft(shared_env(GAME), 3).sequences[1:] == [4, 80, 2176]


@pytest.mark.slow
def test_more_perft() -> None:
    assert te.perft(shared_env(GAME), 6, symmetry=True).sequences[6] == 4307152
