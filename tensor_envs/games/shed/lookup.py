"""The kernel that looks positions up in a table: the rest of the trick, backward from its pick-ups."""

from __future__ import annotations

from collections.abc import Callable

from tinygrad import UOp, dtypes
from tinygrad.uop.ops import AxisType

from tensor_envs.core.kernels.block import Coords, Grid, Place, Words
from tensor_envs.core.layout import Layout
from tensor_envs.rules import Scalar, popcount
from tensor_envs.rules.control import loop

WIN, DRAW, LOSS = 1, 0, -1  # for the player to move
ILLEGAL = -2  # in place of an action's value


def judge(cards: int, layout: Layout, grid: Grid) -> Callable[..., UOp]:
    """The kernel's body. Arguments: values of every action and of the position [B, A + 1]; room for tricks; the state's
    words; the two tables of results; where a talon's begin.

    Each set D of cards that may still be played in the trick is a cell: first what the player to move then gets by
    picking up, all from the first player's side; then, from the highest card down, the best with plays as well.
    """
    everything, size = (1 << cards) - 1, 1 << cards

    def body(values: UOp, tricks: UOp, words: UOp, *tables: UOp) -> UOp:
        kinds = (AxisType.GLOBAL, AxisType.LOCAL) if grid.gpu else (AxisType.WEAK, AxisType.WEAK)
        block, lane = loop(grid.blocks, kinds[0]), loop(grid.lanes, kinds[1])
        game, place = block * grid.lanes + lane, Place(block, lane, grid.lanes)
        own, other, pile = (
            layout.get(Words(layout, words).load(Coords(place, place)), name).uop()
            for name in ("own", "other", "pile")
        )
        at = game.cast(dtypes.int64) * size
        top = pile
        for shift in (1, 2, 4, 8, 16):
            top = top | top >> shift
        mine, theirs = (~(hand | top) & everything for hand in (other, own))  # what each may play

        def odd(played: UOp) -> UOp:
            return (popcount(Scalar(played, dtypes.uint32)).uop() & 1).ne(0)

        def pick_up(played: UOp) -> UOp:
            """The value for the first player once the player to move has picked up."""
            first, second, heap = own & ~played, other & ~played, pile | played
            turn = odd(played)
            mover, waits = turn.where(first, second), turn.where(second, first) | heap
            value = quiet(mover, waits)
            return turn.where(value, -value)

        def quiet(mover: UOp, waits: UOp) -> UOp:
            """The value for the player to move, from the table."""
            rank, index = mover.const_like(0), mover.const_like(0)
            for card in range(cards):
                held = (mover | waits) >> card & 1
                index, rank = index | (waits >> card & held) << rank, rank + held
            start = tables[2][(~(mover | waits) & everything).cast(dtypes.int32)].load()
            mirrored = index ^ ((index.const_like(1) << rank) - 1)

            def bit(table: UOp, k: UOp) -> UOp:
                byte = table[start + (k >> 3).cast(dtypes.int32)].load().cast(dtypes.uint32)
                return (byte >> (k & 7) & 1).cast(dtypes.int32)

            return bit(tables[0], index) - bit(tables[1], mirrored)

        d = loop(size)
        # a pile must be there to be picked up: without one, a card is played whatever it leads to (F3)
        nothing = pile.eq(0)
        alone = (nothing & d.cast(dtypes.int32).eq(0)).where(LOSS, pick_up(d.cast(dtypes.uint32)))
        last = tricks[at + d].store(alone.cast(dtypes.int8)).end(d)
        for card in reversed(range(cards)):
            now = tricks.after(last)
            d = loop(1 << card)
            played = d.cast(dtypes.uint32)
            kept = now[at + d].load().cast(dtypes.int32)
            more = now[at + (d + (1 << card))].load().cast(dtypes.int32)
            turn = odd(played)
            better = turn.where(more < kept, kept < more)
            may = (turn.where(theirs, mine) >> card & 1).ne(0)
            best = (may & better).where(more, kept)
            last = now[at + d].store(best.cast(dtypes.int8)).end(d)
        final, out = tricks.after(last), game * (cards + 2)
        stores = []
        for card in range(cards):
            reached = final[at + (1 << card)].load().cast(dtypes.int32)
            stores.append(values[out + card].store((mine >> card & 1).ne(0).where(reached, ILLEGAL)))
        picked = pick_up(pile.const_like(0))
        stores.append(values[out + cards].store(nothing.where(ILLEGAL, picked)))
        over = other.eq(everything)
        best = over.where(WIN, final[at].load().cast(dtypes.int32))
        stores.append(values[out + cards + 1].store(best))
        return UOp.group(*stores).end(lane).end(block)

    return body
