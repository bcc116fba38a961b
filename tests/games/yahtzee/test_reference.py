"""Yahtzee: the tensor engine against the reference ply by ply, golden games, all throws in all boxes."""

from itertools import product
from typing import Any

import numpy as np
import pytest

from tests.games.lockstep import play_in_lockstep, replay_traces
from tests.games.shared import shared_env
from tests.games.yahtzee.reference import Reference

GAME = "yahtzee"


@pytest.mark.slow
@pytest.mark.parametrize("players", [1, 2, 3, 4])
def test_random_games_agree_with_the_reference(players: int) -> None:
    returns = play_in_lockstep(GAME, batch=40, seed=4, observe_every=9, players=players)
    if players == 1:
        assert returns.max() > 60
    else:
        assert returns.max() == 1 and returns.min() == pytest.approx(-1 / (players - 1))


@pytest.mark.slow
@pytest.mark.parametrize("players", [1, 2, 4])
def test_many_games_agree_with_the_reference(players: int) -> None:
    play_in_lockstep(GAME, batch=500, seed=8, observe_every=50, players=players)


@pytest.mark.slow
def test_golden_games() -> None:
    assert replay_traces(GAME) == 6


@pytest.mark.slow
@pytest.mark.parametrize("yahtzee", [-1, 0, 50])
def test_every_throw_in_every_box(yahtzee: int) -> None:
    """Fill every legal box with every throw, and with five equal dice also where the upper boxes are filled."""
    dice = sorted({tuple(sorted(throw)) for throw in product(range(1, 7), repeat=5)})
    assert len(dice) == 252
    games, actions = list[dict[str, Any]](), list[int]()
    expected = list[tuple[float, list[int], int]]()
    for throw, upper in product(dice, (-1, 0)):
        if upper == 0 and len(set(throw)) > 1:
            continue
        boxes = [*[upper] * 6, *[-1] * 5, yahtzee, -1]
        game = {"dice": list(throw), "rerolls": 0, "boxes": [boxes], "extras": [0], "current_player": 0}
        for action in Reference.from_dict(game, (0, 0)).legal_actions():
            played = Reference.from_dict(game, (0, 0))
            played.apply(action)
            games.append(game)
            actions.append(action)
            expected.append((played.rewards[0], played.boxes[0], played.extras[0]))
    env = shared_env(GAME)
    state = env.state_from_dicts(games)
    mask = state.numpy()["legal_action_mask"]
    after = env.step(state, actions).numpy()
    assert len(games) > 252 * 11 and mask[np.arange(len(games)), actions].all()
    columns = (after[name][:, 0].tolist() for name in ("rewards", "boxes", "extras"))
    assert list(zip(*columns, strict=True)) == expected


def test_throws_are_as_likely_as_they_should_be() -> None:
    """Compare counts of kinds of 100,000 throws with those of all 7,776."""
    env, count = shared_env(GAME), 100_000
    dice = env.init(count, seed=5).dice.numpy()
    assert (np.diff(dice, axis=1) >= 0).all()
    faces = (dice[:, :, None] == np.arange(1, 7)).sum(1)
    has = faces > 0
    runs = {n: np.logical_or.reduce([has[:, k : k + n].all(1) for k in range(7 - n)]) for n in (4, 5)}
    house = (faces == 3).any(1) & (faces == 2).any(1)
    for kind, expected in (((faces == 5).any(1), 6), (house, 300), (runs[4], 1200), (runs[5], 240)):
        mean = count * expected / 7776
        assert abs(kind.sum() - mean) < 5 * mean**0.5
