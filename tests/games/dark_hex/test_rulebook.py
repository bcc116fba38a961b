"""Dark Hex: the rules as worked cases, played on every engine of the game."""

from collections.abc import Callable
from typing import Any

import pytest

import tensor_envs as te
from tests.games.phantom import play, position

GAME = "dark_hex"
Start = Callable[..., Any]


def test_d1_the_start(start: Start) -> None:
    game = start(GAME)
    assert game.current_player == 0 and game.legal_actions() == [*range(9)] and not game.terminated
    assert game.to_dict() == position("... ... ...")


def test_d2_d3_a_failed_attempt(start: Start) -> None:
    game = play(start(GAME), 4, 4)
    assert game.to_dict() == position("... .X. ...", "4", 1) and game.rewards == [0, 0]
    assert game.legal_actions() == [0, 1, 2, 3, 5, 6, 7, 8]
    with pytest.raises(ValueError, match="action 4 is illegal"):
        game.apply(4)
    assert play(game, 0, 0).to_dict() == position("O.. .X. ...", "0 4", 0)
    game = play(start(GAME, abrupt=True), 4, 4)
    assert game.to_dict() == position("... .X. ...", "4", 0)
    assert play(game, 0, 0).to_dict() == position("X.. .X. ...", "0 4", 0)


@pytest.mark.parametrize("abrupt", [False, True])
@pytest.mark.parametrize(
    ("board", "player", "action", "wins"),
    [
        ("X.. X.. O.O", 0, 7, False), ("X.. X.. O.O", 0, 1, False), (".X. X.. O.O", 0, 7, False),
        ("..X .X. O.O", 0, 7, True), ("..X .X. ..O", 0, 6, True), ("X.. X.. ...", 0, 6, True),
        ("O.O X.X ...", 1, 1, True), ("..O .O. X.X", 1, 3, True), ("..O .O. XX.", 1, 8, False),
        ("..X ..X ...", 0, 7, True), ("X.O ..X ...", 0, 1, False), ("... O.O X.X", 1, 1, False),
        ("... ..O OXX", 1, 4, True),
    ],
)  # fmt: skip
def test_d1_d4_chains(start: Start, board: str, player: int, action: int, wins: bool, abrupt: bool) -> None:
    game = start(GAME, position(board, "", player), abrupt=abrupt)
    assert not game.terminated
    play(game, action)
    first = 1 - 2 * player if wins else 0
    assert game.terminated == wins and not game.truncated and game.rewards == [first, -first]


def test_d4_the_longest_game(start: Start) -> None:
    """Each player finds all stones of the other before the last of nine cells is filled at ply 17."""
    game = play(start(GAME), 0, 0, 3, 3, 4, 4, 6, 6, 5, 5, 7, 7, 8, 8, 1, 1)
    assert not game.terminated and game.legal_actions() == [2] and sum(game.to_dict()["found"]) == 8
    assert play(game, 2).terminated and abs(game.rewards[0]) == 1


def test_d5_observation(start: Start) -> None:
    game = start(GAME, position("XO. .X. O..", "1 4", 0))
    planes = [[[1, 0, 0], [0, 1, 0], [0, 0, 0]], [[0, 1, 0], [0, 0, 0], [0, 0, 0]], [[1] * 3] * 3]
    assert game.observation(0) == planes
    planes = [[[0, 1, 0], [0, 0, 0], [1, 0, 0]], [[0, 0, 0], [0, 1, 0], [0, 0, 0]], [[0] * 3] * 3]
    assert game.observation(1) == planes


def test_d6_what_a_player_does_not_see_is_not_shown() -> None:
    env = te.make(GAME)
    state = env.state_from_dicts([position("XO. .X. O..", "1 4", 0)])
    assert env.to_string(state, 0, 0).splitlines()[1:4] == [" 1 X o .", "  2 . X .", "   3 . . ."]
    assert env.to_string(state, 0, 1).splitlines()[1:4] == [" 1 . O .", "  2 . x .", "   3 O . ."]
    assert env.render(state, 0, 0) != env.render(state) != env.render(state, 0, 1)


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
def test_d7_impossible_positions(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"is no state of 'dark_hex': (board|found|current_player)"):
        te.make(GAME).state_from_dicts([wrong])


def test_d8_wrong_fields() -> None:
    with pytest.raises(ValueError, match=r"size must be in 1\.\.5, got 6"):
        te.make(GAME, size=6)
    for wrong in ({"size": 2.5}, {"abrupt": 1}):
        with pytest.raises(TypeError, match="must be"):
            te.make(GAME, **wrong)


def test_d9_d10_names_and_symmetries() -> None:
    env = te.make(GAME, size=4)
    assert [env.action_to_string(action) for action in (0, 3, 5, 12)] == ["a1", "d1", "b2", "a4"]
    assert len(list(env.symmetries())) == 2 and len(list(te.make(GAME, size=1).symmetries())) == 1
