"""Must-play regions of set-colouring games such as Hex, in the kernel of a search.

A winner's strategy needs some of the free cells, its region. Whatever the loser plays outside the region, the strategy
wins in as many plies, since a further cell of the loser's there does not matter. So once an action is refuted, only the
actions in the region of the refutation are worth a search, and after several refutations those in all their regions
(R. Hayward and J. van Rijswijck, "Hex and combinatorics", Discrete Mathematics 306, 2006).
"""

from __future__ import annotations

from collections.abc import Sequence

from tensor_envs._compiler.tape import UINT32
from tensor_envs.rules.kernel import registers
from tensor_envs.rules.lists import has_bit
from tensor_envs.rules.scalar import WORD_BITS, Scalar, uint32, where
from tensor_envs.solve.stack import Frame

Region = Sequence[Scalar]  # a bit for each cell, in words


class MustPlay:
    """Regions of the nodes on a thread's stack.

    Args:
        cells: number of actions that colour a cell, which come first; 0 in other games, which have no regions.
        first_entry: entry of a frame from which two regions are stored: the actions that may still help, and the union
            of all refutations' regions.
    """

    def __init__(self, cells: int, first_entry: int):
        self.cells = cells
        self.words = -(-cells // WORD_BITS)
        self._allowed = range(first_entry, first_entry + self.words)
        self._refuting = range(first_entry + self.words, first_entry + 2 * self.words)
        self._result = registers(max(self.words, 1), UINT32)
        self._all_cells = [uint32((1 << min(WORD_BITS, cells - w * WORD_BITS)) - 1) for w in range(self.words)]

    def reset(self, frame: Frame) -> None:
        """Allow all actions of a new node."""
        for allowed, refuting, x in zip(self._allowed, self._refuting, self._all_cells, strict=True):
            frame.set(allowed, x, UINT32)
            frame.set(refuting, uint32(0), UINT32)

    def allows(self, frame: Frame, action: Scalar) -> Scalar:
        """Return whether an action is in the regions of all refutations, or colours no cell."""
        allowed = [frame.get(entry, UINT32) for entry in self._allowed]
        return (action >= self.cells) | has_bit(allowed, action)

    def refute(self, frame: Frame, action: Scalar, region: Region, lost: Scalar) -> None:
        """Add the region of an action's refutation; unless the action has `lost`, its region is all cells."""
        region = self.region_if((action < self.cells) & lost, region)
        for allowed, refuting, x in zip(self._allowed, self._refuting, region, strict=True):
            # Only actions in the regions of all refutations can still help.
            frame.set(allowed, frame.get(allowed, UINT32) & x, UINT32)
            # A proof that all actions lose needs the cells of every refutation.
            frame.set(refuting, frame.get(refuting, UINT32) | x, UINT32)

    def losing_region(self, frame: Frame) -> Region:
        """Return the region of the proof that all actions of a node lose."""
        return [frame.get(entry, UINT32) for entry in self._refuting]

    def winning_region(self, action: Scalar, region: Region) -> Region:
        """Return the region of a win that begins with an action: its cell and the region of the win after it."""
        cell = [
            where(action // WORD_BITS == w, uint32(1) << (action & WORD_BITS - 1), uint32(0)) for w in range(self.words)
        ]
        return self.region_if(action < self.cells, [x | y for x, y in zip(region, cell, strict=True)])

    def region_if(self, condition: Scalar, region: Region) -> Region:
        """Return a region if a condition holds, else all cells."""
        return [where(condition, x, y) for x, y in zip(region, self._all_cells, strict=True)]

    def set_result(self, region: Region) -> None:
        """Store the region of a result."""
        for w, x in enumerate(region):
            self._result[w] = x

    def result(self) -> Region:
        """Return the region of the latest result."""
        return [self._result[w] for w in range(self.words)]
