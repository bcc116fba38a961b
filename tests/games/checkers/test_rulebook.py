"""English draughts: the rules as worked cases, played on every engine of the game."""

from collections.abc import Callable
from typing import Any

import pytest

import tensor_envs as te

GAME = "checkers"
Start = Callable[..., Any]
NAMES = te.make(GAME).action_names
NUMBERS = {name: action for action, name in enumerate(NAMES)}


def position(black: str = "", white: str = "", player: int = 0, jumper: int = 0, quiet: int = 0) -> dict[str, Any]:
    """Return a position by lists of squares, those of kings with a K: "1 K22"."""
    board = [0] * 32
    for names, sign in ((black, 1), (white, -1)):
        for name in names.split():
            board[int(name.lstrip("K")) - 1] = sign * (2 if name.startswith("K") else 1)
    return {"board": board, "current_player": player, "jumper": jumper, "quiet": quiet}


def names(game: Any) -> set[str]:
    return {NAMES[action] for action in game.legal_actions()}


def play(game: Any, moves: str) -> None:
    for name in moves.split():
        game.apply(NUMBERS[name])


def test_d1_the_start(start: Start) -> None:
    game = start(GAME)
    men = " ".join(map(str, range(1, 13))), " ".join(map(str, range(21, 33)))
    assert game.to_dict() == position(*men) and game.current_player == 0
    assert names(game) == {"9-13", "9-14", "10-14", "10-15", "11-15", "11-16", "12-16"}


def test_d2_men_step_forward_and_kings_both_ways(start: Start) -> None:
    assert names(start(GAME, position("15 K18", "32"))) == {"15-19", "18-14", "18-22", "18-23"}
    assert names(start(GAME, position("1", "K4 12 13", 1))) == {"4-8", "12-8", "13-9"}


def test_d3_captures_are_compulsory(start: Start) -> None:
    game = start(GAME, position("1 15", "19 29"))
    assert names(game) == {"15x24"}
    play(game, "15x24")
    assert game.to_dict() == position("1 24", "29", 1) and game.rewards == [0, 0]


def test_d3_men_do_not_capture_backward_or_beyond_the_edge(start: Start) -> None:
    assert names(start(GAME, position("15", "10 11"))) == {"15-18", "15-19"}
    assert names(start(GAME, position("K15", "10 11"))) == {"15x6", "15x8"}
    assert names(start(GAME, position("8 13", "12 17 22"))) == {"8-11"}


def test_d3_a_shorter_capture_may_be_chosen(start: Start) -> None:
    game = start(GAME, position("1 3", "6 15 7 32"))
    assert names(game) == {"1x10", "3x10"}


def test_d4_a_piece_goes_on_jumping(start: Start) -> None:
    game = start(GAME, position("1 12", "6 14 15 16 32"))
    play(game, "1x10")
    assert game.to_dict() == position("10 12", "14 15 16 32", 0, 10) and names(game) == {"10x17", "10x19"}
    assert game.current_player == 0
    play(game, "10x17")
    assert game.to_dict() == position("12 17", "15 16 32", 1)


def test_d4_a_king_jumps_in_a_circle(start: Start) -> None:
    game = start(GAME, position("K1", "6 7 14 15 30"))
    play(game, "1x10 10x3")
    assert game.to_dict() == position("K3", "14 15 30", 1)


def test_d5_a_new_king_stops(start: Start) -> None:
    game = start(GAME, position("22", "26 27 5"))
    play(game, "22x31")
    assert game.to_dict() == position("K31", "27 5", 1)
    assert names(game) == {"5-1", "27-23", "27-24"}


def test_d6_a_player_without_a_move_loses(start: Start) -> None:
    game = start(GAME, position("15", "18"))
    play(game, "15x22")
    assert game.terminated and game.rewards == [1, -1] and game.legal_actions() == []
    game = start(GAME, position("21", "25 30 K7", 1))
    play(game, "7-2")
    assert game.terminated and game.rewards == [-1, 1] and not game.truncated


def test_d7_quiet_plies(start: Start) -> None:
    game = start(GAME, position("K1 2", "K32", quiet=3), quiet_plies=5)
    play(game, "1-5")
    assert game.to_dict()["quiet"] == 4 and not game.terminated
    play(game, "32-28")
    assert game.terminated and game.rewards == [0, 0] and not game.truncated and game.legal_actions() == []
    game = start(GAME, position("K1 2", "K32", quiet=4), quiet_plies=5)
    play(game, "2-7")
    assert game.to_dict()["quiet"] == 0 and not game.terminated
    game = start(GAME, position("21", "25 30 K7", 1, quiet=4), quiet_plies=5)
    play(game, "7-2")
    assert game.terminated and game.rewards == [-1, 1]


def test_d10_observation(start: Start) -> None:
    game = start(GAME, position("1 K10", "14 K32", quiet=6))
    for player in (0, 1):
        planes = game.observation(player)
        places = [[(r, c) for r in range(8) for c in range(8) if plane[r][c]] for plane in planes]
        mine, others = ([(0, 1)], [(2, 3)]), ([(3, 2)], [(7, 6)])
        assert tuple(places[:4]) == (mine + others, others + mine)[player]
        assert [len(cells) for cells in places[4:]] == [0, 64 * (1 - player), 0, 64, 64, 0, 0, 0, 0]
    game = start(GAME, position("1", "6 14 32"))
    play(game, "1x10")
    assert [sum(row) for row in game.observation(1)[4]] == [0, 0, 1, 0, 0, 0, 0, 0]


@pytest.mark.parametrize(
    "wrong",
    (
        position("32", "5"),
        position("5", "1"),
        position("5", "32", jumper=5),
        position("1", "6 32", jumper=6),
        position("1", "6 32", jumper=1, quiet=1),
        position("5", "32", quiet=81),
        position("5", "32", player=2),
        position("5", "32") | {"board": [0] * 31},
        position("5", "32") | {"board": [3] * 32},
    ),
    ids=str,
)
def test_d11_impossible_positions(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"is no state of 'checkers': (board|jumper|quiet|current_player)"):
        te.make(GAME).state_from_dicts([wrong])


def test_d11_positions(start: Start) -> None:
    jumping = position("1 9", "6 14 32", jumper=1)
    game = start(GAME, jumping)
    assert game.to_dict() == jumping and names(game) == {"1x10"}
    assert start(GAME, position("", "5")).terminated and start(GAME, position("K5", "6", quiet=80)).terminated


def test_d12_names() -> None:
    assert [NAMES[action] for action in (106, 181, 0, 128)] == [
        "11-15", "22x15", "1-up-left", "1xup-left"
    ]  # fmt: skip
    assert len(set(NAMES)) == 256


@pytest.mark.parametrize(("value", "error"), ((0, ValueError), (101, ValueError), ("80", TypeError), (True, TypeError)))
def test_d13_wrong_fields(value: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="quiet_plies"):
        te.make(GAME, quiet_plies=value)
