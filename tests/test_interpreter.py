"""GPU kernels, one thread per game, run by tinygrad's PYTHON device.

The interpreter checks the compiler independently. It runs the 64 threads of a block in lockstep and evaluates a loop's
condition for the first thread only: playouts agree as long as no other game takes longer than the first of its block.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tensor_envs as te
from tensor_envs._runtime.devices import is_gpu
from tests.games.shared import shared_env

Run = Callable[[te.State], dict[str, np.ndarray]]


def both(env: te.Env, batch: int, run: Run) -> dict[str, np.ndarray]:
    """Check that a run gives equal results on both devices, and return them."""
    compiled, interpreted = (run(env.init(batch, seed=1, device=name)) for name in ("CPU", "PYTHON"))
    assert compiled.keys() == interpreted.keys()
    for name, values in compiled.items():
        np.testing.assert_array_equal(interpreted[name], values, err_msg=name)
    return compiled


SHORTEST = {"kuhn_poker": 2, "leduc_poker": 2}  # shortest games in plies, where under four
QUICK = ("tic_tac_toe", "shed")  # quick to interpret
PARAMS = [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in te.registered()]


@pytest.fixture(params=PARAMS)
def env(request: pytest.FixtureRequest) -> te.Env:
    assert is_gpu("PYTHON")
    return shared_env(request.param)


def test_steps(env: te.Env) -> None:
    def run(state: te.State) -> dict[str, np.ndarray]:
        plies: dict[str, np.ndarray] = {}
        for ply in range(2):
            action = te.agents.uniform(state)
            state = env.step(state, action)
            plies |= {f"{ply} {name}": column for name, column in state.numpy().items()}
            plies[f"{ply} action"] = action.numpy()
        seen = {f"seen by {player}": env.observe(state, player).numpy() for player in (None, env.num_players - 1)}
        return plies | seen | {"legal": state.legal_action_mask.numpy(), "key": state.action_key.numpy()}

    both(env, 4, run)


def test_rollouts(env: te.Env) -> None:
    def run(state: te.State) -> dict[str, np.ndarray]:
        result = te.rollout_from(state, "uniform", 4)
        return result.state.numpy() | {"returns": result.returns.numpy(), "wins": result.wins.numpy()}

    both(env, 4, run)


@pytest.mark.slow
@pytest.mark.parametrize("autoreset", ["same_step", "next_step", "disabled"])
def test_steps_in_place_over_the_ends_of_games(autoreset: str) -> None:
    env = shared_env("tic_tac_toe")

    def run(state: te.State) -> dict[str, np.ndarray]:
        vector = te.VectorEnv(env, 66, 1, state.device, autoreset, observe=True)  # type: ignore[arg-type]
        results: dict[str, np.ndarray] = {}
        for count in range(11):
            actions = te.agents.uniform(vector.state).numpy()
            actions[: 7 * (count == 4)] = 9  # illegal
            transition = vector.step_uniform() if count % 2 else vector.step(actions)
            results |= {f"{count} {name}": column for name, column in transition.numpy().items()}
            results |= {f"{count} seen": vector.observation.numpy(), f"{count} legal": vector.legal_action_mask.numpy()}
        return results | vector.state.numpy()

    results = both(env, 66, run)
    assert results["4 terminated"].sum() >= 7 and results["8 terminated"].any() and results["ply"].max() > 3


def test_playouts(env: te.Env) -> None:
    """Playouts are cut off before a game ends, so that all have equal length."""
    limit = SHORTEST.get(env.id, 4)
    both(env, 3, lambda state: {"returns": te.playout(state, 1, limit=limit).numpy()})


@pytest.mark.slow
def test_playouts_whose_games_part() -> None:
    """Playouts agree where only the first game of the block reaches the limit."""
    env, limit = shared_env("tic_tac_toe"), 8
    first, state = env.init(1, seed=1), env.init(3, seed=1)
    lasting = (seed for seed in range(99) if not te.playout(first, 1, seed=seed, limit=limit - 1).numpy().any())
    seed = next(lasting)
    results = both(env, 3, lambda state: {"returns": te.playout(state, 20, seed=seed, limit=limit).numpy()})
    assert (results["returns"] != te.playout(state, 20, seed=seed, limit=limit - 2).numpy()).any()
    actions = [0, 4, 9]  # the last one ends its games at once
    both(env, 3, lambda state: {"returns": te.playout(state, 20, actions, seed=seed, limit=4).numpy()})


@pytest.mark.slow
def test_a_search_stays_within_its_tables() -> None:
    """Results are equal for a single game only, because the interpreter runs every turn of a loop for all threads."""
    env = shared_env("shed")

    def run(state: te.State) -> dict[str, np.ndarray]:
        return te.search.playout_policy(state, 16).search_tree.summary()

    assert both(env, 1, run)["visit_counts"].sum() == 16
    several = te.search.playout_policy(env.init(3, 1, device="PYTHON"), 16)
    assert several.search_tree.visit_counts.numpy().sum() >= 3 * 16
