"""Flat Monte Carlo: of every legal action some random games to the end, and the action that ends best."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensor_envs._engine.inputs import host_ints
from tensor_envs._validate import instance, integer
from tensor_envs.rollout import playout
from tensor_envs.state import State

BRANCHES = 512  # (game, action) pairs whose playouts are one kernel: always as many, so that it compiles once


def flat_monte_carlo(
    state: State, n: int, seed: int = 0, limit: int = 2**31 - 1, rows: Any = None
) -> np.ndarray:
    """The action of the highest mean return for the player to move, in every game of a state.

    Like every search from a State it sees the whole of it, hidden cards included; what chance will bring it does not
    know, since playouts draw their own.

    Args:
        state: The games; those that are over get action 0.
        n: Random games that begin with each legal action.
        seed: Of the playouts, 0..2^44 - 1. Give every call another one.
        limit: Actions after which a playout is cut off.
        rows: Numbers of the games to choose for; the others get action 0. Default: all.

    Returns:
        Integers [B].

    Raises:
        TypeError, ValueError: For other arguments, as in `te.playout` and `env.take`.

    Examples:
        >>> import tensor_envs as te
        >>> env = te.make("tic_tac_toe")
        >>> state = env.init(2)
        >>> for actions in ([0, 8], [3, 5], [1, 7], [4, 4]):
        ...     state = env.step(state, actions)
        >>> te.search.flat_monte_carlo(state, n=8).tolist()  # X to move wins at once
        [2, 6]
    """
    instance("state", state, State)
    seed = integer("seed", seed, 0, 2**44 - 1) << 20
    env, now = state.env, state.numpy()
    mask = now["legal_action_mask"]
    if rows is not None:
        mask = mask & np.isin(np.arange(state.batch), host_ints("rows", rows, None, state.batch))[:, None]
    row, action = np.nonzero(mask)
    values, player = np.zeros(len(row)), now["current_player"][row]
    for first in range(0, len(row), BRANCHES):
        pairs = np.resize(np.arange(first, min(first + BRANCHES, len(row))), BRANCHES)
        branches = env.take(state, row[pairs])
        returns = playout(branches, n, action[pairs], seed + first, limit).numpy()
        values[pairs] = returns[np.arange(BRANCHES), player[pairs]]
    table = np.full(mask.shape, -np.inf)
    table[row, action] = values
    return table.argmax(1)
