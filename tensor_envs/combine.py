"""States combined row by row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from tinygrad import Tensor, dtypes

from tensor_envs._engine.batch_layout import MAX_BATCH
from tensor_envs._engine.inputs import bool_array, int_array
from tensor_envs._validate import instance, integer, wrong_type
from tensor_envs.jitted import jit
from tensor_envs.state import State


def concat(states: Sequence[State]) -> State:
    """Concatenate states along the batch. Each game keeps its own chance.

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
    for i, other in enumerate(states):
        first.check_beside(other, f"states[{i}]")
    buffers = first.buffers
    for other in states[1:]:
        count = integer("the number of games", buffers.batch + other.batch, 1, MAX_BATCH)
        rows = int_array("rows", np.arange(count, dtype=np.int32), first.env.engine.batch_layout(count, buffers.device))
        buffers = first.env.engine.gather(buffers, rows, count, other.buffers)
    return State(first.env, buffers)


def where(mask: Any, a: State, b: State) -> State:
    """Select each row's game from one of two states. Each game keeps its own chance.

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
    buffers = a.buffers
    a.check_beside(b, "b")
    if b.batch != a.batch:
        raise ValueError(f"b must have {a.batch} games as a has, got {b.batch}")
    rows = _selected_rows(buffers.layout.column(bool_array("mask", mask, buffers.layout)))
    places = int_array("mask", rows, buffers.layout)
    return State(a.env, a.env.engine.gather(buffers, places, a.batch, b.buffers))


@jit
def _selected_rows(mask: Tensor) -> Tensor:
    """Return the rows that a mask selects from two concatenated states."""
    count = int(mask.shape[0])
    row = Tensor.arange(count, dtype=dtypes.int32)
    return (mask != 0).where(row, row + count).contiguous()
