"""Floors of the package: permitted imports, the places that use tinygrad, and a cheap import that opens no device."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
import tomllib

import pytest

import tensor_envs as te
from documents.rooms import (
    CONTRIBUTING,
    PACKAGE,
    ROOT,
    Use,
    chain,
    circles,
    duplicate_classes,
    duplicate_constants,
    graph_of_modules,
    graph_of_rooms,
    imports,
    modules,
    name_of,
    uses,
    with_picture,
)
from documents.rooms import main as rooms
from documents.warm_step import warm_step
from tests.scripts.here import status

TOP_LEVEL = {"pyproject.toml", "tensor_envs", "tests", "scripts", "cube.png", "README.md", "LICENSE"}
# from the bottom up; a folder's floor holds all its modules but those that are named
FLOORS = [
    {"_validate", "_runtime.progress", "_runtime.pytree"},
    {"_compiler"},
    {"_runtime"},
    {"_runtime.jitted", "_runtime.exchange", "rules", "render", "files.arrays"},  # the language of rules; drawings
    {"ops"},
    {"_engine"},
    {"envs"},
    {"_command", "files"},
    {"games"},
    {"search", "solve"},
    {
        "equilibria",
        "train.own_network",
        "train.torch_network",
        "train.jax_network",
        "train.network",
        "train.architecture",
        "train.fused_source",
        "train.fused",
        "train.fused_gpu",
    },
    {"evaluation", "text"},
    {"adapters", "compare", "export", "lab", "new", "play", "referee", "testing", "train", "web"},
    {"", "__main__"},  # the public names, and the list of commands
]
RUNTIME = 2  # the floor of `_runtime`
MAX_ROOMS = 27
MAX_DEPTH = 12  # of a chain of imports
# The solver of Shed's cells consists of tensor programs, not of rules.
SOLVER = {f"tensor_envs.games.shed.{name}" for name in ("layers", "strata", "solve", "lookup", "tablebase", "oracle")}
# by rules of several games
SHARED = {
    f"tensor_envs.games._kit.{name}"
    for name in ("checks", "counts", "fen", "hex_stones", "hidden_stones", "houses", "past", "rule_files", "sets")
}
LANGUAGE = {"tensor_envs.rules", "tensor_envs._validate"}
LANGUAGE |= {f"tensor_envs.rules.{name}" for name in ("chance", "lists", "observation", "pieces", "plain", "spec")}
# names of tinygrad that any room may import
PUBLIC = {
    "Tensor",
    "Context",
    "UOp",
    "dtypes",
    "nn",
    "Device",
    "DType",
    "Ops",
    "AxisType",
    "AddrSpace",
    "GlobalCounters",
    "strong_dtype",
    "TRAINING",  # set by a Context while a network trains
    "tqdm",
}


NAMES = modules()
USES: tuple[Use, ...] = ("module", "function", "type")


def floor(module: str) -> int:
    parts = module.split(".")[1:]
    while ".".join(parts) not in set().union(*FLOORS):
        parts.pop()
    return next(k for k, names in enumerate(FLOORS) if ".".join(parts) in names)


def rule_modules() -> set[str]:
    """Return every game's `rules` and the modules of its folder that they use."""
    result: set[str] = set()
    waiting = [name_of(path) for path in PACKAGE.glob("games/*/rules.py")]
    while waiting:
        module = waiting.pop()
        if module not in result:
            result.add(module)
            folder = module.rpartition(".")[0]
            waiting += [name for name in uses(module, *USES) if name.startswith(f"{folder}.")]
    return result


def test_imports_only_from_lower_floors() -> None:
    for module in NAMES:
        for imported in uses(module, *USES):
            assert floor(imported) <= floor(module), f"{module} imports {imported}, which is on a higher floor"
        for imported, *_ in imports(NAMES[module]):
            assert imported.split(".")[0] not in ("tests", "scripts"), f"{module} imports {imported}"


def test_chains_of_imports_are_short() -> None:
    longest = max((chain(module) for module in NAMES), key=len)
    assert len(longest) - 1 <= MAX_DEPTH, " -> ".join(longest)


def test_rooms_are_few_and_none_import_each_other() -> None:
    assert len(graph_of_rooms()) <= MAX_ROOMS and not circles(graph_of_rooms())
    assert circles({"a": {"b"}, "b": {"a"}, "c": {"a"}}) == [{"a", "b"}]


def test_public_functions_hide_no_module_but_one() -> None:
    """`import tensor_envs.NAME` gives the module of that name; `solve` is also the room of a command."""
    functions = [name for name in te.__all__ if callable(getattr(te, name))]
    assert {name for name in functions if f"tensor_envs.{name}" in NAMES} == {"solve"}


def test_no_modules_import_each_other() -> None:
    """Imports for type checkers do not count: State and Env refer to each other."""
    assert not circles(graph_of_modules())


def test_a_class_has_a_name_of_its_own() -> None:
    assert not duplicate_classes()


def test_an_alias_has_a_name_of_its_own() -> None:
    """Folders of games are apart: each may have its own `Board`, as it has its `rules`."""
    found = duplicate_constants()
    assert {
        name: where for name, where in found.items() if not all(x.startswith("tensor_envs.games") for x in where)
    } == {}


def test_a_constant_has_a_name_of_its_own_in_the_core() -> None:
    """Each module that writes a file or keeps programs has a FORMAT; T is a type variable."""
    found = duplicate_constants("_compiler", "_runtime", "_engine", "rules", "ops", "search", "solve", "equilibria")
    assert found.keys() == {"FORMAT", "T"}


def test_the_picture_of_rooms_is_that_of_the_code() -> None:
    """`python scripts/rooms.py --write` updates the picture."""
    text = CONTRIBUTING.read_text()
    assert with_picture(text) == text and "graph TD" in text


def section(title: str) -> str:
    """Return the text of CONTRIBUTING.md from a heading to the next."""
    return CONTRIBUTING.read_text().split(f"## {title}\n")[1].split("\n## ")[0]


@pytest.mark.parametrize("title", ["add a rule field to a game", "add a kernel", "add a dialect"])
def test_walks_name_what_exists(title: str) -> None:
    """Each path in code font exists, and each other name stands in one of the files that are named."""
    walk = section(f"How to {title}")
    files = [ROOT / path for path in re.findall(r"`([\w/.]+/[\w.]*)`", walk)]
    assert len(files) >= 4 and all(path.exists() for path in files), [path for path in files if not path.exists()]
    text = "".join(path.read_text() for file in files for path in (file.glob("*.py") if file.is_dir() else [file]))
    text += "".join(path.read_text() for path in (PACKAGE / "_runtime").glob("*.py"))
    names = set(re.findall(r"`(_?[A-Z]{4,}[A-Z_]*|[A-Z][a-z]+|test_\w+|game_entry)`", walk))
    assert len(names) >= 2 and not [name for name in names if not re.search(rf"\b{name}\b", text)]


def test_the_glossary_is_short() -> None:
    terms = re.findall(r"^\| ([^|]+) \|", section("Glossary"), re.M)[2:]
    assert 10 < len(terms) <= 25 and terms == sorted(terms), terms


def test_a_warm_step_takes_one_lock_and_enters_few_modules() -> None:
    entered = warm_step()
    assert entered.locks == 1 and len(entered.modules) <= 13 and entered.modules["envs.env"] <= 3, entered


@pytest.mark.slow
def test_figures_of_another_commit_are_printed(capfd: pytest.CaptureFixture[str]) -> None:
    if subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, check=False).returncode:
        pytest.skip("there is no history of the code here")
    assert status(rooms, ["--before", "HEAD"]) == 0
    before, now = capfd.readouterr().out.split("*** now ***")
    for text in (before, now):
        assert "circles: none" in text and "a warm env.step takes 1 locks" in text
    assert status(rooms, ["--before", "nothing"]) == 2
    assert "--before must name a commit, got 'nothing'" in capfd.readouterr().err


def test_every_module_has_its_floor() -> None:
    """Only the package itself is on the top floor, and every listed name exists."""
    assert [module for module in NAMES if floor(module) == len(FLOORS) - 1] == ["tensor_envs", "tensor_envs.__main__"]
    folders = {".".join(module.split(".")[1:]) for module in NAMES}
    assert set().union(*FLOORS) <= folders


def test_rules_are_written_in_the_language() -> None:
    """Rules import the language, lines, argument checks, parts of the kit, their folder and the standard library."""
    for module in sorted(rule_modules()):
        game = module.split(".")[2]
        for imported, name, _ in imports(NAMES[module]):
            own = imported.startswith(f"tensor_envs.games.{game}") or imported in SHARED
            language = imported in LANGUAGE or imported.startswith("tensor_envs.ops.")
            standard = imported.split(".")[0] in sys.stdlib_module_names
            assert own or language or standard, f"{module} imports {name} from {imported}"


def test_every_rule_module_is_found() -> None:
    modules_of_rules = rule_modules()
    assert (
        len(modules_of_rules) > 20
        and "tensor_envs.games.shed.rules" in modules_of_rules
        and not modules_of_rules & SOLVER
    )


def test_nothing_of_tinygrad_in_a_game() -> None:
    for module in sorted(m for m in NAMES if m.startswith("tensor_envs.games.") and m not in SOLVER):
        assert not [name for name, *_ in imports(NAMES[module]) if name.split(".")[0] == "tinygrad"], module
        text = NAMES[module].read_text()
        for trace in ("UOp", "dtypes.", ".cast(", ".const_like(", ".logical_not(", "AddrSpace"):
            assert trace not in text, f"{module}: {trace}"


def test_tinygrads_inside_stays_in_one_room() -> None:
    for module in sorted(m for m in NAMES if floor(m) != RUNTIME and m not in SOLVER):
        for imported, name, _ in imports(NAMES[module]):
            if imported.split(".")[0] == "tinygrad":
                assert name in PUBLIC, f"{module} imports {name or 'all'} from {imported}"


def users(call: str) -> list[str]:
    return [name for name, path in NAMES.items() if re.search(rf"(?<!\w){call}\(", path.read_text())]


def test_touchpoints() -> None:
    assert users("TinyJit") == ["tensor_envs._runtime.capture"]
    assert users("custom_kernel") == ["tensor_envs._runtime.launch"]


def test_top_level() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout
    names = {line.split("/")[0] for line in listed.splitlines()}
    assert {name for name in names if not name.startswith(".")} <= TOP_LEVEL


def test_the_kit_is_plain_python() -> None:
    """The kit runs in a browser without NumPy."""
    for module in (name for name in NAMES if name.startswith("tensor_envs.games._kit")):
        for imported, *_ in imports(NAMES[module]):
            root, *_ = imported.split(".")
            assert root == "tensor_envs" or root in sys.stdlib_module_names, f"{module} imports {imported}"
            assert not imported.startswith("tensor_envs.games.") or ".games._kit" in imported, module


def test_every_game_is_complete() -> None:
    for folder in (p.parent for p in (PACKAGE / "games").glob("[!_]*/__init__.py")):
        entry = importlib.import_module(f"tensor_envs.games.{folder.name}").GAME
        for part in ("notation", "render"):
            entry.load(part)  # a module, or the rules class
            assert (folder / f"{part}.py").exists() == bool(getattr(entry, part)), f"{folder.name}: {part}"
        for part in ("RULES.md", "rules.py"):
            assert (folder / part).exists(), f"{folder.name} lacks {part}"
        for part in ("reference.py", "test_rulebook.py", "test_reference.py"):
            assert (ROOT / "tests" / "games" / folder.name / part).exists(), f"tests of {folder.name} lack {part}"


def test_import_is_quick_and_opens_no_device() -> None:
    code = (
        "import time; start = time.process_time(); import numpy, tinygrad; middle = time.process_time();"
        "import tensor_envs;"
        "import os; print((time.process_time() - middle) / (middle - start),"
        "len(tinygrad.Device._opened_devices), os.environ.get('DEV'))"
    )
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)}
    ratios = []
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        ratio, opened, device = done.stdout.split()
        assert (opened, device) == ("0", "None")
        ratios.append(float(ratio))
        if ratios[-1] < 1:  # other load can only lengthen it
            break
    assert min(ratios) < 1, "it takes longer than NumPy and tinygrad themselves"


def test_tests_of_extras_are_marked() -> None:
    """Without the mark `extra` no part of `.ci/run` has both the test and its package."""
    needs = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["dev"]
    everywhere = {re.match(r"[\w-]+", need)[0] for need in needs}  # type: ignore[index]
    alone = {"openenv", "verifiers"}  # each has an environment of its own there
    for path in (ROOT / "tests").rglob("test_*.py"):
        text = path.read_text()
        packages = set(re.findall(r"^(?:\w+ = |\w+: Any = )?pytest\.importorskip\(\"(\w+)", text, re.M))
        marked = re.search(r"^pytestmark = \[?\s*(.*\n)?.*pytest\.mark\.extra\(", text, re.M)
        assert packages <= everywhere | alone or marked, path
