"""Observations: the content of each part, and the seat that it is counted from."""

from typing import Any

import pytest

from tensor_envs.games.tensor_equilibrium.rules import TensorEquilibrium
from tests.games.tensor_equilibrium.cases import (
    CELLS,
    GAME,
    A,
    B,
    C,
    D,
    E,
    Start,
    begin,
    edge,
    hack,
    numbers,
    parts,
    play,
)
from tests.games.tensor_equilibrium.rules import ADD, MUL, SUB, Act, Phase


def ones(values: list[int]) -> list[int]:
    assert set(values) <= {0, 1}
    return [i for i, value in enumerate(values) if value]


@pytest.mark.few(1)
@pytest.mark.parametrize("players", [2, 3, 4])
def test_size(start: Start, players: int) -> None:
    size = players * (10 * CELLS + 37) + 26 + (16 + players + 5 + CELLS + 3) + (46 + 4 * CELLS)
    game = start(GAME, players=players)
    assert [len(game.observation(p)) for p in range(players)] == [size] * players


@pytest.mark.parametrize(
    ("rules", "dtype"),
    [
        ({}, "int8"),
        ({"max_rounds": 127}, "int8"),
        ({"max_rounds": 128}, "int16"),
        ({"tiles_per_type": 26, "tiles_per_type_per_player": 13}, "int16"),  # 130 tiles to choose from
    ],
)
def test_all_numbers_fit(rules: dict[str, Any], dtype: str) -> None:
    assert TensorEquilibrium(**rules).spec.observation_dtype == dtype


@pytest.mark.few("reference")
def test_cells_are_planes_by_seat_face_and_type(start: Start) -> None:
    game = begin(start, 3, board={0: "18:A↑ 19:C↓", 1: "0:E↑", 2: "36:E↓"})
    plane = {(0, 18): 0, (0, 19): 5 + C, (1, 0): E, (2, 36): 5 + E}
    for observer in range(3):
        expected = [((p - observer) % 3 * 10 + n) * CELLS + h for (p, h), n in plane.items()]
        assert ones(parts(game, observer, 3)["cells"]) == sorted(expected)


@pytest.mark.few("reference")
def test_players(start: Start) -> None:
    changes: dict[str, Any] = {"order": [2, 0, 1], "pos": 1, "passed": [0, 0, 1], "next_order": [2, -1, -1]}
    changes |= {"n_passed": 1, "storage": {1: "ABB"}, "hand": {1: [MUL]}, "level": {1: [5, 4, 3, 2, 1]}}
    game = begin(start, 3, gpu={1: 9}, card=[0, 29, 7], **changes)
    row = numbers(game, 1, 3)
    assert [numbers(game, 1, 3, observer) for observer in (0, 2)] == [row, row]
    held = {"level": [5, 4, 3, 2, 1], "storage": [1, 2, 0, 0, 0], "hand": [0, 0, 0, 1], "gpu": 9}
    card = {"top": [0, 0, 0, 1, 1], "bottom": [0, 1, 1, 0, 0], "pend_flip": [0] * 5}  # 29: DE|BC
    turn = {"passed": 0, "place": 2, "next_place": -1, "is_turn": 0}
    assert row == held | card | turn | {"hand_limit": 2, "storage_limit": 4, "income": 2}
    assert [numbers(game, p, 3)["is_turn"] for p in range(3)] == [1, 0, 0]
    assert [numbers(game, 2, 3)[name] for name in ("passed", "place", "next_place")] == [1, 0, 0]


@pytest.mark.slow
def test_players_pending_flips(start: Start) -> None:
    game = begin(start, board={0: "18:A↑ 19:A↑ 20:B↑ 21:B↑", 1: "18:A↓"})
    play(game, Act.PASS, Act.PASS)
    assert numbers(game, 0)["pend_flip"] == [1, 1, 0, 0, 0] and numbers(game, 1)["pend_flip"] == [0] * 5


@pytest.mark.few("reference", "env-True")
@pytest.mark.parametrize("observe_pile_counts", [False, True])
def test_table(start: Start, observe_pile_counts: bool) -> None:
    rules = {"observe_pile_counts": observe_pile_counts}
    game = begin(start, hand={0: [SUB]}, pile=[3, 0, 1, 2, 0], market="AABBC", round=4, rules=rules)
    play(game, Act.DOWNLOAD)
    state = game.to_dict()
    pile = [3, 0, 1, 2, 0] if observe_pile_counts else [0] * 5
    expected = [2, 2, 1, 0, 0, 0, 1, 1, 1, *state["supply"], 6, *pile, 3, 0, 0, 0, 4, 2]
    assert [parts(game, p, 2)["table"] for p in (0, 1)] == [expected, expected]


@pytest.mark.few("reference")
def test_table_in_the_final_phase_and_while_tweaking(start: Start) -> None:
    game = play(begin(start, storage={0: "B"}, pile=[0] * 5, final=1, final_left=1), Act.LOAD + B, Act.CELL + 17)
    assert parts(game, 0, 2)["table"][-6:] == [0, 1, 1, 1, 0, 2]


@pytest.mark.few("reference", "env-actions0-expected0")
@pytest.mark.parametrize(
    ("actions", "expected"),
    [
        ([], {"phase": Phase.MAIN}),
        ([Act.DOWNLOAD], {"phase": Phase.PICK}),
        ([Act.LOAD + B], {"phase": Phase.PLACE, "target": 0, "type": B}),
        ([hack(2, B)], {"phase": Phase.PLACE, "target": 2, "type": B}),
        ([hack(2, B), Act.CELL + 17], {"phase": Phase.TWEAK}),
        ([Act.RUN + ADD], {"phase": Phase.ADD_REMOVE}),
        ([Act.RUN + ADD, Act.CELL + 19], {"phase": Phase.ADD_TYPE, "type": C, "slot": 19}),
        ([Act.RUN + ADD, Act.CELL + 19, Act.TYPE + D], {"phase": Phase.ADD_CELL, "type": D, "slot": 19}),
        ([Act.RUN + ADD, Act.CELL + 19, Act.TYPE + D, Act.CELL + 12], {"phase": Phase.TWEAK}),
        ([Act.RUN + MUL], {"phase": Phase.MUL_EDGE}),
        ([Act.RUN + MUL, edge(2, 18)], {"phase": Phase.MUL_CELL, "slot": 18, "direction": 2}),
        ([Act.RUN + MUL, edge(2, 18), Act.CELL + 20], {"phase": Phase.TWEAK}),
    ],
)
def test_pending(start: Start, actions: list[int], expected: dict[str, int]) -> None:
    board = {0: "18:A↑ 19:C↑ 24:D↑"}
    game = begin(start, 3, board=board, storage={0: "B"}, hand={0: [ADD, MUL]}, level={0: [5] * 5})
    play(game, *actions)
    for observer in range(3):
        seen = {name: ones(parts(game, observer, 3)[name]) for name in ("phase", "target", "type", "slot", "direction")}
        shifted = {name: [value] for name, value in expected.items()}
        if "target" in expected:
            shifted["target"] = [(expected["target"] - observer) % 3]
        assert seen == {"phase": [], "target": [], "type": [], "slot": [], "direction": []} | shifted


def test_pending_in_the_setup(start: Start) -> None:
    game = start(GAME, start(GAME, players=2).to_dict() | {"card": [0, 0]}, players=2)
    seen = parts(play(game, Act.TYPE + A, Act.TYPE + D), game.current_player, 2)
    assert (ones(seen["phase"]), ones(seen["type"]), ones(seen["slot"])) == ([Phase.SETUP_CELL], [D], [])


def test_mask_is_empty_unless_the_observer_decides(start: Start) -> None:
    game = begin(start, 3, storage={0: "B"})
    for actor, action in ((0, hack(1, B)), (0, Act.CELL + 17), (1, Act.STOP), (1, Act.PASS)):
        masks = [ones(parts(game, p, 3)["mask"]) for p in range(3)]
        assert game.current_player == actor
        assert masks == [game.legal_actions() if p == actor else [] for p in range(3)]
        play(game, action)


def test_over(start: Start) -> None:
    game = play(begin(start, final=1, pile=[0] * 5), Act.PASS)
    seen = parts(game, 0, 2)
    assert ones(seen["phase"]) == [Phase.OVER] and not any(seen["mask"])
    assert [numbers(game, p)["is_turn"] for p in (0, 1)] == [0, 0]
