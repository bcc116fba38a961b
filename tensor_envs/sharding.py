"""Shares of a batch for several processes or machines."""

from __future__ import annotations

import os
from typing import NamedTuple

from tensor_envs._engine.batch_layout import LANES, MAX_BATCH
from tensor_envs._validate import integer, shown


class Shard(NamedTuple):
    """Share of a batch: `batch` rows from `first_row` on, as `Env.init`, `VectorEnv` and `rollout` take them.

    Examples:
        >>> te.shard(1000, rank=0, world_size=3)
        Shard(first_row=0, batch=320)
    """

    first_row: int
    batch: int


def shard(batch: int, rank: int | None = None, world_size: int | None = None) -> Shard:
    """Return the rows of a batch that a process plays.

    Row r of a seed is the same game in every process, so the concatenated shares of all ranks equal the batch of one
    process bit for bit. Shares are as equal as possible, in whole blocks of 64 games as long as there are enough.

    Args:
        batch: B, the sum over all processes.
        rank: of this process, 0..world_size-1; default: the environment variable RANK, as torchrun sets it, else 0.
        world_size: number of processes, at most B; default: the environment variable WORLD_SIZE, else 1.

    Returns:
        first_row and batch of this process.

    Raises:
        ValueError, TypeError: numbers out of range, or environment variables that are no numbers.

    Examples:
        >>> first_row, batch = te.shard(1000, rank=1, world_size=3)
        >>> state = te.make("tic_tac_toe").init(batch, seed=5, first_row=first_row)
        >>> first_row, state.batch
        (320, 320)
    """
    batch = integer("batch", batch, 1, MAX_BATCH)
    world_size = _variable("WORLD_SIZE", 1) if world_size is None else world_size
    world_size = integer("world_size", world_size, 1, batch)
    rank = integer("rank", _variable("RANK", 0) if rank is None else rank, 0, world_size - 1)
    block = LANES if batch >= LANES * world_size else 1
    first, end = (batch * i // world_size // block * block for i in (rank, rank + 1))
    return Shard(first, (batch if rank == world_size - 1 else end) - first)


def _variable(name: str, default: int) -> int:
    text = os.environ.get(name, str(default))
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"the environment variable {name} must be an int, got {shown(text)}") from None
