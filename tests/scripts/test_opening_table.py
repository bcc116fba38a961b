"""scripts/opening_table.py searches to the end of a game, and checks its arguments before."""

from __future__ import annotations

from pathlib import Path

import pytest

import tensor_envs as te
from opening_table import main as script
from tests.scripts.here import run_here

FEW = ["tic_tac_toe", "--plies", "12", "--memory", "1000000"]


@pytest.fixture(autouse=True)
def _seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(script, "SECONDS", 10**6)


@pytest.mark.slow
def test_a_whole_game(tmp_path: Path) -> None:
    """The last plies have no positions; a file goes on with its own game alone."""
    path = tmp_path / "openings.safetensors"
    code, out, errors = run_here(script.main, [*FEW, "--file", path])
    assert (code, errors) == (0, "") and "ply 8: " in out and "ply 9: " not in out
    assert te.SearchSolution.load(path, 10**6).env.id == FEW[0]
    code, out, errors = run_here(script.main, ["connect_four", *FEW[1:], "--file", path])
    assert (code, out) == (2, "") and "is of <Env tic_tac_toe-v0" in errors


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--file", "/no/folder/a"), "argument --file: /no/folder is no directory to write a to"),
        (("--max-bytes", "2047"), "argument --max-bytes: must be in 2048..17179869184, got 2047"),
    ],
)
def test_bad_input(arguments: tuple[str, str], message: str) -> None:
    code, out, errors = run_here(script.main, [*FEW, *arguments])
    assert (code, out) == (2, "") and message in errors
