"""Every registered game keeps what environments promise."""

import pytest

import tensor_envs as te
from tensor_envs import testing


@pytest.fixture(scope="module", params=te.registered())
def env(request: pytest.FixtureRequest) -> te.Env:
    return te.make(request.param)


@pytest.mark.parametrize("check", testing.CHECKS, ids=lambda check: check.__name__)
def test_promise(env: te.Env, check: testing.Check) -> None:
    check(env, 24, None)
