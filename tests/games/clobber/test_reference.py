"""Clobber: the tensor engine against the reference ply by ply, golden games, counts, and values of small boards."""

from collections.abc import Iterator
from typing import Any

import pytest

import tensor_envs as te
from tests.games.clobber.reference import Reference
from tests.games.lockstep import play_in_lockstep, replay_traces
from tests.games.shared import shared_env

GAME = "clobber"
BOARDS: list[dict[str, Any]] = [
    {},
    {"rows": 1, "columns": 9},
    {"rows": 4, "columns": 2},
    {"rows": 4, "columns": 11},
    {"rows": 16, "columns": 16},
]


@pytest.mark.slow
@pytest.mark.parametrize("config", BOARDS, ids=str)
def test_random_games_agree_with_the_reference(config: dict[str, Any]) -> None:
    returns = play_in_lockstep(GAME, batch=24, seed=4, observe_every=9, **config)
    assert set(returns[:, 0]) == {1.0, -1.0}


@pytest.mark.slow
@pytest.mark.parametrize("config", BOARDS[:4], ids=str)
def test_a_thousand_games_agree_with_the_reference(config: dict[str, Any]) -> None:
    play_in_lockstep(GAME, batch=1000, seed=8, **config)


@pytest.mark.slow
def test_golden_games() -> None:
    assert replay_traces(GAME) == 6


def following(game: Reference) -> Iterator[Reference]:
    """Yield the positions after each legal action."""
    for action in game.legal_actions():
        after = Reference.from_dict(game.to_dict(), (0, 0), rows=game.rows, columns=game.columns)
        after.apply(action)
        yield after


def count(game: Reference, plies: int) -> int:
    """Return the number of sequences of legal moves, by the reference."""
    return sum(count(after, plies - 1) for after in following(game)) if plies else 1


def value(game: Reference, known: dict[Any, int]) -> int:
    """Return the value for the player to move, by the reference: a win if any move leads to a loss."""
    position = (*game.board.values(), game.current_player)
    if position not in known:
        known[position] = 1 if any(value(after, known) < 0 for after in following(game)) else -1
    return known[position]


def test_perft() -> None:
    assert te.perft(shared_env(GAME), 3).sequences[1:] == [49, 2116, 80063]


@pytest.mark.slow
def test_deep_perft() -> None:
    assert te.perft(shared_env(GAME), 4).sequences[4] == 2630382


def test_perft_of_a_small_board() -> None:
    game = Reference((0, 0), rows=3, columns=3)
    found = te.perft(shared_env(GAME, rows=3, columns=3), 4, symmetry=True)
    assert found.sequences[1:] == [count(game, plies) for plies in range(1, 5)]


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("rows", "columns", "winner"), ((2, 2, 1), (2, 3, -1), (2, 4, 1), (2, 5, 1), (3, 3, 1), (3, 4, -1), (3, 5, 1))
)
def test_values_of_small_boards(rows: int, columns: int, winner: int) -> None:
    env = shared_env(GAME, rows=rows, columns=columns)
    assert int(te.solve(env).value(env.init(1)).item()) == winner
    if rows * columns < 12:
        assert value(Reference((0, 0), rows=rows, columns=columns), {}) == winner


@pytest.mark.few("6")
@pytest.mark.parametrize("columns", range(2, 17, 2))
def test_of_even_rows_only_six_stones_are_lost(columns: int) -> None:
    """Published: one row is won by the first player, unless it has six stones."""
    env = shared_env(GAME, rows=1, columns=columns)
    published = -1 if columns == 6 else 1
    assert int(te.solve(env).value(env.init(1)).item()) == published
    if columns < 12:
        assert value(Reference((0, 0), rows=1, columns=columns), {}) == published
