"""Comparison with OpenSpiel: its `hex` plays the same games, with and without a swap, also on boards of other sizes."""

from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tests.games.openspiel import play_beside, random_actions
from tests.games.shared import shared_env

pyspiel = pytest.importorskip("pyspiel")
pytestmark = pytest.mark.extra("pyspiel")

BOARDS: list[dict[str, Any]] = [{}, {"size": 4}, {"size": 7, "swap": False}]


def play_in_lockstep(config: dict[str, Any], batch: int, seed: int) -> int:
    """Play random games in both engines; return the number of swaps.

    At every ply legal actions, players to move, ends and returns must agree; at the end, the boards.
    """
    env, size, swap = shared_env("hex", **config), config.get("size", 11), config.get("swap", True)
    game = pyspiel.load_game("hex", {"board_size": size, "swap": swap})
    state, others = env.init(batch, seed), [game.new_initial_state() for _ in range(batch)]
    swaps = 0

    def some_swap(state: te.State, ended: np.ndarray) -> np.ndarray:
        nonlocal swaps
        actions = random_actions(state, ended)
        if swap and state.ply.numpy().max() == 1:
            actions[::3] = size * size
        swaps += int((actions[~ended] == size * size).sum())
        return actions

    state, returns = play_beside(state, others, some_swap)
    for row, other in enumerate(others):
        signs = [sign for sign in str(other) if sign in ".xo"]
        assert [{".": 0, "x": 1, "o": -1}[sign] for sign in signs] == env.state_to_dict(state, row)["board"]
    assert set(returns[:, 0].tolist()) == {1.0, -1.0}
    return swaps


@pytest.mark.few(1)
@pytest.mark.parametrize("config", BOARDS, ids=str)
def test_random_games_agree(config: dict[str, Any]) -> None:
    swaps = play_in_lockstep(config, batch=24, seed=1)
    assert swaps >= 8 if config.get("swap", True) else swaps == 0


@pytest.mark.slow
@pytest.mark.parametrize("config", [*BOARDS, {"size": 13}], ids=str)
def test_a_thousand_random_games_agree(config: dict[str, Any]) -> None:
    play_in_lockstep(config, batch=1000, seed=2)
