"""Kernel of table lookups: solves the rest of the current trick backward from its pick-ups."""

from __future__ import annotations

from collections.abc import Callable

from tensor_envs._compiler.tape import INT64
from tensor_envs._engine.batch_layout import BlockGrid
from tensor_envs._engine.kernels.base import ArrayCoords, Coords, Words
from tensor_envs._engine.layout import Layout
from tensor_envs.rules import Scalar, int32, popcount, uint32, where
from tensor_envs.rules.kernel import Cells, grid_index, loop

# for the player to move
WIN = 1
DRAW = 0
LOSS = -1
ILLEGAL = -2  # in place of an action's value


def judge(cards: int, layout: Layout, grid: BlockGrid, compact: bool = False) -> Callable[..., None]:
    """Return the body of the kernel.

    Its arguments are the values of every action and of the position [B, A + 1], scratch space for tricks [B, 2^cards],
    the state's words, the two tables of results, and the first byte of the results of each talon. The results are
    those of a `Tablebase`; compact ones say whether the player to move wins, and whether nobody does.

    Each set D of cards that may still be played in the trick is a cell. A cell first holds the first player's value if
    the player to move picks up. Then, from the highest card down, it holds the best value with plays included.
    """

    def body(*arrays: Cells) -> None:
        if grid.gpu:
            group = grid_index("group", grid.blocks)
            thread = grid_index("thread", grid.lanes)
            _judge_game(cards, layout, compact, ArrayCoords(group, thread, grid.lanes), *arrays)
        else:
            with loop(grid.blocks) as block, loop(grid.lanes) as lane:
                _judge_game(cards, layout, compact, ArrayCoords(block, lane, grid.lanes), *arrays)

    return body


def _judge_game(cards: int, layout: Layout, compact: bool, coords: ArrayCoords, *arrays: Cells) -> None:
    """Compute the values of one game."""
    values, tricks, words, *results, first_bytes = arrays
    everything = (1 << cards) - 1
    size = 1 << cards
    load = Words(layout, words).load(Coords(coords, coords))
    own, other, pile = (layout.get(load, name) for name in ("own", "other", "pile"))
    # Every bit up to the pile's highest card: only cards above it can be played.
    top = pile
    for shift in (1, 2, 4, 8, 16):
        top = top | top >> shift
    mine, theirs = (~(hand | top) & everything for hand in (other, own))  # playable cards

    def is_second(played: Scalar) -> Scalar:
        """Return whether the second player is to move."""
        return popcount(played) & 1 != 0

    def pick_up(played: Scalar) -> Scalar:
        """Return the value for the first player once the player to move has picked up."""
        first = own & ~played
        second = other & ~played
        second_moves = is_second(played)
        value = quiet(where(second_moves, first, second), where(second_moves, second, first) | pile | played)
        return where(second_moves, value, -value)

    def quiet(mover: Scalar, waits: Scalar) -> Scalar:
        """Return the value for the player to move, from the table."""
        # Number the position as the tables do: of the cards in play, by rank, those that the waiting player holds.
        rank = uint32(0)
        index = uint32(0)
        for card in range(cards):
            held = (mover | waits) >> card & 1
            index = index | (waits >> card & held) << rank
            rank = rank + held
        start = first_bytes[int32(~(mover | waits) & everything)]

        def bit(table: Cells, k: Scalar) -> Scalar:
            return int32(uint32(table[start + int32(k >> 3)]) >> (k & 7) & 1)

        if compact:
            wins, draws = results
            return bit(wins, index) * (WIN - LOSS) + bit(draws, index) * (DRAW - LOSS) + LOSS
        # Both tables say whether A wins. With the hands exchanged, B's table says whether the player to move loses.
        a_to_move, b_to_move = results
        return bit(a_to_move, index) - bit(b_to_move, index ^ ((1 << rank) - 1))

    begin = (coords.row.to(INT64) if tricks.size > 2**31 else coords.row) * size
    nothing = pile == 0  # without a pile, a card must be played (F3)
    # At first each cell holds the value of picking up, which ends the trick in a position of the tables.
    with loop(size) as d:
        tricks[begin + d] = where(nothing & (d == 0), LOSS, pick_up(uint32(d)))
    # A cell has the cards played so far, so playing `card` leads to the cell 2^card further on. From the highest
    # card down, that cell is final before a cell with lower cards reads it.
    for card in reversed(range(cards)):
        with loop(1 << card) as d:
            without = int32(tricks[begin + d])
            play = int32(tricks[begin + d + (1 << card)])
            second_moves = is_second(uint32(d))
            better = where(second_moves, play < without, without < play)
            may = where(second_moves, theirs, mine) >> card & 1 != 0
            tricks[begin + d] = where(may & better, play, without)
    # A play's value is that of the cell with this card alone, for the player who has played it.
    out = coords.row * (cards + 2)
    for card in range(cards):
        values[out + card] = where(mine >> card & 1 != 0, int32(tricks[begin + (1 << card)]), ILLEGAL)
    values[out + cards] = where(nothing, ILLEGAL, pick_up(uint32(0)))
    values[out + cards + 1] = where(other == everything, WIN, int32(tricks[begin]))
