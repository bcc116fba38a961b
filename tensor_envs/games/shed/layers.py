"""Talon sets by size, and the index tables that the solver's kernels read."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import comb
from typing import Any

import numpy as np

from tensor_envs.games.shed.strata import LOW

Words = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Layer:
    """The talon sets of k cards: what their tables measure, and where their results begin."""

    cards: int
    k: int

    @property
    def ranks(self) -> int:
        return self.cards - self.k

    @property
    def sets(self) -> int:
        return comb(self.cards, self.k)

    @property
    def words(self) -> int:
        """Of a set in each table of positions."""
        return 3 ** max(self.ranks - LOW, 0)

    @property
    def quiet(self) -> int:
        """Quiet words of a set, and bytes of its results."""
        return 2 ** max(self.ranks - LOW, 0)

    @property
    def first_byte(self) -> int:
        return sum(layer.sets * layer.quiet for layer in layers(self.cards)[: self.k])

    @cached_property
    def talons(self) -> Words:
        """The sets as bit words, ascending: a set's place here is its number."""
        every = np.arange(1 << self.cards, dtype=np.int64)
        return every[_popcount(every) == self.k]

    def draws(self, before: Layer, gpu: bool) -> Draws:
        """Every set with every card of it, for the plays of talon cards."""
        if self.k == 0:
            return Draws(np.zeros((0, 2), np.int32), np.zeros(0, np.int64), np.zeros(0, np.int64))
        numbers = np.zeros(1 << self.cards, np.int32)
        numbers[before.talons] = np.arange(before.sets)
        s, card = np.nonzero(self.talons[:, None] >> np.arange(self.cards) & 1)
        gap = card - np.tile(np.arange(self.k), self.sets)
        # on a GPU all pairs of a launch run at once, so it must have each set only once
        turn = np.zeros_like(gap)
        for _ in range(self.k - 1 if gpu else 0):
            turn[1:] = np.where((s[1:] == s[:-1]) & (gap[1:] == gap[:-1]), turn[:-1] + 1, 0)
        order = np.lexsort((s, turn, gap))
        pairs = np.stack([s, numbers[self.talons[s] ^ (1 << card)]], axis=1).astype(np.int32)
        together, launch = np.unique(gap * self.cards + turn, return_inverse=True)
        return Draws(pairs[order], launch[order], together // self.cards)


@dataclass(frozen=True)
class Draws:
    """The plays of talon cards in a layer."""

    pairs: Words  # [.., 2]: the set, and its number without the card in the layer before
    launch: Words  # [..]: the launch that a pair belongs to, ascending
    gaps: Words  # of each launch: the rank just above


def layers(cards: int) -> list[Layer]:
    return [Layer(cards, k) for k in range(cards + 1)]


def _popcount(x: Words) -> Words:
    counts = np.zeros_like(x)
    for bit in range(int(x[-1]).bit_length() if len(x) else 0):
        counts += x >> bit & 1
    return counts


def table_words(cards: int) -> int:
    """Words of a table that holds any layer."""
    return max(layer.sets * layer.words for layer in layers(cards))


def ternary(cards: int) -> Words:
    """A set of ranks from `LOW` on -> the number of the word in which they are B's and the others A's."""
    table = np.zeros(1 << max(cards - LOW, 0), np.int32)
    for rank in range(max(cards - LOW, 0)):
        table[1 << rank : 2 << rank] = table[: 1 << rank] + 3**rank
    return table


def picks(cards: int) -> Words:
    """Digits of the ranks from `LOW` on -> the set of B's and, 16 bits further up, of B's and the pile's."""
    ranks = max(cards - LOW - 1, 0)
    table = np.zeros(3**ranks, np.uint32)
    for rank in range(ranks):
        step = 3**rank
        table[step : 2 * step] = table[:step] | 0x10001 << rank
        table[2 * step : 3 * step] = table[:step] | 0x10000 << rank
    return table


def result_bytes(cards: int) -> int:
    """Of one of the two tables of results."""
    return sum(layer.sets * layer.quiet for layer in layers(cards))


def first_bytes(cards: int) -> Words:
    """A talon as a bit word -> where its results begin."""
    table = np.zeros(1 << cards, np.int32)
    for layer in layers(cards):
        table[layer.talons] = layer.first_byte + np.arange(layer.sets) * layer.quiet
    return table
