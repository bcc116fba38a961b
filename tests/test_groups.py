"""Tests that share kernels stay in one process."""

from __future__ import annotations

import pytest


def test_a_process_of_many_gets_whole_groups(request: pytest.FixtureRequest) -> None:
    """pytest-xdist names a test's group in its id, which pytest 9.2 ignores: each process then compiles all kernels."""
    if getattr(request.config.option, "loadgroup", False):  # in the processes of -n alone
        assert request.node.nodeid.endswith("@test_groups.py"), "install 'pytest<9.2'"
