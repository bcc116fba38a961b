"""Comparison with OpenSpiel: its `connect_four` plays the same games, also on boards of other sizes."""

from typing import Any

import numpy as np
import pytest

from tests.games.openspiel import play_beside
from tests.games.shared import shared_env

pyspiel = pytest.importorskip("pyspiel")
pytestmark = pytest.mark.extra("pyspiel")

BOARDS: list[dict[str, int]] = [
    {},
    {"rows": 4, "columns": 4, "k": 4},
    {"rows": 5, "columns": 9, "k": 3},
    {"rows": 9, "columns": 11, "k": 5},
]


def play_in_lockstep(config: dict[str, int], rows: int, seed: int) -> set[float]:
    """Play random games in both engines; return the rewards of player 0.

    At every ply legal actions, players to move, ends and returns must agree; at the end, the boards.
    """
    env = shared_env("connect_four", **config)
    parameters: dict[str, Any] = {"x_in_row" if name == "k" else name: n for name, n in config.items()}
    game = pyspiel.load_game("connect_four", parameters)
    assert game.num_distinct_actions() == env.num_actions
    state, others = env.init(rows, seed), [game.new_initial_state() for _ in range(rows)]
    state, returns = play_beside(state, others)
    planes = np.array([other.observation_tensor(0) for other in others])
    planes = planes.reshape(rows, 3, *env.observation_shape[1:])[:, :2, ::-1]  # theirs begin with the lowest row
    assert (env.observe(state, 0).numpy() == planes).all()
    return set(returns[:, 0].tolist())


@pytest.mark.parametrize("config", BOARDS, ids=str)
def test_random_games_agree(config: dict[str, int]) -> None:
    play_in_lockstep(config, rows=48, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("config", BOARDS, ids=str)
def test_thousands_of_random_games_agree(config: dict[str, int]) -> None:
    play_in_lockstep(config, rows=3000, seed=2)


def test_every_result_is_among_the_games_compared() -> None:
    assert play_in_lockstep(BOARDS[1], rows=48, seed=3) == {1.0, -1.0, 0.0}
