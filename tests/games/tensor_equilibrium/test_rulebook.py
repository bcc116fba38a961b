"""Worked cases W1 to W33 of the rules file that lie within a round, played on every engine."""

from typing import Any

import pytest

from tests.games.tensor_equilibrium.cases import (
    DEAR,
    GAME,
    PAIR,
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
    load_cells,
    numbers,
    play,
    show,
    to_move,
)
from tests.games.tensor_equilibrium.rules import ADD, DIV, MUL, SUB, Act, Phase

FULL = {0: [10] * 5}


# *** set-up ***


@pytest.mark.few("reference", "21")
@pytest.mark.parametrize(("players", "pile", "supply", "ops"), [(2, 21, 14, 1), (3, 34, 11, 2), (4, 47, 8, 2)])
def test_w1_setup(start: Start, players: int, pile: int, supply: int, ops: int) -> None:
    game = start(GAME, seed=first_seed(players, 1), players=players, fixed_cards=(1, 0, 2, 3)[:players])
    assert gpu(game) == [6 if p == 1 else 7 for p in range(players)]
    assert game.legal_actions() == acts(Act.TYPE, A, B)
    assert game.rewards == pytest.approx([0] * players)
    for _ in range(3 * players):
        play(game, game.legal_actions()[0])
    state = game.to_dict()
    assert (sum(state["pile"]), sum(state["market"])) == (pile, 5)
    assert state["supply"] == [supply] * 5 and state["ops"] == [ops] * 4
    assert to_move(game) == 1


def test_w2_choices_of_the_setup(start: Start) -> None:
    game = play(start(GAME, seed=first_seed(2, 1), players=2, fixed_cards=(1, 0)), Act.TYPE + B)
    assert game.legal_actions() == acts(Act.TYPE, C, D)
    play(game, Act.TYPE + D)
    assert cells(game) == [11, 12, 17, 19, 24, 25]
    play(game, Act.CELL + 19)
    assert show(game, 1) == "18:B↑ 19:D↑" and game.current_player == 0


# *** download, cards ***


def test_w5_download(start: Start) -> None:
    game = play(begin(start, storage={0: "A"}, market="CCCDD"), Act.DOWNLOAD)
    assert game.to_dict()["picks_left"] == 2 and gpu(game) == [5, 7]
    assert game.legal_actions() == acts(Act.TAKE, C, D)
    play(game, Act.TAKE + C)
    state = game.to_dict()
    assert (sum(state["market"]), sum(state["pile"])) == (4, 10)
    play(game, Act.TAKE + D)
    state = game.to_dict()
    assert (sum(state["market"]), sum(state["pile"])) == (5, 8)
    assert state["storage"][0] == [1, 0, 1, 1, 0] and to_move(game) == 1


def test_w6_full_storage(start: Start) -> None:
    assert Act.DOWNLOAD not in begin(start, storage={0: "CCD"}).legal_actions()
    assert Act.DOWNLOAD in begin(start, storage={0: "CC"}).legal_actions()


@pytest.mark.parametrize(
    ("level", "limits"), [([5, 0, 0, 0, 0], (2, 4, 2)), ([4] * 5, (1, 3, 1)), ([0, 0, 8, 0, 0], (3, 5, 3))]
)
def test_w7_limits(start: Start, level: list[int], limits: tuple[int, int, int]) -> None:
    cards, storage, income = limits
    seen = numbers(begin(start, level={0: level}), 0)
    assert (seen["hand_limit"], seen["storage_limit"], seen["income"]) == limits
    hand = [SUB, ADD, DIV][:cards]
    assert kinds(begin(start, level={0: level}, hand={0: hand}), Act.CODE, 4) == []
    assert MUL in kinds(begin(start, level={0: level}, hand={0: hand[1:]}), Act.CODE, 4)
    assert Act.DOWNLOAD not in begin(start, level={0: level}, storage={0: "E" * storage}).legal_actions()
    assert Act.DOWNLOAD in begin(start, level={0: level}, storage={0: "E" * (storage - 1)}).legal_actions()
    paid = gpu(play(begin(start, level={0: level}), Act.PASS, Act.PASS))
    assert paid == [7 + 4 + income, 7 + 4 + 1]


def test_w8_cards_cost_and_are_unique(start: Start) -> None:
    game = begin(start, gpu={0: 3})
    assert kinds(game, Act.CODE, 4) == [SUB, ADD, DIV]
    play(game, Act.CODE + ADD)
    assert gpu(game) == [0, 7] and kinds(game, Act.CODE, 4) == [SUB, DIV, MUL]
    play(game, Act.CODE + MUL)
    assert gpu(game) == [0, 3] and game.legal_actions() == [Act.PASS]
    play(game, Act.PASS)
    assert to_move(game) == 1 and kinds(game, Act.CODE, 4) == []


# *** load, hack ***


def test_w3_load_cells(start: Start) -> None:
    around_both = [11, 12, 13, 17, 20, 24, 25, 26]
    expected = {A: [], B: [11, 12, 17, 24, 25], C: [], D: [12, 13, 20, 25, 26], E: around_both}
    assert {t: load_cells(start, PAIR, t) for t in range(5)} == expected


def test_w4_top_row_bonus(start: Start) -> None:
    game = play(begin(start, storage={0: "BD"}), Act.LOAD + B, Act.CELL + 17)
    assert gpu(game) == [5, 7] and game.legal_actions() == [*acts(Act.TWEAK, *range(5)), Act.STOP]
    play(game, Act.TWEAK + C)
    assert levels(game) == [3, 3, 4, 3, 3] and to_move(game) == 1
    game = play(begin(start, storage={0: "BD"}), Act.LOAD + D, Act.CELL + 20)
    assert show(game, 0) == "18:A↑ 19:C↑ 20:D↑" and to_move(game) == 1


def test_w9_hack(start: Start) -> None:
    game = begin(start, 3, storage={0: "A"}, board={1: "18:A↑ 19:B↑"})
    assert kinds(game, Act.LOAD, 5) == [] and kinds(game, Act.HACK, 15) == [0]
    play(game, hack(1, A))
    assert cells(game) == [12, 13, 20, 25, 26]
    play(game, Act.CELL + 20)
    state = game.to_dict()
    assert gpu(game) == [6, 7, 7] and (state["phase"], state["actor"], state["turn"]) == (Phase.TWEAK, 1, 0)
    play(game, Act.TWEAK + E)
    assert levels(game, 1) == [3, 3, 3, 3, 4] and levels(game, 0) == [3] * 5
    assert to_move(game) == 1 and show(game, 1) == "18:A↑ 19:B↑ 20:A↑"


def hacked_after_passing(start: Start) -> Any:
    changes: dict[str, Any] = {"passed": [0, 1], "next_order": [1, -1], "n_passed": 1, "storage": {0: "B"}}
    return play(begin(start, level={1: [4] * 5}, **changes), hack(1, B), Act.CELL + 17)


def test_w28_hacked_after_passing(start: Start) -> None:
    game = hacked_after_passing(start)
    assert game.current_player == 1 and game.to_dict()["phase"] == Phase.TWEAK
    play(game, Act.TWEAK + D)
    assert levels(game, 1) == [4, 4, 4, 5, 4] and to_move(game) == 0


def test_w30_limits_follow_a_tweak_at_once(start: Start) -> None:
    game = hacked_after_passing(start)
    limits = [(seen["hand_limit"], seen["storage_limit"]) for seen in [numbers(game, 1)]]
    play(game, Act.TWEAK + D)
    limits += [(seen["hand_limit"], seen["storage_limit"]) for seen in [numbers(game, 1)]]
    assert limits == [(1, 3), (2, 4)]


def test_w32_no_tweak_with_all_tokens_at_the_top(start: Start) -> None:
    game = play(begin(start, storage={0: "B"}, level=FULL), Act.LOAD + B, Act.CELL + 17)
    assert to_move(game) == 1 and levels(game) == [10] * 5
    nine = begin(start, storage={0: "B"}, level={0: [10, 10, 10, 10, 9]})
    assert play(nine, Act.LOAD + B, Act.CELL + 17).legal_actions() == [Act.TWEAK + E, Act.STOP]


@pytest.mark.few("reference")
def test_w33_partners_that_lie_face_down(start: Start) -> None:
    board = "18:A↓ 19:C↑"
    assert load_cells(start, board, B) == [11, 12, 17, 24, 25]
    assert load_cells(start, board, B, **DEAR) == []
    assert load_cells(start, board, E, **DEAR) == [11, 12, 13, 17, 20, 24, 25, 26]


# *** operations ***


def test_w10_subtraction_and_two_tweaks(start: Start) -> None:
    game = begin(start, board={0: "18:A↑ 19:C↓"}, hand={0: [SUB]})
    supply = game.to_dict()["supply"]
    play(game, Act.RUN + SUB)
    assert gpu(game) == [6, 7] and game.to_dict()["ops"] == [1] * 4 and cells(game) == [18, 19]
    play(game, Act.CELL + 19)
    state = game.to_dict()
    assert state["supply"] == [n + (t == C) for t, n in enumerate(supply)] and state["tweaks_left"] == 2
    play(game, Act.TWEAK + A, Act.TWEAK + A)
    assert levels(game) == [5, 3, 3, 3, 3] and to_move(game) == 1 and show(game, 0) == "18:A↑"


def test_w11_one_tile(start: Start) -> None:
    game = begin(start, board={0: "18:A↑"}, hand={0: [SUB, ADD, DIV, MUL]}, level={0: [8] * 5})
    assert kinds(game, Act.RUN, 4) == [DIV]


def test_w12_addition(start: Start) -> None:
    game = play(begin(start, hand={0: [ADD]}), Act.RUN + ADD, Act.CELL + 19)
    assert game.legal_actions() == acts(Act.TYPE, A, B, D, E)
    play(game, Act.TYPE + D)
    assert cells(game) == [11, 12, 17, 19, 24, 25]
    play(game, Act.CELL + 19)
    assert show(game, 0) == "18:A↑ 19:D↑" and game.to_dict()["tweaks_left"] == 2
    play(game, Act.STOP)
    assert levels(game) == [3] * 5 and to_move(game) == 1


def test_w12_no_bonus_for_an_added_top_row_tile(start: Start) -> None:
    game = play(begin(start, hand={0: [ADD]}), Act.RUN + ADD, Act.CELL + 19, Act.TYPE + B, Act.CELL + 17)
    assert game.to_dict()["tweaks_left"] == 2


@pytest.mark.parametrize(("before", "after"), [("18:A↑", "18:A↓"), ("18:A↓", "18:A↑")])
def test_w13_division(start: Start, before: str, after: str) -> None:
    game = play(begin(start, board={0: before}, hand={0: [DIV]}), Act.RUN + DIV, Act.CELL + 18)
    assert show(game, 0) == after and game.to_dict()["tweaks_left"] == 2


def test_w14_multiplication_chooses_a_pair_and_a_place(start: Start) -> None:
    game = play(begin(start, board={0: "18:A↑ 19:C↓"}, hand={0: [MUL]}), Act.RUN + MUL)
    assert game.legal_actions() == [edge(0, 18)]
    assert cells(play(game, edge(0, 18))) == [10, 11, 12, 13, 16, 20, 23, 24, 25, 26]


def test_w15_copies_lie_face_up(start: Start) -> None:
    game = begin(start, board={0: "18:A↑ 19:C↓"}, hand={0: [MUL]})
    supply = game.to_dict()["supply"]
    play(game, Act.RUN + MUL, edge(0, 18), Act.CELL + 16)
    assert show(game, 0) == "16:A↑ 17:C↑ 18:A↑ 19:C↓"
    assert game.to_dict()["supply"] == [n - (t in (A, C)) for t, n in enumerate(supply)]
    assert game.to_dict()["tweaks_left"] == 2


@pytest.mark.parametrize(("board", "supply_of_a", "legal"), [("18:A↑ 19:A↑", 1, []), ("18:A↑ 19:A↑", 2, [MUL])])
def test_w16_supply_for_two_copies(start: Start, board: str, supply_of_a: int, legal: list[int]) -> None:
    many = " ".join(f"{h}:A↓" for h in range(12))
    boards, supply = {0: board, 1: many}, [supply_of_a, 15, 15, 15, 15]
    assert kinds(begin(start, board=boards, hand={0: [MUL]}, supply=supply), Act.RUN, 4) == legal


def test_w31_a_removal_may_split_the_network(start: Start) -> None:
    game = play(begin(start, board={0: "17:A↑ 18:B↑ 19:C↑"}, hand={0: [SUB]}), Act.RUN + SUB)
    assert cells(game) == [17, 18, 19]
    assert show(play(game, Act.CELL + 18), 0) == "17:A↑ 19:C↑"
