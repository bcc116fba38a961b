"""Comparison with OpenSpiel: its `clobber` plays the same games, also on boards of other sizes.

Its player 0 has the stones of a1, too. Its rows are numbered from the top, and it has no boards of one row.
"""

from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tests.games.openspiel import OtherNumbers, play_beside
from tests.games.shared import shared_env

pyspiel = pytest.importorskip("pyspiel")
pytestmark = pytest.mark.extra("pyspiel")

BOARDS: list[dict[str, int]] = [{}, {"rows": 4, "columns": 7}]
DIRECTIONS = [3, 2, 0, 1]  # ours of theirs: up, right, down, left


class Directions(OtherNumbers):
    """OpenSpiel's state, whose actions are those of a cell and a direction, the last row first."""

    rows: int
    columns: int

    def legal_actions(self) -> list[int]:
        return sorted(map(self.number, self.state.legal_actions()))

    def number(self, action: int) -> int:
        """Return our number of OpenSpiel's action."""
        cell, direction = divmod(action, 4)
        row, column = divmod(cell, self.columns)
        return (DIRECTIONS[direction] * self.rows + self.rows - 1 - row) * self.columns + column

    def apply_action(self, action: int) -> None:
        theirs = {self.number(legal): legal for legal in self.state.legal_actions()}
        self.state.apply_action(theirs[action])


def play_in_lockstep(config: dict[str, int], batch: int, seed: int) -> set[float]:
    """Play random games in both engines; return the rewards of player 0.

    At every ply legal actions, players to move, ends and returns must agree; at the end, the boards.
    """
    env, game = shared_env("clobber", **config), pyspiel.load_game("clobber", config)
    _, Directions.rows, Directions.columns = env.observation_shape
    state, others = env.init(batch, seed), [Directions(game.new_initial_state()) for _ in range(batch)]
    state, returns = play_beside(state, others)
    planes = np.array([other.observation_tensor(0) for other in others])
    planes = planes.reshape(batch, 3, *env.observation_shape[1:])[:, :2, ::-1]  # theirs end with the empty cells
    assert (env.observe(state, 0).numpy()[:, :2] == planes).all()
    return set(returns[:, 0].tolist())


@pytest.mark.few(1)
@pytest.mark.parametrize("config", BOARDS, ids=str)
def test_random_games_agree(config: dict[str, int]) -> None:
    assert play_in_lockstep(config, batch=24, seed=1) == {1.0, -1.0}


@pytest.mark.slow
@pytest.mark.parametrize("config", BOARDS, ids=str)
def test_a_thousand_random_games_agree(config: dict[str, int]) -> None:
    assert play_in_lockstep(config, batch=1000, seed=2) == {1.0, -1.0}


@pytest.mark.few(1)
@pytest.mark.parametrize("board", ((2, 2), (2, 3), (3, 3), (2, 5), (3, 4)), ids=str)
def test_values_of_small_boards(board: tuple[int, int]) -> None:
    minimax = pytest.importorskip("open_spiel.python.algorithms.minimax")
    config = dict(zip(("rows", "columns"), board, strict=True))
    theirs, _ = minimax.alpha_beta_search(pyspiel.load_game("clobber", config))
    env = shared_env("clobber", **config)
    assert int(te.solve(env).value(env.init(1)).item()) == theirs


def count(state: Any, plies: int) -> int:
    """Return the number of sequences of OpenSpiel's legal moves."""
    actions = state.legal_actions()
    return len(actions) if plies == 1 else sum(count(state.child(action), plies - 1) for action in actions)


def test_counts_of_sequences() -> None:
    start = pyspiel.load_game("clobber").new_initial_state()
    assert te.perft(shared_env("clobber"), 3).sequences[1:] == [count(start, plies) for plies in (1, 2, 3)]
