"""What holds of every test run."""

import gc
import os
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import pytest

# tinygrad compiles the kernels of a graph in a pool of processes: for the many small graphs of tests, starting these
# costs more than they save, in this process and in those that tests start.
os.environ.setdefault("PARALLEL", "0")
# A process of many tests keeps millions of nodes of kernels, among which the collector finds nothing.
gc.set_threshold(50_000, 20, 20)
TESTS = Path(__file__).parent


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--device", help="tinygrad's default device, as DEV names it: CL, CUDA, CPU:LLVM, ...")


def pytest_configure(config: pytest.Config) -> None:
    if device := config.getoption("--device"):
        os.environ["DEV"] = device  # for processes that tests start, too
        from tinygrad.helpers import DEV

        DEV.value = device


def pytest_sessionstart() -> None:
    """Open the default device: the package names the compiler of a wheel to tinygrad, which may find none."""
    from tensor_envs._compiler.devices import resolve

    resolve(None)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    _mark_slow(items)
    _group(items)


def _mark_slow(items: list[pytest.Item]) -> None:
    """Of a test marked `few` only the first so many parameters, or those with a name in their id, are not slow."""
    seen: Counter[tuple[Path, str]] = Counter()
    for item in items:
        if mark := item.get_closest_marker("few"):
            name, _, parameters = item.name.rstrip("]").partition("[")
            seen[item.path, name] += 1
            first = mark.args[0]
            if isinstance(first, int):
                few = seen[item.path, name] <= first
            else:
                few = not {*mark.args}.isdisjoint([parameters, *parameters.split("-")])
            if not few:
                item.add_marker(pytest.mark.slow)


def _group(items: list[pytest.Item]) -> None:
    """With `-n`, tests that share environments, and so kernels, stay together in one process."""
    for item in items:
        first, *rest = item.path.relative_to(TESTS).parts
        group = rest[0] if first == "games" else first
        params = item.callspec.params if hasattr(item, "callspec") else {}
        if first == "test_conformance.py":
            group = params["name"]  # as the folder of its tests
        elif first in ("test_devices.py", "web"):
            group += str(params.get("game") or params.get("name"))
        item.add_marker(pytest.mark.xdist_group(group))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """A test marked `extra` needs packages that the extra `dev` does not bring; `cpu`: the CPU device and clang."""
    if item.get_closest_marker("cpu"):
        from tinygrad import Device

        if type(Device.default.renderer).__name__ != "ClangRenderer":
            pytest.skip("about the CPU device and its clang alone")
    for mark in item.iter_markers("extra"):
        for package in mark.args:
            if find_spec(package) is None:
                pytest.skip(f"needs {package}")
