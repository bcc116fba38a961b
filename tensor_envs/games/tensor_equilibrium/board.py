"""One player's board: where tiles lie, and where something may be done (RULES.md, "Cell sets").

A board is four sets of cells: bits 0, 1, 2 of the code of the tile on a cell (type + 1; 0: empty), and face-up tiles.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, reduce
from operator import or_

from tinygrad import dtypes
from tinygrad.uop.ops import Ops

from tensor_envs.core.memory import loop, select
from tensor_envs.core.random import join, split
from tensor_envs.core.spec import GameState, Scalar
from tensor_envs.games.tensor_equilibrium import tally
from tensor_envs.games.tensor_equilibrium.data import TYPES, RuleFields
from tensor_envs.games.tensor_equilibrium.hexagon import STRIDES, Hexagon, neighbours, pairs

CODE_BITS = 3
PLANES = CODE_BITS + 1  # of a board: the bits of the code, then the face-up tiles
HALVES = 2  # of a set of cells, as it is stored: 32-bit words, the lower first
EVERY_TYPE = (1 << TYPES) - 1
# Steps from one tile of a group to any other at most, by board radius: its longest path without a short cut.
LONGEST_WAY = (0, 4, 11, 22)


def with_boards(s: GameState) -> GameState:
    """The state with whole sets in `tiles`, [P * PLANES]."""
    return s.replace(tiles=[join(low, high) for low, high in zip(s.tiles[::2], s.tiles[1::2], strict=True)])


def with_halves(s: GameState) -> GameState:
    """The state with sets as they are stored."""
    return s.replace(tiles=[half for cells in s.tiles for half in split(cells)])


def board_of(rules: RuleFields, s: GameState, seat: Scalar | int) -> Board:
    """The board of a seat, which may be a computed one."""
    if isinstance(seat, int):
        return Board(rules, s.tiles[seat * PLANES : (seat + 1) * PLANES])
    return Board(rules, [select(s.tiles[i::PLANES], seat) for i in range(PLANES)])


def light_cells(rules: RuleFields) -> int:
    """The cells on which tiles may lie (G2), as a set."""
    hexagon = Hexagon(rules.board_radius)
    return hexagon.set_of(set(range(rules.cells)) - set(rules.dark_cells))


def is_one_group(cells: int) -> bool:
    """Whether a set (a Python int) is one group of neighbours."""
    reached, grown = 0, cells & -cells
    while reached != grown:
        reached, grown = grown, grown | neighbours(grown) & cells
    return reached == cells


def has_more_than(cells: Scalar, count: int) -> Scalar:
    """Whether a set has more cells than a (small) constant."""
    for _ in range(count):
        cells = cells & cells - 1
    return cells.ne(0)


class Board:
    """The cell sets of one board, as uint64 scalars; each is worked out when first asked for."""

    def __init__(self, rules: RuleFields, planes: Sequence[Scalar]):
        self.rules, self.planes = rules, planes
        self.code, self.face_up = planes[:CODE_BITS], planes[CODE_BITS]
        self.light = light_cells(rules)

    @cached_property
    def occupied(self) -> Scalar:
        return self.code[0] | self.code[1] | self.code[2]

    @cached_property
    def empty(self) -> Scalar:
        """Light cells without a tile."""
        return ~self.occupied & self.light

    @cached_property
    def open(self) -> Scalar:
        """Where a tile touches another (F22)."""
        return neighbours(self.occupied) & self.empty

    @cached_property
    def types(self) -> list[Scalar]:
        """The tiles of every type, of either face."""
        low, middle, high = self.code
        return [low & ~(middle | high), middle & ~low, low & middle, high & ~low, low & high]

    @cached_property
    def partners(self) -> list[Scalar]:
        """The tiles of every type that count for their partner on the Tensor card (G24)."""
        if self.rules.face_down_counts_for_adjacency:
            return self.types
        return [tiles & self.face_up for tiles in self.types]

    # *** loading and hacking; `card`: the card's word, see `cards.partner_word` ***

    def load_cells(self, card: Scalar, tile: Scalar) -> Scalar:
        """Where a tile of a computed type may be loaded (F22, F23)."""
        column = card >> (tile & 7).cast(dtypes.uint32)
        beside = self.empty.const_like(0)
        for other, tiles in enumerate(self.partners):
            beside = (column >> TYPES * other & 1).ne(0).where(tiles, beside)
        free = (column >> TYPES * TYPES & 1).ne(0)
        return free.where(self.open, self.open & neighbours(beside))

    def loadable(self, card: Scalar) -> Scalar:
        """The types that may be loaded somewhere, as bits: some partner touches an open cell."""
        beside_open = neighbours(self.open)
        reached = [(tiles & beside_open).ne(0) for tiles in self.partners] + [self.open.ne(0)]
        return reduce(or_, [ok.where(card >> TYPES * i & EVERY_TYPE, 0) for i, ok in enumerate(reached)])

    # *** operations ***

    @cached_property
    def removable(self) -> Scalar:
        """Tiles that SUB and ADD may remove (G28, G29)."""
        tiles = self.loose if self.rules.require_connected else self.occupied
        return has_more_than(self.occupied, self.rules.min_board_tiles).where(tiles, 0)

    @cached_property
    def loose(self) -> Scalar:
        """Tiles without which the others are one group: a loop over the cells, and a flood from one of the others."""
        radius = self.rules.board_radius
        bit = loop(Hexagon(radius).bits[-1] + 1)
        tile = self.occupied.const_like(1) << bit.cast(dtypes.uint64)
        others = self.occupied & ~tile
        reached = others & ~(others - 1)
        for _ in range(LONGEST_WAY[radius]):
            reached = reached | neighbours(reached) & others
        return (reached.eq(others).where(tile, 0)).reduce(bit, arg=Ops.ADD) & self.occupied

    def add_removable(self, supply: Scalar) -> Scalar:
        """Tiles that ADD may remove: another type is in supply (G31), and a cell for the new tile remains (G30)."""
        stocked = tally.at_least(supply, 1)
        others = [(stocked & ~tally.pack([u == t for u in range(TYPES)])).ne(0) for t in range(TYPES)]
        return self.replaceable & reduce(
            or_, [ok.where(tiles, 0) for ok, tiles in zip(others, self.types, strict=True)]
        )

    @cached_property
    def replaceable(self) -> Scalar:
        """Removable tiles after whose removal a tile may still be placed.

        Where the light cells are one group, that is always so if another tile is left: some empty cell is beside one.
        Elsewhere: an open cell is lost with the only tile that it touches, and the vacated cell is won if it touches
        one.
        """
        reuse = self.rules.add_may_reuse_cell
        if reuse and is_one_group(self.light):
            return self.removable if self.rules.min_board_tiles else self.removable & self.several
        one, two = self.empty.const_like(0), self.empty.const_like(0)
        for amount in STRIDES:
            for beside in (self.occupied << amount, self.occupied >> amount):
                one, two = one | beside, two | one & beside
        only = neighbours(self.open) & self.occupied  # if every open cell touches one tile: those tiles
        some = ((two & self.empty).ne(0) | has_more_than(only, 1)).where(
            self.occupied, only.ne(0).where(~only, 0)
        )
        beside_another = neighbours(self.occupied) if reuse else 0
        return self.removable & (some | beside_another)

    @cached_property
    def several(self) -> Scalar:
        """The tiles if there are two or more, else none."""
        return has_more_than(self.occupied, 1).where(self.occupied, 0)

    @cached_property
    def mul_cells(self) -> list[Scalar]:
        """For every direction: where the first copy may lie, the second beyond it (F31)."""
        found = []
        for d, amount in enumerate(STRIDES):
            found.append(pairs(self.empty, d) & (self.open | self.open >> amount))
        return found

    def mul_edges(self, supply: Scalar) -> list[Scalar]:
        """For every direction: tiles that may be copied together with their neighbour (G31, G33)."""
        stocked, plenty = tally.at_least(supply, 1), tally.at_least(supply, 2)
        available = self.occupied.const_like(0)
        single = available
        for t, tiles in enumerate(self.types):
            here = (stocked >> tally.BITS * t & 1).ne(0).where(tiles, 0)
            available = available | here
            single = single | (plenty >> tally.BITS * t & 1).ne(0).where(0, here)
        if not self.rules.mult_can_copy_face_down:
            available = available & self.face_up
        found = []
        for d, amount in enumerate(STRIDES):
            differ = reduce(or_, [plane ^ plane >> amount for plane in self.code])
            edges = pairs(available, d) & (differ | ~single)
            found.append(self.mul_cells[d].ne(0).where(edges, 0))
        return found
