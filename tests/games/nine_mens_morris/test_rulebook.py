"""Nine men's morris: the rules as worked cases, played on every engine of the game."""

from collections.abc import Callable
from typing import Any

import pytest

import tensor_envs as te
from tests.games.chance import policy_key, uniform_action

GAME = "nine_mens_morris"
Start = Callable[..., Any]
NAMES = te.make(GAME).action_names
NUMBERS = {name: action for action, name in enumerate(NAMES)}


def position(white: str, black: str, turns: int, removes: bool = False) -> dict[str, Any]:
    board = [(name in white.split()) - (name in black.split()) for name in NAMES[:24]]
    return {"board": board, "turns": turns, "removes": removes}


def names(game: Any) -> set[str]:
    return {NAMES[action] for action in game.legal_actions()}


def play(game: Any, moves: str) -> None:
    for name in moves.split():
        assert not game.terminated and game.rewards == [0, 0]
        game.apply(NUMBERS[name])


def test_n1_n4_neighbours(start: Start) -> None:
    game = start(GAME, position("a7 d6 c4 g1", "f6 f4 f2 b2", 18))
    assert names(game) == {
        *("a7-a4", "a7-d7", "d6-b6", "d6-d5", "d6-d7", "c4-b4", "c4-c5", "c4-c3", "g1-g4", "g1-d1")
    }  # fmt: skip


def test_n2_n3_the_start(start: Start) -> None:
    game = start(GAME)
    assert game.to_dict() == position("", "", 0) and game.legal_actions() == list(range(24))
    play(game, "d6 a1")
    assert game.to_dict() == position("d6", "a1", 2) and game.current_player == 0
    assert len(game.legal_actions()) == 22 and not names(game) & {"d6", "a1"}


def test_n5_three_men_fly(start: Start) -> None:
    game = start(GAME, position("a7 d6 g1", "f6 f4 f2 b2", 18))
    assert len(game.legal_actions()) == 3 * 17 and "a7-e3" in names(game)
    play(game, "a7-e3")
    assert names(game) == {"f4-e4", "f4-g4", "f2-d2", "b2-b4", "b2-d2"}


def test_n6_a_mill_removes_a_man(start: Start) -> None:
    game = start(GAME)
    play(game, "a7 b6 d7 b4 g7")
    assert game.current_player == 0 and names(game) == {"b6", "b4"}
    play(game, "b4")
    assert game.to_dict() == position("a7 d7 g7", "b6", 5) and game.current_player == 1


def test_n6_men_in_mills_are_safe_while_there_are_others(start: Start) -> None:
    before = position("a7 d7 g4 g1 c3", "b6 d6 f6 e3", 18)
    game = start(GAME, before)
    play(game, "g4-g7")
    assert names(game) == {"e3"} and game.to_dict()["removes"]
    game = start(GAME, position("a7 d7 g4 g1 c3", "b6 d6 f6", 18))
    play(game, "g4-g7")
    assert names(game) == {"b6", "d6", "f6"}


def test_n6_two_mills_remove_one_man(start: Start) -> None:
    game = start(GAME, position("a7 d7 g1 g4 f6", "b6 d6 b2 e3 c4", 10))
    play(game, "g7 e3")
    assert game.to_dict() == position("a7 d7 g7 g1 g4 f6", "b6 d6 b2 c4", 11) and game.current_player == 1


def test_n7_two_men_lose(start: Start) -> None:
    game = start(GAME, position("a7 d7 g4 g1 c3", "b6 d6 b2", 18))
    play(game, "g4-g7 d6")
    assert game.terminated and game.rewards == [1, -1] and not game.truncated and game.legal_actions() == []


def test_n7_who_cannot_move_loses(start: Start) -> None:
    game = start(GAME, position("a7 g7 a1 g1", "d7 a4 g4 d2", 19))
    assert not game.terminated
    play(game, "d2-d1")
    assert game.terminated and game.rewards == [-1, 1]


def test_n8_a_draw(start: Start) -> None:
    game = start(GAME, position("a7 d6 g1 c4", "f6 f4 b4 b2", 28), max_turns=30)
    play(game, "a7-d7 b2-d2")
    assert game.terminated and game.rewards == [0, 0] and not game.truncated and game.legal_actions() == []
    game = start(GAME, position("a7 d7 g4 g1 c3", "b6 d6 b2", 28), max_turns=29)
    play(game, "g4-g7")
    assert not game.terminated
    play(game, "d6")
    assert game.terminated and game.rewards == [1, -1]


def test_n9_observation(start: Start) -> None:
    game = start(GAME, position("a7 d6", "g1", 5))
    for player in (0, 1):
        planes = game.observation(player)
        places = [[(r, c) for r in range(7) for c in range(7) if plane[r][c]] for plane in planes[:2]]
        assert places == [[(0, 0), (1, 3)], [(6, 6)]][:: 1 - 2 * player]
        assert [sum(map(sum, plane)) for plane in planes[2:]] == [0, 49, 0, 49, 0, 0, 0, 0, 0]


@pytest.mark.parametrize(
    "wrong",
    (
        position("a7 d7", "", 2),
        position("a7", "d7 g7", 3),
        position("a7", "", 1, True) | {"turns": 2},
        position("a7 d7 g7", "a1", 18) | {"removes": 1},
        position("a7 d7 g7", "a1", 201),
        position("a7 d7 g7", "a1", 18) | {"board": [0] * 23},
        position("a7 d7 g7", "a1", 18) | {"board": [2] * 24},
    ),
    ids=str,
)
def test_n10_impossible_positions(wrong: dict[str, Any]) -> None:
    with pytest.raises((ValueError, TypeError)):
        te.make(GAME).state_from_dicts([wrong])


def test_n10_ends(start: Start) -> None:
    assert start(GAME, position("a7 d7", "b6 d6 b2 a1", 18)).terminated
    assert start(GAME, position("a7 g7 a1 g1", "d7 a4 g4 d1", 18)).terminated
    assert start(GAME, position("a7 g7 a1 g1", "d7 a4 g4 d2", 200)).terminated
    removing = position("a7 d7 g7", "b6 d6", 4, True)
    assert start(GAME, removing).to_dict() == removing


def test_n11_names() -> None:
    assert NAMES[:3] == ("a7", "d7", "g7") and NAMES[24 + 24 * 4 + 1] == "d6-d7" and len(set(NAMES)) == 600


@pytest.mark.parametrize(("value", "error"), ((0, ValueError), (1001, ValueError), (9.0, TypeError)))
def test_n12_wrong_fields(value: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="max_turns"):
        te.make(GAME, max_turns=value)


@pytest.mark.slow
def test_n13_symmetries(start: Start) -> None:
    symmetries = list(te.make(GAME).symmetries())
    assert len({symmetry.actions for symmetry in symmetries}) == 16
    game, others, ply = start(GAME), [start(GAME) for _ in symmetries], 0
    while not game.terminated:
        action = uniform_action(policy_key(3, 1), ply, game.legal_actions())
        game.apply(action)
        ply += 1
        for symmetry, other in zip(symmetries, others, strict=True):
            other.apply(symmetry.actions.index(action))
    board = game.to_dict()["board"]
    for symmetry, other in zip(symmetries, others, strict=True):
        assert other.rewards == game.rewards and other.to_dict()["board"] == [board[k] for k in symmetry.state["board"]]
