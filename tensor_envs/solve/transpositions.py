"""Transposition table of a search, in kernels: bounds of positions that all threads share without locks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import and_
from typing import NamedTuple

from tensor_envs.rules.kernel import Cells, branch
from tensor_envs.rules.scalar import WORD_BITS, Scalar, int32, maximum, minimum, uint32, uint64, where

MAX_WORK = 0xFFFF  # largest recorded work of an entry
BUCKET = 2  # entries of a bucket: the one with the most work, and the one stored last
OFFSET = 2**15  # makes a bound non-negative
MULTIPLIERS = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93  # odd, of 64 bits
CHECK = 0x85EBCA6B  # odd, of 32 bits


class TableResult(NamedTuple):
    """Search result of a position, stored in the table or looked up there."""

    hit: Scalar  # whether the table holds the position; not stored
    low: Scalar  # bounds of the score
    high: Scalar
    action: Scalar  # best action
    region: Sequence[Scalar] = ()  # the winner's region, see `must_play`


def entry_words(position: int, region: int) -> int:
    """Return the words of an entry: a position, its bounds, its best action and work, its region, padded to four."""
    return -(-(position + 2 + region) // 4) * 4


class TranspositionTable:
    """Buckets of entries. An entry holds its whole position, so two positions are never taken for each other.

    Threads read and write without locks, so an entry may be a mixture of two that were written at once. The last word
    of a position is therefore stored as its exclusive or with a function of the other contents, so that a mixture
    matches no position, but for a chance of 2^-32 (R. Hyatt and T. Mann, "A lockless transposition-table
    implementation for parallel search", ICGA Journal 25, 2002). What was checked is what is used: each word is loaded
    once.

    Args:
        cells: uint32 [buckets, BUCKET, words of an entry], 0 at first.
        buckets: number of buckets.
        position: words of a position; the first one is never 0.
        region: words of a region, see `must_play`.
    """

    def __init__(self, cells: Cells, buckets: Scalar, position: int, region: int = 0):
        self.cells = cells
        self.buckets = buckets
        self.position = position
        self.used = position + 2 + region
        self.entry = entry_words(position, region)

    def bucket(self, words: Sequence[Scalar]) -> Scalar:
        """Return the first word of a position's bucket."""
        mixed = uint64(0)
        for k in range(0, len(words), 2):
            pair = uint64(words[k])
            if k + 1 < len(words):
                pair = pair | uint64(words[k + 1]) << WORD_BITS
            # Multiplication carries low bits to high ones, the shift carries them back.
            mixed = (mixed ^ pair) * uint64(MULTIPLIERS[0])
            mixed = mixed ^ mixed >> WORD_BITS
        mixed = uint32(mixed * uint64(MULTIPLIERS[1]) >> WORD_BITS)
        # The high half of the product maps 32 bits evenly onto the buckets, without a division. The index is unsigned,
        # since a table may have more than 2^31 words.
        return uint32(uint64(mixed) * uint64(self.buckets) >> WORD_BITS) * (BUCKET * self.entry)

    def may_hold(self, bucket: Scalar, first: Scalar) -> Scalar:
        """Return whether a bucket may hold a position with this first word; False is certain, True is not."""
        # A position of one word is hidden by the check, so that only an empty entry is certain.
        held = [self.cells[bucket + e * self.entry] == first for e in range(BUCKET)]
        return held[0] | held[1] if self.position > 1 else first != 0

    def look_up(self, bucket: Scalar, position: Sequence[Scalar]) -> TableResult:
        """Look up a position; unless the result is a hit, its other fields mean nothing."""
        entries = [self.load(bucket, e) for e in range(BUCKET)]
        in_first, in_second = (self.matches(entry, position) for entry in entries)
        pairs = list(zip(*entries, strict=True))[self.position :]
        bounds, rest, *region = (where(in_first, x, y) for x, y in pairs)
        low = int32(bounds & 0xFFFF) - OFFSET
        high = int32(bounds >> 16) - OFFSET
        return TableResult(in_first | in_second, low, high, int32(rest & 0xFFFF), region)

    def store(self, bucket: Scalar, position: Sequence[Scalar], result: TableResult, work: Scalar) -> None:
        """Store a search result.

        It replaces the position's own entry if there is one, which keeps the larger of both works. Else it becomes the
        first entry of the bucket if no other took more work, and the second one if not. A bucket whose entries both
        have `MAX_WORK` takes no other position.

        Args:
            bucket: first word of the position's bucket.
            position: words of the position.
            result: bounds, best action and region.
            work: number of nodes below the position.
        """
        bounds = uint32(result.low + OFFSET) | uint32(result.high + OFFSET) << 16
        old = [self.load(bucket, e) for e in range(BUCKET)]
        in_first, in_second = (self.matches(entry, position) for entry in old)
        old_work = [int32(entry[self.position + 1] >> 16) for entry in old]
        # Work is stored in units of four nodes, in 16 bits.
        work = maximum(minimum(work >> 2, MAX_WORK), where(in_first, old_work[0], where(in_second, old_work[1], 0)))
        rest = uint32(result.action) | uint32(work) << 16
        contents = [bounds, rest, *result.region]
        new = [*position[:-1], position[-1] ^ self.check([*position[:-1], *contents]), *contents]
        # Two entries of the most work, such as those of a file, are not replaced.
        is_full = ~in_first & ~in_second & (old_work[1] == MAX_WORK)
        # The first entry is the one of most work. If the new one took more, the old one moves to the second entry.
        demotes = ~in_first & ~in_second & ~is_full & (work >= old_work[0])
        with branch(demotes):
            for w, x in enumerate(old[0]):
                self.cells[bucket + (self.entry + w)] = x
        start = bucket + where(in_first | demotes, uint32(0), uint32(self.entry))
        with branch(~is_full):
            for w, x in enumerate(new):
                self.cells[start + w] = x

    def load(self, bucket: Scalar, entry: int) -> list[Scalar]:
        """Return the words of an entry, without padding."""
        return [self.cells[bucket + (entry * self.entry + w)] for w in range(self.used)]

    def matches(self, entry: Sequence[Scalar], position: Sequence[Scalar]) -> Scalar:
        """Return whether an entry is intact and of this position; another thread may have half overwritten it."""
        last = self.position - 1
        hidden = entry[last] ^ self.check([*entry[:last], *entry[self.position :]])
        return reduce(and_, (x == y for x, y in zip([*entry[:last], hidden], position, strict=True)))

    def check(self, others: Sequence[Scalar]) -> Scalar:
        """Return a hash of an entry's words but the position's last one; 0 if all are 0."""
        mixed = uint32(0)
        for x in others:
            mixed = (mixed ^ x) * uint32(CHECK)
            mixed = mixed ^ mixed >> 15
        return mixed
