"""The package's floors: who may import whom; files of one sitting; an import that costs little and opens nothing."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "tensor_envs"
MODULES = sorted(PACKAGE.rglob("*.py"))
LINES_OF_ONE_SITTING = 400
TOP_LEVEL = {"pyproject.toml", "tensor_envs", "tests", "scripts", "cube.png", "README.md", "LICENSE"}


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path: Path) -> list[str]:
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.append(node.module)
    return found


def rule_modules() -> set[str]:
    """Every game's `rules` and the modules of its folder that it is made of."""
    found: set[str] = set()
    waiting = [name_of(path) for path in PACKAGE.glob("games/*/rules.py")]
    while waiting:
        module = waiting.pop()
        if module not in found:
            found.add(module)
            folder = module.rpartition(".")[0]
            path = ROOT / (module.replace(".", "/") + ".py")
            waiting += [name for name in imports(path) if name.startswith(folder + ".")]
    return found


RULES = rule_modules()


def floor(module: str) -> int:
    """0 data and drawing, 1 ops and core, 2 rules, 3 what else a game has, 4 the rest of the package."""
    parts = module.split(".")
    if parts[1:2] == ["render"] or parts[3:4] == ["data"]:
        return 0
    if parts[1:2] in (["ops"], ["core"]):
        return 1
    if parts[1:2] == ["games"]:
        return 3 if len(parts) > 3 and module not in RULES else 2
    return 4


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_only_from_lower_floors(path: Path) -> None:
    module = name_of(path)
    if module == "tensor_envs":
        return
    for imported in imports(path):
        if imported.startswith("tensor_envs"):
            assert floor(imported) <= floor(module), (
                f"{module} imports {imported}, which is on a higher floor"
            )
        assert not imported.startswith(("tests", "scripts")), f"{module} imports {imported}"


@pytest.mark.parametrize("module", sorted(RULES))
def test_rules_stand_alone(module: str) -> None:
    """Neither NumPy nor rendering nor another game, and no tensor's value read on the host."""
    path = ROOT / (module.replace(".", "/") + ".py")
    game = module.split(".")[2]
    for imported in imports(path):
        assert not imported.startswith(("numpy", "tensor_envs.render")), f"{module} imports {imported}"
        other = imported.startswith("tensor_envs.games.") and imported.split(".")[2] != game
        assert not other, f"{module} imports another game"
    for read in (".item(", ".numpy(", ".tolist("):
        assert read not in path.read_text(), f"{module} reads a value on the host"


def test_top_level() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout
    names = {line.split("/")[0] for line in listed.splitlines()}
    assert {name for name in names if not name.startswith(".")} <= TOP_LEVEL


def test_every_game_is_complete() -> None:
    for folder in (p for p in (PACKAGE / "games").iterdir() if (p / "__init__.py").exists()):
        for part in ("RULES.md", "rules.py", "notation.py", "render.py"):
            assert (folder / part).exists(), f"{folder.name} lacks {part}"
        for part in ("reference.py", "test_rulebook.py", "test_reference.py"):
            assert (ROOT / "tests" / "games" / folder.name / part).exists(), (
                f"tests of {folder.name} lack {part}"
            )


def test_only_one_module_uses_tinyjit() -> None:
    users = [name_of(p) for p in MODULES if "TinyJit(" in p.read_text()]
    assert users == ["tensor_envs.core.replay"]


@pytest.mark.parametrize("folder", ["tensor_envs", "tests", "scripts"])
def test_files_can_be_read_in_one_sitting(folder: str) -> None:
    for path in (ROOT / folder).rglob("*.py"):
        lines = path.read_text().count("\n")
        assert lines <= LINES_OF_ONE_SITTING, f"{path.relative_to(ROOT)} has {lines} lines"


def test_import_is_quick_and_opens_no_device() -> None:
    code = (
        "import time; start = time.process_time(); import tensor_envs; seconds = time.process_time() - start;"
        "import os, tinygrad; print(seconds, len(tinygrad.Device._opened_devices), os.environ.get('DEV'))"
    )
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)}
    times = []
    for _ in range(3):
        done = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
        )
        seconds, opened, device = done.stdout.split()
        assert (opened, device) == ("0", "None")
        times.append(float(seconds))
    assert min(times) < 0.5, times
