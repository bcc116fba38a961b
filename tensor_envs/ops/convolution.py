"""Lines on boards of any shape as convolutions with Kronecker deltas: the definition of a win.

The board holds 1 for the first player's marks, -1 for the second's and 0 where it is empty. A line of k cells is a
placement of a kernel that is 1 on a diagonal of a cube and 0 elsewhere, and the line is complete exactly where the
convolution is k or -k. Source: the rules of hyperdimensional tic-tac-toe, F3-F5, G1 and G2.
"""

from __future__ import annotations

from functools import reduce
from itertools import compress
from operator import add

from tinygrad import Tensor, dtypes

from tensor_envs._runtime.devices import DeviceName
from tensor_envs._runtime.opening import open_device
from tensor_envs._validate import integer
from tensor_envs.ops.boards import BoardArray, as_board
from tensor_envs.ops.lines import MAX_CELLS, MAX_RANK, Direction, flat_step, line_directions, placements


def kronecker_delta(n: int, rank: int) -> Tensor:
    """Return the tensor of `rank` axes of length n that is 1 where all indices are equal, int32, lazy.

    Args:
        n: length of each axis, 1 or more; the tensor has at most 2^31 - 1 entries.
        rank: 1..12.

    Raises:
        TypeError, ValueError: other arguments.

    Examples:
        >>> te.ops.kronecker_delta(2, 2).tolist()
        [[1, 0], [0, 1]]
    """
    rank = integer("rank", rank, 1, MAX_RANK)
    n = integer("n", n, 1, int(MAX_CELLS ** (1 / rank)))
    open_device(None)  # opens the device
    shape = (n,) * rank
    step = flat_step(shape, (1,) * rank)  # the diagonal's cells are the multiples of its step
    return Tensor.arange(n**rank).mod(step).eq(0).cast(dtypes.int32).reshape(shape)


def line_kernels(rank: int, k: int) -> dict[Direction, Tensor]:
    """Return the kernel of every direction of a board with `rank` axes: (3^rank - 1) / 2 kernels (G1).

    The kernel of a direction that moves along r axes is the Kronecker delta of rank r along these axes, flipped where
    the direction is -1. It is int32, of length k along these axes and 1 along the others.

    Raises:
        TypeError, ValueError: as in `kronecker_delta`.

    Examples:
        >>> [kernel.tolist() for kernel in te.ops.line_kernels(1, 3).values()]
        [[1, 1, 1]]
    """
    rank = integer("rank", rank, 1, MAX_RANK)
    k = integer("k", k, 1, int(MAX_CELLS ** (1 / rank)))
    deltas = {r: kronecker_delta(k, r) for r in range(1, rank + 1)}
    kernels = {}
    for d in line_directions(rank):
        kernel = deltas[sum(map(abs, d))].reshape([k if entry else 1 for entry in d])
        flips = [axis for axis, entry in enumerate(d) if entry < 0]
        kernels[d] = kernel.flip(flips) if flips else kernel
    return kernels


def line_convolution(
    board: BoardArray, k: int, rank: int | None = None, device: DeviceName | None = None
) -> dict[Direction, Tensor]:
    """Convolve a board with the kernel of every direction that admits a line, without padding.

    A kernel has k entries that are not 0, so the convolution is the sum of k shifted slices.

    Args:
        board: signed integers; in an array -1, 0 and 1.
        k, rank, device: as in `winner`.

    Returns:
        The sums over the placements of each direction, int32 [*batch, placements by axis], lazy. An entry belongs to
        the placement whose lowest corner has its index.

    Raises:
        TypeError, ValueError: as in `winner`.

    Examples:
        >>> {d: sums.tolist() for d, sums in te.ops.line_convolution(np.array([1, 1, 0]), 2).items()}
        {(1,): [2, 1]}
    """
    values, lead, shape, k = as_board(board, k, rank, device)
    values = values.cast(dtypes.int32)

    def cells(d: Direction, t: int) -> Tensor:
        """Return cell t of every placement."""
        bounds = [(0, n) for n in lead]
        for n, entry in zip(shape, d, strict=True):
            first = (0, t, k - 1 - t)[entry]
            bounds.append((first, first + (n - k + 1 if entry else n)))
        return values.shrink(tuple(bounds))

    directions = line_directions(len(shape))
    admitted = compress(directions, (placements(shape, k, d) for d in directions))
    return {d: reduce(add, (cells(d, t) for t in range(k))) for d in admitted}
