"""Chess on 5x5, Gardner's minichess: worked cases, and games beside the reference, Pgx and Fairy-Stockfish."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tensor_envs.games.chess import notation
from tests.games.chess.reference import GARDNER
from tests.games.conftest import start_reference, start_rules
from tests.games.lockstep import play_in_lockstep
from tests.games.pgx import play_beside_pgx
from tests.games.shared import shared_env

GAME = "gardner_chess"
SIDE: dict[str, Any] = {"side": 5}
COUNTS = [7, 53, 506, 4775, 52512]  # as Fairy-Stockfish counts
Start = Callable[..., Any]


def name_of(action: int) -> str:
    return notation.action_to_string(shared_env(GAME).rules, action)


def names(game: Any, start: str = "") -> set[str]:
    return {name for name in map(name_of, game.legal_actions()) if name.startswith(start)}


def play(game: Any, *moves: str) -> Any:
    """Play moves by their names, from the side of their player."""
    for move in moves:
        game.apply(next(action for action in game.legal_actions() if name_of(action) == move))
    return game


def test_c16_the_start(start: Start) -> None:
    game = start("chess", **SIDE)
    assert game.to_dict() == {"fen": GARDNER, "moves": []}
    assert names(game) == {"a2a3", "b2b3", "c2c3", "d2d3", "e2e3", "b1a3", "b1c3"}  # no pawn moves two squares
    assert (shared_env(GAME).num_actions, shared_env(GAME).observation_shape) == (1225, (21, 5, 5))


def test_c16_numbers(start: Start) -> None:
    """Actions are numbered as in Pgx: square 5 * file + rank, 49 planes each."""
    numbers = {name_of(action): action for action in range(shared_env(GAME).num_actions)}
    assert [numbers[name] for name in ("a2a3", "b1c3", "d4d5", "d4e5r", "d4c5n")] == [
        1 * 49 + 13, 5 * 49 + 48, 18 * 49 + 13, 18 * 49 + 1, 18 * 49 + 8,
    ]  # fmt: skip
    assert len(numbers) == 1225
    game = play(start("chess", **SIDE), "b1c3")
    assert numbers["b1c3"] in game.legal_actions()  # black's b5c3


# a position, from where, and where the piece may go
MOVES = {
    "queen": ("3k1/5/2Q2/5/K4", "c3", "b2 d4 e5 a5 b4 d2 e1 c1 c2 c4 c5 a3 b3 d3 e3"),
    "knight over the edge": ("4k/N4/4p/5/K4", "a4", "b2 c3 c5"),
    "rook on the last file": ("1k3/5/4R/5/K4", "e3", "e1 e2 e4 e5 a3 b3 c3 d3"),
    "bishop in the corner": ("4k/5/4p/5/K3B", "e1", "d2 c3 b4 a5"),
    "pawn at home": ("k4/5/1p3/P4/4K", "a2", "a3 b3"),
    "pawn becomes": ("2n1k/1P3/5/5/4K", "b4", "b5 b5r b5b b5n c5 c5r c5b c5n"),
    "pinned": ("k3r/5/4R/5/4K", "e3", "e2 e4 e5"),
}


@pytest.mark.parametrize("case", MOVES)
def test_c16_moves(start: Start, case: str) -> None:
    fen, square, to = MOVES[case]
    game = start("chess", {"fen": f"{fen} w - - 0 1"}, **SIDE)
    assert names(game, square) == {square + end for end in to.split()}


@pytest.mark.parametrize("colour", (0, 1))
def test_c16_promotions_and_mate(start: Start, colour: int) -> None:
    """A queen on the last rank gives mate, for either colour."""
    fen = ("k4/2P2/K4/5/5 w - - 0 1", "5/5/k4/2p2/K4 b - - 0 1")[colour]
    game = play(start("chess", {"fen": fen}, **SIDE), "c4c5")
    assert game.terminated and game.rewards == [1 - 2 * colour, 2 * colour - 1]
    assert game.to_dict()["fen"].split()[0] == ("k1Q2/5/K4/5/5", "5/5/k4/5/K1q2")[colour]


# pieces besides the kings, and whether they are too few
MATERIAL = {"": True, "N": True, "NN": False, "B.B": True, "BB": False, "P": False, "r": False}


@pytest.mark.parametrize("pieces", MATERIAL)
def test_c9_material(start: Start, pieces: str) -> None:
    row = pieces.replace(".", "1") + str(5 - len(pieces))
    game = play(start("chess", {"fen": f"k3r/4K/5/{row}/5 w - - 5 9"}, **SIDE), "e4e5")
    assert game.terminated == MATERIAL[pieces] and game.rewards == [0, 0]


def test_c10_repetition(start: Start) -> None:
    back = ("b1a3", "b1c3", "a3b1", "c3b1")
    game = play(start("chess", **SIDE), *back, *back[:3])
    assert not game.terminated
    assert game.to_dict()["moves"] == ["b1a3", "b5c3", "a3b1", "c3b5", "b1a3", "b5c3", "a3b1"]
    play(game, back[3])
    assert game.terminated and game.rewards == [0, 0]


def test_c13_dictionaries() -> None:
    env = shared_env(GAME)
    written = {"fen": "r1bqk/ppppp/n4/PPPPP/RNBQK b - - 3 2", "moves": ["b1c3", "b5a3", "c3b1"]}
    state = env.state_from_dicts([written])
    assert env.state_to_dict(state, 0) == written
    assert env.to_string(state).splitlines()[0] == "5 r . b q k"


@pytest.mark.parametrize(
    "wrong",
    (
        "rnbqk/ppppp/5/PPPPP/RNBQK w KQ - 0 1",
        "rnbqk/pppp1/4p/PPPPP/RNBQK w - e4 0 1",
        "rnbqk/ppppp/6/PPPPP/RNBQK w - - 0 1",
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w - - 0 1",
        "P3k/5/5/5/K4 w - - 0 1",
    ),
)
def test_c13_impossible_positions(wrong: str) -> None:
    with pytest.raises(ValueError, match="is no state of 'gardner_chess': fen must"):
        shared_env(GAME).state_from_dicts([wrong])


@pytest.mark.parametrize(("side", "error"), [(4, ValueError), (6, ValueError), (9, ValueError), ("5", TypeError)])
def test_c14_impossible_sides(side: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match=r"^side must be"):
        te.make("chess", side=side)


def test_c15_names() -> None:
    env = shared_env(GAME)
    state = env.state_from_dicts(["4k/1P3/5/5/K4 w - - 0 1", "K4/5/5/1p3/4k b - - 0 1"])
    for row, name in enumerate(("b4b5q", "b2b1q")):
        actions = {env.string_to_action(text, env.take(state, [row])) for text in (name, f"b{5 - 4 * row}=Q")}
        assert len(actions) == 1 and env.legal_actions(state, row)[actions.pop()] == name


def test_the_reference_plays_the_same_game() -> None:
    """Play the first plies of a game in plain Python beside the reference."""
    ours, theirs = (start("chess", seed=5, **SIDE) for start in (start_rules, start_reference))
    for ply in range(24):
        assert ours.legal_actions() == theirs.legal_actions(), ply
        if ply % 8 == 0:
            for player in range(2):
                assert np.array_equal(ours.observation(player), theirs.observation(player))
        action = ours.plain.uniform_action()
        ours.apply(action)
        theirs.apply(action)
        assert ours.to_dict() == theirs.to_dict() and ours.terminated == theirs.terminated
        if ours.terminated:
            break


@pytest.mark.slow
@pytest.mark.parametrize(("quiet_plies", "results"), [(3, {0}), (100, {1, 0, -1})])
def test_games_agree_with_the_reference(quiet_plies: int, results: set[int]) -> None:
    returns = play_in_lockstep("chess", batch=64, seed=4, observe_every=7, quiet_plies=quiet_plies, side=5)
    assert results <= set(returns[:, 0])


@pytest.mark.slow
def test_perft() -> None:
    assert te.perft(shared_env(GAME), len(COUNTS)).sequences[1:] == COUNTS


@pytest.mark.slow
@pytest.mark.extra("jax", "pgx")
def test_a_thousand_games_agree_with_pgx() -> None:
    ends = play_beside_pgx(shared_env(GAME), GAME, batch=1000, seed=3, differs=lambda now, other, row: "")
    assert {"won", "drawn"} <= ends.keys() and ends["won"] > 100


@pytest.mark.slow
@pytest.mark.extra("pyffish")
def test_positions_agree_with_fairy_stockfish() -> None:
    """Legal moves agree by name at every ply of the first 40 of some games."""
    engine = pytest.importorskip("pyffish")
    env = shared_env(GAME)
    state = env.init(100, 6)
    positions = [engine.start_fen("gardner")] * state.batch
    for _ in range(40):
        now = state.numpy()
        actions = te.agents.uniform(state).numpy()
        for row in np.flatnonzero(~now["terminated"]).tolist():
            legal = env.legal_actions(state, row)
            assert sorted(legal.values()) == sorted(engine.legal_moves("gardner", positions[row], [])), positions[row]
            positions[row] = engine.get_fen("gardner", positions[row], [legal[actions[row]]])
        state = env.step(state, actions)
    assert now["ply"].max() == 39


def test_games_in_files_name_their_board(tmp_path: Path) -> None:
    """A file of one board is never read as a game on the other."""
    env = shared_env(GAME)
    moves = ["a2a3", "b4a3", "d2d3", "a3b2", "d3c4", "b2a1q"]
    te.save_game(te.record(env, moves), tmp_path / "game.pgn")
    text = (tmp_path / "game.pgn").read_text()
    assert '[Variant "Gardner"]' in text and text.endswith("bxa1=Q *\n")
    again = te.load_game(tmp_path / "game.pgn")
    assert (again.game["rules"]["side"], [*again.names]) == (5, moves)
    with pytest.raises(ValueError, match="its variant is 'Gardner', and only chess can be read"):
        te.load_game(tmp_path / "game.pgn", shared_env("chess"))
    (tmp_path / "other.pgn").write_text("1. e4 e5 *")
    with pytest.raises(ValueError, match="its variant is '', and on 5x5 it must be 'Gardner'"):
        te.load_game(tmp_path / "other.pgn", env)


@pytest.mark.parametrize("move", ["a8a1", "h3a1", "h8a1"])
def test_moves_beyond_the_board_are_refused(move: str) -> None:
    with pytest.raises(ValueError, match=r"moves must be pairs of squares such as .*, got"):
        shared_env(GAME).state_from_dicts([{"fen": "4k/5/5/5/R3K b - - 3 5", "moves": [move]}])
