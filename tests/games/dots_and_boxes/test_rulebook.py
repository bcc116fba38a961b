"""Dots and boxes: the rules as worked cases, played on every engine of the game."""

from collections.abc import Callable
from typing import Any

import pytest

import tensor_envs as te
from tests.games.chance import policy_key, uniform_action

GAME = "dots_and_boxes"
Start = Callable[..., Any]
SMALL: dict[str, Any] = {"rows": 1, "columns": 2}
NAMES = ["a1b1", "b1c1", "a2b2", "b2c2", "a1a2", "b1b2", "c1c2"]  # of SMALL


def play(game: Any, lines: str) -> None:
    for name in lines.split():
        assert not game.terminated and game.rewards == [0, 0]
        game.apply(NAMES.index(name))


def test_b1_b2_the_start(start: Start) -> None:
    game = start(GAME)
    assert game.to_dict() == {"lines": [0] * 60, "boxes": [0] * 25, "current_player": 0}
    assert game.legal_actions() == list(range(60)) and not game.terminated and not game.truncated
    game.apply(37)
    assert 37 not in game.legal_actions() and game.to_dict()["lines"].index(1) == 37 and game.current_player == 1
    with pytest.raises(ValueError, match="action 37 is illegal"):
        game.apply(37)


def test_b3_b4_a_box_and_another_move(start: Start) -> None:
    game = start(GAME, **SMALL)
    play(game, "a1b1 a2b2 a1a2")
    assert game.current_player == 1
    play(game, "b1b2")
    assert game.current_player == 1 and game.to_dict()["boxes"] == [-1, 0]
    play(game, "c1c2")
    assert game.current_player == 0
    play(game, "b1c1 b2c2")
    assert game.to_dict() == {"lines": [1] * 7, "boxes": [-1, -1], "current_player": 1}
    assert game.terminated and game.rewards == [-1, 1] and game.legal_actions() == []


def test_b3_two_boxes_by_one_line(start: Start) -> None:
    game = start(GAME, **SMALL)
    play(game, "a1b1 a2b2 a1a2 c1c2 b1c1 b2c2")
    assert game.current_player == 0 and not game.terminated
    game.apply(NAMES.index("b1b2"))
    assert game.to_dict()["boxes"] == [1, 1] and game.terminated and game.rewards == [1, -1]


def test_b5_equally_many_boxes_are_a_draw(start: Start) -> None:
    boxes = {"lines": [1, 1, 1, 1, 1, 1, 0], "boxes": [-1, 0], "current_player": 0}
    game = start(GAME, boxes, **SMALL)
    game.apply(6)
    assert game.to_dict()["boxes"] == [-1, 1] and game.terminated and game.rewards == [0, 0] and not game.truncated


def test_b5_a_decided_game_goes_on(start: Start) -> None:
    lines = [1] * 10 + [0, 0]
    boxes = {"lines": lines, "boxes": [1, 1, 0, 0], "current_player": 1}
    position = start(GAME, boxes, rows=2, columns=2)
    assert not position.terminated and position.legal_actions() == [10, 11]


@pytest.mark.parametrize("name", ("rows", "columns"))
@pytest.mark.parametrize(("value", "error"), ((0, ValueError), (11, ValueError), (2.0, TypeError), (True, TypeError)))
def test_b6_wrong_fields(name: str, value: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match=name):
        te.make(GAME, **{name: value})


def test_b7_observation(start: Start) -> None:
    game = start(GAME, **SMALL)
    play(game, "a1b1 a2b2 a1a2 b1b2")
    for player in (0, 1):
        across, down, own, other = game.observation(player)
        assert across == [[1, 0, 0], [1, 0, 0]] and down == [[1, 1, 0], [0, 0, 0]]
        assert (other, own)[player] == [[1, 0, 0], [0, 0, 0]] and not any(map(any, (own, other)[player]))


@pytest.mark.parametrize(
    "wrong",
    ({"boxes": [0, 0]}, {"boxes": [1, 1]}, {"lines": [1] * 6}, {"boxes": [2, 0]}, {"current_player": 2}),
    ids=str,
)
def test_b8_impossible_positions(wrong: dict[str, Any]) -> None:
    right = {"lines": [1, 0, 1, 0, 1, 1, 0], "boxes": [1, 0], "current_player": 0}
    env = te.make(GAME, **SMALL)
    assert env.state_to_dict(env.state_from_dicts([right])).items() >= right.items()
    with pytest.raises(ValueError, match=r"is no state of 'dots_and_boxes': (boxes|lines|current_player)"):
        env.state_from_dicts([right | wrong])


def test_b9_names() -> None:
    assert list(te.make(GAME, **SMALL).action_names) == NAMES
    names = te.make(GAME).action_names
    assert (names[0], names[29], names[30], names[59]) == ("a1b1", "e6f6", "a1a2", "f5f6")


@pytest.mark.parametrize(("rows", "columns", "count"), ((2, 2, 8), (2, 3, 4), (5, 5, 8)))
def test_b10_symmetries(start: Start, rows: int, columns: int, count: int) -> None:
    """Check that a game by images of its actions has the images of its lists."""
    symmetries = list(te.make(GAME, rows=rows, columns=columns).symmetries())
    assert len({symmetry.actions for symmetry in symmetries}) == len(symmetries) == count
    game, ply = start(GAME, rows=rows, columns=columns), 0
    others = [start(GAME, rows=rows, columns=columns) for _ in symmetries]
    while not game.terminated:
        action = uniform_action(policy_key(3, 0), ply, game.legal_actions())
        game.apply(action)
        ply += 1
        for symmetry, other in zip(symmetries, others, strict=True):
            other.apply(symmetry.actions.index(action))
    for symmetry, other in zip(symmetries, others, strict=True):
        assert other.rewards == game.rewards
        for name in ("lines", "boxes"):
            assert other.to_dict()[name] == [game.to_dict()[name][k] for k in symmetry.state[name]]
