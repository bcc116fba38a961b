"""Count of Othello's positions with 50 empty squares, from which the published solution starts."""

from __future__ import annotations

import numpy as np

import tensor_envs as te
from tensor_envs.solve.packed import Array, Packed, concat, groups
from tensor_envs.solve.positions import Expander, canonical, images, merge

SIDE, PLANES = 8, 2
DISCS, PLIES = 14, 10  # 4 discs at the start, and one per ply except for passes
BLOCK = 1 << 18


def fifty_empties() -> int:
    """Count the unfinished positions with 14 discs, up to the 8 symmetries of the board.

    If the player to move must pass, the position after the pass counts.
    """
    game = Expander(te.make("othello"), symmetry=True, count_plies=True)
    layer = game.start.positions
    for ply in range(PLIES + 1):
        own, other, moves = (field(game, layer.fields, name) for name in ("own", "other", "moves"))
        live, size = layer.results == 0, np.bitwise_count(own | other)
        if ply == PLIES:
            full = [distinct(own, other, live & (size == DISCS) & (moves != 0))]
            full.append(distinct(other, own, live & (size == DISCS) & (moves == 0)))
            live &= size < DISCS  # after a pass
        layer, _ = merge([children.positions for children in game.expand(layer.fields[live], ply)])
    own, other = (field(game, layer.fields, name) for name in ("own", "other"))
    live = layer.results == 0
    assert (np.bitwise_count(own | other) == DISCS).all() and (field(game, layer.fields, "moves") != 0)[live].all()
    return len(groups(concat([*full, distinct(own, other, live)])).starts)


def field(game: Expander, fields: Packed, name: str) -> Array:
    """Return a set of squares of every position, uint64 [n]."""
    (slot,), words = game.layout.slots[name], fields.columns()
    return words[slot.word].astype(np.uint64) | words[slot.word + 1].astype(np.uint64) << np.uint64(32)


def distinct(own: Array, other: Array, chosen: Array) -> Packed:
    """Return the chosen positions without duplicates up to symmetry."""
    squares = np.arange(SIDE * SIDE).reshape(SIDE, SIDE)
    turned = [np.rot90(board, k).ravel() for board in (squares, squares.T) for k in range(4)]
    maps = [images(np.concatenate([plane * squares.size + board for plane in range(PLANES)])) for board in turned]
    boards, parts = np.stack([own[chosen], other[chosen]], axis=1), list[Packed]()
    for at in range(0, len(boards), BLOCK):
        bits = np.unpackbits(boards[at : at + BLOCK].astype("<u8").view(np.uint8), axis=1, bitorder="little")
        rows = Packed.of(canonical(bits.view(bool), maps)[0])
        parts.append(rows[groups(rows).first])
    rows = concat(parts)
    return rows[groups(rows).first]
