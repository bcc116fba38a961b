"""Chess: the rules as worked cases, played on every engine of the game; how positions are written."""

import functools
from collections.abc import Callable
from typing import Any

import pytest

import tensor_envs as te
from tensor_envs.games.chess import notation
from tests.games.chess.reference import START
from tests.games.shared import shared_env

GAME = "chess"
Start = Callable[..., Any]


def at(fen: str) -> dict[str, Any]:
    """Return a position; by default white is to move at the start of a game."""
    return {"fen": fen if " " in fen else f"{fen} w - - 0 1"}


def name_of(action: int) -> str:
    """Return the squares of an action from the side of its player, which stay the same in all positions."""
    return notation.action_to_string(shared_env(GAME).rules, action)


@functools.cache
def numbers() -> dict[str, int]:
    return {name_of(action): action for action in range(shared_env(GAME).num_actions)}


def number(name: str) -> int:
    return numbers()[name]


def names(game: Any, start: str = "") -> set[str]:
    return {name for name in map(name_of, game.legal_actions()) if name.startswith(start)}


def play(game: Any, *moves: str) -> Any:
    """Play moves by their names, from the side of their player."""
    for move in moves:
        game.apply(number(move))
    return game


def test_c1_the_start(start: Start) -> None:
    game = start(GAME)
    assert game.to_dict() == {"fen": START, "moves": []} and game.current_player == 0
    assert len(game.legal_actions()) == 20 and not game.terminated and not game.truncated


# a position, from where, and where the piece may go
MOVES = {
    "rook": ("4k3/8/8/1p6/8/8/8/KR6", "b1", "b2 b3 b4 b5 c1 d1 e1 f1 g1 h1"),
    "bishop": ("4k3/8/8/6p1/8/8/3P4/K1B5", "c1", "b2 a3"),
    "knight": ("4k3/8/8/8/8/8/3P4/KN6", "b1", "a3 c3"),
    "king": ("8/8/8/8/8/1k5P/8/K7", "a1", "b1"),
    "pawn at home": ("4k3/8/8/8/8/3p4/4P3/K7", "e2", "e3 e4 d3"),
    "pawn blocked": ("4k3/8/8/8/4p3/8/4P3/K7", "e2", "e3"),
    "pawn on the edge": ("4k3/8/8/8/8/7p/P7/1K6", "a2", "a3 a4"),
    "pawn becomes": ("3nk3/2P5/8/8/8/8/8/K7", "c7", "c8 c8r c8b c8n d8 d8r d8b d8n"),
}


@pytest.mark.parametrize("case", MOVES)
def test_c2_moves(start: Start, case: str) -> None:
    fen, square, to = MOVES[case]
    assert names(start(GAME, at(fen)), square) == {square + end for end in to.split()}


@pytest.mark.few("rules", "reference-0-")
@pytest.mark.parametrize("becomes", ("", "r", "b", "n"))
@pytest.mark.parametrize("colour", (0, 1))
def test_c2_promotions(start: Start, becomes: str, colour: int) -> None:
    fen = ("3nk3/2P5/8/8/8/8/8/K7 w - - 0 1", "k7/8/8/8/8/8/2p5/3NK3 b - - 0 1")[colour]
    game = play(start(GAME, {"fen": fen}), "c7d8" + becomes)
    piece = (becomes or "q").upper() if colour == 0 else becomes or "q"
    row = game.to_dict()["fen"].split()[0].split("/")[-colour]
    assert row == (f"3{piece}k3", f"3{piece}K3")[colour]


def test_c3_en_passant(start: Start) -> None:
    game = play(start(GAME), "e2e4", "a2a3", "e4e5", "d2d4")
    assert game.to_dict()["fen"] == "rnbqkbnr/1pp1pppp/p7/3pP3/8/8/PPPP1PPP/RNBQKBNR w KQkq d6 0 3"
    assert "e5d6" in names(game)
    play(game, "e5d6")
    assert game.to_dict()["fen"].split()[0] == "rnbqkbnr/1pp1pppp/p2P4/8/8/8/PPPP1PPP/RNBQKBNR"


def test_c3_en_passant_in_the_next_ply_alone(start: Start) -> None:
    game = play(start(GAME), "e2e4", "a2a3", "e4e5", "d2d4", "h2h3", "h2h3")
    assert "e5d6" not in names(game) and game.to_dict()["fen"].split()[3] == "-"


# positions in which black's pawn has just moved from c7 to c5, and whether white's pawn may take it
PASSING = {
    "yes": ("4k3/8/8/1Pp5/8/8/8/4K3", True),
    "both leave the rank": ("4k3/8/8/KPp4r/8/8/8/8", False),
    "something between": ("4k3/8/8/KPp2n1r/8/8/8/8", True),
    "pinned": ("1r2k3/8/8/1Pp5/8/8/8/1K6", False),
    "pinned in the line": ("4k3/3b4/8/1Pp5/K7/8/8/8", True),
    "takes who gives check": ("4k3/8/8/1Pp5/3K4/8/8/8", True),
    "another check": ("1b2k3/8/8/1Pp5/8/8/7K/8", False),
}


@pytest.mark.parametrize("case", PASSING)
def test_c3_c6_en_passant_and_the_king(start: Start, case: str) -> None:
    fen, legal = PASSING[case]
    game = start(GAME, {"fen": f"{fen} w - c6 0 1"})
    assert ("b5c6" in names(game)) == legal
    assert game.to_dict()["fen"].split()[3] == ("c6" if legal else "-")


def test_c4_numbers(start: Start) -> None:
    assert [number(name) for name in ("a2a3", "b1a3", "h2h4", "e7e8", "e7f8r", "e7d8n", "O-O-O", "O-O")] == [
        73 + 16, 8 * 73 + 68, 57 * 73 + 17, 38 * 73 + 16, 38 * 73 + 1, 38 * 73 + 8, 4672, 4673,
    ]  # fmt: skip
    game = play(start(GAME), "e2e4")
    assert len(game.legal_actions()) == 20 and number("e2e4") in game.legal_actions()  # black's e7e5


# the first rank and the pieces above it, rights, and which castlings are legal
CASTLES = {
    "both": ("8", "R3K2R", "KQ", "O-O O-O-O"),
    "no rights": ("8", "R3K2R", "-", ""),
    "one right": ("8", "R3K2R", "Q", "O-O-O"),
    "something between": ("8", "RN2KB1R", "KQ", ""),
    "in check": ("4r3", "R3K2R", "KQ", ""),
    "through check": ("3r4", "R3K2R", "KQ", "O-O"),
    "into check": ("2r3r1", "R3K2R", "KQ", ""),
    "the rook attacked": ("r6r", "R3K2R", "KQ", "O-O O-O-O"),
    "the rook through an attack": ("1r6", "R3K2R", "KQ", "O-O O-O-O"),
}


@pytest.mark.parametrize("case", CASTLES)
@pytest.mark.parametrize("colour", (0, 1))
def test_c5_castling(start: Start, case: str, colour: int) -> None:
    above, row, rights, legal = CASTLES[case]
    rows = ["3k4", "8", "8", above, "8", "8", "8", row]
    fen = "/".join(rows) + f" w {rights} - 0 1"
    if colour:
        fen = "/".join(rows[::-1]).swapcase() + f" b {rights.lower()} - 0 1"
    assert names(start(GAME, {"fen": fen}), "O") == set(legal.split())


def test_c5_castled(start: Start) -> None:
    fen = "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1"
    game = play(start(GAME, {"fen": fen}), "O-O")
    assert game.to_dict() == {"fen": "r3k2r/8/8/8/8/8/8/R4RK1 b kq - 1 1", "moves": []}
    assert play(game, "O-O-O").to_dict()["fen"] == "2kr3r/8/8/8/8/8/8/R4RK1 w - - 2 2"
    game = play(start(GAME, {"fen": fen}), "a1a8")
    assert game.to_dict()["fen"] == "R3k2r/8/8/8/8/8/8/4K2R b Kk - 0 1"
    game = play(start(GAME, {"fen": fen}), "a1b1", "h1h2", "b1a1", "h2h1")
    assert game.to_dict()["fen"].split()[2] == "Kq"


# positions of white, and all legal moves
CHECKS = {
    "pinned": ("4r2k/8/8/8/8/8/4B3/4K3", "e1d1 e1d2 e1f1 e1f2"),
    "pinned in the line": ("4r2k/8/8/8/8/8/4R3/4K3", "e1d1 e1d2 e1f1 e1f2 e2e3 e2e4 e2e5 e2e6 e2e7 e2e8"),
    "two attack": ("4r2k/8/8/8/8/3n4/8/R3K3", "e1d1 e1d2 e1f1"),
    "between": ("4r3/6k1/8/7R/8/B7/8/R3K3", "e1d1 e1d2 e1f1 e1f2 a3e7 h5e5"),
    "taken": ("4r3/6k1/8/1B6/8/8/3P1P2/3RKR2", "b5e8 b5e2"),
    "not back in the line": ("7k/8/8/8/1r2K3/8/8/8", "e4d3 e4e3 e4f3 e4d5 e4e5 e4f5"),
}


@pytest.mark.parametrize("case", CHECKS)
def test_c6_checks(start: Start, case: str) -> None:
    fen, legal = CHECKS[case]
    assert names(start(GAME, at(fen))) == set(legal.split())


def test_c8_mate_and_stalemate(start: Start) -> None:
    game = play(start(GAME), "f2f3", "e2e4", "g2g4", "d1h5")
    assert game.terminated and game.rewards == [-1, 1] and game.legal_actions() == []
    game = play(start(GAME, {"fen": "7k/8/8/5Q2/8/8/8/K7 w - - 0 1"}), "f5f7")
    assert game.terminated and game.rewards == [0, 0]


# pieces besides the kings, and whether they are too few
MATERIAL = {
    "": True,
    "N": True,
    "b": True,
    "NN": False,
    "Nb": False,
    "P": False,
    "r": False,
    "B.B": True,
    "BB": False,
    "B.b": True,
    "Bb": False,
    "B.B.b": True,
    "B.n": False,
}


@pytest.mark.parametrize("pieces", MATERIAL)
def test_c9_material(start: Start, pieces: str) -> None:
    row = (pieces + "." * 8)[:8]
    for gap in range(8, 0, -1):
        row = row.replace("." * gap, str(gap))
    game = play(start(GAME, {"fen": f"k6r/7K/8/8/{row}/8/8/8 w - - 5 9"}), "h7h8")
    assert game.terminated == MATERIAL[pieces] and game.rewards == [0, 0]


BACK = ("g1f3", "g1f3", "f3g1", "f3g1")


def test_c10_repetition(start: Start) -> None:
    game = play(start(GAME), *BACK, *BACK[:3])
    assert not game.terminated
    play(game, BACK[3])
    assert game.terminated and not game.truncated and game.rewards == [0, 0]


def test_c10_a_position_after_a_pawn_counts_unless_it_can_be_taken(start: Start) -> None:
    game = play(start(GAME), "e2e4", *BACK, *BACK)
    assert game.terminated
    game = play(start(GAME, at("4k1n1/8/8/8/5p2/8/4P3/4K1N1 w - - 0 1")), "e2e4", *BACK, *BACK)
    assert not game.terminated
    assert play(game, BACK[0]).terminated  # the position after that, which has been there twice since


def test_c10_lost_rights_make_another_position(start: Start) -> None:
    game = play(start(GAME, at("4k1n1/p7/8/8/8/8/P7/R3K1N1 w Q - 0 1")), "a1b1", "g1f3", "b1a1", "f3g1", *BACK)
    assert not game.terminated and len(game.to_dict()["moves"]) == 7
    assert play(game, *BACK[:3]).terminated  # what stood after b1a1


def test_c10_equal_pieces_may_change_places(start: Start) -> None:
    fen = "4k3/p7/8/8/8/8/P7/1N2K1N1 w - - 0 1"
    ways = ("b1d2", "e1d1", "g1e2", "d1e1", "d2f3", "e1d1", "e2c3", "d1e1", "f3g1", "e1d1", "c3b1", "d1e1")
    game = play(start(GAME, at(fen)), *ways)
    assert game.observation(0)[14] == [[True] * 8] * 8


def test_c11_quiet_plies(start: Start) -> None:
    game = play(start(GAME, quiet_plies=3), "g1f3", "g1f3")
    assert not game.terminated
    assert play(game, "f3g1").terminated and game.rewards == [0, 0] and not game.truncated
    game = play(start(GAME, quiet_plies=3), "g1f3", "g1f3", "e2e4", "f3g1", "f3g1")
    assert not game.terminated
    mate = start(GAME, {"fen": "6k1/5ppp/8/8/8/8/8/4R2K w - - 99 70"})
    assert play(mate, "e1e8").rewards == [1, -1]
    drawn = play(start(GAME, {"fen": "6k1/5ppp/8/8/8/8/8/4R2K w - - 99 70"}), "e1e7")
    assert drawn.terminated and drawn.rewards == [0, 0]


def test_c12_observation(start: Start) -> None:
    game = start(GAME, {"fen": "k7/8/8/8/4Pp2/8/8/7K b - e3 0 5"})
    seen = [game.observation(player) for player in (0, 1)]
    shown = [{(k, f, r) for k in range(14) for f in range(8) for r in range(8) if planes[k][f][r]} for planes in seen]
    assert shown[0] == {(0, 4, 3), (5, 7, 0), (6, 5, 3), (11, 0, 7), (13, 4, 2)}
    assert shown[1] == {(0, 5, 4), (5, 0, 0), (6, 4, 4), (11, 7, 7), (13, 4, 5)}
    assert [planes[15][0][0] for planes in seen] == [False, True]
    game = start(GAME, {"fen": "1k6/8/8/8/8/8/7P/R3K3 w Q - 41 50"})
    assert [int(plane[3][3]) for plane in game.observation(0)[16:]] == [1, 0, 0, 1, 0, 1, 0]
    assert game.observation(1)[12][0] == [False] * 7 + [True]


@pytest.mark.slow  # compiles the step
def test_c13_dictionaries() -> None:
    env = te.make(GAME)
    state = env.init(1)
    for move in ("g1f3", "g1f3", "f3g1"):
        state = env.step(state, [number(move)])
    written = {"fen": "rnbqkb1r/pppppppp/5n2/8/8/8/PPPPPPPP/RNBQKBNR b KQkq - 3 2", "moves": ["g1f3", "g8f6", "f3g1"]}
    assert env.state_to_dict(state, 0) == written
    again = env.state_from_dicts([written])
    assert again.repeats.item() == 0 and again.ply.item() == 3 and again.reversible.item() == 3
    assert (again.history.numpy() == state.history.numpy()).all()
    assert env.step(again, [number("f3g1")]).repeats.item() == 1


@pytest.mark.parametrize(
    "wrong",
    (
        "",
        "8/8/8/8/8/8/8/8 w - - 0 1",
        "k6K/8/8/8/8/8/8/8 x - - 0 1",
        "k6K/8/8/8/8/8/8 w - - 0 1",
        "k6K/9/8/8/8/8/8/8 w - - 0 1",
        "k5PK/8/8/8/8/8/8/8 w - - 0 1",
        "k6K/8/8/8/8/8/8/8 w K - 0 1",
        "k6K/8/8/8/8/8/8/8 w - e6 0 1",
        "k6K/8/8/8/8/8/8/8 w - - 0 0",
        "k6R/8/8/8/8/8/8/7K w - - 0 1",
        "7k/b7/8/2p2P2/8/4K3/8/8 w - c6 0 1",  # before c7c5 the king on e3 stood attacked
        START + " 5",
    ),
)
def test_c13_impossible_positions(wrong: str) -> None:
    with pytest.raises(ValueError, match="is no state of 'chess': "):
        te.make(GAME).state_from_dicts([{"fen": wrong}])


@pytest.mark.parametrize("moves", (["g1f3"], ["b8c6", "a1a2", "g8f6"], [3], ["e2e4", "e7e5"], ["f3g1"] * 101))
def test_c13_impossible_moves(moves: list[Any]) -> None:
    fen = START.replace(" 0 1", " 4 9")
    with pytest.raises(ValueError, match="is no state of 'chess': moves"):
        te.make(GAME).state_from_dicts([{"fen": fen, "moves": moves}])


@pytest.mark.parametrize(
    ("placed", "moves", "message"),
    [
        ("4k3/8/8/8/8/8/5N2/4K3 b -", "f1f2", "must be moves of their pieces, got f1f2 of N"),
        ("4k3/8/8/8/8/8/5Q2/4K3 b -", "d1f2", "must be moves of their pieces, got d1f2 of Q"),
        ("4k3/8/8/8/8/8/5B2/4K3 b -", "f8f2", "must be moves of their pieces, got f8f2 of B"),
        ("4k3/8/8/8/8/8/5R2/4K3 b -", "a7f2", "must be moves of their pieces, got a7f2 of R"),
        ("4k3/8/8/8/8/7R/7P/4K3 b -", "h1h3", "must be moves of their pieces, got h1h3 of R"),
        ("4k3/8/8/8/8/8/8/4K3 b -", "c1e1", "must be moves of their pieces, got c1e1 of K"),
        ("4k3/8/8/8/8/8/8/4K3 w -", "c6e8", "must be moves of their pieces, got c6e8 of k"),
        ("4k3/8/8/8/8/8/8/4K2R b K", "g1h1", "must not be of a king or rook that may castle, got g1h1"),
        ("4k3/8/8/8/8/8/8/4K2R b K", "d1e1", "must not be of a king or rook that may castle, got d1e1"),
    ],
)
def test_c13_moves_that_no_piece_makes(placed: str, moves: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"is no state of 'chess': moves {message}"):
        te.make(GAME).state_from_dicts([{"fen": f"{placed} - 4 9", "moves": moves.split()}])


@pytest.mark.parametrize(("plies", "error"), ((0, ValueError), (101, ValueError), ("5", TypeError), (True, TypeError)))
def test_c14_impossible_fields(plies: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match=r"^quiet_plies must be"):
        te.make(GAME, quiet_plies=plies)


def test_c15_every_name_is_of_one_action() -> None:
    env = te.make(GAME)
    called = [name_of(action) for action in range(env.num_actions)]
    assert len(set(called)) == env.num_actions
