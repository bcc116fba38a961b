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
from tensor_envs.rules.scalar import WORD_BITS, Scalar, uint32, where
from tensor_envs.solve.stack import Frame, has_action

Region = Sequence[Scalar]  # words of the cells


class MustPlay:
    """Regions of the nodes on a thread's stack.

    Args:
        cells: number of actions that colour a cell, which come first; 0 in other games, which have no regions.
        place: entry of a frame from which its regions are stored.
    """

    def __init__(self, cells: int, place: int):
        self.cells = cells
        self.place = place
        self.words = -(-cells // WORD_BITS)
        self.result = registers(max(self.words, 1), UINT32)  # region of the latest result
        self.all = [uint32((1 << min(WORD_BITS, cells - w * WORD_BITS)) - 1) for w in range(self.words)]

    def reset(self, frame: Frame) -> None:
        """Allow all actions of a node."""
        for w, x in enumerate(self.all):
            frame.set(self.place + w, x, UINT32)
            frame.set(self.place + self.words + w, uint32(0), UINT32)

    def allows(self, frame: Frame, action: Scalar) -> Scalar:
        """Return whether an action is in the regions of all refutations, or colours no cell."""
        allowed = [frame.get(self.place + w, UINT32) for w in range(self.words)]
        return (action >= self.cells) | has_action(allowed, action)

    def refute(self, frame: Frame, action: Scalar, region: Region, lost: Scalar) -> None:
        """Note the region of an action's refutation, which is one if the action has `lost`."""
        for w, x in enumerate(self.only((action < self.cells) & lost, region)):
            # Only actions in the regions of all refutations can still help.
            frame.set(self.place + w, frame.get(self.place + w, UINT32) & x, UINT32)
            # A proof that all actions lose needs the cells of every refutation.
            frame.set(self.place + self.words + w, frame.get(self.place + self.words + w, UINT32) | x, UINT32)

    def refuted(self, frame: Frame) -> Region:
        """Return the region of the refutation of all actions."""
        return [frame.get(self.place + self.words + w, UINT32) for w in range(self.words)]

    def played(self, action: Scalar, region: Region) -> Region:
        """Return the region of a win that begins with an action."""
        inside = [
            where(action // WORD_BITS == w, uint32(1) << (action & WORD_BITS - 1), uint32(0)) for w in range(self.words)
        ]
        return self.only(action < self.cells, [x | y for x, y in zip(region, inside, strict=True)])

    def only(self, condition: Scalar, region: Region) -> Region:
        """Return a region where a condition holds, else all cells."""
        return [where(condition, x, y) for x, y in zip(region, self.all, strict=True)]

    def put(self, region: Region) -> None:
        """Store the region of a result."""
        for w, x in enumerate(region):
            self.result[w] = x

    def get(self) -> Region:
        """Return the region of the latest result."""
        return [self.result[w] for w in range(self.words)]
