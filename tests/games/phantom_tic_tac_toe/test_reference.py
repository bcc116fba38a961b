"""Phantom tic-tac-toe: the tensor engine against the reference ply by ply, golden games, samples of hidden marks."""

from itertools import combinations
from typing import Any

import pytest

from tests.games.lockstep import play_in_lockstep, replay_traces
from tests.games.phantom import histories, sampled
from tests.games.phantom_tic_tac_toe.reference import Reference
from tests.games.shared import shared_env

GAME = "phantom_tic_tac_toe"


@pytest.mark.slow
@pytest.mark.parametrize("abrupt", [False, True])
def test_random_games_agree_with_the_reference(abrupt: bool) -> None:
    returns = play_in_lockstep(GAME, batch=60, seed=4, observe_every=1, abrupt=abrupt)
    assert set(returns[:, 0]) == {1.0, 0.0, -1.0}


@pytest.mark.slow
@pytest.mark.parametrize("abrupt", [False, True])
def test_many_games_agree_with_the_reference(abrupt: bool) -> None:
    play_in_lockstep(GAME, batch=3_000, seed=8, abrupt=abrupt)


@pytest.mark.slow
def test_golden_games() -> None:
    assert replay_traces(GAME) == 6


@pytest.mark.parametrize(("abrupt", "fourth"), [(False, 5112), (True, 5184)])
def test_histories(abrupt: bool, fourth: int) -> None:
    assert histories(shared_env(GAME, abrupt=abrupt), 5) == [9, 81, 648, fourth, 36_288]


def every_state(game: dict[str, Any], player: int, abrupt: bool) -> set[tuple[Any, ...]]:
    """Return all boards and found marks with which a game goes on, and of which the player has the same view (P6)."""
    board, found = game["board"], game["found"]
    own = 1 - 2 * player
    mine = [cell for cell in range(9) if board[cell] == own]
    known = [cell for cell in range(9) if board[cell] == -own and found[cell]]
    hidden = sum(mark == -own for mark in board) - len(known)
    seen = sum(found[cell] for cell in mine)
    states = set()
    for count in range(hidden + seen + 1) if abrupt else [hidden]:
        for places in combinations(sorted({*range(9)} - {*mine} - {*known}), count):
            for theirs in combinations(mine, hidden + seen - count):
                marks = {cell: own for cell in mine} | {cell: -own for cell in (*known, *places)}
                state = [marks.get(c, 0) for c in range(9)], [int(c in known or c in theirs) for c in range(9)]
                played = {"board": state[0], "found": state[1], "current_player": player}
                if not Reference.from_dict(played, (0, 0)).terminated:
                    states.add((tuple(state[0]), tuple(state[1])))
    return states


@pytest.mark.few(1)
@pytest.mark.parametrize("abrupt", [False, True])
@pytest.mark.parametrize("player", [0, 1])
def test_determinize_draws_all_states_alike(abrupt: bool, player: int) -> None:
    """X has found one of two marks of O, which has found one of two of X."""
    game = {"board": [1, -1, 0, 0, 1, 0, -1, 0, 0], "found": [1, 1, 0, 0, 0, 0, 0, 0, 0], "current_player": 0}
    states = every_state(game, player, abrupt)
    counts = sampled(shared_env(GAME, abrupt=abrupt), game, player, 30 * len(states))
    assert len(states) > 8 and counts.keys() == states
    assert all(abs(count - 30) < 5 * 30**0.5 for count in counts.values())
