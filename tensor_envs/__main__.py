"""List the commands of this package: `python -m tensor_envs`."""

from __future__ import annotations

import argparse
import ast
import shutil
import textwrap
from collections.abc import Sequence
from pathlib import Path

from tensor_envs._command import EXAMPLE, command_parser, run

FOLDER = Path(__file__).parent
CALL = "parser = command_parser("  # in every module that is a command
MAX_WIDTH = 100  # characters of a line, also in a wider terminal


def commands() -> dict[str, str]:
    """Return the first line of every command's docstring by the command's name, without importing it."""
    result = {}
    for path in sorted(FOLDER.rglob("*.py")):
        text = path.read_text("utf-8")
        if CALL in text and path.parent != FOLDER:
            place = path.parent if path.stem == "__main__" else path.with_suffix("")
            name = ".".join((FOLDER.name, *place.relative_to(FOLDER).parts))
            result[name] = (ast.get_docstring(ast.parse(text)) or "").split("\n")[0]
    return result


def work(options: argparse.Namespace) -> None:
    width = min(MAX_WIDTH, shutil.get_terminal_size().columns)
    for name, purpose in commands().items():
        print(f"python -m {name}")
        print(textwrap.fill(purpose, width, initial_indent=EXAMPLE, subsequent_indent=EXAMPLE))
    print("\nEach command prints its options and examples with --help.")


def main(arguments: Sequence[str] | None = None) -> None:
    run(command_parser("tensor_envs", __doc__), work, arguments)


if __name__ == "__main__":
    main()
