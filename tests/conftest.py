"""Settings, markers and process groups of every test run."""

import gc
import os
from collections import Counter
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

# tinygrad compiles the kernels of a graph in a pool of processes. Tests have many small graphs, for which starting
# the processes costs more than they save, here and in the processes that tests start.
os.environ.setdefault("PARALLEL", "0")
# A process of many tests holds millions of kernel nodes, none of which the collector can free.
gc.set_threshold(50_000, 20, 20)
gc.disable()  # until the tests are collected: they and their modules last until the end
TESTS = Path(__file__).parent


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--device", help="tinygrad's default device, as DEV names it: CL, CUDA, CPU:LLVM, ...")


def pytest_configure(config: pytest.Config) -> None:
    if device := config.getoption("--device"):
        os.environ["DEV"] = device  # inherited by processes that tests start
        from tinygrad.helpers import DEV

        DEV.value = device


def pytest_sessionstart() -> None:
    """Open the default device, for which the package gives tinygrad the compiler of a wheel."""
    from tensor_envs._runtime.opening import open_device

    open_device(None)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # With `-n` a folder is one group. The small groups of single files come last, so that all processes end together.
    items.sort(key=lambda item: item.path.parent == TESTS)
    _mark_slow(items)
    _group(items)


@pytest.fixture(autouse=True, scope="module")
def forget_buffers() -> Iterator[None]:
    """Give up buffers that wait for use: tinygrad looks at every tensor that exists when it realizes one."""
    yield
    from tensor_envs._runtime import buffers

    buffers._pools.clear()
    buffers._pooled_bytes = 0


@pytest.fixture(scope="module")
def frozen_objects() -> None:
    """Keep the collections that a test asks for short: they do not scan the kernels of earlier tests."""
    gc.collect()
    gc.freeze()


def pytest_collection_finish() -> None:
    """Take the tests out of every collection of garbage."""
    gc.freeze()
    gc.enable()


def _mark_slow(items: list[pytest.Item]) -> None:
    """Mark as slow the parameters that a test's mark `few` leaves out, by number or by name."""
    seen: Counter[tuple[Path, str]] = Counter()
    for item in items:
        if mark := item.get_closest_marker("few"):
            name, _, parameters = item.name.rstrip("]").partition("[")
            seen[item.path, name] += 1
            first = mark.args[0]
            if isinstance(first, int):
                is_fast = seen[item.path, name] <= first
            else:
                is_fast = not {*mark.args}.isdisjoint([parameters, *parameters.split("-")])
            if not is_fast:
                item.add_marker(pytest.mark.slow)


def _group(items: list[pytest.Item]) -> None:
    """Group tests that share environments, and so kernels: with `-n`, a group runs in one process."""
    parts = {path: path.relative_to(TESTS).parts for path in {item.path for item in items}}
    for item in items:
        first, *rest = parts[item.path]
        group = rest[0] if first == "games" else first
        params = item.callspec.params if hasattr(item, "callspec") else {}
        if first == "test_conformance.py":
            group = params["name"]  # as the folder of its tests
        elif first in ("test_devices.py", "web"):
            group += str(params.get("game") or params.get("name"))
        item.add_marker(pytest.mark.xdist_group(group))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test whose mark asks for what is missing: packages and programs (`extra`), or the CPU device (`cpu`)."""
    if item.get_closest_marker("cpu"):
        from tinygrad import Device

        if type(Device.default.renderer).__name__ != "ClangRenderer":
            pytest.skip("needs the CPU device and its clang")
    for mark in item.iter_markers("extra"):
        from tensor_envs.evaluation.engines.process import find_program

        for name in mark.args:
            if find_spec(name) is None and find_program(name) is None:
                pytest.skip(f"needs {name}")
