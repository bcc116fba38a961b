"""Symmetries of packed positions as permutations of their bits: canonical forms in kernels, images on the host."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from tensor_envs.rules.scalar import WORD_BITS, Scalar, scalar, where
from tensor_envs.solve.packed import Array


class BitMove(NamedTuple):
    """Bits that a permutation moves together: `mask` of word `source`, shifted left, are bits of word `target`."""

    source: int
    target: int
    shift: int
    mask: int

    @property
    def target_mask(self) -> int:
        """Bits of the target word that the move sets."""
        return self.mask << self.shift if self.shift >= 0 else self.mask >> -self.shift


class BitMaps(NamedTuple):
    """Permutations of the bits of a position that leave its value unchanged.

    Attributes:
        maps: the moves of each permutation, without the identity.
    """

    maps: tuple[tuple[BitMove, ...], ...] = ()

    def canonical(self, words: list[Scalar]) -> list[Scalar]:
        """Return the least of a position and its images, in a kernel."""
        least = words
        for permutation in self.maps:
            image = list(words)
            # Clear the bits that move, then put their images there; all other bits stay.
            for w in range(len(words)):
                cleared = sum(move.target_mask for move in permutation if move.target == w)
                image[w] = image[w] & (2**WORD_BITS - 1 ^ cleared)
            for source, target, shift, mask in permutation:
                part = words[source] & mask
                image[target] = image[target] | (part << shift if shift >= 0 else part >> -shift)
            less = scalar(False)
            # Compare lexicographically: the first word that differs decides.
            for x, y in reversed(list(zip(image, least, strict=True))):
                less = (x < y) | ((x == y) & less)
            least = [where(less, x, y) for x, y in zip(image, least, strict=True)]
        return least


def permute(words: Array, moves: tuple[BitMove, ...]) -> Array:
    """Apply a permutation to the bits of positions on the host, uint32 [n, words]."""
    image = words.copy()
    for move in moves:
        image[:, move.target] &= np.uint32(0xFFFFFFFF ^ move.target_mask)
    for source, target, shift, mask in moves:
        part = words[:, source] & np.uint32(mask)
        image[:, target] |= part << np.uint32(shift) if shift >= 0 else part >> np.uint32(-shift)
    return image


def images(words: Array, maps: BitMaps) -> list[Array]:
    """Return the images of positions on the host, uint32 [n, words], one array for each symmetry."""
    return [permute(words, moves) for moves in maps.maps]


def canonical(words: Array, maps: BitMaps) -> Array:
    """Return the least of every position and its images, uint32 [n, words]."""
    least = words
    for image in images(words, maps):
        least = np.where(precedes(image.T, least.T)[:, None], image, least)
    return least


def precedes(columns: Iterable[Array], others: Iterable[Array]) -> Array:
    """Return whether each row of a table is lexicographically less than that of another, bool [rows].

    Args:
        columns: the columns of the first table, each [rows], the most significant one first.
        others: the columns of the second table.
    """
    less: Array = np.array(False)
    equal: Array = np.array(True)
    for x, y in zip(columns, others, strict=True):
        less = less | equal & (x < y)
        equal = equal & (x == y)
    return less
