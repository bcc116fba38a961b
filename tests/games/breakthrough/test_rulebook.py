"""Breakthrough: the rules as worked cases, played on every engine of the game."""

from collections.abc import Callable
from typing import Any

import pytest

import tensor_envs as te

GAME = "breakthrough"
SMALL: dict[str, Any] = {"rows": 4, "columns": 3}
Start = Callable[..., Any]


def drawn(picture: str, player: int = 0) -> dict[str, Any]:
    """Return a position drawn as text, the last row first; w is white, b black."""
    rows = picture.split()[::-1]
    return {"board": [{"w": 1, "b": -1, ".": 0}[piece] for piece in "".join(rows)], "current_player": player}


def action(name: str) -> int:
    return [*te.make(GAME, **SMALL).action_names].index(name)


def names(game: Any) -> set[str]:
    return {te.make(GAME, **SMALL).action_names[a] for a in game.legal_actions()}


def test_b1_b2_the_start(start: Start) -> None:
    game = start(GAME, **SMALL)
    assert game.to_dict() == drawn("bbb bbb www www")
    assert names(game) == {"a2b3", "b2a3", "b2c3", "c2b3"}  # captures; there is no way ahead


@pytest.mark.parametrize("player", (0, 1))
def test_b2_moves(start: Start, player: int) -> None:
    game = start(GAME, drawn("... .b. bw. ..w" if player == 0 else "..b bw. .w. ...", player), **SMALL)
    assert names(game) == [{"b2a3", "b2c3", "c1c2"}, {"a3a2", "a3b2", "c4c3", "c4b3"}][player]


def test_b2_a_capture(start: Start) -> None:
    game = start(GAME, drawn("b.. .b. w.. ..w"), **SMALL)
    game.apply(action("a2b3"))
    assert game.to_dict() == drawn("b.. .w. ... ..w", 1) and not game.terminated and game.rewards == [0, 0]
    with pytest.raises(ValueError, match="action 19 is illegal"):
        game.apply(action("b3b4"))


@pytest.mark.parametrize("player", (0, 1))
def test_b4_the_last_row_wins(start: Start, player: int) -> None:
    game = start(GAME, drawn("..b w.. b.. ..w", player), **SMALL)
    game.apply(action(("a3a4", "a2a1")[player]))
    assert game.terminated and not game.truncated and game.legal_actions() == []
    assert game.rewards == [[1, -1], [-1, 1]][player]


def test_b4_all_pieces_captured(start: Start) -> None:
    game = start(GAME, drawn("... .b. w.. ..."), **SMALL)
    game.apply(action("a2b3"))
    assert game.terminated and game.rewards == [1, -1]


@pytest.mark.parametrize(("name", "low"), (("rows", 4), ("columns", 2)))
def test_b6_illegal_fields(name: str, low: int) -> None:
    wrong: Any
    for wrong, error in ((low - 1, ValueError), (17, ValueError), (8.0, TypeError)):
        with pytest.raises(error, match=f"{name} must be"):
            te.make(GAME, **{name: wrong})


def test_b7_observation(start: Start) -> None:
    game = start(GAME, drawn("b.. ... .w. ..."), **SMALL)
    white, black = game.observation(0), game.observation(1)
    assert white[0] == black[1] and white[0][1][1] and sum(map(sum, white[0])) == 1
    assert white[1] == black[0] and white[1][3][0] and sum(map(sum, white[1])) == 1
    assert all(map(all, white[2])) and not any(map(any, black[2]))


@pytest.mark.parametrize("picture", ("w.. ... .b. ...", "b.. ... ... b.w", "... .w. ... ..."))
def test_b8_a_won_game_is_over(start: Start, picture: str) -> None:
    assert start(GAME, drawn(picture), **SMALL).terminated


@pytest.mark.parametrize(
    ("wrong", "message"),
    (
        ({"board": [0] * 11}, "12 entries"),
        ({"board": [2] * 12}, r"board\[0\]"),
        ({"current_player": 2}, "current_player"),
        (drawn("w.. ... ... b.."), "both players"),
    ),
)
def test_b8_impossible_positions(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        te.make(GAME, **SMALL).state_from_dicts([drawn("bbb bbb www www") | wrong])


def test_b9_names() -> None:
    env = te.make(GAME)
    assert [env.action_to_string(a) for a in (0, 1, 64 + 8, 3 * 64 + 63, 5 * 64 + 62)] == [
        "a1/0", "b1a2", "a2a3", "h8g7", "g8h7"
    ]  # fmt: skip
