"""OpenSpiel as a judge: its `hex` plays the same games, with and without a swap, on boards of other sizes, too."""

from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tests.games.shared import shared_env

pyspiel = pytest.importorskip("pyspiel")
pytestmark = pytest.mark.extra("pyspiel")

BOARDS: list[dict[str, Any]] = [{}, {"size": 4}, {"size": 7, "swap": False}]


def play_in_lockstep(config: dict[str, Any], batch: int, seed: int) -> int:
    """Random games in both engines -> the number of swaps.

    At every ply legal actions, players to move, ends and returns must agree; at the end, the boards.
    """
    env, size, swap = shared_env("hex", **config), config.get("size", 11), config.get("swap", True)
    game = pyspiel.load_game("hex", {"board_size": size, "swap": swap})
    state, others = env.init(batch, seed), [game.new_initial_state() for _ in range(batch)]
    returns, swaps = np.zeros((batch, 2)), 0
    while True:
        now = state.numpy()
        returns += now["rewards"]
        ended = np.array([other.is_terminal() for other in others])
        assert (now["terminated"] == ended).all() and not now["truncated"].any()
        for row, other in enumerate(others):
            assert np.flatnonzero(now["legal_action_mask"][row]).tolist() == other.legal_actions(), row
            assert (returns[row] == other.returns()).all(), row
            assert ended[row] or now["current_player"][row] == other.current_player(), row
        if ended.all():
            break
        actions = te.random_policy(state).numpy()
        if swap and now["ply"].max() == 1:
            actions[::3] = size * size
        swaps += int((actions[~ended] == size * size).sum())
        for row in np.flatnonzero(~ended).tolist():
            others[row].apply_action(int(actions[row]))
        state = env.step(state, actions)
    for row, other in enumerate(others):
        signs = [sign for sign in str(other) if sign in ".xo"]
        assert [{".": 0, "x": 1, "o": -1}[sign] for sign in signs] == env.state_to_dict(state, row)["board"]
    assert set(returns[:, 0].tolist()) == {1.0, -1.0}
    return swaps


@pytest.mark.parametrize("config", BOARDS, ids=str)
def test_random_games_agree(config: dict[str, Any]) -> None:
    swaps = play_in_lockstep(config, batch=24, seed=1)
    assert swaps >= 8 if config.get("swap", True) else swaps == 0


@pytest.mark.slow
@pytest.mark.parametrize("config", [*BOARDS, {"size": 13}], ids=str)
def test_a_thousand_random_games_agree(config: dict[str, Any]) -> None:
    play_in_lockstep(config, batch=1000, seed=2)
