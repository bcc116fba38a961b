"""Xiangqi: the rules as worked cases, played on every engine of the game; how positions are written."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tensor_envs.games.xiangqi import notation, render
from tensor_envs.render.drawing import Text
from tests.games.shared import shared_env
from tests.games.xiangqi.reference import START

GAME = "xiangqi"
Start = Callable[..., Any]


def at(fen: str) -> dict[str, Any]:
    """Return a position; by default Red is to move at the start of a game."""
    return {"fen": fen if " " in fen else f"{fen} w - - 0 1"}


@functools.cache
def numbers(player: int) -> dict[str, int]:
    """Return the actions of a player by their names in a position; elephants and advisors have the longer way."""
    rules = shared_env(GAME).rules
    fields = {"current_player": player}
    return {notation.move_to_string(rules, action, fields): action for action in range(shared_env(GAME).num_actions)}


def names(game: Any, start: str = "") -> set[str]:
    called = {action: name for name, action in numbers(game.current_player).items()}
    return {name for name in map(called.__getitem__, game.legal_actions()) if name.startswith(start)}


def play(game: Any, moves: str) -> Any:
    """Play moves by their names."""
    for move in moves.split():
        game.apply(numbers(game.current_player)[move])
    return game


def turned(point: str) -> str:
    """Return the point with the ranks reversed."""
    return f"{point[0]}{9 - int(point[1])}"


def test_x1_the_start(start: Start) -> None:
    game = start(GAME)
    assert game.to_dict() == {"fen": START, "moves": []} and game.current_player == 0
    assert len(game.legal_actions()) == 44 and not game.terminated and not game.truncated
    assert {"h2e2", "h2h9", "b0c2", "b0a2", "a3a4", "e0e1"} <= names(game)


# a position, from where, and where the piece may go
MOVES = {
    "chariot": ("3k5/9/9/1n7/9/9/9/9/9/1R2K4", "b0", "b1 b2 b3 b4 b5 b6 a0 c0 d0"),
    "soldier at home": ("3k5/9/9/9/9/9/2P6/9/9/4K4", "c3", "c4"),
    "soldier on the bank": ("3k5/9/9/9/9/2P6/9/9/9/4K4", "c4", "c5"),
    "soldier beyond the river": ("3k5/9/9/9/2P6/9/9/9/9/4K4", "c5", "c6 b5 d5"),
    "soldier on the last rank": ("P2k5/9/9/9/9/9/9/9/9/4K4", "a9", "b9"),
    "soldier before an own piece": ("3k5/9/9/1NP6/2N6/9/9/9/9/4K4", "c6", "c7 d6"),
    "general": ("5k3/9/9/9/9/9/9/9/9/3K5", "d0", "d1 e0"),
    "general on the palace's edge": ("5k3/9/9/9/9/9/9/3K5/9/9", "d2", "d1 e2"),
    "advisor in the centre": ("3k5/9/9/9/9/9/9/9/4A4/4K4", "e1", "d0 f0 d2 f2"),
    "advisor in a corner": ("3k5/9/9/9/9/9/9/3A5/9/4K4", "d2", "e1"),
    "elephant": ("3k5/9/9/9/9/9/9/4B4/9/4K4", "e2", "c0 g0 c4 g4"),
    "elephant on the bank": ("3k5/9/9/9/9/6B2/9/9/9/4K4", "g4", "e2 i2"),
    "elephant with a blocked eye": ("3k5/9/9/9/9/9/3p5/4B4/5N3/4K4", "e2", "c0 g4"),
    "horse": ("3k5/9/9/9/4N4/9/9/9/9/4K4", "e5", "d7 f7 g6 g4 c6 c4 d3 f3"),
    "horse with a blocked leg": ("3k5/9/9/4p4/4N4/9/9/9/9/4K4", "e5", "g6 g4 c6 c4 d3 f3"),
    "horse in a corner": ("3k5/9/9/9/9/9/9/9/9/N3K4", "a0", "b2 c1"),
    "cannon": ("3k5/9/1n7/9/1n7/9/9/9/9/1C2K4", "b0", "b1 b2 b3 b4 b7 a0 c0 d0"),
    "cannon over an own piece": ("3k5/9/9/9/9/1p7/1N7/9/9/1C2K4", "b0", "b1 b2 b4 a0 c0 d0"),
    "cannon over two pieces": ("3k5/1r7/1n7/1n7/9/9/9/9/9/1C2K4", "b0", "b1 b2 b3 b4 b5 b7 a0 c0 d0"),
}


@pytest.mark.parametrize("case", MOVES)
def test_x2_to_x5_moves(start: Start, case: str) -> None:
    fen, square, to = MOVES[case]
    moves = {square + end for end in to.split()}
    assert names(start(GAME, at(fen)), square) == moves
    # Black's moves are the same with the ranks reversed.
    rows = fen.swapcase().split("/")
    black = {turned(move[:2]) + turned(move[2:]) for move in moves}
    assert names(start(GAME, at("/".join(rows[::-1]) + " b - - 0 1")), turned(square)) == black


# positions in which a piece is held by what it would uncover, or by a check; all legal moves of the piece
HELD = {
    "generals must not face": ("4k4/9/9/4P4/9/9/9/9/9/4K4", "e6", "e7"),
    "a general must not enter the other's file": ("4k4/9/9/9/9/9/9/9/9/3K5", "d0", "d1"),
    "pinned by a chariot": ("3k5/9/9/4r4/9/9/4R4/9/9/4K4", "e3", "e1 e2 e4 e5 e6"),
    "the second piece before a cannon": ("3k5/9/9/4c4/9/9/4R4/4N4/9/4K4", "e2", ""),
    "the first piece before a cannon": ("3k5/9/9/4c4/9/9/4N4/4R4/9/4K4", "e2", "e1"),
    "a screen goes away": ("3k5/9/9/4c4/9/9/9/4R4/9/4K4", "e2", "e6 a2 b2 c2 d2 f2 g2 h2 i2"),
    "comes between a cannon and its screen": ("3k5/9/9/4c4/9/9/4p4/R8/9/4K4", "a2", "e2"),
    "must not become a screen": ("3k5/9/9/9/4c4/9/9/9/R8/4K4", "a1", "a0 a2 a3 a4 a5 a6 a7 a8 a9 b1 c1 d1 f1 g1 h1 i1"),
    "holds back a horse": ("3k5/9/9/9/9/9/9/3n5/3R5/4K4", "d1", "d2"),
    "holds back two horses": ("3k5/9/9/9/9/9/9/3n5/2nR5/4K4", "d1", ""),
    "stops a horse on its leg": ("3k5/9/9/9/9/9/9/3n5/R8/4K4", "a1", "d1"),
}


@pytest.mark.parametrize("case", HELD)
def test_x6_held_pieces(start: Start, case: str) -> None:
    fen, square, to = HELD[case]
    assert names(start(GAME, at(fen)), square) == {square + end for end in to.split()}


def test_x6_a_general_captures_what_is_not_protected(start: Start) -> None:
    assert names(start(GAME, at("3k5/9/9/9/9/9/9/9/4p4/4K4"))) == {"e0e1", "e0f0"}  # d0 would face d9
    assert names(start(GAME, at("3k5/9/9/9/9/9/4r4/9/4p4/4K4"))) == {"e0f0"}


def test_x7_mate_and_stalemate(start: Start) -> None:
    game = play(start(GAME, at("4k4/R8/9/9/9/9/9/9/9/1R1K5 w - - 119 60")), "b0b9")
    assert game.terminated and game.rewards == [1, -1] and game.legal_actions() == []
    # The general on d9 is not attacked, but it may neither face the other one nor go to rank 8.
    game = play(start(GAME, at("3k5/9/9/9/9/9/9/9/R8/4K4 w - - 0 60")), "a1a8")
    assert game.terminated and game.rewards == [1, -1]
    black = play(start(GAME, at("4k4/r8/9/9/9/9/9/9/9/3K5 b - - 0 60")), "a8a1")
    assert black.terminated and black.rewards == [-1, 1]


def test_x10_quiet_plies(start: Start) -> None:
    game = play(start(GAME, quiet_plies=3), "b0c2 b9c7")
    assert not game.terminated
    assert play(game, "c2b0").terminated and game.rewards == [0, 0] and not game.truncated
    game = play(start(GAME, quiet_plies=3), "b0c2 b9c7 h2h9 i9h9 a0a1")
    assert not game.terminated and len(game.to_dict()["moves"]) == 1
    game = play(start(GAME, at("3k5/9/9/9/9/9/9/9/R8/4K4 w - - 119 90")), "a1b1")
    assert game.terminated and game.rewards == [0, 0]


BACK = "b0c2 b9c7 c2b0 c7b9"


def test_x11_the_third_occurrence(start: Start) -> None:
    game = play(start(GAME), BACK)
    assert game.observation(0)[14] == [[True] * 9] * 10 and not game.terminated
    play(game, "b0c2 b9c7 c2b0")
    assert not game.terminated
    assert play(game, "c7b9").terminated and game.rewards == [0, 0]


def test_x11_the_player_to_move_counts(start: Start) -> None:
    """The pieces stand as before, but the other player has the move: chariots lose a ply."""
    game = play(start(GAME), "a0a1 a9a8 a1a2 a8a9 a2a0")
    assert game.observation(0)[14] == [[False] * 9] * 10


def test_x11_equal_pieces_may_change_places(start: Start) -> None:
    fen = "3k5/9/9/9/9/9/9/9/9/R3KR3 w - - 0 1"
    game = play(start(GAME, at(fen)), "a0a2 d9d8 f0f1 d8d9 f1a1 d9d8 a2f2 d8d9 f2f0 d9d8 a1a0 d8d9")
    assert game.observation(0)[14] == [[True] * 9] * 10


def test_x11_a_capture_ends_what_can_recur(start: Start) -> None:
    game = play(start(GAME), f"{BACK} b2b9 a9b9")
    assert game.to_dict()["moves"] == []
    assert game.observation(1)[14] == [[False] * 9] * 10


CHECKS = "3k5/2R6/9/9/9/9/9/9/6r2/4K1N2 w - - 0 1"


def test_x12_perpetual_check_loses(start: Start) -> None:
    checks = "c8c9 d9d8 c9c8 d8d9"
    game = play(start(GAME, at(CHECKS)), f"{checks} c8c9 d9d8 c9c8")
    assert not game.terminated
    assert play(game, "d8d9").terminated and game.rewards == [-1, 1]


def test_x12_the_player_to_move_may_have_checked(start: Start) -> None:
    """The third occurrence is the position after a check."""
    game = play(start(GAME, at("3k5/9/2R6/9/9/9/9/9/6r2/4K1N2 w - - 0 1")), "c7c9")
    play(game, "d9d8 c9c8 d8d9 c8c9 d9d8 c9c8 d8d9")
    assert not game.terminated
    assert play(game, "c8c9").terminated and game.rewards == [-1, 1]


def test_x12_a_move_without_check_makes_it_a_draw(start: Start) -> None:
    game = start(GAME, at(CHECKS))
    play(game, "c8c7 g1g2 c7c8 g2g1 c8c9 d9d8 c9c8")
    assert not game.terminated
    assert play(game, "d8d9").terminated and game.rewards == [0, 0]


def test_x13_observation(start: Start) -> None:
    game = start(GAME, at("4k4/9/9/2p6/9/9/9/9/1C7/3K5 b - - 41 50"))
    seen = [game.observation(player) for player in (0, 1)]
    shown = [{(k, r, f) for k in range(14) for r in range(10) for f in range(9) if planes[k][r][f]} for planes in seen]
    assert shown[0] == {(5, 1, 1), (6, 0, 3), (7, 6, 2), (13, 9, 4)}
    assert shown[1] == {(0, 3, 2), (6, 0, 4), (12, 8, 1), (13, 9, 3)}
    assert [planes[15][0][0] for planes in seen] == [False, True]
    assert [int(plane[3][3]) for plane in seen[0][16:]] == [1, 0, 0, 1, 0, 1, 0]


@pytest.mark.slow  # compiles the step
def test_x14_dictionaries() -> None:
    env = shared_env(GAME)
    state = env.init(1)
    for player, move in enumerate(("h2e2", "h9g7", "h0g2")):
        state = env.step(state, [numbers(player % 2)[move]])
    fen = "rnbakab1r/9/1c4nc1/p1p1p1p1p/9/9/P1P1P1P1P/1C2C1N2/9/RNBAKAB1R b - - 3 2"
    written = {"fen": fen, "moves": ["h2e2", "h9g7", "h0g2"]}
    assert env.state_to_dict(state, 0) == written
    again = env.state_from_dicts([written]).numpy()
    assert all((again[name] == value).all() for name, value in state.numpy().items() if name != "rewards")


FORMS = (START, START.replace(" - - 0 1", ""), START.replace(" w ", " r ").replace("B", "E").replace("n", "h"))


@pytest.mark.parametrize("fen", FORMS)
def test_x14_forms_of_a_fen(fen: str) -> None:
    env = shared_env(GAME)
    assert env.state_to_dict(env.state_from_dicts([fen]), 0) == {"fen": START, "moves": []}


def test_x14_positions_before_the_dictionary_do_not_recur() -> None:
    game = te.debug(shared_env(GAME), 0, game={"fen": START.replace(" 0 1", " 30 16"), "moves": []})
    for move in BACK.split() * 2:
        assert not game.terminated
        game.step(numbers(int(game.state.current_player.value))[move])
    assert game.terminated and game.rewards == [0, 0]


@pytest.mark.parametrize(
    "wrong",
    (
        "",
        "9/9/9/9/9/9/9/9/9/9 w - - 0 1",
        "4k4/9/9/9/9/9/9/9/9/3K5 x - - 0 1",
        "4k4/9/9/9/9/9/9/9/3K5 w - - 0 1",
        "4k5/9/9/9/9/9/9/9/9/3K5 w - - 0 1",
        "4k4/9/9/9/9/9/9/9/9/2K6 w - - 0 1",
        "4k4/9/9/9/9/9/9/9/9/3KA4 w - - 0 1",
        "4k4/9/9/9/9/9/9/9/9/3KB4 w - - 0 1",
        "4k4/9/9/9/9/9/9/2P6/9/3K5 w - - 0 1",
        "4k4/9/9/9/9/9/1P7/9/9/3K5 w - - 0 1",
        "4k4/RRR6/9/9/9/9/9/9/9/3K5 w - - 0 1",
        "4k4/9/9/9/9/9/9/9/9/4K4 w - - 0 1",
        "4k4/9/9/9/9/9/9/9/9/3K5 w K - 0 1",
        "4k4/9/9/9/9/9/9/9/9/3K5 w - - 0 0",
        f"{START} 5",
    ),
)
def test_x14_impossible_positions(wrong: str) -> None:
    with pytest.raises(ValueError, match="is no state of 'xiangqi': "):
        te.make(GAME).state_from_dicts([wrong])


@pytest.mark.parametrize(
    "moves", (["h2e2"], ["b9c7", "a1a2", "h9g7"], [3], ["e3e4", "e6e5"], ["c2b0"] * 5, {"h2e2": 1})
)
def test_x14_impossible_moves(moves: Any) -> None:
    fen = START.replace(" 0 1", " 4 9")
    with pytest.raises(ValueError, match="is no state of 'xiangqi': moves"):
        te.make(GAME).state_from_dicts([{"fen": fen, "moves": moves}])


@pytest.mark.parametrize(
    ("pieces", "move"),
    [
        ("2P6/9/9/4K4", "c4c3"),  # a soldier back
        ("2P6/9/9/4K4", "d3c3"),  # and to the side before the river
        ("9/3A5/9/4K4", "d1d2"),
        ("9/9/4A4/4K4", "c2e1"),
        ("9/4B4/9/4K4", "c3e2"),
        ("9/4B4/3R5/4K4", "c0e2"),  # its eye is blocked
        ("9/4N4/9/4K4", "e5e2"),
        ("9/3N5/2R6/4K4", "c0d2"),  # its leg is blocked
        ("9/R8/9/4K4", "b3a2"),
        ("9/C8/R8/4K4", "a0a2"),
        ("9/9/4K4/9", "d0e1"),
        ("9/9/4K4/9", "c1e1"),
    ],
)
def test_x14_moves_that_no_piece_makes(pieces: str, move: str) -> None:
    fen = f"3k5/9/9/9/9/9/{pieces} b - - 4 9"
    with pytest.raises(ValueError, match=f"is no state of 'xiangqi': moves must be moves of their pieces, got {move}"):
        te.make(GAME).state_from_dicts([{"fen": fen, "moves": [move]}])


@pytest.mark.parametrize(("plies", "error"), ((0, ValueError), (128, ValueError), ("5", TypeError), (True, TypeError)))
def test_x15_impossible_fields(plies: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match=r"^quiet_plies must be"):
        te.make(GAME, quiet_plies=plies)


def test_x9_every_name_is_of_one_action() -> None:
    env = te.make(GAME)
    called = [notation.action_to_string(env.rules, action) for action in range(env.num_actions)]
    assert len(set(called)) == env.num_actions == 2610
    assert called[90 * 1 + 9 * 2 + 1] == "b2d2" and called[90 * 7 + 9 * 2 + 1] == "b2a2"
    assert called[90 * 8] == "a0a1" and called[90 * 16 + 9] == "a1a0"
    assert called[90 * 17 + 1] == "b0c2" and called[90 * 25 + 3] == "d0e1" and called[90 * 25 + 2] == "c0e2"


def test_x17_names() -> None:
    env = te.make(GAME)
    state = env.state_from_dicts([START.replace(" w ", " b ")])
    for name in ("h7e7", "h7-e7", "H7-E7", "move: h7 to e7"):
        action = te.text.parse(env, name, state)
        assert env.action_to_string(action, state) == "h7e7"
    assert env.string_to_action("h7e7", state) == action
    with pytest.raises(te.text.IllegalMove):
        te.text.parse(env, "h2e2", state)


def test_x18_no_more_legal_moves_than_declared() -> None:
    """Free pieces in the open have many moves."""
    fen = "3k5/9/P1P1P1P1P/1R7/7R1/2N6/6N2/BC2B4/4A2C1/3A1K3 w - - 0 1"
    legal = len(te.debug(te.make(GAME), 0, game={"fen": fen}).legal_actions())
    most = te.make(GAME).spec.max_legal
    assert most is not None and 70 < legal <= most


# a position and moves, and the last line but one of its text
STATUS = (
    (START, "", "Red to move"),
    (CHECKS, "c8c9", "Black to move, in check"),
    (CHECKS, "c8c9 d9d8 c9c8 d8d9 " * 2, "Black wins: perpetual check by the opponent"),
    (START, f"{BACK} {BACK}", "a draw: the same position for the third time"),
    ("4k4/R8/9/9/9/9/9/9/9/1R1K5 w - - 0 1", "b0b9", "Red wins: checkmate"),
    ("3k5/9/9/9/9/9/9/9/R8/4K4 w - - 0 1", "a1a8", "Red wins: stalemate"),
    ("3k5/9/9/9/9/9/9/9/R8/4K4 w - - 119 90", "a1b1", "a draw: 120 plies without a capture"),
)


@pytest.mark.few(3)
@pytest.mark.parametrize(("fen", "moves", "line"), STATUS)
def test_status(fen: str, moves: str, line: str) -> None:
    env = shared_env(GAME)
    game = te.debug(env, 0, game=at(fen))
    for move in moves.split():
        game.step(numbers(int(game.state.current_player.value))[move])
    fields = {field.name: field.shape for field in env.spec.all_fields}
    values = {name: np.reshape(x, fields[name]).tolist() for name, x in game.fields().items()}
    written = notation.to_dict(env.rules, values)
    assert render.to_string(env.rules, written).splitlines()[-2] == line
    assert render.reason(env.rules, written) == line.partition(": ")[2]


def test_explanations_and_captures() -> None:
    env = shared_env(GAME)
    game = at("1nbakabnr/9/1c5c1/p1p1p1p1p/9/9/P1P1P1P1P/1C5C1/9/RNBAKABNR b - - 0 2")
    moves = numbers(1)
    assert render.explain(env.rules, game, moves["h9g7"]) == "horse h9 to g7"
    assert render.explain(env.rules, game, moves["b7b0"]) == "cannon b7 takes b0"
    assert render.scores(env.rules, game) == ["r", ""]


@pytest.mark.parametrize("viewer", [0, 1])
def test_pieces_are_drawn_where_the_names_of_files_and_ranks_are(viewer: int) -> None:
    game = at("3k5/9/9/9/9/9/9/9/9/R3K4") | {"viewer": viewer}
    points = {
        shape.text: shape.at for shape in render.draw(shared_env(GAME).rules, game).shapes if isinstance(shape, Text)
    }
    assert points["R"] == (points["a"][0], points["0"][1])
    assert (points["a"] < points["i"]) == (viewer == 0)
