"""Comparison with OpenSpiel: its `kuhn_poker` plays the same games."""

import numpy as np
import pytest

import tensor_envs as te
from tests.games.openspiel import play_beside
from tests.games.shared import observe, shared_env

pyspiel = pytest.importorskip("pyspiel")
pytestmark = pytest.mark.extra("pyspiel")


def play_in_lockstep(batch: int, seed: int) -> None:
    """Play random games in both engines; compare masks, players, ends, returns and observations at every ply."""
    env, game = shared_env("kuhn_poker"), pyspiel.load_game("kuhn_poker")
    assert game.num_distinct_actions() == env.num_actions
    state, others = env.init(batch, seed), [game.new_initial_state() for _ in range(batch)]
    for cards, other in zip(state.cards.numpy().tolist(), others, strict=True):
        for card in cards:
            assert other.is_chance_node()
            other.apply_action(card)

    def look(state: te.State) -> None:
        for player in (0, 1):
            theirs = np.array([other.information_state_tensor(player) for other in others])
            assert (observe(state, player) == theirs).all()

    _, returns = play_beside(state, others, look=look)
    assert set(returns[:, 0].tolist()) == {1.0, -1.0, 2.0, -2.0}


def test_random_games_agree() -> None:
    play_in_lockstep(batch=300, seed=1)


@pytest.mark.slow
def test_thousands_of_random_games_agree() -> None:
    play_in_lockstep(batch=20_000, seed=2)
