"""List the commands of this package: `python -m tensor_envs`."""

from __future__ import annotations

import argparse
import ast
import re
import shutil
import textwrap
from collections.abc import Sequence
from pathlib import Path

from tensor_envs._command import EXAMPLE, command_parser, run

FOLDER = Path(__file__).parent
TYPED = re.compile(r'parser = command_parser\("(python -m [\w. ]+)"')  # stands in the module of every command
MAX_WIDTH = 100  # characters of a line, also in a wider terminal


def commands() -> dict[str, str]:
    """Return commands as typed, each with the first line of its docstring, without importing the modules."""
    result = {}
    for path in FOLDER.rglob("*.py"):
        text = path.read_text("utf-8")
        for typed in TYPED.findall(text):
            result[typed] = (ast.get_docstring(ast.parse(text)) or "").split("\n")[0]
    return dict(sorted(result.items()))


def work(options: argparse.Namespace) -> None:
    width = min(MAX_WIDTH, shutil.get_terminal_size().columns)
    for typed, purpose in commands().items():
        print(typed)
        print(textwrap.fill(purpose, width, initial_indent=EXAMPLE, subsequent_indent=EXAMPLE))
    print("\nEach command prints its options and examples with --help.")


def main(arguments: Sequence[str] | None = None) -> None:
    run(command_parser("python -m tensor_envs", __doc__), work, arguments)


if __name__ == "__main__":
    main()
