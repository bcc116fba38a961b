"""Worked cases of Three Will, by their number in the rules file, and the source's table of stacking outcomes.

They use the `start` fixture alone, so every engine of the game runs them.
"""

from typing import Any

import pytest

from tests.games.chance import bits, draw, game_key
from tests.games.three_will.position import (
    CHALLENGE,
    FMOVE,
    MOVE,
    NAMES,
    PASS,
    Start,
    agents,
    assert_turn_passed,
    bank,
    double,
    fields,
    no_double,
    position,
)

# Set-up, directions, masks.


@pytest.mark.parametrize("seed", [0, 1, 2026])
def test_case_01_set_up_and_its_draws(start: Start, seed: int) -> None:
    game, key = start("three_will", seed=seed), game_key(seed, 0, 0)
    keys = [bits(key, counter) for counter in range(16)]
    numbers = [1 + sum(other < keys[8 * p + s] for other in keys[8 * p :][:8]) for p in (0, 1) for s in range(8)]
    assert game.to_dict() == position(
        ids=numbers, ces=draw(key, 16, 9), player=draw(key, 17, 2), die=1 + draw(key, 64, 6)
    )
    assert bank(game) == 0
    assert game.rewards == pytest.approx([0, 0])


@pytest.mark.parametrize("first", [0, 1])
def test_g4_first_player_fixed(start: Start, first: int) -> None:
    assert {start("three_will", seed=seed, first_player=first).current_player for seed in range(8)} == {first}


@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize(
    ("die", "legal"),
    [
        (1, range(0, 24, 3)),
        (2, [*range(0, 21, 3), PASS]),
        (3, [*range(3, 24, 3), PASS]),
        (4, range(0, 21, 3)),
        (5, range(3, 24, 3)),
        (6, [action for action in range(24) if action not in (1, 23)]),
    ],
)
def test_case_02_masks_of_the_set_up(start: Start, die: int, legal: list[int], player: int) -> None:
    game = start("three_will", position(die=die, player=player))
    assert game.legal_actions() == list(legal)


@pytest.mark.parametrize(
    ("die", "option", "white", "black"),
    [
        (1, 0, (4, 3), (3, 4)),
        (2, 0, (3, 4), (4, 3)),
        (3, 0, (3, 2), (4, 5)),
        (4, 0, (4, 4), (3, 3)),
        (5, 0, (4, 2), (3, 5)),
        (6, 0, (2, 3), (5, 4)),
        (6, 1, (2, 2), (5, 5)),
        (6, 2, (2, 4), (5, 3)),
    ],
)
def test_case_03_directions(
    start: Start, die: int, option: int, white: tuple[int, int], black: tuple[int, int]
) -> None:
    game = start("three_will", position(W2=(3, 3), die=die))
    game.apply(6 + option)
    assert agents(game, "W2") == {"W2": (*white, "active")}
    game = start("three_will", position(B2=(4, 4), die=die, player=1))
    game.apply(6 + option)
    assert agents(game, "B2") == {"B2": (*black, "active")}


def test_g1_another_chart(start: Start) -> None:
    chart = (((-1, 0), (-1, 1)), ((0, 1),), ((0, -1),), ((1, 1),), ((1, -1),), ((1, 0),))
    game = start("three_will", position(W2=(3, 3), die=1), chart=chart)
    game.apply(7)
    assert agents(game, "W2") == {"W2": (2, 4, "active")}


# Double Risk and stacking.


def test_case_04_stack_on_an_own_agent(start: Start) -> None:
    game = start("three_will", position(die=3), seed=double(3))
    game.apply(3)
    assert agents(game, "W1", "W0") == {"W1": (1, 0, "active"), "W0": (1, 0, "held")}
    assert fields(game, "dr", "free") == [[3, 4], [0, 0]]
    assert bank(game) == 1
    assert_turn_passed(game, 1)
    assert fields(game, "die", "t") == [1 + draw(game_key(double(3), 0, 0), 66, 6), 1]


def test_case_05_failed_attempt(start: Start) -> None:
    game = start("three_will", position(B0=(2, 2), die=1), seed=no_double(1))
    game.apply(6)
    assert agents(game, "W2", "B0") == {"W2": (1, 2, "active"), "B0": (2, 2, "active")}
    assert fields(game, "dr") == [[3, 4]]
    assert_turn_passed(game, 1)


@pytest.mark.parametrize("phase", [MOVE, FMOVE])
def test_case_05_failed_attempt_may_leave_the_step_due(start: Start, phase: int) -> None:
    state = position(B0=(2, 2), die=1, phase=phase)
    game = start("three_will", state, seed=no_double(1), fail_ends_turn=False)
    game.apply(6)
    assert fields(game, "dr", "phase", "player", "die", "turns") == [[3, 4], phase, 0, 1, 0]
    assert game.legal_actions() == list(range(0, 24, 3))


@pytest.mark.parametrize("seed", [double(1), no_double(1)], ids=["double", "no double"])
def test_case_06_loan_goes_to_the_opponent(start: Start, seed: int) -> None:
    game = start("three_will", position(B0=(2, 2), dr=[0, 4]), seed=seed)
    assert bank(game) == 4
    game.apply(6)
    assert fields(game, "dr", "free") == [[0, 4], [0, 1]]
    assert bank(game) == 3


def test_case_06_own_cards_first(start: Start) -> None:
    game = start("three_will", position(B0=(2, 2), dr=[1, 4]))
    game.apply(6)
    assert fields(game, "dr", "free") == [[0, 4], [0, 0]]


def test_g10_other_numbers_of_cards(start: Start) -> None:
    """Check that the one card that is not dealt can be borrowed, and no second one."""
    assert start("three_will", cards_each=1, cards_total=3).to_dict()["dr"] == [1, 1]
    for free, payable in ([0, 0], True), ([0, 1], False):
        state = position(B0=(2, 2), dr=[0, 2], free=free)
        game = start("three_will", state, cards_each=1, cards_total=3)
        assert (6 in game.legal_actions()) == payable


@pytest.mark.parametrize(("free", "config"), [([0, 4], {}), ([0, 0], {"loan": False})], ids=["bank 0", "no loans"])
def test_case_06_nothing_to_pay_with(start: Start, free: list[int], config: dict[str, Any]) -> None:
    game = start("three_will", position(B0=(2, 2), dr=[0, 4], free=free), **config)
    assert 6 not in game.legal_actions()


def test_case_07_recovery_of_a_held_comrade(start: Start) -> None:
    game = start("three_will", position(W0=(3, 3), B0=(4, 3), W1=(4, 3, 1)), seed=double(1))
    assert agents(game, "W1") == {"W1": (4, 3, "held")}
    game.apply(0)
    assert agents(game, "W1", "W0", "B0") == {"W1": (3, 3, "active"), "W0": (4, 3, "active"), "B0": (4, 3, "held")}


# Rows are the target, columns the source; entries "source + target" afterwards, 0 an empty square (F16).
SHAPES = ["W", "B", "W/B", "B/W", "W/W", "B/B"]
OUTCOMES = {
    "W": "0+W/W 0+B/W B+W/W W+B/W W+W/W B+B/W",
    "B": "0+W/B 0+B/B B+W/B W+B/B W+W/B B+B/B",
    "W/B": "B+W/W B+B/W B/B+W/W W/B+B/W W/B+W/W B/B+B/W",
    "B/W": "W+W/B W+B/B B/W+W/B W/W+B/B W/W+W/B B/W+B/B",
    "W/W": "W+W/W W+B/W B/W+W/W W/W+B/W W/W+W/W B/W+B/W",
    "B/B": "B+W/B B+B/B B/B+W/B W/B+B/B W/B+W/B B/B+B/B",
}


@pytest.mark.parametrize("target", SHAPES)
@pytest.mark.parametrize("source", SHAPES)
def test_stacking_outcomes_of_the_source(start: Start, source: str, target: str) -> None:
    """Check outcomes in mid-board; the mover is the colour on top of the source."""
    player = "WB".index(source[0])
    rows = (3, 4) if player == 0 else (4, 3)
    unused = {"W": iter(range(8)), "B": iter(range(8))}
    named: dict[str, tuple[int, int, int]] = {}
    for row, shape in zip(rows, (source, target), strict=True):
        for level, colour in enumerate(shape.split("/")):
            named[f"{colour}{next(unused[colour])}"] = (row, 3, level)
    game = start("three_will", position(**named, player=player), seed=double(1))
    game.apply(0)
    pos, lvl = fields(game, "pos", "lvl")
    after = []
    for row in rows:
        standing = sorted((lvl[a], NAMES[a][0]) for a in range(16) if pos[a] == 8 * row + 3)
        assert [level for level, _ in standing] == list(range(len(standing)))
        after.append("/".join(colour for _, colour in standing) or "0")
    assert "+".join(after) == OUTCOMES[target].split()[SHAPES.index(source)]


def test_case_08_stack_moves_whole(start: Start) -> None:
    game = start("three_will", position(W0=(3, 3), B0=(3, 3, 1)))
    game.apply(0)
    assert agents(game, "W0", "B0") == {"W0": (4, 3, "active"), "B0": (4, 3, "held")}


# The bases.


def test_case_09_two_enter_as_a_stack(start: Start) -> None:
    game = start("three_will", position(W0=(6, 3), W1=(6, 3, 1), B4=(4, 4)))
    game.apply(0)
    assert agents(game, "W0", "W1") == {"W0": (7, 3, "locked"), "W1": (7, 3, "locked")}
    assert_turn_passed(game, 1)


def test_g29_two_may_be_enough(start: Start) -> None:
    game = start("three_will", position(W0=(6, 3), W1=(6, 3, 1), B4=(4, 4)), to_win=2)
    game.apply(0)
    assert fields(game, "phase", "declarer", "player") == [CHALLENGE, 0, 1]


def test_case_10_drag_into_the_own_base(start: Start) -> None:
    game = start("three_will", position(B4=(1, 3, 1), die=6))
    game.apply(9)
    assert agents(game, "W3", "B4") == {"W3": (0, 3, "active"), "B4": (0, 3, "locked")}
    assert fields(game, "lvl")[0][12] == 1
    game = start("three_will", game.to_dict() | {"player": 0, "die": 1})
    game.apply(9)
    assert agents(game, "W3", "B4") == {"W3": (1, 3, "active"), "B4": (0, 3, "locked")}
    assert fields(game, "lvl")[0][12] == 0


@pytest.mark.parametrize("ruling", ["released", "held"])
def test_case_11_entry_over_an_opposite_agent(start: Start, ruling: str) -> None:
    game = start("three_will", position(W0=(6, 3), B4=(6, 3, 1)), held_under_locked=ruling)
    game.apply(0)
    assert agents(game, "W0") == {"W0": (7, 3, "locked")}
    assert agents(game, "B4") == {"B4": (7, 3, "active" if ruling == "released" else "held")}
    game = start("three_will", game.to_dict() | {"die": 1}, held_under_locked=ruling)
    assert (12 in game.legal_actions()) == (ruling == "released")


def test_case_12_middle_agent_thrown_out(start: Start) -> None:
    state = position(W3=(0, 3), B0=(0, 3, 1), B1=(1, 3), player=1)
    game = start("three_will", state, seed=double(1))
    game.apply(3)
    assert agents(game, "W3", "B0", "B1") == {"W3": (1, 3, "active"), "B0": (0, 3, "locked"), "B1": (0, 3, "locked")}


def test_case_13_lower_agent_thrown_into_its_goal(start: Start) -> None:
    game = start("three_will", position(W3=(0, 3), B0=(1, 3), B1=(1, 3, 1)), seed=double(1))
    game.apply(9)
    assert agents(game, "W3", "B0", "B1") == {"W3": (1, 3, "active"), "B0": (1, 3, "held"), "B1": (0, 3, "locked")}


@pytest.mark.parametrize("ruling", ["released", "held"])
def test_g20_thrown_into_a_square_with_a_locked_agent(start: Start, ruling: str) -> None:
    state = position(W3=(0, 3), B0=(0, 3, 1), W1=(1, 3), W2=(1, 3, 1))
    game = start("three_will", state, seed=double(1), held_under_locked=ruling)
    game.apply(9)
    assert agents(game, "W3", "W1", "W2", "B0") == {
        "W3": (1, 3, "active"),
        "W1": (1, 3, "held"),
        "W2": (0, 3, "active" if ruling == "released" else "held"),
        "B0": (0, 3, "locked"),
    }


@pytest.mark.parametrize("ruling", ["released", "held"])
def test_g17_entry_by_stacking(start: Start, ruling: str) -> None:
    state = position(W0=(6, 3), B4=(7, 3))
    game = start("three_will", state, seed=double(1), held_under_locked=ruling)
    game.apply(0)
    assert agents(game, "W0", "B4") == {
        "W0": (7, 3, "locked"),
        "B4": (7, 3, "active" if ruling == "released" else "held"),
    }


def test_case_14_locked_square_is_closed(start: Start) -> None:
    named = {"W0": (6, 3), "W1": (7, 3), "B4": (4, 4)}
    assert not {0, 3} & set(start("three_will", position(**named)).legal_actions())
    # G19: to the opponent too, here one who might step back onto it.
    assert 9 not in start("three_will", position(B3=(6, 3), W1=(7, 3), B4=(4, 4), player=1, die=6)).legal_actions()
