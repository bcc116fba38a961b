"""Yahtzee: the rules as worked cases, played on every engine of the game."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

import tensor_envs as te

GAME = "yahtzee"
ROLL, FILL = range(31), 31
THREE, FOUR, HOUSE, SMALL, LARGE, YAHTZEE, CHANCE = range(6, 13)
NAMES = ("b1", "b2", "b3", "b4", "b5", "b6", "three", "four", "house", "small", "large", "yahtzee", "chance")
Start = Callable[..., Any]


def card(**points: int) -> list[int]:
    """Return a card on which the named boxes are filled; `upper` and `lower` are the points in all others of these."""
    row = [-1] * 13
    for box, name in enumerate(NAMES):
        row[box] = points.get(name, points.get("upper" if box < 6 else "lower", -1))
    row[CHANCE] = max(row[CHANCE], 5) if row[CHANCE] >= 0 else -1
    return row


def position(dice: str, *boxes: list[int], rerolls: int = 0, extras: tuple[int, ...] = (0,), player: int = 0) -> Any:
    faces = [int(die) for die in dice]
    rows = list(boxes) or [card()]
    return {"dice": faces, "rerolls": rerolls, "boxes": rows, "extras": list(extras), "current_player": player}


def test_y1_y3_the_start(start: Start) -> None:
    game = start(GAME)
    assert game.current_player == 0 and game.legal_actions() == [*range(44)] and not game.terminated
    state = game.to_dict()
    assert state["rerolls"] == 2 and state["dice"] == sorted(state["dice"]) and state["boxes"] == [[-1] * 13]


def test_y3_throws_of_a_turn(start: Start) -> None:
    game = start(GAME, position("13356", rerolls=2))
    game.apply(0b10000)  # 17 in binary less 1: the first and the last die
    kept = game.to_dict()["dice"]
    assert kept.count(3) >= 2 and 5 in kept and kept == sorted(kept) and game.to_dict()["rerolls"] == 1
    game.apply(30)
    assert game.legal_actions() == [*range(31, 44)] and game.rewards == [0]
    with pytest.raises(ValueError, match="action 0 is illegal"):
        game.apply(0)


CASES = [
    ("11134", 0, 3), ("22345", 1, 4), ("13456", 1, 0), ("66666", 5, 30), ("13336", THREE, 16), ("13346", THREE, 0),
    ("22226", THREE, 14), ("22226", FOUR, 14), ("22266", FOUR, 0), ("22266", HOUSE, 25), ("22666", HOUSE, 25),
    ("22226", HOUSE, 0), ("66666", HOUSE, 0), ("12346", SMALL, 30), ("23445", SMALL, 30), ("34566", SMALL, 30),
    ("12356", SMALL, 0), ("12345", LARGE, 40), ("23456", LARGE, 40), ("13456", LARGE, 0), ("12345", SMALL, 30),
    ("44444", YAHTZEE, 50), ("44445", YAHTZEE, 0), ("44445", CHANCE, 21), ("55555", SMALL, 0), ("55555", FOUR, 25),
]  # fmt: skip


@pytest.mark.parametrize(("dice", "box", "points"), CASES)
def test_y4_y5_points(start: Start, dice: str, box: int, points: int) -> None:
    game = start(GAME, position(dice))
    game.apply(FILL + box)
    assert game.rewards == [points] and game.to_dict()["boxes"][0][box] == points
    assert game.to_dict()["rerolls"] == 2 and FILL + box not in game.legal_actions()


@pytest.mark.parametrize(("sixes", "dice", "gain"), [(-1, "66611", 18 + 35), (-1, "66111", 12), (18, "11123", 3 + 35)])
def test_y6_bonus(start: Start, sixes: int, dice: str, gain: int) -> None:
    """With 45 points in other upper boxes, 18 more are needed; of the ones there are 3 or none yet."""
    row = card(b1=3, b2=6, b3=9, b4=12, b5=15) if sixes < 0 else card(b2=6, b3=9, b4=12, b5=15, b6=sixes)
    game = start(GAME, position(dice, row))
    game.apply(FILL + (5 if sixes < 0 else 0))
    assert game.rewards == [gain]


def test_y6_the_bonus_is_paid_once(start: Start) -> None:
    game = start(GAME, position("66666", card(b1=5, b2=10, b3=15, b4=20, b5=25)))
    game.apply(FILL + 5)
    assert game.rewards == [30]


# the card, the dice, the boxes that may be filled, and the points of the first of them
JOKERS = [
    (card(yahtzee=50), "33333", [2], 15 + 100), (card(yahtzee=0), "33333", [2], 15),
    (card(yahtzee=50, b3=9), "33333", [6, 7, 8, 9, 10, 12], 15 + 100),
    (card(yahtzee=0, b3=9, three=0, four=0), "33333", [8, 9, 10, 12], 25),
    (card(yahtzee=50, b3=9, three=0, four=0, house=0), "33333", [9, 10, 12], 30 + 100),
    (card(yahtzee=0, b3=9, three=0, four=0, house=0, small=0), "33333", [10, 12], 40),
    (card(yahtzee=50, lower=0, b3=9), "33333", [0, 1, 3, 4, 5], 100),
    (card(b3=9, upper=0), "33333", [*range(6, 13)], 15),
]  # fmt: skip


@pytest.mark.parametrize(("row", "dice", "boxes", "points"), JOKERS)
def test_y7_jokers(start: Start, row: list[int], dice: str, boxes: list[int], points: int) -> None:
    game = start(GAME, position(dice, row, rerolls=1))
    assert game.legal_actions() == [*ROLL, *(FILL + box for box in boxes)]
    game.apply(FILL + boxes[0])
    assert game.rewards == [points] and game.to_dict()["extras"] == [int(points >= 100)]


def test_y7_the_highest_score(start: Start) -> None:
    """Play thirteen yahtzees: 50, then twelve with 100 extra."""
    total, row, extras = 0.0, card(), 0
    for box, face in [(YAHTZEE, 6), *((k, k + 1) for k in range(6)), *((box, 6) for box in (6, 7, 8, 9, 10, 12))]:
        game = start(GAME, position(str(face) * 5, row, extras=(extras,)))
        game.apply(FILL + box)
        total, row, extras = total + game.rewards[0], game.to_dict()["boxes"][0], game.to_dict()["extras"][0]
    assert game.terminated and not game.truncated and total == 1575 and game.legal_actions() == []


@pytest.mark.parametrize(
    ("others", "rewards"),
    [
        ((20,), [1, -1]), ((5,), [-1, 1]), ((8,), [0, 0]), ((20, 10), [1, -0.5, -0.5]), ((8, 6), [0.25, -0.5, 0.25]),
        ((8, 8, 6), [1 / 9, 1 / 9, -1 / 3, 1 / 9]), ((8, 8, 8), [0, 0, 0, 0]),
    ],
)  # fmt: skip
def test_y8_the_winners(start: Start, others: tuple[int, ...], rewards: list[float]) -> None:
    """The others have these points by chance; the last player scores 8."""
    rows = [card(upper=0, lower=0, chance=points) for points in (*others, -1)]
    last = len(others)
    game = start(GAME, position("11222", *rows, extras=(0,) * (last + 1), player=last), players=last + 1)
    game.apply(FILL + CHANCE)
    assert game.terminated and game.rewards == pytest.approx(rewards)


def test_y10_observation(start: Start) -> None:
    def shown(dice: Sequence[int], rerolls: int) -> list[int]:
        faces = [int(die == face) for die in dice for face in (1, 2, 3, 4, 5, 6)]
        return faces + [int(rerolls == left) for left in (0, 1, 2)]

    game = start(GAME, position("13356", card(), card(), rerolls=1, extras=(0, 0)), players=2)
    untouched = [*[1] * 13, *[0] * 13, 0]
    assert game.observation(1) == [*shown([1, 3, 3, 5, 6], 1), *untouched, *untouched]
    game.apply(FILL + 2)
    dice = game.to_dict()["dice"]
    threes = [1, 1, 0, *[1] * 10, 0, 0, pytest.approx(6 / 50), *[0] * 10, 0]
    assert game.observation(0) == [*shown(dice, 2), *threes, *untouched]
    assert game.observation(1) == [*shown(dice, 2), *untouched, *threes]


@pytest.mark.parametrize(
    "wrong",
    [
        position("12340"), position("12347"), position("1234"), position("12345", rerolls=3),
        position("12345", card(b2=3)), position("12345", card(house=24)), position("12345", card(chance=31)),
        position("12345", extras=(1,)), position("12345", card(yahtzee=50), extras=(1,)),
        position("12345", card(yahtzee=0, b1=3), extras=(1,)), position("12345", player=1),
    ],
    ids=str,
)  # fmt: skip
def test_y11_impossible_positions(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"is no state of 'yahtzee': (dice|rerolls|boxes|extras|current_player)"):
        te.make(GAME).state_from_dicts([wrong])


def test_y11_boxes_are_filled_in_turns() -> None:
    env = te.make(GAME, players=2)
    for rows, player in (([card(b1=1), card()], 0), ([card(), card(b1=1)], 1), ([card(), card()], 1)):
        with pytest.raises(ValueError, match="filled in turns"):
            env.state_from_dicts([position("12345", *rows, extras=(0, 0), player=player)])


def test_y12_wrong_fields() -> None:
    with pytest.raises(ValueError, match=r"players must be in 1\.\.4, got 5"):
        te.make(GAME, players=5)
    with pytest.raises(TypeError, match="players must be"):
        te.make(GAME, players=1.5)


def test_y13_names() -> None:
    env = te.make(GAME)
    names = ["reroll 1", "reroll 1 3", "reroll 1 2 3 4 5", "ones", "full house", "chance"]
    assert [env.action_to_string(action) for action in (0, 4, 30, 31, 39, 43)] == names


def test_the_status() -> None:
    env = te.make(GAME, players=2)
    row = card(upper=0, lower=0)
    won = env.state_from_dicts([position("12345", [*row[:12], 9], [*row[:12], 12], extras=(0, 0))])
    assert env.to_string(won).splitlines()[-1] == "Player 2 wins"
    assert env.to_string(env.init(1)).splitlines()[-1] == "Player 1 to move, 2 throws left"
