"""Print a random sample of the package's docstrings, comments and identifiers.

A reader who marks what has to be read twice learns where the text is dense. The same seed gives the same places as
long as the code does not change:

    python scripts/sample_prose.py --seed 7
    python scripts/sample_prose.py --seed 7 --room solve --texts 40 --names 20
"""

from __future__ import annotations

import argparse
import ast
import random
import tokenize
from collections.abc import Iterator, Sequence
from pathlib import Path

from documents.rooms import NO_COMMENTS, ROOT, docstrings, modules, room_of
from tensor_envs._command import command_parser, run, whole

TEXTS, NAMES = 150, 100
Place = tuple[str, str]  # file and line, and the text there


def comments(path: Path) -> Iterator[Place]:
    """Yield every comment of a file, one on several lines as one."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    begin = 0
    last = -1
    parts = list[str]()
    for token in tokenize.generate_tokens(iter(lines).__next__):
        if token.type != tokenize.COMMENT or token.string.startswith(NO_COMMENTS):
            continue
        row, column = token.start
        is_alone = not token.line[:column].strip()
        if is_alone and row == last + 1:
            parts.append(token.string)
        else:
            if parts:
                yield f"{path.relative_to(ROOT)}:{begin}", "\n".join(parts)
            begin, parts = row, [token.string if is_alone else token.line.strip()]
        last = row if is_alone else -1
    if parts:
        yield f"{path.relative_to(ROOT)}:{begin}", "\n".join(parts)


def identifiers(path: Path) -> Iterator[Place]:
    """Yield every name that a file defines: of classes, functions, arguments and variables."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    names = set[tuple[int, str]]()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            names.add((node.lineno, node.name))
        elif isinstance(node, ast.arg):
            names.add((node.lineno, node.arg))
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add((node.lineno, node.id))
    for line, name in sorted(names):
        if name not in ("self", "cls", "_"):
            yield f"{path.relative_to(ROOT)}:{line}", f"{name:24} {lines[line - 1].strip()}"


def sample(places: Sequence[Place], count: int, seed: int) -> list[Place]:
    """Return some of the places, or all if they are fewer, in their order."""
    chosen = random.Random(seed).sample(range(len(places)), min(count, len(places)))
    return [places[k] for k in sorted(chosen)]


def work(options: argparse.Namespace) -> None:
    """Print a sample."""
    paths = [path for name, path in modules().items() if options.room in ("", room_of(name))]
    if not paths:
        rooms = ", ".join(sorted({room_of(name) for name in modules()}))
        raise ValueError(f"--room must be one of {rooms}, got {options.room!r}")
    texts = [(string.place, string.text) for path in paths for string in docstrings(path)]
    texts += [place for path in paths for place in comments(path)]
    names = [place for path in paths for place in identifiers(path)]
    print(f"*** {options.texts} of {len(texts)} docstrings and comments ***")
    for place, text in sample(texts, options.texts, options.seed):
        print(f"\n{place}\n    " + text.replace("\n", "\n    "))
    print(f"\n*** {options.names} of {len(names)} identifiers ***\n")
    for place, text in sample(names, options.names, options.seed):
        print(f"{text[:100]:100} {place}")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    parser = command_parser("python scripts/sample_prose.py", __doc__)
    parser.add_argument("--seed", type=whole(0), default=0, metavar="N", help="default: %(default)s")
    parser.add_argument("--room", default="", help="a folder or a module of the package; default: all")
    text = "number of docstrings and comments; default: %(default)s"
    parser.add_argument("--texts", type=whole(1), default=TEXTS, metavar="N", help=text)
    text = "number of identifiers; default: %(default)s"
    parser.add_argument("--names", type=whole(1), default=NAMES, metavar="N", help=text)
    run(parser, work, arguments)
