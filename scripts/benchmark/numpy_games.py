"""Hand-optimised 3x3 tic-tac-toe in NumPy, as a baseline of array operations.

Many games are played by random legal actions with auto-reset. A step outputs the legal actions as bits, the rewards of
both players and whether the game ended. Every array is allocated once; `take` with `mode="clip"` reads tables without
checking indices.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from benchmark.runner import MIN_EPISODES, EpisodeStats, play_first_episodes

CELLS, FULL = 9, 0b111_111_111
LINES = (0b111, 0b111000, 0b111000000, 0b1001001, 0b10010010, 0b100100100, 0b100010001, 0b1010100)


def has_line(marks: int) -> bool:
    return any(marks & line == line for line in LINES)


def legal_cells(own: int, other: int) -> list[int]:
    return [cell for cell in range(CELLS) if not (own | other) >> cell & 1]


class NumPyGames:
    """Base of both versions: `mask` uint16 [B], `rewards` float32 [B, 2] and `ended` bool [B] of the last step."""

    def __init__(self, batch: int):
        self.batch = self.steps = batch
        self.random = np.random.Generator(np.random.SFC64(0))
        self.draw = np.empty(batch, np.uint32)
        self.mask, self.ended = np.full(batch, FULL, np.uint16), np.zeros(batch, bool)
        self._pairs = np.zeros(batch, np.int64)
        self.rewards = self._pairs.view(np.float32).reshape(batch, 2)  # both rewards are one 64-bit entry

    def play(self) -> None:
        raise NotImplementedError

    def wait(self) -> None:
        """Return at once: NumPy is synchronous."""

    def episode_stats(self) -> EpisodeStats:
        other = type(self)(max(self.batch, MIN_EPISODES))

        def step() -> tuple[np.ndarray, np.ndarray]:
            other.play()
            return other.rewards[:, 0].copy(), other.ended

        return play_first_episodes(other.batch, step)

    def metadata(self) -> dict[str, Any]:
        return {}

    def _choose(self, counts: np.ndarray) -> np.ndarray:
        """Return random integers in 0..count-1."""
        bits = np.frombuffer(self.random.bytes(2 * self.batch), np.uint16)
        np.multiply(counts, bits, out=self.draw)
        return np.right_shift(self.draw, 16, out=self.draw)


class BitBoards(NumPyGames):
    """Version with a bitboard for each player, and small tables for the n-th free cell and for lines."""

    def __init__(self, batch: int):
        super().__init__(batch)
        sets = range(FULL + 1)
        self.count_of = np.array([cells.bit_count() for cells in sets], np.uint32)
        nth = [[1 << c for c in legal_cells(~cells & FULL, 0)] + [0] * 9 for cells in sets]
        self.nth_of = np.array([row[:16] + [0] * (16 - len(row[:16])) for row in nth], np.uint16).reshape(-1)
        self.line_of = np.array([has_line(cells) for cells in sets])
        pairs = np.array([[0, 0], [0, 0], [-1, 1], [1, -1]], np.float32)  # [won, who moved]
        self.rewards_of = pairs.view(np.int64).reshape(-1)
        self.own, self.other = np.zeros(batch, np.uint16), np.zeros(batch, np.uint16)
        self.mover = np.ones(batch, np.uint8)  # 1: the first player
        self.index, self.counts = np.zeros(batch, np.int64), np.full(batch, CELLS, np.uint32)
        self.bit, self.won = np.empty(batch, np.uint16), np.empty(batch, bool)
        self.kept = np.empty(batch, np.uint16)
        self.code = np.empty(batch, np.uint8)

    def play(self) -> None:
        np.left_shift(self.mask, 4, out=self.index, casting="unsafe")
        self.index += self._choose(self.counts)
        self.nth_of.take(self.index, out=self.bit, mode="clip")
        self.own |= self.bit
        self.line_of.take(self.own, out=self.won, mode="clip")
        self.mask ^= self.bit
        np.equal(self.mask, 0, out=self.ended)
        self.ended |= self.won
        np.left_shift(self.won.view(np.uint8), 1, out=self.code)
        self.code |= self.mover
        self.rewards_of.take(self.code, out=self._pairs, mode="clip")
        # reset finished games: clear all bits, and the first player moves
        np.subtract(self.ended, 1, out=self.kept, dtype=np.uint16, casting="unsafe")
        self.own &= self.kept
        self.other &= self.kept
        self.own, self.other = self.other, self.own
        np.invert(self.kept, out=self.kept)
        self.kept &= FULL
        self.mask |= self.kept
        np.bitwise_xor(self.mover, 1, out=self.mover)
        self.mover |= self.ended.view(np.uint8)
        self.count_of.take(self.mask, out=self.counts, mode="clip")


class PositionTable(NumPyGames):
    """Version with a transition table over all 4,520 positions, which is possible for tiny games only."""

    def __init__(self, batch: int):
        super().__init__(batch)
        after, rewards, ended, counts, masks = (np.array(table) for table in self.tables)
        # a position is the offset of its row of 9 entries, so adding the choice gives the index of the transition
        self.after = (after * CELLS).reshape(-1)
        self.rewards_of = rewards.astype(np.float32).view(np.int64).reshape(-1)
        self.ended_of = ended.reshape(-1)
        self.count_of = np.repeat(counts, CELLS).astype(np.uint32)
        self.mask_of = np.repeat(masks, CELLS).astype(np.uint16)
        self.position, self.index = np.zeros(batch, np.int64), np.empty(batch, np.int64)
        self.counts = np.full(batch, CELLS, np.uint32)

    @cached_property
    def tables(self) -> tuple[list[Any], list[Any], list[Any], list[int], list[int]]:
        """Tables by position and choice: next position, rewards, end; by position: number of legal cells, mask."""
        numbers, positions = {(0, 0): 0}, [(0, 0)]
        after, rewards, ends, counts, masks = [], [], [], [], []  # type: ignore[var-annotated]
        for own, other in positions:  # grows during the loop
            legal = legal_cells(own, other)
            counts.append(len(legal))
            masks.append(~(own | other) & FULL)
            rows: list[list[Any]] = [[0] * CELLS, [(0, 0)] * CELLS, [False] * CELLS]
            for n, cell in enumerate(legal):
                won = has_line(own | 1 << cell)
                child = (0, 0) if won or len(legal) == 1 else (other, own | 1 << cell)
                if child not in numbers:
                    numbers[child] = len(positions)
                    positions.append(child)
                rows[0][n], rows[2][n] = numbers[child], won or len(legal) == 1
                rows[1][n] = (0, 0) if not won else (1, -1) if len(legal) % 2 else (-1, 1)
            for table, row in zip((after, rewards, ends), rows, strict=True):
                table.append(row)
        return after, rewards, ends, counts, masks

    def play(self) -> None:
        np.add(self.position, self._choose(self.counts), out=self.index)
        self.after.take(self.index, out=self.position, mode="clip")
        self.rewards_of.take(self.index, out=self._pairs, mode="clip")
        self.ended_of.take(self.index, out=self.ended, mode="clip")
        self.count_of.take(self.position, out=self.counts, mode="clip")
        self.mask_of.take(self.position, out=self.mask, mode="clip")
