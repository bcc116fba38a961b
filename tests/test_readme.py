"""What the README says is run: its Python, its commands, its table of games."""

import contextlib
import io
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import tensor_envs as te
from tensor_envs.core import registry

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", README, re.DOTALL)
PYTHON = [text for language, text in BLOCKS if language == "python"]
COMMANDS = [
    line.partition("#")[0].strip()
    for language, text in BLOCKS
    if language == "bash"
    for line in text.splitlines()
    if line.startswith("python scripts/")
]
MINUTES = ("50 50 50 50 50", "benchmark.py")  # what commands that take long have in them


@pytest.mark.parametrize("code", PYTHON, ids=range(len(PYTHON)))
def test_python(code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It runs, and prints what the comments behind `print` promise, where they quote it."""
    for package in re.findall(
        r"^(?:import|from) (gymnasium|pettingzoo)|adapters import (pettingzoo)", code, re.MULTILINE
    ):
        pytest.importorskip("".join(package))
    monkeypatch.setattr(registry, "_entries", {})  # games of its own are gone afterwards
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, {"__name__": "readme"})
    for promised in re.findall(r"print\(.*?\)\s+# (\[.*\])$", code, re.MULTILINE):
        assert promised in printed.getvalue()


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(c, marks=pytest.mark.slow if any(m in c for m in MINUTES) else ())
        for c in dict.fromkeys(COMMANDS)
    ],
)
def test_command(command: str, tmp_path: Path) -> None:
    script, *arguments = shlex.split(command)[1:]
    done = subprocess.run(
        [sys.executable, str(ROOT / script), *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_table_of_games() -> None:
    """Every game stands in it with its true figures."""
    rows = re.findall(r"^\| `(\w+)` \| (\d+) \| (\d+) \| (\d+) \|", README, re.MULTILINE)
    assert {row[0] for row in rows} == set(te.registered())
    for name, players, actions, size in rows:
        env = te.make(name)
        stated = (int(players), int(actions), int(size))
        assert stated == (env.num_players, env.num_actions, env.state_bytes), name
