"""Comparison with OpenSpiel: its `dots_and_boxes` plays the same games on grids of all sizes."""

from typing import Any

import pytest

import tensor_envs as te
from tests.games.openspiel import play_beside
from tests.games.shared import shared_env

pyspiel = pytest.importorskip("pyspiel")
pytestmark = pytest.mark.extra("pyspiel")

GRIDS: list[dict[str, Any]] = [{}, {"rows": 2, "columns": 2}, {"rows": 3, "columns": 4}]


def play_in_lockstep(config: dict[str, Any], batch: int, seed: int) -> set[float]:
    """Play random games in both engines; return the first player's rewards.

    At every ply legal actions, players to move, ends and returns must agree; at the end, the boxes' owners.
    """
    env = shared_env("dots_and_boxes", **config)
    game = pyspiel.load_game("dots_and_boxes", {"num_rows": env.rules.rows, "num_cols": env.rules.columns})
    assert game.num_distinct_actions() == env.num_actions
    state, others = env.init(batch, seed), [game.new_initial_state() for _ in range(batch)]
    state, returns = play_beside(state, others)
    for row, other in enumerate(others):
        owners = [{"1": 1, "2": -1}[sign] for sign in str(other) if sign in "12"]
        assert owners == env.state_to_dict(state, row)["boxes"]
    return set(returns[:, 0].tolist())


@pytest.mark.few(1)
@pytest.mark.parametrize("config", GRIDS, ids=str)
def test_random_games_agree(config: dict[str, Any]) -> None:
    assert {1.0, -1.0} <= play_in_lockstep(config, batch=24, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("config", [*GRIDS, {"rows": 7, "columns": 6}], ids=str)
def test_a_thousand_random_games_agree(config: dict[str, Any]) -> None:
    assert {1.0, -1.0} <= play_in_lockstep(config, batch=1000, seed=2)


@pytest.mark.parametrize("columns", (1, 2, 3))
def test_values_agree(columns: int) -> None:
    """Check the value of best play on a row of boxes."""
    minimax = pytest.importorskip("open_spiel.python.algorithms.minimax")
    game = pyspiel.load_game("dots_and_boxes", {"num_rows": 1, "num_cols": columns})
    value, _ = minimax.alpha_beta_search(game, maximum_depth=20, maximizing_player_id=0)
    env = shared_env("dots_and_boxes", rows=1, columns=columns)
    assert te.solve(env).value(env.init(1)).tolist() == [value]
