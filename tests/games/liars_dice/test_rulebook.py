"""Liar's dice: the rules as worked cases, played on every engine of the game."""

from collections.abc import Callable
from typing import Any

import pytest

import tensor_envs as te

GAME = "liars_dice"
CALL = 12  # of two players with a die of 6 sides
Start = Callable[..., Any]


def thrown(*dice: list[int], history: tuple[int, ...] = ()) -> dict[str, Any]:
    return {"dice": list(dice), "history": list(history)}


def test_l1_l2_the_start(start: Start) -> None:
    faces = set()
    for seed in range(30):
        game = start(GAME, seed=seed)
        assert game.current_player == 0 and game.legal_actions() == [*range(12)] and not game.terminated
        assert game.to_dict()["history"] == []
        faces |= {die for own in game.to_dict()["dice"] for die in own}
    assert faces == {1, 2, 3, 4, 5, 6}


def test_l3_bids_rise(start: Start) -> None:
    game = start(GAME, thrown([1], [2]))
    for action, legal in ((3, range(4, 13)), (6, range(7, 13)), (11, [CALL])):
        with pytest.raises(ValueError, match=r"action \d+ is illegal"):
            game.apply(CALL if not game.to_dict()["history"] else game.to_dict()["history"][-1])
        game.apply(action)
        assert game.legal_actions() == [*legal] and game.rewards == [0, 0]
    game.apply(CALL)
    assert game.terminated and not game.truncated and game.legal_actions() == []


# both dice, the bids, and what player 0 gets; a 6 is wild
ENDS = [
    ([2], [3], (1,), 1), ([2], [3], (2,), 1), ([2], [3], (3,), -1), ([2], [6], (3,), 1), ([2], [6], (7,), 1),
    ([2], [3], (7,), -1), ([2], [2], (7,), 1), ([6], [6], (6,), 1), ([2], [6], (11,), -1), ([6], [6], (11,), 1),
    ([2], [3], (0, 2), -1), ([2], [3], (0, 3), 1), ([5], [6], (0, 10), -1), ([1], [1], (0, 1, 6), 1),
]  # fmt: skip


@pytest.mark.parametrize(("first", "second", "bids", "worth"), ENDS)
def test_l4_ends(start: Start, first: list[int], second: list[int], bids: tuple[int, ...], worth: int) -> None:
    game = start(GAME, thrown(first, second, history=bids))
    assert game.current_player == len(bids) % 2 and not game.terminated
    game.apply(CALL)
    assert game.terminated and game.rewards == [worth, -worth]
    assert game.to_dict() == thrown(first, second, history=(*bids, CALL))


@pytest.mark.parametrize(
    ("bids", "loser"), [((0,), 1), ((10,), 1), ((11,), 0), ((0, 1), 2), ((0, 3), 1), ((0, 1, 3), 2), ((0, 1, 2, 10), 1)]
)
def test_l4_the_loser_among_three(start: Start, bids: tuple[int, ...], loser: int) -> None:
    """Of six dice of two sides, all show 1 but one of player 2: six fit a bid of 1, and one fits a bid of 2."""
    game = start(GAME, thrown([1, 1], [1, 1], [1, 2], history=bids), players=3, dice=2, sides=2)
    game.apply(12)
    assert game.rewards == [-1 if player == loser else 0.5 for player in range(3)]


def test_l5_observation(start: Start) -> None:
    game = start(GAME, thrown([1, 3], [2, 2], history=(0, 4)), dice=2, sides=3)
    bids = [1, 0, 0, 0, 1] + [0] * 8
    assert game.observation(0) == [1, 0, *[1, 0, 0], *[0, 0, 1], *bids]
    assert game.observation(1) == [0, 1, *[0, 1, 0], *[0, 1, 0], *bids]
    game.apply(12)
    assert game.observation(1)[-13:] == [1, 0, 0, 0, 1, *[0] * 7, 1]


def test_l5_dice_are_shown_in_pictures_of_the_end() -> None:
    env = te.make(GAME, dice=2)
    state = env.state_from_dicts([thrown([1, 3], [2, 6], history=(0, 4))])
    assert env.to_string(state, 0, 1).splitlines() == ["Player 1: ? ?; Player 2: 2 6", "1-1, 1-5", "Player 1 to move"]
    assert env.render(state, 0, 1) != env.render(state, 0, 0)
    over = env.step(state, [24])
    assert env.to_string(over, 0, 1) == env.to_string(over)
    assert env.to_string(over).splitlines()[-1] == "Player 1 loses: 1 of 1 dice"


@pytest.mark.parametrize("history", [(1, 1), (3, 2), (CALL,), (13,), (0, CALL, 3)], ids=str)
def test_l6_impossible_histories(start: Start, history: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"action \d+ is illegal|is no state of 'liars_dice': history"):
        start(GAME, thrown([1], [2], history=history))


@pytest.mark.parametrize("wrong", [thrown([0], [1]), thrown([1], [7]), thrown([1]), thrown([1, 2], [3, 4])], ids=str)
def test_l6_impossible_dice(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="is no state of 'liars_dice': dice"):
        te.make(GAME).state_from_dicts([wrong])


@pytest.mark.parametrize(
    ("field", "wrong"), [("players", 1), ("players", 7), ("dice", 0), ("dice", 7), ("sides", 1), ("sides", 9)]
)
def test_l7_wrong_fields(field: str, wrong: int) -> None:
    fields: dict[str, Any] = {field: wrong}
    with pytest.raises(ValueError, match=rf"{field} must be in \d\.\.\d, got {wrong}"):
        te.make(GAME, **fields)
    fields[field] = 2.5
    with pytest.raises(TypeError, match=f"{field} must be"):
        te.make(GAME, **fields)


def test_l8_names() -> None:
    env = te.make(GAME)
    assert [env.action_to_string(action) for action in (0, 5, 6, 11, 12)] == ["1-1", "1-6", "2-1", "2-6", "liar"]
