"""Backgammon: the rules as worked cases, played on every engine of the game."""

from collections.abc import Callable
from typing import Any

import pytest

import tensor_envs as te

GAME = "backgammon"
PASS = 0
Start = Callable[..., Any]
Men = dict[int, int]  # by pip


def side(men: Men) -> list[int]:
    return [men.get(pip, 0) for pip in range(1, 26)]


def placed(own: Men, other: Men, dice: list[int], player: int = 0) -> dict[str, Any]:
    """Return a position; the first men are those of the player to move."""
    men = [side(own), side(other)]
    return {"men": men[:: 1 - 2 * player], "dice": dice, "current_player": player}


def by(pip: int, number: int) -> int:
    """Return the action that moves a man from a pip (B4)."""
    return 6 * (26 - pip) + number - 1


def moves(game: Any) -> set[tuple[int, int]]:
    """Return the legal moves as pips and numbers."""
    return {(26 - action // 6, action % 6 + 1) for action in game.legal_actions() if action}


def test_b1_b2_the_start(start: Start) -> None:
    began = set()
    for seed in range(12):
        game = start(GAME, seed=seed)
        assert game.to_dict()["men"] == [side({24: 2, 13: 5, 8: 3, 6: 5})] * 2
        low, high = game.to_dict()["dice"]
        assert low < high
        began.add(game.current_player)
    assert began == {0, 1}


@pytest.mark.parametrize("player", (0, 1))
def test_b3_a_turn(start: Start, player: int) -> None:
    """Play both numbers; then the opponent throws."""
    game = start(GAME, placed({24: 2, 13: 5}, {24: 2, 13: 5}, [1, 3], player))
    game.apply(by(13, 3))
    assert game.current_player == player and game.to_dict()["dice"] == [1]
    assert moves(game) == {(24, 1), (10, 1)}  # 12 is held
    game.apply(by(10, 1))
    assert game.current_player == 1 - player and game.to_dict()["men"][player] == side({24: 2, 13: 4, 9: 1})
    assert len(game.to_dict()["dice"]) in (2, 4) and game.rewards == [0, 0]


def test_b3_of_a_double_four(start: Start) -> None:
    game = start(GAME, placed({13: 5}, {24: 2}, [2, 2, 2, 2]))
    for pip in (13, 13, 11, 9):
        assert game.current_player == 0
        game.apply(by(pip, 2))
    assert game.current_player == 1 and game.to_dict()["men"][0] == side({13: 3, 11: 1, 7: 1})


def test_b5_points_and_hits(start: Start) -> None:
    """Check pip 25 - p of the opponent: two men hold it, one is hit."""
    game = start(GAME, placed({20: 1, 10: 1}, {10: 2, 9: 1, 20: 2}, [5, 4]))
    assert moves(game) == {(20, 4), (10, 4)}  # 15 is held; 5 too, and after 16 or 6 the 5 goes on
    game.apply(by(20, 4))
    men = game.to_dict()["men"]
    assert men == [side({16: 1, 10: 1}), side({10: 2, 20: 2, 25: 1})]


def test_b5_the_bar_comes_first(start: Start) -> None:
    game = start(GAME, placed({25: 2, 6: 3}, {5: 2, 1: 2}, [5, 3]))
    assert moves(game) == {(25, 3)}  # 20 is held
    game.apply(by(25, 3))
    assert moves(game) == set() and game.legal_actions() == [PASS]
    game.apply(PASS)
    assert game.current_player == 1 and game.to_dict()["men"][0] == side({25: 1, 22: 1, 6: 3})


def test_b7_who_cannot_move_passes(start: Start) -> None:
    game = start(GAME, placed({25: 1}, {p: 2 for p in range(1, 7)}, [3, 3, 3, 3]))
    assert game.legal_actions() == [PASS]
    game.apply(PASS)
    assert game.current_player == 1


def test_b6_both_numbers(start: Start) -> None:
    """Check that 13/12, which leaves no 6, is illegal; 13/7 and 8/7 leave the other number."""
    game = start(GAME, placed({13: 1, 8: 1}, {25 - 2: 2, 25 - 6: 2}, [1, 6]))
    assert moves(game) == {(13, 6), (8, 1)}
    game = start(GAME, placed({13: 1, 8: 1}, {25 - 7: 2, 25 - 2: 2}, [1, 6]))
    assert moves(game) == {(13, 1)}, "then 12/6"


def test_b7_the_higher_one(start: Start) -> None:
    """Check a throw of which either number can be played, but not both: 24/18 or 24/23."""
    game = start(GAME, placed({24: 1}, {25 - 17: 2}, [1, 6]))
    assert moves(game) == {(24, 6)}
    game = start(GAME, placed({24: 1}, {25 - 17: 2, 25 - 18: 2}, [1, 6]))
    assert moves(game) == {(24, 1)}


@pytest.mark.parametrize(
    ("own", "dice", "expected"),
    [
        ({6: 1, 3: 2}, [4, 4, 4, 4], [(6, 4)]),  # the 6 is farther: nothing goes off by a 4
        ({3: 2, 2: 1}, [5, 5, 5, 5], [(3, 5)]),  # from the highest
        ({5: 1, 3: 1}, [5, 3], [(3, 3), (5, 3), (5, 5)]),
        ({7: 1, 1: 1}, [6, 6, 6, 6], [(7, 6)]),  # not all at home
        ({4: 1}, [6, 1], [(4, 1)]),  # to play both numbers
        ({25: 1, 1: 5}, [1, 1, 1, 1], [(25, 1)]),
    ],
    ids=str,
)
def test_b8_men_are_borne_off(start: Start, own: Men, dice: list[int], expected: list[tuple[int, int]]) -> None:
    assert sorted(moves(start(GAME, placed(own, {25: 2}, dice)))) == expected


@pytest.mark.few("{1: 14}-1-0")
@pytest.mark.parametrize("player", (0, 1))
@pytest.mark.parametrize(
    ("loser", "worth"),
    [({1: 14}, 1), ({1: 15}, 2), ({18: 15}, 2), ({19: 1, 1: 14}, 3), ({25: 1, 1: 14}, 3), ({25: 1}, 1)],
    ids=str,
)
def test_b9_what_a_win_counts(start: Start, loser: Men, worth: int, player: int) -> None:
    for gammons in (True, False):
        game = start(GAME, placed({2: 1}, loser, [2], player), gammons=gammons)
        game.apply(by(2, 2))
        pays = worth if gammons else 1
        assert game.terminated and game.legal_actions() == []
        assert game.rewards == ([pays, -pays] if player == 0 else [-pays, pays])


def test_b11_observation(start: Start) -> None:
    game = start(GAME, placed({23: 2, 6: 3}, {24: 1, 25: 2, 1: 4}, [2, 5]))
    seen = game.observation(0)
    assert men_seen(seen[:96]) == side({23: 2, 6: 3})[:24] and seen[96:98] == [0, 10]
    assert men_seen(seen[98:194]) == side({1: 1, 24: 4})[:24] and seen[194:196] == [2, 8]
    assert seen[196:202] == [0, 1, 0, 0, 1, 0] and seen[202] == 1
    seen = game.observation(1)
    assert men_seen(seen[:96]) == side({24: 1, 1: 4})[:24] and seen[96:98] == [2, 8]
    assert seen[196:202] == [0, 1, 0, 0, 1, 0] and seen[202] == 0


def men_seen(entries: list[int]) -> list[int]:
    """Return the men on 24 pips: entries of pips with 1, 2 and 3 or more men, and the men beyond 3."""
    one, two, three, beyond = (entries[k : k + 24] for k in range(0, 96, 24))
    assert all(a >= b >= c for a, b, c in zip(one, two, three, strict=True))
    return [sum(counts) for counts in zip(one, two, three, beyond, strict=True)]


@pytest.mark.parametrize(
    "wrong",
    (
        {"men": [[0] * 25, [0] * 25]},
        {"men": [side({6: 16}), side({6: 15})]},
        {"men": [side({6: 2}), side({19: 2})]},
        {"men": [side({6: 2})] * 3},
        {"men": [side({6: -1}), side({6: 15})]},
        {"dice": []},
        {"dice": [1, 2, 3]},
        {"dice": [3, 3, 3, 3, 3]},
        {"dice": [7]},
        {"current_player": 2},
    ),
    ids=str,
)
def test_b12_impossible_positions(wrong: dict[str, Any]) -> None:
    with pytest.raises(
        ValueError, match=r"is no state of 'backgammon': (a player|both players|men|dice|current_player)"
    ):
        te.make(GAME).state_from_dicts([placed({6: 5}, {6: 5}, [1, 2]) | wrong])


@pytest.mark.parametrize("fields", ({"gammons": 1}, {"max_plies": 0}, {"max_plies": True}), ids=str)
def test_impossible_rules(fields: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError), match=next(iter(fields))):
        te.make(GAME, **fields)


def test_b12_names() -> None:
    env = te.make(GAME)
    names = {by(13, 6): "13/7", by(25, 5): "bar/20", by(6, 6): "6/off", by(4, 6): "4/off (6)", PASS: "pass"}
    assert {action: env.action_to_string(action) for action in names} == names
    assert all(env.string_to_action(name) == action for action, name in names.items())
