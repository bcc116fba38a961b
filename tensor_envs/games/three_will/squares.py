"""Sets of squares in two words (rows 0-3 and rows 4-7), and what lies ahead of all squares at once."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import NamedTuple

from tinygrad import UOp, dtypes

from tensor_envs.core.spec import Scalar
from tensor_envs.games.three_will.agents import FLAG, Agents
from tensor_envs.games.three_will.data import FACES, SLOTS, Chart
from tensor_envs.games.three_will.sets import Bits, choose, word

BIT, HALF = 31, 32  # of a square: its bit in a word, and which word
COLUMNS, EVERY_ROW = (
    0xFF,
    0x01010101,
)  # the columns of a row; times a set of columns: that in every row of a word
FIRST, LAST = 0x01, 0x80  # columns


def goal_row(white: Scalar) -> Bits:
    """White's goal row 7 or, where `white` is not true, Black's goal row 0."""
    return choose(white, Bits.constant(0, COLUMNS << 24), Bits.constant(COLUMNS, 0))


def of_level(agents: Agents, level: int) -> Bits:
    """The squares of one player's agents of a level."""
    halves: list[list[Scalar]] = [[], []]
    for slot in range(SLOTS):
        byte = agents.byte(slot)
        bit = byte.const_like(1) << (byte & BIT)
        for half, found in enumerate(halves):
            found.append((byte & (FLAG | HALF)).eq(FLAG * level | HALF * half).where(bit, 0))
    return Bits(reduce(or_, found) for found in halves)


def stands_on(agents: Agents, slot: int, squares: Bits) -> Scalar:
    """1 if the agent of a slot stands on one of the squares, else 0."""
    byte = agents.byte(slot)
    return (byte & HALF).eq(0).where(*squares.words) >> (byte & BIT) & 1


# *** directions ***

BACKWARD, STRAIGHT, FORWARD = (
    0,
    1,
    2,
)  # steps along rows or columns, towards smaller or larger numbers, plus 1
NOWHERE = 3  # in place of a row's step: the directive has no such option


class Direction(NamedTuple):
    """One option of a directive in the board's terms."""

    row: Scalar
    column: Scalar

    @property
    def exists(self) -> Scalar:
        return self.row.ne(NOWHERE)


def directions(chart: Chart, white: Scalar, die: Scalar) -> list[Scalar]:
    """What every option of the directive is to a player, in four bits (see `decoded`)."""
    found = []
    for option in range(max(map(len, chart))):
        tables = (UOp.const(table(chart, option, sign), dtypes.int32) for sign in (1, -1))
        found.append(white.where(*tables) >> (die << 2) & 15)
    return found


def table(chart: Chart, option: int, sign: int) -> int:
    """An option by faces, in bits 4 * face and on; Black sees the board from the other side, so his sign is -1."""
    codes = [NOWHERE] * FACES
    for i, steps in enumerate(chart):
        if option < len(steps):
            row, column = (STRAIGHT + sign * step for step in steps[option])
            codes[i] = row | column << 2
    return sum(code << 4 * face for face, code in enumerate(codes, start=1))


def decoded(direction: Scalar) -> Direction:
    return Direction(direction & 3, direction >> 2)


def next_to(there: Bits, ahead: Direction) -> Bits:
    """The squares from which the next one ahead is one of `there`; columns wrap, rows never do (G15)."""
    low, high = there.words
    forward, backward = ahead.row.eq(FORWARD), ahead.row.eq(BACKWARD)
    rows = (
        forward.where(low >> 8 | high << 24, backward.where(low << 8, low)),
        forward.where(high >> 8, backward.where(high << 8 | low >> 24, high)),
    )
    forward, backward = ahead.column.eq(FORWARD), ahead.column.eq(BACKWARD)
    first, last, others = FIRST * EVERY_ROW, LAST * EVERY_ROW, COLUMNS * EVERY_ROW
    return Bits(
        forward.where(
            (word >> 1 & (others ^ last)) | (word << 7 & last),
            backward.where((word << 1 & (others ^ first)) | (word >> 7 & first), word),
        )
        for word in rows
    )


def inside(ahead: Direction) -> Bits:
    """The squares from which the next one ahead is in the same rank of columns, not beyond an edge (F14)."""
    forward, backward = ahead.column.eq(FORWARD), ahead.column.eq(BACKWARD)
    not_last, not_first = ((COLUMNS ^ edge) * EVERY_ROW for edge in (LAST, FIRST))
    rows = forward.where(word(not_last), backward.where(word(not_first), word(COLUMNS * EVERY_ROW)))
    return Bits((rows, rows))
