"""Docstrings: form, sections, and examples that run."""

import doctest
import functools
import importlib
import inspect
import pkgutil
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from documents.rooms import (
    Docstring,
    code_lines,
    comment_lines,
    dense_functions,
    docstrings,
    modules,
    parallel_assignments,
    room_of,
)
from tensor_envs import rules, search
from tensor_envs.envs import registry

PUBLIC = (te, rules, search, te.agents, te.lab, te.text, te.train)
MODULES = [m.name for m in pkgutil.walk_packages(te.__path__, "tensor_envs.") if ".adapters" not in m.name]
EXTRAS = "jax", "optax", "torch"  # packages that networks in training import
FINDER = doctest.DocTestFinder()


def examples(name: str) -> list[doctest.DocTest]:
    """Return the examples of a module; none without the package of an extra that it imports."""
    try:
        return [test for test in FINDER.find(importlib.import_module(name)) if test.examples]
    except ImportError as error:
        if error.name not in EXTRAS and "pip install 'tensor_envs[" not in str(error):
            raise
        return []


EXAMPLES = [test for name in MODULES for test in examples(name)]
# parts of names of examples that play or search for seconds
LONG = (
    "evaluation.responses.",
    "muzero_policy",
    "agents.equilibrium",
    "lab.laboratory.",
    "lab.measures.",
    "lab.ranking.",
    "lab.report.VariantReport",
    "tournament",
    "regret",
    "evaluation.matches.evaluate",
    "agents.league",
    "agents.perfect",
    "agents.softmax",
    "env.Env.events",
    "referee.sessions.Session",
    "rules.pieces.Pieces",
    "solve.alpha_beta.SearchSolution",
    "train.network.evaluator",
)


@functools.cache
def strings() -> list[Docstring]:
    """Return all docstrings of the package."""
    return [string for path in modules().values() for string in docstrings(path)]


MAX_FRAGMENTS = 0.03  # of all docstrings
# add new verbs here
VERBS = """
Add Advance Allocate Allow Animate Append Apply Arrange Bound Build Call Capture Check Choose Clamp Clear Close
Combine Compare Compile Compute Concatenate Continue Convert Convolve Copy Count Deal Do Download Draw Drop
Encode End Enumerate Estimate Evaluate Fill Gather Give Group Hash Have Import Iterate Join Keep Launch Lay Let
Load Log Look Make Mark Merge Move Name Number Observe Offer Open Order Pack Pad Parse Pass Pickle Place Play
Prepare Print Put Raise Read Realise Receive Record Refuse Register Remove Renumber Replace Replay Resample Reset Return
Round Run Save Score Select Send Set Shift Solve Split Start Step Stop Store Sum Sweep Switch Take Tighten Trace
Unpack Update Upload Visit Wait Wrap Write Yield
"""


def test_docstrings_are_sentences_or_noun_phrases() -> None:
    fragments = [string for string in strings() if string.is_fragment]
    assert len(fragments) <= MAX_FRAGMENTS * len(strings()), [string.place for string in fragments]


def test_docstrings_of_functions_open_with_a_verb() -> None:
    wrong = [s for s in strings() if s.kind == "function" and re.split(r"[ ,.:;\n]", s.text)[0] not in VERBS.split()]
    assert len(wrong) <= MAX_FRAGMENTS * len(strings()), [f"{s.place} {s.text[:40]}" for s in wrong]


def test_arguments_and_attributes_open_with_a_noun() -> None:
    """A description such as "row: of the game." says nothing without the name in front of it."""
    wrong = re.compile(r"^ +\w+: (?:of|by|on|with) ", re.M)
    assert wrong.search("Args:\n    row: of the game.\n")
    assert not [string.place for string in strings() if wrong.search(string.text)]


# upper bounds per 1,000 lines of code: assignments of several values at once, in every room, and those to more than two
# names, in the package
MAX_PARALLEL = 10.0
MAX_LONG_PARALLEL = 0.5
# lower bounds of lines that are comments, per 1,000 lines of code, where algorithms are dense
MIN_COMMENTS = {"_compiler": 60, "_engine": 60, "_runtime": 60, "equilibria": 60, "search": 60, "solve": 60}


def test_a_line_of_code_is_one_thought() -> None:
    lines = Counter[str]()
    parallel = Counter[str]()
    long = []
    for name, path in modules().items():
        sizes = parallel_assignments(path)
        lines[room_of(name)] += len(code_lines(path))
        parallel[room_of(name)] += len(sizes)
        long += [f"{path.name}: {size}" for size in sizes if size > 2]
    rates = {room: 1000 * parallel[room] / lines[room] for room in lines}
    assert not {room: rate for room, rate in rates.items() if rate > MAX_PARALLEL}
    assert len(long) <= MAX_LONG_PARALLEL * lines.total() / 1000, long


@pytest.mark.parametrize("room", MIN_COMMENTS)
def test_dense_code_says_why(room: str) -> None:
    paths = [path for name, path in modules().items() if room_of(name) == room]
    comments = sum(len(comment_lines(path)) for path in paths)
    rate = 1000 * comments / sum(len(code_lines(path)) for path in paths)
    assert rate >= MIN_COMMENTS[room], f"{rate:.1f} lines of comments per 1,000 lines of code in {room}"


def test_assignments_and_comments_are_counted(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("# why\na, b = 1, 2\na, b = b\n# type: int\nx = y = 1, 2\na, b, c = 1, 2, 3  # no\n")
    assert parallel_assignments(tmp_path / "a.py") == (2, 3)
    assert comment_lines(tmp_path / "a.py") == {1}


def test_dense_functions_say_what_each_step_is_for() -> None:
    dense = [function for path in modules().values() for function in dense_functions(path)]
    unexplained = [f.place for f in dense if not f.is_explained]
    assert not unexplained, "cut these, or give each step a comment that says why"


def test_dense_functions_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("documents.rooms.PACKAGE", tmp_path)
    path = tmp_path / "a.py"
    few = "def few(x):\n" + "    x = x if x else 1\n" * 12
    many = "def many(x):\n    def inner(x):\n" + "        x = x if x else 1\n" * 13 + "    # why\n    return inner\n"
    path.write_text(few + many + "def names():\n" + "".join(f"    n{i} = 1\n" for i in range(26)))
    found = {function.place.split()[-1]: function for function in dense_functions(path)}
    assert {name: function.names for name, function in found.items()} == {"many": 1, "inner": 1, "names": 26}
    assert found["many"].branches == found["inner"].branches == 13
    assert [(found[name].code, found[name].comments) for name in ("many", "names")] == [(16, 1), (27, 0)]
    assert not any(function.is_explained for function in found.values())
    explained = tmp_path / "b.py"
    explained.write_text(path.read_text().replace("    n25", "    # why\n" * 3 + "    n25"))
    assert {f.place.split()[-1] for f in dense_functions(explained) if f.is_explained} == {"names"}


def test_public_names_have_examples() -> None:
    for module in PUBLIC:
        for name in module.__all__:
            value = getattr(module, name)
            named = inspect.isclass(value) or inspect.isfunction(value)
            is_plain = inspect.ismodule(value) or value is Any or not named
            assert is_plain or ">>> " in (inspect.getdoc(value) or ""), f"{module.__name__}.{name}"


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 50


@pytest.mark.parametrize(
    "example",
    [
        pytest.param(example, id=example.name, marks=pytest.mark.slow if any(x in example.name for x in LONG) else ())
        for example in EXAMPLES
    ],
)
def test_example(example: doctest.DocTest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_entries", {})
    example.globs |= vars(rules) | {"te": te, "np": np}
    assert doctest.DocTestRunner().run(example).failed == 0


CALLS = [getattr(module, name) for module in (te, search, te.lab) for name in module.__all__]
CALLS = [call for call in CALLS if inspect.isfunction(call)]
CALLS += [getattr(te.Env, name) for name in ("init", "step", "reset", "take", "observe", "state_from_dicts")]
LANGUAGE = [value for value in (getattr(rules, name) for name in rules.__all__) if inspect.isfunction(value)]


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.__qualname__)
def test_arguments_results_and_errors_of_public_calls(call: Callable[..., object]) -> None:
    """Public calls have Google sections for every argument, the result and the errors."""
    signature, text = inspect.signature(call), inspect.getdoc(call) or ""
    named = [name for name in signature.parameters if name != "self"]
    _, _, arguments = text.partition("Args:\n")
    listed = re.findall(r"^    (?:\*\*)?(\w+(?:, \w+)*):", arguments.partition("\n\n")[0], re.M)
    assert sorted(name for group in listed for name in group.split(", ")) == sorted(named)
    assert ("Returns:" in text) == (signature.return_annotation != "None")


@pytest.mark.parametrize("call", LANGUAGE, ids=lambda call: call.__name__)
def test_the_language_is_shown_by_examples(call: Callable[..., object]) -> None:
    assert call.__name__ == "scalar" or "Examples:" in (inspect.getdoc(call) or "")
