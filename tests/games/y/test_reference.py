"""Y: the tensor engine against the reference ply by ply, golden games, full boards, small boards played out."""

from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tests.games.lockstep import play_in_lockstep, replay_traces
from tests.games.shared import shared_env
from tests.games.y.reference import STONES, Reference

GAME = "y"
BOARDS: list[dict[str, Any]] = [{"size": 7}, {}, {"size": 8}]  # of 8: edges in bit 31
OTHERS: list[dict[str, Any]] = [{"size": size} for size in (1, 2, 4, 6, 13)]


@pytest.mark.few(1)
@pytest.mark.parametrize("config", BOARDS, ids=str)
def test_random_games_agree_with_the_reference(config: dict[str, Any]) -> None:
    returns = play_in_lockstep(GAME, batch=12, seed=4, observe_every=20, **config)
    assert set(returns[:, 0]) == {1.0, -1.0}


@pytest.mark.slow
@pytest.mark.parametrize("config", [*BOARDS, *OTHERS], ids=str)
def test_many_games_agree_with_the_reference(config: dict[str, Any]) -> None:
    play_in_lockstep(GAME, batch=40 if config.get("size", 19) > 11 else 1000, seed=8, **config)


@pytest.mark.slow
def test_golden_games() -> None:
    assert replay_traces(GAME) == 6


def filled(size: int) -> np.ndarray:
    """Return all full boards as lists of stones by the grid's cells."""
    inside = [row * size + column for row in range(size) for column in range(size - row)]
    boards = np.zeros((2 ** len(inside), size * size), int)
    boards[:, inside] = np.array([*product(STONES, repeat=len(inside))])
    return boards


@pytest.mark.few(2)
@pytest.mark.parametrize("size", (2, 3, 4, 5))
def test_one_player_always_connects(size: int) -> None:
    """Check all full boards in the kernel, by their last stone, and those of up to four cells a side in the reference.

    The last stone wins in half of the boards that the other player has not won before, and never in the others.
    """
    boards = filled(size)
    won = 0
    if size < 5:
        for board in boards.tolist():
            game = Reference.from_dict({"board": board, "current_player": 0}, (0, 0), size=size)
            assert game.connected(0) != game.connected(1)
            won += game.connected(0)
        assert won == len(boards) // 2
    env = shared_env(GAME, size=size)
    before = boards[boards[:, 0] == 1]  # the last stone is player 0's, in the corner
    before[:, 0] = 0
    games = [{"board": board, "current_player": 0} for board in before.tolist()]
    state = env.state_from_dicts(games)
    after = env.step(state, [0] * len(games)).numpy()
    open_games = ~state.numpy()["terminated"]
    assert open_games.any() and after["terminated"].all()
    assert (after["rewards"][open_games, 0] == 1).all()  # player 1 has not connected the sides


def winning_openings(size: int) -> list[int]:
    """Return the first cells after which player 0 wins, by searching all positions."""

    @cache
    def wins(board: tuple[int, ...], player: int) -> bool:
        """Return whether the player to move wins."""
        game = Reference.from_dict({"board": board, "current_player": player}, (0, 0), size=size)
        for cell in game.legal_actions():
            after = (*board[:cell], STONES[player], *board[cell + 1 :])
            position = {"board": after, "current_player": 1 - player}
            if Reference.from_dict(position, (0, 0), size=size).terminated or not wins(after, 1 - player):
                return True
        return False

    cells = size * size
    first = Reference((0, 0), size=size).legal_actions()
    return [c for c in first if not wins(tuple(int(c == i) for i in range(cells)), 1)]


def test_winning_openings() -> None:
    for size in (2, 3):
        env = shared_env(GAME, size=size)
        values = te.solve(env).action_values(env.init(1))[0]
        assert winning_openings(size) == np.flatnonzero(values == 1).tolist()
