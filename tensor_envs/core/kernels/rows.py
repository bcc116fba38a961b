"""Observations and masks game by game, for the host: what learners on the device read by lanes, see `observe`."""

from __future__ import annotations

from typing import NamedTuple

from tinygrad import UOp

from tensor_envs.core.kernels.block import Coords, Words
from tensor_envs.core.kernels.observe import BYTE, ObservationStage
from tensor_envs.rules.control import loop
from tensor_envs.rules.observation import OneHot, Part
from tensor_envs.rules.scalar import Scalar


class _Piece(NamedTuple):
    """Entries next to each other that are read from registers: bits, or which of them is 1."""

    array: UOp
    entry: int
    row: int  # of the registers
    size: int
    one_hot: bool


class RowStage(ObservationStage):
    """Stores eight bits of a register at once, which compilers make one vector of."""

    def trace(self, words: Words) -> UOp:
        self.pieces: dict[int, _Piece] = {}  # by entry: a stage may be traced for several lanes
        filled = self.t.block.each(lambda at: self._fill(words, at))
        registers = self.registers.after(filled)
        pieces = list(self.pieces.values())
        if self.a.mask is not None and self.plan.mask_rows:
            pieces.append(_Piece(self.a.mask, 0, self.plan.rows, self.t.game.spec.num_actions, False))
        if not pieces:
            return filled
        return self.t.block.each_lane(
            lambda at: UOp.group(*(x for p in pieces for x in self._store(registers, p, at)))
        )

    def _part(self, part: Part, entry: int, rows: list[Scalar], at: Coords) -> list[UOp]:
        row = len(rows)
        stores = super()._part(part, entry, rows, at)
        if len(rows) > row:
            self.pieces[entry] = _Piece(self.a.observation, entry, row, part.size, isinstance(part, OneHot))
        return stores

    def _store(self, registers: UOp, piece: _Piece, at: Coords) -> list[UOp]:
        def put(entry: UOp | int, x: UOp) -> UOp:
            return self._cell(piece.array, at, piece.entry + entry).store(x.cast(piece.array.dtype))

        def eight(i: UOp | int, size: int = BYTE) -> list[UOp]:
            bits = at.register.cell(registers, i + piece.row).load()
            return [put(i * BYTE + k, (bits & 1 << k).ne(0)) for k in range(size)]

        if piece.one_hot:
            i = loop(piece.size)
            return [put(i, at.register.cell(registers, piece.row).load().eq(i.cast(registers.dtype))).end(i)]
        whole, rest = divmod(piece.size, BYTE)
        stores = eight(whole, rest)
        if whole:
            i = loop(whole)
            stores.append(UOp.group(*eight(i)).end(i))
        return stores
