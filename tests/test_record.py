"""Records of whole games: JSON lines and PGN, judged by python-chess; SGF is tested in `tests/games`."""

from __future__ import annotations

import io
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import chess
import chess.pgn
import numpy as np
import pytest

import tensor_envs as te
from tensor_envs.files.records import load_games
from tests.games.shared import shared_env


def random_game(name: str, seed: int, row: int = 0) -> te.Record:
    """Return the record of a game of the uniform policy."""
    env = shared_env(name)
    state, actions = env.init(1, seed, first_row=row), list[int]()
    while not (state.terminated.item() or state.truncated.item()) and len(actions) < 60:
        actions.append(int(te.agents.uniform(state).item()))
        state = env.step(state, [actions[-1]])
    game = te.record(env, actions, seed=seed, row=row)
    last = te.replay(game)
    assert (last.numpy()["rewards"] == state.numpy()["rewards"]).all() and last.ply.item() == state.ply.item()
    return game


@pytest.mark.few("kuhn_poker")
@pytest.mark.parametrize("name", te.registered())
def test_games_replay_from_json_lines(name: str, tmp_path: Path) -> None:
    game = random_game(name, seed=5, row=3)
    te.save_game(game, tmp_path / "game.jsonl")
    loaded = te.load_game(tmp_path / "game.jsonl")
    assert loaded == game == te.Record.from_json(game.to_json())
    te.replay(loaded)
    if len(game.actions) > 1:
        with pytest.raises(ValueError, match="another course: rewards of action 0 were"):
            te.replay(replace(game, rewards=((9.0,) * len(game.rewards[0]), *game.rewards[1:])))


def test_notes_and_no_action(tmp_path: Path) -> None:
    """A record without notes is written as before there were notes."""
    game = te.record(shared_env("tic_tac_toe"), [4, -1])
    assert (game.names, game.rewards[-1], game.terminated) == (("(1,1)", "-1"), (1.0, -1.0), True)
    assert "notes" not in game.to_json() and te.Record.from_json(game.to_json()).notes == {}
    noted = replace(game, notes={"players": ["a", "b"]})
    te.save_game(noted, tmp_path / "game.jsonl")
    assert te.load_game(tmp_path / "game.jsonl") == noted != game
    te.replay(noted)
    with pytest.raises(ValueError, match=r"action 0: it must be in -1\.\.8, got -2"):
        te.record(shared_env("tic_tac_toe"), [-2])


def read_by_python_chess(text: str) -> tuple[list[str], str]:
    game = chess.pgn.read_game(io.StringIO(text))
    assert game is not None and not game.errors
    return [move.uci() for move in game.mainline_moves()], game.headers["Result"]


@pytest.mark.few(1)
@pytest.mark.parametrize("start", [None, "4k3/P7/8/8/8/8/7p/4K3 b - - 3 40"])
def test_pgn_is_what_python_chess_reads_and_writes(start: str | None, tmp_path: Path) -> None:
    env = shared_env("chess")
    first = None if start is None else env.state_to_dict(env.state_from_dicts([{"fen": start}]))
    state = env.init(1, 3) if first is None else env.state_from_dicts([first])
    actions = []
    for _ in range(40):
        if state.terminated.item():
            break
        actions.append(int(te.agents.uniform(state).item()))
        state = env.step(state, [actions[-1]])
    game = te.record(env, actions, start=first)
    te.save_game(game, tmp_path / "game.pgn")
    text = (tmp_path / "game.pgn").read_text()
    names, result = read_by_python_chess(text)
    assert names == list(game.names) and result in ("*", "1-0", "0-1", "1/2-1/2")
    loaded = te.load_game(tmp_path / "game.pgn")
    assert (loaded.actions, loaded.rewards, loaded.names) == (game.actions, game.rewards, game.names)
    board = chess.Board() if start is None else chess.Board(start)
    other = chess.pgn.Game()
    other.setup(board)
    node: chess.pgn.GameNode = other
    for name in game.names:
        node.add_variation(next(iter(node.board().legal_moves))) if len(node.variations) else None
        node = node.add_main_variation(chess.Move.from_uci(name), comment="a comment (here) 1. e4")
    (tmp_path / "other.pgn").write_text(str(other))
    assert te.load_game(tmp_path / "other.pgn").actions == game.actions


def test_a_mate_in_pgn(tmp_path: Path) -> None:
    game = te.record(shared_env("chess"), ["f3", "e5", "g4", "Qh4#"])
    te.save_game(game, tmp_path / "mate.pgn")
    assert game.terminated and (tmp_path / "mate.pgn").read_text().endswith("1. f3 e5 2. g4 Qh4# 0-1\n")
    (tmp_path / "two.pgn").write_text(
        '[Event "A"]\n\n1. e4 $1 {king\'s pawn} (1. d4 (1. c4 c5) d5) 1... e5 *\n\n[Event "B"]\n\n1. d4 *\n'
    )
    assert te.load_game(tmp_path / "two.pgn").names == ("e2e4", "e7e5")


def test_wrong_records(tmp_path: Path) -> None:
    env, ttt = shared_env("chess"), te.make("tic_tac_toe")
    with pytest.raises(ValueError, match="action 1: no legal action of 'chess' is called 'e4'"):
        te.record(env, ["e4", "e4"])
    with pytest.raises(ValueError, match="over before action 5: 8"):
        te.record(ttt, [0, 3, 1, 4, 2, 8])
    with pytest.raises(ValueError, match=r"action 0: it must be in -1\.\.8, got 9"):
        te.record(ttt, [9])
    with pytest.raises(ValueError, match=r"must end with .jsonl or .txt for 'tic_tac_toe', got 'a.pgn'"):
        te.save_game(te.record(ttt, [0]), tmp_path / "a.pgn")
    for name, text, message in (
        ("a.jsonl", "{}", "holds no game that can be read: text must be a line of JSON"),
        ("b.pgn", "", "it is empty"),
        ("g.pgn", "{a comment}", "it has neither tags nor moves"),
        ("h.txt", "", "it is empty"),
        ("i.jsonl", "", "text must be a line of JSON"),
        ("c.pgn", "1. e4 (1. d4", "a variation has no end"),
        ("d.pgn", "1. e4 e4", "action 1: no legal action"),
        ("e.xyz", "(;)", "the file must be of a known game and end with .mat,"),
    ):
        (tmp_path / name).write_text(text)
        with pytest.raises(ValueError, match=message):
            te.load_game(tmp_path / name)
    with pytest.raises(TypeError, match="env must be of type Env, got 'chess'"):
        te.load_game(tmp_path / "d.pgn", "chess")  # type: ignore[arg-type]
    os.mkfifo(tmp_path / "f.pgn")
    with pytest.raises(ValueError, match="path must be a regular file, got "):
        te.load_game(tmp_path / "f.pgn")
    assert np.isfinite(te.record(ttt, []).rewards).all()


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("actions", 5), ("actions", [0.5]), ("actions", [0, 3]), ("game", {}), ("names", None), ("names", [1]),
        ("players", []), ("rewards", [["a", "b"]]), ("terminated", 1), ("start", [1]), ("seed", "1"), ("notes", 3),
        ("seed", True),
        ("rewards", [[10**400, 0]]), ("game", {"id": "hex", "version": 0, "illegal": "lose", "rules": None}),
        ("game", {"id": "hex", "version": 0, "illegal": "lose", "rules": ["size"]}),
    ],
)  # fmt: skip
def test_records_with_a_wrong_entry(name: str, value: Any) -> None:
    good = json.loads(te.record(te.make("tic_tac_toe"), [0]).to_json())
    assert te.Record.from_json(json.dumps(good)).actions == (0,)
    with pytest.raises(ValueError, match="text must be a line of JSON that holds a record: "):
        te.Record.from_json(json.dumps(good | {name: value}))


@pytest.mark.parametrize(("ending", "name"), [(".jsonl", "chess"), (".pgn", "chess"), (".txt", "othello")])
def test_files_may_begin_with_a_mark(ending: str, name: str, tmp_path: Path) -> None:
    """Programs of Windows write one before UTF-8."""
    env, path = shared_env(name), tmp_path / f"game{ending}"
    te.save_game(te.record(env, [env.action_to_string(19)] if name == "othello" else ["e4"]), path)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert len(te.load_game(path, env).actions) == 1


def test_a_record_keeps_its_own_start() -> None:
    env = te.make("tic_tac_toe")
    start = env.state_to_dict(env.step(env.init(1), [0]))
    game = te.record(env, [1], start=start | {"ply": np.int64(1)})
    text = game.to_json()
    start["board"] = []
    assert game.to_json() == text and te.Record.from_json(text) == game


def test_wrong_actions_and_lengths_of_records() -> None:
    env = te.make("tic_tac_toe")
    with pytest.raises(TypeError, match="action 1: it must be an int"):
        te.record(env, [0, 1.5])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="actions must be a list of numbers or names, got None"):
        te.record(env, None)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="game must have names of all its actions, got 0"):
        te.replay(replace(te.record(env, [0]), names=()))


def test_nested_text_is_no_record() -> None:
    with pytest.raises(ValueError, match="text must be a line of JSON"):
        te.Record.from_json("[" * 100_000)


def test_a_record_from_a_start_has_the_chance_of_its_row() -> None:
    env = shared_env("yahtzee")
    start = env.state_to_dict(env.init(1))
    games = [te.record(env, [0], start=start, row=row) for row in (0, 5, 5)]
    dice = [env.state_to_dict(te.replay(game))["dice"] for game in games]
    assert dice[0] != dice[1] == dice[2]


@pytest.mark.parametrize(
    "change",
    [
        {"rules": {"gravitation": True}},
        {"rules": {"gravity": "down"}},
        {"rules": {"shape": [3, 3]}},
        {"rules": 5},
        {"id": "no_such_game"},
        {"id": 7},
        {"illegal": None},
        {"version": 99},
    ],
)
def test_a_record_of_no_environment(change: dict[str, Any]) -> None:
    game = te.record(shared_env("tic_tac_toe"), [0, 3])
    with pytest.raises(ValueError, match=r"game must be of an environment that te\.make makes, got"):
        te.replay(replace(game, game={**game.game, **change}))


PGN = """; two games
[Event "one"]
[White "A [x]"]

1. e4 {[%clk 0:01]
[Note "of a player"] } e5 1/2-1/2

[Event "two"]
[FEN "4k3/8/8/8/8/8/8/4K2R w K - 0 1"]
1. O-O *
[Event "three"]

1. d4 *
"""


def test_all_games_of_a_file(tmp_path: Path) -> None:
    """A file of PGN, SGF or JSON lines has several games; the first is that of `load_game`."""
    expected = {
        "a.pgn": (PGN, [("e2e4", "e7e5"), ("e1g1",), ("d2d4",)]),
        "a.sgf": ("two (;GM[1]SZ[9];B[aa](;W[bb])(;W[cc])) (;GM[1]SZ[5]C[(\\]];B[bb])\n", [("A9", "B8"), ("B4",)]),
        "a.jsonl": ("\n".join(te.record(te.make("hex", size=3), [a]).to_json() for a in (1, 2)), [("b1",), ("c1",)]),
    }
    for name, (text, games) in expected.items():
        path = tmp_path / name
        path.write_text(text)
        found = load_games(path)
        assert [game.names for game in found] == games and te.load_game(path) == found[0]
    (tmp_path / "a.pgn").write_text(PGN.replace("1. d4", "1. d5"))
    with pytest.raises(ValueError, match=r"a\.pgn' holds no game that can be read: game 3: move 1, d5"):
        load_games(tmp_path / "a.pgn")
