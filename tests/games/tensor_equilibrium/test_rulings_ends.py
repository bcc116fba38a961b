"""Rulings on operations and on the ends of rounds and games, with their rule fields, on every engine."""

from typing import Any

import pytest

from tests.games.tensor_equilibrium.cases import (
    ALL_DOWN,
    FLAT,
    GAME,
    GUARDED,
    LAST_ACTION,
    PAIR,
    SCARCE,
    SHORT,
    THREE,
    TIGHT,
    A,
    B,
    C,
    E,
    Start,
    acts,
    begin,
    cells,
    edge,
    gpu,
    kinds,
    last_pass,
    levels,
    phase,
    play,
    show,
    to_move,
)
from tests.games.tensor_equilibrium.rules import ADD, DIV, MUL, SUB, Act, Phase

# *** operations ***


@pytest.mark.parametrize(
    ("board", "rules", "legal"),
    [
        pytest.param("18:A↑", TIGHT, [SUB, DIV], id="0"),
        pytest.param("18:A↑", {}, [DIV], id="1, one tile"),
        pytest.param(PAIR, {}, [SUB, ADD, DIV, MUL], id="1, two tiles"),
        pytest.param(PAIR, GUARDED, [DIV, MUL], id="2"),
    ],
)
def test_g28_least_number_of_tiles(start: Start, board: str, rules: dict[str, Any], legal: list[int]) -> None:
    changes: dict[str, Any] = {"hand": {0: [SUB, ADD, DIV, MUL]}, "level": {0: [8] * 5}}
    assert kinds(begin(start, board={0: board}, rules=rules, **changes), Act.RUN, 4) == legal


@pytest.mark.slow
@pytest.mark.parametrize("o", [SUB, ADD])
def test_g29_networks_that_must_hold_together(start: Start, o: int) -> None:
    changes: dict[str, Any] = {"board": {0: "17:A↑ 18:B↑ 19:C↑"}, "hand": {0: [o]}}
    game = begin(start, rules=TIGHT, **changes)
    assert cells(play(game, Act.RUN + o)) == [17, 19]
    assert cells(play(begin(start, **changes), Act.RUN + o)) == [17, 18, 19]


@pytest.mark.slow
def test_g30_the_vacated_cell(start: Start) -> None:
    game = begin(start, hand={0: [ADD]}, rules=TIGHT)
    play(game, Act.RUN + ADD, Act.CELL + 19, Act.TYPE + E)
    assert cells(game) == [11, 12, 17, 24, 25]


@pytest.mark.slow
def test_g30_no_cell_for_the_new_tile(start: Start) -> None:
    ring = {0: "18:A↑ 19:C↑", 1: PAIR}
    dark = tuple(h for h in range(37) if h not in (17, 18, 19))
    rules = {"add_may_reuse_cell": False, "dark_cells": dark}
    game = begin(start, board=ring, hand={0: [ADD]}, rules=rules)
    assert cells(play(game, Act.RUN + ADD)) == [19]  # without 18, only 18 itself would touch a tile


@pytest.mark.few("reference")
@pytest.mark.parametrize(
    ("elsewhere", "pile", "removable", "types"),
    [
        ("BBBBBBDDDDDDEEEEEE", [2, 5, 2, 5, 5], [18, 19], [A]),
        ("AAAAABBBBBBDDDDDDEEEEEE", [5, 5, 1, 5, 5], [18], [C]),  # 19 is a C, and only Cs are in supply
    ],
)
def test_g31_types_that_the_supply_lacks(
    start: Start, elsewhere: str, pile: list[int], removable: list[int], types: list[int]
) -> None:
    board = {1: " ".join(f"{h}:{letter}↓" for h, letter in enumerate(elsewhere))}
    game = begin(start, board=board, hand={0: [ADD]}, pile=pile, rules=SCARCE)
    assert [t for t in range(5) if game.to_dict()["supply"][t]] == sorted({*types, C})
    assert cells(play(game, Act.RUN + ADD)) == removable
    assert play(game, Act.CELL + removable[-1]).legal_actions() == acts(Act.TYPE, *types)


@pytest.mark.few("reference")
@pytest.mark.parametrize("o", [SUB, ADD, MUL])
def test_g32_running_a_card_without_effect(start: Start, o: int) -> None:
    changes: dict[str, Any] = {"board": {0: "18:A↑"}, "hand": {0: [o]}}
    assert kinds(begin(start, **changes), Act.RUN, 4) == []
    game = play(begin(start, rules=SCARCE, **changes), Act.RUN + o)
    assert phase(game) == Phase.TWEAK and gpu(game) == [6, 7] and game.to_dict()["tweaks_left"] == 2


@pytest.mark.few("reference")
@pytest.mark.parametrize(
    ("rules", "copies"), [({}, "16:A↑ 17:C↑"), (FLAT, "16:A↑ 17:C↓")], ids=["face-up", "as they are"]
)
def test_g33_faces_of_copies(start: Start, rules: dict[str, Any], copies: str) -> None:
    game = begin(start, board={0: "18:A↑ 19:C↓"}, hand={0: [MUL]}, rules=rules)
    play(game, Act.RUN + MUL, edge(0, 18), Act.CELL + 16)
    assert show(game, 0) == f"{copies} 18:A↑ 19:C↓"


@pytest.mark.slow
def test_g33_face_down_tiles_that_cannot_be_copied(start: Start) -> None:
    changes: dict[str, Any] = {"board": {0: "17:D↑ 18:A↑ 19:C↓"}, "hand": {0: [MUL]}}
    assert play(begin(start, **changes), Act.RUN + MUL).legal_actions() == [edge(0, 17), edge(0, 18)]
    game = begin(start, rules=GUARDED, **changes)
    assert play(game, Act.RUN + MUL).legal_actions() == [edge(0, 17)]


@pytest.mark.parametrize(
    ("d", "pair", "where", "after"),
    [
        (0, "18:A↑ 19:C↓", 10, "10:A↑ 11:C↑ 18:A↑ 19:C↓"),
        (1, "18:A↑ 25:C↓", 12, "12:A↑ 18:A↑ 19:C↑ 25:C↓"),
        (2, "18:A↑ 24:C↓", 25, "18:A↑ 24:C↓ 25:A↑ 30:C↑"),
    ],
)
def test_g34_copies_keep_their_direction(start: Start, d: int, pair: str, where: int, after: str) -> None:
    game = begin(start, board={0: pair}, hand={0: [MUL]})
    assert play(game, Act.RUN + MUL).legal_actions() == [edge(d, 18)]
    assert show(play(game, edge(d, 18), Act.CELL + where), 0) == after


# *** ends of rounds and of the game ***


def test_g36_flips_in_the_new_order(start: Start) -> None:
    board = dict.fromkeys(range(2), "18:A↑ 19:B↑ 11:B↑ 12:A↑ 17:D↑")
    game = play(begin(start, board=board, order=[1, 0], turn=1, actor=1), Act.PASS, Act.PASS)
    deciders = []
    for cell, choices in ((11, [11, 12, 18, 19]), (18, [12, 18]), (12, [11, 12, 18, 19]), (19, [11, 19])):
        deciders.append(game.current_player)
        assert cells(game) == choices
        play(game, Act.CELL + cell)
    assert deciders == [1, 1, 0, 0] and to_move(game) == 1
    assert show(game, 1) == "11:B↓ 12:A↑ 17:D↓ 18:A↓ 19:B↑"


def test_g37_no_flips_at_the_end_of_the_game(start: Start) -> None:
    board = "18:A↑ 19:B↑ 11:B↑ 12:C↑ 17:D↑"
    game = last_pass(start, board=board, level={0: [3] * 5, 1: [3] * 5})
    assert game.terminated and levels(game) == [4, 4, 4, 2, 2] and show(game, 0).count("↑") == 5


@pytest.mark.few("reference")
@pytest.mark.parametrize(("rules", "movers"), [({}, [0, 1, 2]), (THREE, [0, 2])], ids=["all", "others"])
def test_g39_final_actions_of_who_has_passed(start: Start, rules: dict[str, Any], movers: list[int]) -> None:
    passed: dict[str, Any] = {"passed": [0, 1, 0], "next_order": [1, -1, -1], "n_passed": 1}
    game = begin(start, 3, rules=rules, **passed | LAST_ACTION | {"final_left": 2})
    found = []
    while not game.terminated:
        found.append(to_move(game))
        play(game, Act.PASS)
    assert found == movers and game.to_dict()["final_left"] == 0


def test_g40_pay_for_a_final_pass(start: Start) -> None:
    passed: dict[str, Any] = {"passed": [0, 1], "next_order": [1, -1], "n_passed": 1}
    game = begin(start, rules=SHORT, **passed | LAST_ACTION | {"final_left": 1})
    assert gpu(play(game, Act.PASS)) == [12, 7] and to_move(game) == 1
    state = game.to_dict()
    assert (state["next_order"], state["passed"], state["n_passed"]) == ([1, 0], [1, 1], 2)
    assert gpu(play(game, Act.PASS)) == [12, 7] and game.terminated
    assert game.to_dict()["next_order"] == [1, 0]


def test_g40_no_pay_for_a_final_pass(start: Start) -> None:
    game = begin(start, **LAST_ACTION | {"final_left": 1})
    assert gpu(play(game, Act.PASS)) == [7, 7] and to_move(game) == 1
    state = game.to_dict()
    assert (state["next_order"], state["passed"], state["n_passed"]) == ([-1, -1], [0, 0], 0)


def test_g41_cards_in_hand_may_be_run_as_final_action(start: Start) -> None:
    game = begin(start, hand={0: [SUB], 1: [DIV]}, **LAST_ACTION | {"final_left": 1})
    play(game, Act.RUN + SUB, Act.CELL + 19, Act.STOP)
    assert kinds(game, Act.RUN, 4) == [DIV]
    play(game, Act.RUN + DIV, Act.CELL + 18, Act.TWEAK + A, Act.STOP)
    assert game.terminated and levels(game, 0) == [4, 2, 2, 2, 2] and levels(game, 1) == [3, 2, 4, 2, 2]


@pytest.mark.parametrize(
    ("level", "rewards"),
    [([5, 4, 3], [1, 0, -1]), ([5, 5, 3], [0.5, 0.5, -1]), ([4, 5, 4], [-0.5, 1, -0.5]), ([4, 4, 4], [0, 0, 0])],
)
def test_g42_rewards_by_rank(start: Start, level: list[int], rewards: list[float]) -> None:
    by_seat = {p: [value] * 5 for p, value in enumerate(level)}
    assert last_pass(start, level=by_seat, rules=THREE).rewards == pytest.approx(rewards)


@pytest.mark.parametrize(
    ("last", "rules", "rewards"), [(39, {}, [1, -1]), (2, SHORT, [0, 0])], ids=["scored", "unscored"]
)
def test_g43_round_cap(start: Start, last: int, rules: dict[str, Any], rewards: list[float]) -> None:
    boards = {0: "18:A↑ 19:B↑ 11:B↑ 12:C↑ 17:D↑", 1: ALL_DOWN}
    game = play(begin(start, board=boards, round=last, level={0: [4] * 5}, rules=rules), Act.PASS, Act.PASS)
    assert game.truncated and not game.terminated and game.rewards == pytest.approx(rewards)
    assert levels(game) == [5, 5, 5, 3, 3] and show(game, 0).count("↓") == 0 and game.current_player == -1


def test_g43_decision_cap_waits_for_the_end_of_an_action(start: Start) -> None:
    assert play(begin(start, decisions=8, rules=SHORT), Act.PASS).truncated
    game = begin(start, decisions=8, storage={0: "B"}, rules=SHORT)
    for action in (Act.LOAD + B, Act.CELL + 17):
        assert not play(game, action).truncated
    assert play(game, Act.TWEAK + B).truncated and not game.terminated
    assert game.to_dict()["decisions"] == 11 and levels(game) == [3, 4, 3, 3, 3]


def test_g43_decision_cap_before_a_flip(start: Start) -> None:
    boards = {0: "18:A↑ 19:B↑ 11:B↑ 12:C↑ 17:D↑", 1: ALL_DOWN}
    game = play(begin(start, board=boards, decisions=7, rules=SHORT), Act.PASS, Act.PASS)
    state = game.to_dict()
    assert game.truncated and state["phase"] == Phase.OVER and state["pend_flip"] == [[0] * 5] * 2


@pytest.mark.parametrize(
    ("config", "error"),
    [
        ({"no_such_field": 1}, TypeError),
        ({"players": 1}, ValueError),
        ({"players": 5}, ValueError),
        ({"reward_mode": "loser"}, ValueError),
        ({"setup_order": "none"}, ValueError),
        ({"storage_over_limit": "discard"}, ValueError),
        ({"tiles_per_type": 5}, ValueError),
        ({"market_size": 26}, ValueError),
        ({"tier_level": (1, 5, 8)}, ValueError),
    ],
)
def test_impossible_rules(start: Start, config: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error, match=next(iter(config))):
        start(GAME, **config)
