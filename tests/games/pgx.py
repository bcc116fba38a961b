"""Random games side by side with Pgx's, ply by ply."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensor_envs as te

PLIES = 256  # after which Pgx ends both chess variants, drawn
Differs = Callable[[dict[str, Any], Any, int], str]


def play_beside_pgx(
    env: te.Env, name: str, batch: int, seed: int, differs: Differs, plies: int = PLIES
) -> Counter[str]:
    """Play games to their ends in both engines, and return how they end.

    At every ply legal actions, ends and rewards must agree, up to a game's first difference that `differs` names. Games
    that Pgx ends after its limit of plies are counted as "plies".

    Args:
        env, name: the game here and in Pgx.
        batch, seed: number of games, and the seed of the uniform policy.
        differs: returns the name of a known difference of a row, "" if there is none; by our columns and Pgx's state.
        plies: Pgx's limit.
    """
    jax = pytest.importorskip("jax")
    game = pytest.importorskip("pgx").make(name)
    start = jax.vmap(game.init)(jax.random.split(jax.random.PRNGKey(0), batch))
    step = jax.jit(jax.vmap(game.step))
    first = np.asarray(start.current_player)
    other, state = start, env.init(batch, seed)
    ends: Counter[str] = Counter()
    live = np.ones(batch, bool)
    rows = np.arange(batch)
    for ply in range(plies + 1):
        now = state.numpy()
        over, paid, legal = (np.asarray(x) for x in (other.terminated, other.rewards, other.legal_action_mask))
        for row in rows[live]:
            if reason := differs(now, other, row):
                ends[reason] += 1
                live[row] = False
        cut = over & (ply == plies) & ~now["terminated"]
        ends["plies"] += int((live & cut).sum())
        live &= ~cut
        assert (now["terminated"] == over)[live].all(), rows[live][(now["terminated"] != over)[live]]
        ours = np.take_along_axis(paid, np.stack([first, 1 - first], 1), 1)
        assert (now["rewards"] == ours)[live].all(), ply
        for row in rows[live & over]:
            ends["won" if now["rewards"][row].any() else "drawn"] += 1
        live &= ~over
        assert (now["legal_action_mask"] == legal)[live].all(), ply
        if not live.any():
            break
        actions = te.agents.uniform(state).numpy()
        state = env.step(state, actions)
        other = step(other, np.maximum(actions, 0))
    assert not live.any() and ends.total() == batch
    return ends
