"""Fixtures of the tests of solvers."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

import tensor_envs as te


@pytest.fixture
def threads() -> Iterator[Callable[[int], None]]:
    """Set the number of threads, until the end of the test."""
    before = te.num_threads()
    yield te.set_num_threads
    te.set_num_threads(before)
