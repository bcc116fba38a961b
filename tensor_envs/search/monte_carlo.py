"""Flat Monte Carlo: random games after each legal action, and the choice of the highest mean return."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensor_envs._engine.inputs import host_ints
from tensor_envs._runtime.exchange import to_numpy
from tensor_envs._validate import instance, integer, renames
from tensor_envs.envs.rollout import playout
from tensor_envs.envs.state import State

BRANCHES = 512  # pairs of a game and an action in one launch; a fixed number, so that the kernel compiles once


@renames(n="num_playouts")
def flat_monte_carlo(
    state: State, num_playouts: int, seed: int = 0, limit: int = 2**31 - 1, rows: Any = None
) -> np.ndarray:
    """Return the action of the highest mean return for the player to move, in every game.

    Playouts start from the whole state, hidden cards included, and draw their own chance.

    Args:
        state: the games.
        num_playouts: number of random games that start with each legal action.
        seed: seed of the playouts, 0..2^44-1. Use another one for every call.
        limit: maximum number of actions of a playout.
        rows: rows of the games to choose for; the others get action 0. Default: all.

    Returns:
        int64 [B]; 0 in a game that is over.

    Raises:
        TypeError, ValueError: as in `te.playout` and `Env.take`.

    Examples:
        >>> env = te.make("tic_tac_toe")
        >>> state = env.init(2)
        >>> for actions in ([0, 8], [3, 5], [1, 7], [4, 4]):
        ...     state = env.step(state, actions)
        >>> te.search.flat_monte_carlo(state, num_playouts=8).tolist()  # X to move wins at once
        [2, 6]
    """
    instance("state", state, State)
    seed = integer("seed", seed, 0, 2**44 - 1) << 20
    env = state.env
    fields = state.numpy()
    mask = fields["legal_action_mask"]
    if rows is not None:
        mask = mask & np.isin(np.arange(state.batch), host_ints("rows", rows, None, state.batch))[:, None]
    row, action = np.nonzero(mask)
    values = np.zeros(len(row))
    player = fields["current_player"][row]
    for first in range(0, len(row), BRANCHES):
        pairs = np.resize(np.arange(first, min(first + BRANCHES, len(row))), BRANCHES)
        branches = env.take(state, row[pairs])
        returns = to_numpy(playout(branches, num_playouts, action[pairs], seed + first, limit))
        values[pairs] = returns[np.arange(BRANCHES), player[pairs]]
    table = np.full(mask.shape, -np.inf)
    table[row, action] = values
    return table.argmax(1)
