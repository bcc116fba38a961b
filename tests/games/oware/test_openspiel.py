"""Comparison with OpenSpiel: its `oware` plays the same games, also on boards of other sizes."""

from typing import Any

import numpy as np
import pytest

from tests.games.openspiel import play_beside
from tests.games.shared import shared_env

pyspiel = pytest.importorskip("pyspiel")
pytestmark = pytest.mark.extra("pyspiel")

BOARDS: list[dict[str, int]] = [{}, {"houses": 4, "seeds": 3}]
QUIET = 400  # more plies without a capture than these games have


def play_in_lockstep(config: dict[str, int], batch: int, seed: int) -> set[float]:
    """Play random games in both engines; return the rewards of player 0.

    At every ply legal actions, players to move, ends and returns must agree; at the end, all seeds.
    """
    env = shared_env("oware", quiet_plies=QUIET, **config)
    names = {"houses": "num_houses_per_player", "seeds": "num_seeds_per_house"}
    parameters: dict[str, Any] = {names[name]: n for name, n in config.items()}
    game = pyspiel.load_game("oware", parameters)
    assert game.num_distinct_actions() == env.num_actions
    state, others = env.init(batch, seed), [game.new_initial_state() for _ in range(batch)]
    state, returns = play_beside(state, others)
    n = env.num_actions
    theirs = np.round(np.array([other.observation_tensor(0) for other in others]) * env.rules.total)
    seen = env.observe(state, 0).numpy()
    assert (seen[:, [*range(n), *range(n + 1, 2 * n + 1), n, 2 * n + 1]] == theirs).all()
    return set(returns[:, 0].tolist())


@pytest.mark.few("{}")
@pytest.mark.parametrize("config", BOARDS, ids=str)
def test_random_games_agree(config: dict[str, int]) -> None:
    assert play_in_lockstep(config, batch=48, seed=1) >= {1.0, -1.0}


@pytest.mark.slow
@pytest.mark.parametrize("config", BOARDS, ids=str)
def test_thousands_of_random_games_agree(config: dict[str, int]) -> None:
    assert play_in_lockstep(config, batch=1000, seed=2) == {1.0, -1.0, 0.0}
