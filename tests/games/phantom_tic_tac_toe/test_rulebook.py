"""Phantom tic-tac-toe: the rules as worked cases, played on every engine of the game."""

from collections.abc import Callable
from typing import Any

import pytest

import tensor_envs as te
from tensor_envs.render.scene import scene
from tests.games.phantom import play, position

GAME = "phantom_tic_tac_toe"
Start = Callable[..., Any]


def test_p1_the_start(start: Start) -> None:
    game = start(GAME)
    assert game.current_player == 0 and game.legal_actions() == [*range(9)] and not game.terminated
    assert game.to_dict() == position("... ... ...")


def test_p2_p3_a_failed_attempt_in_the_classical_game(start: Start) -> None:
    game = play(start(GAME), 4, 4)
    assert game.to_dict() == position("... .X. ...", "4", 1) and game.rewards == [0, 0]
    assert game.legal_actions() == [0, 1, 2, 3, 5, 6, 7, 8]
    with pytest.raises(ValueError, match="action 4 is illegal"):
        game.apply(4)
    play(game, 0)
    assert game.current_player == 0 and game.legal_actions() == [0, 1, 2, 3, 5, 6, 7, 8]
    assert play(game, 0).to_dict() == position("O.. .X. ...", "0 4", 0)


def test_p3_a_failed_attempt_in_the_abrupt_game(start: Start) -> None:
    game = play(start(GAME, abrupt=True), 4, 4)
    assert game.to_dict() == position("... .X. ...", "4", 0)
    assert play(game, 0, 0).to_dict() == position("X.. .X. ...", "0 4", 0)


@pytest.mark.parametrize("abrupt", [False, True])
@pytest.mark.parametrize(
    ("board", "player", "action", "first"),
    [
        ("XX. OO. ...", 0, 2, 1), ("XX. OO. X..", 1, 5, -1), ("X.. OX. O..", 0, 8, 1), ("..X OX. ...", 0, 6, 1),
        (".XO .XO ...", 0, 7, 1), ("XOX XOO OX.", 0, 8, 0), ("XOX .OO OXX", 0, 3, 0), ("OX. XO. .X.", 1, 8, -1),
    ],
)  # fmt: skip
def test_p4_ends(start: Start, board: str, player: int, action: int, first: int, abrupt: bool) -> None:
    game = start(GAME, position(board, "", player), abrupt=abrupt)
    assert not game.terminated
    play(game, action)
    assert game.terminated and not game.truncated and game.legal_actions() == []
    assert game.rewards == [first, -first]


def test_p4_the_longest_game(start: Start) -> None:
    """Each player finds all marks of the other before the last cell, a draw at ply 17."""
    game = play(start(GAME), 0, 0, 1, 1, 2, 2, 4, 4, 3, 3, 5, 5, 7, 7, 6, 6)
    assert not game.terminated and game.legal_actions() == [8] and game.to_dict()["found"] == [1] * 8 + [0]
    assert play(game, 8).terminated and game.rewards == [0, 0]


def test_p5_observation(start: Start) -> None:
    game = start(GAME, position("XO. .X. O..", "1 4", 0))
    planes = [[[1, 0, 0], [0, 1, 0], [0, 0, 0]], [[0, 1, 0], [0, 0, 0], [0, 0, 0]], [[1] * 3] * 3]
    assert game.observation(0) == planes
    planes = [[[0, 1, 0], [0, 0, 0], [1, 0, 0]], [[0, 0, 0], [0, 1, 0], [0, 0, 0]], [[0] * 3] * 3]
    assert game.observation(1) == planes


def test_p6_what_a_player_does_not_see_is_not_shown() -> None:
    env = te.make(GAME)
    state = env.state_from_dicts([position("XO. .X. O..", "1 4", 0)])
    assert env.to_string(state, 0, 0).splitlines()[1:4] == ["1 X o .", "2 . X .", "3 . . ."]
    assert env.to_string(state, 0, 1).splitlines()[1:4] == ["1 . O .", "2 . x .", "3 O . ."]
    assert env.to_string(state).splitlines()[1:] == ["1 X o .", "2 . x .", "3 O . .", "X to move, attempt 7"]
    render, moves = env.entry.load("render"), ["b2", "b2", "a1", "a1", "a2"]
    game = env.state_to_dict(state)
    for viewer, names in ((0, ["b2", "?", "?", "a1", "a2"]), (1, ["?", "b2", "a1", "?", "?"]), (None, moves)):
        assert scene(env.rules, render, game, viewer, moves)["moves"] == names
    over = env.state_from_dicts([position("XXX OO. ...", "", 1)])
    assert env.to_string(over, 0, 1) == env.to_string(over) and "X wins" in env.to_string(over)


@pytest.mark.parametrize(
    "wrong",
    [
        position("... ... ...", "3"),
        position("X.. ... ...") | {"board": [2] + [0] * 8},
        position("X.. ... ...") | {"found": [0] * 8},
        position("X.. ... ...") | {"current_player": 2},
    ],
    ids=str,
)
def test_p7_impossible_positions(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"is no state of 'phantom_tic_tac_toe': (board|found|current_player)"):
        te.make(GAME).state_from_dicts([wrong])


def test_p8_wrong_fields() -> None:
    with pytest.raises(TypeError, match="abrupt must be of type bool, got 1"):
        te.make(GAME, abrupt=1)


def test_p9_p10_names_and_symmetries() -> None:
    env = te.make(GAME)
    assert [env.action_to_string(action) for action in (0, 2, 4, 6)] == ["a1", "c1", "b2", "a3"]
    assert len({symmetry.actions for symmetry in env.symmetries()}) == 8
