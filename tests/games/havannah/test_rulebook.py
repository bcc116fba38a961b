"""Havannah: the rules as worked cases, played on every engine of the game."""

from collections.abc import Callable
from typing import Any

import pytest

import tensor_envs as te

GAME = "havannah"
SMALL: dict[str, Any] = {"size": 4, "swap": True}
Start = Callable[..., Any]


def drawn(picture: str, player: int = 0) -> dict[str, Any]:
    """Return a position drawn as text, rows from the top: X and O are stones of the first and the second player."""
    rows = picture.split()
    size = (len(rows) + 1) // 2
    lines = ["." * (row - size + 1) + stones for row, stones in enumerate(rows)]
    board = [{"X": 1, "O": -1, ".": 0}[stone] for line in lines for stone in line.ljust(len(rows), ".")]
    return {"board": board, "current_player": player}


def cell_of(picture: str) -> int:
    """Return the cell of the star in a picture."""
    return drawn(picture.replace("X", ".").replace("O", ".").replace("*", "X"))["board"].index(1)


def test_v1_v2_the_start(start: Start) -> None:
    game = start(GAME, size=2)
    assert game.to_dict() == drawn(".. ... ..") and game.legal_actions() == [0, 1, 3, 4, 5, 7, 8]
    assert not game.terminated and not game.truncated


# positions; a stone of X at * wins
WINS = {
    "a bridge along an edge": "X*XX ..... O..... ....... O..... ..... O...",
    "a bridge across": "X... .X... ..X... ...*... ...X.. ...X. ...X",
    "a fork with a corner in it": "XX.. X.X*X ...... ....... ...... ..... OOO.",
    "a fork of three arms": ".X.. .X... ..X... ...*XX. ..X..X XX... .O..",
    "a ring around an empty cell": ".... ..... ..XX.. ..X.X.. ..X*.. ..... OOO.",
    "a ring around a stone of the opponent": ".... ..... ..XX.. ..XOX.. ..*X.. ..... OO..",
    "a ring around an own stone": ".... ..... ..XX.. ..XXX.. ..X*.. ..... OOO.",
    "a ring around two cells": ".... .XXX. .X..X. ..XX*.. ...... ..... OOO.",
    "a ring with a tail": "X... .X... ..XX.. ..X.X.. ..X*.. ..... OOO.",
}
# and here it does not
NO_WINS = {
    "one corner": "X... .X... ..*... ....... ...... ..... OOO.",
    "a corner is on no side": "X*.. X.... ...... ....... ...... ..... OO..",
    "three stones that touch each other": ".... .XX.. ..*... ....... ...... ..... OO..",
    "a ring with a gap": ".... ..... ..XX.. ..X.X.. ..*... ..... OO..",
    "a ring that a stone of the opponent breaks": ".... ..... ..XX.. ..O.X.. ..X*.. ..... OO..",
    "a bow at an edge": "*.X. .XX.. ...... ....... ...... ..... OOO.",
}
DRAW = "XOOO OXX*X XOXXXX XOXXOOO OOXOOO OXOXX OXOX"
CASES = [(case, True) for case in WINS] + [(case, False) for case in NO_WINS]


@pytest.mark.parametrize(("case", "won"), CASES)
@pytest.mark.parametrize("player", (0, 1))
def test_v4_v5_v6_structures(start: Start, case: str, won: bool, player: int) -> None:
    picture = (WINS if won else NO_WINS)[case]
    stones = picture.replace("*", ".").translate(str.maketrans("XO", "OX" if player else "XO"))
    game = start(GAME, drawn(stones, player), **SMALL)
    assert not game.terminated
    game.apply(cell_of(picture))
    assert game.terminated == won and not game.truncated and (game.legal_actions() == []) == won
    assert game.rewards == [0, 0] if not won else game.rewards == ([-1, 1] if player else [1, -1])


# shortest structures with ten cells a side, by rows: C. Freeling's rules say 6, 10 and 12 stones
SHORTEST = {
    "a ring": [(5, 5), (5, 6), (6, 5), (6, 7), (7, 6), (7, 7)],
    "a bridge": [(0, column) for column in range(10)],
    "a fork": [(0, 1), *((1, column) for column in range(11))],
}


@pytest.mark.parametrize(("reason", "stones"), SHORTEST.items())
def test_shortest_structures(start: Start, reason: str, stones: list[tuple[int, int]]) -> None:
    assert len(stones) == {"a ring": 6, "a bridge": 10, "a fork": 12}[reason]
    rules: Any = te.make(GAME, size=10).rules
    board = [0] * 361
    for row, column in stones:
        assert rules.winning(board) == (set(), "")
        board[19 * row + column] = 1
    assert rules.winning(board)[1] == reason
    assert start(GAME, {"board": board, "current_player": 1}, size=10).terminated


@pytest.mark.parametrize("last", range(7))
def test_v6_a_full_hexagon_is_a_ring(start: Start, last: int) -> None:
    """Check each of the stones as the last one; without the one in the middle there is a ring before."""
    cells = [16, 17, 23, 24, 25, 31, 32]  # the fourth one is in the middle
    stones = [1 if cell in cells and cell != cells[last] else 0 for cell in range(49)]
    is_ring = last == 3
    game = start(GAME, {"board": stones, "current_player": 0}, **SMALL)
    assert game.terminated == is_ring
    if not is_ring:
        game.apply(cells[last])
        assert game.terminated and game.rewards == [1, -1]


def test_v3_swap(start: Start) -> None:
    game = start(GAME, **SMALL)
    game.apply(10)
    assert 10 in game.legal_actions() and game.current_player == 1
    game.apply(10)
    assert game.to_dict() == drawn(".... ...O. ...... ....... ...... ..... ....") and 10 not in game.legal_actions()
    game.apply(24)
    assert 24 not in game.legal_actions() and game.current_player == 1


def test_v3_without_swap(start: Start) -> None:
    game = start(GAME, size=2)
    game.apply(4)
    assert game.legal_actions() == [0, 1, 3, 5, 7, 8]


def test_v7_a_draw(start: Start) -> None:
    """Check a full board without a ring, a bridge or a fork."""
    game = start(GAME, drawn(DRAW.replace("*", "."), 0), **SMALL)
    assert not game.terminated
    game.apply(cell_of(DRAW))
    assert game.terminated and not game.truncated and game.rewards == [0, 0]
    assert start(GAME, drawn(DRAW.replace("*", "X"), 1), **SMALL).terminated


@pytest.mark.parametrize(
    ("fields", "error"), (({"size": 1}, ValueError), ({"size": 11}, ValueError), ({"swap": 1}, TypeError))
)
def test_v8_impossible_fields(fields: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error, match=r"^(size|swap) must be"):
        te.make(GAME, **fields)


def test_v9_observation(start: Start) -> None:
    game = start(GAME, drawn("XO .O. ..", 0), size=2)
    first, second = [[1, 0, 0], [0, 0, 0], [0, 0, 0]], [[0, 1, 0], [0, 1, 0], [0, 0, 0]]
    empty = [[0, 0, 0], [1, 0, 1], [0, 1, 1]]
    assert game.observation(0) == [first, second, empty]
    assert game.observation(1) == [second, first, empty]


@pytest.mark.parametrize(
    ("wrong", "message"),
    (
        ({"board": [0] * 8}, "9 entries"),
        ({"board": [0] * 6 + [1, 0, 0]}, r"board\[6\] must be 0, since it is not on the board"),
        ({"current_player": 2}, "current_player"),
    ),
)
def test_v10_impossible_positions(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        te.make(GAME, size=2).state_from_dicts([drawn(".. ... ..") | wrong])


def test_v11_names_and_text() -> None:
    env = te.make(GAME, size=3)
    assert [env.action_to_string(action) for action in (0, 2, 5, 12, 24)] == ["a1", "c1", "a2", "c3", "e5"]
    lines = ["      a b c", "   1 X . . d", "  2 . . . . e", " 3 . . O . .", "  4 . . . .", "   5 . . ."]
    text = env.to_string(env.state_from_dicts([drawn("X.. .... ..O.. .... ...", 0)]))
    assert text.splitlines() == [*lines, "Red (X) to move"]


def test_v12_symmetries() -> None:
    maps = [symmetry.actions for symmetry in te.make(GAME, size=2).symmetries()]
    assert len(maps) == len({*maps}) == 12 and maps[0] == tuple(range(9))
    assert all(m[4] == 4 and {m[2], m[6]} == {2, 6} for m in maps)
    assert sorted(m[0] for m in maps) == [0, 0, 1, 1, 3, 3, 5, 5, 7, 7, 8, 8]
