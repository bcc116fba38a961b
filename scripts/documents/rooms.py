"""Structure of the package: rooms, imports between them, and figures that tests bound.

The figures and the picture of .github/CONTRIBUTING.md, also the figures of another commit, or an update of the picture:

    python scripts/rooms.py
    python scripts/rooms.py --before 76009c4
    python scripts/rooms.py --write
"""

from __future__ import annotations

import argparse
import ast
import functools
import io
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Literal, NamedTuple

from documents import warm_step

ROOT = Path(os.environ.get("ROOMS_OF") or Path(__file__).parents[2])  # another one for `--before`
PACKAGE = ROOT / "tensor_envs"
CONTRIBUTING = ROOT / ".github" / "CONTRIBUTING.md"
BEGIN, END = "<!-- rooms: python scripts/rooms.py --write -->\n", "<!-- rooms end -->"
NO_COMMENTS = ("# type:", "# noqa", "# fmt:", "# ***")  # for tools, and titles of sections
MAX_NAMES, MAX_BRANCHES = 25, 12  # of a function that needs no comments
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
BRANCHES = (ast.If, ast.IfExp, ast.For, ast.While, ast.comprehension, ast.BoolOp, ast.Try, ast.match_case)
Use = Literal["module", "function", "type"]  # where an import runs: at import, in a call, for type checkers alone

# openings of a docstring that is no whole sentence and no noun phrase
FRAGMENTS = (
    "Of", "What", "Which", "Who", "Whose", "Those", "The same", "Where", "How", "In which", "By which", "When", "As",
    "With", "To", "From", "For", "Without", "If", "None", "Nobody", "Likewise",
)  # fmt: skip


class Import(NamedTuple):
    """Import of a module, or of a name from it."""

    module: str
    name: str
    use: Use


def name_of(path: Path) -> str:
    """Return the dotted name of a file's module."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@functools.cache
def modules() -> dict[str, Path]:
    """Return the files of the package by the names of their modules."""
    return {name_of(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def children(node: ast.AST) -> Iterator[ast.AST]:
    """Iterate over the statements directly within a statement. Expressions, which are most of a tree, hold none."""
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        yield from getattr(node, name, ())


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """Iterate over a module or a statement and all statements within it."""
    yield node
    for child in children(node):
        yield from statements(child)


@functools.cache
def parsed(path: Path) -> ast.Module:
    """Return the syntax tree of a file, which no caller may change."""
    return ast.parse(path.read_text())


@functools.cache
def imports(path: Path) -> tuple[Import, ...]:
    """Return all imports in a file."""

    def visit(node: ast.AST, use: Use) -> Iterator[Import]:
        for child in children(node):
            inner = use
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                inner = "function"
            elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                inner = "type"
            if isinstance(child, ast.Import):
                yield from (Import(alias.name, "", use) for alias in child.names)
            elif isinstance(child, ast.ImportFrom):
                assert child.module and not child.level, f"{path}: imports are absolute"
                yield from (Import(child.module, alias.name, use) for alias in child.names)
            else:
                yield from visit(child, inner)

    return tuple(visit(parsed(path), "module"))


@functools.cache
def public() -> dict[str, str]:
    """Return the modules that the package's public names come from."""
    result = imports(PACKAGE / "__init__.py")
    return {x.name: x.module for x in result if x.module.startswith("tensor_envs.")}


def uses(module: str, *kinds: Use) -> set[str]:
    """Return the package's modules that a module imports; a public name counts as the module that it comes from."""
    result = set()
    for imported, name, use in imports(modules()[module]):
        if imported.split(".")[0] == "tensor_envs" and use in kinds and name != "__version__":
            inner = f"{imported}.{name}"
            whole = imported == "tensor_envs" and inner not in modules()
            result.add(public()[name] if whole and name else inner if inner in modules() else imported)
    return result - {module}


@functools.cache
def chain(module: str) -> tuple[str, ...]:
    """Return the longest chain of imports, each at import time, that begins with a module."""
    chains = (chain(imported) for imported in sorted(uses(module, "module")))
    return (module, *max(chains, key=len, default=()))


def graph_of_modules() -> dict[str, set[str]]:
    """Return the modules that each module imports, also from within functions."""
    return {module: uses(module, "module", "function") for module in modules()}


def circles(graph: Mapping[str, Set[str]]) -> list[set[str]]:
    """Return sets of modules, or of rooms, that import each other in a circle."""
    reachable = {module: set(imported) for module, imported in graph.items()}
    for middle in graph:
        for module, reached in reachable.items():
            if middle in reached:
                reached |= reachable[middle]
                reachable[module] = reached
    inside = [module for module, reached in reachable.items() if module in reached]
    return [
        set(circle)
        for circle in {
            frozenset(x for x in inside if x in reachable[module] and module in reachable[x]) for module in inside
        }
    ]


def duplicate_classes() -> dict[str, list[str]]:
    """Return the modules of each top-level class name that is defined more than once."""
    result = defaultdict(list)
    for module, path in modules().items():
        for node in parsed(path).body:
            if isinstance(node, ast.ClassDef):
                result[node.name].append(module)
    return {name: where for name, where in result.items() if len(where) > 1}


def duplicate_constants(*rooms: str) -> dict[str, list[str]]:
    """Return the modules of these rooms that define the same constant or alias; none named: aliases of all rooms."""
    result = defaultdict(list)
    for module, path in modules().items():
        if rooms and module.split(".")[1:2] not in ([room] for room in rooms):
            continue
        for node in parsed(path).body:
            targets = (
                node.targets
                if isinstance(node, ast.Assign)
                else [node.target]
                if isinstance(node, ast.AnnAssign)
                else []
            )
            names = {x.id for target in targets for x in ast.walk(target) if isinstance(x, ast.Name)}
            for name in names:
                if not name.startswith("_") and (rooms or not name.isupper()):
                    result[name].append(module)
    return {name: where for name, where in result.items() if len(where) > 1}


class Docstring(NamedTuple):
    """Docstring, with its place and the kind of its owner."""

    place: str
    kind: Literal["module", "class", "property", "function"]
    text: str

    @property
    def is_fragment(self) -> bool:
        """Whether the docstring opens with a fragment."""
        return any(self.text.startswith(f"{opening} ") for opening in FRAGMENTS)


@functools.cache
def docstrings(path: Path) -> tuple[Docstring, ...]:
    """Return all docstrings of a file."""
    result = []
    for node in statements(parsed(path)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and (text := ast.get_docstring(node)):
            kind: Literal["module", "class", "property", "function"] = "function"
            if isinstance(node, (ast.Module, ast.ClassDef)):
                kind = "class" if isinstance(node, ast.ClassDef) else "module"
            elif any("property" in ast.unparse(decorator) for decorator in node.decorator_list):
                kind = "property"
            result.append(Docstring(f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 1)}", kind, text))
    return tuple(result)


@functools.cache
def code_lines(path: Path) -> frozenset[int]:
    """Return the numbers of the lines with code: no blanks, comments and docstrings."""
    text = path.read_text()
    lines = {n for n, line in enumerate(map(str.strip, text.splitlines()), 1) if line and not line.startswith("#")}
    for node in statements(parsed(path)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node) is not None:
            string = node.body[0]
            lines -= {*range(string.lineno, (string.end_lineno or 0) + 1)}
    return frozenset(lines)


@functools.cache
def parallel_assignments(path: Path) -> tuple[int, ...]:
    """Return the number of names of every assignment in a file of several values to as many names."""
    assignments = (node for node in statements(parsed(path)) if isinstance(node, ast.Assign))
    targets = [(target, node.value) for node in assignments for target in node.targets]
    return tuple(
        len(target.elts) for target, value in targets if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
    )


@functools.cache
def comment_lines(path: Path) -> frozenset[int]:
    """Return the numbers of lines that hold a comment alone; notes to tools and titles of sections do not count."""
    lines = enumerate(map(str.strip, path.read_text().splitlines()), start=1)
    return frozenset(number for number, line in lines if line.startswith("# ") and not line.startswith(NO_COMMENTS))


class DenseFunction(NamedTuple):
    """Function with more local names or branches than a reader keeps in mind; functions inside count with it."""

    place: str
    names: int
    branches: int
    code: int
    comments: int

    @property
    def is_explained(self) -> bool:
        """Whether one line in ten is a comment."""
        return self.comments >= (self.code + 5) // 10


def dense_functions(path: Path) -> tuple[DenseFunction, ...]:
    """Return the functions of a file with more than MAX_NAMES assigned names or MAX_BRANCHES branches."""
    result = []

    def visit(node: ast.AST) -> tuple[set[str], int]:
        """Return the assigned names and the number of branches of a part of the file."""
        names: set[str] = set()
        branches = int(isinstance(node, BRANCHES))
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        for child in ast.iter_child_nodes(node):
            inner, count = visit(child)
            names |= inner
            branches += count
        if isinstance(node, FUNCTIONS) and (len(names) > MAX_NAMES or branches > MAX_BRANCHES):
            lines = {*range(node.lineno, (node.end_lineno or 0) + 1)}
            place = f"{path.relative_to(PACKAGE)}:{node.lineno} {node.name}"
            code = len(lines & code_lines(path))
            comments = len(lines & comment_lines(path))
            result.append(DenseFunction(place, len(names), branches, code, comments))
        return names, branches

    visit(parsed(path))
    return tuple(result)


def room_of(module: str) -> str:
    """Return the room of a module: its folder, or its own name at the top level, where a `__main__` is the package."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] != "__main__" else "tensor_envs"


@functools.cache
def graph_of_rooms() -> dict[str, frozenset[str]]:
    """Return the rooms that each room imports at import time."""
    graph: dict[str, set[str]] = defaultdict(set)
    for module in modules():
        room = room_of(module)
        graph[room] |= {room_of(imported) for imported in uses(module, "module")} - {room}
    return {room: frozenset(imported) for room, imported in graph.items()}


@functools.cache
def below(room: str) -> frozenset[str]:
    """Return the rooms that a room imports, also through others."""
    direct = graph_of_rooms()[room]
    return direct.union(*map(below, direct))


@functools.cache
def height(room: str) -> int:
    """Return the floor of a room, from 1: one above the highest room that it imports."""
    return 1 + max(map(height, graph_of_rooms()[room]), default=0)


def picture() -> str:
    """Draw the rooms and their imports in Mermaid, without imports that follow from others."""
    graph = graph_of_rooms()
    lines = []
    for room in sorted(graph):
        if room != "tensor_envs":
            direct = graph[room].difference(*map(below, graph[room]))
            lines += [f"    {room} --> {lower}" for lower in sorted(direct)]
    return "```mermaid\ngraph TD\n" + "\n".join(lines) + "\n```\n"


def with_picture(text: str) -> str:
    """Return the text of CONTRIBUTING.md with the present picture."""
    return re.sub(f"{re.escape(BEGIN)}.*{re.escape(END)}", lambda _: BEGIN + picture() + END, text, flags=re.S)


def print_before(commit: str) -> None:
    """Print the figures of another commit."""
    done = subprocess.run(["git", "archive", commit, "tensor_envs"], cwd=ROOT, capture_output=True, check=False)
    if done.returncode:
        raise ValueError(f"--before must name a commit, got {commit!r}: {done.stderr.decode().strip()}")
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
            archive.extractall(folder, filter="data")
        print(f"*** {commit} ***\n", flush=True)
        path = os.pathsep.join((folder, str(Path(__file__).parents[1])))
        command = [sys.executable, "-c", "from documents.rooms import print_figures; print_figures()"]
        subprocess.run(command, cwd=folder, env=os.environ | {"ROOMS_OF": folder, "PYTHONPATH": path}, check=True)


def work(options: argparse.Namespace) -> None:
    """Print the figures of the package, or write the picture."""
    if options.write:
        CONTRIBUTING.write_text(with_picture(CONTRIBUTING.read_text()))
        return
    if options.before:
        print_before(options.before)
        print("\n*** now ***\n")
    print_figures()
    print(f"\n{picture()}", end="")


def print_figures() -> None:
    """Print lines by room, and the figures of imports, names and of a warm step."""
    rooms = defaultdict(list)
    for module in sorted(modules(), key=room_of):
        rooms[room_of(module)].append(modules()[module])
    rooms["all"] = [*modules().values()]
    print(f"{'room':14} files   code  lines  docstrings  fragments  parallel  comments")
    for room, paths in rooms.items():
        strings = [string for path in paths for string in docstrings(path)]
        code = sum(len(code_lines(path)) for path in paths)
        lines = sum(len(path.read_text().splitlines()) for path in paths)
        fragments = sum(string.is_fragment for string in strings)
        # assignments of several names and lines of comments, per 1,000 lines of code
        parallel = 1000 * sum(len(parallel_assignments(path)) for path in paths) / code
        comments = 1000 * sum(len(comment_lines(path)) for path in paths) / code
        counts = f"{len(paths):5} {code:6} {lines:6} {len(strings):11} {fragments:10}"
        print(f"{room:14} {counts} {parallel:9.1f} {comments:9.1f}")
    print(f"\nrooms: {len(graph_of_rooms())}, on {max(map(height, graph_of_rooms()))} floors")
    longest = [module.removeprefix("tensor_envs.") for module in max(map(chain, modules()), key=len)]
    print(f"longest chain of imports: {len(longest) - 1}\n  {' -> '.join(longest)}")
    print(f"circles: {circles(graph_of_modules()) or 'none'}")
    print(f"class names defined twice: {duplicate_classes() or 'none'}")
    dense = [function for path in modules().values() for function in dense_functions(path)]
    unexplained = [function.place for function in dense if not function.is_explained]
    limits = f"{MAX_NAMES} names or {MAX_BRANCHES} branches"
    print(f"functions over {limits}: {len(dense)}, unexplained: {unexplained or 'none'}")
    print(warm_step.line())


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    from tensor_envs._command import command_parser, run  # the package of `--before` may have none

    parser = command_parser("python scripts/rooms.py", __doc__)
    parser.add_argument("--before", metavar="COMMIT", help="also print the figures of another commit")
    parser.add_argument("--write", action="store_true", help="write the picture to .github/CONTRIBUTING.md")
    run(parser, work, arguments)
