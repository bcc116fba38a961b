"""Kalah: the tensor engine against the reference ply by ply, golden games, published values."""

from typing import Any

import pytest

import tensor_envs as te
from tests.games.kalah.reference import Reference
from tests.games.lockstep import play_in_lockstep, replay_traces
from tests.games.shared import shared_env

GAME = "kalah"
BOARDS: list[dict[str, Any]] = [{}, {"houses": 2, "seeds": 9}, {"houses": 1, "seeds": 5}, {"houses": 16, "seeds": 64}]
# results of the first player for 1 to 6 seeds in each house: Irving, Donkers and Uiterwijk (2000)
RESULTS = {1: "DLWLWD", 2: "WLLLWW", 3: "DWWWWL"}
VALUES = {"W": 1, "D": 0, "L": -1}


@pytest.mark.few("{}")
@pytest.mark.parametrize("config", BOARDS, ids=str)
def test_random_games_agree_with_the_reference(config: dict[str, Any]) -> None:
    play_in_lockstep(GAME, batch=24, seed=4, observe_every=5, **config)


@pytest.mark.slow
@pytest.mark.parametrize("config", BOARDS[:3], ids=str)
def test_many_games_agree_with_the_reference(config: dict[str, Any]) -> None:
    play_in_lockstep(GAME, batch=2000, seed=8, **config)


@pytest.mark.slow
def test_every_result_is_among_the_games_compared() -> None:
    returns = play_in_lockstep(GAME, batch=64, seed=4, houses=3, seeds=2)[:, 0]
    assert set(returns) == {1.0, -1.0, 0.0}


@pytest.mark.slow
def test_golden_games() -> None:
    assert replay_traces(GAME) == 6


@pytest.mark.parametrize("config", BOARDS, ids=str)
def test_no_seed_is_lost(config: dict[str, Any]) -> None:
    game = Reference((0, 0), **config)
    total = sum(map(sum, game.houses))
    while not game.terminated:
        game.apply(game.legal_actions()[-1])
        assert sum(map(sum, game.houses)) + sum(game.stores) == total
    assert sum(game.stores) == total


@pytest.mark.few(1)
@pytest.mark.parametrize(("houses", "most"), ((1, 6), (2, 3)))
def test_published_results(houses: int, most: int) -> None:
    check_results(houses, most)


@pytest.mark.slow
def test_more_published_results() -> None:
    check_results(2, 6)
    check_results(3, 3)


def check_results(houses: int, most: int) -> None:
    for seeds, result in enumerate(RESULTS[houses][:most], 1):
        env = shared_env(GAME, houses=houses, seeds=seeds)
        assert te.solve(env).value(env.init(1)).item() == VALUES[result], (houses, seeds)
