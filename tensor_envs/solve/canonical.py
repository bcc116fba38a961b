"""Symmetries of packed positions as permutations of their bits: canonical forms in kernels, images on the host."""

from __future__ import annotations

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
    def moved(self) -> int:
        """Bits of the target word that the move sets."""
        return self.mask << self.shift if self.shift >= 0 else self.mask >> -self.shift


class BitMaps(NamedTuple):
    """Permutations of the bits of a position that leave its value unchanged.

    Attributes:
        maps: a permutation each, without the identity.
    """

    maps: tuple[tuple[BitMove, ...], ...] = ()

    def canonical(self, words: list[Scalar]) -> list[Scalar]:
        """Return the least of a position and its images."""
        best = words
        for permutation in self.maps:
            image = list(words)
            # Clear the bits that move, then put their images there; all other bits stay.
            for w in range(len(words)):
                moved = sum(move.moved for move in permutation if move.target == w)
                image[w] = image[w] & (2**WORD_BITS - 1 ^ moved)
            for source, target, shift, mask in permutation:
                part = words[source] & mask
                image[target] = image[target] | (part << shift if shift >= 0 else part >> -shift)
            less = scalar(False)
            # Compare as one long number: a higher word decides unless it is equal.
            for x, y in reversed(list(zip(image, best, strict=True))):
                less = (x < y) | ((x == y) & less)
            best = [where(less, x, y) for x, y in zip(image, best, strict=True)]
        return best


def moved(words: Array, moves: tuple[BitMove, ...]) -> Array:
    """Return positions on the host, uint32 [n, words], whose bits a permutation has moved."""
    image = words.copy()
    for move in moves:
        image[:, move.target] &= np.uint32(0xFFFFFFFF ^ move.moved)
    for source, target, shift, mask in moves:
        part = words[:, source] & np.uint32(mask)
        image[:, target] |= part << np.uint32(shift) if shift >= 0 else part >> np.uint32(-shift)
    return image
