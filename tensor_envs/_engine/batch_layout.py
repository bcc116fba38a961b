"""Partition of a batch into device shards and blocks of lanes."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from tinygrad import Tensor, dtypes
from tinygrad.dtype import DType

from tensor_envs._runtime.buffers import download, empty_buffer, upload
from tensor_envs._runtime.devices import DeviceName, is_gpu, primary

MAX_BATCH = 2**31 - 1
LANES = 64  # maximum number of games in a block; on a GPU, threads in a workgroup
# On a CPU, blocks of states with more than LONG_STATE_WORDS words have at most NARROW_LANES lanes. With 64 lanes, the
# words of a game would be so far apart that few of them fit in the first cache together.
LONG_STATE_WORDS = 32
NARROW_LANES = 16
# Possible numbers of lanes on a CPU. There are few, so that batches of most sizes share their kernels.
CPU_LANES = (LANES, NARROW_LANES, 1)
LONG_STATE_LANES = (NARROW_LANES, 8, 1)
# A kernel on the CPU takes the range of blocks as an argument, and serves batches of up to MAX_BLOCKS blocks. Its
# indices have 32 bits, or 64 if an array of such a batch would have too many values.
MAX_BLOCKS = 2**14


@dataclass(frozen=True)
class BlockGrid:
    """Partition of a shard of a batch into blocks of lanes. The last block is padded.

    Attributes:
        blocks: number of blocks.
        lanes: number of games of a block.
        gpu: whether a thread plays one game; on a CPU a thread plays whole blocks.
        branches: whether games may take different branches.
        max_blocks: number of blocks up to which grids share a kernel on a CPU.
        wide: whether indices on a CPU always have 64 bits.
        workgroups: number of workgroups of a GPU that share the lanes of a block.
        team: number of threads of a GPU that play a game together, a power of two up to a warp.
    """

    blocks: int
    lanes: int
    gpu: bool
    branches: bool = True
    max_blocks: int = MAX_BLOCKS
    wide: bool = False
    workgroups: int = 1
    team: int = 1

    @property
    def rows(self) -> int:
        """Number of games, padding included."""
        return self.blocks * self.lanes

    @property
    def compiled_blocks(self) -> int:
        """Largest number of blocks that a kernel for this grid can play."""
        return self.max_blocks if self.blocks <= self.max_blocks else 2**31

    @functools.cached_property
    def cache_key(self) -> BlockGrid:
        """Key of the kernels for this grid; grids with the same kernels have equal keys."""
        return self if self.gpu else replace(self, blocks=self.compiled_blocks)


@dataclass(frozen=True)
class BatchLayout:
    """Partition of a batch into device shards and blocks of lanes.

    The number of lanes is a power of two, so that a loop over them consists of whole vectors: a remainder is slow, and
    LLVM 21 miscompiles it. The last block of a shard is padded; padding is never read.

    An array of a state is [blocks, words, lanes]: lanes come last, so that a vector of lanes is contiguous.
    """

    batch: int
    device: DeviceName
    shards: int
    grid: BlockGrid  # partition of each shard

    @functools.cached_property
    def shard_size(self) -> int:
        """Number of games of a shard, without padding."""
        return self.batch // self.shards

    @functools.cached_property
    def rows(self) -> int:
        """Number of games of all shards, padding included."""
        return self.grid.rows * self.shards

    @functools.cached_property
    def unpadded(self) -> BlockGrid:
        """Partition of a shard without padding, for arrays that users read."""
        # A number of lanes that divides the number of games needs no padding.
        divisor = math.gcd(self.shard_size, self.grid.lanes)
        lanes = divisor if self.grid.gpu else next(lanes for lanes in CPU_LANES if divisor % lanes == 0)
        return replace(self.grid, blocks=self.shard_size // lanes, lanes=lanes)

    @functools.cached_property
    def single_games(self) -> BlockGrid:
        """Partition of a shard into single games, without padding, for which one program plays batches of any size."""
        return replace(self.grid, blocks=self.shard_size, lanes=1)

    def quotas(self, games: int, shard: int) -> tuple[int, int, int]:
        """Distribute a number of games to play evenly among the rows; the first rows of the batch may play one more.

        Returns:
            Games that every row of a shard plays, number of its first rows that play one more, and number of its rows.
        """
        each, rest = divmod(games, self.batch)
        # Count the rows of this shard among the first `rest` rows of the batch, which play one more.
        rows_with_more = min(max(rest - shard * self.shard_size, 0), self.shard_size)
        return each, rows_with_more, self.shard_size

    def empty(self, words: int, dtype: DType = dtypes.uint32) -> Tensor:
        """Return an uninitialised buffer of `words` values per game."""
        return empty_buffer(self.rows * words, dtype, self.device)

    def view(self, buffer: Tensor, first: int, count: int) -> Tensor:
        """Return values `first` to `first + count - 1` of every game, lazy [B, count]."""
        blocks = buffer.reshape(self.rows // self.grid.lanes, -1, self.grid.lanes)[:, first : first + count]
        return self.by_rows(blocks.permute(0, 2, 1), count)

    def by_rows(self, buffer: Tensor, count: int) -> Tensor:
        """Return a buffer of `count` values per game, stored game by game, as [B, count]."""
        if self.rows == self.batch:
            return buffer.reshape(self.batch, count)
        return buffer.reshape(self.shards, self.grid.rows, count)[:, : self.shard_size].reshape(self.batch, count)

    def column(self, buffer: Tensor) -> Tensor:
        """Return a buffer of one value per game as [B]."""
        if self.rows == self.batch:
            return buffer
        return buffer.reshape(self.shards, self.grid.rows)[:, : self.shard_size].reshape(self.batch)

    def by_lanes(self, values: Tensor) -> Tensor:
        """Return values [B, count] as [blocks, count, lanes], the order of a state's array, lazy; padding is 0."""
        count = values.shape[1]
        rows = values.reshape(self.shards, self.shard_size, count)
        rows = rows.pad(((0, 0), (0, self.grid.rows - self.shard_size), (0, 0)))
        return rows.reshape(-1, self.grid.lanes, count).permute(0, 2, 1)

    def download(self, buffer: Tensor) -> np.ndarray:
        """Return a state's array on the host as a table [B, values]."""
        return self.rows_of(download(buffer))

    def rows_of(self, flat: np.ndarray) -> np.ndarray:
        """Return a flat host array [blocks, values, lanes] as a table [B, values]."""
        blocks = flat.reshape(self.rows // self.grid.lanes, -1, self.grid.lanes)
        rows = blocks.transpose(0, 2, 1).reshape(self.shards, self.grid.rows, blocks.shape[1])[:, : self.shard_size]
        return np.ascontiguousarray(rows).reshape(self.batch, blocks.shape[1])

    def upload(self, table: np.ndarray) -> Tensor:
        """Upload a table [B, values] as a state's array; padding repeats the last game."""
        rows = self.padded(table).reshape(-1, self.grid.lanes, table.shape[1])
        return upload(rows.transpose(0, 2, 1), self.device)

    def padded(self, values: np.ndarray) -> np.ndarray:
        """Pad values [B, ...] by repeating each shard's last game."""
        if self.rows == self.batch:
            return values
        shards = values.reshape(self.shards, self.shard_size, *values.shape[1:])
        padding = np.repeat(shards[:, -1:], self.grid.rows - self.shard_size, axis=1)
        return np.concatenate([shards, padding], axis=1).reshape(self.rows, *values.shape[1:])


@functools.lru_cache(1024)
def batch_layout(batch: int, device: DeviceName, words: int) -> BatchLayout:
    """Return the partition of a batch of states of `words` words. ValueError if the devices cannot share it equally."""
    shards = 1 if isinstance(device, str) else len(device)
    if batch % shards:
        raise ValueError(f"batch must be a multiple of the {shards} devices, got {batch}")
    games = batch // shards
    gpu = is_gpu(device)
    interpreted = primary(device) == "PYTHON"
    # Small batches have small blocks, so that little padding is played.
    if gpu:
        lanes = LANES
    elif words > LONG_STATE_WORDS:
        # A vector of lanes is faster if more than half of its lanes are games.
        lanes = next(lanes for lanes in LONG_STATE_LANES if games > lanes // 2)
    else:
        lanes = next(lanes for lanes in CPU_LANES if lanes <= games)
    # tinygrad's interpreter is slow, so it should play little padding. Its threads run in lockstep, without branches.
    if interpreted:
        lanes = min(lanes, 1 << (games - 1).bit_length())
    return BatchLayout(batch, device, shards, BlockGrid(-(-games // lanes), lanes, gpu, not interpreted))


class BatchBuffers(NamedTuple):
    """Buffers of a batch: the words of the state, and the random keys of the rows."""

    words: Tensor
    row_keys: Tensor
    layout: BatchLayout

    @property
    def batch(self) -> int:
        return self.layout.batch

    @property
    def device(self) -> DeviceName:
        return self.layout.device
