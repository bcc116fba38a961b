"""Type checkers on a user's program with the package installed: all types are complete, and mistakes are reported."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tensor_envs as te
from documents.known_games import STUB, stub
from tensor_envs import ops, search
from tests.types import program

ROOT, PROGRAM = Path(__file__).parents[2], Path(program.__file__)
INSTALL = ROOT / "scripts" / "documents" / "install.md"
MISTAKES = """
te.make("tic_tac_toe", illegal="no")
te.make("tic_tac_toe").init(4).nonsense
te.make("tic_tac_toe").step(te.make("tic_tac_toe").init(4), [0] * 4).pawns
te.make("tic_tac_toe").rules.nonsense
te.make("tic_tac_toe").action_space
te.VectorEnv(te.make("tic_tac_toe"), 4, autoreset="sometimes")
te.rollout(te.make("tic_tac_toe"), "greedy", 4, 9)
te.make("tic_tac_toe").init(4, device=5)
Field("left", high=3, kind="float")
te.jit(te.agents.uniform)("no state")
search.playout_policy(te.make("tic_tac_toe").init(4), 8, chance="closed")
te.evaluate(te.make("tic_tac_toe"), [te.agents.uniform] * 2, 2, seats="window")
te.jit(te.agents.uniform)(te.make("tic_tac_toe").init(4)).no_method_of_a_tensor()
"""


def run(*command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "MYPYPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-m", *command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.slow
def test_program_runs() -> None:
    program.main()


def test_program_names_everything() -> None:
    text = PROGRAM.read_text()
    for module, prefix in ((te, "te."), (te.agents, "te.agents."), (search, "search."), (ops, "ops.")):
        for name in module.__all__:
            assert re.search(rf"\b({re.escape(prefix)}{name}|import.*\b{name})\b", text), prefix + name


def test_the_games_are_those_of_the_stub() -> None:
    """`python scripts/known_games.py` writes it."""
    assert stub() == STUB.read_text()


@pytest.mark.slow
def test_mypy(tmp_path: Path) -> None:
    """mypy treats the package as installed with `follow_imports=silent`, which hides the package's own errors."""
    strict = ("mypy", "--strict", "--follow-imports=silent", "--cache-dir", str(tmp_path / "cache"))
    (config,) = re.findall(r"```toml\n(.*?)```", INSTALL.read_text(), re.DOTALL)
    (tmp_path / "pyproject.toml").write_text(config)
    copy = tmp_path / "program.py"
    copy.write_text(PROGRAM.read_text())
    done = run(*strict, "program.py", folder=tmp_path)
    assert done.returncode == 0, done.stdout
    copy.write_text(PROGRAM.read_text() + MISTAKES)
    done = run(*strict, "program.py", folder=tmp_path)
    seen = {int(line) for line in re.findall(r"program.py:(\d+): error", done.stdout)}
    assert seen == lines_of_mistakes(), done.stdout


@pytest.mark.extra("basedpyright")
def test_pyright(tmp_path: Path) -> None:
    """pyright in strict mode finds no partially unknown type."""
    (tmp_path / "program.py").write_text(PROGRAM.read_text())
    (tmp_path / "mistakes.py").write_text(PROGRAM.read_text() + MISTAKES)
    settings: dict[str, object] = {"typeCheckingMode": "strict", "extraPaths": [str(ROOT)], "include": ["*.py"]}
    settings["reportPrivateImportUsage"] = False  # of tinygrad's Tensor
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    command = ("basedpyright", "--outputjson", "--level", "error", "--pythonpath", sys.executable)
    errors = json.loads(run(*command, folder=tmp_path).stdout)["generalDiagnostics"]
    assert not [error for error in errors if error["file"].endswith("program.py")]
    seen = {error["range"]["start"]["line"] + 1 for error in errors}
    assert seen == lines_of_mistakes()


def lines_of_mistakes() -> set[int]:
    first = len(PROGRAM.read_text().splitlines()) + 2
    return set(range(first, first + MISTAKES.strip().count("\n") + 1))
