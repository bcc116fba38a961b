"""Examples in docstrings are run."""

import doctest
import importlib
import pkgutil

import pytest

import tensor_envs as te

MODULES = [m.name for m in pkgutil.walk_packages(te.__path__, "tensor_envs.") if ".adapters" not in m.name]
FINDER = doctest.DocTestFinder()
EXAMPLES = [test for name in MODULES for test in FINDER.find(importlib.import_module(name)) if test.examples]


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 2


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_example(example: doctest.DocTest) -> None:
    example.globs["te"] = te
    assert doctest.DocTestRunner().run(example).failed == 0
