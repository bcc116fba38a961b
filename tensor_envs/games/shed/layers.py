"""Groups and layers of talon sets, the sizes of their tables, and the index tables that the solver's kernels read.

A *group* is all talon sets that agree in the lowest cards, which are *fixed*; the others are *free*. Groups are solved
one after the other, in an order (card 1 decides first) in which a group comes after the groups that hold fewer cards. A
group reads from another one only the outcome of plays of a fixed card: a *slice*, which stays in a pool until it is
read.
"""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from math import comb
from typing import Any

import numpy as np

from tensor_envs.games.shed.strata import BLOCK, HIGH, LOW, MIDDLE

HostArray = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Group:
    """Talon sets whose cards among the `fixed` lowest are exactly those of `talon`, a bit word."""

    cards: int
    fixed: int
    talon: int

    @property
    def free(self) -> int:
        """Number of free cards."""
        return self.cards - self.fixed

    @property
    def in_hands(self) -> int:
        """Number of fixed cards outside the talon."""
        return self.fixed - self.talon.bit_count()

    @cached_property
    def layers(self) -> list[TalonLayer]:
        """Layers, from the smallest sets on."""
        return [TalonLayer(self, k) for k in range(self.free + 1)]

    def rank(self, card: int) -> int:
        """Return the rank of a fixed card outside the talon, or after a play from it."""
        return card - (self.talon & (1 << card) - 1).bit_count()

    def split(self, talon: bool) -> list[int]:
        """Return the fixed cards inside or outside the talon."""
        return [card for card in range(self.fixed) if (self.talon >> card & 1) == talon]

    def slice_words(self, card: int) -> int:
        """Return the words of all layers' slices of a fixed card outside the talon."""
        return slice_words(self.cards, self.fixed, self.talon.bit_count(), self.rank(card))


@cache
def slice_words(cards: int, fixed: int, in_talon: int, rank: int) -> int:
    """Return the words of all slices of a card of a rank, in any group with as many fixed cards in the talon."""
    group = Group(cards, fixed, (1 << in_talon) - 1)
    return sum(layer.sets * layer.slice_words(rank) for layer in group.layers)


@dataclass(frozen=True)
class TalonLayer:
    """Talon sets of a group with k of the free cards."""

    group: Group
    k: int

    @property
    def ranks(self) -> int:
        """Number of cards outside the talon."""
        return self.group.in_hands + self.group.free - self.k

    @property
    def sets(self) -> int:
        """Number of sets."""
        return comb(self.group.free, self.k)

    @property
    def blocks(self) -> int:
        """Number of blocks of a set in each table of positions."""
        return 3 ** max(self.ranks - HIGH, 0)

    @property
    def quiet(self) -> int:
        """Number of quiet words of a set, which is the number of bytes of its results."""
        return 2 ** max(self.ranks - LOW, 0)

    @property
    def quiet_blocks(self) -> int:
        """Number of quiet blocks of a set."""
        return 2 ** max(self.ranks - HIGH, 0)

    def together(self, cache: int) -> int:
        """Return the number of sets to sweep together, so that they fit into a cache of so many bytes."""
        return min(max(cache // (self.blocks * BLOCK * 8), 1), self.sets)

    @property
    def empty(self) -> bool:
        """Whether this is the layer of the empty talon."""
        return self.k == 0 and self.group.talon == 0

    @property
    def talons(self) -> HostArray:
        """Sets as bit words, ascending; a set's index is its number."""
        return self.group.talon | subsets(self.group.free, self.k) << self.group.fixed

    def slice_words(self, rank: int) -> int:
        """Return the words of a set in a slice of the fixed card of this rank."""
        if rank < LOW:
            return 2 ** max(self.ranks - 1 - LOW, 0)
        words = 3 ** (rank - LOW) if rank < HIGH else 3 ** (rank - HIGH) * BLOCK
        return words << self.ranks - 1 - rank


def groups(cards: int, fixed: int) -> list[Group]:
    """Return all groups in the order in which they are solved: card 1 is the highest digit."""
    every = range(1 << fixed)
    return [Group(cards, fixed, sum((g >> fixed - 1 - j & 1) << j for j in range(fixed))) for g in every]


@cache
def subsets(cards: int, k: int) -> HostArray:
    """Return the sets of k cards as bit words, ascending."""
    every = np.arange(1 << cards, dtype=np.int64)
    return every[_popcount(every) == k]


@cache
def draws(free: int, k: int) -> tuple[HostArray, HostArray]:
    """Return the parents of each set of a layer, by the gap of the card that they lack.

    Returns:
        parents: numbers, in the layer before, of the sets that lack one card: for each set, from its lowest card up.
        gaps: for each set, the first parent whose card lies in gap 0, 1, ..., and the end of the parents. Gap g is
            above g of the free cards in hands.
    """
    talons = subsets(free, k)
    if k == 0:
        return np.zeros(1, np.int32), np.zeros(free - k + 2, np.int32)
    s, card = np.nonzero(talons[:, None] >> np.arange(free) & 1)
    parents = np.searchsorted(subsets(free, k - 1), talons[s] ^ 1 << card).astype(np.int32)
    gap = (card - np.tile(np.arange(k), len(talons))).reshape(len(talons), k)
    below = (gap[:, :, None] < np.arange(free - k + 2)).sum(axis=1)
    return parents, (np.arange(len(talons))[:, None] * k + below).astype(np.int32)


def _popcount(x: HostArray) -> HostArray:
    """Return the number of bits of ascending values."""
    counts = np.zeros_like(x)
    for bit in range(int(x[-1]).bit_length() if len(x) else 0):
        counts += x >> bit & 1
    return counts


def ternary(cards: int) -> HostArray:
    """Return a table from a set of ranks to the number whose digits say that they are B's and the others A's."""
    size = max(cards - LOW, MIDDLE)
    table = np.zeros(1 << size, np.int32)
    for rank in range(size):
        table[1 << rank : 2 << rank] = table[: 1 << rank] + 3**rank
    return table


def picks(cards: int) -> HostArray:
    """Return a table from digits of ranks to the set of B's and, 16 bits further up, of B's and the pile's."""
    ranks = max(cards - HIGH - 1, 0)
    table = np.zeros(3**ranks, np.uint32)
    for rank in range(ranks):
        step = 3**rank
        table[step : 2 * step] = table[:step] | 0x10001 << rank
        table[2 * step : 3 * step] = table[:step] | 0x10000 << rank
    return table


@lru_cache(2)  # a call takes a minute for 21 cards
def slices(cards: int, fixed: int) -> tuple[dict[tuple[int, int], int], int]:
    """Return the places of slices in the pool, by the talon of their group and the card, and the pool's size.

    Each slice takes the first place where it fits.
    """
    places: dict[tuple[int, int], int] = {}
    taken: dict[int, int] = {}  # slices in the pool: begin -> end
    # free ranges: their begins, ascending; begin by end; end by begin
    holes = [0]
    begins = {2**63: 0}
    ends = {0: 2**63}
    size = 0
    for group in groups(cards, fixed):
        for card in group.split(talon=False):
            words = group.slice_words(card)
            k = next(k for k, begin in enumerate(holes) if ends[begin] - begin >= words)
            place = holes[k]
            end = ends.pop(place)
            rest = place + words
            del begins[end]
            holes[k : k + 1] = [rest] if rest < end else []
            if rest < end:
                begins[end], ends[rest] = rest, end
            places[group.talon, card] = place
            taken[place] = rest
            size = max(size, rest)
        for card in group.split(talon=True):
            place = places[group.talon ^ 1 << card, card]
            end = taken.pop(place)
            if end in ends:
                holes.remove(end)
                end = ends.pop(end)
            begin = begins.pop(place, place)
            if begin == place:
                insort(holes, place)
            begins[end], ends[begin] = begin, end
    return places, size


def sizes(cards: int, fixed: int, cache: int) -> dict[str, int]:
    """Return the sizes of the arrays that depend on the number of fixed cards or on the cache."""
    largest = Group(cards, fixed, 0).layers
    blocks = [layer.sets * layer.blocks for layer in largest]
    drawn = [(layer.sets if layer.empty else b, layer) for b, layer in zip(blocks, largest, strict=True)]
    return {
        "even": max(blocks[::2]) * BLOCK,
        "odd": max(blocks[1::2], default=1) * BLOCK,
        "drawn": max(b // layer.sets * layer.together(cache) for b, layer in drawn) * BLOCK,
        "picked": max(layer.sets * layer.quiet_blocks for layer in largest) * BLOCK,
        "slices": max(slices(cards, fixed)[1], 1),
        "sets": max(layer.sets for layer in largest),
        "parents": max(draws(cards - fixed, layer.k)[0].size for layer in largest),
        "gaps": max(draws(cards - fixed, layer.k)[1].size for layer in largest),
    }


def result_bytes(cards: int) -> int:
    """Return the size of each of the two tables of results."""
    return sum(layer.sets * layer.quiet for layer in Group(cards, 0, 0).layers)


def first_bytes(cards: int) -> HostArray:
    """Return a table from a talon (bit word) to the start of its results. Talons are sorted by size, then by value."""
    table = np.zeros(1 << cards, np.int32)
    first = 0
    for layer in Group(cards, 0, 0).layers:
        table[layer.talons] = first + np.arange(layer.sets) * layer.quiet
        first += layer.sets * layer.quiet
    return table
