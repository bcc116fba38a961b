"""Decoded actions."""

from __future__ import annotations

from tensor_envs.games.tensor_equilibrium.data import OPERATIONS, TYPES, Act, RuleFields
from tensor_envs.games.tensor_equilibrium.hexagon import STRIDES, Hexagon
from tensor_envs.rules import GameState, Scalar, any_of, sum_of, where


class DecodedAction:
    """Kind and operands of a legal action. Only TYPE and CELL occur in several phases (see `at`)."""

    def __init__(self, rules: RuleFields, s: GameState, index: Scalar):
        def within(first: int, end: int) -> Scalar:
            return (index >= first) & (index < end)

        self.phase = s.phase
        self.passes, self.downloads = index == Act.PASS, index == Act.DOWNLOAD
        self.codes, self.runs = within(Act.CODE, Act.RUN), within(Act.RUN, Act.LOAD)
        self.loads, self.hacks = within(Act.LOAD, Act.HACK), within(Act.HACK, Act.TAKE)
        self.takes, self.tweaks = within(Act.TAKE, Act.TWEAK), within(Act.TWEAK, Act.STOP)
        self.stops, self.types = index == Act.STOP, within(Act.TYPE, Act.CELL)
        self.sends, self.edges = self.loads | self.hacks, index >= Act.CELL + rules.cells
        # CODE and RUN begin at 2 and 6, which agree modulo 4
        self.operation = index - Act.CODE & len(OPERATIONS) - 1
        # every kind with a type begins at a multiple of 5, except TYPE
        small = where(index < Act.TYPE, index, where(index < Act.CELL, index - Act.TYPE, 0))
        fifth = small * 52 >> 8  # small // 5, for small < 64
        self.type = small - fifth * TYPES
        self.offset = fifth - (Act.HACK // TYPES - 1)  # of HACK: seats after the player to move
        cell = index - Act.CELL
        block = sum_of(cell >= rules.cells * i for i in range(1, 1 + len(STRIDES)))
        self.bit = Hexagon(rules.board_radius).bit_of_cell(cell - block * rules.cells)  # of CELL and EDGE
        self.direction = block - 1  # of EDGE

    def at(self, *phases: int) -> Scalar:
        """Return whether the game is in one of these phases."""
        return any_of(self.phase == phase for phase in phases)
