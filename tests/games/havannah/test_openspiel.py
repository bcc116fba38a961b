"""Comparison with OpenSpiel: its `havannah` plays the same games, with and without a swap, also on other boards."""

from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tests.games.openspiel import play_beside, random_actions
from tests.games.shared import shared_env

pyspiel = pytest.importorskip("pyspiel")
pytestmark = pytest.mark.extra("pyspiel")

BOARDS: list[dict[str, Any]] = [{"size": 4, "swap": True}, {"size": 3}, {"size": 8}]
OTHERS: list[dict[str, Any]] = [{"size": 2}, {"size": 2, "swap": True}, {"size": 5}, {"size": 10}]


def play_in_lockstep(config: dict[str, Any], batch: int, seed: int, rings: bool = False) -> set[str]:
    """Play games in both engines; return why they were won.

    At every ply legal actions, players to move, ends and returns must agree; at the end, the observations.

    Args:
        rings: whether a player prefers cells that touch exactly two of its own stones, so that rings are frequent.
    """
    env, size, swap = shared_env("havannah", **config), config["size"], config.get("swap", False)
    game = pyspiel.load_game("havannah", {"board_size": size, "swap": swap})
    state, others = env.init(batch, seed), [game.new_initial_state() for _ in range(batch)]
    rng = np.random.default_rng(seed)
    near = env.rules.neighbours

    def curling(state: te.State, ended: np.ndarray) -> np.ndarray:
        actions = random_actions(state, ended)
        for row in np.flatnonzero(~ended).tolist():
            position = env.state_to_dict(state, row)
            board, own = position["board"], (1, -1)[position["current_player"]]
            legal = rng.permutation([*env.legal_actions(state, row)]).tolist()
            bends = [cell for cell in legal if sum(board[other] == own for other in near(cell)) == 2]
            actions[row] = (bends or legal)[0]
        return actions

    state, _ = play_beside(state, others, curling if rings else random_actions)
    for player in (0, 1):
        planes = np.array([other.observation_tensor(player) for other in others])
        assert (env.observe(state, player).numpy() == planes.reshape(batch, *env.observation_shape)).all()
    start = game.new_initial_state()
    assert all(env.action_names[action] == start.action_to_string(0, action) for action in start.legal_actions())
    return {env.rules.winning(env.state_to_dict(state, row)["board"])[1] for row in range(batch)}


@pytest.mark.few(1)
@pytest.mark.parametrize("config", BOARDS, ids=str)
def test_random_games_agree(config: dict[str, Any]) -> None:
    assert play_in_lockstep(config, batch=24, seed=1) >= {"a bridge", "a fork"}


@pytest.mark.slow
@pytest.mark.parametrize("config", [*BOARDS, *OTHERS], ids=str)
def test_a_thousand_random_games_agree(config: dict[str, Any]) -> None:
    play_in_lockstep(config, batch=1000, seed=2)


@pytest.mark.slow
@pytest.mark.parametrize(("config", "batch"), (({"size": 4, "swap": True}, 400), ({"size": 6}, 40)), ids=str)
def test_games_of_rings_agree(config: dict[str, Any], batch: int) -> None:
    assert "a ring" in play_in_lockstep(config, batch, seed=3, rings=True)


@pytest.mark.parametrize("last", range(7))
def test_rings_around_own_stones_agree(last: int) -> None:
    """Check each stone of a full hexagon as the last one; without the one in the middle there is a ring before."""
    env = shared_env("havannah", size=4, swap=True)
    cells = [16, 17, 23, 24, 25, 31, 32]
    cells.append(cells.pop(last))
    elsewhere = [0, 2, 14, 34, 46, 48]
    other = pyspiel.load_game("havannah", {"board_size": 4, "swap": True}).new_initial_state()
    state = env.init(1)
    for ply in range(13):
        assert state.terminated.tolist() == [other.is_terminal()] == [last == 3 and ply > 10]
        action = (elsewhere if ply % 2 else cells)[ply // 2]
        if not other.is_terminal():
            other.apply_action(action)
        state = env.step(state, [action])
    assert other.is_terminal() and state.terminated.tolist() == [True]
