"""Lines of Action: the rules as worked cases, played on every engine of the game."""

from collections.abc import Callable
from typing import Any

import pytest

import tensor_envs as te

GAME = "lines_of_action"
Start = Callable[..., Any]


def square(name: str) -> int:
    return "abcdefgh".index(name[0]) + 8 * (int(name[1]) - 1)


def placed(black: str, white: str, player: int = 0, history: str = "") -> dict[str, Any]:
    """Return a position by the names of the pieces' squares, and of those of the last moves."""
    board = [0] * 64
    for names, piece in ((black, 1), (white, -1)):
        for name in names.split():
            board[square(name)] = piece
    return {"board": board, "current_player": player, "history": [square(name) for name in history.split()]}


NAMES = [*te.make(GAME).action_names]


def moves(game: Any, start: str) -> set[str]:
    """Return the ends of the legal moves from a square."""
    return {NAMES[action][2:] for action in game.legal_actions() if NAMES[action].startswith(start)}


def test_l1_l2_the_start(start: Start) -> None:
    game = start(GAME)
    black, white = "b1 c1 d1 e1 f1 g1 b8 c8 d8 e8 f8 g8", "a2 a3 a4 a5 a6 a7 h2 h3 h4 h5 h6 h7"
    assert game.to_dict() == placed(black, white) and len(game.legal_actions()) == 36
    assert moves(game, "b1") == {"h1", "b3", "d3"} and moves(game, "c1") == {"a3", "c3", "e3"}


def test_l2_own_pieces_are_jumped_and_opposing_ones_are_not(start: Start) -> None:
    """Check a row of three: over an own piece, onto an opposing one, and not over one or onto an own one."""
    game = start(GAME, placed("d4 e4 a8 g1", "g4 h8"))
    assert moves(game, "d4") >= {"a4", "g4"} and "g4" not in moves(game, "e4")
    game = start(GAME, placed("d4 a8 g1", "e4 g4 h8"))
    assert "g4" not in moves(game, "d4") and "a4" in moves(game, "d4")
    game = start(GAME, placed("d4 e4 g4 a8", "h8 a1"))
    assert "g4" not in moves(game, "d4") and "a4" in moves(game, "d4")


def test_l2_both_players_pieces_count_on_the_whole_line(start: Start) -> None:
    game = start(GAME, placed("d4 d1 a8", "d7 d8 h4 b2"))
    assert moves(game, "d4") == {"f4", "b4", "f6", "b2", "c5", "e3"}  # d7 is in the way to d8


def test_l2_a_capture(start: Start) -> None:
    game = start(GAME, placed("d4 a8 h2", "f4 h8 b1"))
    game.apply(NAMES.index("d4f4"))
    assert game.to_dict() == placed("f4 a8 h2", "h8 b1", 1) and not game.terminated


@pytest.mark.parametrize("player", (0, 1))
def test_l4_connected_pieces_win(start: Start, player: int) -> None:
    sets = ("a1 b2 c4", "h1 h5 f8")
    game = start(GAME, placed(sets[player], sets[1 - player], player))
    assert not game.terminated
    game.apply(NAMES.index("c4c3"))
    assert game.terminated and not game.truncated and game.rewards == [[1, -1], [-1, 1]][player]
    assert game.legal_actions() == []


def test_l4_a_capture_may_connect_the_opponent(start: Start) -> None:
    """Check the opponent's win by a capture, and the mover's if both are connected."""
    game = start(GAME, placed("d4 a8 h2", "f4 h8"))
    game.apply(NAMES.index("d4f4"))
    assert game.terminated and game.rewards == [-1, 1]
    game = start(GAME, placed("d4 g5", "f4 h8"))
    game.apply(NAMES.index("d4f4"))
    assert game.terminated and game.rewards == [1, -1]


def test_l5_a_player_without_a_move_loses(start: Start) -> None:
    """Check that white's two pieces in corners are shut in by a black move."""
    game = start(GAME, placed("c1 f1 a2 b2 c2 f2 g2 h2 a3 c3 h3", "a1 h1"))
    game.apply(NAMES.index("c2b1"))
    assert game.terminated and game.rewards == [1, -1] and game.legal_actions() == []


def test_l6_a_board_that_recurs_is_a_draw(start: Start) -> None:
    game = start(GAME)
    for name in ("b1b3", "a2c2", "b3b1", "c2a2"):
        assert not game.terminated
        game.apply(NAMES.index(name))
    assert game.terminated and game.rewards == [0, 0] and not game.truncated


def test_l6_l10_the_end_is_read_off_the_history(start: Start) -> None:
    sets = ("c3 a8 e1", "h7 h1 d6")
    assert start(GAME, placed(*sets, 0, "c3 b3 h7 g7 b3 c3 g7 h7")).terminated
    assert not start(GAME, placed(*sets, 0, "h7 g7 b3 c3 g7 h7")).terminated


def test_l6_quiet_plies(start: Start) -> None:
    game = start(GAME, quiet_plies=2)
    game.apply(NAMES.index("b1b3"))
    assert not game.terminated and game.to_dict()["history"] == [square("b1"), square("b3")]
    game.apply(game.legal_actions()[0])
    assert game.terminated and game.rewards == [0, 0] and not game.truncated


def test_l8_illegal_fields() -> None:
    wrong: Any
    for wrong, error in ((0, ValueError), (401, ValueError), (8.0, TypeError)):
        with pytest.raises(error, match="quiet_plies must be"):
            te.make(GAME, quiet_plies=wrong)


def test_l9_observation(start: Start) -> None:
    game = start(GAME, placed("b1 h8", "a2 c5", 1))
    black, white = game.observation(0), game.observation(1)
    assert black == white[::-1] and black[0][0][1] and black[0][7][7] and black[1][1][0] and black[1][4][2]
    assert sum(map(sum, black[0])) == sum(map(sum, black[1])) == 2


@pytest.mark.parametrize(
    ("wrong", "message"),
    (
        ({"board": [0] * 63}, "64 entries"),
        ({"board": [0] * 64}, r"1\.\.12 pieces of 1"),
        ({"board": [1] * 13 + [-1] * 51}, r"1\.\.12 pieces of 1"),
        ({"current_player": 2}, "current_player"),
        ({"history": [0]}, "two squares for each"),
        ({"history": [0, 64]}, r"history\[1\]"),
        ({"history": [0, 1]}, "lead to the board"),
    ),
)
def test_l10_impossible_positions(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        te.make(GAME).state_from_dicts([placed("b1 h8", "a2 c5") | wrong])


def test_l11_names() -> None:
    env = te.make(GAME)
    actions = (1, 64 * 7 + 1, 64 * 8 + 1, 64 * 14 + 7, 64 * 15 + 62)
    assert [env.action_to_string(a) for a in actions] == ["b1c1", "b1b2", "b1b3", "h1/14", "g8a2"]
