"""What an action does to the tiles of one board."""

from __future__ import annotations

from typing import Any

from tinygrad import dtypes

from tensor_envs.core.spec import GameState, Scalar
from tensor_envs.games.tensor_equilibrium import tally
from tensor_envs.games.tensor_equilibrium.board import CODE_BITS, PLANES, board_of
from tensor_envs.games.tensor_equilibrium.data import Phase, RuleFields
from tensor_envs.games.tensor_equilibrium.hexagon import Hexagon, stride
from tensor_envs.games.tensor_equilibrium.move import Move
from tensor_envs.games.tensor_equilibrium.players import change


def move_tiles(rules: RuleFields, s: GameState, move: Move, seat: Scalar) -> tuple[dict[str, Any], Scalar]:
    """Place, remove, flip or copy tiles on the board of a seat -> the fields changed, and the type of the tile."""
    removes, flips = move.at(Phase.SUB_CELL, Phase.ADD_REMOVE), move.at(Phase.FLIP)
    divides, copies = move.at(Phase.DIV_CELL), move.at(Phase.MUL_CELL)
    centres, from_supply = move.at(Phase.SETUP_CENTRE), move.at(Phase.ADD_CELL)
    from_pile = centres | move.at(Phase.SETUP_CELL)
    adds = from_pile | from_supply | move.at(Phase.PLACE)
    planes = board_of(rules, s, seat).planes

    def tile_at(bit: Scalar) -> tuple[Scalar, Scalar]:
        """Type and face of the tile on a cell."""
        low, middle, high, face = (plane >> bit & 1 for plane in planes)
        return (low | middle << 1 | high << 2).cast(dtypes.int32) - 1, face.ne(0)

    chosen, beyond = move.bit.cast(dtypes.uint64), stride(s.pend_direction)
    source = copies.where((s.pend_bit & 63).cast(dtypes.uint64), chosen)
    there, face = tile_at(source)
    second, second_face = tile_at(source + beyond & 63)  # the pair's other tile
    kind = adds.where(centres.where(move.type, s.pend_type), there)

    # the board: what is taken away, what is new, what is turned
    cell = planes[0].const_like(1) << chosen
    nothing = cell.const_like(0)
    new = (adds | copies).where(cell, nothing)
    new = centres.where(1 << Hexagon(rules.board_radius).bits[rules.centre], new)
    copy = copies.where(cell << beyond, nothing)
    stay = ~removes.where(cell, nothing)
    after = []
    for i in range(CODE_BITS):
        plane = planes[i] & stay | (kind + 1 >> i & 1).ne(0).where(new, nothing)
        after.append(plane | (second + 1 >> i & 1).ne(0).where(copy, nothing))
    up, copy_up = adds | copies, copies
    if not rules.mult_copies_face_up:  # G33
        up, copy_up = adds | copies & face, copies & second_face
    shown = planes[CODE_BITS] & stay | up.where(new, nothing) | copy_up.where(copy, nothing)
    after.append(shown ^ (flips | divides).where(cell, nothing))

    # the tallies that go with it
    tile, other = tally.one(kind), tally.one(second)
    none = tile.const_like(0)
    appears = up | divides & face.logical_not()
    vanishes = flips | (removes | divides) & face
    shown_more = appears.where(tile, none) - vanishes.where(tile, none) + copy_up.where(other, none)
    taken = (from_supply | copies).where(tile, none) + copies.where(other, none)  # G31
    flipped = s.pend_flip[0].const_like(1) << (kind & 7)
    changed = {
        "tiles": [
            seat.eq(p).where(plane, s.tiles[p * PLANES + i])
            for p in range(rules.players)
            for i, plane in enumerate(after)
        ],
        "face_up": change(s.face_up, seat, lambda shown: shown + shown_more),
        "supply": s.supply + removes.where(tile, none) - taken,
        "pile": s.pile - from_pile.where(tile, none),
        "pend_flip": change(s.pend_flip, seat, lambda types: flips.where(types & ~flipped, types)),
    }
    return changed, kind
