"""Comparison with OpenSpiel: its `nine_mens_morris` plays the same games."""

from typing import Any

import pytest

import tensor_envs as te
from tests.games.openspiel import play_beside
from tests.games.shared import shared_env

pyspiel = pytest.importorskip("pyspiel")
pytestmark = pytest.mark.extra("pyspiel")


def play_in_lockstep(batch: int, seed: int) -> set[float]:
    """Play random games in both engines; return White's rewards.

    At every ply legal actions, players to move, ends and returns must agree; at the end, the boards.
    """
    env, game = shared_env("nine_mens_morris"), pyspiel.load_game("nine_mens_morris")
    assert game.num_distinct_actions() == env.num_actions
    state, others = env.init(batch, seed), [game.new_initial_state() for _ in range(batch)]
    state, returns = play_beside(state, others)
    for row, other in enumerate(others):
        signs = [sign for line in str(other).splitlines()[:13] for sign in line if sign in ".WB"]
        assert [{".": 0, "W": 1, "B": -1}[sign] for sign in signs] == env.state_to_dict(state, row)["board"]
    return set(returns[:, 0].tolist())


def test_random_games_agree() -> None:
    assert {1.0, -1.0} <= play_in_lockstep(batch=24, seed=1)


@pytest.mark.slow
def test_a_thousand_random_games_agree() -> None:
    assert play_in_lockstep(batch=1000, seed=2) == {1.0, -1.0, 0.0}


def sequences(state: Any, depth: int) -> int:
    """Return the number of sequences of so many plies."""
    if depth == 1:
        return len(state.legal_actions())
    return sum(sequences(state.child(action), depth - 1) for action in state.legal_actions())


@pytest.mark.slow
def test_counts_agree() -> None:
    """Check six plies, in the last of which men are removed."""
    found = te.perft(shared_env("nine_mens_morris"), 6, symmetry=True).sequences[6]
    assert found == sequences(pyspiel.load_game("nine_mens_morris").new_initial_state(), 6) == 96223680
