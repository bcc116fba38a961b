"""Games whose positions are searched in tests."""

from __future__ import annotations

from typing import Any

import numpy as np

import tensor_envs as te


def random_games(env: te.Env, plies: int, batch: int = 40) -> list[te.State]:
    """Return games after 0, 1, ... random plies; some are over."""
    states = [env.init(batch, seed=3)]
    for _ in range(plies):
        states.append(env.step(states[-1], te.agents.uniform(states[-1])))
    return states


def live_rows(state: te.State) -> np.ndarray[Any, Any]:
    values = state.numpy()
    return np.flatnonzero(~(values["terminated"] | values["truncated"])).astype(np.int32)


def position(env: te.Env, moves: str) -> te.State:
    state = env.init(1)
    for move in moves:
        state = env.step(state, [int(move) - 1])
    return state
