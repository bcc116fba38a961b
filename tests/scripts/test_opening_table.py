"""scripts/opening_table.py turns published scores into the table that comes with connect four, and checks its input."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import numpy as np
import pytest

import tensor_envs as te
from opening_table import main as script
from tensor_envs._command import Failure
from tests.scripts.here import run_here
from tests.solve.searched import position

# The first position of the published file and its moves, columns from 1 at the left.
FIRST = "4432676799063, -66"
MOVES = "12121111"


def number(env: te.Env, state: te.State) -> int:
    own, other = env.observe(state).numpy().astype(np.int64)[0]
    return int(script.numbers(own[None], other[None])[0])


def scores_of(solution: te.SearchSolution, state: te.State) -> str:
    """Return the lines of a file of scores, without draws, in the published form."""
    values = solution.value(state)
    distances = solution.distance(state)
    lines = [
        f"{number(solution.env, state[np.array([i])])}, {values[i] * (script.WON - distances[i])}"
        for i in np.flatnonzero(values)
    ]
    return "\n".join(lines)


@pytest.mark.slow
def test_a_published_line() -> None:
    """Positions have the numbers of the published file, and the table that comes with the game has its scores."""
    env = te.make("connect_four")
    state = position(env, MOVES)
    published, score = (int(part) for part in FIRST.split(","))
    assert number(env, state) == published
    solution = te.solve(env, method="search")
    assert solution.value(state) == np.sign(score)
    assert solution.distance(state) == script.WON - abs(score)
    assert solution.nodes < 10


@pytest.mark.slow
def test_a_table_of_two_plies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All positions are in the table, with the scores of the file; what is not in the file is a draw."""
    monkeypatch.setattr(script, "PLIES", 2)
    solution = te.solve(te.make("connect_four"), method="search")
    state = script.positions(solution, 2)
    scores = tmp_path / "scores.csv"
    scores.write_text(scores_of(solution, state))
    path = tmp_path / "openings.safetensors"
    code, out, errors = run_here(script.main, [scores, "--file", path])
    assert (code, errors) == (0, "")
    assert f"{state.batch} positions of 2 plies" in out
    again = te.SearchSolution.load(path)
    assert (again.value(state) == solution.value(state)).all()
    assert (again.distance(state) == solution.distance(state)).all()
    assert again.nodes < 4 * state.batch


@pytest.mark.slow
def test_a_check_finds_a_wrong_score() -> None:
    """Without lines all positions are draws, which a search contradicts."""
    env = te.make("connect_four", rows=3, columns=4, k=3)
    state = env.init(1)
    solution = te.solve(env, method="search", memory=2**20)
    assert solution.value(state) != 0
    with pytest.raises(Failure, match=r"a search finds another score of \{'board'"):
        script.check(env, *script.bounds(solution, state, {}), argparse.Namespace(check=1, seed=0))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1, 2, 3", "line 1 of .*scores.csv must be a number, a comma and a score, got '1, 2, 3'"),
        ("a, 2", "line 1 of .*scores.csv must be a number, a comma and a score, got 'a, 2'"),
        ("5, 99", "SCORES has 1 positions that are not of 2 plies, such as 5"),
    ],
)
def test_bad_files(line: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(script, "PLIES", 2)
    scores = tmp_path / "scores.csv"
    scores.write_text(line)
    path = tmp_path / "openings.safetensors"
    code, out, errors = run_here(script.main, [scores, "--file", path])
    assert (code, out) == (2, "") and re.search(message, errors)
    assert not path.exists()


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    code, out, errors = run_here(script.main, [tmp_path / "scores.csv", "--file", "/no/folder/a"])
    assert (code, out) == (2, "") and "argument --file: /no/folder is no directory to write a to" in errors
