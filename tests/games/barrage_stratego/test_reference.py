"""Barrage Stratego: the tensor engine against the reference ply by ply, golden games, determinize."""

from __future__ import annotations

from collections import Counter
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from tensor_envs.envs.interpreter import ScalarGame
from tensor_envs.games.barrage_stratego.rules import BarrageStratego
from tensor_envs.rules import int32
from tensor_envs.rules.chance import KeyedChance
from tests.games.lockstep import play_in_lockstep, replay_traces

GAME = "barrage_stratego"
FEW = {"bombs": 0, "spies": 0, "scouts": 0, "generals": 0, "marshals": 0}
CONFIGS: list[dict[str, Any]] = [
    {},
    {"two_squares": False, "quiet_plies": 40},
    {"bombs": 3, "scouts": 1, "miners": 2, "quiet_plies": 60},
    {"bombs": 0, "spies": 3, "scouts": 3, "generals": 0, "quiet_plies": 255},
    FEW,
    {**FEW, "miners": 0, "bombs": 2},
]


@pytest.mark.few(1)
@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_random_games_agree_with_the_reference(config: dict[str, Any]) -> None:
    play_in_lockstep(GAME, batch=4, seed=4, observe_every=9, **config)


@pytest.mark.slow
@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_many_games_agree_with_the_reference(config: dict[str, Any]) -> None:
    returns = play_in_lockstep(GAME, batch=60, seed=8, observe_every=50, **config)
    movable = config.get("miners", 1) > 0
    assert {*returns[:, 0]} >= ({1.0, -1.0, 0.0} if movable else {-1.0})


@pytest.mark.slow
def test_golden_games() -> None:
    assert replay_traces(GAME) == 6


def played(plies: int, row: int, **config: Any) -> tuple[BarrageStratego, ScalarGame]:
    """Return rules and a random game after some plies."""
    rules = BarrageStratego(**config)
    game = ScalarGame(rules, 1, row)
    for _ in range(plies):
        game.step(game.uniform_action())
    return rules, game


def numbers(values: Any) -> Any:
    return [numbers(value) for value in values] if isinstance(values, list) else int(values.value)


def samples(rules: BarrageStratego, game: ScalarGame, player: int, count: int) -> Counter[Any]:
    """Return how often `determinize` gives each arrangement of the opponent's squares and moves."""
    counts = Counter[Any]()
    other = 1 - player
    for key in range(count):
        again = rules.determinize(game.state, int32(player), KeyedChance((3, key)))
        kept = again.replace(squares=game.state.squares, moved=game.state.moved)
        assert kept.asdict() == game.state.asdict()
        for name in ("squares", "moved"):
            assert numbers(getattr(again, name)[player]) == numbers(getattr(game.state, name)[player])
        counts[tuple(zip(numbers(again.squares[other]), numbers(again.moved[other]), strict=True))] += 1
    return counts


@pytest.mark.few(1)
@pytest.mark.parametrize(("plies", "row", "arrangements"), [(31, 10, 36), (30, 38, 72)])
def test_determinize_draws_every_possible_arrangement_alike(plies: int, row: int, arrangements: int) -> None:
    """Count arrangements of an army with a known scout and pieces that have moved."""
    rules, game = played(plies, row, spies=0, generals=0)
    player = int(game.state.current_player.value)
    squares, moved, shown = (numbers(getattr(game.state, name)[1 - player]) for name in ("squares", "moved", "shown"))
    assert sum(shown) == 1 and sum(moved) >= 2 and min(squares) >= 0
    # The flag and the bomb, the first two pieces, have not moved.
    places = [*zip(squares, moved, strict=True)]
    expected = {
        order
        for order in permutations(places)
        if order[0][1] == order[1][1] == 0 and all(order[k] == places[k] for k in range(6) if shown[k])
    }
    count = 15 * len(expected)
    drawn = samples(rules, game, player, count)
    assert len(expected) == arrangements and drawn.keys() == expected
    assert all(abs(number - 15) <= 5 * 15**0.5 for number in drawn.values())


def test_determinize_resamples_the_set_up() -> None:
    """Check that the squares of the opponent's pieces are different ones, and that the others are not placed."""
    rules, game = played(7, 1)
    drawn = samples(rules, game, 1, 400)
    assert len(drawn) == 400
    for army in drawn:
        squares = [square for square, _ in army]
        assert squares[4:] == [-1] * 4 and len({*squares[:4]}) == 4 and {*squares[:4]} <= {*range(40)}
    firsts = np.array([[square for square, _ in army][:4] for army in drawn])
    assert (abs(np.bincount(firsts.ravel(), minlength=40) - 40) < 5 * 40**0.5).all()
