"""README and the pages that it links: their Python and commands run; the table of games and the links are right."""

import contextlib
import io
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import tensor_envs as te
from tensor_envs import registry

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
DOCUMENTS = [ROOT / "README.md", *sorted(ROOT.glob("scripts/**/README.md"))]
DOCUMENTS += sorted(ROOT.glob("scripts/documents/*.md"))
DOCUMENTS += [path for name in ("GUIDE", "README") for path in sorted(ROOT.glob(f"tensor_envs/**/{name}.md"))]
LENGTH = 114  # upper bound of lines in the README, beside those of the table of games
BLOCKS = [
    (str(path.relative_to(ROOT)), language, text)
    for path in DOCUMENTS
    for language, text in re.findall(r"```(\w+)\n(.*?)```", path.read_text(), re.DOTALL)
]
PYTHON = [(path, text) for path, language, text in BLOCKS if language == "python"]
COMMANDS = [
    line.partition("#")[0].strip()
    for _, language, text in BLOCKS
    if language == "bash"
    for line in text.splitlines()
    if line.startswith("python scripts/")
]
LONG = ("50 50 50 50 50", "--shape 3 3 3 3", "--shape 4 4 4", "benchmark.py")  # parts of commands that take long
TRAINING = ("nn.optim", "te.train.", "te.lab.variants")  # parts of programs that take long


def test_documents() -> None:
    """The README is short, and links all other documents."""
    assert len(README.splitlines()) <= LENGTH + len(te.registered())
    names = {path.name for path in ROOT.glob("scripts/documents/*.md")}
    assert {path.name for path in DOCUMENTS} == names | {"README.md", "GUIDE.md"} and len(DOCUMENTS) >= 11
    assert len(PYTHON) >= 12 and len(COMMANDS) >= 5
    linked = {(ROOT / link).resolve() for link in re.findall(r"\]\(([^)#]+)", README) if "://" not in link}
    inner = {ROOT / "tensor_envs" / room / "README.md" for room in ("_compiler", "_runtime")}
    assert set(DOCUMENTS) <= linked | inner | {ROOT / "README.md"}


@pytest.mark.parametrize("path", [*DOCUMENTS, ROOT / ".github" / "CONTRIBUTING.md"], ids=str)
def test_links(path: Path) -> None:
    for link, anchor in re.findall(r"\]\(([^)#]*)#?([^)]*)\)", path.read_text()):
        if "://" not in link:
            linked = path.parent / link if link else path
            assert linked.exists(), link
            titles = re.findall(r"^#+ (.*)$", linked.read_text(), re.M) if anchor else []
            anchors = {re.sub(r"[^\w -]", "", title).lower().replace(" ", "-") for title in titles}
            assert not anchor or anchor in anchors, anchor


@pytest.mark.parametrize(
    ("path", "code"),
    [
        pytest.param(
            path, code, id=f"{path}-{i}", marks=pytest.mark.slow if any(part in code for part in TRAINING) else ()
        )
        for i, (path, code) in enumerate(PYTHON)
    ],
)
def test_python(path: str, code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each block of Python runs, and prints what its comments quote."""
    imported = r"^(?:import|from) (gymnasium|sb3_contrib|torch\w*|pyspiel)|adapters import (pettingzoo)|\.(torch)\(\)"
    for package in re.findall(imported, code, re.MULTILINE):
        pytest.importorskip("".join(package))
    monkeypatch.setattr(registry, "_entries", {})  # custom games are removed afterwards
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, {"__name__": "readme"})
    for promised in re.findall(r"print\(.*?\)\s+# (\[.*\])$", code, re.MULTILINE):
        assert promised in printed.getvalue()


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(c, marks=pytest.mark.slow if any(part in c for part in LONG) else ())
        for c in dict.fromkeys(COMMANDS)
    ],
)
def test_command(command: str, tmp_path: Path) -> None:
    script, *arguments = shlex.split(command)[1:]
    done = subprocess.run(
        [sys.executable, str(ROOT / script), *arguments], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_table_of_games() -> None:
    """The table lists every game with its figures and a link to its rules."""
    rows = re.findall(r"^\| \[`(\w+)`\]\(\S+\) \| (\d+) \| (\d+) \|", README, re.M)
    assert {row[0] for row in rows} == set(te.registered())
    for name, players, actions in rows:
        env = te.make(name)
        assert (int(players), int(actions)) == (env.num_players, env.num_actions), name
