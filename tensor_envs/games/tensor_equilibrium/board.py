"""Cell sets of one player's board: its tiles, and the cells that each operation may use (RULES.md, "Cell sets").

A board has four planes, each a set of cells. Planes 0 to 2 are the bits of the code of the tile on a cell (type + 1, or
0 for an empty cell); plane 3 marks face-up tiles.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from tensor_envs.games.tensor_equilibrium import tally
from tensor_envs.games.tensor_equilibrium.data import TYPES, RuleFields
from tensor_envs.games.tensor_equilibrium.hexagon import STRIDES, Hexagon, neighbours, pairs
from tensor_envs.rules import GameState, Scalar, has_bit, int32, select, uint64, union_in_range, union_of, where

CODE_BITS = 3
PLANES = CODE_BITS + 1  # planes of a board: the bits of the code, then the face-up tiles
EVERY_TYPE = (1 << TYPES) - 1
# Upper bound of the steps between two connected tiles, by board radius: the longest induced path.
LONGEST_WAY = (0, 4, 11, 22)


def board_of(rules: RuleFields, s: GameState, player: Scalar | int) -> PlayerBoard:
    """Return a player's board."""
    return PlayerBoard(rules, select(s.tiles, player))


def light_cells(rules: RuleFields) -> int:
    """Return the set of cells that may hold tiles (G2)."""
    hexagon = Hexagon(rules.board_radius)
    return hexagon.set_of(set(range(rules.cells)) - set(rules.dark_cells))


def is_one_group(cells: int) -> bool:
    """Return whether the cells of a set (a Python int) are connected."""
    reached = 0
    grown = cells & -cells
    while reached != grown:
        reached = grown
        grown = grown | neighbours(grown) & cells
    return reached == cells


def has_more_than(cells: Scalar, count: int) -> Scalar:
    """Return whether a set has more cells than a small constant."""
    for _ in range(count):
        cells = cells & cells - 1
    return cells != 0


class PlayerBoard:
    """Cell sets of one board, each a uint64 that is computed on first use."""

    def __init__(self, rules: RuleFields, planes: Sequence[Scalar]):
        self.rules, self.planes = rules, planes
        self.code = planes[:CODE_BITS]
        self.face_up = planes[CODE_BITS]
        self.light = light_cells(rules)

    @cached_property
    def occupied(self) -> Scalar:
        """Cells that hold a tile."""
        return union_of(self.code)

    @cached_property
    def empty(self) -> Scalar:
        """Light cells that hold no tile."""
        return ~self.occupied & self.light

    @cached_property
    def open(self) -> Scalar:
        """Empty cells beside a tile (F22)."""
        return neighbours(self.occupied) & self.empty

    @cached_property
    def types(self) -> list[Scalar]:
        """Tiles of every type, face-up or face-down."""
        low, middle, high = self.code
        return [low & ~(middle | high), middle & ~low, low & middle, high & ~low, low & high]

    def tile_at(self, bit: Scalar) -> tuple[Scalar, Scalar]:
        """Return the type (-1 for none) and the face of the tile on a computed cell."""
        low, middle, high, face_up = (plane >> bit & 1 for plane in self.planes)
        return int32(low | middle << 1 | high << 2) - 1, face_up != 0

    @cached_property
    def partners(self) -> list[Scalar]:
        """Tiles of every type that count as partners on the Tensor card (G24)."""
        if self.rules.face_down_counts_for_adjacency:
            return self.types
        return [tiles & self.face_up for tiles in self.types]

    # *** loading and hacking; `card` is the card's word, see `cards.partner_word` ***

    def load_cells(self, card: Scalar, tile: Scalar) -> Scalar:
        """Return the cells where a tile of a computed type may be loaded (F22, F23)."""
        column = card >> (tile & 7)
        beside = uint64(0)
        for other, tiles in enumerate(self.partners):
            beside = where(has_bit(column, TYPES * other), tiles, beside)
        is_free = has_bit(column, TYPES * TYPES)
        return where(is_free, self.open, self.open & neighbours(beside))

    def loadable(self, card: Scalar) -> Scalar:
        """Return the types that may be loaded on some cell, as bits. A partner must touch an open cell."""
        beside_open = neighbours(self.open)
        reached = [(tiles & beside_open) != 0 for tiles in self.partners] + [self.open != 0]
        return union_of(where(ok, card >> TYPES * i & EVERY_TYPE, 0) for i, ok in enumerate(reached))

    # *** operations ***

    @cached_property
    def removable(self) -> Scalar:
        """Tiles that SUB and ADD may remove (G28, G29)."""
        tiles = self.loose if self.rules.require_connected else self.occupied
        return where(has_more_than(self.occupied, self.rules.min_board_tiles), tiles, 0)

    @cached_property
    def loose(self) -> Scalar:
        """Tiles whose removal leaves the other tiles connected."""
        radius = self.rules.board_radius

        def tile_if_loose(bit: Scalar) -> Scalar:
            tile = uint64(1) << bit
            others = self.occupied & ~tile
            reached = others & ~(others - 1)  # one of the others, grown to its connected group
            for _ in range(LONGEST_WAY[radius]):
                reached = reached | neighbours(reached) & others
            return where(reached == others, tile, 0)

        return union_in_range(Hexagon(radius).bits[-1] + 1, tile_if_loose) & self.occupied

    def add_removable(self, supply: Scalar) -> Scalar:
        """Return the tiles that ADD may remove. Another type must be in supply (G31), and a cell must remain (G30)."""
        stocked = tally.at_least(supply, 1)
        return self.replaceable & union_of(
            where((stocked & ~tally.one(t)) != 0, tiles, 0) for t, tiles in enumerate(self.types)
        )

    @cached_property
    def replaceable(self) -> Scalar:
        """Removable tiles after whose removal a tile can still be placed.

        Where the light cells are connected, any other tile is enough, since an empty cell then touches a tile.
        Elsewhere, an open cell closes when the only tile that it touches is removed, and the vacated cell opens if it
        touches a tile.
        """
        reuse = self.rules.add_may_reuse_cell
        if reuse and is_one_group(self.light):
            return where(has_more_than(self.occupied, 1), self.removable, 0)
        # cells beside a tile, beside two
        one = uint64(0)
        two = uint64(0)
        for stride in STRIDES:
            for beside in (self.occupied << stride, self.occupied >> stride):
                one, two = one | beside, two | one & beside
        only = neighbours(self.open) & self.occupied  # tiles beside open cells; a single one must stay
        safe = ((two & self.empty) != 0) | has_more_than(only, 1)
        some = where(safe, self.occupied, where(only != 0, ~only, 0))
        if reuse:
            some = some | neighbours(self.occupied)
        return self.removable & some

    @cached_property
    def mul_cells(self) -> list[Scalar]:
        """Cells of the first copy by direction; the second copy lies beyond it (F31)."""
        return [pairs(self.empty, d) & (self.open | self.open >> stride) for d, stride in enumerate(STRIDES)]

    def mul_edges(self, supply: Scalar) -> list[Scalar]:
        """Return, by direction, the tiles that may be copied together with their neighbour (G31, G33)."""
        stocked = tally.at_least(supply, 1)
        plenty = tally.at_least(supply, 2)
        available = [where(tally.has(stocked, t), tiles, 0) for t, tiles in enumerate(self.types)]
        single = union_of(where(tally.has(plenty, t), 0, tiles) for t, tiles in enumerate(available))
        copied = union_of(available)
        if not self.rules.mult_can_copy_face_down:
            copied = copied & self.face_up
        edges_by_direction = []
        for d, stride in enumerate(STRIDES):
            differ = union_of(plane ^ plane >> stride for plane in self.code)
            edges = pairs(copied, d) & (differ | ~single)
            edges_by_direction.append(where(self.mul_cells[d] != 0, edges, 0))
        return edges_by_direction
