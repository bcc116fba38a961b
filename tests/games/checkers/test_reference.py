"""English draughts: the tensor engine against the reference ply by ply, golden games, published counts."""

import copy

import pytest

import tensor_envs as te
from tests.games.chance import game_key
from tests.games.checkers.reference import Reference
from tests.games.lockstep import play_in_lockstep, replay_traces
from tests.games.shared import shared_env

GAME = "checkers"
TURNS = [7, 49, 302, 1469, 7361, 36768, 179740]  # A. Bik


def turns(game: Reference, depth: int) -> int:
    """Return the number of sequences of so many turns, each with all its jumps."""
    if depth == 0:
        return 1
    count = 0
    for action in game.legal_actions():
        after = copy.copy(game)
        after.pieces = dict(game.pieces)
        after.apply(action)
        count += turns(after, depth - (after.jumper is None))
    return count


@pytest.mark.slow
def test_random_games_agree_with_the_reference() -> None:
    returns = play_in_lockstep(GAME, batch=24, seed=4, observe_every=29)
    assert set(returns[:, 0]) == {1.0, -1.0}  # many games have draws, too


@pytest.mark.slow
@pytest.mark.parametrize("quiet_plies", (80, 7))
def test_many_games_agree_with_the_reference(quiet_plies: int) -> None:
    returns = play_in_lockstep(GAME, batch=2000, seed=8, quiet_plies=quiet_plies)
    assert set(returns[:, 0]) == {1.0, -1.0, 0.0}


@pytest.mark.slow
def test_golden_games() -> None:
    assert replay_traces(GAME) == 3


def test_turns_of_the_reference() -> None:
    assert [turns(Reference(game_key(0, 0, 0)), depth) for depth in range(1, 5)] == TURNS[:4]


def test_perft() -> None:
    """Check published counts as far as no turn has two jumps; then jumps are plies of their own."""
    assert te.perft(shared_env(GAME), 6).sequences[1:] == TURNS[:6]


@pytest.mark.slow
def test_more_turns_of_the_reference() -> None:
    assert [turns(Reference(game_key(0, 0, 0)), depth) for depth in (5, 6, 7)] == TURNS[4:7]
