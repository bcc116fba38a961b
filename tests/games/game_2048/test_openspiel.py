"""Comparison with OpenSpiel: its `2048` plays the same games, but for the slides that it does not list."""

from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tests.games.shared import shared_env

pyspiel = pytest.importorskip("pyspiel")
pytestmark = pytest.mark.extra("pyspiel")


def tiles(other: Any) -> np.ndarray:
    return np.array(other.observation_tensor(0), np.int64)


def deal(other: Any, board: np.ndarray, cells: list[int]) -> None:
    """Let the tiles in these cells appear in the other engine, which must hold them for as likely as T5 does."""
    for cell in cells:
        outcomes, empty = dict(other.chance_outcomes()), int((tiles(other) == 0).sum())
        outcome = 2 * cell + int(board[cell] == 4)
        assert len(outcomes) == 2 * empty
        assert outcomes[outcome] == pytest.approx((0.1 if board[cell] == 4 else 0.9) / empty)
        other.apply_action(outcome)


def play_in_lockstep(batch: int, seed: int) -> int:
    """Play random games in both engines; return how often OpenSpiel omits slides.

    At every ply boards, rewards, ends and legal actions must agree; a slide that is left out must be one that moves no
    tile and only merges, and the other engine must do it all the same.
    """
    env, game = shared_env("2048"), pyspiel.load_game("2048(max_tile=131072)")
    assert game.num_distinct_actions() == env.num_actions
    state, others = env.init(batch, seed), [game.new_initial_state() for _ in range(batch)]
    boards, left_out = None, 0
    while True:
        now = state.numpy()
        cells = now["board"].reshape(batch, 16)
        boards = np.where(cells, 2**cells, 0)
        for row, other in enumerate(others):
            if other.is_chance_node():
                deal(other, boards[row], np.flatnonzero(tiles(other) != boards[row]).tolist())
            assert (tiles(other) == boards[row]).all()
            assert now["terminated"][row] == other.is_terminal() and not now["truncated"][row]
            ours, theirs = np.flatnonzero(now["legal_action_mask"][row]).tolist(), other.legal_actions()
            assert set(theirs) <= set(ours)
            for action in set(ours) - set(theirs):
                left_out += 1
                tried = other.clone()
                tried.apply_action(action)
                assert tried.is_chance_node() and tried.rewards()[0] > 0
        if now["terminated"].all():
            return left_out
        live, actions = np.flatnonzero(~now["terminated"]), te.agents.uniform(state).numpy()
        state = env.step(state, actions)
        rewards = state.numpy()["rewards"][:, 0]
        for row in live.tolist():
            others[row].apply_action(int(actions[row]))
            assert others[row].rewards() == [rewards[row]]


def test_random_games_agree() -> None:
    assert play_in_lockstep(batch=12, seed=1)


@pytest.mark.slow
def test_a_thousand_random_games_agree() -> None:
    assert play_in_lockstep(batch=1000, seed=2)
