"""Breakthrough: the tensor engine against the reference ply by ply, golden games, and counts."""

from typing import Any

import pytest

import tensor_envs as te
from tests.games.breakthrough.reference import Reference
from tests.games.lockstep import play_in_lockstep, replay_traces
from tests.games.shared import shared_env

GAME = "breakthrough"
BOARDS: list[dict[str, Any]] = [
    {},
    {"rows": 5, "columns": 4},
    {"rows": 4, "columns": 2},
    {"rows": 7, "columns": 11},
    {"rows": 16, "columns": 16},
]


@pytest.mark.slow
@pytest.mark.parametrize("config", BOARDS, ids=str)
def test_random_games_agree_with_the_reference(config: dict[str, Any]) -> None:
    returns = play_in_lockstep(GAME, batch=24, seed=4, observe_every=9, **config)
    assert set(returns[:, 0]) == {1.0, -1.0}


@pytest.mark.slow
@pytest.mark.parametrize("config", BOARDS[:4], ids=str)
def test_many_games_agree_with_the_reference(config: dict[str, Any]) -> None:
    play_in_lockstep(GAME, batch=1000, seed=8, **config)


@pytest.mark.slow
def test_golden_games() -> None:
    assert replay_traces(GAME) == 6


def count(game: Reference, plies: int) -> int:
    """Return the number of sequences of legal moves, by the reference."""
    if plies == 0:
        return 1
    total = 0
    for action in game.legal_actions():
        after = Reference.from_dict(game.to_dict(), (0, 0), rows=game.rows, columns=game.columns)
        after.apply(action)
        total += count(after, plies - 1)
    return total


def test_perft() -> None:
    assert te.perft(shared_env(GAME), 4, symmetry=True).sequences[1:] == [22, 484, 11132, 256036]


def test_perft_of_a_small_board() -> None:
    game = Reference((0, 0), rows=4, columns=3)
    found = te.perft(shared_env(GAME, rows=4, columns=3), 4)
    assert found.sequences[1:] == [count(game, plies) for plies in range(1, 5)]
