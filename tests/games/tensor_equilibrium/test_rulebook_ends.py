"""Worked cases W17 to W29 of the rules file that end a round or the game, played on every engine."""

from typing import Any

import pytest

from tests.games.tensor_equilibrium.cases import (
    ALL_DOWN,
    A,
    E,
    Start,
    begin,
    cells,
    gpu,
    last_pass,
    levels,
    phase,
    play,
    show,
    to_move,
)
from tests.games.tensor_equilibrium.rules import ADD, DIV, SUB, Act, Phase

ONE_OF_EACH = "18:A↑ 11:B↑ 12:C↑ 17:D↑ 19:E↑"


@pytest.mark.slow
def test_w17_passing(start: Start) -> None:
    rewards = {"pass_reward": (3, 4, 5, 6)}
    game = play(begin(start, 4, gpu={0: 1, 1: 1, 2: 5, 3: 5}, rules=rewards), Act.PASS)
    assert gpu(game) == [4, 1, 5, 5]
    play(game, Act.PASS)
    assert gpu(game) == [4, 5, 5, 5]
    movers = []
    for action in (Act.CODE + SUB, Act.CODE + SUB, Act.PASS, Act.PASS):
        movers.append(to_move(game))
        play(game, action)
    assert movers == [2, 3, 2, 3]
    state = game.to_dict()
    assert (state["round"], state["order"], state["next_order"]) == (1, [0, 1, 2, 3], [-1] * 4)
    assert (state["ops"], state["gpu"], state["hand"]) == ([2] * 4, [5, 6, 9, 10], [[0] * 4] * 4)


def test_f11_the_order_of_passing_is_the_next_turn_order(start: Start) -> None:
    game = begin(start, 3, level={0: [5] * 5})
    play(game, Act.CODE + SUB, Act.CODE + SUB, Act.PASS, Act.CODE + ADD, Act.PASS, Act.PASS)
    assert game.to_dict()["order"] == [2, 1, 0]
    movers = [to_move(play(game, *action)) for action in ([], [Act.CODE + SUB], [Act.CODE + SUB])]
    assert movers == [2, 1, 0]


def test_w18_first_example_of_backpropagation(start: Start) -> None:
    game = begin(start, board={0: "18:A↑ 19:B↑ 11:B↑ 12:C↑ 17:D↑", 1: ALL_DOWN})
    play(game, Act.PASS, Act.PASS)
    assert levels(game) == [4, 4, 4, 2, 2] and show(game, 0) == "11:B↑ 12:C↓ 17:D↑ 18:A↓ 19:B↑"
    assert game.current_player == 0 and cells(game) == [11, 19]
    play(game, Act.CELL + 19)
    assert show(game, 0) == "11:B↑ 12:C↓ 17:D↑ 18:A↓ 19:B↓" and to_move(game) == 0


def test_w19_second_example_of_backpropagation(start: Start) -> None:
    game = play(begin(start), Act.PASS, Act.PASS)
    assert levels(game) == [4, 2, 4, 2, 2] and show(game, 0) == "18:A↓ 19:C↓" and to_move(game) == 0


@pytest.mark.parametrize("board", [ONE_OF_EACH, ALL_DOWN], ids=["one of each", "all face-down"])
def test_w20_five_way_tie(start: Start, board: str) -> None:
    game = begin(start, board={0: board})
    shown = show(game, 0)
    play(game, Act.PASS, Act.PASS)
    assert levels(game) == [2] * 5 and show(game, 0) == shown and to_move(game) == 0


def test_w21_tokens_at_the_ends(start: Start) -> None:
    game = begin(start, board={0: "18:A↑"}, level={0: [10, 0, 3, 3, 3]})
    play(game, Act.PASS, Act.PASS)
    assert levels(game) == [10, 0, 2, 2, 2] and show(game, 0) == "18:A↓"


def test_w22_income_comes_before_the_tokens_move(start: Start) -> None:
    game = play(begin(start, board={0: ALL_DOWN}, level={0: [5, 3, 3, 3, 3]}), Act.PASS, Act.PASS)
    assert gpu(game) == [7 + 4 + 2, 7 + 4 + 1] and levels(game) == [4, 2, 2, 2, 2]


def test_w27_tiles_above_a_fallen_limit_stay(start: Start) -> None:
    game = begin(start, board={0: ALL_DOWN}, level={0: [5, 3, 3, 3, 3]}, storage={0: "EEEE"})
    play(game, Act.PASS, Act.PASS)
    assert to_move(game) == 0 and game.to_dict()["storage"][0] == [0, 0, 0, 0, 4]
    assert Act.DOWNLOAD not in game.legal_actions()
    play(game, Act.LOAD + E, Act.CELL + 17, Act.PASS)
    assert to_move(game) == 0 and Act.DOWNLOAD not in game.legal_actions()
    play(game, Act.LOAD + E, Act.CELL + 11)
    assert Act.DOWNLOAD in game.legal_actions()


# *** the end of the game ***


@pytest.mark.parametrize(("pile", "market"), [([1, 1, 0, 0, 0], 4), ([1, 1, 1, 0, 0], 5)])
def test_w23_last_tile_of_the_pile(start: Start, pile: list[int], market: int) -> None:
    passed: dict[str, Any] = {"passed": [1, 0, 0], "next_order": [0, -1, -1], "n_passed": 1}
    game = begin(start, 3, pile=pile, pos=1, turn=1, actor=1, board={p: ALL_DOWN for p in range(3)}, **passed)
    for _ in range(4):
        play(game, Act.DOWNLOAD if phase(game) == Phase.MAIN else game.legal_actions()[0])
    state = game.to_dict()
    assert (sum(state["market"]), sum(state["pile"]), state["final"]) == (market, 0, 1)
    assert to_move(game) == 2
    for _ in range(4):
        play(game, Act.DOWNLOAD if phase(game) == Phase.MAIN else game.legal_actions()[0])
    assert sum(game.to_dict()["market"]) == market - 3
    movers = []
    while not game.terminated:
        movers.append(to_move(game))
        play(game, Act.PASS)
    assert movers == [0, 1] and gpu(game) == [7, 5, 5] and levels(game) == [2] * 5
    assert not game.truncated and game.legal_actions() == [] and show(game, 0) == ALL_DOWN


@pytest.mark.parametrize(
    ("levels_then_gpu", "rewards"),
    [
        pytest.param([([6, 7, 7, 9, 10], 7), ([6, 7, 8, 8, 8], 7)], [-1, 1], id="W24"),
        pytest.param([([10, 8, 8, 7, 6], 7), ([9, 10, 6, 7, 7], 7)], [1, -1], id="W24 in any order of types"),
        pytest.param([([5] * 5, 3), ([5] * 5, 2)], [1, -1], id="W25 GPU"),
        pytest.param([([5] * 5, 3), ([5] * 5, 3)], [0, 0], id="W25 all equal"),
        pytest.param([([5] * 5, 3), ([5] * 5, 3), ([5] * 5, 2)], [0.25, 0.25, -0.5], id="W25 shared"),
        pytest.param([([5] * 5, 3), ([4] * 5, 9), ([5, 5, 5, 5, 6], 0)], [-0.5, -0.5, 1], id="F42"),
    ],
)
def test_w24_w25_winner(start: Start, levels_then_gpu: list[Any], rewards: list[float]) -> None:
    level = {p: values for p, (values, _) in enumerate(levels_then_gpu)}
    game = last_pass(start, level=level, gpu={p: left for p, (_, left) in enumerate(levels_then_gpu)})
    assert game.terminated and game.rewards == pytest.approx(rewards)


def test_w26_passing_for_ever(start: Start) -> None:
    game = begin(start)
    for _ in range(2 * 40 - 1):
        play(game, Act.PASS)
        assert not (game.terminated or game.truncated)
    play(game, Act.PASS)
    state = game.to_dict()
    assert game.truncated and not game.terminated and state["round"] == 40
    assert state["level"] == [[0] * 5] * 2 and state["gpu"] == [20, 20]
    assert game.rewards == pytest.approx([0, 0]) and game.legal_actions() == []


def test_blocked_position(start: Start) -> None:
    """Check full storages that fit on no board, with one tile on each, so that only DIV could ever be run."""
    changes: dict[str, Any] = {"board": {0: "18:E↓", 1: "18:E↓"}, "storage": {0: "CCC", 1: "DDD"}}
    assert begin(start, gpu={0: 1}, **changes).legal_actions() == [Act.PASS]
    for card in range(4):
        game = begin(start, hand={0: [card]}, gpu={0: 2}, **changes)
        assert game.legal_actions() == [Act.PASS] + [Act.RUN + DIV] * (card == DIV)


def test_w29_final_pass_pays_nothing(start: Start) -> None:
    game = last_pass(start, level={0: [3] * 5, 1: [3] * 5}, gpu={0: 7, 1: 7})
    assert gpu(game) == [7, 7] and game.to_dict()["next_order"] == [-1, -1]


def test_a_finished_game_takes_no_action(start: Start) -> None:
    game = last_pass(start, level={0: [3] * 5, 1: [4] * 5})
    state = game.to_dict()
    with pytest.raises(ValueError, match="action"):
        game.apply(int(Act.PASS))
    assert game.to_dict() == state


def test_an_illegal_action_is_refused(start: Start) -> None:
    game = begin(start)
    state = game.to_dict()
    for action in (Act.STOP, Act.LOAD + A, -1, 194):
        with pytest.raises(ValueError, match="action"):
            game.apply(int(action))
    assert game.to_dict() == state
