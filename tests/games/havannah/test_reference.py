"""Havannah: the tensor engine against the reference ply by ply, golden games, and small boards played out."""

from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tests.games.chance import policy_key, uniform_action
from tests.games.havannah.reference import Reference
from tests.games.lockstep import play_in_lockstep, replay_traces
from tests.games.shared import shared_env

GAME = "havannah"
BOARDS: list[dict[str, Any]] = [{"size": 4, "swap": True}, {}, {"size": 3}]
OTHERS: list[dict[str, Any]] = [{"size": 2}, {"size": 5, "swap": True}, {"size": 10}]


@pytest.mark.few(1)
@pytest.mark.parametrize("config", BOARDS, ids=str)
def test_random_games_agree_with_the_reference(config: dict[str, Any]) -> None:
    returns = play_in_lockstep(GAME, batch=12, seed=4, observe_every=20, **config)
    assert set(returns[:, 0]) >= {1.0, -1.0}


@pytest.mark.slow
@pytest.mark.parametrize("config", [*BOARDS, *OTHERS], ids=str)
def test_many_games_agree_with_the_reference(config: dict[str, Any]) -> None:
    play_in_lockstep(GAME, batch=40 if config.get("size", 8) > 5 else 1000, seed=8, **config)


@pytest.mark.slow
def test_golden_games() -> None:
    assert replay_traces(GAME) == 6


def filled(row: int, size: int, bias: int) -> Reference:
    """Return a random position of a seed in which player 0 has won nothing, with an empty cell or two."""
    key = policy_key(7, row)
    game = Reference((0, 0), size=size)
    for ply, place in enumerate(game.board):
        game.board[place] = 1 if uniform_action(key, ply, [*range(bias)]) else -1
        if game.has_won(0):
            game.board[place] = -1
    return game


@pytest.mark.parametrize("bias", (3, 9))
def test_all_last_stones_of_crowded_boards(bias: int) -> None:
    """Check every stone of player 0 on crowded boards, on which rings of all kinds are frequent.

    The opponent's stones are removed, so that only player 0 can have won before.
    """
    env = shared_env(GAME, size=4, swap=True)
    positions, actions, expected = [], [], []
    reasons = {"bridge or fork": 0, "ring": 0, "none": 0}
    for row in range(12):
        game = filled(row, 4, bias)
        own = [place for place, stone in game.board.items() if stone == 1]
        for place in [place for place, stone in game.board.items() if stone == -1]:
            after = Reference((0, 0), size=4)
            after.board |= dict.fromkeys(own, 1)
            positions.append(after.to_dict() | {"current_player": 0})
            actions.append(place[0] * after.side + place[1])
            after.board[place] = 1
            expected.append(after.has_won(0))
            kind = "ring" if after.has_ring(0) else "bridge or fork" if expected[-1] else "none"
            reasons[kind] += 1
    state = env.step(env.state_from_dicts(positions), actions)
    assert state.terminated.numpy().tolist() == expected and min(reasons.values()) > 2, reasons


def test_perft_and_small_boards() -> None:
    assert te.perft(shared_env(GAME, size=2), 5).sequences[1:] == [7, 42, 210, 600, 1296]
    env = shared_env(GAME, size=2)
    assert te.solve(env).value(env.init(1)).tolist() == [1]


@pytest.mark.slow
def test_three_cells_a_side_under_best_play() -> None:
    env = shared_env(GAME, size=3)
    assert te.solve(env, method="search").value(env.init(1)).tolist() == [1]


def test_numbers_of_groups() -> None:
    """Check that group numbers read from a board equal those of the played game."""
    env = shared_env(GAME, size=4, swap=True)
    state = env.init(12, 3)
    for _ in range(12):
        legal = state.numpy()["legal_action_mask"]
        state = env.step(state, [int(np.flatnonzero(row)[-1 - row.sum() // 3]) if row.any() else 0 for row in legal])
        again = env.state_from_dicts([env.state_to_dict(state, i) for i in range(12)])
        assert (again.groups.numpy() == state.groups.numpy()).all()
