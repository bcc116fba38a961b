"""Batches put together: the games of several states in one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from tinygrad import Tensor, dtypes

from tensor_envs.core.engine import batch_layout
from tensor_envs.core.env import MAX_BATCH
from tensor_envs.core.inputs import bool_array, int_array
from tensor_envs.core.jit import jit
from tensor_envs.core.state import State
from tensor_envs.core.validate import instance, integer, wrong_type


def concat(states: Sequence[State]) -> State:
    """The games of several states one after the other, each with its own chance going on.

    Args:
        states: one or more, of one environment and on one device.

    Returns:
        A state of all games.

    Raises:
        ValueError, TypeError: states of other environments or devices, or none.

    Examples:
        >>> env = te.make("tic_tac_toe")
        >>> te.concat([env.init(2), env.step(env.init(1), [4])]).ply.tolist()
        [0, 0, 1]
    """
    if not isinstance(states, (list, tuple)):
        raise wrong_type("states", "a list of States", states)
    if not states:
        raise ValueError("states must be one or more, got none")
    instance("states[0]", states[0], State)
    first: State = states[0]
    env = first.env
    for i, other in enumerate(states):
        env._beside(first, other, f"states[{i}]")
    games = first._games
    for other in states[1:]:
        count = integer("the number of games", games.batch + other.batch, 1, MAX_BATCH)
        rows = int_array("rows", np.arange(count, dtype=np.int32), batch_layout(count, games.device))
        games = env._engine.gather(games, rows, count, other._games)
    return State(env, games)


def where(mask: Any, a: State, b: State) -> State:
    """Row by row the game of one state or of another, each with its own chance going on.

    Args:
        mask: bool [B], a Tensor on the states' device or anything that NumPy takes.
        a, b: of one environment, device and batch.

    Returns:
        A state with the games of `a` where the mask is True and those of `b` elsewhere.

    Raises:
        ValueError, TypeError: states that do not go together; a mask of another shape, dtype or device.

    Examples:
        >>> env = te.make("tic_tac_toe")
        >>> state = env.init(3)
        >>> te.where([True, False, True], env.step(state, [0, 1, 2]), state).ply.tolist()
        [1, 0, 1]
    """
    if not isinstance(a, State):
        raise wrong_type("a", "a State (tensor_envs.rules.where chooses between numbers)", a)
    env, games = a.env, a._games
    env._beside(a, b, "b")
    if b.batch != a.batch:
        raise ValueError(f"b must have {a.batch} games as a has, got {b.batch}")
    chosen = games.layout.column(bool_array("mask", mask, games.layout))
    index = _index(chosen)
    return State(env, env._engine.gather(games, int_array("mask", index, games.layout), a.batch, b._games))


@jit
def _index(mask: Tensor) -> Tensor:
    """The rows of two states one after the other that a mask chooses."""
    count = int(mask.shape[0])
    row = Tensor.arange(count, dtype=dtypes.int32)
    return (mask != 0).where(row, row + count).contiguous()
