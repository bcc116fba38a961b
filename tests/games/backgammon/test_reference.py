"""Backgammon: the tensor engine against the reference ply by ply, golden games, openings."""

import numpy as np
import pytest

from tests.games.lockstep import play_in_lockstep, replay_traces
from tests.games.shared import shared_env

GAME = "backgammon"


@pytest.mark.slow
def test_random_games_agree_with_the_reference() -> None:
    returns = play_in_lockstep(GAME, batch=2, seed=4, observe_every=50)
    assert np.isin(np.abs(returns), (1, 2, 3)).all() and (returns.sum(1) == 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("gammons", [True, False])
def test_many_games_agree_with_the_reference(gammons: bool) -> None:
    returns = play_in_lockstep(GAME, batch=500, seed=8, gammons=gammons)
    assert set(np.abs(returns).ravel()) == ({1, 2, 3} if gammons else {1})


@pytest.mark.slow
def test_games_of_a_length() -> None:
    assert not play_in_lockstep(GAME, batch=4, seed=1, max_plies=9).any()


@pytest.mark.slow
def test_golden_games() -> None:
    assert replay_traces(GAME) == 3


def test_openings() -> None:
    """Check that thirty throws are equally likely and that the higher number begins (B2)."""
    state = shared_env(GAME).init(60_000, seed=5).numpy()
    assert set(state["dice"].sum(1)) == {2} and state["dice"].max() == 1
    low, high = state["dice"].argmax(1), 5 - state["dice"][:, ::-1].argmax(1)
    found, counts = np.unique(36 * state["current_player"] + 6 * low + high, return_counts=True)
    assert len(found) == 30 and abs(counts - 2000).max() < 5 * 2000**0.5
