"""What holds of every test run."""

import os
from importlib.util import find_spec
from pathlib import Path

import pytest

# tinygrad compiles the kernels of a graph in a pool of processes: for the many small graphs of tests, starting these
# costs more than they save, in this process and in those that tests start.
os.environ.setdefault("PARALLEL", "0")
TESTS = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With `-n`, tests that share environments, and so kernels, stay together in one process."""
    for item in items:
        first, *rest = item.path.relative_to(TESTS).parts
        group = rest[0] if first == "games" else first
        if first in ("test_conformance.py", "test_devices.py") and isinstance(item, pytest.Function):
            params = item.callspec.params
            group += str(params.get("env") or params["game"])
        item.add_marker(pytest.mark.xdist_group(group))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """A test marked `extra` needs packages that the extra `dev` does not bring."""
    for mark in item.iter_markers("extra"):
        for package in mark.args:
            if find_spec(package) is None:
                pytest.skip(f"needs {package}")
