"""Ends of a game: finished histories by the last sequences of all players, merged and sorted for every player."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from tensor_envs.equilibria.storage import GrowingTable, Storage
from tensor_envs.solve.packed import Array, Packed, groups, hashes


class Ends(NamedTuple):
    """Finished histories by the last sequences of all players.

    Attributes:
        sequence: int64 [n, P].
        chance: probability of the draws, float64 [n].
        payoffs: returns times that probability, float64 [n, P] or of one player [n, 1].
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

    def among(self, rows: slice) -> tuple[Array, Array]:
        """Return the sequences with ends in a range of rows, and where the ends of each begin within the range."""
        # The ends of the first sequence may begin before the range.
        first = int(np.searchsorted(self.starts, rows.start, "right")) - 1
        stop = int(np.searchsorted(self.starts, rows.stop, "left"))
        return self.sequences[first:stop], np.maximum(self.starts[first:stop] - rows.start, 0)

    def own(self, rows: slice) -> Array:
        """Return the player's sequence at each of these ends, intp [rows]."""
        sequences, starts = self.among(rows)
        return np.repeat(sequences, np.diff(starts, append=rows.stop - rows.start))


def merged(ends: Ends) -> Ends:
    """Merge ends with equal sequences of all players."""
    same = groups(Packed.of(list(ends.sequence.T.astype(np.uint32))))
    sums = (np.add.reduceat(column[same.order], same.starts, axis=0) for column in ends[1:])
    return Ends(ends.sequence[same.order[same.starts]], *sums)


def all_merged(table: GrowingTable) -> Ends:
    """Merge the ends of a table, in parts of about as many rows as its storage works on at a time."""
    ends = Ends(*table.columns())
    storage = table.storage
    count = len(ends.chance)
    parts = -(-count // storage.rows)
    if parts == 1:
        return merged(ends)

    # Ends with equal sequences have equal hashes, so ends to be merged are always in the same part.
    def part(rows: slice) -> Array:
        mixed = hashes(np.pad(ends.sequence[rows].T, ((0, 1), (0, 0))).astype(np.uint64))  # the last key is not mixed
        return (mixed >> np.uint64(32)).astype(np.int64) % parts

    columns, counts = sorted_rows(count, part, lambda rows: [column[rows] for column in ends], parts, storage)
    whole = GrowingTable(storage)
    for first, stop in pairwise(np.cumsum([0, *counts])):
        if stop > first:
            whole.add(*merged(Ends(*(column[first:stop] for column in columns))))
    return Ends(*whole.columns())


def sorted_ends(
    ends: Ends, player: int, column: int, number: Array, size: int, storage: Storage, name: str = ""
) -> SortedEnds:
    """Sort ends for a player.

    Args:
        ends: the ends.
        player: the player.
        column: that of the player's payoffs.
        number: new number of each sequence in `ends`, among its player's.
        size: number of sequences of the player.
        storage: place of the arrays.
        name: what the names of the arrays begin with; "" for arrays without names.
    """

    def values(rows: slice) -> list[Array]:
        sequence = ends.sequence[rows]
        others = [number[sequence[:, q]] for q in range(sequence.shape[1]) if q != player]
        return [ends.chance[rows], ends.payoffs[rows, column], *others]

    def own(rows: slice) -> Array:
        return number[ends.sequence[rows, player]]

    (chance, payoffs, *others), counts = sorted_rows(len(ends.chance), own, values, size, storage, name)
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
        storage: place of the sorted columns.
        name: what the names of the columns begin with; "" for columns without names.

    Returns:
        The sorted columns, and the number of rows of each key, int64 [keys].
    """
    counts = np.zeros(keys, np.int64)
    for rows in storage.slices(count):
        np.add.at(counts, key(rows), 1)
    # Counting sort in two passes over slices: first the sizes of the keys, then every row goes to its place.
    places = np.cumsum(counts) - counts
    columns = list[Array]()
    for rows in storage.slices(count):
        chosen = key(rows)
        parts = values(rows)
        order = np.argsort(chosen, kind="stable")
        ordered = chosen[order]
        starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
        sizes = np.diff(starts, append=len(order))
        present = ordered[starts]
        # Rows of one key in this slice follow those of the slices before.
        to = np.arange(len(order)) + np.repeat(places[present] - starts, sizes)
        places[present] += sizes
        if not columns:
            shapes = [((count, *part.shape[1:]), part.dtype) for part in parts]
            columns = [storage.empty(*x, name and f"{name}{k}") for k, x in enumerate(shapes)]
        for column, part in zip(columns, parts, strict=True):
            column[to] = part[order]
    return columns, counts
