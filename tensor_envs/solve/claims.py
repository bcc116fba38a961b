"""Table of the children that the threads of a search are searching at the moment, so that they divide the work.

The method is T. Kerrigan's simplification of ABDADA. Threads race for the table without locks: claims change the order
of a search, and no result.
"""

from __future__ import annotations

from tensor_envs.rules.kernel import Cells
from tensor_envs.rules.scalar import WORD_BITS, Scalar, int32, uint32, where
from tensor_envs.solve.stack import Child

DEFERRED = 2**23  # subtracted from the priority of a child that another thread searches
ENTRIES = 2**12  # entries of the table, which all threads share
MAX_CLAIMED_DEPTH = 16  # deepest nodes whose children are claimed; deeper ones are too small to share
MULTIPLIER = 0x9E3779B1


class Claims:
    """Hash table of the claimed children of all threads.

    Args:
        cells: uint32 [ENTRIES], 0 at first.
        question: number of the thread's question, so that claims of earlier questions do not match.
    """

    def __init__(self, cells: Cells, question: Scalar):
        self.cells = cells
        self.question = question

    def entry(self, child: Child) -> tuple[Scalar, Scalar]:
        """Return the index of a child's entry, and the value of that entry while the child is claimed."""
        claimed = child.bucket + self.question
        return int32(claimed * MULTIPLIER >> WORD_BITS - (ENTRIES - 1).bit_length()), claimed

    def add(self, child: Child) -> None:
        """Claim a child."""
        index, claimed = self.entry(child)
        self.cells[index] = claimed

    def remove(self, child: Child) -> None:
        """Withdraw a claim."""
        self.cells[self.entry(child)[0]] = uint32(0)

    def defer(self, child: Child) -> None:
        """Lower the priority of a child that another thread has claimed."""
        priority = child.priority
        index, claimed = self.entry(child)
        # Two children may share an index, and then one claim is lost. That costs time and no correctness.
        taken = (self.cells[index] == claimed) & (priority > -DEFERRED // 2)
        child.priority = where(taken, priority - DEFERRED, priority)
