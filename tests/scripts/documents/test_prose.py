"""scripts/sample_prose.py prints docstrings, comments and identifiers, the same ones for a seed."""

from __future__ import annotations

from pathlib import Path

import pytest

from documents import prose
from tests.scripts.here import run_here

CODE = '''"""Module."""
# one
# two
LIMIT = 3  # of games


def play(games: int) -> int:
    # alone
    total = games  # type: ignore[assignment]
    return total
'''


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(prose, "ROOT", tmp_path)
    path = tmp_path / "a.py"
    path.write_text(CODE)
    return path


def test_comments_are_joined_and_directives_left_out(file: Path) -> None:
    assert list(prose.comments(file)) == [
        ("a.py:2", "# one\n# two"),
        ("a.py:4", "LIMIT = 3  # of games"),
        ("a.py:8", "# alone"),
    ]


def test_identifiers_are_those_that_are_defined(file: Path) -> None:
    names = sorted(text.split()[0] for _, text in prose.identifiers(file))
    assert names == ["LIMIT", "games", "play", "total"]


def test_a_seed_gives_a_sample() -> None:
    few = ["--texts", "4", "--names", "3", "--room", "solve"]
    code, out, errors = run_here(prose.main, ["--seed", "7", *few])
    assert (code, errors) == (0, "") and out.startswith("*** 4 of ")
    assert out.count("\ntensor_envs/solve/") == 4 and len(out.split("identifiers ***\n\n")[1].splitlines()) == 3
    assert run_here(prose.main, ["--seed", "7", *few])[1] == out != run_here(prose.main, ["--seed", "8", *few])[1]


def test_another_room_is_refused() -> None:
    code, out, errors = run_here(prose.main, ["--room", "cellar"])
    assert (code, out) == (2, "") and "--room must be one of " in errors and "got 'cellar'" in errors
