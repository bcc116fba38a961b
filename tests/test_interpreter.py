"""The form that kernels have on a GPU, a thread a game, run without one: tinygrad's PYTHON device interprets it.

It also is a second opinion on the compiler. It keeps all threads of a block in step, so that loops in which games part
(playouts) are run with one game a block.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tensor_envs.core.device import is_gpu

import tensor_envs as te
from tests.games.shared import shared_env


def both(env: te.Env, batch: int, run: Callable[[te.State], dict[str, np.ndarray]]) -> None:
    """The same from the same games on either device."""
    compiled, interpreted = (run(env.init(batch, seed=1, device=name)) for name in ("CPU", "PYTHON"))
    assert compiled.keys() == interpreted.keys()
    for name, values in compiled.items():
        assert (values == interpreted[name]).all(), name


@pytest.fixture(params=te.registered())
def env(request: pytest.FixtureRequest) -> te.Env:
    assert is_gpu("PYTHON")
    return shared_env(request.param)


def test_steps(env: te.Env) -> None:
    def run(state: te.State) -> dict[str, np.ndarray]:
        plies: dict[str, np.ndarray] = {}
        for ply in range(6):
            action = te.random_policy(state)
            state = env.step(state, action)
            plies |= {f"{ply} {name}": column for name, column in state.numpy().items()}
            plies[f"{ply} action"] = action.numpy()
        return plies

    both(env, 4, run)


def test_rollouts(env: te.Env) -> None:
    def run(state: te.State) -> dict[str, np.ndarray]:
        result = te.rollout_from(state, "uniform", 20)
        totals = {"returns": result.returns.numpy(), "wins": result.wins.numpy()}
        return result.state.numpy() | totals

    both(env, 4, run)


def test_playouts(env: te.Env) -> None:
    both(env, 3, lambda state: {"returns": te.playout(env, state, 1, limit=12).numpy()})
