"""Othello: the tensor engine against the reference ply by ply, golden games, published counts."""

import pytest

import tensor_envs as te
from tests.games.chance import game_key, policy_key, uniform_action
from tests.games.lockstep import play_in_lockstep, replay_traces
from tests.games.othello.reference import DISCS, PASS, Reference
from tests.games.shared import shared_env

GAME = "othello"


@pytest.mark.slow
def test_random_games_agree_with_the_reference() -> None:
    returns = play_in_lockstep(GAME, batch=24, seed=4, observe_every=9)
    assert {1.0, -1.0} <= set(returns[:, 0])


@pytest.mark.slow
def test_many_games_agree_with_the_reference() -> None:
    returns = play_in_lockstep(GAME, batch=1000, seed=8)
    assert set(returns[:, 0]) == {1.0, -1.0, 0.0}


@pytest.mark.slow
def test_golden_games() -> None:
    assert replay_traces(GAME) == 3


def test_the_reference_by_itself() -> None:
    """Check that discs stay, that each new one flips others, and that no player passes twice in a row."""
    passes = 0
    for row in range(8):
        game, ply, passed = Reference(game_key(9, row, 0)), 0, False
        while not game.terminated:
            before, player = game.to_dict()["board"], game.current_player
            action = uniform_action(policy_key(9, row), ply, game.legal_actions())
            game.apply(action)
            after, ply = game.to_dict()["board"], ply + 1
            changed = [(old, new) for old, new in zip(before, after, strict=True) if old != new]
            assert not (passed and action == PASS)
            passed = action == PASS
            passes += passed
            if passed:
                assert not changed and Reference.from_dict(game.to_dict(), (0, 0)).legal_actions()
                continue
            assert changed.count((0, DISCS[player])) == 1
            assert len(changed) >= 2 and set(changed) == {(0, DISCS[player]), (-DISCS[player], DISCS[player])}
    assert passes


def test_perft() -> None:
    assert te.perft(shared_env(GAME), 8).sequences[1:] == [4, 12, 56, 244, 1396, 8200, 55092, 390216]


@pytest.mark.slow
def test_more_perft() -> None:
    """Check ten plies; from nine on there are passes and ends, where A. Bik counts a pass as the tenth ply."""
    found = te.perft(shared_env(GAME), 10, symmetry=True)
    assert found.plies[9].ended == {(1.0, -1.0): 228}
    assert found.sequences[9] == 3005288 and found.sequences[10] + 228 == 24571284
