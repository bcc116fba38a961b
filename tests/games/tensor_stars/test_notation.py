"""Tensor (stars): rule sets in files, names, positions as dictionaries, text and drawings."""

from pathlib import Path
from typing import Any

import pytest

import tensor_envs as te
from tensor_envs.games.tensor_stars.data import load_rules
from tests.games.chance import draw, game_key, words
from tests.games.tensor_stars.positions import LARGE_BOARD, ODD_DECK
from tests.games.tensor_stars.reference import CARDS, ORDER, OVER, Reference
from tests.games.tensor_stars.test_reference import CONFIGS

# *** rule sets in files ***

RULE_SET = """
star_rule = "own"
points_to_win = 3
reset_at_once = true

[board]
lines = [[[0, 0], [2, 0]], [[1, 0], [1, 2]]]
stars = [[[1, 2], 1], [[0, 0], 0]]
starts = [[2, 0], [1, 0], [1, 1]]
"""
CARD = """
[[deck]]
number = {}
parts = ["T1", "L2"]
either = true
"""


def test_a_rule_set_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "house.toml"
    path.write_text(RULE_SET + "".join(CARD.format(number) for number in range(CARDS)))
    env = te.make("tensor_stars", **load_rules(path))
    rules = env.rules
    assert (rules.star_rule, rules.points_to_win, rules.reset_at_once) == ("own", 3, True)
    assert rules.max_hands == 50 and rules.board.start_indices == (2, 1, 4)
    assert rules.deck[9].number == 9 and rules.deck[9].moves == ((0, 1), (2, 2)) and rules.deck[9].either
    assert env.state_to_dict(env.init(1), 0)["pos"] == [2, 1, 4]
    path.write_text("")
    assert te.make("tensor_stars", **load_rules(path)).rules == te.make("tensor_stars").rules


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("star_rul = 'own'", "star_rul.*did you mean 'star_rule'.*max_hands"),
        ("star_rule = 'both'", "star_rule must be 'any' or 'own' or 'opposite', got 'both'"),
        ("score_stops_piece = 1", "score_stops_piece must be true or false, got 1"),
        ("max_hands = '50'", "max_hands must be an int in 1..2147483647, got '50'"),
        ("points_to_win = true", "points_to_win must be an int"),
        ("board = 3", "board must be a Board or a table of its fields, got 3"),
        ("[board]\nwalls = []", "board has no field 'walls'; its fields are lines, stars, starts"),
        ("[board]\nstarts = [[4, 0], [3, 2]]", "board.starts must have 3 entries, got 2"),
        ("[board]\nstarts = [[4, 0], [3, 2], [2, 9]]", r"board.starts .* none at \(2, 9\)"),
        ("[board]\nstarts = [[4, 0], [3, 2], [7, 0]]", r"board.starts .* none at \(7, 0\)"),
        ("[board]\nstarts = [[4, 0], [3, 2], 5]", "a space of the board must be a list, got 5"),
        ("[board]\nstars = [[[0, 1], 2]]", "side 0 or 1"),
        ("[board]\nlines = [[[0, 0], [1.0, 0]]]", "two ints in 0..63"),
        ("[board]\nlines = []", "board.starts"),
        ("deck = []", "deck must have 10 entries, got 0"),
        (CARD.format("'nine'") * 10, "number must be an int in -999..999, got 'nine'"),
        ("[[deck]]\nnumber = 1\n" * 10, "a card of the deck lacks parts"),
        ("[[deck]]\nnumber = 1\nparts = ['X1']\n" * 10, "a part of card 1 must be .*, got 'X1'"),
        ("[[deck]]\nnumber = 1\nparts = 'T1'\n" * 10, "parts of card 1 must be a list, got 'T1'"),
        ("[[deck]]\nnumber = 1\nparts = ['T1']\neither = true\n" * 10, "card 1 must have two parts"),
        ("star_rule = ", "Invalid value"),
    ],
)
def test_a_wrong_rule_set(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "house.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=f"house.toml: (?s:.*){message}"):
        load_rules(path)


# *** in writing ***


def test_names_of_actions() -> None:
    env = te.make("tensor_stars")
    names = [env.action_to_string(action) for action in range(12)]
    assert names == [*(f"PLACE({card})" for card in range(10)), "PRINTED", "REVERSED"]
    assert [env.string_to_action(name) for name in names] == list(range(12))


def test_symmetries_are_the_identity() -> None:
    (only,) = te.make("tensor_stars").symmetries()
    assert only.actions == tuple(range(12)) and only.observation == tuple(range(204))


START = Reference(words(0)).to_dict()


@pytest.mark.parametrize(
    "wrong",
    [
        {"pos": [4, 4, 30]},
        {"pos": [4, 17, 35]},
        {"pos": [-1, 17, 30]},  # I1
        {"hand": [[1] * 10]},
        {"hand": [[1] * 10, [1] * 9 + [0]]},
        {"commit": [[3, -1, -1], [-1] * 3]},
        {"turn": 1},
        {"turn": 3},
        {"hands": 50},
        {"player": 1},
        {"cursor": 1},
        {"scored": [1, 0, 0]},
        {"phase": ORDER},
        {"mover": 0},
        {"winner": 0},
        {"points": [1, 0]},
        {"points": [0.0, 0]},
        {"flip": 2},
    ],
    ids=str,
)
def test_impossible_positions(wrong: dict[str, Any]) -> None:
    env = te.make("tensor_stars")
    env.state_from_dicts([START])
    with pytest.raises(ValueError, match="game 0"):
        env.state_from_dicts([{**START, **wrong}])


def test_cards_are_placed_in_order() -> None:
    env = te.make("tensor_stars")
    hand = [[0, *[1] * 9], [1] * 10]
    env.state_from_dicts([{**START, "hand": hand, "commit": [[0, -1, -1], [-1] * 3]}])
    with pytest.raises(ValueError, match="red, blue and yellow in this order"):
        env.state_from_dicts([{**START, "hand": hand, "commit": [[-1, 0, -1], [-1] * 3]}])


def test_random_colours_are_drawn_by_the_rows_key() -> None:
    state = te.make("tensor_stars", random_colours=True).init(64, seed=9)
    assert state.flip.numpy().tolist() == [draw(game_key(9, row, 0), 0, 2) == 1 for row in range(64)]


# *** pictures ***

QUESTION = {
    **START,
    "pos": [18, 7, -1],
    "hand": [[1, 0, 1, 0, 1, 0, 1, 1, 1, 1], [0, 1, 0, 1, 1, 1, 1, 0, 1, 1]],
    "commit": [[5, 1, 3], [7, 2, 0]],
    "phase": ORDER,
    "cursor": 3,
    "player": 1,
}
PICTURE = """\
hand 1, turn 1 of 3: White to choose an order for blue (yellow out of play)

   o---o---o---o---o---o---o
   |   |   |   |   |       |
  *B---o---o---o---o---o---o
   |   |   |   |   |   |   |
   o---o---o---o---R---o---o
   |   |   |   |   |   |   |
   o---o---o---o---o---o---*
   |       |   |   |   |   |
   o---o---o---o---o---o---o

Black: red 5, blue 1, yellow [3]; in hand 0 2 4 6 7 8 9; points 0 of 3
White: red 7, blue 2, yellow [0]; in hand 1 3 4 5 6 8 9; points 0 of 3"""


def test_a_position_as_text() -> None:
    env = te.make("tensor_stars", **CONFIGS[6])
    assert env.to_string(env.state_from_dicts([QUESTION])) == PICTURE


@pytest.mark.parametrize(
    ("changes", "headline"),
    [
        ({}, "hand 1, turn 1 of 3: Black to place a card for red"),
        ({"flip": 1}, "hand 1, turn 1 of 3: White to place a card for red"),
        ({"phase": OVER, "winner": 1, "points": [0, 1]}, "White wins"),
        ({"phase": OVER, "truncated": 1, "hands": 50}, "a draw: the limit of hands"),
        ({"phase": OVER}, "over by an illegal action of Black"),
    ],
)
def test_headlines(changes: dict[str, Any], headline: str) -> None:
    env = te.make("tensor_stars")
    text = env.to_string(env.state_from_dicts([{**START, **changes}]))
    assert text.splitlines()[0] == headline and "points" not in text


def test_a_position_as_a_drawing() -> None:
    env = te.make("tensor_stars", board=LARGE_BOARD, deck=ODD_DECK)
    svg, spaces = env.render(env.init(1)), env.rules.board.spaces
    assert svg.startswith("<svg") and svg.count("<circle") == len(spaces) + 3 + 3 + 2  # starts, pieces, sides
    assert svg.count("<polygon") == 1 + 7 + 2 * 3 + 2 * 10  # the board, Stars, places for cards, cards
    assert all(f">{card.number}</text>" in svg for card in env.rules.deck)
    env = te.make("tensor_stars", **CONFIGS[6])
    drawn = env.render(env.state_from_dicts([QUESTION]))
    assert drawn.count("<circle") == 35 + 3 + 2 + 2  # yellow is out of play
    assert drawn.count(">and</text>") == 2 * 2 and "then" not in drawn  # each has his 2 and his 3
