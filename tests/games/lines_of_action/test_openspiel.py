"""Comparison with OpenSpiel: its `lines_of_action` plays the same games."""

import numpy as np
import pytest

from tensor_envs.games.lines_of_action.rules import BACK, PLANES
from tests.games.openspiel import OtherNumbers, play_beside
from tests.games.shared import shared_env

pyspiel = pytest.importorskip("pyspiel")
pytestmark = pytest.mark.extra("pyspiel")

QUIET = 400  # more plies without a capture than these games have


class Planes(OtherNumbers):
    """OpenSpiel's state, whose actions are those of two squares and whether it is a capture."""

    def legal_actions(self) -> list[int]:
        return sorted(map(self.number, self.state.legal_actions()))

    def number(self, action: int) -> int:
        start, end = action // 128, action // 2 % 64
        step = (end // 8 - start // 8, end % 8 - start % 8)
        return 64 * (PLANES if step in PLANES else BACK).index(step) + start

    def apply_action(self, action: int) -> None:
        plane, square = divmod(action, 64)
        ends = [(square // 8 + up, square % 8 + right) for up, right in (PLANES[plane], BACK[plane])]
        (end,) = (8 * row + column for row, column in ends if 0 <= row < 8 and 0 <= column < 8)
        number = 128 * square + 2 * end
        self.state.apply_action(number + (number not in self.state.legal_actions()))


def play_in_lockstep(batch: int, seed: int) -> set[float]:
    """Play random games in both engines; return the rewards of player 0.

    At every ply legal actions, players to move, ends and returns must agree; at the end, the boards.
    """
    env, game = shared_env("lines_of_action", quiet_plies=QUIET), pyspiel.load_game("lines_of_action")
    state, others = env.init(batch, seed), [Planes(game.new_initial_state()) for _ in range(batch)]
    state, returns = play_beside(state, others)
    planes = np.array([other.observation_tensor(0) for other in others]).reshape(batch, 3, 8, 8)
    assert (env.observe(state, 0).numpy() == planes[:, :2]).all()  # theirs end with the empty squares
    return set(returns[:, 0].tolist())


def test_random_games_agree() -> None:
    assert play_in_lockstep(batch=24, seed=1) == {1.0, -1.0, 0.0}


@pytest.mark.slow
def test_thousands_of_random_games_agree() -> None:
    assert play_in_lockstep(batch=1000, seed=2) == {1.0, -1.0, 0.0}
