"""Rulings on components, set-up and actions, with their rule fields, on every engine."""

from typing import Any

import pytest

from tests.games.chance import draw, game_key
from tests.games.tensor_equilibrium.cases import (
    ALL_DOWN,
    COMPONENTS,
    DEAR,
    FLAT,
    GAME,
    LAST_ACTION,
    LAX,
    SHORT,
    THREE,
    A,
    B,
    C,
    D,
    E,
    Start,
    acts,
    begin,
    cells,
    edge,
    first_seed,
    gpu,
    hack,
    kinds,
    levels,
    phase,
    play,
    show,
    to_move,
)
from tests.games.tensor_equilibrium.rules import ADD, DIV, MUL, SUB, Act, Phase


def setup_cells(start: Start, **config: Any) -> list[int]:
    """Return the cells for the second tile of the first player."""
    game = start(GAME, **config)
    for _ in range(2):
        play(game, game.legal_actions()[0])
    return cells(game)


def after_setup(start: Start, **config: Any) -> dict[str, Any]:
    game = start(GAME, **config)
    while phase(game) <= Phase.SETUP_CELL:
        play(game, game.legal_actions()[0])
    return dict(game.to_dict())


# *** components, set-up, chance ***


@pytest.mark.few("reference", "G2")
@pytest.mark.parametrize(
    ("config", "expected"),
    [
        pytest.param({}, [11, 12, 17, 19, 24, 25], id="radius 3"),
        pytest.param({"board_radius": 2, "first_player": 0}, [4, 5, 8, 10, 13, 14], id="G1 radius 2"),
        pytest.param({"board_radius": 1}, [0, 1, 2, 4, 5, 6], id="G1 radius 1"),
        pytest.param({"dark_cells": (11, 17, 20)}, [12, 19, 24, 25], id="G2"),
        pytest.param({"centre_cell": 0}, [1, 4, 5], id="G3"),
    ],
)
def test_g1_g2_g3_g15_second_tile(start: Start, config: dict[str, Any], expected: list[int]) -> None:
    assert setup_cells(start, players=2, **config) == expected


def test_g1_edge_actions_follow_the_cells_of_a_smaller_board(start: Start) -> None:
    config: dict[str, Any] = {"players": 2, "board_radius": 2, "first_player": 0}
    state = after_setup(start, **config)
    assert [h for h in range(19) if state["board"][0][h]] == [4, 9]  # the second tile went to its first cell
    state |= {"hand": [[0, 0, 0, 1], [0] * 4], "ops": [1, 1, 1, 0]}
    game = play(start(GAME, state, **config), Act.RUN + MUL)
    assert game.legal_actions() == [edge(1, 4, 19)]
    assert cells(play(game, edge(1, 4, 19))) == [1, 3, 5, 8, 10, 13, 14]


@pytest.mark.slow
def test_g2_dark_cells_stay_empty(start: Start) -> None:
    dark = {"dark_cells": (11, 17, 20)}
    game = begin(start, storage={0: "E"}, rules=dark)
    assert cells(play(game, Act.LOAD + E)) == [12, 13, 24, 25, 26]
    game = play(begin(start, hand={0: [MUL]}, rules=dark), Act.RUN + MUL, edge(0, 18))
    assert cells(game) == [12, 13, 23, 24, 25, 26]


@pytest.mark.parametrize("seed", range(8))
def test_g4_g13_deal(start: Start, seed: int) -> None:
    key, undealt = game_key(seed, 0, 0), list(range(30))
    state = start(GAME, seed=seed, players=4).to_dict()
    first = draw(key, 0, 4)
    assert state["order"] == [(first + i) % 4 for i in range(4)] and state["turn"] == first
    assert state["gpu"] == [6 if p == first else 7 for p in range(4)]
    for seat, card in enumerate(state["card"]):
        assert undealt.index(card) == draw(key, 1 + seat, 30 - seat)  # fails if a card is dealt twice
        undealt.remove(card)


def test_g4_tensor_cards(start: Start) -> None:
    rows = {0: "AB CD", 1: "AB CE", 2: "AB DE", 3: "AC BD", 29: "DE BC"}
    for card, text in rows.items():
        game = start(GAME, start(GAME, players=2).to_dict() | {"card": [card, card]}, players=2)
        top, bottom = (["ABCDE".index(letter) for letter in row] for row in text.split())
        assert game.legal_actions() == acts(Act.TYPE, *top)
        assert play(game, Act.TYPE + top[0]).legal_actions() == acts(Act.TYPE, *bottom)
    cards = (((3, 4), (0, 1)), ((0, 1), (2, 3)))
    dealt = [start(GAME, seed=seed, players=2, tensor_cards=cards).to_dict()["card"] for seed in range(12)]
    assert {tuple(pair) for pair in dealt} == {(0, 1), (1, 0)}


@pytest.mark.slow
def test_g13_g14_orders_of_the_setup(start: Start) -> None:
    choosers: dict[str, list[int]] = {}
    for setup_order, game in (
        ("turn", start(GAME, seed=first_seed(3, 1), players=3)),
        ("seat", start(GAME, players=3, first_player=1, setup_order="seat")),
    ):
        choosers[setup_order] = []
        while phase(game) <= Phase.SETUP_CELL:
            choosers[setup_order].append(game.current_player)
            play(game, game.legal_actions()[0])
        assert to_move(game) == 1
    assert choosers == {"turn": [1] * 3 + [2] * 3 + [0] * 3, "seat": [0] * 3 + [1] * 3 + [2] * 3}


@pytest.mark.few("reference")
def test_g5_components(start: Start) -> None:
    state = after_setup(start, players=2, **COMPONENTS)
    assert (state["supply"], state["ops"]) == ([14 - 2 * 4] * 5, [3] * 4)
    assert (sum(state["pile"]), sum(state["market"])) == (2 * (5 * 4 - 2) - 3, 3)
    assert (state["level"], state["gpu"], state["card"]) == ([[4] * 5] * 2, [5, 9], [7, 3])


def test_g5_default_components(start: Start) -> None:
    state = after_setup(start, players=2)
    assert (state["supply"], state["ops"]) == ([14] * 5, [1] * 4)
    assert (sum(state["pile"]), sum(state["market"])) == (21, 5)


@pytest.mark.parametrize("seed", range(8))
def test_draws_from_the_pile(start: Start, seed: int) -> None:
    key, pile = game_key(seed, 0, 0), [3, 0, 1, 4, 2]
    game = begin(start, seed=seed, pile=pile, market="EEEEE", storage={0: "E"})
    play(game, Act.DOWNLOAD, Act.TAKE + E, Act.TAKE + E)
    first = [0, 0, 0, 2, 3, 3, 3, 3, 4, 4][draw(key, 16 + 26 - 10, 10)]
    left = [t for t in range(5) for _ in range(pile[t] - (t == first))]
    drawn = [first, left[draw(key, 16 + 26 - 9, 9)]]
    state = game.to_dict()
    assert state["market"] == [drawn.count(t) + 3 * (t == E) for t in range(5)]
    assert state["pile"] == [pile[t] - drawn.count(t) for t in range(5)]


@pytest.mark.slow
def test_g12_tiebreak_order(start: Start) -> None:
    boards = {0: "18:A↑ 19:B↑ 11:B↑ 12:C↑ 17:D↑", 1: ALL_DOWN}
    game = play(begin(start, board=boards, rules=LAX), Act.PASS, Act.PASS)
    assert levels(game) == [2, 4, 4, 4, 2]


@pytest.mark.parametrize(
    ("cost", "action"),
    [
        ("cost_download", Act.DOWNLOAD),
        ("cost_load", Act.LOAD + E),
        ("cost_hack", hack(1, E)),
        ("cost_run", Act.RUN + DIV),
        ("op_cost", Act.CODE + ADD),
    ],
)
def test_costs(start: Start, cost: str, action: int) -> None:
    default = {"cost_download": 2, "cost_load": 2, "cost_hack": 1, "cost_run": 1, "op_cost": 3}[cost]
    changes: dict[str, Any] = {"storage": {0: "E"}, "hand": {0: [DIV]}, "level": {0: [5] * 5}}
    for price, rules in ((default, {}), (default + 1, DEAR)):
        assert action not in begin(start, gpu={0: price - 1}, rules=rules, **changes).legal_actions()
        assert gpu(play(begin(start, gpu={0: price}, rules=rules, **changes), action)) == [0, 7]


@pytest.mark.slow
@pytest.mark.parametrize(("card", "rules", "tweaks"), [(DIV, {}, 2), (DIV, LAX, 3), (SUB, LAX, 0)], ids=["2", "3", "0"])
def test_g9_card_tweaks(start: Start, card: int, rules: dict[str, Any], tweaks: int) -> None:
    game = play(begin(start, hand={0: [card]}, rules=rules), Act.RUN + card, Act.CELL + 18)
    play(game, *[Act.TWEAK + A] * tweaks)
    assert levels(game) == [3 + tweaks, 3, 3, 3, 3] and to_move(game) == 1


def test_f27_tweaks_may_be_split_and_stopped(start: Start) -> None:
    game = play(begin(start, hand={0: [DIV]}), Act.RUN + DIV, Act.CELL + 18, Act.TWEAK + A)
    split, stopped = game.to_dict(), game.to_dict()
    assert levels(play(start(GAME, split, players=2), Act.TWEAK + E)) == [4, 3, 3, 3, 4]
    assert levels(play(start(GAME, stopped, players=2), Act.STOP)) == [4, 3, 3, 3, 3]


@pytest.mark.few("reference")
@pytest.mark.parametrize(("rules", "tweaks"), [({}, 1), (LAX, 2), (DEAR, 0)], ids=["1", "2", "0"])
def test_load_tweaks(start: Start, rules: dict[str, Any], tweaks: int) -> None:
    game = begin(start, storage={0: "B"}, rules=rules)
    play(game, Act.LOAD + B, Act.CELL + 17, *[Act.TWEAK + D] * tweaks)
    assert levels(game) == [3, 3, 3, 3 + tweaks, 3] and to_move(game) == 1


@pytest.mark.slow
def test_g6_ends_of_the_track(start: Start) -> None:
    game = play(begin(start, storage={0: "B"}, rules=FLAT), Act.LOAD + B, Act.CELL + 17)
    assert to_move(game) == 1
    assert levels(play(game, Act.PASS, Act.PASS)) == [3] * 5


def test_g7_tiers(start: Start) -> None:
    game = begin(start, hand={0: [SUB]}, storage={0: "A"}, level={1: [2] * 5}, rules=DEAR)
    assert kinds(game, Act.CODE, 4) == [ADD, DIV, MUL]
    assert play(game, Act.DOWNLOAD).to_dict()["picks_left"] == 1
    play(game, Act.TAKE + A)
    assert kinds(game, Act.CODE, 4) == []
    assert gpu(play(game, Act.PASS, Act.PASS)) == [4 + 4 + 5, 7 + 4 + 0]


@pytest.mark.parametrize(("rules", "expected"), [({}, 11), (LAX, 10)], ids=["20", "10"])
def test_g11_gpu_limit(start: Start, rules: dict[str, Any], expected: int) -> None:
    assert gpu(play(begin(start, rules=rules), Act.PASS))[0] == expected


# *** actions ***


@pytest.mark.few("reference")
@pytest.mark.parametrize(
    ("changes", "why"),
    [({"storage": {0: "CCC"}}, "no space"), (LAST_ACTION | {"market": "", "final_left": 1}, "empty market")],
)
def test_g17_download_of_nothing(start: Start, changes: dict[str, Any], why: str) -> None:
    assert Act.DOWNLOAD not in begin(start, **changes).legal_actions(), why
    game = play(begin(start, rules=SHORT, **changes), Act.DOWNLOAD)
    assert gpu(game) == [5, 7] and to_move(game) == 1


def test_g18_final_download_takes_what_is_left(start: Start) -> None:
    game = begin(start, market="AB", **LAST_ACTION | {"final_left": 1})
    assert play(game, Act.DOWNLOAD).to_dict()["picks_left"] == 2
    play(game, Act.TAKE + B, Act.TAKE + A)
    assert to_move(game) == 1 and Act.DOWNLOAD not in game.legal_actions()


def test_g21_flip_of_a_type_whose_token_is_at_the_top(start: Start) -> None:
    for rules, shown in (({}, "18:A↓ 19:C↓"), (LAX, "18:A↑ 19:C↓")):
        game = begin(start, level={0: [10, 3, 9, 3, 3]}, rules=rules)
        play(game, Act.PASS, Act.PASS)
        assert show(game, 0) == shown and levels(game) == [10, 2, 10, 2, 2]


def test_g22_tweaks_that_must_be_made(start: Start) -> None:
    game = begin(start, storage={0: "B"}, level={0: [10, 3, 3, 3, 3]}, rules=LAX)
    assert play(game, Act.LOAD + B, Act.CELL + 17).legal_actions() == acts(Act.TWEAK, B, C, D, E)


def test_g25_hacking_a_player_who_has_passed(start: Start) -> None:
    changes: dict[str, Any] = {"passed": [0, 1, 0], "next_order": [1, -1, -1], "n_passed": 1, "storage": {0: "E"}}
    assert kinds(begin(start, 3, **changes), Act.HACK, 15) == [E, 5 + E]
    assert kinds(begin(start, 3, rules=THREE, **changes), Act.HACK, 15) == [5 + E]


@pytest.mark.slow
def test_g25_no_bonus_for_the_hacked(start: Start) -> None:
    assert to_move(play(begin(start, 3, storage={0: "B"}, rules=THREE), hack(1, B), Act.CELL + 17)) == 1
    own = play(begin(start, 3, storage={0: "B"}, rules=THREE), Act.LOAD + B, Act.CELL + 17)
    assert phase(own) == Phase.TWEAK


@pytest.mark.parametrize(("before", "rules", "after"), [(7, {}, 6), (7, LAX, 8), (10, LAX, 10)], ids=str)
def test_g26_pay_for_hacking(start: Start, before: int, rules: dict[str, Any], after: int) -> None:
    game = begin(start, gpu={0: before}, storage={0: "E"}, rules=rules)
    assert gpu(play(game, hack(1, E), Act.CELL + 17)) == [after, 7]


def test_hack_counts_seats_from_the_actor(start: Start) -> None:
    game = begin(start, 3, storage={1: "A"}, board={0: "18:A↑ 19:B↑"}, pos=1, turn=1, actor=1)
    assert kinds(game, Act.HACK, 15) == [5 + A]  # no B on the board of seat 2
    assert show(play(game, hack(2, A), Act.CELL + 20), 0) == "18:A↑ 19:B↑ 20:A↑"


def test_hack_obeys_the_card_of_its_target(start: Start) -> None:
    game = begin(start, storage={0: "B"}, card=[0, 29])  # on DE|BC the partner of B is C, at 19
    assert cells(play(game, hack(1, B))) == [12, 13, 20, 25, 26]
    assert to_move(play(game, Act.CELL + 20)) == 1  # B is in the bottom row there
