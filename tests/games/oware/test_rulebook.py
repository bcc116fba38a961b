"""Oware: the rules as worked cases, played on every engine of the game."""

from collections.abc import Callable
from typing import Any

import pytest

import tensor_envs as te

GAME = "oware"
Start = Callable[..., Any]


def board(
    south: list[int], north: list[int], stores: tuple[int, int] = (0, 0), player: int = 0, *past: list[int]
) -> dict[str, Any]:
    """Return a position; both rows are from their owner's left to right."""
    history = [seeds for houses in past for seeds in houses]
    return {"houses": [*south, *north], "stores": list(stores), "current_player": player, "history": history}


def test_w1_w2_the_start(start: Start) -> None:
    game = start(GAME)
    assert game.to_dict() == board([4] * 6, [4] * 6) and game.legal_actions() == list(range(6))


def test_w2_the_opponent_must_be_fed(start: Start) -> None:
    game = start(GAME, board([5, 6, 0, 1, 2, 1], [0] * 6, (10, 10)))
    assert game.legal_actions() == [1, 4, 5]


def test_w3_a_lap_leaves_out_the_house_of_its_start(start: Start) -> None:
    game = start(GAME, board([0, 0, 13, 0, 0, 1], [1, 1, 4, 4, 4, 4]))
    game.apply(2)
    assert game.to_dict()["houses"] == [1, 1, 0, 2, 2, 2, 2, 2, 5, 5, 5, 5]


@pytest.mark.parametrize("player", (0, 1))
def test_w4_captures(start: Start, player: int) -> None:
    """Check that two houses are captured, that one of four ends it, and that one of two before that stays."""
    rows = [[1, 0, 0, 0, 0, 5], [1, 3, 1, 2, 1, 7]]
    game = start(GAME, board(rows[player], rows[1 - player], player=player))
    game.apply(5)
    after, stores = [[1, 0, 0, 0, 0, 0], [2, 4, 0, 0, 0, 7]], (7, 0)
    assert game.to_dict() == board(after[player], after[1 - player], (stores[player], stores[1 - player]), 1 - player)


def test_w4_own_houses_are_not_captured(start: Start) -> None:
    game = start(GAME, board([2, 1, 1, 0, 0, 0], [1, 3, 1, 2, 1, 7]))
    game.apply(0)
    assert game.to_dict()["houses"][:3] == [0, 2, 2] and game.to_dict()["stores"] == [0, 0]


def test_w5_a_grand_slam_captures_nothing(start: Start) -> None:
    game = start(GAME, board([1, 0, 0, 0, 0, 2], [1, 1, 0, 0, 0, 0], (20, 20)))
    game.apply(5)
    assert game.to_dict()["houses"] == [1, 0, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0] and game.to_dict()["stores"] == [20, 20]


@pytest.mark.parametrize(("stores", "north", "rewards"), (((23, 10), 4, [1, -1]), ((18, 24), 3, [0, 0])))
def test_w6_half_of_the_seeds(start: Start, stores: tuple[int, int], north: int, rewards: list[int]) -> None:
    """Check captures of two seeds, one beyond half of all; seeds that remain then go to their owner."""
    game = start(GAME, board([1, 0, 0, 0, 0, 1], [1, 0, north, 0, 0, 0], stores))
    game.apply(5)
    over = stores[0] == 23
    assert game.terminated == over and not game.truncated and game.rewards == rewards
    rest = ([0] * 6, [0] * 6) if over else ([1, 0, 0, 0, 0, 0], [0, 0, north, 0, 0, 0])
    assert game.to_dict() == board(*rest, (stores[0] + 2 + over, stores[1] + north * over), 1)


def test_w7_no_legal_action_ends_the_game(start: Start) -> None:
    """Check that south, who cannot be fed and has sown its last seed, has no action."""
    game = start(GAME, board([0, 0, 0, 0, 0, 1], [3, 0, 0, 0, 0, 0], (20, 19)))
    game.apply(5)
    assert game.terminated and game.rewards == [-1, 1] and game.to_dict() == board([0] * 6, [0] * 6, (20, 23), 1)


def test_w7_a_position_that_recurs_ends_the_game(start: Start) -> None:
    """Check two seeds that go around the board: the position of the first ply recurs, the one before it does not."""
    game = start(GAME, board([1, 0, 0], [1, 0, 0], (2, 2)), houses=3, seeds=1)
    for ply in range(6):
        assert not game.terminated
        game.apply(ply // 2)
    assert game.terminated and game.rewards == [0, 0] and game.to_dict() == board([0] * 3, [0] * 3, (3, 3))


def test_w7_quiet_plies(start: Start) -> None:
    game = start(GAME, board([1, 0, 0], [1, 0, 0], (2, 1)), houses=3, seeds=1, quiet_plies=2)
    game.apply(0)
    assert not game.terminated and len(game.to_dict()["history"]) == 6
    game.apply(0)
    assert game.terminated and game.rewards == [1, -1] and game.to_dict() == board([0] * 3, [0] * 3, (3, 2))


@pytest.mark.parametrize(("name", "most"), (("houses", 16), ("seeds", 4), ("quiet_plies", 400)))
def test_w9_illegal_fields(name: str, most: int) -> None:
    wrong: Any
    for wrong, error in ((0, ValueError), (most + 1, ValueError), (2.0, TypeError)):
        with pytest.raises(error, match=f"{name} must be"):
            te.make(GAME, **{name: wrong})


def test_w10_observation(start: Start) -> None:
    game = start(GAME, board([0, 3, 3], [4, 5, 0], (0, 3), 1, [1, 2, 3, 4, 5, 0]), houses=3, seeds=3)
    assert game.observation(0) == [0, 3, 3, 0, 4, 5, 0, 3, 0, 1]
    assert game.observation(1) == [4, 5, 0, 3, 0, 3, 3, 0, 1, 1]


@pytest.mark.parametrize(
    ("wrong", "message"),
    (
        ({"houses": [4] * 11}, "12 entries"),
        ({"houses": [-1] + [4] * 11}, r"houses\[0\]"),
        ({"stores": [1, 0]}, "at most 48 seeds"),
        ({"current_player": 2}, "current_player"),
        ({"history": [4] * 11}, "positions of 12 houses"),
        ({"history": [4] * 11 + [3]}, "without a capture leads to the next"),
        ({"history": [4] * 12}, "to the present one at last"),
        ({"history": [4] * 1200}, "fewer than 100"),
    ),
)
def test_w11_impossible_positions(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        te.make(GAME).state_from_dicts([board([4] * 6, [4] * 6) | wrong])


def test_w11_a_position_of_the_history_is_over(start: Start) -> None:
    seeds = [(0, 3), (1, 3), (1, 4), (2, 4), (2, 5), (3, 5)]  # two single seeds go around the board
    past = [[int(house in houses) for house in range(6)] for houses in seeds]
    for first, terminated in ((0, True), (1, False)):
        game = start(GAME, board([1, 0, 0], [1, 0, 0], (2, 2), 0, *past[first:]), houses=3, seeds=1)
        assert game.terminated == terminated


def test_w12_names() -> None:
    assert [*te.make(GAME).action_names] == [*"ABCDEF"]
