"""Clobber: the rules as worked cases, played on every engine of the game."""

from collections.abc import Callable
from typing import Any

import pytest

import tensor_envs as te

GAME = "clobber"
SMALL: dict[str, Any] = {"rows": 3, "columns": 4}
Start = Callable[..., Any]


def drawn(picture: str, player: int = 0) -> dict[str, Any]:
    """Return a position drawn as text, the last row first; w is white, b black."""
    rows = picture.split()[::-1]
    return {"board": [{"w": 1, "b": -1, ".": 0}[stone] for stone in "".join(rows)], "current_player": player}


def action(name: str) -> int:
    return [*te.make(GAME, **SMALL).action_names].index(name)


def names(game: Any) -> set[str]:
    return {te.make(GAME, **SMALL).action_names[a] for a in game.legal_actions()}


def test_c1_the_start(start: Start) -> None:
    game = start(GAME, **SMALL)
    assert game.to_dict() == drawn("wbwb bwbw wbwb") and game.current_player == 0
    assert len(names(game)) == 3 * 3 + 2 * 4  # each pair of neighbours is a move of either player


@pytest.mark.parametrize("player", (0, 1))
def test_c2_moves(start: Start, player: int) -> None:
    game = start(GAME, drawn("b.b. wbw. .w.b", player), **SMALL)
    moves = [("b2", "a2"), ("b2", "c2"), ("b2", "b1"), ("a3", "a2"), ("c3", "c2")]  # of black, and reversed of white
    assert names(game) == {"".join(move if player else move[::-1]) for move in moves}


def test_c2_a_capture(start: Start) -> None:
    game = start(GAME, drawn("b.b. wbw. .w.b"), **SMALL)
    game.apply(action("a2b2"))
    assert game.to_dict() == drawn("b.b. .ww. .w.b", 1) and not game.terminated and game.rewards == [0, 0]
    with pytest.raises(ValueError, match=rf"action {action('a3a2')} is illegal"):
        game.apply(action("a3a2"))  # a2 is empty
    assert names(game) == {"c3c2"}


@pytest.mark.parametrize(("picture", "move"), (("..w. .wb. ..w.", "d1c1"), ("w... bw.. ....", "a1b1")))
def test_c2_diagonals_and_empty_cells_are_no_targets(start: Start, picture: str, move: str) -> None:
    assert action(move) not in start(GAME, drawn(picture), **SMALL).legal_actions()
    assert all(name[0] == name[2] or name[1] == name[3] for name in names(start(GAME, drawn(picture), **SMALL)))


def test_c2_edges_are_not_joined(start: Start) -> None:
    game = start(GAME, drawn("...b w..b wb.."), **SMALL)  # d3, d2 and the first cell of the next row
    assert names(game) == {"a1b1"}


@pytest.mark.parametrize("player", (0, 1))
def test_c4_the_last_move_wins(start: Start, player: int) -> None:
    game = start(GAME, drawn("w..b .... wb..", player), **SMALL)
    game.apply(action(("a1b1", "b1a1")[player]))
    assert game.terminated and not game.truncated and game.legal_actions() == []
    assert game.rewards == [[1, -1], [-1, 1]][player]


@pytest.mark.parametrize(("name", "low"), (("rows", 1), ("columns", 2)))
def test_c6_illegal_fields(name: str, low: int) -> None:
    wrong: Any
    for wrong, error in ((low - 1, ValueError), (17, ValueError), (8.0, TypeError)):
        with pytest.raises(error, match=f"{name} must be"):
            te.make(GAME, **{name: wrong})


def test_c7_observation(start: Start) -> None:
    game = start(GAME, drawn("b... .... .w.."), **SMALL)
    white, black = game.observation(0), game.observation(1)
    assert white[0] == black[1] and white[0][0][1] and sum(map(sum, white[0])) == 1
    assert white[1] == black[0] and white[1][2][0] and sum(map(sum, white[1])) == 1
    assert all(map(all, white[2])) and not any(map(any, black[2]))


@pytest.mark.parametrize("picture", ("w... .b.. ..w.", "wwww wwww wwww", ".... .... ...."))
@pytest.mark.parametrize("player", (0, 1))
def test_c8_a_board_without_a_move_is_over(start: Start, picture: str, player: int) -> None:
    game = start(GAME, drawn(picture, player), **SMALL)
    assert game.terminated and game.legal_actions() == []


@pytest.mark.parametrize(
    ("wrong", "message"),
    (({"board": [0] * 11}, "12 entries"), ({"board": [2] * 12}, r"board\[0\]"), ({"current_player": 2}, "current_pl")),
)
def test_c8_impossible_positions(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        te.make(GAME, **SMALL).state_from_dicts([drawn("wbwb bwbw wbwb") | wrong])


def test_c9_names_and_pictures() -> None:
    env = te.make(GAME)
    names = [env.action_to_string(a) for a in (0, 30, 90, 60, 30 + 29, 29)]
    assert names == ["a1/0", "a1/1", "a1a2", "a1b1", "f5e5", "f5f4"]
    assert env.to_string(env.init(1)).splitlines()[5:] == ["1 w b w b w b", "White to move"]
    last = te.make(GAME, **SMALL).state_from_dicts([drawn("w... .b.. ..w.", 1)])
    assert last.env.to_string(last).splitlines()[-1] == "White wins: Black has no move"


def test_c10_the_mirror_image_needs_an_odd_number_of_columns() -> None:
    assert [len([*te.make(GAME, columns=columns).rules.symmetries()]) for columns in (6, 7)] == [1, 2]
