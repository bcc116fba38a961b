"""Records of search trees: nodes, edges, positions of simulations and parameters as named words.

A record lies in an int32 array in memory or in registers. In a kernel, reading an attribute loads the word, and setting
it stores the word.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

from tinygrad.dtype import DType

from tensor_envs._compiler.tape import FLOAT32, INT32, UINT32
from tensor_envs.rules.kernel import Cells, bitcast, divide
from tensor_envs.rules.scalar import Scalar, Value, float32, int32, maximum

# proven outcomes for one player; 0 means that nothing is proven
LOSS = 1
DRAW = 2
WIN = 3
OUTCOME_SHIFT = 28  # bits of the slot in `Edge.link`, which are enough for all trees


class Entry:
    """Named word of a `NamedRecord`."""

    index: int

    def __init__(self, dtype: DType = INT32):
        self.dtype = dtype

    def __set_name__(self, owner: type[NamedRecord], name: str) -> None:
        self.index = owner.size
        owner.size += 1

    @overload
    def __get__(self, record: None, owner: type[NamedRecord]) -> Entry: ...
    @overload
    def __get__(self, record: NamedRecord, owner: type[NamedRecord]) -> Scalar: ...
    def __get__(self, record: NamedRecord | None, owner: type[NamedRecord]) -> Any:
        return self if record is None else record.get(self.index, self.dtype)

    def __set__(self, record: NamedRecord, x: Value) -> None:
        record.set(self.index, x, self.dtype)


class NamedRecord:
    """Record at an index of an int32 array.

    Attributes:
        size: number of entries.
        first: index of the first entry.
        stride: distance between entries.
    """

    size = 0

    def __init__(self, cells: Cells, first: Value = 0, stride: Value = 1):
        self.cells = cells
        self.first = first
        self.stride = stride

    def get(self, k: Any, dtype: DType = INT32) -> Scalar:
        return bitcast(self.cells[self.first + k * self.stride], dtype)

    def set(self, k: Any, x: Value, dtype: DType = INT32) -> None:
        # The array is int32, so floats are stored by their bits.
        self.cells[self.first + k * self.stride] = bitcast(float32(x), INT32) if dtype is FLOAT32 else int32(x)


class Params(NamedRecord):
    """Kernel parameters, followed by a table for the `ActionSelection`."""

    first_block = Entry()  # first block of the batch that the kernel searches
    blocks = Entry()  # blocks of the batch
    roots = Entry()  # games of the batch
    rows = Entry()  # rows of a network's output
    limit = Entry()  # maximum number of actions of a playout
    seed_low = Entry(UINT32)
    seed_high = Entry(UINT32)
    num_simulations = Entry()
    resumed = Entry()  # see `SearchSize`
    considered = Entry()  # see `SearchSize`
    separate = Entry()  # whether each block has trees of its own; otherwise a thread reuses those of its first block

    def table(self, k: Value, dtype: DType = FLOAT32) -> Scalar:
        return self.get(k + self.size, dtype)


class Root(NamedRecord):
    """Header of a tree, before its nodes."""

    key_low = Entry(UINT32)  # random key of playouts and chance
    key_high = Entry(UINT32)
    slot = Entry()  # slot of the current simulation
    num_steps = Entry()  # path steps of the current simulation; the thread's first root has the sum over all its roots
    num_legal = Entry()  # legal actions of the root
    edge_words = Entry()  # words that nodes have taken from the tree's array of edges; only if edges are packed
    largest = Entry(FLOAT32)  # largest absolute return so far, at least 1
    proven = Entry()  # proven outcome of the root for the player to move; 0 for none
    skipped = Entry()  # skipped turns of sequential halving, see `GumbelMuZero.plan`


class Position(NamedRecord):
    """Position of a game: the player to move, each player's return so far, and the legal action mask.

    The words are those of the record, then the returns, then the mask. A node with packed edges has `first_edge` and
    `num_edges` in place of the mask.
    """

    mover = Entry()  # player to move, or -1 if the game is over

    def __init__(self, cells: Cells, first: Value, stride: int, players: int):
        super().__init__(cells, first, stride)
        self.players = players

    def returns(self) -> list[Scalar]:
        return [self.get(self.size + p, FLOAT32) for p in range(self.players)]

    def set_returns(self, returns: Sequence[Value]) -> None:
        for p, x in enumerate(returns):
            self.set(self.size + p, x, FLOAT32)

    def mask(self, w: Any) -> Scalar:
        return self.get(w + (self.size + self.players))

    def set_position(self, mover: Value, returns: Sequence[Value], mask: Sequence[Scalar]) -> None:
        self.mover = mover
        self.set_returns(returns)
        for w, x in enumerate(mask):
            self.set(self.size + self.players + w, x)


class Node(Position):
    """Node of a tree. Each `ActionSelection` defines its use of the last four entries."""

    visits = Entry()  # visits of all edges
    raw_value = Entry(FLOAT32)  # the network's value
    tried = Entry()  # number of edges with visits
    max_visits = Entry()  # visits of the most visited edge
    prior_sum = Entry(FLOAT32)
    value_sum = Entry(FLOAT32)

    @property
    def first_edge(self) -> Scalar:
        """Index of the statistics of the packed edges in the tree's array."""
        return self.get(self.size + self.players)

    @property
    def num_edges(self) -> Scalar:
        """Number of packed edges, without padding."""
        return self.get(self.size + self.players + 1)

    def set_edges(self, first: Scalar, count: Scalar) -> None:
        for k, x in enumerate((first, count)):
            self.set(self.size + self.players + k, x)


class Walk(Position):
    """Present position of a simulation, in registers."""

    node = Entry()  # slot of the node at which it selects the next edge; 0 beyond the tree
    leaf = Entry()  # slot of the last node at which it has selected an edge
    edge = Entry()  # number of this edge
    action = Entry()  # action of this edge
    live = Entry()  # whether the simulation selects another edge
    untried = Entry()  # whether the last edge had no child


class Edge(NamedRecord):
    """Statistics of an action at a node. If edges are packed, a row of actions precedes the rows of statistics."""

    visits = Entry()
    value_sum = Entry(FLOAT32)  # sum of the returns of the player to move
    link = Entry()  # outcome << OUTCOME_SHIFT | child
    prior = Entry(FLOAT32)  # only for searches with a network

    @property
    def action(self) -> Scalar:
        """Action of a packed edge; any number for padding."""
        return self.get(-1)

    @property
    def child(self) -> Scalar:
        """Slot of the node that the action leads to; 0 for none."""
        return self.link & (1 << OUTCOME_SHIFT) - 1

    @property
    def outcome(self) -> Scalar:
        """Proven outcome for the player to move; 0 for none."""
        return self.link >> OUTCOME_SHIFT

    @property
    def value(self) -> Scalar:
        """Mean return; 0 without visits."""
        return divide(self.value_sum, maximum(float32(self.visits), 1.0))


class PathStep(NamedRecord):
    """Step of a simulation's path: a node and the edge selected there."""

    node = Entry()  # offset of the node, see `TreeMemory.node_at`
    edge = Entry()  # offset of the edge, see `TreeMemory.edge_at`
    lane = Entry()  # lane of the root
    player = Entry()  # player to move; only if simulations replay
    return_before = Entry(FLOAT32)  # return of this player before the action; only if simulations replay
    weight = Entry(FLOAT32)  # exponential of the edge's prior; only for Gumbel MuZero


class ActionHistory(NamedRecord):
    """Statistics of the simulations in which a player took an action, in the tree or in the playout."""

    visits = Entry()
    value_sum = Entry(FLOAT32)  # sum of the player's returns


class Counts(NamedRecord):
    """Counters of the selection of a block's leaves."""

    queued = Entry()  # number of roots that select another edge
    steps = Entry()  # number of path steps so far
