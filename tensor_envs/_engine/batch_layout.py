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
# On a CPU a game with a state of more than MAX_WORDS words has blocks of one wide vector, so that the words of a block
# are adjacent: with 64 games, words lie so far apart that they share few lines of the first cache.
MAX_WORDS = 32
NARROW_LANES = 16
# Numbers of games in a block on a CPU. They are few, so that batches of most sizes share their kernels.
CPU_LANES = (LANES, NARROW_LANES, 1)
# A wide state gains more by a vector than it loses by padding, if more than half of the lanes are games.
WIDE_LANES = (NARROW_LANES, 8, 1)
# A kernel on the CPU has the number of blocks as a parameter and serves every batch of up to this many. Its indices
# have 32 bits, or 64 where an array of such a batch would have more values.
MAX_BLOCKS = 2**14


@dataclass(frozen=True)
class BlockGrid:
    """Partition of a device's share of a batch into blocks of lanes. The last block is padded."""

    blocks: int
    lanes: int
    gpu: bool
    branches: bool = True  # whether each game may take a branch of its own
    max_blocks: int = MAX_BLOCKS
    wide: bool = False  # whether indices have 64 bits on a CPU, whatever the sizes of the arrays
    workgroups: int = 1  # workgroups of a GPU that share the lanes of a block
    team: int = 1  # threads of a GPU that play a game together, a power of two up to a warp

    @property
    def rows(self) -> int:
        return self.blocks * self.lanes

    @property
    def compiled_blocks(self) -> int:
        """Upper bound of the blocks that a kernel for this grid is compiled for."""
        return self.max_blocks if self.blocks <= self.max_blocks else 2**31

    @functools.cached_property
    def cache_key(self) -> BlockGrid:
        """BlockGrid that is equal for all grids that share their kernels."""
        return self if self.gpu else replace(self, blocks=self.compiled_blocks)


@dataclass(frozen=True)
class BatchLayout:
    """Partition of a batch into device shards and blocks of lanes.

    Lanes are a power of two, so that a loop over them is whole vectors: a remainder is slow, and LLVM 21 miscompiles
    it. The last block of a shard is padded; padding is never read.
    """

    batch: int
    device: DeviceName
    shards: int
    grid: BlockGrid  # partition of each shard

    @functools.cached_property
    def share(self) -> int:
        return self.batch // self.shards

    @functools.cached_property
    def rows(self) -> int:
        """Games, padding included."""
        return self.grid.rows * self.shards

    @functools.cached_property
    def exact(self) -> BlockGrid:
        """Partition of a shard without padding, for arrays that users read."""
        # Blocks of a divisor of the share have no padding.
        divisor = math.gcd(self.share, self.grid.lanes)
        lanes = divisor if self.grid.gpu else next(lanes for lanes in CPU_LANES if divisor % lanes == 0)
        return replace(self.grid, blocks=self.share // lanes, lanes=lanes)

    @functools.cached_property
    def by_game(self) -> BlockGrid:
        """Partition of a shard into single games, without padding: one program serves batches of any size."""
        return replace(self.grid, blocks=self.share, lanes=1)

    def quotas(self, games: int, shard: int) -> tuple[int, int, int]:
        """Split a number of games among the rows of a batch; what is left goes to its first rows, one game each.

        Returns:
            Games of each row of a shard, how many of its first rows play one more, and its number of rows.
        """
        each, rest = divmod(games, self.batch)
        # The rows of this shard that are among the batch's first `rest` ones.
        more = min(max(rest - shard * self.share, 0), self.share)
        return each, more, self.share

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
        return buffer.reshape(self.shards, self.grid.rows, count)[:, : self.share].reshape(self.batch, count)

    def column(self, buffer: Tensor) -> Tensor:
        """Return a buffer of one value per game as [B]."""
        if self.rows == self.batch:
            return buffer
        return buffer.reshape(self.shards, self.grid.rows)[:, : self.share].reshape(self.batch)

    def by_lanes(self, values: Tensor) -> Tensor:
        """Return values [B, count] as in a buffer, [blocks, count, lanes], lazy; padding is 0."""
        count = values.shape[1]
        rows = values.reshape(self.shards, self.share, count)
        rows = rows.pad(((0, 0), (0, self.grid.rows - self.share), (0, 0)))
        return rows.reshape(-1, self.grid.lanes, count).permute(0, 2, 1)

    def table(self, buffer: Tensor) -> np.ndarray:
        """Return a buffer on the host, [B, values]."""
        return self.rows_of(download(buffer))

    def rows_of(self, flat: np.ndarray) -> np.ndarray:
        """Return an array already on the host as [B, values], like `table`."""
        blocks = flat.reshape(self.rows // self.grid.lanes, -1, self.grid.lanes)
        rows = blocks.transpose(0, 2, 1).reshape(self.shards, self.grid.rows, blocks.shape[1])[:, : self.share]
        return np.ascontiguousarray(rows).reshape(self.batch, blocks.shape[1])

    def upload(self, table: np.ndarray) -> Tensor:
        """Upload a table [B, values]; padding repeats the last game."""
        rows = self.padded(table).reshape(-1, self.grid.lanes, table.shape[1])
        return upload(rows.transpose(0, 2, 1), self.device)

    def padded(self, values: np.ndarray) -> np.ndarray:
        """Pad values [B, ...] by repeating each shard's last game."""
        if self.rows == self.batch:
            return values
        shares = values.reshape(self.shards, self.share, *values.shape[1:])
        more = np.repeat(shares[:, -1:], self.grid.rows - self.share, axis=1)
        return np.concatenate([shares, more], axis=1).reshape(self.rows, *values.shape[1:])


@functools.lru_cache(1024)
def batch_layout(batch: int, device: DeviceName, words: int) -> BatchLayout:
    """Return the partition of a batch of states of so many words. ValueError if the devices cannot share it equally."""
    shards = 1 if isinstance(device, str) else len(device)
    if batch % shards:
        raise ValueError(f"batch must be a multiple of the {shards} devices, got {batch}")
    share = batch // shards
    gpu = is_gpu(device)
    # tinygrad's interpreter runs every thread, padding included, and the threads of a block in lockstep
    interpreted = primary(device) == "PYTHON"
    # Small batches have small blocks, so that little padding is played.
    if gpu:
        lanes = LANES
    elif words > MAX_WORDS:
        lanes = next(lanes for lanes in WIDE_LANES if share > lanes // 2)
    else:
        lanes = next(lanes for lanes in CPU_LANES if lanes <= share)
    if interpreted:
        lanes = min(lanes, 1 << (share - 1).bit_length())
    return BatchLayout(batch, device, shards, BlockGrid(-(-share // lanes), lanes, gpu, not interpreted))


class BatchBuffers(NamedTuple):
    """The buffers of a batch: the words of its state, and its rows' random keys."""

    words: Tensor
    row_keys: Tensor
    layout: BatchLayout

    @property
    def batch(self) -> int:
        return self.layout.batch

    @property
    def device(self) -> DeviceName:
        return self.layout.device
