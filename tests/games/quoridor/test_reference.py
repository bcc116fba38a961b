"""Quoridor: the tensor engine against the reference ply by ply, golden games, counts."""

from typing import Any

import pytest

import tensor_envs as te
from tests.games.lockstep import play_in_lockstep, replay_traces
from tests.games.shared import shared_env

GAME = "quoridor"
BOARDS: list[dict[str, Any]] = [{"size": 5, "walls": 6}, {"size": 3, "walls": 1}, {"size": 6, "walls": 9}]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("config", "batch"), [*((config, 6) for config in BOARDS), pytest.param({}, 1, marks=pytest.mark.slow)], ids=str
)
def test_random_games_agree_with_the_reference(config: dict[str, Any], batch: int) -> None:
    returns = play_in_lockstep(GAME, batch, seed=4, observe_every=10, **config)
    assert {1.0, -1.0} <= set(returns[:, 0]) or batch == 1


@pytest.mark.slow
@pytest.mark.parametrize(("config", "batch"), [({}, 200), ({"walls": 20}, 60), *((c, 2000) for c in BOARDS)], ids=str)
def test_many_games_agree_with_the_reference(config: dict[str, Any], batch: int) -> None:
    returns = play_in_lockstep(GAME, batch, seed=8, observe_every=31, **config)
    assert {1.0, -1.0} <= set(returns[:, 0])


@pytest.mark.slow
def test_golden_games() -> None:
    assert replay_traces(GAME, 16) == 4


def test_perft() -> None:
    """Check the first ply, and that the second has only a few walls less."""
    assert te.perft(shared_env(GAME), 2).sequences[1:] == [131, 16677]
