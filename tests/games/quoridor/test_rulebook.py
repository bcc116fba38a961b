"""Quoridor: the rules as worked cases, played on every engine of the game."""

from collections.abc import Callable
from typing import Any

import pytest

import tensor_envs as te

GAME = "quoridor"
SMALL: dict[str, Any] = {"size": 5, "walls": 6}
Start = Callable[..., Any]
NAMES = te.make(GAME, **SMALL).action_names


def position(white: str, black: str, walls: str = "", player: int = 0, hands: tuple[int, int] | None = None) -> Any:
    """Return a position of 5x5 by the names of squares and walls."""
    numbers = [NAMES.index(name) for name in walls.split()]
    board = [(name == white) - (name == black) for name in NAMES[:25]]
    sides = [[int(25 + 16 * k + wall in numbers) for wall in range(16)] for k in (0, 1)]
    left = 12 - len(numbers)
    hands = hands or (left - left // 2, left // 2)
    return {"board": board, "horizontal": sides[0], "vertical": sides[1], "walls": [*hands], "current_player": player}


def names(game: Any) -> set[str]:
    return {NAMES[action] for action in game.legal_actions()}


def moves(game: Any) -> set[str]:
    return {name for name in names(game) if len(name) == 2}


def play(game: Any, actions: str) -> None:
    for name in actions.split():
        assert not game.terminated and game.rewards == [0, 0]
        game.apply(NAMES.index(name))


def test_q1_q3_the_start(start: Start) -> None:
    game = start(GAME, **SMALL)
    assert game.to_dict() == position("c1", "c5", hands=(6, 6)) and game.current_player == 0
    assert moves(game) == {"b1", "d1", "c2"} and len(game.legal_actions()) == 3 + 32


def test_q2_the_opposite_row_wins(start: Start) -> None:
    game = start(GAME, position("b4", "d2"), **SMALL)
    play(game, "b5")
    assert game.terminated and game.rewards == [1, -1] and game.legal_actions() == [] and not game.truncated
    game = start(GAME, position("b4", "d2", player=1), **SMALL)
    play(game, "d1")
    assert game.terminated and game.rewards == [-1, 1]


def test_q4_walls_stop_pawns(start: Start) -> None:
    assert moves(start(GAME, position("c3", "a2", "b3h b2v"), **SMALL)) == {"c2", "d3"}
    assert moves(start(GAME, position("c3", "a2", "c2h c3v"), **SMALL)) == {"c4", "b3"}
    assert moves(start(GAME, position("a3", "e2"), **SMALL)) == {"a4", "a2", "b3"}


def test_q5_jumps(start: Start) -> None:
    assert moves(start(GAME, position("c2", "c3"), **SMALL)) == {"c4", "b2", "d2", "c1"}
    assert moves(start(GAME, position("c2", "c3", "c3h"), **SMALL)) == {"b3", "d3", "b2", "d2", "c1"}
    assert moves(start(GAME, position("c2", "c3", "c3h b3v"), **SMALL)) == {"d3", "b2", "d2", "c1"}
    assert moves(start(GAME, position("b3", "a3"), **SMALL)) == {"a4", "a2", "b4", "b2", "c3"}
    assert moves(start(GAME, position("c2", "c3", "c2h"), **SMALL)) == {"b2", "d2", "c1"}


def test_q6_walls_do_not_overlap_or_cross(start: Start) -> None:
    game = start(GAME, position("c1", "c5", "b3h d2v"), **SMALL)
    every = {name for name in NAMES if len(name) == 3}
    assert every - names(game) == {"a3h", "b3h", "c3h", "b3v", "d1v", "d2v", "d3v", "d2h"}


def test_q6_a_player_without_a_wall_builds_none(start: Start) -> None:
    game = start(GAME, position("c1", "c5", "a3h c3h a2h c2h a1h c1h", hands=(0, 6)), **SMALL)
    assert names(game) == moves(game) == {"b1", "d1"}


def test_q7_the_last_way_stays_open(start: Start) -> None:
    """Check that Black's area of rows 4 and 5 keeps its exit in column e, at an end or by a longer way."""
    game = start(GAME, position("c1", "c5", "a3h c3h"), **SMALL)
    assert "d4v" not in names(game) and {"d3v", "d2v", "d1v"} <= names(game)
    game = start(GAME, position("c1", "c5", "a3h c3h b4v"), **SMALL)
    assert "d4v" not in names(game)
    game = start(GAME, position("c1", "a5", "a3h c3h"), **SMALL)
    assert not {"a4v", "b4v", "c4v", "d4v"} & names(game)


def test_q7_an_area_without_a_pawn_may_be_closed(start: Start) -> None:
    game = start(GAME, position("c1", "e5", "a3h c3h"), **SMALL)
    assert {"a4v", "b4v", "c4v", "d4v"} <= names(game)
    play(game, "d4v")
    assert game.to_dict() == position("c1", "e5", "a3h c3h d4v", player=1, hands=(4, 5))


def test_q7_walls_without_the_edge_close_a_way(start: Start) -> None:
    """Check a ring of four walls around Black's pawn, of which each is the last."""
    ring = ["b3h", "b1h", "a2v", "c2v"]
    for last in ring:
        others = " ".join(wall for wall in ring if wall != last)
        assert last not in names(start(GAME, position("e1", "b3", others, hands=(5, 4)), **SMALL))
        assert last in names(start(GAME, position("e1", "e3", others, hands=(5, 4)), **SMALL))


def test_q9_a_draw(start: Start) -> None:
    game = start(GAME, size=3, walls=0)
    for _ in range(8):
        for square in (8, 2, 7, 1):
            game.apply(square)
    assert not game.terminated
    for square in (8, 2, 7):
        game.apply(square)
    assert not game.terminated
    game.apply(1)
    assert game.terminated and game.rewards == [0, 0] and not game.truncated


@pytest.mark.parametrize(
    ("fields", "error"),
    (
        ({"size": 2}, ValueError),
        ({"size": 10}, ValueError),
        ({"size": 5.0}, TypeError),
        ({"walls": -1}, ValueError),
        ({"walls": 32}, ValueError),
        ({"walls": "5"}, TypeError),
    ),
    ids=str,
)
def test_q11_wrong_fields(fields: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error, match=next(iter(fields))):
        te.make(GAME, **fields)


def test_q12_observation(start: Start) -> None:
    game = start(GAME, position("c1", "c5", "b3h a1v", hands=(6, 4)), **SMALL)
    for player in (0, 1):
        planes = game.observation(player)
        places = [[(r, c) for r in range(5) for c in range(5) if plane[r][c]] for plane in planes[:4]]
        assert places == [*[[(4, 2)], [(0, 2)]][:: 1 - 2 * player], [(1, 1)], [(3, 0)]]
        digits = [plane[0][0] for plane in planes[4:]]
        assert digits == [1 - player, *([0, 1, 1], [0, 0, 1])[player], *([0, 0, 1], [0, 1, 1])[player]]


@pytest.mark.parametrize(
    "wrong",
    (
        {"walls": [6, 5]},
        {"board": [1] * 25},
        {"board": [0] * 24},
        {"horizontal": [1, 1] + [0] * 14, "walls": [5, 5]},
        {"horizontal": [1] + [0] * 15, "vertical": [1] + [0] * 15, "walls": [5, 5]},
        {"horizontal": [0] * 8 + [1, 0, 1, 0] + [0] * 4, "vertical": [0] * 15 + [1], "walls": [5, 4]},
        {"current_player": 2},
    ),
    ids=str,
)
def test_q13_impossible_positions(wrong: dict[str, Any]) -> None:
    env = te.make(GAME, **SMALL)
    right = position("c1", "c5", hands=(6, 6))
    assert env.state_to_dict(env.state_from_dicts([right])).items() >= right.items()
    with pytest.raises(ValueError, match=r"is no state of 'quoridor': (walls|board|vertical|horizontal|current_p)"):
        env.state_from_dicts([right | wrong])


def test_q14_names() -> None:
    names = te.make(GAME).action_names
    assert (names[0], names[76], names[81], names[81 + 64 + 63]) == ("a9", "e1", "a8h", "h1v")


def test_q15_symmetries() -> None:
    assert len(list(te.make(GAME).symmetries())) == 2 and len(list(te.make(GAME, size=4).symmetries())) == 1
