"""Comparison with OpenSpiel: its `amazons` plays the same games on boards of all three sizes."""

from typing import Any

import pytest

from tests.games.openspiel import play_beside
from tests.games.shared import shared_env

pyspiel = pytest.importorskip("pyspiel")
pytestmark = pytest.mark.extra("pyspiel")

SIGNS = {".": 0, "X": 1, "O": -1, "#": 2}


def play_in_lockstep(size: int, batch: int, seed: int) -> set[float]:
    """Play random games in both engines; return White's rewards.

    At every ply legal actions, players to move, ends and returns must agree; at the end, the boards.
    """
    env, game = shared_env("amazons", size=size), pyspiel.load_game("amazons", {"board_size": size})
    assert game.num_distinct_actions() == env.num_actions
    state, others = env.init(batch, seed), [game.new_initial_state() for _ in range(batch)]
    state, returns = play_beside(state, others)
    for row, other in enumerate(others):
        assert [SIGNS[sign] for sign in str(other) if sign in SIGNS] == env.state_to_dict(state, row)["board"]
    return set(returns[:, 0].tolist())


@pytest.mark.few(1)
@pytest.mark.parametrize("size", (6, 10))
def test_random_games_agree(size: int) -> None:
    assert play_in_lockstep(size, batch=24, seed=1) == {1.0, -1.0}


@pytest.mark.slow
@pytest.mark.parametrize("size", (6, 8, 10))
def test_a_thousand_random_games_agree(size: int) -> None:
    assert play_in_lockstep(size, batch=1000, seed=2) == {1.0, -1.0}


def sequences(state: Any, depth: int) -> int:
    """Return the number of sequences of so many plies."""
    if depth == 1:
        return len(state.legal_actions())
    return sum(sequences(state.child(action), depth - 1) for action in state.legal_actions())


def test_counts_agree() -> None:
    assert sequences(pyspiel.load_game("amazons").new_initial_state(), 3) == 2176


@pytest.mark.slow
def test_counts_of_two_turns_agree() -> None:
    assert sequences(pyspiel.load_game("amazons").new_initial_state(), 6) == 4307152
