"""Othello: the rules as worked cases, played on every engine of the game."""

from collections.abc import Callable
from typing import Any

import pytest

import tensor_envs as te
from tests.games.chance import policy_key, uniform_action

GAME = "othello"
PASS = 64
Start = Callable[..., Any]
EMPTY = "........"
WIPED_OUT = "e6 f4 e3 f6 g5 d6 e7 f5 c5"  # the shortest game


def drawn(*rows: str, player: int = 0) -> dict[str, Any]:
    """Return a position drawn as text, rows from the top: X is black, O white; missing rows are empty."""
    board = [{"X": 1, "O": -1, ".": 0}[disc] for row in (*rows, *[EMPTY] * (8 - len(rows))) for disc in row]
    return {"board": board, "current_player": player}


def square(name: str) -> int:
    return PASS if name == "pass" else "abcdefgh".index(name[0]) + 8 * (int(name[1]) - 1)


def play(game: Any, squares: str) -> None:
    for name in squares.split():
        assert not game.terminated and game.rewards == [0, 0]
        game.apply(square(name))


def test_o1_o3_the_start(start: Start) -> None:
    game = start(GAME)
    assert game.to_dict() == drawn(*[EMPTY] * 3, "...OX...", "...XO...")
    assert game.legal_actions() == [square(name) for name in ("d3", "c4", "f5", "e6")]
    assert not game.terminated and not game.truncated and game.current_player == 0


def test_o2_a_disc_turns_lines_in_all_directions(start: Start) -> None:
    star = ("X..X..X.", ".O.O.O..", "..OOO...", "XOO.OOOX", "..OOO...", ".O.O.O..", "X..X..X.", "...X....")
    game = start(GAME, drawn(*star))
    game.apply(square("d4"))
    after = ("X..X..X.", ".X.X.X..", "..XXX...", "XXXXXXXX", "..XXX...", ".X.X.X..", "X..X..X.", "...X....")
    assert game.to_dict() == drawn(*after, player=1)


@pytest.mark.parametrize("player", (0, 1))
def test_o2_what_is_not_outflanked_stays(start: Start, player: int) -> None:
    """Check a line with a gap, one to the edge, and one that ends at a disc flipped by the same move."""
    before, after = (("...OOX.O", "OOO.OO.X", "...O....", "...XXO.X"), ("...OOX.O", "OOOXOO.X", "...X....", "...XXO.X"))
    swap = str.maketrans("XO", "OX") if player else {}
    game = start(GAME, drawn(*(row.translate(swap) for row in before), player=player))
    game.apply(square("d2"))
    assert game.to_dict() == drawn(*(row.translate(swap) for row in after), player=1 - player)


def test_o2_discs_that_are_turned_outflank_nothing(start: Start) -> None:
    game = start(GAME, drawn(".OX.....", ".O......", ".X......"))
    game.apply(square("a1"))
    assert game.to_dict() == drawn("XXX.....", ".O......", ".X......", player=1)


def test_o2_lines_do_not_wrap_round_an_edge(start: Start) -> None:
    """Check a row and a diagonal whose lines would end on the other side."""
    game = start(GAME, drawn(".....XOO", "XX......", EMPTY, EMPTY, "......OX", ".......O", "X......."))
    assert game.legal_actions() == [square("f5"), square("h7")]
    game = start(GAME, drawn("XOOOOOO.", "O......X"))
    assert game.legal_actions() == [square("h1"), square("a3")]


def test_o4_a_player_without_a_square_passes(start: Start) -> None:
    game = start(GAME, drawn("OX......", player=1))
    assert game.legal_actions() == [square("c1")]
    game = start(GAME, drawn("OX......", player=0))
    assert game.legal_actions() == [PASS] and not game.terminated
    game.apply(PASS)
    assert game.to_dict() == drawn("OX......", player=1)
    with pytest.raises(ValueError, match="action 64 is illegal"):
        game.apply(PASS)
    game.apply(square("c1"))
    assert game.terminated and game.rewards == [-1, 1] and game.legal_actions() == []


def test_o4_a_disc_may_leave_the_other_player_without_a_square(start: Start) -> None:
    game = start(GAME, drawn("XO......", EMPTY, "XO......"))
    game.apply(square("c1"))
    assert game.legal_actions() == [PASS] and not game.terminated and game.current_player == 1
    play(game, "pass c3")
    assert game.terminated and game.rewards == [1, -1]


def test_o5_the_shortest_game(start: Start) -> None:
    game = start(GAME)
    play(game, WIPED_OUT)
    assert game.terminated and not game.truncated and game.rewards == [1, -1] and game.legal_actions() == []
    assert -1 not in game.to_dict()["board"] and game.to_dict()["board"].count(1) == 13


@pytest.mark.parametrize(("last", "rewards"), (("XXOOOOOO", [1, -1]), ("OOOOOOOO", [-1, 1]), ("XOOOOOOO", [0, 0])))
def test_o5_o6_a_full_board(start: Start, last: str, rewards: list[int]) -> None:
    """Check that the last disc flips one, and that the last row decides."""
    game = start(GAME, drawn("XO.XXXXX", *["XXXXXXXX"] * 2, "XOXXXXXX", *["OOOOOOOO"] * 3, last))
    assert game.legal_actions() == [square("c1")]
    game.apply(square("c1"))
    assert game.terminated and game.rewards == rewards and game.legal_actions() == []


def test_o6_equally_many_discs_are_a_draw(start: Start) -> None:
    game = start(GAME, drawn("XO......", EMPTY, "OOO....."))
    game.apply(square("c1"))
    assert game.terminated and game.rewards == [0, 0]


def test_o7_observation(start: Start) -> None:
    game = start(GAME, drawn("XO......", ".X......", player=1))
    planes = [game.observation(player) for player in (0, 1)]
    assert planes[0][0][0][:3] == [1, 0, 0] and planes[0][0][1][:3] == [0, 1, 0]
    assert planes[0][1][0][:3] == [0, 1, 0] and not any(map(any, planes[0][1][1:]))
    assert planes[1] == planes[0][::-1]


@pytest.mark.parametrize(("row", "over"), (("XXX.....", True), ("OX......", False), ("........", True)))
def test_o8_the_end_is_read_off_the_board(start: Start, row: str, over: bool) -> None:
    game = start(GAME, drawn(row))
    assert game.terminated == over and not game.truncated and game.to_dict() == drawn(row)
    assert game.legal_actions() == ([] if over else [PASS])


@pytest.mark.parametrize(
    "wrong", ({"board": [0] * 63}, {"board": [2] * 64}, {"current_player": 2}, {"current_player": "0"}), ids=str
)
def test_o8_impossible_positions(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"is no state of 'othello': (board|current_player)"):
        te.make(GAME).state_from_dicts([drawn("OX......") | wrong])


def test_o9_names() -> None:
    names = [te.make(GAME).action_to_string(action) for action in (0, 1, 8, 19, 63, PASS)]
    assert names == ["a1", "b1", "a2", "d3", "h8", "pass"]


@pytest.mark.parametrize("image", (lambda r, c: (7 - r, 7 - c), lambda r, c: (c, r), lambda r, c: (7 - c, 7 - r)))
def test_o10_symmetries(start: Start, image: Callable[[int, int], tuple[int, int]]) -> None:
    def mapped(action: int) -> int:
        row, column = image(*divmod(action, 8))
        return PASS if action == PASS else 8 * row + column

    game, other, ply = start(GAME), start(GAME), 0
    while not game.terminated:
        action = uniform_action(policy_key(3, 0), ply, game.legal_actions())
        game.apply(action)
        other.apply(mapped(action))
        ply += 1
        assert other.legal_actions() == sorted(map(mapped, game.legal_actions()))
    assert other.terminated and other.rewards == game.rewards
