"""Effect of an action on the tiles of one board."""

from __future__ import annotations

from typing import Any

from tensor_envs.games.tensor_equilibrium import tally
from tensor_envs.games.tensor_equilibrium.action import DecodedAction
from tensor_envs.games.tensor_equilibrium.board import PLANES, board_of
from tensor_envs.games.tensor_equilibrium.data import Phase, RuleFields
from tensor_envs.games.tensor_equilibrium.hexagon import STRIDES, Hexagon
from tensor_envs.rules import GameState, Scalar, has_bit, put, select, where, word64


def move_tiles(
    rules: RuleFields, s: GameState, action: DecodedAction, player: Scalar
) -> tuple[dict[str, Any], Scalar]:
    """Place, remove, flip or copy tiles on a player's board.

    Returns:
        The changed fields, and the type of the tile.
    """
    removes, flips = action.at(Phase.SUB_CELL, Phase.ADD_REMOVE), action.at(Phase.FLIP)
    divides, copies = action.at(Phase.DIV_CELL), action.at(Phase.MUL_CELL)
    centres, from_supply = action.at(Phase.SETUP_CENTRE), action.at(Phase.ADD_CELL)
    from_pile = centres | action.at(Phase.SETUP_CELL)
    adds = from_pile | from_supply | action.at(Phase.PLACE)
    board = board_of(rules, s, player)

    beyond = select(STRIDES, s.pend_direction)  # bits from a pair's first tile to its second
    source = where(copies, s.pend_bit & 63, action.bit)
    there, face = board.tile_at(source)
    second, second_face = board.tile_at(source + beyond & 63)
    kind = where(adds, where(centres, action.type, s.pend_type), there)

    # the board: removed, new and turned tiles
    cell = word64(1) << action.bit
    removed, turned = where(removes, cell, 0), where(flips | divides, cell, 0)
    new = where(adds | copies, cell, 0)
    new = where(centres, 1 << Hexagon(rules.board_radius).bits[rules.centre], new)
    copy = where(copies, cell << beyond, 0)
    up, copy_up = adds | copies, copies
    if not rules.mult_copies_face_up:  # G33
        up, copy_up = adds | copies & face, copies & second_face
    after = [
        plane & ~removed | where(has_bit(kind + 1, i), new, 0) | where(has_bit(second + 1, i), copy, 0)
        for i, plane in enumerate(board.code)
    ]
    shown = board.face_up & ~removed | where(up, new, 0) | where(copy_up, copy, 0)
    after.append(shown ^ turned)

    # the tallies
    tile, other = tally.one(kind), tally.one(second)
    appears = up | divides & ~face
    vanishes = flips | (removes | divides) & face
    shown_more = where(appears, tile, 0) - where(vanishes, tile, 0) + where(copy_up, other, 0)
    taken = where(from_supply | copies, tile, 0) + where(copies, other, 0)  # G31
    to_flip = select(s.pend_flip, player)
    changed = {
        "tiles": [
            where(player == p, plane, s.tiles[p * PLANES + i])
            for p in range(rules.players)
            for i, plane in enumerate(after)
        ],
        "face_up": put(s.face_up, player, select(s.face_up, player) + shown_more),
        "supply": s.supply + where(removes, tile, 0) - taken,
        "pile": s.pile - where(from_pile, tile, 0),
        "pend_flip": put(s.pend_flip, player, where(flips, to_flip & ~(1 << (kind & 7)), to_flip)),
    }
    return changed, kind
