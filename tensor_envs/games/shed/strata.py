"""Kernels of the exact solver: backward induction over all positions of a layer's talon sets at once.

Players are A and B, and the only question is whether A has a forced win. A *layer* is all talon sets of a group
(`layers`) that have k of the free cards. In a talon set the other n cards are renamed to ranks 0..n-1, so that all sets
of a layer have the same 3^n positions: each rank is held by A (digit 0), by B (1) or lies in the pile (2). Two tables
hold one bit per position: `a_moves`, A wins and is to move, and `b_moves`, A wins though B is to move.

The lowest three ranks lie in one 32-bit word (27 bits), and the digits of the others number the words. A word without
pile digits is a *quiet* word. A sweep goes in place down the pile's top t, from n - 1 to 0. Before a sweep, a cell with
digit 2 at t holds the outcome of plays above t. The value with that top follows from it, and goes into the cells where
t is still in a hand:

    value, A moves = A picks up and wins, or A wins by a higher card     value, B moves = the same for B, with "and"
    A holds t: a_moves |= value, B moves                                 B holds t: b_moves &= value, A moves

The gap between ranks t - 1 and t holds cards of the talon, which both players may play. The value of such a play comes
from the tables of the talon without that card, where the card has rank t and lies in the pile. These are the tables of
the layer before if the card is free, else a *slice* of another group. They are the same in every sweep, so the cells
hold them before the first one. Sweeps continue until nothing changes. Since both tables start at "no", the result is
the least fixpoint: forced wins only, no endless play. From sweep to sweep, wins are only added. So the "or" of
`a_moves` continues, while the "and" of `b_moves` starts each time from the cells before the first sweep (`b_drawn`).

A pick-up leads to a quiet position, which the sweep before has computed. Its words are kept with the pile's digits
filled in as A's (`picked_a`) or as B's (`picked_b`), for digits of the next five ranks, which number the words of a
*block*. A sweep reads them block by block, so only the number of a block has to be looked up. Once the pile's top is
among the lowest eight ranks, the rest of a sweep happens within blocks (`settle`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

from tinygrad import Tensor

from tensor_envs._compiler.tape import INT64
from tensor_envs._runtime.launch import lazy_kernel
from tensor_envs.rules import Scalar, int32, maximum, minimum, uint32, where
from tensor_envs.rules.kernel import Cells, branch, grid_index, loop, trace
from tensor_envs.rules.scalar import is_gpu

LOW = 3  # ranks within a word
MIDDLE = 5  # ranks within a block
HIGH = LOW + MIDDLE  # the first rank that numbers blocks
BLOCK = 256  # words; 3^5 are in use, and padding makes whole vectors
ONES = 0xFFFFFFFF
MAX_CARDS = 21  # results are numbered with 31 bits
PARTS = 64  # parts of a launch, shared among the CPU's threads
# grid of a launch on a GPU; a block takes every 4096th piece of 256 cells
BLOCKS = 4096
THREADS = 256


def low_bits(rank: int, *digits: int) -> int:
    """Return the bits of a word at which a low rank has one of the digits and low ranks above it are in hands."""
    bits = 0
    for index in range(3**LOW):
        place = [index // 3**r % 3 for r in range(LOW)]
        if place[rank] in digits and all(d < 2 for d in place[rank + 1 :]):
            bits |= 1 << index
    return bits


QUIET = low_bits(0, 0, 1)


class Arrays(NamedTuple):
    """Arguments of every kernel, flat; those from `old_a_moves` on are read-only. S: number of sets of the layer."""

    a_moves: Any  # uint32 [S, 3^(n-8), 256]
    b_moves: Any
    b_drawn: Any  # `b_moves` before a sweep, of the sets that are swept together
    picked_a: Any  # uint32 [S, 2^(n-8), 256]: A wins and B is to move, pile digits read as A's
    picked_b: Any  # A wins and is to move, pile digits read as B's
    a_to_move: Any  # uint8, the result, a bit for each quiet position of all talon sets: A wins and is to move
    b_to_move: Any  # A wins and B is to move
    changed: Any  # int32 [S]: number of the last sweep that changed the set
    a_slices: Any  # uint32: words of `a_moves` with a fixed card as the pile's top, for other groups
    b_slices: Any
    old_a_moves: Any  # the layer before: [S', 3^(n-7), 256]
    old_b_moves: Any
    sets: Any  # int32: the sets to sweep
    first_byte: Any  # int32 [S]: first byte of the set's results
    parents: Any  # int32 [S, k]: the sets without each of their free cards, in the layer before
    gaps: Any  # int32 [S, gaps + 1]: first of the parents whose card lies in a gap
    ternary: Any  # int32: a set of ranks -> the number whose digits say that they are B's and the others A's
    picks: Any  # uint32: digits from rank 8 on -> the set of B's and, shifted by 16, of B's and the pile's
    launches: Any  # int32: one `Launch` after the other
    which: Any  # int32 [1]: number of this launch
    share: Any  # int32 [2]: first part to run on the CPU, and number of parts


class Launch(NamedTuple):
    """Parameters of a launch, one int32 each: ints on the host, Scalars in a kernel."""

    sets: Any  # number of sets to sweep
    first: Any  # first of the sets that are swept together
    sweep: Any  # number of the sweep, from 1
    ranks: Any  # n, the number of ranks
    blocks: Any  # 3^(n-8): blocks of a set in this layer
    old_blocks: Any  # blocks of a set in the layer before
    quiet: Any  # 2^(n-3): quiet words of a set
    quiet_blocks: Any  # 2^(n-8): quiet blocks of a set
    valid: Any  # the bits of a quiet word that are positions: all of QUIET unless n < 3
    # If the talon is empty, one player may hold all cards. These are the bits of such positions: for B in the last
    # quiet word, for A in the first one. If it is not empty, both are 0.
    b_has_all: Any
    a_has_all: Any
    gaps: Any  # number of gaps in which free cards may lie, plus one
    top: Any = 0  # t, or the rank above a gap
    power: Any = 1  # 3^(t-8) for high ranks, 3^(t-3) for those of a block, 1 for low ones
    above: Any = 0  # the sets of the ranks above t (or 3, if it is higher)
    gap: Any = 0  # number of the gap
    slice: Any = 0  # begin of the layer's slices
    slice_words: Any = 0  # words of a set's slice


class SolverKernel(NamedTuple):
    """Kernel, with the position of rank t of its launch ("low", "middle" or "high") if the code depends on it."""

    body: Callable[[Stage], None]
    ranks: str = ""


def ranks_of(t: int) -> str:
    """Return the position of a rank: "low" within a word, "middle" within a block, else "high"."""
    return "low" if t < LOW else "middle" if t < HIGH else "high"


class Stage:
    """Kernel under trace.

    If a launch has a rank t, a row is a set of B's ranks above t. For a high t, a row has the digits below as well, and
    its columns are the words of a block. For other ranks, its columns are the words of the digits below.
    """

    def __init__(self, arrays: Sequence[Cells], ranks: str):
        self.a = Arrays(*arrays)
        self.ranks = ranks
        size = len(Launch._fields)
        first = self.a.which[0] * size
        self.launch = Launch(*(maximum(self.a.launches[first + i], 0) for i in range(size)))
        self.power = maximum(self.launch.power, 1)
        self.width = BLOCK if ranks == "high" else self.launch.power

    # *** loops ***

    @contextmanager
    def rows(self, rows: Scalar, columns: Scalar | int = 1) -> Iterator[tuple[Scalar, Scalar]]:
        """Trace the work on a row of a set. On a GPU, a thread does one column of it."""
        self._columns = columns
        rows = maximum(rows, 1)
        if is_gpu():
            group = grid_index("group", BLOCKS)
            thread = grid_index("thread", THREADS)
            columns = maximum(columns, 1)
            cells = rows * columns
            pieces = maximum((cells + (THREADS - 1)) // THREADS, 1)
            with loop((self.launch.sets * pieces + (BLOCKS - 1)) // BLOCKS) as turn:
                piece = turn * BLOCKS + group
                number = piece // pieces
                cell = piece % pieces * THREADS + thread
                with branch((number < self.launch.sets) & (cell < cells)):
                    self._column = cell % columns
                    yield self.a.sets[number], cell // columns
        else:
            total = self.launch.sets.to(INT64) * rows
            begin, end = (total * part // PARTS for part in (self.a.share[0], self.a.share[0] + self.a.share[1]))
            with loop(int32(end - begin)) as i:
                place = uint32(begin) + uint32(i)
                yield self.a.sets[int32(place // uint32(rows))], int32(place % uint32(rows))

    @contextmanager
    def columns(self) -> Iterator[Scalar]:
        """Trace the work on a column of a row."""
        if is_gpu():
            yield self._column
        else:
            with loop(self._columns) as column:
                yield column

    @contextmanager
    def parents(self, s: Scalar) -> Iterator[Scalar]:
        """Trace the work on each parent of a set whose card lies in the gap."""
        gap = s * self.launch.gaps + self.launch.gap
        begin = self.a.gaps[gap]
        with loop(self.a.gaps[gap + 1] - begin) as i:
            yield self.a.parents[begin + i]

    # *** places ***

    def table(self, s: Scalar, block: Scalar) -> Scalar:
        """Return the address of a block of a set's tables."""
        return address(s * self.launch.blocks + block)

    def drawn(self, s: Scalar, block: Scalar) -> Scalar:
        """Return the address of a block of `b_drawn`; one stands for all blocks if nothing can be drawn."""
        block = where(self.launch.b_has_all == 0, block, 0)
        return address((s - self.launch.first) * self.launch.blocks + block)

    def slice(self, s: Scalar, row: Scalar) -> Scalar:
        """Return the address of a row of the set's slice."""
        return s.to(INT64) * self.launch.slice_words + self.launch.slice + row.to(INT64) * self.width

    def picked(self, s: Scalar, higher: Scalar | int, lower: Scalar) -> tuple[Scalar, Scalar]:
        """Return the addresses of the blocks that A's pick-up and B's pick-up lead to."""
        t, picks = self.launch.top, self.a.picks[lower]
        block = s * self.launch.quiet_blocks + (int32(higher) << t - (HIGH - 1))
        by_b = block + int32(picks >> 16) + (1 << t - HIGH)
        return address(block + int32(picks & 0xFFFF)), address(by_b)

    def without_t(self, row: Scalar) -> tuple[Scalar, Scalar | int]:
        """Return the block of a row and the row's first word in it, in tables of sets without rank t."""
        if self.ranks == "high":
            return self.a.ternary[row // self.power] * self.power + row % self.power, 0
        block, above = self._split(row, HIGH - self.launch.top if self.ranks == "middle" else MIDDLE)
        return block, above * self.power

    def with_t_in_pile(self, row: Scalar) -> tuple[Scalar, Scalar | int]:
        """Return the block of a row and the row's first word in it, with t in the pile (low t: in A's hand)."""
        if self.ranks == "high":
            return (self.a.ternary[row // self.power] * 3 + 2) * self.power + row % self.power, 0
        block, above = self._split(row, HIGH - 1 - self.launch.top if self.ranks == "middle" else MIDDLE - 1)
        return block, (above * 3 + (2 if self.ranks == "middle" else 0)) * self.power

    def _split(self, row: Scalar, ranks: Scalar | int) -> tuple[Scalar, Scalar]:
        """Split a set of B's ranks into the block, and the digits of its lowest `ranks` ranks within the block."""
        lowest = (int32(1) << ranks) - 1
        return self.a.ternary[row >> ranks], self.a.ternary[row & lowest]

    # *** values ***

    def decide(self, held: Scalar, power: Scalar | int, a_picks: Scalar, b_picks: Scalar) -> None:
        """Set the values with t as the pile's top, and apply them where t is still in a hand (`held`: in A's)."""
        a_moves, b_moves = self.a.a_moves, self.a.b_moves
        by_b = held + power
        pile = held + 2 * power
        a_value = a_picks | a_moves[pile]
        b_value = b_picks & b_moves[pile]
        a_moves[held] = a_moves[held] | b_value
        b_moves[by_b] = b_moves[by_b] & a_value
        a_moves[pile], b_moves[pile] = a_value, b_value

    def draw(self, a_at: Scalar, b_at: Scalar, a_value: Scalar, b_value: Scalar) -> None:
        """Record, for both players, that a card of the talon leads to these values."""
        if self.ranks == "low":
            a_value = a_value | self._of_top([ONES & ~low_bits(t, 0, 1) for t in range(LOW)])
        self.a.a_moves[a_at] = self.a.a_moves[a_at] | b_value
        self.a.b_drawn[b_at] = self.a.b_drawn[b_at] & a_value

    def take_out(self, table: Cells, at: Scalar, whole: Scalar) -> Scalar:
        """Return the word with t in the pile, without a low t. If `whole`, rank 3 then moves down."""
        if self.ranks != "low":
            return table[at]
        low, high = (
            self._of_top([without(t, x) for t in range(LOW)])
            for x in (table[at], table[at + where(whole, int32(1), 0)])
        )
        return low | where(whole, high << 3 ** (LOW - 1), 0)

    def _of_top(self, values: Sequence[Scalar | int]) -> Scalar:
        """Return the value for the low rank that is the top."""
        first, second, third = (uint32(x) for x in values)
        return where(self.launch.top == 0, first, where(self.launch.top == 1, second, third))

    def decide_low(self, t: int, a: Scalar, b: Scalar, a_picks: Scalar, b_picks: Scalar) -> tuple[Scalar, Scalar]:
        """Return two words after `decide` for a low t, whose digits A, B and pile are 3^t bits apart."""
        step = 3**t
        held = low_bits(t, 0)
        a_value = (a_picks | a >> 2 * step) & held
        b_value = b_picks >> step & b >> 2 * step & held
        pile = held << 2 * step
        others = ONES & ~(held << step | held << 2 * step)
        a_new = a & (ONES & ~pile) | b_value | a_value << 2 * step
        b_new = b & (a_value << step | others) | b_value << 2 * step
        exists = self.launch.ranks > t
        return where(exists, a_new, a), where(exists, b_new, b)

    def quiet(self, number: Scalar, a: Scalar, b: Scalar) -> tuple[Scalar, Scalar]:
        """Return the values of a quiet word's positions, with the ends of the game."""
        first = number == 0
        last = number == self.launch.quiet - 1
        valid = uint32(self.launch.valid)
        a = a & valid | where(last, uint32(self.launch.b_has_all), 0)
        b = b & valid & ~where(first, uint32(self.launch.a_has_all), 0)
        return a, b

    def fill_in(self, block: Scalar) -> None:
        """Fill in the pile's digits of a block of picks from those of hands."""
        picked_a, picked_b = self.a.picked_a, self.a.picked_b
        for rank in range(MIDDLE):
            power = 3**rank
            with loop(2 ** (MIDDLE - 1 - rank)) as higher:
                first = block + self.a.ternary[higher].to(INT64) * (3 * power)
                with loop(power) as lower:
                    at = first + lower
                    picked_a[at + 2 * power] = picked_a[at]
                    picked_b[at + 2 * power] = picked_b[at + power]


def address(block: Scalar) -> Scalar:
    """Return the address of a block's first word, which may be beyond 2^31."""
    return block.to(INT64) * BLOCK


def without(t: int, x: Scalar) -> Scalar:
    """Return the bits of a word with low rank t in the pile, as a word without that rank: higher ranks move down."""
    run = (1 << 3**t) - 1
    result = uint32(0)
    for above in range(1 << LOW - 1 - t):
        place = sum(3**j for j in range(LOW - 1 - t) if above >> j & 1) * 3**t
        result = result | (x >> (2 * 3**t + 3 * place) & run) << place
    return result


def in_byte(x: Scalar) -> Scalar:
    """Return the eight quiet bits of a word side by side: bit j of the index says that B holds low rank j."""
    return x & 0x3 | x >> 1 & 0xC | x >> 5 & 0x30 | x >> 6 & 0xC0


def out_of_byte(x: Scalar) -> Scalar:
    """Return the word whose quiet bits are those of a byte; the inverse of `in_byte`."""
    return x & 0x3 | (x & 0xC) << 1 | (x & 0x30) << 5 | (x & 0xC0) << 6


def fill_piles(x: Scalar, player: int) -> Scalar:
    """Return all bits of a word, from its quiet ones, with pile digits read as the player's."""
    for rank in range(LOW):
        x = x | (x & low_bits(rank, player)) << (2 - player) * 3**rank
    return x


# *** kernels ***


def clear(k: Stage) -> None:
    """Reset the tables to "no play yet": no win for A, no way out for B."""
    with k.rows(k.launch.blocks, BLOCK) as (s, block):
        a_at = k.table(s, block)
        b_at = k.drawn(s, block)
        with k.columns() as column:
            k.a.a_moves[a_at + column] = 0
            k.a.b_drawn[b_at + column] = uint32(ONES)


def draw(k: Stage) -> None:
    """Play the free cards of the talon just below rank t."""
    tables = (k.a.old_a_moves, k.a.old_b_moves)
    whole = k.launch.ranks > LOW - 1
    with k.rows(_rows(k, 2 * k.launch.above), k.width) as (s, row):
        block, first = k.without_t(row)
        old_block, old_first = k.with_t_in_pile(row)
        a_at = k.table(s, block) + first
        b_at = k.drawn(s, block) + first
        with k.parents(s) as parent:
            old = address(parent * k.launch.old_blocks + old_block) + old_first
            with k.columns() as column:
                values = (k.take_out(table, old + column, whole) for table in tables)
                k.draw(a_at + column, b_at + column, *values)


def draw_slice(k: Stage) -> None:
    """Play a fixed card of the talon just below rank t."""
    with k.rows(_rows(k, 2 * k.launch.above), k.width) as (s, row):
        block, first = k.without_t(row)
        a_at = k.table(s, block) + first
        b_at = k.drawn(s, block) + first
        at = k.slice(s, row)
        with k.columns() as column:
            values = k.a.a_slices[at + column], k.a.b_slices[at + column]
            k.draw(a_at + column, b_at + column, *values)


def emit(k: Stage) -> None:
    """Write the words with rank t as the pile's top into a slice."""
    whole = k.launch.ranks > LOW
    with k.rows(_rows(k, k.launch.above), k.width) as (s, row):
        block, first = k.with_t_in_pile(row)
        at = k.table(s, block) + first
        to = k.slice(s, row)
        with k.columns() as column:
            k.a.a_slices[to + column] = k.take_out(k.a.a_moves, at + column, whole)
            k.a.b_slices[to + column] = k.take_out(k.a.b_moves, at + column, whole)


def _rows(k: Stage, sets: Scalar) -> Scalar:
    """Return the number of rows, for so many sets of ranks above t."""
    return maximum(sets, 1) * k.power if k.ranks == "high" else sets


def recall(k: Stage) -> None:
    """Set what the first sweep looks up from the results of an earlier run, or from empty ones."""
    with k.rows(k.launch.quiet_blocks) as (s, row):
        block = address(s * k.launch.quiet_blocks + row)
        first_byte = k.a.first_byte[s].to(INT64) + row * 2**MIDDLE
        with loop(minimum(k.launch.quiet, 2**MIDDLE)) as number:
            a, b = (out_of_byte(uint32(table[first_byte + number])) for table in (k.a.a_to_move, k.a.b_to_move))
            pick = block + k.a.ternary[number]
            k.a.picked_a[pick] = fill_piles(b, 0)
            k.a.picked_b[pick] = fill_piles(a, 1)
        k.fill_in(block)


def begin(k: Stage) -> None:
    """Start a sweep of sets without high ranks."""
    with k.rows(k.launch.blocks, BLOCK) as (s, block):
        at = k.table(s, block)
        drawn = k.drawn(s, block)
        with k.columns() as column:
            k.a.b_moves[at + column] = k.a.b_drawn[drawn + column]


def decide_first(k: Stage) -> None:
    """Start a sweep with the highest rank as the pile's top: B's cells are those before a sweep."""
    a_moves, b_moves = k.a.a_moves, k.a.b_moves
    with k.rows(k.launch.power, BLOCK) as (s, row):
        blocks = [row + digit * k.launch.power for digit in range(3)]
        places = [k.table(s, block) for block in blocks]
        drawn = [k.drawn(s, block) for block in blocks]
        picks = k.picked(s, 0, row)
        with k.columns() as column:
            held, by_b, pile = (place + column for place in places)
            b = [k.a.b_drawn[place + column] for place in drawn]
            a_value = k.a.picked_a[picks[0] + column] | a_moves[pile]
            b_value = k.a.picked_b[picks[1] + column] & b[2]
            a_moves[held] = a_moves[held] | b_value
            a_moves[pile] = a_value
            b_moves[held], b_moves[by_b], b_moves[pile] = b[0], b[1] & a_value, b_value


def decide(k: Stage) -> None:
    """Continue a sweep with a high rank t as the pile's top."""
    with k.rows(k.launch.above * k.power, BLOCK) as (s, row):
        higher = row // k.power
        lower = row % k.power
        first = k.table(s, k.a.ternary[higher] * (3 * k.power) + lower)
        picks = k.picked(s, higher, lower)
        with k.columns() as column:
            a_picks = k.a.picked_a[picks[0] + column]
            b_picks = k.a.picked_b[picks[1] + column]
            k.decide(first + column, address(k.power), a_picks, b_picks)


def settle(k: Stage) -> None:
    """End a sweep in a quiet block: lower tops of the pile, changed results, and what the next sweep looks up."""
    a, ternary = k.a, k.a.ternary
    sets = 1 << minimum(k.launch.ranks, HIGH)  # number of sets of ranks below `HIGH`
    with k.rows(k.launch.quiet_blocks) as (s, row):
        start = k.table(s, ternary[row])
        block = address(s * k.launch.quiet_blocks + row)
        # Ranks that number words: a decision is one of whole words within the block.
        for t in reversed(range(LOW, HIGH)):
            power = 3 ** (t - LOW)
            with loop(sets >> t + 1) as higher:
                first = ternary[higher].to(INT64) * (3 * power)
                with loop(power) as lower:
                    held = first + lower
                    a_picks = a.picked_a[block + held]
                    b_picks = a.picked_b[block + (held + power)]
                    k.decide(start + held, power, a_picks, b_picks)
        first_byte = a.first_byte[s].to(INT64) + row * 2**MIDDLE
        # The lowest ranks lie within a word, so the rest concerns quiet words alone.
        with loop(maximum(sets >> LOW, 1)) as i:
            number = row * 2**MIDDLE + i
            place = ternary[i]
            at = start + place
            pick = block + place
            byte = first_byte + i
            a_word, b_word = a.a_moves[at], a.b_moves[at]
            a_picks, b_picks = a.picked_a[pick], a.picked_b[pick]
            for t in reversed(range(LOW)):
                a_word, b_word = k.decide_low(t, a_word, b_word, a_picks, b_picks)
            a_new, b_new = k.quiet(number, a_word, b_word)
            a_byte = in_byte(a_new)
            b_byte = in_byte(b_new)
            # The sweep is the last one of the set unless a result changes.
            with branch((a_byte != uint32(a.a_to_move[byte])) | (b_byte != uint32(a.b_to_move[byte]))):
                a.changed[s] = k.launch.sweep
            a.a_moves[at], a.b_moves[at] = a_word, b_word
            # A pick-up passes the move, so the next sweep's pick-ups by A read the result of B's turn, and vice versa.
            a.picked_a[pick], a.picked_b[pick] = fill_piles(b_new, 0), fill_piles(a_new, 1)
            a.a_to_move[byte], a.b_to_move[byte] = a_byte, b_byte
        k.fill_in(block)


def run(kernel: SolverKernel, *arrays: Tensor) -> list[Tensor]:
    """Launch a kernel.

    Returns:
        The arrays (`Arrays`) after it, lazy.
    """
    name = "_".join(("shed", kernel.body.__name__, kernel.ranks)).rstrip("_")
    # one kernel serves any number of cards, so it is compiled once
    record = partial(trace, lambda *cells: kernel.body(Stage(cells, kernel.ranks)))
    return lazy_kernel(name, record, *arrays, any_size=True)
