"""A legal action, taken apart."""

from __future__ import annotations

from functools import reduce
from operator import add, or_

from tensor_envs.core.spec import GameState, Scalar
from tensor_envs.games.tensor_equilibrium.data import OPERATIONS, TYPES, Act, RuleFields
from tensor_envs.games.tensor_equilibrium.hexagon import STRIDES, Hexagon


class Move:
    """Which kind of action it is, and its operands. Only TYPE and CELL occur in several phases (see `at`)."""

    def __init__(self, rules: RuleFields, s: GameState, action: Scalar):
        def within(first: int, end: int) -> Scalar:
            return (action < first).logical_not() & (action < end)

        self.phase = s.phase
        self.passes, self.downloads = action.eq(Act.PASS), action.eq(Act.DOWNLOAD)
        self.codes, self.runs = within(Act.CODE, Act.RUN), within(Act.RUN, Act.LOAD)
        self.loads, self.hacks = within(Act.LOAD, Act.HACK), within(Act.HACK, Act.TAKE)
        self.takes, self.tweaks = within(Act.TAKE, Act.TWEAK), within(Act.TWEAK, Act.STOP)
        self.stops, self.types = action.eq(Act.STOP), within(Act.TYPE, Act.CELL)
        self.sends, self.edges = self.loads | self.hacks, (action < Act.CELL + rules.cells).logical_not()
        # CODE and RUN begin at 2 and 6, which agree modulo 4
        self.operation = action - Act.CODE & len(OPERATIONS) - 1
        # all kinds with a type begin at a multiple of 5, but TYPE
        small = (action < Act.TYPE).where(action, (action < Act.CELL).where(action - Act.TYPE, 0))
        fifth = small * 52 >> 8  # small // 5, for small < 64
        self.type = small - fifth * TYPES
        self.offset = fifth - (Act.HACK // TYPES - 1)  # of HACK: seats from the mover on
        cell = action - Act.CELL
        blocks = [(cell < rules.cells * i).where(0, 1) for i in range(1, 1 + len(STRIDES))]
        block = reduce(add, blocks)
        self.bit = Hexagon(rules.board_radius).bit_of_cell(cell - block * rules.cells)  # of CELL and EDGE
        self.direction = block - 1  # of EDGE

    def at(self, *phases: int) -> Scalar:
        """Whether the action belongs to one of these phases."""
        return reduce(or_, [self.phase.eq(phase) for phase in phases])
