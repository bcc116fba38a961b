"""Memory layout of search trees, for kernels and for the host.

The tree of a root has a slot for every simulation: slot 0 is the root, slot k the position that simulation k reached. A
search that resumes earlier trees has their nodes in slots 1 to `SearchConfig.resumed`, and its simulations after them.
Descent and backup visit the roots of a block one after the other (on a GPU, a thread is a root). What is vectorised
there is the loop over a node's actions, so actions are padded to whole vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, overload

from tinygrad.dtype import DType

from tensor_envs._compiler.tape import INT, LONG, REAL, WORD
from tensor_envs._engine.game import Game
from tensor_envs._engine.kernels.block import Coords, Place, Words
from tensor_envs._engine.kernels.tracer import Tracer
from tensor_envs._engine.layout import Layout
from tensor_envs.rules.bits import num_words
from tensor_envs.rules.kernel import Cells, bitcast, divide, loop
from tensor_envs.rules.scalar import WORD_BITS, Scalar, Value, integer, is_gpu, maximum, minimum, real, where

if TYPE_CHECKING:
    from tensor_envs.search.selection import ActionSelection

VECTOR = 16  # actions
MAX_ROWS = 2**20  # of an evaluation

Mask = Callable[[Any], Scalar]  # the number of a word -> that word of a legal action mask


# *** records: named numbers in an int32 array ***


class Number:
    """A number of a `Record`; reals are kept by their bits."""

    index: int

    def __init__(self, dtype: DType = INT):
        self.dtype = dtype

    def __set_name__(self, owner: type[Record], name: str) -> None:
        self.index, owner.size = owner.size, owner.size + 1

    @overload
    def __get__(self, record: None, owner: type[Record]) -> Number: ...
    @overload
    def __get__(self, record: Record, owner: type[Record]) -> Scalar: ...
    def __get__(self, record: Record | None, owner: type[Record]) -> Any:
        return self if record is None else record.get(self.index, self.dtype)

    def __set__(self, record: Record, x: Value) -> None:
        record.set(self.index, x, self.dtype)


class Record:
    """Numbers at an address of an int32 array: reading an attribute loads it, setting it stores it.

    Attributes:
        size: how many numbers have names.
    """

    size = 0

    def __init__(self, cells: Cells, first: Value = 0, stride: int = 1):
        self.cells, self.first, self.stride = cells, first, stride

    def get(self, k: Any, dtype: DType = INT) -> Scalar:
        return bitcast(self.cells[self.first + k * self.stride], dtype)

    def set(self, k: Any, x: Value, dtype: DType = INT) -> None:
        self.cells[self.first + k * self.stride] = bitcast(real(x), INT) if dtype is REAL else integer(x)


class Params(Record):
    """Kernel parameters, followed by the table of a method."""

    first_block = Number()  # of the batch, that the kernel searches
    blocks = Number()  # of the batch
    roots = Number()  # of the batch
    rows = Number()  # of an evaluation
    limit = Number()  # actions of a playout
    seed_low = Number(WORD)
    seed_high = Number(WORD)

    def table(self, k: Value, dtype: DType = REAL) -> Scalar:
        return self.get(self.size + k, dtype)


class Root(Record):
    """Head of a tree, before its nodes."""

    key_low = Number(WORD)  # of playouts and chance
    key_high = Number(WORD)
    slot = Number()  # of the simulation under way
    num_steps = Number()  # of that simulation in all roots of a thread, kept in the first of these
    num_legal = Number()
    largest = Number(REAL)  # absolute return found, at least 1


class Position(Record):
    """A record followed by the returns of all players so far and the legal action mask."""

    mover = Number()  # the player to move, -1 once the game has ended

    def __init__(self, cells: Cells, first: Value, stride: int, players: int):
        super().__init__(cells, first, stride)
        self.players = players

    def returns(self) -> list[Scalar]:
        return [self.get(self.size + p, REAL) for p in range(self.players)]

    def set_returns(self, returns: Sequence[Value]) -> None:
        for p, x in enumerate(returns):
            self.set(self.size + p, x, REAL)

    def mask(self, w: Any) -> Scalar:
        return self.get(w + (self.size + self.players))

    def set_position(self, mover: Value, returns: Sequence[Value], mask: Sequence[Scalar]) -> None:
        self.mover = mover
        self.set_returns(returns)
        for w, x in enumerate(mask):
            self.set(self.size + self.players + w, x)


class Node(Position):
    """A node of a tree. What its middle numbers sum up is up to `ActionSelection.record`."""

    visits = Number()  # of its actions
    raw_value = Number(REAL)  # the network's
    tried = Number()  # how many actions
    max_visits = Number()  # of an action
    prior_sum = Number(REAL)
    value_sum = Number(REAL)


class Walk(Position):
    """Position of a simulation, in registers."""

    node = Number()  # to choose an action at; 0 beyond the tree
    leaf = Number()  # node and action that the simulation ends with
    action = Number()
    live = Number()  # whether it takes another step
    untried = Number()  # whether its last action had not been tried


class Edge(Record):
    """An action of a node."""

    visits = Number()
    value_sum = Number(REAL)  # of returns of the player who chose it
    child = Number()  # the slot that it leads to; 0 for none
    prior = Number(REAL)  # where the method has priors

    @property
    def value(self) -> Scalar:
        """The mean return, 0 of an action that has not been tried."""
        return divide(self.value_sum, maximum(real(self.visits), 1.0))


class Step(Record):
    """An action that a simulation has chosen."""

    node = Number()
    action = Number()
    player = Number()
    returned = Number(REAL)  # to this player before
    lane = Number()  # of the root


class Counts(Record):
    """Counts of a descent."""

    queued = Number()  # roots that take the next step
    steps = Number()  # all so far


# *** trees ***


@dataclass(frozen=True)
class SearchConfig:
    """Options that a search is compiled for.

    Attributes:
        selection: the method.
        replays: whether every simulation plays anew from the root, since chance or resampled hidden information makes
            the same actions lead elsewhere. Nodes are then sequences of actions.
        determinizes: whether what is hidden from the root's player is resampled.
        values: numbers of an evaluation's value, 1 or one a player.
        considered: maximum number of a root's actions that Gumbel MuZero considers.
        resumed: slots for nodes of earlier trees, besides the root; 0 for a new search.
        return_tree: whether the trees of the whole batch are kept.
    """

    selection: type[ActionSelection]
    simulations: int
    replays: bool = False
    determinizes: bool = False
    values: int = 0
    considered: int = 0
    resumed: int = 0
    return_tree: bool = False

    @property
    def slots(self) -> int:
        return self.resumed + self.simulations + 1

    @property
    def edge_words(self) -> int:
        return Edge.size if self.selection.uses_network else Edge.prior.index


class TreeSizes(NamedTuple):
    """Words of a tree."""

    states: int
    node: int  # one
    nodes: int  # with everything else in their array
    edges: int

    @classmethod
    def of(cls, config: SearchConfig, game: Game, layout: Layout) -> TreeSizes:
        players, actions = game.spec.num_players, game.spec.num_actions
        node = Node.size + players + num_words(actions)
        states = (1 if config.replays else config.slots) * layout.field_words
        edges = config.slots * config.edge_words * padded(actions)
        return cls(states, node, Root.size + config.slots * (node + Step.size), edges)


class TreeArrays(NamedTuple):
    """Arrays of trees in a kernel."""

    states: Any  # uint32 [blocks, slots, words, lanes], fields and flags; of the root alone where simulations replay
    nodes: Any  # int32 [rows, words]: a Root, a Node a slot, and as many Steps
    edges: Any  # int32 [rows, slots, words, actions]


def padded(actions: int) -> int:
    """Round up to whole vectors; the actions added are never legal."""
    vector = VECTOR if actions <= WORD_BITS else WORD_BITS
    return -(-actions // vector) * vector


def within(x: Scalar, count: int) -> Scalar:
    """Clamp an index to 0..count-1."""
    return maximum(minimum(x, count - 1), 0)


def room(count: int) -> int:
    """Return the length of a table that is indexed by `below` of a count, a power of two."""
    return 1 << (count - 1).bit_length()


def below(x: Scalar, count: int) -> Scalar:
    """Bound an index that is within 0..count-1 wherever its load counts to 0..room(count)-1; cheaper than `within`."""
    return x & room(count) - 1


class TreeMemory:
    """The trees of a block's games in a kernel."""

    def __init__(
        self, t: Tracer, arrays: TreeArrays, params: Cells, config: SearchConfig, root_noise: Any = None
    ):
        self.t, self.config, self.params, self.root_noise = t, config, Params(params), root_noise
        self.states, self.nodes, self.edges = arrays
        self.players, self.actions = t.players, t.game.spec.num_actions
        self.width, self.sizes = padded(self.actions), TreeSizes.of(config, t.game, t.layout)
        self.roots = t.block.lanes if t.block.thread is None else 1  # of a thread

    @property
    def first_root(self) -> Coords:
        """The first root of a thread."""
        return self.t.block.at(integer(0) if self.t.block.thread is None else self.t.block.thread)

    def place(self, at: Coords) -> Place:
        """Return a root's place in the arrays of trees.

        A search in one kernel uses the memory of a thread's first block for all its blocks, so that it stays in cache.
        """
        one_kernel = not (
            self.config.selection.uses_network or self.config.return_tree or self.config.resumed
        )
        block = at.batch.block if self.t.block.first is None or not one_kernel else self.t.block.first
        rows = (block.instruction().high + 1) * self.t.block.lanes
        if rows * max(self.sizes) >= 2**31 and not is_gpu():
            block = block.to(LONG)
        return at.batch._replace(block=block)

    def root(self, at: Coords) -> Root:
        return Root(self.nodes, self.place(at).row * self.sizes.nodes)

    def node(self, at: Coords, slot: Value) -> Node:
        first = self.place(at).row * self.sizes.nodes + (slot * self.sizes.node + Root.size)
        return Node(self.nodes, first, 1, self.players)

    def edge(self, at: Coords, slot: Value, action: Value) -> Edge:
        words = self.config.edge_words * self.width
        return Edge(self.edges, self.place(at).row * self.sizes.edges + slot * words + action, self.width)

    def step(self, number: Scalar) -> Step:
        """Return one of the steps of all roots of a thread; each root has room for its own."""
        number = below(number, self.roots * self.config.slots)
        row = self.place(self.first_root).row + number % self.roots
        first = Root.size + self.config.slots * self.sizes.node + number // self.roots * Step.size
        return Step(self.nodes, row * self.sizes.nodes + first)

    def words(self, at: Coords, slot: Value) -> tuple[Words, Coords]:
        """Return a slot's fields and flags, and their place."""
        slots = 1 if self.config.replays else self.config.slots
        place = self.place(at)
        place = place._replace(block=place.block * slots + slot)
        return Words(self.t.layout, self.states, count=self.t.layout.field_words), Coords(place, at.register)

    def in_batch(self, at: Coords) -> Coords:
        """Return a root's place in the whole batch, of which a kernel searches some blocks."""
        block = maximum(minimum(at.batch.block + self.params.first_block, self.params.blocks - 1), 0)
        block = block if is_gpu() else block.to(LONG)
        return Coords(at.batch._replace(block=block), at.register)

    def slot(self) -> Scalar:
        """Return the slot of the simulation under way, the same in all roots of a block."""
        return within(self.root(self.first_root).slot, self.config.slots)

    def noise(self, at: Coords, part: Value, action: Value) -> Scalar:
        """Return the index of a root's noise; Gumbel MuZero adds the logits to it."""
        return (at.batch.row * self.config.selection.noise_count + part) * self.width + action

    def initial(self, slot: Value, resumed: Scalar) -> Scalar:
        """Return the first value of a new node's number: 0, or at a resumed root what is there."""
        return where(integer(slot) == 0, resumed, 0) if self.config.resumed else integer(0)

    @contextmanager
    def each_action(self, mask: Mask | None = None) -> Iterator[tuple[Scalar, Scalar]]:
        """Loop over a node's actions in whole vectors -> the action, and whether it is legal by the mask."""
        size = min(self.width, WORD_BITS)
        with loop(self.width // size) as w:
            word = integer(-1) if mask is None else mask(w)
            with loop(size) as bit:
                yield w * size + bit, (word >> bit & 1) != 0
