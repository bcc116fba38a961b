"""Transcripts of Othello, connect four and tic-tac-toe: known games, round trips and errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tests.games.othello.reference import Reference as Othello
from tests.games.shared import shared_env
from tests.games.test_sgf import random_games

GAMES: list[tuple[str, dict[str, Any]]] = [
    ("othello", {}),
    ("connect_four", {}),
    ("connect_four", {"columns": 11, "rows": 3}),
    ("tic_tac_toe", {}),
    ("hyper_tic_tac_toe", {"shape": (2, 3, 4), "k": 3}),
    ("hyper_tic_tac_toe", {"shape": (5, 4), "k": 3}),
]


def loaded(text: str, folder: Path, env: te.Env) -> te.Record:
    (folder / "game.txt").write_text(text)
    return te.load_game(folder / "game.txt", env)


@pytest.mark.few("tic_tac_toe")
@pytest.mark.parametrize(("name", "fields"), GAMES)
def test_games_are_loaded_as_they_were_saved(name: str, fields: dict[str, Any], tmp_path: Path) -> None:
    env = shared_env(name, **fields)
    for game in random_games(env, 4, 9):
        te.save_game(game, tmp_path / "saved.txt")
        again = te.load_game(tmp_path / "saved.txt", env)
        assert (again.actions, again.rewards, again.terminated) == (game.actions, game.rewards, True)
        te.save_game(te.record(env, []), tmp_path / "begun.txt")
        assert te.load_game(tmp_path / "begun.txt", env).actions == ()
        spaced = " ".join((tmp_path / "saved.txt").read_text().upper()) if name == "tic_tac_toe" else None
        assert spaced is None or len(spaced) > 9


def test_passes_of_othello_follow_from_the_position(tmp_path: Path) -> None:
    """The reference engine, in plain Python, plays the squares of a transcript and passes where it must."""
    env, passes = shared_env("othello"), 0
    for game in random_games(env, 3, 4):
        te.save_game(game, tmp_path / "saved.txt")
        text = (tmp_path / "saved.txt").read_text().strip()
        assert "pass" not in text and text == "".join(name for name in game.names if name != "pass")
        reference, squares = Othello((0, 0)), [text[at : at + 2] for at in range(0, len(text), 2)]
        for square in squares:
            if reference.legal_actions() == [64]:
                reference.apply(64)
                passes += 1
            reference.apply(8 * (int(square[1]) - 1) + "abcdefgh".index(square[0]))
        last = env.state_to_dict(te.replay(te.load_game(tmp_path / "saved.txt", env)))
        assert last["board"] == reference.to_dict()["board"]
    assert passes


def test_known_games(tmp_path: Path) -> None:
    """The shortest game of Othello that leaves no white disc, and lines of connect four and tic-tac-toe."""
    env = shared_env("othello")
    game = loaded("F5D6C5F4E7F6G5E6E3\n", tmp_path, env)
    assert game.terminated and game.rewards[-1] == (1, -1)
    board = env.state_to_dict(te.replay(game))["board"]
    assert (board.count(1), board.count(-1)) == (13, 0)
    assert loaded("1 2 1 2 1 2 1", tmp_path, shared_env("connect_four")).rewards[-1] == (1, -1)
    cross = loaded("b2 a1 a3 c3 c1", tmp_path, shared_env("tic_tac_toe"))
    assert cross.names == ("(1,1)", "(2,0)", "(0,0)", "(0,2)", "(2,2)") and cross.rewards[-1] == (1, -1)
    assert loaded("h8 I9", tmp_path, shared_env("gomoku")).names == ("(7,7)", "(6,8)")
    assert te.record(shared_env("tic_tac_toe"), ["b2", "(2,0)"]).actions == (4, 6)


def test_errors_name_the_character(tmp_path: Path) -> None:
    for name, text, message in (
        ("othello", "f5 d6 x", "character 7: a move such as d3 must follow, got 'x'"),
        ("othello", "f5d6f5", "character 5, f5: action 2: no legal action of 'othello' is called 'f5'"),
        ("connect_four", "4a", "character 2: a move such as 4 must follow, got 'a'"),
        ("connect_four", "448", "character 3, 8: action 2: no legal action of 'connect_four' is called '8'"),
        ("tic_tac_toe", "a1d1", "character 3, d1: action 1: no legal action of 'tic_tac_toe' is called 'd1'"),
        ("tic_tac_toe", "a1a1", "character 3, a1: action 1: no legal action"),
    ):
        with pytest.raises(ValueError, match=message):
            loaded(text, tmp_path, shared_env(name))
    with pytest.raises(
        ValueError, match=r"env must be given for files that end with '\.txt', which may be of \w+, \w+, \w+"
    ):
        te.load_game(tmp_path / "game.txt")
    env = shared_env("othello")
    start = env.state_to_dict(te.replay(te.record(env, ["f5"])))
    with pytest.raises(ValueError, match="game must begin with the usual position, since a transcript has no other"):
        te.save_game(te.record(env, ["d6"], start=start), tmp_path / "game.txt")
    assert np.all(np.array(start["board"]) < 2)
