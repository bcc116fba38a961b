"""Comparison with OpenSpiel: its `mancala` plays the same games."""

import numpy as np
import pytest

from tests.games.openspiel import OtherNumbers, play_beside
from tests.games.shared import shared_env

pyspiel = pytest.importorskip("pyspiel")
pytestmark = pytest.mark.extra("pyspiel")


class Houses(OtherNumbers):
    """OpenSpiel's state, whose houses are 1 to 6 and 8 to 13, and 7 and 0 the stores."""

    def legal_actions(self) -> list[int]:
        return [action % 7 - 1 for action in self.state.legal_actions()]

    def apply_action(self, action: int) -> None:
        self.state.apply_action(action + 1 + 7 * self.state.current_player())


def play_in_lockstep(batch: int, seed: int) -> set[float]:
    """Play random games in both engines; return the rewards of player 0.

    At every ply legal actions, players to move, ends and returns must agree; at the end, all seeds.
    """
    env, game = shared_env("kalah"), pyspiel.load_game("mancala")
    state, others = env.init(batch, seed), [Houses(game.new_initial_state()) for _ in range(batch)]
    state, returns = play_beside(state, others)
    boards = np.array([other.observation_tensor(0)[:14] for other in others])
    sums = np.stack([boards[:, 1:8].sum(1), boards[:, 8:].sum(1) + boards[:, 0]], 1)  # theirs stay in the houses
    assert (env.observe(state, 0).numpy()[:, [6, 13]] == sums).all()
    return set(returns[:, 0].tolist())


def test_random_games_agree() -> None:
    assert play_in_lockstep(batch=48, seed=1) >= {1.0, -1.0}


@pytest.mark.slow
def test_thousands_of_random_games_agree() -> None:
    assert play_in_lockstep(batch=2000, seed=2) == {1.0, -1.0, 0.0}
