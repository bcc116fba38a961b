"""One name an argument: what CONTRIBUTING lists has one type in every public function."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import tensor_envs as te

PAGE = Path(__file__).parents[1] / ".github" / "CONTRIBUTING.md"
MODULES = ("search", "lab", "ops", "referee", "text", "train", "export", "compare", "testing", "web")
AGENTS = "evaluation.agents"  # which is `te.agents`
FORMER = {"i": "row", "n": "num_simulations or num_playouts", "num_games": "games", "lam": "gae_lambda"}
# the number that a function is about, which has no other name in its field
EXEMPT = {"te.set_num_threads(n)", "te.ops.kronecker_delta(n)", "te.Chance.draw(n)"}


def table() -> dict[str, set[str]]:
    """Return the types of each argument in the page's table."""
    _, _, page = PAGE.read_text().partition("## Arguments")
    rows = re.findall(r"^\| `(\w+)` \| (.+?) \| ", page.partition("## ")[0], flags=re.MULTILINE)
    return {name: set(re.findall(r"`([^`]+)`", types.replace("\\|", "|"))) for name, types in rows}


def functions(module: ModuleType, name: str) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield the public functions of a module and the methods of its classes, with their names."""
    for member in getattr(module, "__all__", ()):
        value = getattr(module, member, None)
        if inspect.isfunction(value):
            yield f"{name}.{member}", value
        elif inspect.isclass(value) and value.__module__.startswith("tensor_envs"):
            for method, written in vars(value).items():
                function = getattr(written, "__func__", written)
                if inspect.isfunction(function) and not method.startswith("_"):
                    yield f"{name}.{member}.{method}", function


def arguments() -> list[tuple[str, str, str]]:
    """Return every argument of the public functions: function, name, annotation."""
    modules = [
        (te, "te"),
        *((importlib.import_module(f"tensor_envs.{name}"), f"te.{name}") for name in (*MODULES, AGENTS)),
    ]
    found = dict(pair for module, name in modules for pair in functions(module, name))
    return [
        (name, parameter.name, str(parameter.annotation))
        for name, function in found.items()
        for parameter in inspect.signature(function).parameters.values()
    ]


def test_arguments_have_the_types_of_the_table() -> None:
    """An argument that may be left out has the type or None."""
    types = table()
    every = arguments()
    assert len(types) >= 20 and len(every) > 400
    wrong = [
        f"{function}({name}: {annotation})"
        for function, name, annotation in every
        if name in types and annotation.removesuffix(" | None") not in types[name]
    ]
    assert not wrong
    assert types.keys() <= {name for _, name, _ in every}, "the table has names that no function uses"


@pytest.mark.parametrize("former", FORMER)
def test_former_names_are_not_used(former: str) -> None:
    used = {f"{function}({name})" for function, name, _ in arguments() if name == former}
    assert used <= EXEMPT, f"write {FORMER[former]}"
