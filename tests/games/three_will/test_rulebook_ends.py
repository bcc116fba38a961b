"""Worked cases of Three Will: Free cards and leaps, both ways to win, the challenge, observations."""

from typing import Any

import pytest

from tests.games.chance import draw, game_key
from tests.games.three_will.position import (
    CHALLENGE,
    EXAMINE,
    FMOVE,
    FREE,
    MOVE,
    NAMES,
    OVER,
    PASS,
    USE_FREE,
    Position,
    Start,
    agents,
    assert_turn_passed,
    assert_won,
    bank,
    double,
    fields,
    no_double,
    position,
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
    """Check that leaps are not compulsory, and that the pass ends the turn with Free cards in hand."""
    game = start("three_will", position(die=3, phase=FMOVE, dr=[0, 4], free=[4, 0], W7=(3, 0)))
    assert game.legal_actions() == [0, 21, PASS]
    game.apply(PASS)
    assert_turn_passed(game, 1)
    assert fields(game, "free") == [[4, 0]]


# The end.


def third_entry(**changes: Any) -> Position:
    """Return a position in which White's number 3 is about to enter, where numbers 1 and 2 stand already."""
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


def test_g25_double_on_the_same_square(start: Start) -> None:
    """Check that a free agent on its examined double changes levels with it and settles as before."""
    game = start("three_will", third_entry(B0=(7, 0), W0=(7, 0, 1), ces=1))
    game.apply(6)
    game.apply(EXAMINE)
    assert agents(game, "B0", "W0") == {"B0": (7, 0, "active"), "W0": (7, 0, "locked")}
    assert [fields(game, "lvl")[0][a] for a in (0, 8)] == [1, 0]
    assert_won(game, 0)


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
    """Return a position in which White holds seven Blacks in row 3 and stands before the eighth."""
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


def test_f29_who_stands_on_a_locked_agent_holds_nobody(start: Start) -> None:
    stacks = {f"W{s}": (3, s) for s in range(1, 8)} | {f"B{s}": (3, s, 1) for s in range(1, 7)}
    game = start("three_will", position(**stacks, W0=(0, 0), B0=(0, 0, 1), B7=(4, 7)), seed=double(1))
    game.apply(21)
    assert fields(game, "phase", "declarer", "player") == [CHALLENGE, 0, 1]
    assert game.legal_actions() == [PASS, *range(EXAMINE + 1, EXAMINE + 8)]


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
    """Check a stack that takes Black's last active agent and throws the third Black into its goal."""
    held = {f"B{s}": (3, s, 1) for s in range(4, 8)} | {f"W{s}": (3, s) for s in range(4, 8)}
    named = {"B0": (0, 0), "B1": (0, 1), "W3": (0, 3), "B2": (1, 3), "B3": (1, 3, 1)} | held
    game = start("three_will", position(**named), seed=double(1))
    game.apply(9)
    assert fields(game, "phase", "declarer", "player") == [CHALLENGE, 1, 0]
    assert game.legal_actions() == [PASS, EXAMINE, EXAMINE + 1, EXAMINE + 3]


def test_g22_mover_first_and_a_win_created_by_the_swap(start: Start) -> None:
    """Check two wins at once: White locks an agent over the last active Black, and nobody can move."""
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
    """Check a step of Black that leaves no active agent; the holders alone are White's context."""
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


@pytest.mark.few("reference")
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
    """Check that the die is observed only in phases where it directs."""
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
