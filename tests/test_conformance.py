"""Every registered game keeps what environments promise."""

import pytest

import tensor_envs as te
from tensor_envs import testing
from tests.games.shared import GAMES, shared_env


@pytest.fixture(scope="module", params=GAMES)
def env(request: pytest.FixtureRequest) -> te.Env:
    return shared_env(request.param)


@pytest.mark.parametrize("check", testing.CHECKS, ids=lambda check: check.__name__)
def test_promise(env: te.Env, check: testing.Check) -> None:
    check(env, 24, None)
