"""Kalah: the rules as worked cases, played on every engine of the game."""

from collections.abc import Callable
from typing import Any

import pytest

import tensor_envs as te

GAME = "kalah"
Start = Callable[..., Any]


def board(south: list[int], north: list[int], stores: tuple[int, int] = (0, 0), player: int = 0) -> dict[str, Any]:
    """Return a position; both rows are from their owner's left to right."""
    return {"houses": [*south, *north], "stores": list(stores), "current_player": player}


def test_k1_k2_the_start(start: Start) -> None:
    game = start(GAME)
    assert game.to_dict() == board([4] * 6, [4] * 6) and game.legal_actions() == list(range(6))


@pytest.mark.parametrize("player", (0, 1))
def test_k3_sowing_leaves_out_the_other_store(start: Start, player: int) -> None:
    rows = [[0, 3, 0, 0, 0, 9], [1, 2, 3, 4, 5, 6]]
    game = start(GAME, board(rows[player], rows[1 - player], player=player))
    game.apply(5)
    assert game.legal_actions() == list(range(6))
    after, stores = [[1, 4, 0, 0, 0, 0], [2, 3, 4, 5, 6, 7]], (1, 0)
    assert game.to_dict() == board(after[player], after[1 - player], (stores[player], stores[1 - player]), 1 - player)


def test_k3_k4_a_lap_ends_in_the_house_of_its_start(start: Start) -> None:
    """Check that thirteen seeds end in the house from which they came, now empty, and capture."""
    game = start(GAME, board([0, 0, 13, 0, 0, 0], [1, 1, 1, 1, 1, 1]))
    game.apply(2)
    assert game.to_dict() == board([1, 1, 0, 1, 1, 1], [2, 2, 2, 0, 2, 2], (1 + 1 + 2, 0), 1)


def test_k4_captures(start: Start) -> None:
    rows = [1, 0, 0, 0, 0, 1], [0, 0, 0, 0, 7, 0]
    game = start(GAME, board(*rows))
    game.apply(0)  # to the second house, opposite which are seven
    assert game.terminated and game.to_dict() == board([0] * 6, [0] * 6, (9, 0), 1)
    game = start(GAME, board([1, 0, 0, 0, 0, 1], [0, 0, 0, 7, 0, 0]))
    game.apply(0)  # nothing lies opposite
    assert game.to_dict() == board([0, 1, 0, 0, 0, 1], [0, 0, 0, 7, 0, 0], (0, 0), 1)
    game = start(GAME, board([1, 1, 0, 0, 0, 1], [0, 0, 0, 0, 7, 0]))
    game.apply(0)  # the house was not empty
    assert game.to_dict() == board([0, 2, 0, 0, 0, 1], [0, 0, 0, 0, 7, 0], (0, 0), 1)


def test_k5_a_seed_in_the_store_is_another_turn(start: Start) -> None:
    game = start(GAME)
    game.apply(2)
    assert game.current_player == 0 and game.to_dict() == board([4, 4, 0, 5, 5, 5], [4] * 6, (1, 0))
    game.apply(0)
    assert game.current_player == 1


@pytest.mark.parametrize(
    ("stores", "north", "rewards"), (((20, 10), 5, [1, -1]), ((14, 10), 5, [0, 0]), ((5, 15), 10, [-1, 1]))
)
def test_k6_the_end(start: Start, stores: tuple[int, int], north: int, rewards: list[int]) -> None:
    """Check that the last seed, which earns another turn, ends the game, and that the rest goes to its owner."""
    game = start(GAME, board([0, 0, 0, 0, 0, 1], [0, north, 0, 0, 0, 0], stores))
    game.apply(5)
    assert game.terminated and not game.truncated and game.rewards == rewards and game.legal_actions() == []
    assert game.to_dict() == board([0] * 6, [0] * 6, (stores[0] + 1, stores[1] + north))


@pytest.mark.parametrize(("name", "most"), (("houses", 16), ("seeds", 64)))
def test_k7_illegal_fields(name: str, most: int) -> None:
    wrong: Any
    for wrong, error in ((0, ValueError), (most + 1, ValueError), (2.0, TypeError)):
        with pytest.raises(error, match=f"{name} must be"):
            te.make(GAME, **{name: wrong})


def test_k8_observation(start: Start) -> None:
    game = start(GAME, board([1, 2, 3], [4, 5, 6], (7, 8), 1), houses=3, seeds=6)
    assert game.observation(0) == [1, 2, 3, 7, 4, 5, 6, 8, 0]
    assert game.observation(1) == [4, 5, 6, 8, 1, 2, 3, 7, 1]


def test_k9_a_side_without_seeds_ends_the_game(start: Start) -> None:
    game = start(GAME, board([0] * 6, [1, 2, 3, 0, 0, 0], (3, 4), 1))
    assert game.terminated and game.to_dict() == board([0] * 6, [0] * 6, (3, 10), 1)


@pytest.mark.parametrize(
    ("wrong", "message"),
    (
        ({"houses": [4] * 11}, "12 entries"),
        ({"houses": [-1] + [4] * 11}, r"houses\[0\]"),
        ({"stores": [1, 0]}, "at most 48 seeds"),
        ({"current_player": 2}, "current_player"),
    ),
)
def test_k9_impossible_positions(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        te.make(GAME).state_from_dicts([board([4] * 6, [4] * 6) | wrong])


def test_k10_names() -> None:
    assert [*te.make(GAME).action_names] == [*"123456"]
