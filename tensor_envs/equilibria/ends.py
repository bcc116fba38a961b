"""Ends of a game: finished histories, which are merged if all players have equal sequences, and sorted for a player."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from tensor_envs.equilibria.storage import GrowingTable, Storage
from tensor_envs.solve.packed import Array, Packed, groups, hashes


class Ends(NamedTuple):
    """Finished histories.

    Attributes:
        sequence: last sequence of every player, int64 [n, P].
        chance: probability of the draws, float64 [n].
        payoffs: returns times that probability, of all players, float64 [n, P], or of one, [n, 1].
    """

    sequence: Array
    chance: Array
    payoffs: Array


class SortedEnds(NamedTuple):
    """Ends of the game in the order of one player's sequences.

    Attributes:
        sequences: the player's sequences that have ends, intp [n].
        starts: first end of each of them, intp [n].
        chance: probability of the draws, float64 [ends].
        payoffs: return of the player times that probability, float64 [ends].
        others: sequence of every other player at each end, intp [ends] each.
    """

    sequences: Array
    starts: Array
    chance: Array
    payoffs: Array
    others: Sequence[Array]

    def in_rows(self, rows: slice) -> tuple[Array, Array]:
        """Return the player's sequences with ends in a range of rows, and the first end of each within the range.

        Both are intp [sequences].
        """
        # The ends of the first sequence may begin before the range.
        first = int(np.searchsorted(self.starts, rows.start, "right")) - 1
        stop = int(np.searchsorted(self.starts, rows.stop, "left"))
        return self.sequences[first:stop], np.maximum(self.starts[first:stop] - rows.start, 0)

    def own(self, rows: slice) -> Array:
        """Return the player's sequence at each of these ends, intp [rows]."""
        sequences, starts = self.in_rows(rows)
        return np.repeat(sequences, np.diff(starts, append=rows.stop - rows.start))


def merge(ends: Ends) -> Ends:
    """Merge ends with equal sequences of all players, and add up their probabilities and payoffs."""
    equal = groups(Packed.of(list(ends.sequence.T.astype(np.uint32))))
    sums = (np.add.reduceat(column[equal.order], equal.starts, axis=0) for column in ends[1:])
    return Ends(ends.sequence[equal.order[equal.starts]], *sums)


def merge_table(table: GrowingTable) -> Ends:
    """Merge the ends of a table, in parts of about as many rows as its storage works on at a time."""
    ends = Ends(*table.columns())
    storage = table.storage
    count = len(ends.chance)
    parts = -(-count // storage.rows)
    if parts == 1:
        return merge(ends)

    # Ends with equal sequences have equal hashes, so ends to be merged are always in the same part.
    def part_of(rows: slice) -> Array:
        # `hashes` does not mix its last key, so a key of zeros is appended.
        mixed = hashes(np.pad(ends.sequence[rows].T, ((0, 1), (0, 0))).astype(np.uint64))
        return (mixed >> np.uint64(32)).astype(np.int64) % parts

    columns, counts = sorted_rows(count, part_of, lambda rows: [column[rows] for column in ends], parts, storage)
    result = GrowingTable(storage)
    for first, stop in pairwise(np.cumsum([0, *counts])):
        if stop > first:
            result.add(*merge(Ends(*(column[first:stop] for column in columns))))
    return Ends(*result.columns())


def sorted_ends(
    ends: Ends, player: int, column: int, number: Array, size: int, storage: Storage, name: str = ""
) -> SortedEnds:
    """Sort ends for a player.

    Args:
        ends: the ends.
        player: the player.
        column: column of the player's payoffs.
        number: number of each sequence of `ends` among those of its player, [sequences].
        size: number of sequences of the player.
        storage: memory or files for the arrays.
        name: prefix of the arrays' names; "" for arrays without names.
    """

    def columns(rows: slice) -> list[Array]:
        sequence = ends.sequence[rows]
        others = [number[sequence[:, q]] for q in range(sequence.shape[1]) if q != player]
        return [ends.chance[rows], ends.payoffs[rows, column], *others]

    def own_sequence(rows: slice) -> Array:
        return number[ends.sequence[rows, player]]

    (chance, payoffs, *others), counts = sorted_rows(len(ends.chance), own_sequence, columns, size, storage, name)
    sequences = np.flatnonzero(counts)
    return SortedEnds(sequences, (np.cumsum(counts) - counts)[sequences], chance, payoffs, others)


def sorted_rows(
    count: int,
    key: Callable[[slice], Array],
    values: Callable[[slice], list[Array]],
    keys: int,
    storage: Storage,
    name: str = "",
) -> tuple[list[Array], Array]:
    """Sort rows by a key, stably, by counting.

    Args:
        count: number of rows.
        key: function of a range of rows to their keys, integers [rows] below `keys`.
        values: function of a range of rows to their columns.
        keys: number of keys.
        storage: memory or files for the sorted columns.
        name: prefix of the columns' names; "" for columns without names.

    Returns:
        The sorted columns, and the number of rows of each key, int64 [keys].
    """
    counts = np.zeros(keys, np.int64)
    for rows in storage.slices(count):
        np.add.at(counts, key(rows), 1)
    # Counting sort in two passes over slices: count the rows of each key, then move every row to its target.
    next_row = np.cumsum(counts) - counts  # target of the next row of each key
    columns = list[Array]()
    for rows in storage.slices(count):
        row_keys = key(rows)
        parts = values(rows)
        order = np.argsort(row_keys, kind="stable")
        ordered = row_keys[order]
        starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
        sizes = np.diff(starts, append=len(order))
        present = ordered[starts]
        # Rows of one key in this slice follow those of the slices before.
        targets = np.arange(len(order)) + np.repeat(next_row[present] - starts, sizes)
        next_row[present] += sizes
        if not columns:
            shapes = [((count, *part.shape[1:]), part.dtype) for part in parts]
            columns = [storage.empty(*x, name and f"{name}{k}") for k, x in enumerate(shapes)]
        for column, part in zip(columns, parts, strict=True):
            column[targets] = part[order]
    return columns, counts
