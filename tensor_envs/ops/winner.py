"""Winners on boards of any size: the convolution of `ops.convolution` on bit words, in one kernel.

The board gets one empty cell at the end of every axis along which a line fits, and each player's marks become the bits
of words. The kernel ANDs k words, shifted by multiples of a direction's flat step. The bits that remain are the first
cells of completed lines, 32 placements at a time.

A line that leaves the board meets an empty cell at its first step outside, wherever its flat index wraps to: of the
axes that it leaves in this step take the last. None after it carries into its coordinate, which is -1 or n, and both
are the empty cell n. Flat steps are positive, since a direction's first entry is and every side along which a line
fits counts two cells or more.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from math import gcd, prod
from typing import Any, NamedTuple

import numpy as np
from tinygrad import Tensor, dtypes

from tensor_envs._compiler.tape import INT32, INT64
from tensor_envs._runtime.devices import DeviceName, is_gpu
from tensor_envs._runtime.launch import eager, lazy_kernel, realize
from tensor_envs._runtime.opening import open_device
from tensor_envs._validate import integer, renames, shown
from tensor_envs.ops.boards import BoardArray, as_board
from tensor_envs.ops.lines import Direction, flat_step, line_directions, placements, strides
from tensor_envs.rules import WORD_BITS, Scalar, maximum, num_words, popcount, uint32
from tensor_envs.rules.kernel import Cells, grid_index, loop, registers, trace

MARKS = (1, -1)  # marks of the first and the second player
THREADS = 4096  # upper bound of a GPU's threads that share one board and direction
GROUP = 64  # upper bound of the threads in a workgroup


class Line(NamedTuple):
    """Completed line of a player (1 or -1) along a direction from its first cell."""

    player: int
    direction: Direction
    start: tuple[int, ...]

    def cells(self, k: int) -> list[tuple[int, ...]]:
        """Return the coordinates of the k cells of this line."""
        return [tuple(c + n * step for c, step in zip(self.start, self.direction, strict=True)) for n in range(k)]


@dataclass(frozen=True)
class _Layout:
    """Layout of boards in words: each starts a new word, and the last is followed by padding for reads beyond it."""

    shape: tuple[int, ...]
    k: int
    boards: int
    gpu: bool

    @cached_property
    def padded(self) -> tuple[int, ...]:
        return tuple(n + (n >= self.k) for n in self.shape)

    @cached_property
    def steps(self) -> list[int]:
        """Step in the flat board along each axis that is long enough for a line."""
        return [step for n, step in zip(self.shape, strides(self.padded), strict=True) if n >= self.k]

    @cached_property
    def parts(self) -> int:
        """Threads that share a board and direction; each takes every parts-th word."""
        return min(THREADS, num_words(prod(self.padded))) if self.gpu else 1

    @cached_property
    def words(self) -> int:
        """Words of a board, a multiple of `parts`."""
        return -(-num_words(prod(self.padded)) // self.parts) * self.parts

    @cached_property
    def tail(self) -> int:
        return (self.k - 1) * sum(self.steps) // WORD_BITS + 1

    @cached_property
    def directions(self) -> list[Direction]:
        """Directions that admit lines, numbered as on a board that has only the axes that admit them."""
        return [d for d in line_directions(len(self.shape)) if placements(self.shape, self.k, d)]

    def pack(self, board: Tensor) -> Tensor:
        """Pack boards [boards, *shape] into uint32 [2, boards * words + tail], by player."""
        # int8 in memory between the two steps: else each cell's flat index is split into coordinates
        sides = [(0, after - before) for before, after in zip(self.shape, self.padded, strict=True)]
        if board.dtype is not dtypes.int8:  # compare first: a wide integer must not become a mark by narrowing
            board = (board == 1).cast(dtypes.int8) - (board == -1).cast(dtypes.int8)
        cells = board.pad(((0, 0), *sides)).contiguous().reshape(self.boards, -1)
        cells = cells.pad(((0, 0), (0, self.words * WORD_BITS - prod(self.padded)))).reshape(-1, WORD_BITS)
        bits = Tensor.arange(WORD_BITS, dtype=dtypes.uint32)
        players = [((cells == mark).cast(dtypes.uint32) << bits).sum(1, dtype=dtypes.uint32) for mark in MARKS]
        return Tensor.stack(*players).pad(((0, 0), (0, self.tail))).contiguous()


def _count(layout: _Layout, counts: Cells, words: Cells) -> None:
    """Record the kernel: counts[thread, direction, player] = lines that start in the thread's words."""
    threads = layout.boards * layout.parts
    directions = len(layout.directions)
    if layout.gpu:
        lanes = gcd(threads, GROUP)
        group = grid_index("group", threads // lanes * directions)
        thread = group // directions * lanes + grid_index("thread", lanes)
        _count_along(layout, thread, group % directions, counts, words)
    else:
        with loop(threads) as thread, loop(directions) as direction:
            _count_along(layout, thread, direction, counts, words)


def _count_along(layout: _Layout, thread: Scalar, direction: Scalar, counts: Cells, words: Cells) -> None:
    rank = len(layout.steps)
    parts = layout.parts
    every = len(layout.directions)
    # its entries are balanced ternary digits, as in ops.lines.direction
    entries = ((direction + 1 + every) // 3 ** (rank - 1 - axis) % 3 - 1 for axis in range(rank))
    # division is cheap for a step that is known to be positive
    step = maximum(sum(entry * step for entry, step in zip(entries, layout.steps, strict=True)), 1)
    if max(counts.size, words.size) > 2**31:
        thread = thread.to(INT64)
    with loop(len(MARKS)) as player:
        first = words.size // len(MARKS) * player + thread // parts * layout.words + thread % parts
        total = registers(1, INT32)
        total[0] = 0
        with loop(layout.words // parts) as i:
            at = first + i * parts
            run = words[at]
            for t in range(1, layout.k):
                low = at + step * t // WORD_BITS
                bits = uint32(step * t % WORD_BITS)
                # two shifts for one: a shift by all 32 bits is undefined
                run = run & (words[low] >> bits | words[low + 1] << 1 << (WORD_BITS - 1 - bits))
            total[0] = total[0] + popcount(run)
        counts[(thread * every + direction) * len(MARKS) + player] = total[0]


def _packed(board: BoardArray, k: int, rank: int | None, device: Any) -> tuple[_Layout, Tensor, tuple[int, ...]]:
    """Return a board argument's layout in words, the words, and the sizes of its batch axes."""
    values, lead, shape, k = as_board(board, k, rank, device)
    layout = _Layout(shape, k, prod(lead), is_gpu(open_device(values.device)))
    return layout, layout.pack(values.reshape(layout.boards, *shape)), lead


def _counted(layout: _Layout, words: Tensor) -> Tensor:
    """Return the numbers of lines, int32 [boards, directions, 2]."""
    threads = layout.boards * layout.parts
    directions = len(layout.directions)
    counts = Tensor.empty(threads, directions, len(MARKS), dtype=dtypes.int32, device=words.device)
    result = lazy_kernel("count_lines", partial(trace, partial(_count, layout)), counts, words)[0]
    return result.reshape(layout.boards, layout.parts, directions, len(MARKS)).sum(1, dtype=dtypes.int32)


def count_lines(board: BoardArray, k: int, rank: int | None = None, device: DeviceName | None = None) -> Tensor:
    """Count completed lines: int32 [*batch, D, 2], lazy, by direction, then of player 1 and of player -1.

    D is the number of directions that admit a line, in the order of `line_convolution`. A row of k + 1 marks holds two
    lines. With k = 1 every direction counts every mark. Arguments and errors are those of `winner`.
    """
    layout, words, lead = _packed(board, k, rank, device)
    return _counted(layout, words).reshape(*lead, len(layout.directions), len(MARKS))


def winner(board: BoardArray, k: int, rank: int | None = None, device: DeviceName | None = None) -> Tensor:
    """Return the player who has k marks in a line: int32 [*batch], 1, -1, or 0 for neither, lazy.

    It is 0 also where both players have one: no play of the game leads there, and the board does not show who was
    first. So `winner(-board)` always is `-winner(board)`. `count_lines` tells these boards from those without a line.

    Args:
        board: signed integers; 1 and -1 are marks. At most 12 axes and 2^31 - 1 cells.
        k: length of a line.
        rank: the number of trailing axes that are the board; the axes before them are a batch. None: all.
        device: for a NumPy array; None is tinygrad's default. A Tensor stays on its device.

    Raises:
        TypeError: another dtype.
        ValueError: no line of k fits, the board has fewer axes than `rank`, or an array has values other than -1, 0,
            1. In a Tensor, which stays lazy, other values count as empty cells.
    """
    has = count_lines(board, k, rank, device).max(axis=-2) > 0
    return has[..., 0].cast(dtypes.int32) - has[..., 1].cast(dtypes.int32)


@renames(limit="max_lines")
def find_lines(
    board: BoardArray, k: int, max_lines: int = 16, device: DeviceName | None = None, counts: np.ndarray | None = None
) -> list[Line]:
    """Return the first completed lines of one board, by direction, player (1, then -1) and start in C order.

    It runs on the host with the device's counts, so it cannot be used in a jit. With k = 1 every mark is one line,
    along the last axis.

    Args:
        board, k, device: see `winner`.
        max_lines: upper bound of the number of lines.
        counts: the board's `count_lines` [D, 2], if available; they save most of the work.

    Raises:
        ValueError: also for values other than -1, 0, 1 in a Tensor; else as in `winner`.
    """
    max_lines = integer("max_lines", max_lines, 1, 2**31 - 1)
    if isinstance(board, Tensor) and bool(eager((board < -1) | (board > 1)).numpy().any()):
        raise ValueError("board must have no values but -1, 0 and 1")
    layout, words, _ = _packed(board, k, None, device)
    words = realize(words)
    if counts is None:
        counts = eager(_counted(layout, words)).numpy()[0]
    if np.shape(counts) != (len(layout.directions), len(MARKS)) or np.asarray(counts).dtype.kind not in "iu":
        raise ValueError(f"counts must be integers [{len(layout.directions)}, {len(MARKS)}], got {shown(counts)}")
    lines, marks = list[Line](), words.numpy()
    for d, row in zip(layout.directions[: 1 if layout.k == 1 else None], counts, strict=False):
        for player, count in enumerate(row):
            if count and len(lines) < max_lines:
                starts = _starts(layout, marks[player], d, max_lines - len(lines))
                lines += [Line(MARKS[player], d, start) for start in starts]
    return lines


def _starts(layout: _Layout, words: np.ndarray, d: Direction, count: int) -> list[tuple[int, ...]]:
    """Return the first cells of the first lines of one player along a direction: `_count` in NumPy."""
    step = flat_step(layout.padded, d)
    run = words[: layout.words].copy()
    for t in range(1, layout.k):
        low, bits = divmod(step * t, WORD_BITS)
        near, far = (words[at : at + layout.words] for at in (low, low + 1))
        run &= near >> bits | far << 1 << (WORD_BITS - 1 - bits)
    cells = [
        int(word) * WORD_BITS + bit
        for word in np.flatnonzero(run)[:count]
        for bit in range(WORD_BITS)
        if int(run[word]) >> bit & 1
    ]
    return [tuple(int(c) for c in np.unravel_index(cell, layout.padded)) for cell in cells[:count]]
