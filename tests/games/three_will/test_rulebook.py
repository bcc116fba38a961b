"""Worked cases of Three Will, by their number in the rules file, and the source's table of stacking outcomes.

They speak to the `start` fixture alone, so that every engine of the game answers them. In a position, agents
not named stand at set-up; a third number 1 after row and column puts an agent at the lower level.
"""

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from tests.games.chance import bits, draw, game_key

Start = Callable[..., Any]
Position = dict[str, Any]

MOVE, FREE, FMOVE, CHALLENGE, OVER = range(5)
PASS, USE_FREE, EXAMINE = 24, 25, 26
NAMES = [f"{colour}{slot}" for colour in "WB" for slot in range(8)]


def position(**named: Any) -> Position:
    """The set-up with White to move and 4 + 4 cards, but for the named agents and fields."""
    squares = [(1, s) for s in range(8)] + [(6, 7 - s) for s in range(8)]
    state: Position = {
        "pos": [8 * row + column for row, column in squares],
        "lvl": [0] * 16,
        "ids": [*range(1, 9), *range(1, 9)],
        "ces": 0,
        "dr": [4, 4],
        "free": [0, 0],
        "die": 1,
        "phase": MOVE,
        "player": 0,
        "t": 0,
        "turns": 0,
        "challenge_left": 1,
        "declarer": -1,
        "turn_owner": -1,
        "after": -1,
        "winner": -1,
        "truncated": 0,
    }
    for name, value in named.items():
        if name in NAMES:
            row, column, *level = value
            state["pos"][NAMES.index(name)] = 8 * row + column
            state["lvl"][NAMES.index(name)] = sum(level)
        else:
            assert name in state
            state[name] = value
    return state


def seed_with_extra(wanted: Callable[[int], bool]) -> int:
    """A seed whose extra throw in the first step from a position at t = 0 is as wanted."""
    return next(seed for seed in count() if wanted(1 + draw(game_key(seed, 0, 0), 67, 6)))


def double(die: int) -> int:
    return seed_with_extra(lambda face: face == die)


def no_double(die: int) -> int:
    return seed_with_extra(lambda face: face != die)


def agents(game: Any, *names: str) -> dict[str, tuple[int, int, str]]:
    """Row, column and standing of agents, as player 0 observes them."""
    seen, found = game.observation(0), {}
    for name in names:
        block = seen[19 * NAMES.index(name) :][:19]
        standing = ("active", "held", "locked")[list(block[16:]).index(1)]
        found[name] = (list(block[:8]).index(1), list(block[8:16]).index(1), standing)
    return found


def bank(game: Any) -> int:
    in_eighths: float = game.observation(0)[318]
    return round(8 * in_eighths)


def fields(game: Any, *names: str) -> list[Any]:
    state = game.to_dict()
    return [state[name] for name in names]


def assert_turn_passed(game: Any, player: int) -> None:
    """The first turn of the position is over and `player` moves."""
    phase, to_act, turns = fields(game, "phase", "player", "turns")
    assert (phase, to_act, game.current_player, turns) == (MOVE, player, player, 1)


def assert_won(game: Any, player: int) -> None:
    assert game.rewards == pytest.approx([1, -1] if player == 0 else [-1, 1])
    assert game.terminated and not game.truncated
    assert game.legal_actions() == []
    assert fields(game, "phase", "winner") == [OVER, player]


# Set-up, directions, masks.


@pytest.mark.parametrize("seed", [0, 1, 2026])
def test_case_01_set_up_and_its_draws(start: Start, seed: int) -> None:
    game, key = start("three_will", seed=seed), game_key(seed, 0, 0)
    keys = [bits(key, counter) for counter in range(16)]
    numbers = [
        1 + sum(other < keys[8 * p + s] for other in keys[8 * p :][:8]) for p in (0, 1) for s in range(8)
    ]
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
    """The one card that is not dealt can be borrowed, a second one not."""
    assert start("three_will", cards_each=1, cards_total=3).to_dict()["dr"] == [1, 1]
    for free, payable in ([0, 0], True), ([0, 1], False):
        state = position(B0=(2, 2), dr=[0, 2], free=free)
        game = start("three_will", state, cards_each=1, cards_total=3)
        assert (6 in game.legal_actions()) == payable


@pytest.mark.parametrize(
    ("free", "config"), [([0, 4], {}), ([0, 0], {"loan": False})], ids=["bank 0", "no loans"]
)
def test_case_06_nothing_to_pay_with(start: Start, free: list[int], config: dict[str, Any]) -> None:
    game = start("three_will", position(B0=(2, 2), dr=[0, 4], free=free), **config)
    assert 6 not in game.legal_actions()


def test_case_07_recovery_of_a_held_comrade(start: Start) -> None:
    game = start("three_will", position(W0=(3, 3), B0=(4, 3), W1=(4, 3, 1)), seed=double(1))
    assert agents(game, "W1") == {"W1": (4, 3, "held")}
    game.apply(0)
    assert agents(game, "W1", "W0", "B0") == {
        "W1": (3, 3, "active"),
        "W0": (4, 3, "active"),
        "B0": (4, 3, "held"),
    }


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
    """In mid-board; the mover is the colour on top of the source."""
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
    assert agents(game, "W3", "B0", "B1") == {
        "W3": (1, 3, "active"),
        "B0": (0, 3, "locked"),
        "B1": (0, 3, "locked"),
    }


def test_case_13_lower_agent_thrown_into_its_goal(start: Start) -> None:
    game = start("three_will", position(W3=(0, 3), B0=(1, 3), B1=(1, 3, 1)), seed=double(1))
    game.apply(9)
    assert agents(game, "W3", "B0", "B1") == {
        "W3": (1, 3, "active"),
        "B0": (1, 3, "held"),
        "B1": (0, 3, "locked"),
    }


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
    assert (
        9
        not in start("three_will", position(B3=(6, 3), W1=(7, 3), B4=(4, 4), player=1, die=6)).legal_actions()
    )


# Free cards and leaps.


def test_case_15_leap_needs_a_free_operation(start: Start) -> None:
    assert 0 not in start("three_will", position(W0=(3, 0), die=3)).legal_actions()
    game = start("three_will", position(W0=(3, 0), die=3, phase=FMOVE, dr=[2, 4], free=[1, 0]))
    game.apply(0)
    assert agents(game, "W0") == {"W0": (3, 7, "active")}
    assert_turn_passed(game, 1)
    assert fields(game, "free") == [[1, 0]]


@pytest.mark.parametrize(
    ("square", "action", "die", "wraps_to", "diagonal"),
    [
        ((3, 0), 0, 5, (4, 7), True),
        ((3, 7), 0, 4, (4, 0), True),
        ((3, 0), 1, 6, (2, 7), True),
        ((3, 7), 2, 6, (2, 0), True),
        ((3, 0), 0, 3, (3, 7), False),
        ((3, 7), 0, 2, (3, 0), False),
    ],
)
def test_case_16_diagonal_leaps(
    start: Start, square: tuple[int, int], action: int, die: int, wraps_to: tuple[int, int], diagonal: bool
) -> None:
    state = position(W0=square, die=die, phase=FMOVE)
    game = start("three_will", state)
    game.apply(action)
    assert agents(game, "W0") == {"W0": (*wraps_to, "active")}
    assert (action in start("three_will", state, leap_diagonals=False).legal_actions()) != diagonal
    assert action not in start("three_will", state | {"phase": MOVE}).legal_actions()


def test_case_16_rows_never_wrap(start: Start) -> None:
    state = position(W0=(0, 0), die=6, phase=FMOVE)
    assert not {0, 1, 2} & set(start("three_will", state).legal_actions())


def test_case_17_leap_onto_an_occupied_square(start: Start) -> None:
    state = position(W0=(3, 0), B0=(3, 7), die=3, phase=FMOVE, dr=[3, 4], free=[1, 0])
    game = start("three_will", state, seed=double(3))
    game.apply(0)
    assert agents(game, "W0", "B0") == {"W0": (3, 7, "active"), "B0": (3, 7, "held")}
    assert fields(game, "dr", "free") == [[2, 4], [1, 0]]
    assert_turn_passed(game, 1)


@pytest.mark.parametrize("phase", [MOVE, FMOVE])
def test_case_18_free_card_after_a_step(start: Start, phase: int) -> None:
    state = position(die=1, phase=phase, dr=[3, 4], free=[1, 0])
    game = start("three_will", state)
    game.apply(0)
    assert fields(game, "phase", "player", "turns") == [FREE, 0, 0]
    assert game.legal_actions() == [PASS, USE_FREE]
    kept = start("three_will", game.to_dict())
    kept.apply(PASS)
    assert_turn_passed(kept, 1)
    assert fields(kept, "free") == [[1, 0]]
    game.apply(USE_FREE)
    assert fields(game, "phase", "player", "free") == [FMOVE, 0, [0, 0]]
    assert bank(game) == 1
    assert fields(game, "die") == [1 + draw(game_key(0, 0, 0), 64 + 2 * 2, 6)]


@pytest.mark.parametrize("wanted", [double(3), no_double(3)], ids=["stack", "failed attempt"])
def test_g13_no_free_card_after_an_attempt(start: Start, wanted: int) -> None:
    game = start("three_will", position(die=3, dr=[3, 4], free=[1, 0]), seed=wanted)
    game.apply(3)
    assert_turn_passed(game, 1)


def test_g14_free_operation_without_a_step(start: Start) -> None:
    """Leaps do not compel; the pass ends the turn with Free cards in hand."""
    game = start("three_will", position(die=3, phase=FMOVE, dr=[0, 4], free=[4, 0], W7=(3, 0)))
    assert game.legal_actions() == [0, 21, PASS]
    game.apply(PASS)
    assert_turn_passed(game, 1)
    assert fields(game, "free") == [[4, 0]]


# The end.


def third_entry(**changes: Any) -> Position:
    """White is about to step in with number 3 where numbers 1 and 2 stand already."""
    return position(**{"W0": (7, 0), "W1": (7, 1), "W2": (6, 2), "B5": (4, 4)} | changes)


@pytest.mark.parametrize("ces", [0, 5, 1])
def test_case_19_challenge(start: Start, ces: int) -> None:
    game = start("three_will", third_entry(ces=ces))
    game.apply(6)
    assert fields(game, "phase", "declarer", "player", "turn_owner", "after") == [CHALLENGE, 0, 1, 0, -1]
    assert game.current_player == 1
    assert game.legal_actions() == [PASS, EXAMINE, EXAMINE + 1, EXAMINE + 2]
    assert game.rewards == pytest.approx([0, 0])
    game.apply(EXAMINE)
    if ces != 1:
        assert_won(game, 0)
        return
    assert agents(game, "W0", "B0") == {"W0": (6, 7, "active"), "B0": (7, 0, "active")}
    assert [standing for _, _, standing in agents(game, *NAMES[:8]).values()].count("locked") == 2
    assert_turn_passed(game, 1)
    assert fields(game, "challenge_left", "declarer", "turn_owner", "after") == [0, -1, -1, -1]
    assert fields(game, "t", "die") == [2, 1 + draw(game_key(0, 0, 0), 64 + 2 * 2, 6)]


def test_g24_challenge_declined_or_ruled_out(start: Start) -> None:
    game = start("three_will", third_entry(ces=1))
    game.apply(6)
    game.apply(PASS)
    assert_won(game, 0)
    assert start("three_will", challenge=False).to_dict()["challenge_left"] == 0
    game = start("three_will", third_entry(ces=1, challenge_left=0), challenge=False)
    game.apply(6)
    assert_won(game, 0)


@pytest.mark.parametrize("free", [0, 1])
@pytest.mark.parametrize("ends", [True, False])
def test_g26_interrupted_turn(start: Start, ends: bool, free: int) -> None:
    state = third_entry(ces=1, dr=[3, 4], free=[free, 0])
    game = start("three_will", state, challenge_ends_turn=ends)
    game.apply(6)
    assert fields(game, "after") == [1 if free else -1]
    game.apply(EXAMINE)
    if ends or not free:
        assert_turn_passed(game, 1)
    else:
        assert fields(game, "phase", "player", "turns", "after") == [FREE, 0, 0, -1]


def test_case_20_no_second_challenge(start: Start) -> None:
    game = start("three_will", third_entry(ces=1))
    game.apply(6)
    game.apply(EXAMINE)
    again = game.to_dict() | {"player": 0, "die": 1}
    again["pos"][3], again["pos"][12] = 8 * 6 + 3, 8 * 3 + 3
    game = start("three_will", again)
    game.apply(9)
    assert_won(game, 0)


def test_case_21_double_stands_free_on_a_locked_agent(start: Start) -> None:
    game = start("three_will", third_entry(W1=(7, 0, 1), ces=1))
    game.apply(6)
    game.apply(EXAMINE)
    assert agents(game, "B0", "W1", "W0", "W2") == {
        "B0": (7, 0, "active"),
        "W1": (7, 0, "locked"),
        "W0": (6, 7, "active"),
        "W2": (7, 2, "locked"),
    }
    assert_turn_passed(game, 1)


@pytest.mark.parametrize("ruling", ["released", "held"])
def test_g25_double_comes_under_a_locked_agent(start: Start, ruling: str) -> None:
    game = start("three_will", third_entry(W1=(7, 0, 1), ces=2), held_under_locked=ruling)
    game.apply(6)
    game.apply(EXAMINE + 1)
    assert agents(game, "B1", "W0", "W1") == {
        "B1": (7, 0, "active" if ruling == "released" else "held"),
        "W0": (7, 0, "locked"),
        "W1": (6, 6, "active"),
    }


def test_case_22_win_survives_the_swap(start: Start) -> None:
    game = start("three_will", third_entry(W3=(6, 2, 1), ces=1))
    game.apply(6)
    assert game.legal_actions() == [PASS, *range(EXAMINE, EXAMINE + 4)]
    game.apply(EXAMINE)
    assert agents(game, "W0", "B0") == {"W0": (6, 7, "active"), "B0": (7, 0, "active")}
    assert_won(game, 0)


@pytest.mark.parametrize("examine", [True, False])
def test_case_23_dragging_in_the_third(start: Start, examine: bool) -> None:
    game = start("three_will", position(B0=(0, 0), B1=(0, 1), B4=(1, 3, 1), die=6, ces=5))
    game.apply(9)
    assert fields(game, "phase", "declarer", "player", "turn_owner") == [CHALLENGE, 1, 0, 0]
    assert game.legal_actions() == [PASS, EXAMINE, EXAMINE + 1, EXAMINE + 4]
    if not examine:
        game.apply(PASS)
        assert_won(game, 1)
        return
    game.apply(EXAMINE + 4)
    assert agents(game, "W4", "B4") == {"W4": (0, 3, "held"), "B4": (1, 4, "active")}
    assert_turn_passed(game, 1)


def all_held_but_one(**changes: Any) -> Position:
    """White holds seven Blacks in row 3 and stands before the eighth."""
    stacks = {f"W{s}": (3, s) for s in range(8)} | {f"B{s}": (3, s, 1) for s in range(7)}
    return position(**stacks, B7=(4, 7), **changes)


def test_case_24_supplementary_win(start: Start) -> None:
    game = start("three_will", all_held_but_one(ces=1), seed=double(1))
    game.apply(21)
    assert fields(game, "phase", "declarer", "player") == [CHALLENGE, 0, 1]
    assert game.legal_actions() == [PASS, *range(EXAMINE, EXAMINE + 8)]
    declared = game.to_dict()
    game.apply(EXAMINE)
    assert agents(game, "W0", "B0") == {"W0": (3, 0, "held"), "B0": (3, 0, "active")}
    assert_turn_passed(game, 1)
    game = start("three_will", declared)
    game.apply(EXAMINE + 1)
    assert_won(game, 0)


def test_g23_immobility_without_the_supplementary_win(start: Start) -> None:
    game = start("three_will", all_held_but_one(), seed=double(1), supplementary=False)
    game.apply(21)
    assert_turn_passed(game, 1)
    assert game.legal_actions() == [PASS]


def test_case_25_double_held_elsewhere(start: Start) -> None:
    ids = [1, 2, 3, 4, 5, 6, 7, 8, 8, 1, 2, 3, 4, 5, 6, 7]
    game = start("three_will", all_held_but_one(ces=1, ids=ids), seed=double(1))
    game.apply(21)
    game.apply(EXAMINE)
    assert agents(game, "W0", "B1", "B0", "W1") == {
        "W0": (3, 1, "held"),
        "B1": (3, 0, "active"),
        "B0": (3, 0, "held"),
        "W1": (3, 1, "active"),
    }
    assert_turn_passed(game, 1)


def test_g22_base_before_immobility(start: Start) -> None:
    """One stack takes Black's last active agent and throws the third Black into its goal."""
    held = {f"B{s}": (3, s, 1) for s in range(4, 8)} | {f"W{s}": (3, s) for s in range(4, 8)}
    named = {"B0": (0, 0), "B1": (0, 1), "W3": (0, 3), "B2": (1, 3), "B3": (1, 3, 1)} | held
    game = start("three_will", position(**named), seed=double(1))
    game.apply(9)
    assert fields(game, "phase", "declarer", "player") == [CHALLENGE, 1, 0]
    assert game.legal_actions() == [PASS, EXAMINE, EXAMINE + 1, EXAMINE + 3]


def test_g22_mover_first_and_a_win_created_by_the_swap(start: Start) -> None:
    """Two wins at once: White locks himself over the last active Black, and nobody can move."""
    white = {f"W{s}": (7, s) for s in range(3)} | {f"B{s}": (7, s, 1) for s in range(3)}
    black = {f"B{s}": (0, s) for s in range(4, 8)} | {f"W{s}": (0, s, 1) for s in range(4, 8)}
    state = position(**white, **black, W3=(6, 3), B3=(7, 3), ces=1)
    game = start("three_will", state, seed=double(1), held_under_locked="held", to_win=5)
    game.apply(9)
    assert fields(game, "phase", "declarer", "player") == [CHALLENGE, 0, 1]
    assert game.legal_actions() == [PASS, *range(EXAMINE, EXAMINE + 4)]
    game.apply(EXAMINE)
    assert agents(game, "B0", "W0") == {"B0": (7, 0, "active"), "W0": (7, 0, "locked")}
    assert_won(game, 1)


def test_g23_last_active_agent_enters(start: Start) -> None:
    """Black's own step leaves him without an active agent; the holders alone are White's context."""
    held = {f"B{s}": (3, s, 1) for s in range(1, 8)} | {f"W{s}": (3, s) for s in range(1, 8)}
    game = start("three_will", position(**held, B0=(1, 0), W0=(2, 0), player=1))
    game.apply(0)
    assert fields(game, "phase", "declarer", "player", "turn_owner") == [CHALLENGE, 0, 1, 1]
    assert game.legal_actions() == [PASS, *range(EXAMINE + 1, EXAMINE + 8)]


def test_g28_truncation(start: Start) -> None:
    game = start("three_will", position(die=1, turns=599))
    game.apply(0)
    assert game.truncated and not game.terminated
    assert game.rewards == pytest.approx([0, 0])
    assert game.legal_actions() == []
    assert fields(game, "phase", "turns", "winner", "truncated") == [OVER, 600, -1, 1]


# Observation.


def one_hot(index: int, length: int) -> list[int]:
    return [int(i == index) for i in range(length)]


@pytest.mark.parametrize("visible", [False, True])
def test_observation_from_both_chairs(start: Start, visible: bool) -> None:
    state = position(
        W0=(7, 2),
        B0=(4, 3),
        W1=(4, 3, 1),
        die=5,
        dr=[3, 1],
        free=[0, 2],
        turns=150,
        ids=[8, 7, 6, 5, 4, 3, 2, 1, *range(1, 9)],
    )
    game = start("three_will", state, ids_visible=visible)
    white = [(7, 2, 2), (4, 3, 1), *((1, s, 0) for s in range(2, 8))]
    black = [(4, 3, 0), *((6, 7 - s, 0) for s in range(1, 8))]
    expected: dict[int, list[float]] = {0: [], 1: []}
    for row, column, standing in white + black:
        expected[0] += one_hot(row, 8) + one_hot(column, 8) + one_hot(standing, 3)
    for row, column, standing in black + white:
        expected[1] += one_hot(7 - row, 8) + one_hot(7 - column, 8) + one_hot(standing, 3)
    cards = {0: [3 / 4, 1 / 4, 0, 2 / 8, 2 / 8], 1: [1 / 4, 3 / 4, 2 / 8, 0, 2 / 8]}
    for player in (0, 1):
        expected[player] += [*one_hot(4, 6), *one_hot(0, 4), *cards[player], 1, 1 / 4, 1 - player]
        if visible:
            ids = state["ids"]
            expected[player] += [number / 8 for number in (ids if player == 0 else ids[8:] + ids[:8])]
        assert game.observation(player) == pytest.approx(expected[player])


def test_observation_of_die_and_phase(start: Start) -> None:
    """The die shows only where it directs."""
    for phase, die in ((MOVE, 1), (FREE, 0), (FMOVE, 1)):
        game = start("three_will", position(die=3, phase=phase, dr=[3, 4], free=[1, 0]))
        assert game.observation(0)[304:314] == pytest.approx([0, 0, die, 0, 0, 0, *one_hot(phase, 4)])
    game = start("three_will", third_entry(turns=599))
    game.apply(6)
    assert game.observation(0)[304:314] == pytest.approx([*[0] * 6, *one_hot(CHALLENGE, 4)])
    assert [game.observation(player)[321] for player in (0, 1)] == pytest.approx([0, 1])
    game.apply(EXAMINE + 2)
    assert game.observation(0)[304:314] == pytest.approx([0] * 10)
    assert game.observation(1)[319] == pytest.approx(0)
