"""Comparison with OpenSpiel: its `ultimate_tic_tac_toe` plays the same games, where a board is chosen by an action."""

from typing import Any

import numpy as np
import pytest

from tests.games.openspiel import OtherNumbers, play_beside
from tests.games.shared import shared_env

pyspiel = pytest.importorskip("pyspiel")
pytestmark = pytest.mark.extra("pyspiel")

PLACES = [(27 * (b // 3) + 3 * (b % 3) + 9 * (c // 3) + c % 3) for b in range(9) for c in range(9)]  # theirs to ours


class OneActionAPly(OtherNumbers):
    """OpenSpiel's state, where a choice of a board and one of a cell are a single action."""

    def legal_actions(self) -> list[int]:
        boards = self.boards()
        return sorted(PLACES[9 * b + c] for b in boards for c in self.in_board(b).legal_actions())

    def boards(self) -> list[int]:
        """Return the boards from which the player may choose."""
        if self.state.is_terminal():
            return []
        forced = str(self.state).rpartition("Forced board: ")[2]
        return list(self.state.legal_actions()) if forced == "any" else [int(forced)]

    def in_board(self, board: int) -> Any:
        """Return the state in which the board is chosen."""
        if "Forced board: any" not in str(self.state):
            return self.state
        state = self.state.clone()
        state.apply_action(board)
        return state

    def apply_action(self, action: int) -> None:
        board, cell = divmod(PLACES.index(action), 9)
        self.state = self.in_board(board)
        self.state.apply_action(cell)


def play_in_lockstep(batch: int, seed: int) -> set[float]:
    """Play random games in both engines; return the rewards of player 0.

    At every ply legal actions, players to move, ends and returns must agree; at the end, the boards.
    """
    env, game = shared_env("ultimate_tic_tac_toe"), pyspiel.load_game("ultimate_tic_tac_toe")
    state, others = env.init(batch, seed), [OneActionAPly(game.new_initial_state()) for _ in range(batch)]
    state, returns = play_beside(state, others)
    planes = np.array([other.state.observation_tensor(0)[:243] for other in others]).reshape(batch, 3, 81)
    seen = env.observe(state, 0).numpy()[:, :2].reshape(batch, 2, 81)[:, :, PLACES]
    assert (seen == planes[:, :0:-1]).all()  # theirs are empty cells, noughts, crosses
    return set(returns[:, 0].tolist())


def test_random_games_agree() -> None:
    assert play_in_lockstep(batch=48, seed=1) >= {1.0, -1.0}


@pytest.mark.slow
def test_thousands_of_random_games_agree() -> None:
    assert play_in_lockstep(batch=2000, seed=2) == {1.0, -1.0, 0.0}
