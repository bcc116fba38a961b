"""Comparison with OpenSpiel: its `phantom_ttt` plays the same games."""

import pytest

from tests.games.phantom import play_beside_openspiel
from tests.games.shared import shared_env

pytestmark = pytest.mark.extra("pyspiel")
VERSIONS = {False: "classical", True: "abrupt"}


@pytest.mark.parametrize("abrupt", VERSIONS)
@pytest.mark.parametrize("batch", [100, pytest.param(2000, marks=pytest.mark.slow)])
def test_random_games_agree(abrupt: bool, batch: int) -> None:
    env, name = shared_env("phantom_tic_tac_toe", abrupt=abrupt), f"phantom_ttt(gameversion={VERSIONS[abrupt]})"
    returns = play_beside_openspiel(env, name, batch, seed=1)
    assert set(returns[:, 0].tolist()) == {1.0, 0.0, -1.0}
