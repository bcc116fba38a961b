"""scripts/known_results.py computes small results, and a result that differs is an error."""

from dataclasses import replace
from pathlib import Path

import pytest

from known_results import main as script
from known_results.results import RESULTS
from tests.scripts.here import run_here


def test_small_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.md"
    monkeypatch.setattr(script, "RESULTS", [entry for entry in RESULTS if "3x3: " in entry.what and not entry.slow])
    code, out, errors = run_here(script.main, ["--all", "--write", page])
    assert (code, errors) == (0, "")
    assert "tic-tac-toe 3x3: complete games: 255,168; as in OEIS A061526; " in out
    rows = [line for line in page.read_text().splitlines() if line.startswith("| tic-tac-toe 3x3")]
    assert len(rows) == len(out.splitlines()) >= 3 and all("| the same | OEIS" in row for row in rows)


def test_one_that_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    known = replace(RESULTS[0], published=23, find=lambda: 24)
    monkeypatch.setattr(script, "RESULTS", [known, replace(known, source="")])
    code, out, errors = run_here(script.main, [])
    assert (code, out.count("; differs from OEIS"), out.count("; ours; ")) == (1, 1, 1)
    assert errors == "python scripts/known_results.py: error: 1 of 2 results differ from what is published\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--only", "tiddlywinks"], "must be part of a name, got 'tiddlywinks'; there are"),
        (["--only", "5x5: positions"], "add --all"),
        (["--write", "page.md"], "it needs --all, without --only"),
        (["--all", "--only", "2x2", "--write", "page.md"], "it needs --all, without --only"),
    ],
)
def test_selections_that_are_refused(arguments: list[str], message: str) -> None:
    code, out, errors = run_here(script.main, arguments)
    assert (code, out) == (2, "") and message in errors


@pytest.mark.slow
def test_all_that_take_seconds() -> None:
    assert run_here(script.main, [])[0] == 0
