"""The programs of the exporter's page compile and run as the page says, and print the promised output."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import tensor_envs
from tensor_envs.export import export
from tensor_envs.export.files import PURPOSE

PAGE = (Path(tensor_envs.__file__).parent / "export" / "README.md").read_text()
PROGRAMS = [Path(__file__).with_name(f"main.{suffix}") for suffix in ("c", "rs", "mjs")]
COMMANDS = [line for block in re.findall(r"```bash\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()]
# the system's compiler, if any: zig builds a C library before it links its first program, which takes 20 s
COMPILER = [shutil.which("cc")] if shutil.which("cc") else [sys.executable, "-m", "ziglang", "cc"]
SHIMS = {"python": [sys.executable], "cc": [*COMPILER, "-Wall", "-Wextra", "-Werror"]}


@pytest.mark.slow
def test_every_program_prints_what_the_page_says(tmp_path: Path) -> None:
    for path in PROGRAMS:
        shutil.copy(path, tmp_path)
    for name, command in SHIMS.items():
        (tmp_path / name).write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n')
        (tmp_path / name).chmod(0o755)
    root = str(Path(tensor_envs.__file__).parents[1])
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": root}
    checked = []
    for line in COMMANDS:
        command, _, promised = (part.strip() for part in line.partition("#"))
        if not all(shutil.which(tool) for tool in ("rustc", "node") if tool in command):
            continue
        done = subprocess.run(
            ["sh", "-c", command], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stdout.strip(), done.stderr) == (0, promised, ""), command
        checked.append(command)
    assert len(checked) == len(COMMANDS) - (not shutil.which("rustc")) - (not shutil.which("node"))


def test_the_page_links_its_programs_and_quotes_one() -> None:
    assert re.findall(r"\]\(\S+/export/(main\.\w+)\)", PAGE) == [path.name for path in PROGRAMS]
    (code,) = re.findall(r"```c\n(.*?)```", PAGE, re.DOTALL)
    assert code in PROGRAMS[0].read_text()


def test_every_function_is_in_the_table() -> None:
    assert re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE) == [*PURPOSE]


def test_arguments_are_those_of_the_file(tmp_path: Path) -> None:
    export("connect_four", "c", tmp_path / "game.c")
    text = (tmp_path / "game.c").read_text()
    for function, listed in re.findall(r"^\| `(\w+)` \| ([\w, ]+) \|", PAGE, re.MULTILINE):
        (arguments,) = re.findall(rf"^void connect_four_{function}\((.*)\);$", text, re.MULTILINE)
        assert [argument.split()[-1].strip("*") for argument in arguments.split(", ")] == listed.split(", ")
