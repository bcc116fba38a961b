"""Results of games and turns of players, compared with plain Python for one to five players."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tensor_envs.rules import GameState, Outcome, Scalar, Value, next_player
from tests.rules.traced import agree, numbers

SIZE = 200


def ints(count: int, low: int, high: int) -> list[np.ndarray]:
    return [numbers("int32", SIZE, seed, low, high) for seed in range(count)]


def results(make: Callable[..., Outcome], players: int, *columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return rewards [SIZE, P] and `terminated` [SIZE] of an outcome, the same in a kernel and in Python."""

    def values(*entries: Scalar) -> list[Value]:
        outcome = make(GameState({}, players), *entries)
        return [*outcome.rewards, outcome.terminated]

    *rewards, terminated = agree(values, *columns)
    return np.stack(rewards, axis=1), terminated


@pytest.mark.parametrize("players", range(1, 6))
def test_a_win(players: int) -> None:
    winner, won, over = *ints(1, 0, players - 1), *(numbers("bool", SIZE, seed) for seed in (1, 2))
    rewards, terminated = results(lambda s, p, w, o: Outcome.win(s, p, w).draw(o), players, winner, won, over)
    expected = np.full((SIZE, players), -1 / max(players - 1, 1))
    expected[np.arange(SIZE), winner] = 1
    assert np.allclose(rewards, expected * won[:, None]) and (terminated == (won | over)).all()


@pytest.mark.parametrize("players", range(2, 6))
def test_scores(players: int) -> None:
    scores, over = ints(players, -1, 1), numbers("bool", SIZE)
    rewards, terminated = results(lambda s, o, *x: Outcome.scores(s, x, o), players, over, *scores)
    table, lost = np.stack(scores, axis=1), 1 / (players - 1)
    for row, mine in zip(rewards, table, strict=True):
        best = mine == mine.max()
        pot = lost * (players - best.sum())
        assert not row.any() or np.allclose(row, np.where(best, pot / best.sum(), -lost))
    undecided = (table == table[:, :1]).all(1) | ~over
    assert (
        (rewards.any(1) == ~undecided).all()
        and (terminated == over).all()
        and np.allclose(rewards.sum(1), 0, atol=1e-6)
    )


@pytest.mark.parametrize("players", range(1, 6))
def test_the_next_player(players: int) -> None:
    current, alive = ints(1, 0, players - 1)[0], [numbers("bool", SIZE, seed) for seed in range(players)]

    def both(player: Scalar, *conditions: Scalar) -> list[Value]:
        s = GameState({"current_player": player}, players)
        return [next_player(s), next_player(s, alive=conditions)]

    plain, skipping = agree(both, current, *alive)
    assert (plain == (current + 1) % players).all()
    for row, player in enumerate(current):
        order = [(player + k) % players for k in range(1, players)]
        assert skipping[row] == next((p for p in order if alive[p][row]), player)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: next_player(s, alive=[True]), "alive must have a condition for each of the 3 players, got 1"),
        (lambda s: Outcome.scores(s, [1, 2]), "scores must be of 3 scores, one a player, got 2"),
        (lambda s: Outcome.scores(GameState({}, 1), [1]), "scores must be of two or more players, got 1"),
    ],
)
def test_wrong_numbers_of_players(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(GameState({"current_player": 0}, 3))


def test_a_state_without_a_game() -> None:
    with pytest.raises(TypeError, match=r"no number of players: write GameState\(fields, num_players\)"):
        Outcome.win(GameState({}), 0, True)
