"""Who has a line on a board of any size: the convolution of `ops.convolution` on bit words, in one kernel.

The board gets one empty cell at the end of every axis along which a line fits, and each player's marks become the bits
of words. Then k words, shifted by multiples of a direction's flat step, are AND-ed, and what is left are the first
cells of its completed lines, 32 placements at a time.

A line that leaves the board meets an empty cell at its first step outside, wherever its flat index wraps to: of the
axes that it leaves in this step take the last. None after it carries into its coordinate, which is -1 or n, and both
are the empty cell n. Flat steps are positive, since a direction's first entry is and every side along which a line
fits counts two cells or more.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import gcd, prod
from typing import Any, NamedTuple

import numpy as np
from tinygrad import Tensor, UOp, dtypes
from tinygrad.uop.ops import AxisType, Ops

from tensor_envs.core.backend.device import DeviceName, is_gpu, resolve
from tensor_envs.core.backend.launch import launch
from tensor_envs.core.validate import integer, shown
from tensor_envs.ops.boards import Board, as_board
from tensor_envs.ops.lines import Direction, flat_step, line_directions, num_directions, placements, strides
from tensor_envs.rules import WORD_BITS, Scalar, num_words, popcount
from tensor_envs.rules.control import loop

MARKS = (1, -1)  # of the first player, of the second
THREADS = 4096  # of a GPU that share one board and direction, at most
GROUP = 64  # threads of a GPU in a workgroup, at most


class Line(NamedTuple):
    """A completed line: whose (1 or -1), along which direction, from which cell."""

    player: int
    direction: Direction
    start: tuple[int, ...]

    def cells(self, k: int) -> list[tuple[int, ...]]:
        """Its k cells, as coordinates."""
        return [tuple(c + t * e for c, e in zip(self.start, self.direction, strict=True)) for t in range(k)]


@dataclass(frozen=True)
class _Layout:
    """How boards lie in words: each from a word of its own on, and after the last enough words to read beyond it."""

    shape: tuple[int, ...]
    k: int
    boards: int
    gpu: bool

    @cached_property
    def padded(self) -> tuple[int, ...]:
        return tuple(n + (n >= self.k) for n in self.shape)

    @cached_property
    def steps(self) -> list[int]:
        """Flat steps along the axes that admit lines."""
        return [step for n, step in zip(self.shape, strides(self.padded), strict=True) if n >= self.k]

    @cached_property
    def parts(self) -> int:
        """Counts a board, direction and player: threads, each of which takes every parts-th word."""
        return min(THREADS, num_words(prod(self.padded))) if self.gpu else 1

    @cached_property
    def words(self) -> int:
        """Of a board, in equal parts."""
        return -(-num_words(prod(self.padded)) // self.parts) * self.parts

    @cached_property
    def tail(self) -> int:
        return (self.k - 1) * sum(self.steps) // WORD_BITS + 1

    @cached_property
    def directions(self) -> list[Direction]:
        """Those that admit lines; their numbers are those of a board that has only the axes that do."""
        return [d for d in line_directions(len(self.shape)) if placements(self.shape, self.k, d)]

    def pack(self, board: Tensor) -> Tensor:
        """Boards [boards, *shape] -> uint32 [2, boards * words + tail], by player."""
        # int8 in memory between the two: flat indices of words would be taken apart into coordinates cell by cell
        sides = [(0, after - before) for before, after in zip(self.shape, self.padded, strict=True)]
        if (
            board.dtype is not dtypes.int8
        ):  # compare first: a wide integer must not become a mark by narrowing
            board = (board == 1).cast(dtypes.int8) - (board == -1).cast(dtypes.int8)
        cells = board.pad(((0, 0), *sides)).contiguous().reshape(self.boards, -1)
        cells = cells.pad(((0, 0), (0, self.words * WORD_BITS - prod(self.padded)))).reshape(-1, WORD_BITS)
        bits = Tensor.arange(WORD_BITS, dtype=dtypes.uint32)
        players = [
            ((cells == mark).cast(dtypes.uint32) << bits).sum(1, dtype=dtypes.uint32) for mark in MARKS
        ]
        return Tensor.stack(*players).pad(((0, 0), (0, self.tail))).contiguous()


def _count(layout: _Layout, counts: UOp, words: UOp) -> UOp:
    """The kernel: counts[thread, direction, player] = lines that start in the thread's words."""
    rank, parts = len(layout.steps), layout.parts
    threads = layout.boards * parts
    kind = AxisType.GLOBAL if layout.gpu else AxisType.WEAK
    lanes = gcd(threads, GROUP) if layout.gpu else 1
    loops = [loop(threads // lanes, kind), *([loop(lanes, AxisType.LOCAL)] if layout.gpu else [])]
    thread = loops[0] * lanes + loops[1] if layout.gpu else loops[0]
    d, player = loop(num_directions(rank), kind), loop(2)
    # its entries are balanced ternary digits, as in ops.lines.direction
    entries = [(d + 1 + num_directions(rank)) // 3 ** (rank - 1 - axis) % 3 - 1 for axis in range(rank)]
    steps = (entry * step for entry, step in zip(entries, layout.steps, strict=True))
    step = sum(steps, start=UOp.const(0, dtypes.weakint)).maximum(
        1
    )  # it is, and indices known to be positive are cheap

    at = loop(layout.words // parts)
    word = thread // parts * layout.words + at * parts + thread % parts
    run = words[player, word].load()
    for t in range(1, layout.k):
        ahead = step * t
        low, bits = word + ahead // WORD_BITS, (ahead % WORD_BITS).cast(dtypes.uint32)
        # two shifts for one: a shift by all 32 bits is undefined
        run = run & (
            words[player, low].load() >> bits | words[player, low + 1].load() << 1 << (WORD_BITS - 1 - bits)
        )
    lines = popcount(Scalar(run, dtypes.uint32)).uop().reduce(at, arg=Ops.ADD)
    return counts[thread, d, player].store(lines).end(player, d, *reversed(loops))


def _packed(board: Board, k: int, rank: int | None, device: Any) -> tuple[_Layout, Tensor, tuple[int, ...]]:
    """A board argument -> how it lies in words, the words, and the sizes of its batch axes."""
    values, lead, shape = as_board(board, k, rank, device)
    layout = _Layout(shape, k, prod(lead), is_gpu(resolve(values.device)))
    return layout, layout.pack(values.reshape(layout.boards, *shape)), lead


def _counted(layout: _Layout, words: Tensor) -> Tensor:
    """int32 [boards, directions, 2]."""
    threads, directions = layout.boards * layout.parts, len(layout.directions)
    counts = Tensor.empty(threads, directions, len(MARKS), dtype=dtypes.int32, device=words.device)
    done = launch("count_lines", lambda *arrays: _count(layout, *arrays), counts, words)[0]
    return done.reshape(layout.boards, layout.parts, directions, len(MARKS)).sum(1, dtype=dtypes.int32)


def count_lines(board: Board, k: int, rank: int | None = None, device: DeviceName | None = None) -> Tensor:
    """Numbers of completed lines, int32 [*batch, D, 2], lazy: by direction, then of player 1 and of player -1.

    D counts the directions that admit a line, in the order of `line_convolution`. A row of k + 1 marks holds two
    lines. With k = 1 every direction counts every mark. rank, device, values and errors as in `winner`.
    """
    layout, words, lead = _packed(board, k, rank, device)
    return _counted(layout, words).reshape(*lead, len(layout.directions), len(MARKS))


def winner(board: Board, k: int, rank: int | None = None, device: DeviceName | None = None) -> Tensor:
    """Who has k marks in a line: int32 [*batch], 1, -1, or 0 for neither, lazy.

    0 also where both have one: no play of the game leads there, the board does not say who was first, and so
    `winner(-board)` is `-winner(board)` always. `count_lines` tells these boards from those without a line.

    rank: how many trailing axes are the board (None: all); the axes before them are a batch. board: signed integers,
    1 and -1 are marks. A NumPy array goes to `device` (None: tinygrad's default) and ValueError names values other
    than -1, 0, 1; a Tensor stays on its device, and since looking at its values would break laziness, other
    values in it are nobody's marks. TypeError for other dtypes. ValueError for a k of which no line fits, and for a
    rank that the board does not have.

    Boards have at most 12 axes and 2^31 - 1 cells. They take about twice the board's bytes as int8, and 1/4 of them for
    words.
    """
    has = count_lines(board, k, rank, device).max(axis=-2) > 0
    return has[..., 0].cast(dtypes.int32) - has[..., 1].cast(dtypes.int32)


def find_lines(
    board: Board, k: int, limit: int = 16, device: DeviceName | None = None, counts: np.ndarray | None = None
) -> list[Line]:
    """The first completed lines of one board, `limit` at most, by direction, player (1, then -1) and start in C order.

    Runs on the host with the device's counts, so it is not for use in a jit. counts: the board's `count_lines` [D, 2]
    if they are known, which spares most of the work. With k = 1 every mark is one line, along the last axis.
    ValueError for values other than -1, 0, 1 in a Tensor too; the other errors as in `winner`.
    """
    integer("limit", limit, 1, 2**31 - 1)
    if isinstance(board, Tensor) and bool(((board < -1) | (board > 1)).any().item()):
        raise ValueError("board must have no values but -1, 0 and 1")
    layout, words, _ = _packed(board, k, None, device)
    words = words.realize()
    if counts is None:
        counts = _counted(layout, words).numpy()[0]
    if np.shape(counts) != (len(layout.directions), len(MARKS)) or np.asarray(counts).dtype.kind not in "iu":
        raise ValueError(
            f"counts must be integers [{len(layout.directions)}, {len(MARKS)}], got {shown(counts)}"
        )
    lines: list[Line] = []
    for d, row in zip(layout.directions[: 1 if k == 1 else None], counts, strict=False):
        for player, count in enumerate(row):
            if count and len(lines) < limit:
                starts = _starts(layout, words[player].numpy(), d, limit - len(lines))
                lines += [Line(MARKS[player], d, start) for start in starts]
    return lines


def _starts(layout: _Layout, words: np.ndarray, d: Direction, limit: int) -> list[tuple[int, ...]]:
    """The first cells of the first lines of one player along a direction: the kernel's arithmetic in NumPy."""
    step, run = flat_step(layout.padded, d), words[: layout.words].copy()
    for t in range(1, layout.k):
        low, bits = divmod(step * t, WORD_BITS)
        near, far = (words[at : at + layout.words] for at in (low, low + 1))
        run &= near >> bits | far << 1 << (WORD_BITS - 1 - bits)
    cells = [
        int(word) * WORD_BITS + bit
        for word in np.flatnonzero(run)[:limit]
        for bit in range(WORD_BITS)
        if int(run[word]) >> bit & 1
    ]
    return [tuple(int(c) for c in np.unravel_index(cell, layout.padded)) for cell in cells[:limit]]
