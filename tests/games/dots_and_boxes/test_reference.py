"""Dots and boxes: the tensor engine against the reference ply by ply, golden games, counts."""

from math import perm
from typing import Any

import pytest

import tensor_envs as te
from tests.games.lockstep import play_in_lockstep, replay_traces
from tests.games.shared import shared_env

GAME = "dots_and_boxes"
GRIDS: list[dict[str, Any]] = [{}, {"rows": 1, "columns": 1}, {"rows": 2, "columns": 3}, {"rows": 4, "columns": 1}]
LARGE: list[dict[str, Any]] = [{"rows": 10, "columns": 10}, {"rows": 3, "columns": 10}, {"rows": 7, "columns": 4}]


@pytest.mark.slow
@pytest.mark.parametrize("config", GRIDS, ids=str)
def test_random_games_agree_with_the_reference(config: dict[str, Any]) -> None:
    returns = play_in_lockstep(GAME, batch=24, seed=4, observe_every=9, **config)
    assert {1.0, -1.0} <= set(returns[:, 0]) or config["rows"] == 1


@pytest.mark.slow
@pytest.mark.parametrize("config", [*GRIDS, *LARGE], ids=str)
def test_many_games_agree_with_the_reference(config: dict[str, Any]) -> None:
    play_in_lockstep(GAME, batch=1000 if config in GRIDS else 100, seed=8, observe_every=31, **config)


@pytest.mark.slow
def test_golden_games() -> None:
    assert replay_traces(GAME) == 6


@pytest.mark.parametrize("config", GRIDS[:3], ids=str)
def test_perft(config: dict[str, Any]) -> None:
    env, depth = shared_env(GAME, **config), 4
    assert te.perft(env, depth).sequences[1:] == [perm(env.num_actions, n) for n in range(1, depth + 1)]
