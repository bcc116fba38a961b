"""Chinese checkers: the rules as worked cases, played on every engine of the game."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tensor_envs.games.chinese_checkers.notation import cell_name
from tensor_envs.games.chinese_checkers.rules import ChineseCheckers
from tests.games.shared import shared_env

GAME = "chinese_checkers"
Start = Callable[..., Any]
CELLS = {cell_name(cell): cell for cell in range(121)}
WIDTHS = dict(zip("abcdefghijklmnopq", (1, 2, 3, 4, 13, 12, 11, 10, 9, 10, 11, 12, 13, 4, 3, 2, 1), strict=True))
TOP, BOTTOM = ([f"{row}{k + 1}" for row in rows for k in range(WIDTHS[row])] for rows in ("abcd", "nopq"))
LEFT = [f"{row}{k + 1}" for row, width in zip("efgh", (4, 3, 2, 1), strict=True) for k in range(width)]
RIGHT = [f"{row}{WIDTHS[row] - k}" for row, width in zip("efgh", (4, 3, 2, 1), strict=True) for k in range(width)]
END_TURN = 726


def position(*pieces: str, turns: int = 0, visited: str = "") -> dict[str, Any]:
    """Return a dictionary of each player's ten pieces, by the names of cells with spaces between them.

    Pieces that are not given stand in the point where their player begins, or if it is full in other points.
    """
    board = [0] * len(CELLS)
    for player, text in enumerate(pieces, 1):
        for name in text.split():
            board[CELLS[name]] = player
    for player, home in enumerate((TOP, BOTTOM)[: len(pieces)], 1):
        for name in [*home, *LEFT, *RIGHT]:
            if board.count(player) < 10 and not board[CELLS[name]]:
                board[CELLS[name]] = player
    return {"board": board, "visited": [int(name in visited.split()) for name in CELLS], "turns": turns}


def names(game: Any) -> list[str]:
    env = te.make(GAME)
    return [env.action_to_string(action) for action in game.legal_actions()]


def moves_of(game: Any, cell: str) -> list[str]:
    """Return the directions in which the piece of a cell can move."""
    return [name.partition(" ")[2] for name in names(game) if name.startswith(f"{cell} ")]


def play(game: Any, text: str) -> Any:
    """Play actions, by their names, that commas separate."""
    env = te.make(GAME)
    for name in text.split(", "):
        game.apply(env.string_to_action(name))
    return game


def at(game: Any, cell: str) -> int:
    """Return 1 + the player with a piece on a cell, or 0."""
    owner: int = game.to_dict()["board"][CELLS[cell]]
    return owner


@pytest.mark.parametrize(
    ("players", "homes"),
    [
        (2, ["a1 d4", "n1 q1"]),
        (3, ["a1 d4", "j10 m13", "j1 m1"]),
        (4, ["a1 d4", "e10 h10", "n1 q1", "j1 m1"]),
        (6, ["a1 d4", "e10 h10", "j10 m13", "n1 q1", "j1 m1", "e1 h1"]),
    ],
)
def test_s1_s2_the_start(start: Start, players: int, homes: list[str]) -> None:
    game = start(GAME, players=players)
    board = game.to_dict()["board"]
    assert [board.count(owner) for owner in range(players + 1)] == [121 - 10 * players] + [10] * players
    assert all(at(game, cell) == player for player, home in enumerate(homes, 1) for cell in home.split())
    assert game.current_player == 0 and game.to_dict()["turns"] == 0


def test_s3_steps(start: Start) -> None:
    game = start(GAME, position("h5", ""))
    assert moves_of(game, "h5") == ["up-left", "up-right", "left", "right", "down-left", "down-right"]
    for way, cell in zip(moves_of(game, "h5"), ("g5", "g6", "h4", "h6", "i4", "i5"), strict=True):
        after = play(start(GAME, position("h5", "")), f"h5 {way}")
        assert (at(after, "h5"), at(after, cell), after.current_player) == (0, 1, 1)
        assert after.to_dict()["turns"] == 1 and not any(after.to_dict()["visited"])


@pytest.mark.parametrize(
    ("cell", "moves"),
    [
        ("e1", "right, down-right"), ("e13", "left, down-left"), ("m1", "up-right, right"), ("m13", "up-left, left"),
        ("i1", "up-left, up-right, right, down-left, down-right"), ("f1", "up-left, up-right, right, down-right"),
        ("f12", "up-left, up-right, left, down-left"), ("l1", "up-right, right, down-left, down-right"),
    ],
)  # fmt: skip
def test_s3_edges(start: Start, cell: str, moves: str) -> None:
    """In the points at the sides, no step leads to a row of the other point that begins where this one ends."""
    assert moves_of(start(GAME, position(cell, "")), cell) == moves.split(", ")


def test_s4_hops_over_any_piece(start: Start) -> None:
    game = start(GAME, position("h5 h6", "i4"))
    assert moves_of(game, "h5") == ["up-left", "up-right", "left", "right", "down-left", "down-right"]
    play(game, "h5 right")
    assert (at(game, "h5"), at(game, "h6"), at(game, "h7"), game.current_player) == (0, 1, 1, 1)
    game = play(start(GAME, position("h5 h6", "i4")), "h5 down-left")
    assert (at(game, "h5"), at(game, "i4"), at(game, "j4"), game.current_player) == (0, 2, 1, 1)


def test_s4_no_hop_over_two_pieces_or_an_edge(start: Start) -> None:
    game = start(GAME, position("h5 h6 h7", "e1"))
    assert "right" not in moves_of(game, "h5")
    assert "left" not in moves_of(start(GAME, position("e2", "e1")), "e2")


def test_s4_a_chain_of_hops(start: Start) -> None:
    """From h3 over h4 to h5, then over h6 to h7 or over i5 to j6; no step, no other piece and not back."""
    game = play(start(GAME, position("h3", "h4 h6 i5")), "h3 right")
    assert names(game) == ["h5 right", "h5 down-right", "end turn"]
    assert game.current_player == 0 and game.to_dict()["turns"] == 0
    assert [name for name, flag in zip(CELLS, game.to_dict()["visited"], strict=True) if flag] == ["h3", "h5"]
    play(game, "end turn")
    assert (game.current_player, game.to_dict()["turns"], at(game, "h5")) == (1, 1, 1)
    game = play(start(GAME, position("h3", "h4 h6 i5")), "h3 right, h5 right")
    assert game.current_player == 1 and not any(game.to_dict()["visited"])  # it cannot hop on


def test_s4_a_piece_that_hops_does_not_return(start: Start) -> None:
    """From i3 two hops lead to g5, from which a third one over h4 would lead back to i3."""
    game = play(start(GAME, position("i3", "i4 h5 h4")), "i3 right")
    assert names(game) == ["i5 up-left", "end turn"]
    play(game, "i5 up-left")
    assert (at(game, "g5"), game.current_player) == (1, 1)


def test_s5_actions_are_openspiels() -> None:
    env = shared_env(GAME)
    assert env.num_actions == 727
    expected = {0: "a1 up-left", 5: "a1 down-right", 6 * 3 + 4: "c1 down-left", 725: "q1 down-right", 726: "end turn"}
    assert {action: env.action_to_string(action) for action in expected} == expected


def surrounded() -> dict[str, Any]:
    """Return a position of six players in which player 0 cannot move: the two rows below the top point are full."""
    board = [0] * len(CELLS)
    for name in TOP:
        board[CELLS[name]] = 1
    wall = [f"e{k}" for k in range(5, 10)] + [f"f{k}" for k in range(4, 10)]
    wall += [name for name in CELLS if name[0] in "jklmn"]
    others = [owner for owner in range(2, 7) for _ in range(10)]
    for name, owner in zip(wall, others, strict=False):
        board[CELLS[name]] = owner
    return {"board": board, "visited": [0] * len(CELLS), "turns": 6}


def test_s6_a_pass(start: Start) -> None:
    game = start(GAME, surrounded(), players=6)
    assert game.current_player == 0 and game.legal_actions() == [END_TURN]
    play(game, "end turn")
    assert game.current_player == 1 and game.to_dict()["turns"] == 7 and END_TURN not in game.legal_actions()


AWAY = "e1 e2 e3 e5 e7 f1 f5 g1 g5 i2"  # ten cells of Blue, out of Red's way
NINE = " ".join(BOTTOM[1:])


def test_s7_the_last_piece_wins(start: Start) -> None:
    game = play(start(GAME, position(f"m5 {NINE}", AWAY)), "m5 right")
    assert not game.terminated
    game = play(start(GAME, position(f"m5 {NINE}", AWAY)), "m5 down-right")
    assert game.terminated and game.rewards == [1, -1] and game.legal_actions() == []


def test_s7_a_hop_wins_at_the_end_of_its_turn(start: Start) -> None:
    """The hop over m5 to n1 fills the goal, and may go on over m6."""
    state = position(f"l4 {NINE}", f"m5 m6 {AWAY[6:]}")
    game = play(start(GAME, state), "l4 down-right")
    assert names(game) == ["n1 up-right", "end turn"] and not game.terminated
    play(game, "end turn")
    assert game.terminated and game.rewards == [1, -1]
    game = play(start(GAME, state), "l4 down-right, n1 up-right")
    assert not game.terminated
    chain = position(f"n1 {NINE}", f"m5 m6 {AWAY[6:]}", visited="l4 n1")
    assert play(start(GAME, chain), "end turn").rewards == [1, -1]


def test_s7_a_foreign_piece_prevents_the_win(start: Start) -> None:
    nine = NINE.replace("n2", "e5")
    game = play(start(GAME, position(f"m5 {nine}", f"n2 {AWAY.replace('e5 ', '')}")), "m5 down-right")
    assert at(game, "n1") == 1 and not game.terminated


def test_s8_the_last_turn(start: Start) -> None:
    game = play(start(GAME, position("h5", "", turns=8), max_turns=10), "h5 left")
    assert not game.terminated
    play(game, "n1 up-left")
    assert game.terminated and game.rewards == [0, 0] and game.to_dict()["turns"] == 10
    won = position(f"m5 {NINE}", AWAY, turns=8)
    assert play(start(GAME, won, max_turns=9), "m5 down-right").rewards == [1, -1]


def test_s9_rewards_of_three_players(start: Start) -> None:
    env = te.make(GAME, players=3)
    state = env.state_to_dict(env.init(1))
    cells = [CELLS[name] for name in [*BOTTOM[1:], "m5"]]
    state["board"] = [1 if cell in cells else 0 if owner == 1 else owner for cell, owner in enumerate(state["board"])]
    game = play(start(GAME, state, players=3), "m5 down-right")
    assert game.terminated and np.allclose(game.rewards, [1, -0.5, -0.5])


def test_s10_fields() -> None:
    for fields, message in (
        ({"players": 5}, "players must be 2, 3, 4 or 6, got 5"),
        ({"players": 1}, r"players must be in 2\.\.6, got 1"),
        ({"max_turns": 0}, r"max_turns must be in 1\.\.10000, got 0"),
        ({"max_turns": 10_001}, r"max_turns must be in 1\.\.10000, got 10001"),
    ):
        with pytest.raises(ValueError, match=message):
            ChineseCheckers(**fields)
    wrong: list[dict[str, Any]] = [{"players": "2"}, {"max_turns": 2.5}]
    for fields in wrong:
        with pytest.raises(TypeError, match="must be an int"):
            ChineseCheckers(**fields)


def test_s11_observation(start: Start) -> None:
    """Neighbours on the star are those of a pixel but for its upper right and its lower left."""
    game = play(start(GAME, position("h3", "h4 h6")), "h3 right")
    planes = np.array(game.observation(1), int)
    assert planes.shape == (5, 17, 17) and planes[:3].sum() == 121
    assert [plane.sum() for plane in planes] == [10, 10, 101, 10, 2]
    goal = [tuple(pixel) for pixel in np.argwhere(planes[3])]
    assert goal == [(row, column) for row in range(4) for column in range(4, 5 + row)]
    assert [tuple(pixel) for pixel in np.argwhere(planes[4])] == [(7, 5), (7, 7)]  # h3 and h5
    assert planes[0, 7, 6] and planes[1, 7, 7]


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"board": [0] * 120}, "board"),
    ({"board": [3] * 121}, "board"),
    ({"board": [0] * 121}, "board must have 10 pieces of 1, got 0"),
    ({"turns": 1001}, r"turns must be in 0\.\.1000, got 1001"),
    (position("h3", "", visited="h3"), "visited must be cells of a piece of player 0 that may hop on, or none"),
    (position("h5", "h6", visited="h3"), "visited must be cells of a piece"),
    (position("h5", "h4", visited="h3 h5"), "visited must be cells of a piece"),
    (position("h5", "h6", visited="h3 h5", turns=1), "visited must be cells of a piece of player 1"),
    (position("h5", "h6", visited="h3 h5", turns=1000), "visited must be cells of a piece"),
    (position("h5 h8", "h6", visited="h8 h5"), "visited must be cells of a piece"),
    (position(" ".join(BOTTOM), " ".join(TOP)), "board must have at most one goal that its player fills"),
]


@pytest.mark.parametrize(("change", "message"), WRONG, ids=[str(k) for k in range(len(WRONG))])
def test_s12_wrong_dictionaries(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        te.make(GAME).state_from_dicts([position("", "") | change])


def test_s12_a_position_in_a_chain(start: Start) -> None:
    game = start(GAME, position("h5", "h6", visited="h3 h5", turns=2))
    assert names(game) == ["h5 right", "end turn"] and game.current_player == 0


def test_s13_names() -> None:
    assert len(CELLS) == 121 and [cell_name(cell) for cell in (0, 1, 9, 10, 22, 60, 120)] == [
        "a1", "b1", "d4", "e1", "e13", "i5", "q1"
    ]  # fmt: skip


@pytest.mark.parametrize("players", (2, 3))
def test_s14_symmetries(players: int) -> None:
    env = te.make(GAME, players=players)
    symmetries = list(env.symmetries())
    assert len(symmetries) == (2 if players == 2 else 1)
    if players == 2:
        first, second = (env.string_to_action(name) for name in ("d1 down-left", "d4 down-right"))
        assert symmetries[1].actions[first] == second
