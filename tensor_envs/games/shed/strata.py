"""The kernels of the exact solver: backward induction over all positions of a layer's talon sets at once.

Players are A and B, and the only question is whether A has a forced win. A *layer* is all talon sets of one size k. In
a talon set the other n = cards - k cards are renamed to ranks 0..n-1, so that all sets of a layer have the same 3^n
positions: each rank is held by A (digit 0), by B (1) or lies in the pile (2). Two tables hold one bit a position:
`a_moves`, A wins and is to move, and `b_moves`, A wins though B is to move.

The lowest three ranks lie in one 32-bit word (27 bits), the digits of the others number the words; a word without
pile digits is a *quiet* word. A sweep goes in place down the pile's top t, from n - 1 to 0. Beforehand a cell with
digit 2 at t holds the outcome of plays above t; from it comes the value with that top, and that goes into the cells
where t is still in a hand:

    value, A moves = A picks up and wins, or A wins by a higher card     value, B moves = the same of B, with "and"
    A holds t: a_moves |= value, B moves                                 B holds t: b_moves &= value, A moves

In the gap between ranks t - 1 and t lie cards of the talon, which both players may play. The value then comes from
the tables of the talon without that card, in the layer before, where the card has rank t and lies in the pile. What a
pick-up leads to is a quiet position, looked up among the words of the sweep before: `picked_a` and `picked_b` are
quiet words with every pile digit filled in as A's or as B's. Sweeps go on until nothing changes. Since both tables
start at "no", that is the least fixpoint: forced wins, and never a win that only goes round in circles.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tinygrad import Tensor, UOp, dtypes
from tinygrad.renderer import Estimates
from tinygrad.uop.ops import AxisType

from tensor_envs.core.backend.launch import launch
from tensor_envs.rules.control import loop

LOW = 3  # ranks within a word
ONES = 0xFFFFFFFF
MAX_CARDS = 20  # the half-words of `picks` hold the sets of ranks 3..n-2
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

    a_moves: Any  # uint32 [S, 3^(n-3)]
    b_moves: Any
    picked_a: Any  # uint32 [S, 2^(n-3)]: A wins and B is to move, pile digits read as A's
    picked_b: Any  # A wins and is to move, pile digits read as B's
    a_to_move: Any  # uint8, the result: quiet positions of all layers, eight to a byte: A wins and is to move
    b_to_move: Any  # A wins and B is to move
    changed: Any  # int32 [S]: number of the last sweep that changed the set
    old_a_moves: Any  # the layer before: [S', 3^(n-2)]
    old_b_moves: Any
    sets: Any  # int32: the sets to sweep
    pairs: Any  # int32 [.., 2], one for each card of theirs: the set; without the card, in the layer before
    ternary: Any  # int32: a set of ranks -> the word in which they are B's and the others A's
    picks: Any  # uint32: digits from rank 3 on -> the set of B's and, shifted by 16, of B's and the pile's
    launches: Any  # int32: one `Launch` after the other
    which: Any  # int32 [1]: the launch that this is


class Launch(NamedTuple):
    """Numbers of a launch, one int32 each: ints on the host, scalars in a kernel."""

    sets: Any  # how many to sweep
    first_pair: Any  # of those in the launch's gap
    pairs: Any
    top: Any  # t, for high ranks
    power: Any  # 3^(t-3)
    above: Any  # 2^(n-1-t), or 0 when no rank is above t
    words: Any  # 3^(n-3): of a set in this layer
    old_words: Any  # likewise in the layer before
    quiet: Any  # 2^(n-3): quiet words of a set
    first_byte: Any  # of the layer in the results
    sweep: Any  # from 1
    ranks: Any  # n
    valid: Any  # the bits of a quiet word that there are: all of QUIET unless n < 3
    b_has_all: Any  # the bit of the last quiet word at which B holds all cards if the talon is empty; else 0
    a_has_all: Any  # likewise of the first quiet word


Store = tuple[UOp, UOp, UOp, UOp | None]  # array, index, value, condition
Body = Callable[["Stage", UOp, UOp, UOp], list[Store]]


class Stage:
    """One kernel being traced; the methods that return stores say what happens to one cell."""

    def __init__(self, arrays: Arrays, gpu: bool):
        self.a, self.gpu = arrays, gpu
        first = arrays.which[0].load() * len(Launch._fields)
        self.launch = Launch(*(arrays.launches[first + i].load() for i in range(len(Launch._fields))))

    def each(self, items: UOp, rows: UOp, columns: UOp, body: Body) -> UOp:
        """Do something for every item, row and column; on the CPU one by one, columns innermost."""
        if not self.gpu:
            i, row, column = (loop(size) for size in (items, rows, columns))
            done = UOp.group(*stores(body(self, *map(int32, (i, row, column))), None))
            return done.end(column).end(row).end(i)
        block, thread = loop(BLOCKS, AxisType.GLOBAL), loop(THREADS, AxisType.LOCAL)
        cells = rows * columns
        pieces = (cells + (THREADS - 1)) // THREADS
        k = loop((items * pieces + (BLOCKS - 1)) // BLOCKS)
        piece = int32(k) * BLOCKS + int32(block)
        i = piece // pieces.maximum(1)
        cell = (piece - i * pieces) * THREADS + int32(thread)
        inside = (i < items) & (cell < cells)
        i, cell = inside.where(i, 0), inside.where(cell, 0)
        row = cell // columns.maximum(1)
        done = UOp.group(*stores(body(self, i, row, cell - row * columns), inside))
        return done.end(k).end(thread, block)

    # *** high ranks: a cell is a word ***

    def clear(self, i: UOp, _: UOp, word: UOp) -> list[Store]:
        """No play yet: for A no win, for B no way out."""
        at = wide(self.a.sets[i].load()) * self.launch.words + word
        return [(self.a.a_moves, at, uint32(0), None), (self.a.b_moves, at, uint32(ONES), None)]

    def decide(self, i: UOp, higher: UOp, lower: UOp) -> list[Store]:
        """The pile's top is t: `higher` is the set of B's ranks above t, `lower` the digits below, as a number."""
        s, t, power = self.a.sets[i].load(), self.launch.top, self.launch.power
        held = wide(s) * self.launch.words + (self.a.ternary[higher].load() * (3 * power) + lower)
        by_b, pile = held + power, held + 2 * power  # the same with t in B's hand, in the pile
        quiet = s * self.launch.quiet + (higher << (t - (LOW - 1)))
        pick = self.a.picks[lower].load()
        a_picks = self.a.picked_a[quiet + int32(pick & 0xFFFF)].load()
        b_picks = self.a.picked_b[quiet + (int32(pick >> 16) + (t.const_like(1) << (t - LOW)))].load()
        a_moves, b_moves = self.a.a_moves, self.a.b_moves
        a_value, b_value = a_picks | a_moves[pile].load(), b_picks & b_moves[pile].load()
        return [
            (a_moves, held, a_moves[held].load() | b_value, None),
            (b_moves, by_b, b_moves[by_b].load() & a_value, None),
            (a_moves, pile, a_value, None),
            (b_moves, pile, b_value, None),
        ]

    def draw(self, i: UOp, higher: UOp, lower: UOp) -> list[Store]:
        """A talon card just below rank t is played: `higher` is the set of B's ranks from t on."""
        s, parent = self.pair(i)
        above = self.a.ternary[higher].load() * self.launch.power
        at = wide(s) * self.launch.words + (above + lower)
        old = wide(parent) * self.launch.old_words + (3 * above + 2 * self.launch.power + lower)
        a_moves = self.a.a_moves[at].load() | self.a.old_b_moves[old].load()
        b_moves = self.a.b_moves[at].load() & self.a.old_a_moves[old].load()
        return [(self.a.a_moves, at, a_moves, None), (self.a.b_moves, at, b_moves, None)]

    def pair(self, i: UOp) -> tuple[UOp, UOp]:
        at = 2 * (self.launch.first_pair + i)
        return self.a.pairs[at].load(), self.a.pairs[at + 1].load()

    # *** low ranks: within a quiet word, whose high ranks are in hands (`m`: the set of B's) ***

    def quiet_word(self, s: UOp, m: UOp) -> tuple[UOp, UOp, UOp]:
        """Its place, and its values if A and if B is to move."""
        at = wide(s) * self.launch.words + self.a.ternary[m].load()
        return at, self.a.a_moves[at].load(), self.a.b_moves[at].load()

    def decide_low(self, t: int, i: UOp, m: UOp) -> list[Store]:
        """`decide` for a low rank: the digits A, B and pile of t are 3^t bits apart."""
        s = self.a.sets[i].load()
        at, a, b = self.quiet_word(s, m)
        quiet = s * self.launch.quiet + m
        step, held = 3**t, low_bits(t, 0)
        a_value = (self.a.picked_a[quiet].load() | a >> 2 * step) & held
        b_value = self.a.picked_b[quiet].load() >> step & b >> 2 * step & held
        pile, others = held << 2 * step, ONES & ~(held << step | held << 2 * step)
        a_new = a & (ONES & ~pile) | b_value | a_value << 2 * step
        b_new = b & (a_value << step | others) | b_value << 2 * step
        exists = self.launch.ranks > t
        return [(self.a.a_moves, at, a_new, exists), (self.a.b_moves, at, b_new, exists)]

    def draw_low(self, t: int, i: UOp, m: UOp) -> list[Store]:
        """`draw` for a talon card just below a low rank: rank 3 of the layer before moves down into the word."""
        s, parent = self.pair(i)
        at, a, b = self.quiet_word(s, m)
        old = wide(parent) * self.launch.old_words + 3 * self.a.ternary[m].load()
        whole = self.launch.ranks > LOW - 1  # else there is no rank 3 in the layer before

        def outcome(table: UOp) -> UOp:
            next_word = table[old + whole.where(int32(1), 0)].load()
            return without(t, table[old].load()) | whole.where(without(t, next_word) << 3 ** (LOW - 1), 0)

        a_new = a | outcome(self.a.old_b_moves)
        b_new = b & (outcome(self.a.old_a_moves) | (ONES & ~low_bits(t, 0, 1)))
        return [(self.a.a_moves, at, a_new, None), (self.a.b_moves, at, b_new, None)]

    def recall(self, i: UOp, _: UOp, m: UOp) -> list[Store]:
        """What sweeps look up, from the results: of an earlier run, or nothing yet."""
        at = self.a.sets[i].load() * self.launch.quiet + m
        a, b = (
            out_of_byte(uint32(table[self.launch.first_byte + at].load()))
            for table in (self.a.a_to_move, self.a.b_to_move)
        )
        return [(self.a.picked_a, at, fill_piles(b, 0), None), (self.a.picked_b, at, fill_piles(a, 1), None)]

    def finish(self, i: UOp, _: UOp, m: UOp) -> list[Store]:
        """What is new in a quiet word, and what the next sweep looks up."""
        s = self.a.sets[i].load()
        _, a, b = self.quiet_word(s, m)
        first, last, valid = m.eq(0), m.eq(self.launch.quiet - 1), uint32(self.launch.valid)
        a = a & valid | last.where(uint32(self.launch.b_has_all), 0)
        b = b & valid & ~first.where(uint32(self.launch.a_has_all), 0)
        at = s * self.launch.quiet + m
        byte = self.launch.first_byte + at
        bytes_ = [in_byte(x).cast(dtypes.uint8) for x in (a, b)]
        new = bytes_[0].ne(self.a.a_to_move[byte].load()) | bytes_[1].ne(self.a.b_to_move[byte].load())
        return [
            (self.a.picked_a, at, fill_piles(b, 0), None),
            (self.a.picked_b, at, fill_piles(a, 1), None),
            (self.a.a_to_move, byte, bytes_[0], None),
            (self.a.b_to_move, byte, bytes_[1], None),
            (self.a.changed, s, self.launch.sweep, new),
        ]


def stores(wanted: list[Store], inside: UOp | None) -> list[UOp]:
    done = []
    for array, index, value, condition in wanted:
        gate = inside if condition is None else condition if inside is None else inside & condition
        done.append(array[index if gate is None else gated(index, gate)].store(value))
    return done


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
    return k.each(k.launch.sets, int32(1), k.launch.words, Stage.clear)


def decide(k: Stage) -> UOp:
    return k.each(k.launch.sets, k.launch.above, k.launch.power, Stage.decide)


def draw(k: Stage) -> UOp:
    return k.each(k.launch.pairs, (k.launch.above * 2).maximum(1), k.launch.power, Stage.draw)


def _low(t: int) -> tuple[Callable[[Stage], UOp], Callable[[Stage], UOp]]:
    def decide_low(k: Stage) -> UOp:
        return k.each(k.launch.sets, int32(1), k.launch.quiet, lambda k, i, _, m: k.decide_low(t, i, m))

    def draw_low(k: Stage) -> UOp:
        return k.each(k.launch.pairs, int32(1), k.launch.quiet, lambda k, i, _, m: k.draw_low(t, i, m))

    return decide_low, draw_low


DECIDE_LOW, DRAW_LOW = zip(*(_low(t) for t in range(LOW)), strict=True)


def recall(k: Stage) -> UOp:
    return k.each(k.launch.sets, int32(1), k.launch.quiet, Stage.recall)


def finish(k: Stage) -> UOp:
    return k.each(k.launch.sets, int32(1), k.launch.quiet, Stage.finish)


def run(stage: Callable[[Stage], UOp], gpu: bool, *arrays: Tensor) -> list[Tensor]:
    """One launch of a stage: the arrays (`Arrays`) as they are after it, lazy."""

    def body(*parameters: UOp) -> UOp:
        return stage(Stage(Arrays(*parameters), gpu))

    return launch(f"shed_{stage.__name__}", body, *arrays, estimates=lambda _: Estimates())
