"""Where the search trees of a block of games stand in a kernel.

A root's tree has a slot for every simulation: slot 0 is the root, slot k what simulation k has led to; of a search that
goes on from an earlier one's trees slots 1 to `Form.kept` are theirs, and simulations come after them. What goes up and
down trees is done root after root, level by level (on a GPU a thread is a root); there the loops over a node's actions
are what vectors are for, so that these are padded to whole vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from tinygrad import UOp, dtypes

from tensor_envs.core.game import Game
from tensor_envs.core.kernels.block import Coords, Place, Words
from tensor_envs.core.kernels.tracer import Tracer
from tensor_envs.core.layout import Layout
from tensor_envs.rules.bits import WORD_BITS, num_words
from tensor_envs.rules.control import next_id, register
from tensor_envs.rules.scalar import Scalar
from tensor_envs.rules.spec import GameState

f32, i32, i64 = dtypes.float32, dtypes.int32, dtypes.int64
VECTOR = 16  # actions
# before a root's nodes: a key for its chance; of the simulation under way its slot and, before the first of the roots
# that a thread searches, the number of actions in all of them; how many actions of the root are legal; the largest
# return found, at least 1
KEY_LOW, KEY_HIGH, SLOT, CHOSEN, LEGAL, LARGEST, HEAD = range(7)
# a node: the visits of its actions; what the network says; how many actions have been tried, the visits of the one
# tried most, the sums of the priors of those tried and of their priors times values (for `muzero` of their returns);
# who is to move, -1 once the game is over. Then a return a player until here, and the mask
VISITS, RAW, TRIED, MOST, TRIED_PRIOR, TRIED_VALUE, MOVER, PAID = range(8)
# an action of a simulation: at which node, which, whose, that player's return before it, and in which root
NODE, ACTION, PLAYER, BEFORE, ROOT, STEP = range(6)
# the numbers of an action, each a row of a node's: visits, sum of returns, slot that it leads to or 0, prior
COUNT, SUM, CHILD, PRIOR = range(4)
# the array `about`: which of the batch's blocks these are, how many it has, its games, those evaluated at once, most
# actions of a playout, the seed; then a table
FIRST_BLOCK, BLOCKS, ROOTS, SHARE, LIMIT, SEED_LOW, SEED_HIGH, TABLE = range(8)
# where a block's games are while a simulation plays on from the root: at which node, whether it goes on, whether its
# last action had not been tried, and in the end who is to move (as in a node); then returns, and the mask
AT, LIVE, UNTRIED, NEXT, SO_FAR = range(5)
# while all roots go down: how many take a step, how many take the next one, how many steps there were
GOING, LEFT, STEPS, COUNTS = range(4)

# numbers an action: for the priors of a root, for its choice
NOISES = {"playout": 0, "gumbel": 1, "muzero": 2}

Method = Literal["playout", "gumbel", "muzero"]
Legal = Callable[[Any], UOp]  # a mask word
# action, its mask word, its bit -> float32, whether it is allowed
Score = Callable[[UOp, UOp, UOp], tuple[UOp, UOp]]
# of a game: its state, the rewards of its last action, the returns until then, its flags -> stores
Arrived = Callable[[Coords, GameState, Sequence[Scalar], Sequence[Scalar], Sequence[Scalar]], list[UOp]]


@dataclass(frozen=True)
class Form:
    """What tells one search's kernels from another's.

    replays: whether every simulation plays anew from the root, since chance or another deal makes something else of
    the same actions; then nodes are sequences of actions. determinizes: whether what the root's player does not see is
    dealt anew. values: of an evaluation, 1 or one a player. considered: most actions of a root, for `gumbel`. kept:
    nodes besides the root that there is room for before the first simulation's; there are none if 0. keeps: whether
    all trees of a batch are wanted.
    """

    method: Method
    simulations: int
    replays: bool = False
    determinizes: bool = False
    values: int = 0
    considered: int = 0
    kept: int = 0
    keeps: bool = False

    @property
    def slots(self) -> int:
        return self.kept + self.simulations + 1

    @property
    def numbers(self) -> int:
        """Of an action."""
        return PRIOR if self.method == "playout" else PRIOR + 1


class Sizes(NamedTuple):
    """Of a tree, in words."""

    states: int
    node: int  # one
    nodes: int  # with all that is in their array
    edges: int

    @classmethod
    def of(cls, form: Form, game: Game, layout: Layout) -> Sizes:
        players, actions = game.spec.num_players, game.spec.num_actions
        node = PAID + players + num_words(actions)
        states = (1 if form.replays else form.slots) * layout.field_words
        edges = form.slots * form.numbers * padded(actions)
        return cls(states, node, HEAD + form.slots * (node + STEP), edges)


def padded(actions: int) -> int:
    """Actions, with those that fill vectors and are never legal."""
    vector = VECTOR if actions <= WORD_BITS else WORD_BITS
    return -(-actions // vector) * vector


class TreeArrays(NamedTuple):
    """The arrays of trees in a kernel."""

    states: (
        Any  # uint32 [blocks, slots, words, lanes]: fields and flags; if simulations replay, the root's alone
    )
    nodes: Any  # int32 [rows, ...]: see above; reals by their bits
    edges: Any  # int32 [rows, slots, numbers, actions]


MOST_ROWS = 2**20  # that a kernel searches


def as_bits(x: UOp) -> UOp:
    return x.bitcast(i32)


def as_real(x: UOp) -> UOp:
    return x.bitcast(f32)


def constant(x: int) -> UOp:
    return UOp.const(x, i32)


def within(x: UOp, count: int) -> UOp:
    """An index within bounds that tinygrad can see."""
    return x.maximum(0).minimum(count - 1)


def below(x: UOp, count: int) -> UOp:
    """The same for an index that is within 0..count-1 anyway: cheaper."""
    return x & ((1 << (count - 1).bit_length()) - 1)


def entry_of(values: Sequence[UOp], player: UOp) -> UOp:
    """The value of a player."""
    chosen = values[0]
    for p, value in enumerate(values[1:], 1):
        chosen = player.eq(p).where(value, chosen)
    return chosen


class TreeMemory:
    """The trees of a block's games, at some point of a kernel."""

    def __init__(self, t: Tracer, a: TreeArrays, about: UOp, form: Form, root_noise: UOp | None = None):
        self.t, self.about, self.form = t, about, form
        self.states, self.nodes, self.edges = a
        self.root_noise: Any = root_noise
        self.players, self.actions = t.players, t.game.spec.num_actions
        self.width, self.sizes = padded(self.actions), Sizes.of(form, t.game, t.layout)
        self.leaf = t.block.registers(2, i32)  # the node and the action that a simulation ends with
        self.walk_words = SO_FAR + self.players + num_words(self.actions)
        self.walk = t.block.registers(self.walk_words, i32)
        self.walked = t.registers()  # the games
        # the roots that one thread searches; the lanes of those that go on, and how many
        self.roots = t.block.lanes if t.block.thread is None else 1
        self.going = t.block.registers(1, i32)
        self.counts = register(COUNTS, i32).after(t.block.turn)
        self.loops: tuple[UOp, ...] = ()  # around the stages, besides that over blocks
        t.dynamic = True

    def depend_on(self, *deps: UOp) -> None:
        """What is read from now on is read after these."""
        self.states, self.nodes = self.states.after(*deps), self.nodes.after(*deps)
        self.edges, self.leaf = self.edges.after(*deps), self.leaf.after(*deps)
        if self.root_noise is not None:
            self.root_noise = self.root_noise.after(*deps)
        self.walk, self.walked = self.walk.after(*deps), self.walked.after(*deps)
        self.going, self.counts = self.going.after(*deps), self.counts.after(*deps)

    def each_root(self, stage: Callable[[Coords], list[UOp]]) -> UOp:
        return self.t.block.each(stage, once=True)

    @property
    def first_root(self) -> Coords:
        """Of those that a thread searches."""
        return self.t.block.at(constant(0) if self.t.block.thread is None else self.t.block.thread)

    def each_going(self, stage: Callable[[Coords, UOp], list[UOp]]) -> UOp:
        """The stores of a stage for every root that goes on; it is given the number of those before it, too."""
        if self.roots == 1:  # there is no other turn then
            return UOp.group(*stage(self.first_root, constant(0)))

        def of_next(turn: UOp) -> list[UOp]:
            lane = below(self.going[below(turn, self.roots)].load(), self.roots)
            return stage(self.t.block.at(lane), turn)

        return self.times(self.counts[GOING].load(), of_next)

    def times(self, count: UOp, stage: Callable[[UOp], list[UOp]]) -> UOp:
        """The stores of a stage, which is given 0..count-1, and 0 in any case.

        A range of tinygrad's would not do: its bound must not depend on the loops around it.
        """
        held = register(1, i32)
        begun = held.after(*self.loops)[0].store(0)
        turn = UOp.loop(next_id())
        done = UOp.group(*stage(held.after(begun, turn)[0].load()))
        more = held.after(done)[0].store(held.after(done)[0].load() + 1)
        return more.end(turn, held.after(more)[0].load() < count)

    def place(self, at: Coords) -> Place:
        """A root's in the arrays of trees.

        A search that is one kernel uses those of the first block that a thread searches for all of them, one after the
        other, so that they stay in its cache.
        """
        once = (
            self.form.method == "playout"
            and self.t.block.first is not None
            and not (self.form.keeps or self.form.kept)
        )
        return at.batch._replace(block=self.t.block.first) if once else at.batch

    def head(self, at: Coords, k: int) -> UOp:
        return self.nodes[self.place(at).row * self.sizes.nodes + k]

    def node(self, at: Coords, slot: Any, k: Any) -> UOp:
        return self.nodes[self.place(at).row * self.sizes.nodes + (slot * self.sizes.node + HEAD) + k]

    def step(self, number: UOp, k: int) -> UOp:
        """Of a chosen action, of those in all roots that a thread searches: each root has room for its own."""
        first, at = HEAD + self.form.slots * self.sizes.node, self.first_root
        row = self.place(at).row + number % self.roots
        return self.nodes[row * self.sizes.nodes + (number // self.roots * STEP + first) + k]

    def edge(self, at: Coords, slot: Any, k: int, action: UOp) -> UOp:
        node = self.place(at).row * self.form.slots + slot
        return self.edges[(node * self.form.numbers + k) * self.width + action]

    def words(self, at: Coords, slot: Any) -> tuple[Words, Coords]:
        """A slot's fields and flags, and where they stand."""
        slots = 1 if self.form.replays else self.form.slots
        place = self.place(at)
        place = place._replace(block=place.block * slots + slot)
        return Words(self.t.layout, self.states, count=self.t.layout.field_words), Coords(place, at.register)

    def in_batch(self, at: Coords) -> Coords:
        """Where a root stands in the whole batch, of which a kernel searches some blocks."""
        last = self.about[BLOCKS].load() - 1
        block = (at.batch.block + self.about[FIRST_BLOCK].load()).minimum(last).maximum(0)
        return Coords(at.batch._replace(block=block), at.register)

    def slot(self) -> UOp:
        """The slot of the simulation under way, the same in all roots of a block."""
        return within(self.head(self.first_root, SLOT).load(), self.form.slots)

    def paid(self, at: Coords, slot: Any) -> list[UOp]:
        """The returns until a node."""
        return [as_real(self.node(at, slot, PAID + p).load()) for p in range(self.players)]

    def legal(self, at: Coords, slot: UOp) -> Legal:
        """A node's mask words."""
        return lambda w: self.node(at, slot, w + (PAID + self.players)).load()

    def noise(self, at: Coords, part: int | UOp, action: UOp) -> UOp:
        """The root's; for `gumbel` the logits are added."""
        return self.cell_of_noise(at, part, action).load()

    def cell_of_noise(self, at: Coords, part: int | UOp, action: UOp) -> UOp:
        return self.root_noise[(at.batch.row * NOISES[self.form.method] + part) * self.width + action]
