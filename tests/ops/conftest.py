"""These tests make tensors of their own, before any environment has set up the CPU device's compiler."""

import pytest

from tensor_envs.core.device import resolve


@pytest.fixture(autouse=True, scope="session")
def cpu() -> None:
    resolve("CPU")
