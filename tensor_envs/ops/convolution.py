"""Lines on a board as convolutions with Kronecker deltas: the definition of a win, for boards of any shape.

The board holds 1 for the first player's marks, -1 for the second's and 0 where it is empty. A line of k cells is a
placement of a kernel that is 1 on a diagonal of a cube and 0 elsewhere, and the line is complete exactly where the
convolution is k or -k. Source: the rules of hyperdimensional tic-tac-toe, F3-F5, G1 and G2.
"""

from __future__ import annotations

from functools import reduce
from itertools import compress
from operator import add

from tinygrad import Tensor, dtypes

from tensor_envs._compiler.devices import DeviceName, resolve
from tensor_envs._validate import integer
from tensor_envs.ops.boards import Board, as_board
from tensor_envs.ops.lines import MAX_CELLS, MAX_RANK, Direction, flat_step, line_directions, placements


def kronecker_delta(n: int, rank: int) -> Tensor:
    """The tensor of `rank` axes of n entries that is 1 where all indices agree and 0 elsewhere, int32, lazy.

    It has no buffer: what reads it computes it. TypeError or ValueError unless rank is in 1..12 and n >= 1, with at
    most 2^31 - 1 entries. Source, for rank 2: https://en.wikipedia.org/wiki/Kronecker_delta
    """
    integer("n", n, 1, int(MAX_CELLS ** (1 / integer("rank", rank, 1, MAX_RANK))))
    resolve(None)  # a device that is ready, in case this is the first tensor that anybody reads
    shape = (n,) * rank
    step = flat_step(shape, (1,) * rank)  # the diagonal's cells are the multiples of its step
    return Tensor.arange(n**rank).mod(step).eq(0).cast(dtypes.int32).reshape(shape)


def line_kernels(rank: int, k: int) -> dict[Direction, Tensor]:
    """For every direction of a board with `rank` axes: its kernel, int32, k long on axes along which it moves, else 1.

    A direction that moves along r axes has the Kronecker delta of rank r, laid along them (its transpositions) and
    flipped on those where the direction is -1: (3^rank - 1) / 2 kernels in all (G1). TypeError or ValueError for a rank
    or a k that `kronecker_delta` does not take.
    """
    integer("k", k, 1, int(MAX_CELLS ** (1 / integer("rank", rank, 1, MAX_RANK))))
    deltas = {r: kronecker_delta(k, r) for r in range(1, rank + 1)}
    kernels = {}
    for d in line_directions(rank):
        kernel = deltas[sum(map(abs, d))].reshape([k if entry else 1 for entry in d])
        flips = [axis for axis, entry in enumerate(d) if entry < 0]
        kernels[d] = kernel.flip(flips) if flips else kernel
    return kernels


def line_convolution(
    board: Board, k: int, rank: int | None = None, device: DeviceName | None = None
) -> dict[Direction, Tensor]:
    """For every direction that admits a line: the sums over its placements, int32 [*batch, placements by axis], lazy.

    This is the board's convolution with the direction's kernel without padding; as the kernel has only k cells that
    are not 0, it is the sum of k shifted slices. An entry belongs to the placement whose lowest corner has its index.
    rank: how many trailing axes are the board (None: all); the axes before them are a batch. A Tensor may hold any
    signed integers; for arrays and errors see `ops.boards.as_board`.
    """
    values, lead, shape = as_board(board, k, rank, device)
    values = values.cast(dtypes.int32)

    def cells(d: Direction, t: int) -> Tensor:
        """Cell t of every placement."""
        bounds = [(0, n) for n in lead]
        for n, entry in zip(shape, d, strict=True):
            first = (0, t, k - 1 - t)[entry]
            bounds.append((first, first + (n - k + 1 if entry else n)))
        return values.shrink(tuple(bounds))

    directions = line_directions(len(shape))
    admitted = compress(directions, (placements(shape, k, d) for d in directions))
    return {d: reduce(add, (cells(d, t) for t in range(k))) for d in admitted}
