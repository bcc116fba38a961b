"""Oware: the tensor engine against the reference ply by ply, golden games."""

from typing import Any

import pytest

from tests.games.chance import game_key, policy_key, uniform_action
from tests.games.lockstep import play_in_lockstep, replay_traces
from tests.games.oware.reference import Reference

GAME = "oware"
BOARDS: list[dict[str, Any]] = [
    {},
    {"houses": 3, "seeds": 2, "quiet_plies": 12},
    {"houses": 2, "seeds": 15, "quiet_plies": 400},  # two words a position, of the most seeds
    {"houses": 1, "seeds": 3},
]


@pytest.mark.slow
@pytest.mark.parametrize("config", BOARDS, ids=str)
def test_random_games_agree_with_the_reference(config: dict[str, Any]) -> None:
    play_in_lockstep(GAME, batch=6, seed=4, observe_every=9, **config)


@pytest.mark.slow
@pytest.mark.parametrize("config", BOARDS, ids=str)
def test_many_games_agree_with_the_reference(config: dict[str, Any]) -> None:
    play_in_lockstep(GAME, batch=1000, seed=8, **config)


@pytest.mark.slow
def test_every_result_is_among_the_games_compared() -> None:
    assert set(play_in_lockstep(GAME, batch=48, seed=4, **BOARDS[1])[:, 0]) == {1.0, -1.0, 0.0}


@pytest.mark.slow
def test_golden_games() -> None:
    assert replay_traces(GAME) == 6


def test_no_seed_is_lost_and_some_games_end_quietly() -> None:
    ends = set()
    for row in range(60):
        game, ply = Reference(game_key(9, row, 0), houses=3, seeds=3, quiet_plies=14), 0
        while not game.terminated:
            quiet = len(game.history)
            game.apply(uniform_action(policy_key(9, row), ply, game.legal_actions()))
            ply += 1
            assert sum(game.houses) + sum(game.stores) == game.total
        ends.add(quiet == 13)
    assert ends == {True, False}
