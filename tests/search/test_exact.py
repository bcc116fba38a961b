"""Perfect play of small boards and of Shed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import tensor_envs as te
from tensor_envs.search import best_actions, exact, is_solved
from tests.games.shared import shared_env

ROWS = 12


def play(env: te.Env, perfect: Sequence[int]) -> np.ndarray:
    """`ROWS` games of perfect players, random among their best actions, and uniform ones -> returns [B, P]."""
    chance, state = np.random.default_rng(0), env.init(ROWS, 0)
    returns = np.zeros((ROWS, 2))
    while (mask := state.numpy()["legal_action_mask"]).any():
        actions, best = te.agents.uniform(state).numpy(), best_actions(state)
        assert (best <= mask).all() and (best.any(1) == mask.any(1)).all()
        for row in np.flatnonzero(np.isin(state.numpy()["current_player"], perfect) & best.any(1)):
            actions[row] = chance.choice(np.flatnonzero(best[row]))
        state = env.step(state, actions)
        returns += state.numpy()["rewards"]
    return returns


def test_perfect_tic_tac_toe() -> None:
    env = shared_env("tic_tac_toe")
    exact.board_value.cache_clear()
    assert exact.board_value((3, 3), 3, 0, 0) == 0
    positions = exact.board_value.cache_info().currsize
    assert positions == 5478, "the positions of the game, as RULES.md and books say"
    assert (play(env, (0, 1)) == 0).all()
    for player in (0, 1):
        returns = play(env, (player,))[:, player]
        assert (returns >= 0).all() and (returns > 0).any()
    fork = env.state_from_dicts([{"board": [1, 0, 0, 0, -1, 0, 0, 0, 1], "current_player": 1}])
    assert np.flatnonzero(best_actions(fork)[0]).tolist() == [1, 3, 5, 7]  # a corner would lose


def test_perfect_shed_wins_what_is_won() -> None:
    returns = play(shared_env("shed", cards=5), (1,))
    assert (returns == [-1, 1]).all()  # the first position is a loss


def test_what_is_solved() -> None:
    solved = {name for name in te.registered() if is_solved(te.make(name))}
    assert solved == {"tic_tac_toe", "shed"} and not is_solved(te.make("shed", cards=20))
    with pytest.raises(ValueError, match=r"there is no perfect play of .*qubic"):
        best_actions(te.make("qubic").init(1))
    with pytest.raises(TypeError, match="state must be"):
        best_actions(np.zeros(3))  # type: ignore[arg-type]
