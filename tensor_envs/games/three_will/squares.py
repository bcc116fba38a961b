"""Sets of squares as bits of a uint64, from the side of the player to act."""

from __future__ import annotations

from typing import NamedTuple

from tensor_envs.games.three_will.agents import AgentWords, place_of
from tensor_envs.games.three_will.data import SIDE, SLOTS, Chart
from tensor_envs.rules import Scalar, joined, lookup, uint32, uint64, union_of, where

ALL = ~uint64(0)
# columns
FIRST = uint64(0x0101010101010101)
LAST = uint64(0x8080808080808080)
# rows 7 and 0
OWN_GOAL = uint64(0xFF << 56)
OTHER_GOAL = uint64(0xFF)


def squares_of(agents: AgentWords, level: int) -> Scalar:
    """Return the squares of a player's agents of a level."""
    places = [place_of(agents, slot) for slot in range(SLOTS)]
    low, high = (
        union_of(where(place & 0x60 == 64 * level + half, uint32(1) << (place & 31), 0) for place in places)
        for half in (0, 32)
    )
    return joined(low, high)


class Direction(NamedTuple):
    """Option of the directive: a step, as the player to act sees the board, and whether the option exists."""

    forward: Scalar
    right: Scalar
    exists: Scalar


def direction(chart: Chart, option: int, die: Scalar) -> Direction:
    """Return the step that an option of the directive allows the player to act, for the face of the die."""
    steps = [steps[option] if option < len(steps) else None for steps in chart]
    some_step = next(filter(None, steps), (0, 0))  # a step for the faces without this option, whose value is not used
    forward, right = zip(*(step or some_step for step in steps), strict=True)
    exists = [step is not None for step in steps]
    return Direction(lookup(forward, die - 1), lookup(right, die - 1), lookup(exists, die - 1))


def next_to(there: Scalar, ahead: Direction) -> Scalar:
    """Return the squares from which the step ahead leads to `there`. Columns wrap around, rows do not (G15)."""
    there = where(ahead.forward == 1, there >> SIDE, where(ahead.forward == -1, there << SIDE, there))
    to_right = (there >> 1 & ~LAST) | (there << SIDE - 1 & LAST)
    to_left = (there << 1 & ~FIRST) | (there >> SIDE - 1 & FIRST)
    return where(ahead.right == 1, to_right, where(ahead.right == -1, to_left, there))


def inside(ahead: Direction) -> Scalar:
    """Return the squares from which the step ahead stays within the columns of the board (F14)."""
    return ~where(ahead.right == 1, LAST, where(ahead.right == -1, FIRST, 0))
