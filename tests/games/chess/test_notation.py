"""Chess: names of moves in UCI and standard algebraic notation, judged by python-chess."""

from __future__ import annotations

from typing import Any

import chess
import numpy as np
import pytest

import tensor_envs as te
from tensor_envs.games.chess import notation, render
from tensor_envs.render.scene import scene
from tensor_envs.rules.plain import legal_actions
from tests.games.shared import shared_env

POSITIONS = [  # promotions, castling, en passant, several pieces of a kind, checks and mates
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R b KQkq - 0 1",
    "r2q1rk1/pP1p2pp/Q4n2/bbp1p3/Np6/1B3NBn/pPPP1PPP/R3K2R b KQ - 0 1",
    "rnbq1k1r/pp1Pbppp/2p5/8/2B5/8/PPP1NnPP/RNBQK2R w KQ - 1 8",
    "4k3/8/8/2pP4/8/8/8/4K3 w - c6 0 2",
    "4k3/8/8/8/2pP4/8/8/4K3 b - d3 0 2",
    "5k2/8/8/Q6Q/8/8/8/Q3K3 w - - 0 1",
    "6k1/5ppp/8/8/8/8/8/K2R4 w - - 0 1",
    "6k1/8/8/8/8/8/pp6/K7 w - - 0 1",
    "1n1n4/k1P5/8/8/8/8/8/K7 w - - 0 1",
]


def compare(state: te.State, i: int, board: chess.Board, played: int | None = None) -> None:
    """Compare the names of all legal moves, and the whole name of one or of all, with those of python-chess."""
    env = state.env
    names = env.legal_actions(state, i)
    assert set(names.values()) == {move.uci() for move in board.legal_moves}
    expected = {board.san(move).rstrip("+#"): move.uci() for move in board.legal_moves}
    spellings = env.spellings(state, i)
    assert {name: names[a] for name, a in spellings.items() if name in expected} == expected
    row = env.row(state, i)
    for action in names if played is None else [played]:
        san = board.san(chess.Move.from_uci(names[action]))
        assert notation.san(env.rules, action, row, list(names)) == san
        assert env.string_to_action(san, state, i) == env.string_to_action(names[action], state, i) == action


@pytest.mark.few(1)
@pytest.mark.parametrize("fen", POSITIONS)
def test_all_names_of_a_position(fen: str) -> None:
    env = shared_env("chess")
    compare(env.state_from_dicts([{"fen": fen}]), 0, chess.Board(fen))


def play(games: int, seed: int, names_every: int) -> int:
    """Play random games to their ends beside python-chess. Return the number of compared positions."""
    env = shared_env("chess")
    state, boards, compared = env.init(games, seed=seed), [chess.Board() for _ in range(games)], 0
    over = np.zeros(games, bool)
    ply = 0
    while not over.all():
        actions = te.agents.uniform(state).numpy()
        for i in np.flatnonzero(~over).tolist():
            if (ply + i) % names_every == 0:
                compare(state, i, boards[i], int(actions[i]))
                compared += 1
            boards[i].push_uci(notation.move_to_string(env.rules, int(actions[i]), env.row(state, i)))
        state = env.step(state, actions)
        values = state.numpy()
        over, ply = values["terminated"] | values["truncated"], ply + 1
    return compared


@pytest.mark.slow
def test_names_in_random_games() -> None:
    assert play(2, 3, 16) > 20


@pytest.mark.slow
def test_names_in_many_random_games() -> None:
    assert play(2000, 4, 64) > 5000


def test_names_without_a_position_are_an_error() -> None:
    env = shared_env("chess")
    for call in (
        lambda: env.action_to_string(0),
        lambda: env.string_to_action("e2e4"),
        lambda: te.text.parse(env, "e2e4"),
    ):
        with pytest.raises(ValueError, match="names of actions of 'chess' depend on the position: pass state"):
            call()
    state = env.init(1)
    with pytest.raises(ValueError, match="no legal action of 'chess' is called 'e7e5'; legal actions are called"):
        env.string_to_action("e7e5", state)
    with pytest.raises(ValueError, match="action must be legal in row 0, got 0; legal are"):
        env.action_to_string(0, state)


def test_long_algebraic_notation() -> None:
    env = shared_env("chess")
    state = env.init(1)
    for name in ("Ng1-f3", "Ng1f3", "Nf3", "g1f3"):
        assert env.legal_actions(state)[env.string_to_action(name, state)] == "g1f3"
    fen = "rnbq1bnr/pPppkppp/8/3p4/4P3/8/P1PP1PPP/RNBQKBNR w KQ - 0 1"
    state = env.state_from_dicts([{"fen": fen}])
    for name, move in (
        ("e4-e5", "e4e5"), ("e4xd5", "e4d5"), ("b7xa8=N", "b7a8n"), ("b7a8=Q", "b7a8q"), ("Qd1-g4+", "d1g4"),
    ):  # fmt: skip
        assert env.legal_actions(state)[env.string_to_action(name, state)] == move
        assert env.legal_actions(state)[te.text.parse(env, f"Move: {name}", state)] == move


def test_moves_that_are_not_legal() -> None:
    """They are illegal, not unreadable; a name that leaves the piece open is unreadable."""
    env = shared_env("chess")
    knights = env.state_from_dicts([{"fen": "4k3/8/8/8/8/5N2/8/1N2K3 w - - 0 1"}])
    assert env.legal_actions(knights)[te.text.parse(env, "Nfd2", knights)] == "f3d2"
    for state, answers in (
        (env.init(1), ("Move: Ke5", "e2-e5", "I play e7e5", "O-O", "0-0-0", "Qxf7#", "move: Ke5, not e4", "e7e8q",
                       "Ng1-e5", "I like e4 best.\nMove: **Nd4**")),
        (knights, ("Nad2", "Nb8")),
    ):  # fmt: skip
        for answer in answers:
            with pytest.raises(te.text.IllegalMove, match=r"is not legal; legal moves are "):
                te.text.parse(env, answer, state)
    for state, answer in ((knights, "Nd2"), (knights, "Nxd2"), (env.init(1), "e2e9"), (env.init(1), "the b-pawn")):
        with pytest.raises(ValueError, match="answer must name a move, got") as error:
            te.text.parse(env, answer, state)
        assert type(error.value) is ValueError


def test_answers_in_any_notation() -> None:
    env = shared_env("chess")
    state = env.step(env.init(1), [env.string_to_action("e4", env.init(1))])
    for answer in ("e7e5", "e5", "I reply with move: **e5**", "Move: e7e5!"):
        assert env.action_to_string(te.text.parse(env, answer, state), state) == "e7e5"
    assert "e7e5" in te.text.prompt(state) and "e2e4" not in te.text.prompt(state)
    bishops = env.state_from_dicts([{"fen": "4k3/8/8/8/8/2n5/1P1B4/4K3 w - - 0 1"}])
    assert env.action_to_string(te.text.parse(env, "bxc3", bishops), bishops) == "b2c3"
    assert env.action_to_string(te.text.parse(env, "Bxc3", bishops), bishops) == "d2c3"


def test_a_table_reads_a_position_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading checks a position, which takes most of the time of a page's first board."""
    env = te.make("chess")
    reads = list[str]()

    def read(rules: Any, game: dict[str, Any]) -> dict[str, Any]:
        reads.append(game["fen"])
        return notation.from_dict(rules, game)

    monkeypatch.setattr(render, "from_dict", read)
    fen = "8/P6k/8/8/8/8/p6K/8 {} - - 0 1"
    for colour, end in (("w", "a8"), ("b", "a1")):
        position = {"fen": fen.format(colour)}
        legal = legal_actions(env.rules, notation.from_dict(env.rules, position))
        shown = scene(env.rules, render, position, actions=legal)
        becomes = {shown["symbols"][a]: text for a, text in shown["phrases"].items() if "becomes" in text}
        assert becomes["♛"].endswith(f"to {end}, becomes a queen") and sorted(becomes) == ["♛", "♜", "♝", "♞"]
    assert len(reads) == 2
