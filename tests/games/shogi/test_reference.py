"""Shogi: the tensor engine against the reference ply by ply, golden games, and published counts."""

from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tests.games.conftest import start_reference, start_rules
from tests.games.lockstep import play_in_lockstep, replay_traces
from tests.games.shared import shared_env

GAME = "shogi"
COUNTS = {9: [30, 900, 25470, 719731], 5: [14, 181, 2512, 35401, 533203], 3: [4, 17, 123, 976, 8122, 71677]}
BOARDS: list[tuple[dict[str, Any], int]] = [
    ({"files": 3}, 1000),
    ({"files": 3, "window": 7}, 100),
    ({"files": 5}, 100),
    ({"files": 5, "window": 12}, 24),
    ({}, 12),
]


@pytest.mark.slow
@pytest.mark.parametrize(("config", "batch"), BOARDS, ids=str)
def test_random_games_agree_with_the_reference(config: dict[str, Any], batch: int) -> None:
    returns = play_in_lockstep(GAME, batch=batch, seed=4, observe_every=9, **config)
    assert {1.0, -1.0} <= set(returns[:, 0])


@pytest.mark.slow
def test_golden_games() -> None:
    assert replay_traces(GAME) == 8


@pytest.mark.parametrize("files", [3, 5])
def test_the_reference_plays_the_same_game(files: int) -> None:
    """Play the first plies of a game in plain Python beside the reference."""
    ours, theirs = (start(GAME, seed=6, files=files) for start in (start_rules, start_reference))
    for ply in range(30):
        assert ours.legal_actions() == theirs.legal_actions(), ply
        if ply % 9 == 0:
            for player in range(2):
                assert np.array_equal(ours.observation(player), theirs.observation(player))
        action = ours.plain.uniform_action()
        ours.apply(action)
        theirs.apply(action)
        written = ours.to_dict()
        assert written | theirs.to_dict() == written and ours.terminated == theirs.terminated
        if ours.terminated:
            break


def test_perft_of_animal_shogi() -> None:
    assert te.perft(shared_env("animal_shogi"), 6).sequences[1:] == COUNTS[3]


@pytest.mark.slow
@pytest.mark.parametrize("files", [5, 9])
def test_perft(files: int) -> None:
    counts = COUNTS[files]
    assert te.perft(shared_env(GAME, files=files), len(counts)).sequences[1:] == counts
