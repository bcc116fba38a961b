"""The kernels of the exact solver: backward induction over all positions of a layer's talon sets at once.

Players are A and B, and the only question is whether A has a forced win. A *layer* is all talon sets of a group
(`layers`) that have k of the free cards. In a talon set the other n cards are renamed to ranks 0..n-1, so that all sets
of a layer have the same 3^n positions: each rank is held by A (digit 0), by B (1) or lies in the pile (2). Two tables
hold one bit a position: `a_moves`, A wins and is to move, and `b_moves`, A wins though B is to move.

The lowest three ranks lie in one 32-bit word (27 bits), the digits of the others number the words; a word without
pile digits is a *quiet* word. A sweep goes in place down the pile's top t, from n - 1 to 0. Beforehand a cell with
digit 2 at t holds the outcome of plays above t; from it comes the value with that top, and that goes into the cells
where t is still in a hand:

    value, A moves = A picks up and wins, or A wins by a higher card     value, B moves = the same of B, with "and"
    A holds t: a_moves |= value, B moves                                 B holds t: b_moves &= value, A moves

In the gap between ranks t - 1 and t lie cards of the talon, which both players may play. The value then comes from
the tables of the talon without that card, where the card has rank t and lies in the pile: in the layer before if the
card is a free one, else in a *slice*, which another group has left behind. This does not change from sweep to sweep: it
is in the cells before the first. Sweeps go on until nothing changes. Since both tables start at "no", that is the least
fixpoint: forced wins, and never a win that only goes round in circles. From sweep to sweep, too, there are only more of
them: so the "or" of `a_moves` simply goes on, while the "and" of `b_moves` begins each time with what the cells held
before the first sweep (`b_drawn`).

What a pick-up leads to is a quiet position, worked out in the sweep before. Its words are kept with the pile's digits
filled in as A's (`picked_a`) or as B's (`picked_b`), as far as these are digits of the next five ranks, which number
the words of a *block*: so a sweep reads them block by block, and only a block's own number has to be looked up. What is
left of a sweep once the pile's top is among the lowest eight ranks happens within blocks (`settle`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tinygrad import Tensor, UOp, dtypes
from tinygrad.renderer import Estimates
from tinygrad.uop.ops import AxisType

from tensor_envs.core.backend.launch import launch
from tensor_envs.core.kernels.tracer import branch
from tensor_envs.rules.control import loop

LOW = 3  # ranks within a word
MIDDLE = 5  # ranks within a block
HIGH = LOW + MIDDLE  # the first rank that numbers blocks
BLOCK = 256  # words, of which 3^5 are in use: the others are there to be swept eight and eight
ONES = 0xFFFFFFFF
MAX_CARDS = 21  # results are numbered with 31 bits
PARTS = 64  # of a launch, to be shared among the CPU's threads
BLOCKS, THREADS = 4096, 256  # of a launch on a GPU; a block takes every 4096th piece of 256 cells


def low_bits(rank: int, *digits: int) -> int:
    """The bits of a word at which a low rank has one of these digits, and low ranks above it are in hands."""
    found = 0
    for index in range(3**LOW):
        place = [index // 3**r % 3 for r in range(LOW)]
        if place[rank] in digits and all(d < 2 for d in place[rank + 1 :]):
            found |= 1 << index
    return found


QUIET = low_bits(0, 0, 1)


class Arrays(NamedTuple):
    """Arguments of every kernel, flat; those from `old_a_moves` on are only read. S: sets of the layer."""

    a_moves: Any  # uint32 [S, 3^(n-8), 256]
    b_moves: Any
    b_drawn: Any  # likewise, of the sets that are swept together: what they are before a sweep
    picked_a: Any  # uint32 [S, 2^(n-8), 256]: A wins and B is to move, pile digits read as A's
    picked_b: Any  # A wins and is to move, pile digits read as B's
    a_to_move: (
        Any  # uint8, the result: quiet positions of all talon sets, eight to a byte: A wins and is to move
    )
    b_to_move: Any  # A wins and B is to move
    changed: Any  # int32 [S]: number of the last sweep that changed the set
    a_slices: Any  # uint32: words of `a_moves` with a fixed card as the pile's top, for other groups
    b_slices: Any
    old_a_moves: Any  # the layer before: [S', 3^(n-7), 256]
    old_b_moves: Any
    sets: Any  # int32: the sets to sweep
    first_byte: Any  # int32 [S]: where the set's results begin
    parents: Any  # int32 [S, k]: the sets without each of their free cards, in the layer before
    gaps: Any  # int32 [S, gaps + 1]: where the parents begin whose card lies in a gap
    ternary: Any  # int32: a set of ranks -> the number whose digits say that they are B's and the others A's
    picks: Any  # uint32: digits from rank 8 on -> the set of B's and, shifted by 16, of B's and the pile's
    launches: Any  # int32: one `Launch` after the other
    which: Any  # int32 [1]: the launch that this is
    share: Any  # int32 [2]: the first of its parts that are to be done, on the CPU, and how many


class Launch(NamedTuple):
    """Numbers of a launch, one int32 each: ints on the host, scalars in a kernel."""

    sets: Any  # how many to sweep
    first: Any  # of the sets that are swept together
    sweep: Any  # from 1
    ranks: Any  # n
    blocks: Any  # 3^(n-8): of a set in this layer
    old_blocks: Any  # likewise in the layer before
    quiet: Any  # 2^(n-3): quiet words of a set
    quiet_blocks: Any  # 2^(n-8)
    valid: Any  # the bits of a quiet word that there are: all of QUIET unless n < 3
    b_has_all: Any  # the bit of the last quiet word at which B holds all cards if the talon is empty; else 0
    a_has_all: Any  # likewise of the first quiet word
    gaps: Any  # in which free cards may lie, and one
    top: Any = 0  # t, or the rank above a gap
    power: Any = 0  # 3^(t-8), or 3^(t-3) for the ranks of a block
    above: Any = 0  # 2^(n-1-t)
    gap: Any = 0  # its number
    most: Any = 0  # cards in it
    slice: Any = 0  # where the slices of the layer begin
    slice_words: Any = 0  # of a set


class Cell(NamedTuple):
    """What a stage does at a time."""

    s: UOp  # the set
    row: UOp
    column: UOp
    parent: UOp  # the set without a card of a gap
    inside: UOp | None  # whether there is such a cell, where that is not certain
    turn: tuple[UOp, ...]  # the loops that it is in


Store = tuple[UOp, UOp, UOp, UOp | None]  # array, index, value, condition


class Stage:
    """One kernel being traced; the methods that return stores say what happens to one cell."""

    def __init__(self, arrays: Arrays, gpu: bool):
        self.a, self.gpu = arrays, gpu
        first = arrays.which[0].load() * len(Launch._fields)
        self.launch = Launch(*(arrays.launches[first + i].load() for i in range(len(Launch._fields))))

    def each(
        self,
        rows: UOp,
        columns: UOp | int,
        body: Callable[[Stage, Cell], Sequence[Store] | UOp],
        draws: bool = False,
    ) -> UOp:
        """Do something for every set, row and column; on the CPU one by one, columns innermost.

        draws: for every parent of the set in the gap, too. The loop over these is within that over rows.
        """
        columns = int32(columns)
        if self.gpu:
            block, thread = loop(BLOCKS, AxisType.GLOBAL), loop(THREADS, AxisType.LOCAL)
            cells = rows * columns
            pieces = (cells + (THREADS - 1)) // THREADS
            k = loop((self.launch.sets * pieces + (BLOCKS - 1)) // BLOCKS)
            piece = int32(k) * BLOCKS + int32(block)
            i = piece // pieces.maximum(1)
            at = (piece - i * pieces) * THREADS + int32(thread)
            inside = (i < self.launch.sets) & (at < cells)
            i, at = inside.where(i, 0), inside.where(at, 0)
            row = at // columns.maximum(1)
            column, outer = at - row * columns, (k,)
        else:
            first, count, inside = self.a.share[0].load(), self.a.share[1].load(), None
            total = wide(self.launch.sets) * rows
            begin, end = (int32(total * part // PARTS) for part in (first, first + count))
            o = loop(end - begin)
            at = begin + int32(o)
            i = at // rows
            row, outer = at - i * rows, (o,)
        s, parent = self.a.sets[i].load(), row
        inner: tuple[UOp, ...] = ()
        if draws:
            begin = self.a.gaps[s * self.launch.gaps + self.launch.gap].load()
            end = self.a.gaps[s * self.launch.gaps + self.launch.gap + 1].load()
            p = loop(self.launch.most)
            some = branch(int32(p) < end - begin)
            parent, inner = self.a.parents[begin + int32(p)].load(), (p, some)
        if not self.gpu:
            c = loop(columns)
            column, inner = int32(c), (*inner, c)
        done = body(self, Cell(s, row, column, parent, inside, (*outer, *inner)))
        done = done if isinstance(done, UOp) else stored(done, inside)
        for index in (*reversed(inner), *outer):
            done = done.end(index)
        return done.end(thread, block) if self.gpu else done

    # *** high ranks: a row is a block ***

    def split(self, c: Cell) -> tuple[UOp, UOp]:
        """B's ranks above t as a set, and the digits below, from rank 8 on, as a number."""
        higher = c.row // self.launch.power
        return higher, c.row - higher * self.launch.power

    def at(self, c: Cell, block: UOp) -> UOp:
        """A word of the set's tables."""
        return wide(c.s * self.launch.blocks + block) * BLOCK + c.column

    def at_drawn(self, c: Cell, block: UOp) -> UOp:
        """Where it is before a sweep; one block stands for all if nothing can be drawn."""
        some = self.launch.b_has_all.eq(0).where(block, 0)
        return wide((c.s - self.launch.first) * self.launch.blocks + some) * BLOCK + c.column

    def clear(self, c: Cell) -> list[Store]:
        """No play yet: for A no win, for B no way out."""
        at = self.at_drawn(c, c.row)
        return [
            (self.a.a_moves, self.at(c, c.row), uint32(0), None),
            (self.a.b_drawn, at, uint32(ONES), None),
        ]

    def begin(self, c: Cell) -> list[Store]:
        """Before a sweep of small sets."""
        return [(self.a.b_moves, self.at(c, c.row), self.a.b_drawn[self.at_drawn(c, c.row)].load(), None)]

    def decide_first(self, c: Cell) -> list[Store]:
        """The pile's top is the highest rank: B's cells are what they are before a sweep."""
        places = [c.row + digit * self.launch.power for digit in range(3)]
        held, by_b, pile = (self.at(c, place) for place in places)
        b = [self.a.b_drawn[self.at_drawn(c, place)].load() for place in places]
        a_moves, b_moves = self.a.a_moves, self.a.b_moves
        a_picks, b_picks = self.picks(c, c.row.const_like(0), c.row)
        a_value, b_value = a_picks | a_moves[pile].load(), b_picks & b[2]
        return [
            (a_moves, held, a_moves[held].load() | b_value, None),
            (a_moves, pile, a_value, None),
            (b_moves, held, b[0], None),
            (b_moves, by_b, b[1] & a_value, None),
            (b_moves, pile, b_value, None),
        ]

    def decide(self, c: Cell) -> list[Store]:
        """The pile's top is t."""
        higher, lower = self.split(c)
        power = self.launch.power
        held = self.at(c, self.a.ternary[higher].load() * (3 * power) + lower)
        return self.decided(
            held, wide(power) * BLOCK, *self.picks(c, higher, lower), self.a.a_moves, self.a.b_moves
        )

    def picks(self, c: Cell, higher: UOp, lower: UOp) -> tuple[UOp, UOp]:
        """What it leads to if A picks up, and if B does."""
        t, block = self.launch.top, c.s * self.launch.quiet_blocks
        block = block + (higher << (t - (HIGH - 1)))
        pick = self.a.picks[lower].load()
        a_block = block + int32(pick & 0xFFFF)
        b_block = block + int32(pick >> 16) + (t.const_like(1) << (t - HIGH))
        return (
            self.a.picked_a[wide(a_block) * BLOCK + c.column].load(),
            self.a.picked_b[wide(b_block) * BLOCK + c.column].load(),
        )

    def decided(
        self, held: UOp, power: UOp | int, a_picks: UOp, b_picks: UOp, a_moves: UOp, b_moves: UOp
    ) -> list[Store]:
        """The values with t as the pile's top, and what they mean where t is still in a hand (`held`: in A's)."""
        by_b, pile = held + power, held + 2 * power
        a_value, b_value = a_picks | a_moves[pile].load(), b_picks & b_moves[pile].load()
        return [
            (a_moves, held, a_moves[held].load() | b_value, None),
            (b_moves, by_b, b_moves[by_b].load() & a_value, None),
            (a_moves, pile, a_value, None),
            (b_moves, pile, b_value, None),
        ]

    def draw(self, c: Cell) -> list[Store]:
        """A free card of the talon just below rank t is played."""
        higher, lower = self.split(c)
        above = self.a.ternary[higher].load() * self.launch.power
        old = self.old(c, 3 * above + 2 * self.launch.power + lower) + c.column
        return self.drawn(c, above + lower, c.column, *self.values(old))

    def draw_slice(self, c: Cell) -> list[Store]:
        """A fixed card."""
        higher, lower = self.split(c)
        old = self.slice(c) + (c.row * BLOCK + c.column)
        block = self.a.ternary[higher].load() * self.launch.power + lower
        return self.drawn(c, block, c.column, *self.sliced(old))

    def emit(self, c: Cell) -> list[Store]:
        """The words with rank t as the pile's top, side by side."""
        higher, lower = self.split(c)
        pile = (3 * self.a.ternary[higher].load() + 2) * self.launch.power + lower
        return self.emitted(c, c.row * BLOCK + c.column, self.at(c, pile))

    def old(self, c: Cell, block: UOp) -> UOp:
        """Where a block of the parent begins."""
        return wide(c.parent * self.launch.old_blocks + block) * BLOCK

    def drawn(self, c: Cell, block: UOp, word: UOp, a_value: UOp, b_value: UOp) -> list[Store]:
        a_at = wide(c.s * self.launch.blocks + block) * BLOCK + word
        b_at = wide((c.s - self.launch.first) * self.launch.blocks + block) * BLOCK + word
        # to be read anew in every turn of the loops
        a, b = self.a.a_moves.after(*c.turn)[a_at].load(), self.a.b_drawn.after(*c.turn)[b_at].load()
        return [(self.a.a_moves, a_at, a | b_value, None), (self.a.b_drawn, b_at, b & a_value, None)]

    def values(self, old: UOp) -> list[UOp]:
        return [self.a.old_a_moves[old].load(), self.a.old_b_moves[old].load()]

    def sliced(self, at: UOp) -> list[UOp]:
        return [self.a.a_slices[at].load(), self.a.b_slices[at].load()]

    def slice(self, c: Cell) -> UOp:
        """Where the set's begins."""
        return wide(self.launch.slice) + wide(c.s) * self.launch.slice_words

    def emitted(self, c: Cell, place: UOp, at: UOp) -> list[Store]:
        to = self.slice(c) + place
        return [
            (self.a.a_slices, to, self.a.a_moves[at].load(), None),
            (self.a.b_slices, to, self.a.b_moves[at].load(), None),
        ]

    # *** middle ranks: a row is a set of B's ranks above t, a column the digits below, from rank 3 on ***

    def middle(self, c: Cell, ranks: UOp) -> tuple[UOp, UOp]:
        """The block, and in it the digits of the ranks of the row, of which so many are in the block."""
        low = (ranks.const_like(1) << ranks) - 1
        return self.a.ternary[c.row >> ranks].load(), self.a.ternary[c.row & low].load() * self.launch.power

    def pile(self, c: Cell) -> tuple[UOp, UOp]:
        """The block, and the word in it, in which t is in the pile."""
        block, above = self.middle(c, HIGH - 1 - self.launch.top)
        return block, 3 * above + 2 * self.launch.power + c.column

    def draw_middle(self, c: Cell) -> list[Store]:
        block, above = self.middle(c, HIGH - self.launch.top)
        old_block, word = self.pile(c)
        old = self.old(c, old_block) + word
        return self.drawn(c, block, above + c.column, *self.values(old))

    def draw_slice_middle(self, c: Cell) -> list[Store]:
        block, above = self.middle(c, HIGH - self.launch.top)
        old = self.slice(c) + (c.row * self.launch.power + c.column)
        return self.drawn(c, block, above + c.column, *self.sliced(old))

    def emit_middle(self, c: Cell) -> list[Store]:
        block, word = self.pile(c)
        at = wide(c.s * self.launch.blocks + block) * BLOCK + word
        return self.emitted(c, c.row * self.launch.power + c.column, at)

    # *** low ranks: within a quiet word, whose high ranks are in hands (the row: the set of B's) ***

    def taken_out(self, c: Cell, set_: UOp, blocks: UOp, whole: UOp, *tables: UOp) -> list[UOp]:
        """The words of a set's tables with rank t in the pile and taken out; rank 3, if `whole`, moves down."""
        block = self.a.ternary[c.row >> MIDDLE - 1].load()
        old = wide(set_ * blocks + block) * BLOCK
        old = old + 3 * self.a.ternary[c.row & 2 ** (MIDDLE - 1) - 1].load()
        next_ = whole.where(int32(1), 0)
        found = []
        for table in tables:
            words = [table[old].load(), table[old + next_].load()]
            low, high = (self.by_top([without(t, word) for t in range(LOW)]) for word in words)
            found.append(low | whole.where(high << 3 ** (LOW - 1), 0))
        return found

    def by_top(self, values: list[UOp]) -> UOp:
        return self.launch.top.eq(0).where(values[0], self.launch.top.eq(1).where(*values[1:]))

    def drawn_low(self, c: Cell, a_value: UOp, b_value: UOp) -> list[Store]:
        block = self.a.ternary[c.row >> MIDDLE].load()
        word = self.a.ternary[c.row & 2**MIDDLE - 1].load()
        others = self.by_top([uint32(ONES & ~low_bits(t, 0, 1)) for t in range(LOW)])
        return self.drawn(c, block, word, a_value | others, b_value)

    def draw_low(self, c: Cell) -> list[Store]:
        whole = self.launch.ranks > LOW - 1  # else there is no rank 3 in the layer before
        tables = self.a.old_a_moves, self.a.old_b_moves
        return self.drawn_low(c, *self.taken_out(c, c.parent, self.launch.old_blocks, whole, *tables))

    def draw_slice_low(self, c: Cell) -> list[Store]:
        at = self.slice(c) + c.row
        return self.drawn_low(c, *self.sliced(at))

    def emit_low(self, c: Cell) -> list[Store]:
        tables, at = (self.a.a_moves, self.a.b_moves), self.slice(c) + c.row
        a_value, b_value = self.taken_out(c, c.s, self.launch.blocks, self.launch.ranks > LOW, *tables)
        return [(self.a.a_slices, at, a_value, None), (self.a.b_slices, at, b_value, None)]

    # *** blocks: the row is the set of B's high ranks ***

    def settle(self, c: Cell) -> UOp:
        """The rest of a sweep in a quiet block: lower tops of the pile, what is new, what the next sweep looks up."""
        start = wide(c.s * self.launch.blocks + self.a.ternary[c.row].load()) * BLOCK
        block = wide(c.s * self.launch.quiet_blocks + c.row) * BLOCK
        ranks = self.launch.ranks.minimum(HIGH)
        a_moves, b_moves, picked_a, picked_b = (
            self.a.a_moves,
            self.a.b_moves,
            self.a.picked_a,
            self.a.picked_b,
        )
        for t in reversed(range(LOW, HIGH)):
            power = 3 ** (t - LOW)
            h, x = loop((ranks.const_like(1) << ranks) >> t + 1), loop(power)
            held = self.a.ternary[h].load() * (3 * power) + int32(x)
            a_picks, b_picks = picked_a[block + held].load(), picked_b[block + (held + power)].load()
            done = self.decided(start + held, power, a_picks, b_picks, a_moves, b_moves)
            end = stored(done, c.inside).end(x).end(h)
            a_moves, b_moves = a_moves.after(end), b_moves.after(end)
        q = loop(((ranks.const_like(1) << ranks) >> LOW).maximum(1))
        m = c.row * 2**MIDDLE + int32(q)
        place = self.a.ternary[q].load()
        at, pick = start + place, block + place
        a, b = a_moves[at].load(), b_moves[at].load()
        a_picks, b_picks = picked_a[pick].load(), picked_b[pick].load()
        for t in reversed(range(LOW)):
            a, b = self.decided_low(t, a, b, a_picks, b_picks)
        a_new, b_new = self.quiet(m, a, b)
        byte = self.a.first_byte[c.s].load() + m
        bytes_ = [in_byte(x).cast(dtypes.uint8) for x in (a_new, b_new)]
        is_new = bytes_[0].ne(self.a.a_to_move[byte].load()) | bytes_[1].ne(self.a.b_to_move[byte].load())
        done = [
            (a_moves, at, a, None),
            (b_moves, at, b, None),
            (picked_a, pick, fill_piles(b_new, 0), None),
            (picked_b, pick, fill_piles(a_new, 1), None),
            (self.a.a_to_move, byte, bytes_[0], None),
            (self.a.b_to_move, byte, bytes_[1], None),
            (self.a.changed, c.s, self.launch.sweep, is_new),
        ]
        return self.expand(block, stored(done, c.inside).end(q), c.inside)

    def recall(self, c: Cell) -> UOp:
        """What the first sweep looks up in a block, from the results: of an earlier run, or nothing yet."""
        block = wide(c.s * self.launch.quiet_blocks + c.row) * BLOCK
        q = loop(self.launch.quiet.minimum(2**MIDDLE))
        byte = self.a.first_byte[c.s].load() + (c.row * 2**MIDDLE + int32(q))
        pick = block + self.a.ternary[q].load()
        a, b = (out_of_byte(uint32(table[byte].load())) for table in (self.a.a_to_move, self.a.b_to_move))
        done = [
            (self.a.picked_a, pick, fill_piles(b, 0), None),
            (self.a.picked_b, pick, fill_piles(a, 1), None),
        ]
        return self.expand(block, stored(done, c.inside).end(q), c.inside)

    def decided_low(self, t: int, a: UOp, b: UOp, a_picks: UOp, b_picks: UOp) -> tuple[UOp, UOp]:
        """`decided` for a low rank: the digits A, B and pile of t are 3^t bits apart."""
        step, held = 3**t, low_bits(t, 0)
        a_value = (a_picks | a >> 2 * step) & held
        b_value = b_picks >> step & b >> 2 * step & held
        pile, others = held << 2 * step, ONES & ~(held << step | held << 2 * step)
        a_new = a & (ONES & ~pile) | b_value | a_value << 2 * step
        b_new = b & (a_value << step | others) | b_value << 2 * step
        exists = self.launch.ranks > t
        return exists.where(a_new, a), exists.where(b_new, b)

    def quiet(self, m: UOp, a: UOp, b: UOp) -> tuple[UOp, UOp]:
        """The values of a quiet word's positions, without bits that are no positions, and with the ends of the game."""
        first, last, valid = m.eq(0), m.eq(self.launch.quiet - 1), uint32(self.launch.valid)
        a = a & valid | last.where(uint32(self.launch.b_has_all), 0)
        b = b & valid & ~first.where(uint32(self.launch.a_has_all), 0)
        return a, b

    def expand(self, block: UOp, after: UOp, inside: UOp | None) -> UOp:
        """Fill in the pile's digits of a block of picks, where those of hands are there."""
        for d in range(MIDDLE):
            power = 3**d
            h, x = loop(2 ** (MIDDLE - 1 - d)), loop(power)
            at = block + (self.a.ternary[h].load() * (3 * power) + int32(x))
            a, b = self.a.picked_a.after(after), self.a.picked_b.after(after)
            done = [
                (a, at + 2 * power, a[at].load(), None),
                (b, at + 2 * power, b[at + power].load(), None),
            ]
            after = stored(done, inside).end(x).end(h)
        return after


def stored(wanted: Sequence[Store], inside: UOp | None) -> UOp:
    done = []
    for array, index, value, condition in wanted:
        gate = inside if condition is None else condition if inside is None else inside & condition
        done.append(array[index if gate is None else gated(index, gate)].store(value))
    return UOp.group(*done)


def gated(index: UOp, condition: UOp) -> UOp:
    """An index at which nothing is stored unless the condition holds."""
    valid: UOp = index.valid(condition)  # type: ignore[no-untyped-call]
    return valid


def int32(x: UOp | int) -> UOp:
    return x.cast(dtypes.int32) if isinstance(x, UOp) else UOp.const(x, dtypes.int32)


def uint32(x: UOp | int) -> UOp:
    return x.cast(dtypes.uint32) if isinstance(x, UOp) else UOp.const(x, dtypes.uint32)


def wide(x: UOp) -> UOp:
    """For offsets beyond 2^31."""
    return x.cast(dtypes.int64)


def without(t: int, x: UOp) -> UOp:
    """The bits of a word with low rank t in the pile, as a word without that rank: those above move down by one."""
    run, found = (1 << 3**t) - 1, x.const_like(0)
    for above in range(1 << LOW - 1 - t):
        place = sum(3**j for j in range(LOW - 1 - t) if above >> j & 1) * 3**t
        found = found | (x >> (2 * 3**t + 3 * place) & run) << place
    return found


def in_byte(x: UOp) -> UOp:
    """The eight quiet bits of a word side by side: bit j of the index says that B holds low rank j."""
    return x & 0x3 | x >> 1 & 0xC | x >> 5 & 0x30 | x >> 6 & 0xC0


def out_of_byte(x: UOp) -> UOp:
    """The converse of `in_byte`."""
    return x & 0x3 | (x & 0xC) << 1 | (x & 0x30) << 5 | (x & 0xC0) << 6


def fill_piles(x: UOp, player: int) -> UOp:
    """The quiet bits of a word -> all its bits, pile digits being read as the player's."""
    for rank in range(LOW):
        x = x | (x & low_bits(rank, player)) << (2 - player) * 3**rank
    return x


def clear(k: Stage) -> UOp:
    return k.each(k.launch.blocks, BLOCK, Stage.clear)


def begin(k: Stage) -> UOp:
    return k.each(k.launch.blocks, BLOCK, Stage.begin)


def decide_first(k: Stage) -> UOp:
    return k.each(k.launch.power, BLOCK, Stage.decide_first)


def decide(k: Stage) -> UOp:
    return k.each(k.launch.above * k.launch.power, BLOCK, Stage.decide)


def recall(k: Stage) -> UOp:
    return k.each(k.launch.quiet_blocks, 1, Stage.recall)


def settle(k: Stage) -> UOp:
    return k.each(k.launch.quiet_blocks, 1, Stage.settle)


def draw(k: Stage) -> UOp:
    return k.each((k.launch.above * 2).maximum(1) * k.launch.power, BLOCK, Stage.draw, draws=True)


def draw_middle(k: Stage) -> UOp:
    return k.each((k.launch.above * 2).maximum(1), k.launch.power, Stage.draw_middle, draws=True)


def draw_low(k: Stage) -> UOp:
    return k.each(k.launch.quiet, 1, Stage.draw_low, draws=True)


def draw_slice(k: Stage) -> UOp:
    return k.each((k.launch.above * 2).maximum(1) * k.launch.power, BLOCK, Stage.draw_slice)


def draw_slice_middle(k: Stage) -> UOp:
    return k.each((k.launch.above * 2).maximum(1), k.launch.power, Stage.draw_slice_middle)


def draw_slice_low(k: Stage) -> UOp:
    return k.each(k.launch.quiet, 1, Stage.draw_slice_low)


def emit(k: Stage) -> UOp:
    return k.each(k.launch.above * k.launch.power, BLOCK, Stage.emit)


def emit_middle(k: Stage) -> UOp:
    return k.each(k.launch.above, k.launch.power, Stage.emit_middle)


def emit_low(k: Stage) -> UOp:
    return k.each(k.launch.slice_words, 1, Stage.emit_low)


# by the rank: low, middle, high
DRAW, DRAW_SLICE, EMIT = (
    (draw_low, draw_middle, draw),
    (draw_slice_low, draw_slice_middle, draw_slice),
    (emit_low, emit_middle, emit),
)


def run(stage: Callable[[Stage], UOp], gpu: bool, *arrays: Tensor) -> list[Tensor]:
    """One launch of a stage: the arrays (`Arrays`) as they are after it, lazy."""

    def body(*parameters: UOp) -> UOp:
        return stage(Stage(Arrays(*parameters), gpu))

    # the same for any number of cards: compiled once
    return launch(f"shed_{stage.__name__}", body, *arrays, any_size=True, estimates=lambda _: Estimates())
