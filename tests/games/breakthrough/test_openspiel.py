"""Comparison with OpenSpiel: its `breakthrough` plays the same games, also on boards of other sizes.

Its black begins and moves down from its row 0, as our white moves up from row 1, so that cells have the same numbers.
"""

import numpy as np
import pytest

from tests.games.openspiel import OtherNumbers, play_beside
from tests.games.shared import shared_env

pyspiel = pytest.importorskip("pyspiel")
pytestmark = pytest.mark.extra("pyspiel")

BOARDS: list[dict[str, int]] = [{}, {"rows": 6, "columns": 5}]


class Directions(OtherNumbers):
    """OpenSpiel's state, whose actions are those of a cell, a direction, and whether it is a capture."""

    cells: int

    def legal_actions(self) -> list[int]:
        return sorted(a // 2 % 6 * self.cells + a // 12 for a in self.state.legal_actions())

    def apply_action(self, action: int) -> None:
        direction, cell = divmod(action, self.cells)
        number = 12 * cell + 2 * direction
        self.state.apply_action(number + (number not in self.state.legal_actions()))


def play_in_lockstep(config: dict[str, int], batch: int, seed: int) -> set[float]:
    """Play random games in both engines; return the rewards of player 0.

    At every ply legal actions, players to move, ends and returns must agree; at the end, the boards.
    """
    env, game = shared_env("breakthrough", **config), pyspiel.load_game("breakthrough", config)
    state, others = env.init(batch, seed), [Directions(game.new_initial_state()) for _ in range(batch)]
    Directions.cells = env.rules.cells
    state, returns = play_beside(state, others)
    planes = np.array([other.observation_tensor(0) for other in others])
    planes = planes.reshape(batch, 3, *env.observation_shape[1:])[:, :2]  # theirs end with the empty cells
    assert (env.observe(state, 0).numpy()[:, :2] == planes).all()
    return set(returns[:, 0].tolist())


@pytest.mark.few(1)
@pytest.mark.parametrize("config", BOARDS, ids=str)
def test_random_games_agree(config: dict[str, int]) -> None:
    assert play_in_lockstep(config, batch=24, seed=1) == {1.0, -1.0}


@pytest.mark.slow
@pytest.mark.parametrize("config", BOARDS, ids=str)
def test_thousands_of_random_games_agree(config: dict[str, int]) -> None:
    assert play_in_lockstep(config, batch=1000, seed=2) == {1.0, -1.0}
