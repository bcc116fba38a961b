"""What a kernel is to do with every game of a batch, and the arrays that it does it with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

Task = Literal["seed", "new", "derive", "restart", "choose", "step", "uniform", "rollout", "playout", "take"]
Reset = Literal["none", "same_step", "next_step"]

STREAM_ROWS = 5  # of a batch row, fixed for life: seed words 0-1, row 2, uniform policy's key 3-4
LANES = 64  # games a block at most: on a GPU, threads a workgroup


@dataclass(frozen=True)
class Plan:
    """What a kernel does with every game of a batch.

    task:
    - "seed": write the stream, what is fixed for life in every row, from `scalars`: the seed's words, the first row.
    - "new": write the first states of episode 0.
    - "derive": copy the fields, but work out the key and the mask.
    - "restart": start the next episode of the games whose entry in `actions` is not 0, or without it of finished ones.
    - "choose": write an action of the uniform policy.
    - "step": play the actions given, checked against the mask.
    - "uniform": play one action of the uniform policy and write it out.
    - "rollout": play as many of them as `scalars` says, all in registers.
    - "playout": play from copies of the games of a source, with chance of their own, until all of a block are over, or
      as many actions as `scalars` says; `actions`, if any, are the first.
    - "take": copy the games of a source whose rows are in `actions`.

    reset, what becomes of a finished game: "none": it stays; "same_step": it starts again at once; "next_step": in the
    step after.
    """

    blocks: int  # the batch is blocks x lanes games
    lanes: int
    gpu: bool
    task: Task
    reset: Reset = "none"
    source: tuple[int, int] = (0, 0)  # "playout" and "take": blocks and lanes of the old arrays


class Parameters(NamedTuple):
    """The arrays of a kernel, flat and in order [blocks, rows, lanes]. A task has no use for some."""

    fields: Sequence[Any]  # one a storage dtype; these four are outputs
    mask: Any = None  # ceil(A / 32) rows, uint32
    flags: Any = None  # 2 rows, bool: terminated, truncated
    rewards: Any = None  # P rows, float32: of the last step
    actions: Any = None  # 1 row, int32: read by "step" and "restart", written by "uniform" and "choose"
    totals: Any = None  # 2 P rows, float32: a rollout's returns, then wins (final rewards above 0)
    old_fields: Sequence[Any] = ()
    old_mask: Any = None
    old_flags: Any = None
    old_rewards: Any = None  # these two for "take" alone
    old_stream: Any = None
    stream: Any = None  # STREAM_ROWS rows, uint32
    scalars: Any = None  # [n] int32, not by blocks: what is said of the whole batch, or of a device's share

    def flat(self) -> list[Any]:
        """Those in use, in the order of a call."""
        arrays: list[Any] = []
        for part in self:
            arrays += part if isinstance(part, (tuple, list)) else [] if part is None else [part]
        return arrays

    def like(self, arrays: Iterable[Any]) -> Parameters:
        """The same structure, filled with others of its flat order."""
        left = iter(arrays)
        parts: list[Any] = []
        for part in self:
            if isinstance(part, (tuple, list)):
                parts.append([next(left) for _ in part])
            else:
                parts.append(None if part is None else next(left))
        return Parameters(*parts)
