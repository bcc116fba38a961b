"""`python -m tensor_envs.new`: the folder of a game that passes its tests as it stands, and errors in one line."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import tensor_envs as te
from tensor_envs.envs import registry
from tensor_envs.new.__main__ import main
from tensor_envs.testing import CHECKS, check_dictionaries, check_pictures, check_rules
from tests.scripts.here import SCRIPTS, run_here

NAME, CLASS = "blocks_2x2", "Blocks2x2"
FILES = ["__init__.py", "reference.py", "rules.py", "test_rules.py"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Write a game's folder, which can be imported, and return its path."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(registry, "_entries", {})
    code, out, errors = run_here(main, [NAME])
    assert (code, errors) == (0, "") and f"python -m tensor_envs.play --env {NAME}:{CLASS}\n" in out
    assert [line for line in out.splitlines() if "wrote" in line] == [f"wrote {NAME}/{file}" for file in FILES]
    yield tmp_path / NAME
    for module in [module for module in sys.modules if module.split(".")[0] == NAME]:
        del sys.modules[module]


def test_the_game_agrees_with_its_reference(folder: Path) -> None:
    test = importlib.import_module(f"{NAME}.test_rules")
    for rule_fields in ({}, {"size": 3}):
        test.test_random_games_agree_with_the_reference(rule_fields)
    env = te.make(f"{NAME}:{CLASS}")
    assert te.make(NAME).plays_like(env) and [*folder.parent.iterdir()] == [folder]
    for check in (check_rules, check_dictionaries, check_pictures):
        assert check in CHECKS and check(env, 4, None)
    state = env.step(env.init(1), [env.string_to_action("c2")])
    assert env.to_string(state).splitlines()[:4] == ["stones", "  a b c d", "1 . . . .", "2 . . X ."]
    text = "".join(path.read_text() for path in folder.glob("*.py"))
    assert "my_game" not in text and "MyGame" not in text


@pytest.mark.parametrize(
    ("right", "wrong"),
    [("shift(pairs, 1, 0)", "shift(pairs, 0, 1)"), ("s.ply + 1 ==", "s.ply + 2 =="), ("[1, -1]", "[2, -2]")],
)
def test_its_test_finds_a_mistake(right: str, wrong: str, folder: Path) -> None:
    for path in folder.glob("r*.py"):
        path.write_text(path.read_text().replace(right, wrong))
    assert wrong in "".join(path.read_text() for path in folder.glob("*.py"))
    with pytest.raises(AssertionError, match=r"game \d+, ply \d+"):
        importlib.import_module(f"{NAME}.test_rules").test_random_games_agree_with_the_reference({})


@pytest.mark.slow
def test_the_folder_passes_its_tests(folder: Path) -> None:
    """The conformance test and the comparison pass as its author calls them, also from the folder itself."""
    for cwd, argument in ((folder.parent, NAME), (folder, ".")):
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", argument],
            cwd=cwd,
            env=os.environ | {"PYTHONPATH": str(SCRIPTS.parent)},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0 and "3 passed" in done.stdout, done.stdout


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("my-game", "name must be a Python identifier of lower case letters, digits and underscores, such as my_game"),
        ("2048", "name must be a Python identifier"),
        ("MyGame", "name must be a Python identifier"),
        ("../game", "name must be a Python identifier"),
        ("", "name must be a Python identifier of lower case letters, digits and underscores, such as my_game, got ''"),
        ("class", "name must be a Python identifier"),
        ("none", "name must be a Python identifier"),  # the class would be None
        ("here", "name must be that of a new folder, and {folder}/here exists"),
        ("random", "name must be new, and there is a module or a game 'random'"),
        ("hex", "name must be new, and there is a module or a game 'hex'"),
        ("grid", "name must leave Grid to the language of rules, got 'grid'"),
    ],
)
def test_names_that_cannot_be(name: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here").write_text("mine")
    code, out, errors = run_here(main, [name])
    assert (code, out) == (2, "") and errors.count("\n") == 1
    assert errors.startswith(f"python -m tensor_envs.new: error: {message.format(folder=tmp_path)}"), errors
    assert [*tmp_path.iterdir()] == [tmp_path / "here"] and (tmp_path / "here").read_text() == "mine"


def test_a_folder_is_whole_or_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no place to write, or no more of it after the first file."""
    monkeypatch.chdir("/proc")
    code, _, errors = run_here(main, [NAME])
    message = f"[Errno 2] cannot write the game: No such file or directory: '/proc/{NAME}'"
    assert (code, errors) == (2, f"python -m tensor_envs.new: error: {message}\n")
    monkeypatch.chdir(tmp_path)
    write = Path.write_text
    calls = []

    def full(path: Path, text: str, encoding: str) -> int:
        calls.append(path)
        if len(calls) > 1:
            raise OSError(28, "No space left on device")
        return write(path, text, encoding)

    monkeypatch.setattr(Path, "write_text", full)
    code, _, errors = run_here(main, [NAME])
    assert code == 2 and f"cannot write the game: No space left on device: '{tmp_path / NAME}'" in errors
    assert len(calls) == 2 and not [*tmp_path.iterdir()]
