"""Hex: the rules as worked cases, played on every engine of the game."""

from collections.abc import Callable
from typing import Any

import pytest

import tensor_envs as te
from tests.games.chance import policy_key, uniform_action

GAME = "hex"
Start = Callable[..., Any]


def drawn(picture: str, player: int = 0) -> dict[str, Any]:
    """Return a position drawn as text, rows from the top: X and O are stones of the first and the second player."""
    board = [{"X": 1, "O": -1, ".": 0}[stone] for stone in "".join(picture.split())]
    return {"board": board, "current_player": player}


def mirrored(picture: str) -> str:
    """Return the game with the players exchanged: rows become columns."""
    columns = zip(*picture.split(), strict=True)
    return " ".join("".join(column) for column in columns).translate(str.maketrans("XO", "OX"))


def test_h1_h2_the_start(start: Start) -> None:
    game = start(GAME)
    assert game.to_dict() == {"board": [0] * 121, "current_player": 0}
    assert game.legal_actions() == list(range(121)) and not game.terminated and not game.truncated


def test_h1_h2_players_take_turns(start: Start) -> None:
    game = start(GAME, size=3, swap=False)
    for ply, cell in enumerate((4, 0, 8, 2)):
        assert game.current_player == ply % 2
        game.apply(cell)
        assert cell not in game.legal_actions()
    assert game.to_dict() == drawn("O.O .X. ..X") and not game.terminated and game.legal_actions() == [1, 3, 5, 6, 7]


# positions; a stone of X at * connects top and bottom
WINS = {
    "one cell": "*",
    "a column": "X.O X.O *..",
    "the short diagonal": "..X .*. XOO",
    "three groups": "..X.. ..X.O O.*XX .XO.. .X..O",
    "down, up and down again": "X.... X.OO. XO.XX XX*.X OOO.X",
    "a first stone on a side": ".*O OX. .X.",
}
# and here it does not
NO_WINS = {
    "cells that do not touch": "X.O O*. ..X",
    "across the other way": ".O. XX* .O.",
    "one side alone": "X.O *.O O..",
    "a row's end and the next one's beginning": "..*O X..O XO.. XO..",
    "a gap": "X..O *..O .... X.O.",
}
CASES = [(case, True) for case in WINS] + [(case, False) for case in NO_WINS]


@pytest.mark.parametrize(("case", "won"), CASES)
@pytest.mark.parametrize("player", (0, 1))
def test_h1_h4_chains(start: Start, case: str, won: bool, player: int) -> None:
    picture = (WINS if won else NO_WINS)[case]
    size, cell = len(picture.split()), "".join(picture.split()).index("*")
    picture = picture.replace("*", ".")
    if player:
        picture, cell = mirrored(picture), cell % size * size + cell // size
    if picture == ".":  # an empty board is player 0's
        player = 0
    game = start(GAME, drawn(picture, player), size=size)
    assert not game.terminated
    game.apply(cell)
    assert game.terminated == won and not game.truncated and (game.legal_actions() == []) == won
    assert game.rewards == [0, 0] if not won else game.rewards == ([-1, 1] if player else [1, -1])


def test_h3_swap(start: Start) -> None:
    game = start(GAME, size=4)
    assert 16 not in game.legal_actions()
    game.apply(6)
    assert game.legal_actions() == [*range(6), *range(7, 17)] and game.current_player == 1
    game.apply(16)
    assert game.to_dict() == drawn(".... .... .O.. ....", player=0)
    assert game.legal_actions() == [*range(9), *range(10, 16)]
    for cell in (13, 8):
        game.apply(cell)
    assert 16 not in game.legal_actions()
    for cell in (12, 10, 5):
        game.apply(cell)
    assert game.current_player == 1 and not game.terminated
    game.apply(7)  # the stone that was swapped belongs to the chain
    assert game.terminated and game.rewards == [-1, 1]


def test_h3_a_stone_on_the_diagonal_stays_where_it_is(start: Start) -> None:
    game = start(GAME, size=3)
    game.apply(4)
    game.apply(9)
    assert game.to_dict() == drawn("... .O. ...") and game.legal_actions() == [0, 1, 2, 3, 5, 6, 7, 8]


def test_h3_without_swap(start: Start) -> None:
    game = start(GAME, size=3, swap=False)
    game.apply(4)
    assert game.legal_actions() == [0, 1, 2, 3, 5, 6, 7, 8]


def test_h5_observation(start: Start) -> None:
    game = start(GAME, drawn(".O XX", player=1), size=2)
    first, second = [[0, 0], [1, 1]], [[0, 1], [0, 0]]
    assert game.observation(0) == [first, second, [[1, 1], [1, 1]]]
    assert game.observation(1) == [second, first, [[0, 0], [0, 0]]]


@pytest.mark.parametrize(
    ("picture", "over"), (("X.O XO. X..", True), ("OOO ... ...", True), ("O.. ..O .O.", False), ("XX. ..O .XO", False))
)
def test_h6_the_end_is_read_off_the_board(start: Start, picture: str, over: bool) -> None:
    game = start(GAME, drawn(picture), size=3)
    assert game.terminated == over and not game.truncated and game.to_dict() == drawn(picture)
    assert (game.legal_actions() == []) == over


@pytest.mark.parametrize("wrong", (drawn("....", 1), drawn("..."), drawn("X...", 2)), ids=str)
def test_h6_impossible_positions(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"is no state of 'hex': (board|current_player)"):
        te.make(GAME, size=2).state_from_dicts([wrong])


@pytest.mark.parametrize(
    ("fields", "error"), (({"size": 0}, ValueError), ({"size": 20}, ValueError), ({"swap": 1}, TypeError))
)
def test_h7_impossible_fields(fields: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error, match=r"^(size|swap) must be"):
        te.make(GAME, **fields)


def test_h8_names() -> None:
    assert [te.make(GAME).action_to_string(action) for action in (0, 1, 11, 60, 121)] == [
        "a1",
        "b1",
        "a2",
        "f6",
        "swap",
    ]


@pytest.mark.parametrize("swap", (False, True))
def test_h9_the_board_may_be_turned(start: Start, swap: bool) -> None:
    for seed in range(3):
        game, turned, ply = start(GAME, size=4), start(GAME, size=4), 0
        while not game.terminated:
            action = uniform_action(policy_key(seed, 0), ply, game.legal_actions())
            action = 16 if swap and ply == 1 else action if action < 16 else 0
            game.apply(action)
            turned.apply(15 - action if action < 16 else 16)
            ply += 1
            assert turned.legal_actions() == sorted(15 - a if a < 16 else 16 for a in game.legal_actions())
            assert (turned.terminated, turned.rewards) == (game.terminated, game.rewards)
