"""Records of search trees: words of nodes, edges, walks and parameters, by name.

Kernels load and store the entries of a record in an int32 array or in registers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

from tinygrad.dtype import DType

from tensor_envs._compiler.tape import FLOAT32, INT32, UINT32
from tensor_envs.rules.kernel import Cells, bitcast, divide
from tensor_envs.rules.scalar import Scalar, Value, float32, int32, maximum

# outcomes of positions for one player; 0 where nothing is proven
LOSS = 1
DRAW = 2
WIN = 3
OUTCOME_SHIFT = 28  # bits of a slot in `Edge.link`; a tree has fewer slots


class Entry:
    """Named entry of a `NamedRecord`; floats are stored by their bits."""

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
    """Entries at an address of an int32 array: reading an attribute loads it, setting it stores it.

    Attributes:
        size: number of named entries.
    """

    size = 0

    def __init__(self, cells: Cells, first: Value = 0, stride: Value = 1):
        self.cells = cells
        self.first = first
        self.stride = stride

    def get(self, k: Any, dtype: DType = INT32) -> Scalar:
        return bitcast(self.cells[self.first + k * self.stride], dtype)

    def set(self, k: Any, x: Value, dtype: DType = INT32) -> None:
        # arrays are int32: floats are stored by their bits
        self.cells[self.first + k * self.stride] = bitcast(float32(x), INT32) if dtype is FLOAT32 else int32(x)


class Params(NamedRecord):
    """Kernel parameters, followed by the table of an `ActionSelection`."""

    first_block = Entry()  # first block of the batch that the kernel searches
    blocks = Entry()  # blocks of the batch
    roots = Entry()  # games of the batch
    rows = Entry()  # rows of a network's output
    limit = Entry()  # maximum number of actions of a playout
    seed_low = Entry(UINT32)
    seed_high = Entry(UINT32)
    num_simulations = Entry()
    resumed = Entry()
    considered = Entry()
    separate = Entry()  # whether each block has its own trees: a thread reuses the memory of its first block otherwise

    def table(self, k: Value, dtype: DType = FLOAT32) -> Scalar:
        return self.get(k + self.size, dtype)


class Root(NamedRecord):
    """Header of a tree, before its nodes."""

    key_low = Entry(UINT32)  # random key of playouts and chance
    key_high = Entry(UINT32)
    slot = Entry()  # slot of the current simulation
    num_steps = Entry()  # steps of the current simulation in all roots of a thread, stored in the first root
    num_legal = Entry()  # legal actions of the root
    edge_words = Entry()  # words of the tree's array of edges that its nodes have taken; only where edges are packed
    largest = Entry(FLOAT32)  # largest absolute return so far, at least 1
    proven = Entry()  # proven outcome of the root for the player to move; 0 for none
    skipped = Entry()  # turns of sequential halving that had no edge to search, since it was proven


class Position(NamedRecord):
    """Record followed by the returns of all players so far and the legal action mask.

    A node with packed edges has `first_edge` and `num_edges` in place of the mask.
    """

    mover = Entry()  # player to move, or -1 once the game is over

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
    """Node of a tree. `ActionSelection.record` defines the last four entries."""

    visits = Entry()  # visits of all its actions
    raw_value = Entry(FLOAT32)  # value by the network
    tried = Entry()  # number of actions tried
    max_visits = Entry()  # visits of the most visited action
    prior_sum = Entry(FLOAT32)
    value_sum = Entry(FLOAT32)

    @property
    def first_edge(self) -> Scalar:
        """Index in the tree's array at which the statistics of its packed edges begin."""
        return self.get(self.size + self.players)

    @property
    def num_edges(self) -> Scalar:
        """Number of packed edges, without padding."""
        return self.get(self.size + self.players + 1)

    def set_edges(self, first: Scalar, count: Scalar) -> None:
        for k, x in enumerate((first, count)):
            self.set(self.size + self.players + k, x)


class Walk(Position):
    """Position of a simulation, in registers."""

    node = Entry()  # slot to choose an action at; 0 beyond the tree
    leaf = Entry()  # slot of the last node
    edge = Entry()  # number of the edge chosen there
    action = Entry()  # action of this edge
    live = Entry()  # whether the simulation takes another step
    untried = Entry()  # whether the last action had not been tried before


class Edge(NamedRecord):
    """Action of a node, with its statistics. Where edges are packed, a row with the actions' numbers comes before."""

    visits = Entry()
    value_sum = Entry(FLOAT32)  # sum of the returns of the player who chose it
    link = Entry()  # slot that it leads to, 0 for none; above it the proven outcome for the player who chooses it
    prior = Entry(FLOAT32)  # only where a network gives priors

    @property
    def action(self) -> Scalar:
        """Action of a packed edge; any number for padding."""
        return self.get(-1)

    @property
    def child(self) -> Scalar:
        """Slot that the action leads to; 0 for none."""
        return self.link & (1 << OUTCOME_SHIFT) - 1

    @property
    def outcome(self) -> Scalar:
        """Proven outcome for the player who chooses the action; 0 for none."""
        return self.link >> OUTCOME_SHIFT

    @property
    def value(self) -> Scalar:
        """Mean return; 0 for an action that has not been tried."""
        return divide(self.value_sum, maximum(float32(self.visits), 1.0))


class PathStep(NamedRecord):
    """Action on the path of a simulation."""

    node = Entry()  # see `TreeMemory.node_at`
    edge = Entry()  # see `TreeMemory.edge_at`
    lane = Entry()  # lane of the root
    player = Entry()  # player who chose it; only where simulations replay
    returned = Entry(FLOAT32)  # return of this player before the action; only where simulations replay
    weight = Entry(FLOAT32)  # exponential of the action's prior, for Gumbel MuZero only


class ActionHistory(NamedRecord):
    """Returns of the simulations in which a player took an action, in the tree or in the playout."""

    visits = Entry()
    value_sum = Entry(FLOAT32)  # sum of the player's returns


class Counts(NamedRecord):
    """Counters of a descent."""

    queued = Entry()  # roots that take the next step
    steps = Entry()  # steps so far
