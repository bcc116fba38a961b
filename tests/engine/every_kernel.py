"""Launch every kernel of the package for a game on any device, for tests that examine the programs."""

from __future__ import annotations

import importlib
import json
import pkgutil
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import get_args

import numpy as np
from tinygrad import Tensor, dtypes

import tensor_envs as te
from tensor_envs._engine import kernels
from tensor_envs._engine.kernels.observe import DTYPE_BY_NAME, Outputs
from tensor_envs._engine.kernels.until import PlayUntil
from tensor_envs.envs.rollout import RolloutReset
from tests.games import dice_race

BATCH = 70  # two blocks, the second padded


def classes() -> dict[str, type]:
    """Return kernel classes by the names of their kernels."""
    result: dict[str, type] = {}
    for module in pkgutil.iter_modules(kernels.__path__):
        for one in vars(importlib.import_module(f"{kernels.__name__}.{module.name}")).values():
            if isinstance(one, type) and hasattr(one, "Arrays") and hasattr(one, "trace"):
                name = one.name if isinstance(one.name, str) else "step"  # type: ignore[attr-defined]
                result[name] = one
    return result


def use(env: te.Env) -> None:
    """Launch all kernels, through public calls where possible."""
    state, actions, memory = env.init(BATCH), [0] * BATCH, any(field.memory for field in env.spec.fields)
    env.step(state, te.agents.uniform(state))
    env.events(state, actions)
    for autoreset in ("same_step", "next_step", "disabled"):
        for options in ({}, {"observe": True}, {"final_states": True}):
            vector = te.VectorEnv(env, BATCH, autoreset=autoreset, **options)  # type: ignore[arg-type]
            vector.step_uniform()
            vector.step(actions)
            vector.state  # noqa: B018
    env.reset(state)
    env.reset(state, [True] * BATCH)
    env.engine.refresh(state.buffers)
    env.take(state, range(BATCH))
    for player in (None, env.num_players - 1, actions):
        env.observe(state, player)
    for name in (*env.spec_fields, "rewards", "terminated", "legal_action_mask", "action_key"):
        getattr(state, name)
    if not memory:
        for autoreset in get_args(RolloutReset):
            te.rollout_from(state, "uniform", 8, autoreset)
            te.rollout_from(state, "uniform", 8, autoreset, count_actions=True)
        for first in (None, actions):
            te.playout(state, 3, first)
    where, engine = state.buffers.layout, env.engine
    size = int(np.prod(env.observation_shape))
    seen = Outputs(
        where.empty(size, DTYPE_BY_NAME[env.spec.observation_dtype]), where.empty(env.num_actions, dtypes.int8)
    )
    every = tuple(range(env.num_players))
    for kernel in (
        *(PlayUntil(seats, uniform) for seats in ((0,), every) for uniform in (True, False)[memory:]),
        PlayUntil(None, False, 9),
    ):
        old = state.tensors[0] if memory else None
        new = engine.empty(state.buffers) if memory else state.tensors[0]
        others = None if kernel.uniform or kernel.seats is None else engine.empty(state.buffers)
        tally = where.empty(kernel.tally_values(env.num_players), dtypes.float32)
        arrays = PlayUntil.Arrays(new, old, state.tensors[1], where.empty(1, dtypes.int32), tally, seen, others)
        engine.run(kernel, where, arrays)


def search(env: te.Env) -> None:
    """Launch the kernels of tree searches."""

    def evaluate(state: te.State) -> tuple[Tensor, Tensor]:
        return Tensor.zeros(state.batch, env.num_actions), Tensor.zeros(state.batch)

    state = env.init(BATCH)
    for count in (False, True):
        te.search.playout_policy(state, 2, count_actions=count)
    for policy in (te.search.gumbel_muzero_policy, te.search.muzero_policy):
        with suppress(RuntimeError):  # the NULL device has no results
            policy(state, evaluate, 2)


GAMES: dict[str, Callable[[], te.Env]] = {
    "dice_race": dice_race.shared,
    "in memory": lambda: te.make("hyper_tic_tac_toe", shape=(9, 9, 9), k=4),
}
GAMES |= {name: partial(te.make, name) for name in te.registered()}


def programs(name: str, use: Callable[[te.Env], None]) -> list[tuple[str, list[int]]]:
    """Return the names of all kernels, and the slots of their arrays."""
    env = GAMES[name]()
    use(env)
    own = f"{type(env.rules).__name__}_"
    infos = [program.arg for launcher in env.engine._launchers.values() for program in launcher.programs()]
    return [(info.function_name.removeprefix(own), list(info.globals)) for info in infos]


if __name__ == "__main__":
    what, *names = sys.argv[1:]
    print(json.dumps({name: programs(name, {"all": use, "search": search}[what]) for name in names}))
