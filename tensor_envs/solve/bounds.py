"""Proven bounds of positions: from the table of a search to a file, and back into the table of another search."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tensor_envs.rules.scalar import WORD_BITS
from tensor_envs.solve.canonical import BitMaps, canonical, images
from tensor_envs.solve.packed import Array, Packed
from tensor_envs.solve.transpositions import BUCKET, CHECK, MAX_WORK, MULTIPLIERS, OFFSET, entry_words

ROW_BYTES = 6  # bytes of a row without its keys
UNKNOWN_ACTION = 0xFFFF  # an entry's best action if none is known


class Bounds(NamedTuple):
    """Score bounds of positions for the player to move; the positions that took the most work come first.

    Attributes:
        words: packed positions, uint32 [n, words of a position].
        low, high: bounds of the scores, int16 [n].
        work: nodes below the positions, in the units of the table, uint16 [n].
    """

    words: Array
    low: Array
    high: Array
    work: Array

    def take(self, rows: Array) -> Bounds:
        """Return the positions with these row numbers."""
        return Bounds(*(column[rows] for column in self))

    def first(self, count: int) -> Bounds:
        """Return the first `count` positions, or all if there are fewer."""
        return self.take(np.arange(min(count, len(self.work))))

    def arrays(self) -> dict[str, Array]:
        """Return the arrays to store in a file."""
        packed = Packed.of(list(self.words.T))
        keys = {"base": packed.base, "varying": packed.varying, "keys": packed.keys}
        return keys | {"low": self.low, "high": self.high, "work": self.work}

    @staticmethod
    def of_arrays(arrays: dict[str, Array], position: int) -> Bounds:
        """Return the bounds in a file's arrays. ValueError unless they fit each other, KeyError if one is missing."""
        packed = Packed(*(np.array(arrays[name]) for name in ("base", "varying", "keys")))
        bounds = Bounds(np.stack(packed.columns(), 1), *(np.array(arrays[name]) for name in ("low", "high", "work")))
        if len(packed.base) != position or {len(column) for column in bounds} != {len(packed)}:
            raise ValueError("its arrays do not belong together")
        return bounds


def bounds_of(table: Array, position: int, region: int, count: int, maps: BitMaps) -> Bounds:
    """Return the bounds of the positions that took the most work, one position of each symmetry class.

    Args:
        table: uint32 words of the buckets of a search.
        position: words of a position.
        region: words of a region.
        count: maximum number of positions.
        maps: symmetries of the positions.
    """
    entries = table.reshape(-1, entry_words(position, region))
    used = position + 2 + region
    work = (entries[:, position + 1] >> 16).astype(np.uint16)
    # Choose a minimum of work from a histogram, so that not all entries have to be sorted. At most twice as many as
    # asked for may remain, since images of one position may be among them.
    entries_from = np.bincount(work, minlength=MAX_WORK + 1)[::-1].cumsum()
    min_work = max(MAX_WORK - int(np.searchsorted(entries_from, 2 * count, "right")), 1)
    rows = np.flatnonzero((work >= min_work) & (entries[:, 0] != 0))
    candidates = entries[rows]
    words = candidates[:, :position].copy()
    bounds, rest = candidates[:, position : position + 2].T
    last = position - 1
    # Undo the exclusive or that hides the last word, see `TranspositionTable`.
    words[:, last] ^= checks(np.concatenate([words[:, :last], candidates[:, position:used]], 1))
    # Two threads may have written one entry at once. Such a mixture seldom hashes to the bucket where it stands.
    intact = bucket_numbers(words, len(entries) // BUCKET) == rows // BUCKET
    words = words[intact]
    bounds = bounds[intact]
    rest = rest[intact]
    low, high = ((x.astype(np.int32) - OFFSET).astype(np.int16) for x in (bounds & 0xFFFF, bounds >> 16))
    result = Bounds(canonical(words, maps), low, high, (rest >> 16).astype(np.uint16))
    # The one of most work comes first among equal positions, and is kept.
    result = result.take(np.argsort(-result.work.astype(np.int32), kind="stable"))
    _, first = np.unique(result.words, axis=0, return_index=True)
    return result.take(np.sort(first)).first(count)


def fill(table: Array, bounds: Bounds, region: int, maps: BitMaps) -> None:
    """Store the bounds of positions and of their images in an empty table, in place; a full bucket takes no more.

    Args:
        table: uint32 words of the buckets of a search, all 0.
        bounds: the positions.
        region: words of a region. A file has no regions, so all cells are stored.
        maps: symmetries of the positions.
    """
    position = bounds.words.shape[1]
    entries = table.reshape(-1, BUCKET, entry_words(position, region))
    used = position + 2 + region
    limits = (bounds.low.astype(np.int32) + OFFSET).astype(np.uint32)
    limits |= (bounds.high.astype(np.int32) + OFFSET).astype(np.uint32) << np.uint32(16)
    rest = bounds.work.astype(np.uint32) << np.uint32(16) | np.uint32(UNKNOWN_ACTION)
    for words in (bounds.words, *images(bounds.words, maps)):
        buckets = bucket_numbers(words, len(entries))
        rows = np.zeros((len(words), entries.shape[2]), np.uint32)
        rows[:, :position] = words
        rows[:, position] = limits
        rows[:, position + 1] = rest
        rows[:, position + 2 : used] = 0xFFFFFFFF
        others = np.concatenate([words[:, : position - 1], rows[:, position:used]], 1)
        rows[:, position - 1] ^= checks(others)
        for entry in range(BUCKET):
            free = np.flatnonzero(entries[buckets, entry, 0] == 0)
            # The first of several positions for one entry, that of most work, is stored; the others try the next
            # entry.
            stored = free[np.unique(buckets[free], return_index=True)[1]]
            entries[buckets[stored], entry] = rows[stored]
            buckets = np.delete(buckets, stored)
            rows = np.delete(rows, stored, 0)


# *** hashes, as in kernels ***


def bucket_numbers(words: Array, buckets: int) -> Array:
    """Return the bucket of each position, see `TranspositionTable.bucket`, int64 [n]."""
    mixed = np.zeros(len(words), np.uint64)
    wide = words.astype(np.uint64)
    for k in range(0, words.shape[1], 2):
        pair = wide[:, k]
        if k + 1 < words.shape[1]:
            pair = pair | wide[:, k + 1] << np.uint64(WORD_BITS)
        mixed = (mixed ^ pair) * np.uint64(MULTIPLIERS[0])
        mixed ^= mixed >> np.uint64(WORD_BITS)
    mixed = mixed * np.uint64(MULTIPLIERS[1]) >> np.uint64(WORD_BITS)
    return (mixed * np.uint64(buckets) >> np.uint64(WORD_BITS)).astype(np.int64)


def checks(others: Array) -> Array:
    """Return the checks that hide the last words of positions, see `TranspositionTable.check`, uint32 [n]."""
    mixed = np.zeros(len(others), np.uint32)
    for x in others.T:
        mixed = (mixed ^ x) * np.uint32(CHECK)
        mixed ^= mixed >> np.uint32(15)
    return mixed
