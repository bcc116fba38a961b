"""Nine men's morris: the tensor engine against the reference ply by ply, golden games, counts."""

import pytest

import tensor_envs as te
from tests.games.lockstep import play_in_lockstep, replay_traces
from tests.games.shared import shared_env

GAME = "nine_mens_morris"


@pytest.mark.slow
@pytest.mark.parametrize(("max_turns", "batch"), ((200, 5), (24, 24)))
def test_random_games_agree_with_the_reference(max_turns: int, batch: int) -> None:
    returns = play_in_lockstep(GAME, batch, seed=4, observe_every=25, max_turns=max_turns)
    assert {1.0, -1.0} <= set(returns[:, 0]) or max_turns < 200


@pytest.mark.slow
@pytest.mark.parametrize("max_turns", (200, 60))
def test_many_games_agree_with_the_reference(max_turns: int) -> None:
    returns = play_in_lockstep(GAME, batch=1000, seed=8, observe_every=31, max_turns=max_turns)
    assert set(returns[:, 0]) == {1.0, -1.0, 0.0}


@pytest.mark.slow
def test_golden_games() -> None:
    assert replay_traces(GAME) == 3


@pytest.mark.slow
def test_perft() -> None:
    assert te.perft(shared_env(GAME), 4).sequences[1:] == [24, 552, 12144, 255024]
