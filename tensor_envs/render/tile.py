"""Small pictures of states as lookup tables, for thousands of games in a page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class StateBits(NamedTuple):
    """Some bits of a state's field.

    Attributes:
        field: name of the field.
        number: which number of the field, flat.
        first: the first bit. In a set of several words it counts on through the words that follow.
        size: how many bits, all within one word; None stands for the number itself.
    """

    field: str
    number: int = 0
    first: int = 0
    size: int | None = None


class Pixel(NamedTuple):
    """A pixel: the colours "#rrggbb" for every value of some bits, of which the first are the lowest."""

    colours: tuple[str, ...]
    bits: tuple[StateBits, ...] = ()


class Mark(NamedTuple):
    """Pixel whose place depends on the state: `places` has a pixel for each value of the bits, or -1 for no pixel."""

    colour: str
    bits: StateBits
    places: tuple[int, ...]


class Tile(NamedTuple):
    """Small picture of a state.

    Attributes:
        width: pixels of a row.
        views: pixels row by row: one picture, or one for each player to move.
        marks: painted over the pixels, one after the other.
    """

    width: int
    views: tuple[Sequence[Pixel], ...]
    marks: tuple[Mark, ...] = ()


def stone_pixel(cell: int, empty: str, first: str, second: str) -> Pixel:
    """Return the pixel of a cell of a board whose fields `own` and `other` are the sets of both players' stones.

    Args:
        cell: bit of the cell in both sets.
        empty, first, second: the colours without a stone, with one of player 0 and with one of player 1.
    """
    colours = (empty, first, second, empty, empty, second, first, empty)
    return Pixel(colours, (StateBits("own", 0, cell, 1), StateBits("other", 0, cell, 1), StateBits("current_player")))
