"""Amazons: the rules as worked cases, played on every engine of the game."""

from collections.abc import Callable
from typing import Any

import pytest

import tensor_envs as te
from tests.games.chance import policy_key, uniform_action

GAME = "amazons"
Start = Callable[..., Any]
NAMES = te.make(GAME, size=6).action_names


def drawn(*rows: str, player: int = 0, phase: int = 0, active: str = "") -> dict[str, Any]:
    """Return a position of 6x6 as text, rows from the top: X is White, O Black, * an arrow; missing rows are empty."""
    board = [{"X": 1, "O": -1, "*": 2, ".": 0}[sign] for row in (*rows, *["......"] * (6 - len(rows))) for sign in row]
    square = NAMES.index(active) if active else -1
    return {"board": board, "current_player": player, "phase": phase, "active": square}


def names(game: Any) -> set[str]:
    return {NAMES[action] for action in game.legal_actions()}


def play(game: Any, squares: str) -> None:
    for name in squares.split():
        assert not game.terminated and game.rewards == [0, 0]
        game.apply(NAMES.index(name))


def test_a1_the_start(start: Start) -> None:
    game = start(GAME, size=6)
    assert game.to_dict() == drawn(".O..O.", "O....O", "......", "......", "X....X", ".X..X.")
    assert names(game) == {"a2", "b1", "e1", "f2"} and game.current_player == 0


@pytest.mark.parametrize(("size", "amazons"), ((8, "a3 c1 f1 h3"), (10, "a4 d1 g1 j4")))
def test_a1_other_sizes(start: Start, size: int, amazons: str) -> None:
    game, squares = start(GAME, size=size), te.make(GAME, size=size).action_names
    assert {squares[action] for action in game.legal_actions()} == set(amazons.split())
    board = game.to_dict()["board"]
    assert [-amazon for amazon in reversed(board)] == board and len(board) == size * size


def test_a2_a3_a4_a_turn(start: Start) -> None:
    game = start(GAME, drawn("X.*...", ".....O", "......", ".O....", "......", "......"), size=6)
    play(game, "a6")
    assert names(game) == {"b6", "a5", "a4", "a3", "a2", "a1", "b5", "c4", "d3", "e2", "f1"}
    assert game.current_player == 0 and game.to_dict()["phase"] == 1
    play(game, "c4")
    assert "a6" in names(game) and not names(game) & {"c6", "b3"}
    assert names(game) == {
        *("a6", "b5", "d3", "e2", "f1"), *("a4", "b4", "d4", "e4", "f4"), *("c5", "c3", "c2", "c1"), *("d5", "e6")
    }  # fmt: skip
    play(game, "a6")
    after = drawn("*.*...", ".....O", "..X...", ".O....", "......", "......", player=1)
    assert game.to_dict() == after and game.current_player == 1


def test_a3_an_amazon_that_cannot_move_is_not_chosen(start: Start) -> None:
    game = start(GAME, drawn("XO...X", "**....", "......", "......", "......", "O....."), size=6)
    assert names(game) == {"f6"}
    game = start(GAME, drawn(".....X", "*.....", "......", "......", "......", "X.....", player=1), size=6)
    assert game.terminated


def test_a3_lines_do_not_wrap_round_an_edge(start: Start) -> None:
    game = start(GAME, drawn("......", "....*X", "*...**", "......", "......", "......", phase=1, active="f5"), size=6)
    assert names(game) == {"f6", "e6"}


def test_a5_who_cannot_move_loses(start: Start) -> None:
    before = drawn("O*....", "*.X...", "......", "......", "......", "......", phase=2, active="c5")
    game = start(GAME, before, size=6)
    assert "b5" in names(game)
    play(game, "b5")
    assert game.terminated and game.rewards == [1, -1] and game.legal_actions() == [] and not game.truncated


def test_a6_observation(start: Start) -> None:
    game = start(GAME, drawn("X.*...", ".....O"), size=6)
    play(game, "a6")
    for player in (0, 1):
        planes = game.observation(player)
        places = [[(r, c) for r in range(6) for c in range(6) if plane[r][c]] for plane in planes]
        assert places[:2] == ([[(0, 0)], [(1, 5)]])[:: 1 - 2 * player] and places[2:] == [[(0, 2)], [(0, 0)], []]
    play(game, "a5")
    planes = game.observation(0)
    assert planes[3][1][0] and sum(map(sum, planes[3])) == 1 and sum(map(sum, planes[4])) == 36


@pytest.mark.parametrize(
    "wrong",
    (
        {"phase": 1},
        {"active": 0},
        {"phase": 1, "active": 11},
        {"phase": 2, "active": 3},
        {"phase": 3},
        {"board": [3] * 36},
        {"board": [0] * 35},
        {"current_player": 2},
    ),
    ids=str,
)
def test_a7_impossible_positions(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"is no state of 'amazons': (active|phase|board|current_player)"):
        te.make(GAME, size=6).state_from_dicts([drawn("X.*...", ".....O") | wrong])


def test_a8_names() -> None:
    names = te.make(GAME).action_names
    assert (names[0], names[1], names[10], names[93], names[99]) == ("a10", "b10", "a9", "d1", "j1")


@pytest.mark.parametrize(("value", "error"), ((4, ValueError), (7, ValueError), (12, ValueError), (6.0, TypeError)))
def test_a9_wrong_fields(value: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="size"):
        te.make(GAME, size=value)


def test_a10_symmetries(start: Start) -> None:
    game, other, ply = start(GAME, size=6), start(GAME, size=6), 0
    while not game.terminated:
        action = uniform_action(policy_key(3, 0), ply, game.legal_actions())
        game.apply(action)
        other.apply(action // 6 * 6 + 5 - action % 6)
        ply += 1
    assert other.terminated and other.rewards == game.rewards
    assert len(list(te.make(GAME).symmetries())) == 2
