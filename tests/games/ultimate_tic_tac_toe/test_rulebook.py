"""Ultimate tic-tac-toe: the rules as worked cases, played on every engine of the game."""

from collections.abc import Callable
from typing import Any

import pytest

import tensor_envs as te

GAME = "ultimate_tic_tac_toe"
Start = Callable[..., Any]


def cell(name: str) -> int:
    return "abcdefghi".index(name[0]) + 9 * (int(name[1]) - 1)


def drawn(boards: dict[int, str], active: list[int], player: int = 0) -> dict[str, Any]:
    """Return a position: small boards by their numbers, row by row, and the boards for the next mark."""
    board = [0] * 81
    for number, marks in boards.items():
        for place, mark in enumerate(marks):
            row, column = number // 3 * 3 + place // 3, number % 3 * 3 + place % 3
            board[9 * row + column] = {"X": 1, "O": -1, ".": 0}[mark]
    return {"board": board, "active": [int(k in active) for k in range(9)], "current_player": player}


def test_u1_u2_the_start(start: Start) -> None:
    game = start(GAME)
    assert game.to_dict() == drawn({}, list(range(9)))
    assert game.legal_actions() == list(range(81)) and not game.terminated and not game.truncated


def test_u4_the_place_of_a_mark_chooses_the_board(start: Start) -> None:
    game = start(GAME)
    game.apply(cell("f1"))  # the upper right cell of board 1
    assert game.to_dict() == drawn({1: "..X......"}, [2], player=1)
    assert game.legal_actions() == sorted(cell(column + row) for column in "ghi" for row in "123")
    with pytest.raises(ValueError, match="action 0 is illegal"):
        game.apply(cell("a1"))
    game.apply(cell("g2"))  # the left cell of the middle row
    assert game.to_dict() == drawn({1: "..X......", 2: "...O....."}, [3])


LINES = ["XXX......", "...XXX...", "......XXX", "X..X..X..", ".X..X..X.", "..X..X..X", "X...X...X", "..X.X.X.."]


@pytest.mark.parametrize("line", LINES)
def test_u3_a_line_closes_a_small_board(start: Start, line: str) -> None:
    """Check that the last mark of every line wins board 4, and that a mark sent there may be played anywhere."""
    last = line.rindex("X")
    game = start(GAME, drawn({4: line[:last] + "." + line[last + 1 :], last: "........." if last != 4 else line}, [4]))
    game.apply(27 * 1 + 3 + 9 * (last // 3) + last % 3)
    assert game.observation(0)[2][4][4] and not game.terminated and game.rewards == [0, 0]
    assert not {cell(column + row) for column in "def" for row in "456"} & set(game.legal_actions())


@pytest.mark.parametrize("boards", ({4: "XOXXOOO.X"}, {4: "XX.OO...."}))
def test_u4_a_closed_board_frees_the_choice(start: Start, boards: dict[int, str]) -> None:
    """Check a board that this mark fills, and one that it wins; both send the opponent to a closed board."""
    place = boards[4].index(".")
    game = start(GAME, drawn(boards | {place: "XXX......"}, [4]))
    game.apply(27 + 3 + 9 * (place // 3) + place % 3)
    closed = {4, place}
    assert game.to_dict()["active"] == [int(k not in closed) for k in range(9)]


@pytest.mark.parametrize("player", (0, 1))
def test_u5_three_boards_in_a_line_win(start: Start, player: int) -> None:
    swap = str.maketrans("XO", "OX") if player else {}
    won = "XXX......".translate(swap)
    game = start(GAME, drawn({0: won, 8: won, 4: "XX.......".translate(swap)}, [4], player))
    game.apply(cell("f4"))
    assert game.terminated and not game.truncated and game.legal_actions() == []
    assert game.rewards == [[1, -1], [-1, 1]][player]
    assert game.to_dict()["active"] == [0] * 9


def test_u3_u5_a_full_board_belongs_to_nobody(start: Start) -> None:
    """Check that X, with two boards and the last mark of a full one in their line, has not won."""
    full, won = "XOXXOOOX.", "XXX......"
    game = start(GAME, drawn({0: won, 1: won, 2: full}, [2]))
    game.apply(cell("i3"))
    assert not game.terminated and game.rewards == [0, 0]
    assert game.to_dict()["active"] == [0, 0, 0, 0, 0, 0, 0, 0, 1]


def test_u5_closed_boards_without_a_line_are_a_draw(start: Start) -> None:
    x, o, full = "XXX......", "OOO......", "XOXXOOOX."
    boards = {0: x, 1: x, 2: o, 3: o, 4: o, 5: x, 6: x, 7: x, 8: full}
    game = start(GAME, drawn(boards, [8]))
    game.apply(cell("i9"))
    assert game.terminated and game.rewards == [0, 0] and game.legal_actions() == []


def test_u7_observation(start: Start) -> None:
    game = start(GAME, drawn({0: "XXX......", 8: ".O......."}, [8], player=1))
    for player in (0, 1):
        own, other, mine, yours, legal = game.observation(player)
        x, o = (own, other) if player == 0 else (other, own)
        won, lost = (mine, yours) if player == 0 else (yours, mine)
        assert sum(map(sum, x)) == 3 and all(x[0][:3]) and sum(map(sum, o)) == 1 and o[6][7]
        assert sum(map(sum, won)) == 9 and won[2][2] and not sum(map(sum, lost))
        assert sum(map(sum, legal)) == 8 and not legal[6][7]


@pytest.mark.parametrize(
    ("wrong", "message"),
    (
        ({"board": [0] * 80}, "81 entries"),
        ({"board": [2] * 81}, r"board\[0\]"),
        ({"current_player": 2}, "current_player"),
        ({"active": [0] * 9}, "one open board"),
        ({"active": [1, 1, 0, 0, 0, 0, 0, 0, 0]}, "one open board"),
        (drawn({0: "XXX......"}, [0]), "one open board"),
        (drawn({3: "XXXOOO..."}, [0]), "small board 3"),
    ),
)
def test_u8_impossible_positions(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        te.make(GAME).state_from_dicts([drawn({}, list(range(9))) | wrong])


def test_u9_names() -> None:
    assert [te.make(GAME).action_to_string(action) for action in (0, 1, 9, 40, 80)] == ["a1", "b1", "a2", "e5", "i9"]
