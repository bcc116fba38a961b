"""Y: the rules as worked cases, played on every engine of the game."""

from collections.abc import Callable
from typing import Any

import pytest

import tensor_envs as te

GAME = "y"
Start = Callable[..., Any]


def drawn(picture: str, player: int = 0) -> dict[str, Any]:
    """Return a position drawn as text, rows from the top: X and O are stones of the first and the second player."""
    rows = picture.split()
    board = [{"X": 1, "O": -1, ".": 0}[stone] for row in rows for stone in row.ljust(len(rows), ".")]
    return {"board": board, "current_player": player}


def test_y1_y2_the_start(start: Start) -> None:
    game = start(GAME, size=3)
    assert game.to_dict() == drawn("... .. .") and game.legal_actions() == [0, 1, 2, 3, 4, 6]
    assert not game.terminated and not game.truncated


def test_y1_y2_players_take_turns(start: Start) -> None:
    game = start(GAME, size=3)
    for ply, cell in enumerate((4, 1, 6)):
        assert game.current_player == ply % 2
        game.apply(cell)
        assert cell not in game.legal_actions()
    assert game.to_dict() == drawn(".O. .X X", 1) and not game.terminated and game.legal_actions() == [0, 2, 3]


# positions; a stone of X at * connects all sides
WINS = {
    "one cell": "*",
    "an edge": "X*X .. O",
    "a corner and the opposite side": "..X. .X. OX *",
    "three arms": ".X.O OX. X* O",
    "a long way": "OXXXO OX.X O*. OX X",
}
# and here it does not
NO_WINS = {
    "two sides": "X.O. *.O .O .",
    "cells that do not touch": "X.. O* O",
    "a row's end and the next one's beginning": ".OX* XO. .. .",
    "a gap": "XX.* OO. .O .",
}
CASES = [(case, True) for case in WINS] + [(case, False) for case in NO_WINS]


@pytest.mark.parametrize(("case", "won"), CASES)
@pytest.mark.parametrize("player", (0, 1))
def test_y3_chains(start: Start, case: str, won: bool, player: int) -> None:
    picture = (WINS if won else NO_WINS)[case]
    rows = picture.split()
    row = next(k for k, line in enumerate(rows) if "*" in line)
    cell = row * len(rows) + rows[row].index("*")
    picture = picture.replace("*", ".").translate(str.maketrans("XO", "OX" if player else "XO"))
    game = start(GAME, drawn(picture, player), size=len(rows))
    assert not game.terminated
    game.apply(cell)
    assert game.terminated == won and not game.truncated and (game.legal_actions() == []) == won
    assert game.rewards == [0, 0] if not won else game.rewards == ([-1, 1] if player else [1, -1])


@pytest.mark.parametrize(("picture", "over"), (("XX X", True), ("OOO .. .", True), ("O.. O. .", False)))
def test_y4_the_end_is_read_off_the_board(start: Start, picture: str, over: bool) -> None:
    game = start(GAME, drawn(picture), size=len(picture.split()))
    assert game.terminated == over and not game.truncated and game.to_dict() == drawn(picture)
    assert (game.legal_actions() == []) == over


@pytest.mark.parametrize(
    ("wrong", "message"),
    (
        ({"board": [0] * 8}, "9 entries"),
        ({"board": [2] * 9}, r"board\[0\]"),
        ({"board": [0] * 8 + [1]}, r"board\[8\] must be 0, since it is not on the board"),
        ({"current_player": 2}, "current_player"),
    ),
)
def test_y4_impossible_positions(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        te.make(GAME, size=3).state_from_dicts([drawn("... .. .") | wrong])


@pytest.mark.parametrize(("size", "error"), ((0, ValueError), (20, ValueError), (7.0, TypeError)))
def test_y5_impossible_sizes(size: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="size must be"):
        te.make(GAME, size=size)


def test_y6_observation(start: Start) -> None:
    game = start(GAME, drawn("XO .", 0), size=2)
    first, second, empty = [[1, 0], [0, 0]], [[0, 1], [0, 0]], [[0, 0], [1, 0]]
    assert game.observation(0) == [first, second, empty]
    assert game.observation(1) == [second, first, empty]


def test_y7_names_and_text() -> None:
    env = te.make(GAME, size=4)
    assert [env.action_to_string(action) for action in (0, 3, 4, 12)] == ["a1", "d1", "a2", "a4"]
    text = "  a b c d\n 1 X . . .\n  2 . O .\n   3 . .\n    4 .\nBlue (O) to move"
    assert env.to_string(env.state_from_dicts([drawn("X... .O. .. .", 1)])) == text


def test_y8_symmetries() -> None:
    env = te.make(GAME, size=3)
    maps = [symmetry.actions for symmetry in env.symmetries()]
    assert len(maps) == 6 and maps[0] == tuple(range(9))
    assert sorted(m[0] for m in maps) == [0, 0, 2, 2, 6, 6]  # corners become corners
    assert all(sorted(m) == [*range(9)] and {m[5], m[7], m[8]} == {5, 7, 8} for m in maps)
