"""Memory layout of search trees, for kernels and for the host.

A tree has one slot for each simulation: slot 0 is the root, and slot k the position that simulation k reached. A search
that resumes earlier trees has their nodes in slots 1 to `SearchSize.resumed`, and its own simulations after them. The
number of slots is a parameter of the kernels, so that one program serves searches of any size.

Selection and backup visit the roots of a block one by one; on a GPU each thread has one root. They vectorise the loop
over a node's edges, so edges are padded to whole vectors.

A node's edges are int32 [words, edges]: one row for each entry of `Edge`. They have one of two forms.

- Packed: a node has an edge for each legal action, in ascending order, and its first row has the actions. Nodes take
  their edges from the front of the tree's array, one after another. So a node of chess has 35 edges, not 4,674.
- All actions: edge k is action k, legal or not, at an index that follows from the slot. A game has this form if it does
  not declare `Spec.max_legal`, or if one vector has room for all actions. Searches whose simulations replay have it,
  too, since the legal actions of a node then differ between visits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from tensor_envs._compiler.tape import INT32, UINT32
from tensor_envs._engine.batch_layout import LANES
from tensor_envs._engine.kernels.base import ArrayCoords, Coords, Tracer, Words
from tensor_envs.rules.kernel import Cells, loop, registers, sum_in_range
from tensor_envs.rules.lists import num_words, popcount
from tensor_envs.rules.scalar import WORD_BITS, Scalar, Value, int32, is_gpu, maximum, minimum, scalar, uint32, where
from tensor_envs.search.records import ActionHistory, Edge, Node, Params, PathStep, Root, Walk

if TYPE_CHECKING:
    from tensor_envs._engine.game import Game
    from tensor_envs._engine.layout import Layout
    from tensor_envs.rules.spec import Spec
    from tensor_envs.search.selection import ActionSelection

# Numbers of actions are padded to the first of these that is large enough, or to a multiple of the 32 bits of a word.
VECTORS = (8, 16)
VECTOR = 16  # packed edges of a vector
PACKED_WORDS = 2  # `Node.first_edge` and `Node.num_edges`
MAX_TREE_BLOCKS = 256  # blocks whose trees are in memory at once
MAX_ROWS = MAX_TREE_BLOCKS * LANES  # rows of a network's output

MaskWord = Callable[[Any], Scalar]  # function from the index of a word to that word of a legal action mask


@dataclass(frozen=True)
class SearchConfig:
    """Options that a search is compiled for.

    Attributes:
        selection: strategy that selects actions.
        replays: whether every simulation plays its actions again from the root, because chance or resampled hidden
            information changes where they lead. A node then stands for a sequence of actions, not for a position.
        determinizes: whether every simulation resamples what is hidden from the root's player.
        packed: whether edges are packed.
        proves: whether outcomes are proven.
        values: values per row of a network's output: 1, or the number of players; 0 without a network.
        counts: whether the decisions of playouts are counted.
    """

    selection: type[ActionSelection]
    replays: bool = False
    determinizes: bool = False
    packed: bool = False
    proves: bool = False
    values: int = 0
    counts: bool = False

    @property
    def statistics(self) -> int:
        """Words of an edge besides its action."""
        return Edge.size if self.selection.uses_network else Edge.prior.index

    @property
    def edge_words(self) -> int:
        """Words of an edge."""
        return self.statistics + self.packed

    def width(self, spec: Spec) -> int:
        """Return the largest number of edges of a node, with padding."""
        if not self.packed:
            return padded(spec.num_actions)
        return whole_vectors(spec.max_legal)  # type: ignore[no-any-return]

    def history_words(self, players: int, actions: int) -> int:
        """Return the words of a tree's history of actions; a network's priors need none."""
        return 0 if self.selection.uses_network else players * ActionHistory.size * padded(actions)

    def lists_actions(self, spec: Spec) -> bool:
        """Return whether noise is drawn only for legal actions, which pays if few actions are legal."""
        return self.packed and 2 * self.width(spec) <= spec.num_actions

    def noise_width(self, spec: Spec) -> int:
        """Return the number of noise values of a root for each purpose, see `ActionSelection.noise_count`."""
        return self.width(spec) if self.lists_actions(spec) else spec.num_actions


@dataclass(frozen=True)
class SearchSize:
    """Options that a search passes to its kernels as parameters.

    Attributes:
        num_simulations: number of simulations of each game.
        resumed: slots for nodes of earlier trees, besides the root; 0 for a new search.
        return_tree: whether the search returns the trees of the whole batch.
        considered: maximum number of root actions that Gumbel MuZero considers.
    """

    num_simulations: int
    resumed: int = 0
    return_tree: bool = False
    considered: int = 0

    @property
    def slots(self) -> int:
        return self.resumed + self.num_simulations + 1

    def params(
        self, first_block: int, blocks: int, roots: int, rows: int, limit: int = 1, seed: tuple[int, int] = (0, 0)
    ) -> tuple[int, ...]:
        """Return the parameters of a kernel, see `Params`."""
        # Trees that the host reads or has written must not share memory, see `Params.separate`.
        separate = self.return_tree or self.resumed > 0
        sizes = self.num_simulations, self.resumed, self.considered, int(separate)
        return (first_block, blocks, roots, rows, limit, *seed, *sizes)


class TreeSizes(NamedTuple):
    """Sizes of a tree's parts, in words.

    The array `nodes` of a tree has four parts:

        Root | Node of each slot | PathStep of each slot | ActionHistory of each player's actions
                                 ^ steps                 ^ history

    Attributes:
        node: words of a node.
        steps: index of the first path step.
        history: index of the first action history.
        nodes: words of the array `nodes`.
        edges: words of the array `edges`.
        states: words of the array `states`.
    """

    node: int
    steps: Any
    history: Any
    nodes: Any
    edges: Any
    states: Any

    @classmethod
    def of(cls, config: SearchConfig, slots: Any, game: Game, layout: Layout) -> TreeSizes:
        """Return the sizes of a tree of `slots`, an int or a Scalar."""
        players = game.spec.num_players
        actions = game.spec.num_actions
        node = Node.size + players + (PACKED_WORDS if config.packed else num_words(actions))
        steps = Root.size + slots * node
        history = steps + slots * PathStep.size
        # Simulations that replay need only the root's state.
        states = layout.field_words * (1 if config.replays else slots)
        # If edges are packed this is an upper bound. Memory that no node takes is never touched.
        edges = slots * (config.edge_words * config.width(game.spec))
        return cls(node, steps, history, history + config.history_words(players, actions), edges, states)

    @property
    def bytes(self) -> Any:
        """Size of a tree in bytes."""
        return 4 * (self.states + self.nodes + self.edges)


class TreeArrays(NamedTuple):
    """Arrays of trees in a kernel."""

    states: Any  # uint32 [blocks, slots, words, lanes]: fields and flags; only the root's if simulations replay
    nodes: Any  # int32 [rows, words], see `TreeSizes`
    edges: Any  # int32 [rows, words]: the edges of all nodes


class NetworkOutput(NamedTuple):
    """Output of a network for the positions that simulations have reached."""

    logits: Any  # float32 [rows, actions]
    values: Any  # float32 [rows, SearchConfig.values]


def whole_vectors(edges: Any) -> Any:
    """Round a number of packed edges up to whole vectors."""
    return edges + (VECTOR - 1) & -VECTOR


def num_results(actions: int) -> int:
    """Return the number of words of a root in `Result.numbers`."""
    return 3 * actions + 2


def padded(actions: int) -> int:
    """Round a number of actions up to whole vectors; padding is never legal."""
    vector = next((n for n in VECTORS if actions <= n), WORD_BITS)
    return -(-actions // vector) * vector


def clamp(x: Scalar, count: int) -> Scalar:
    """Clamp an index to 0..count-1."""
    return maximum(minimum(x, count - 1), 0)


def wrap_index(x: Scalar, count: int) -> Scalar:
    """Bound an index by the bits of count - 1. This is cheaper than `clamp`, but the bound is a power of two."""
    return x & (1 << (count - 1).bit_length()) - 1


def each_legal(mask: MaskWord, words: Value, visit: Callable[[Scalar, Scalar], None]) -> Scalar:
    """Visit the legal actions of a mask in ascending order, and return their number.

    Args:
        mask: function from the index of a word to that word.
        words: number of words.
        visit: function of the number of an action among the legal ones, from 0 on, and the action.
    """
    count = registers(1, INT32)
    rest = registers(1, UINT32)
    count[0] = 0
    # Visit only bits that are set, so that the time depends on the number of legal actions.
    with loop(words) as w:
        rest[0] = uint32(mask(w))
        with loop(popcount(rest[0])):
            number = count[0]
            bits = rest[0]
            visit(number, w * WORD_BITS + popcount(~bits & (bits - 1)))  # index of the lowest set bit
            count[0] = number + 1
            rest[0] = bits & (bits - 1)  # clear the lowest set bit
    return count[0]


class TreeMemory:
    """Trees of a block's games in a kernel."""

    def __init__(self, t: Tracer, arrays: TreeArrays, params: Cells, config: SearchConfig, root_noise: Any = None):
        self.t = t
        self.config = config
        self.params = Params(params)
        self.root_noise = root_noise
        self.states, self.nodes, self.edges = arrays
        self.players = t.players
        self.actions = t.game.spec.num_actions
        self.padded_actions = padded(self.actions)
        self.width = config.width(t.game.spec)
        self.roots = t.block.lanes if t.block.thread is None else 1  # roots of a thread
        self.team = t.block.team
        self.own_width = self.width // self.team  # largest number of a node's edges that a thread of a team visits
        # parameters that loops use are loaded once, before them
        self.num_simulations = self.params.num_simulations
        self.resumed = self.params.resumed
        self.considered = self.params.considered
        self.separate = self.params.separate
        self.slots = self.resumed + self.num_simulations + 1
        self.sizes = TreeSizes.of(config, self.slots, t.game, t.layout)

    @property
    def first_root(self) -> Coords:
        """Coordinates of a thread's first root."""
        return self.t.block.at(int32(0) if self.t.block.thread is None else self.t.block.thread)

    def coords(self, at: Coords) -> ArrayCoords:
        """Return a root's coordinates in the arrays of trees.

        In a search of one kernel, a thread reuses the memory of its first block for all its blocks, so that it stays in
        the cache.
        """
        first = self.t.block.first
        # With a network, all trees live from one kernel to the next.
        if first is None or self.config.selection.uses_network:
            return at.batch
        return at.batch._replace(block=where(self.separate != 0, at.batch.block, first))

    def index(self, x: Value) -> Scalar:
        """Convert a number to the dtype of the trees' indices."""
        return scalar(x).to(self.t.block.number.dtype)

    def lane(self, at: Coords) -> Scalar:
        """Return a root's number among those of its thread; on a GPU this is 0."""
        return self.index(at.batch.lane - self.first_root.batch.lane)

    def root(self, at: Coords) -> Root:
        return Root(self.nodes, self._first_row * self.sizes.nodes + self.lane(at) * self.sizes.nodes)

    def node_offset(self, at: Coords, slot: Value) -> Scalar:
        """Return the offset of a node from the tree of the thread's first root; `MAX_TREE_BYTES` bounds it."""
        return self.lane(at) * self.sizes.nodes + Root.size + self.index(slot) * self.sizes.node

    def node_at(self, offset: Value) -> Node:
        return Node(self.nodes, self._first_row * self.sizes.nodes + self.index(offset), 1, self.players)

    def slot_at(self, offset: Scalar, at: Coords) -> Scalar:
        """Return the slot of the node at an offset."""
        return (offset - self.lane(at) * self.sizes.nodes - Root.size) // self.sizes.node

    def node(self, at: Coords, slot: Value) -> Node:
        return self.node_at(self.node_offset(at, slot))

    def edge_at(self, offset: Value, stride: Value) -> Edge:
        """Return the edge at an offset from the tree of the thread's first root."""
        return Edge(self.edges, self._first_row * self.sizes.edges + self.index(offset), self.index(stride))

    def edges_of(self, at: Coords, slot: Value, walk: Walk | None = None) -> Edges:
        """Return the edges of a node. walk: position of this visit, if simulations replay."""
        return PackedEdges(self, at, slot) if self.config.packed else AllActions(self, at, slot, walk)

    def step(self, number: Scalar) -> PathStep:
        """Return a path step by its number. The roots of a thread have one list, which lies in the memory of all."""
        # A root takes at most as many steps in a simulation as it has slots, so the list has room for all roots.
        first = self.index(number % self.roots) * self.sizes.nodes + self.sizes.steps
        offset = first + self.index(number // self.roots) * PathStep.size
        return PathStep(self.nodes, self._first_row * self.sizes.nodes + offset)

    @property
    def _first_row(self) -> Scalar:
        """Row of the tree of a thread's first root."""
        return self.coords(self.first_root).row  # type: ignore[no-any-return]

    def words(self, at: Coords, slot: Value) -> tuple[Words, Coords]:
        """Return a slot's fields and flags, and their coordinates."""
        coords = self.coords(at)
        # states [blocks, slots, words, lanes]: a slot of a block is addressed like a block of a batch
        coords = coords._replace(block=coords.block * (1 if self.config.replays else self.slots) + slot)
        return Words(self.t.layout, self.states, count=self.t.layout.field_words), Coords(coords, at.register)

    def in_batch(self, at: Coords) -> Coords:
        """Return a root's coordinates in the whole batch, of which a kernel searches a chunk."""
        # The last chunk may have surplus blocks, which search the last block of the batch again.
        block = maximum(minimum(at.batch.block + self.params.first_block, self.params.blocks - 1), 0)
        return Coords(at.batch._replace(block=block), at.register)

    def slot(self) -> Scalar:
        """Return the slot of the current simulation, the same in all roots of a block."""
        return self.root(self.first_root).slot

    def noise(self, at: Coords, part: Value, action: Value) -> Scalar:
        """Return the index of a root's noise, to which Gumbel MuZero adds the logits."""
        return (at.batch.row * self.config.selection.noise_count + part) * self.width + action

    def history(self, at: Coords, player: Value, action: Value) -> ActionHistory:
        """Return the history of an action by a player."""
        first = self._first_row * self.sizes.nodes + self.lane(at) * self.sizes.nodes + self.sizes.history
        # A player's counts are contiguous, and so are the sums: a selection loads vectors of them.
        index = self.index(player * (ActionHistory.size * self.padded_actions) + action)
        return ActionHistory(self.nodes, first + index, self.padded_actions)

    def edge_number(self, x: Scalar) -> Scalar:
        """Bound the number of an edge, so that it is in range for any scores, also those that are not finite."""
        return wrap_index(x, self.width)

    @contextmanager
    def each_number(self, count: Value) -> Iterator[Scalar]:
        """Iterate over the numbers of a node's packed edges, with padding; a thread of a team visits its share."""
        size: Value = self.own_width
        vector = 0
        if self.config.packed and is_gpu():
            size = (minimum(maximum(count, 0), self.width) + (self.team - 1)) // self.team
        elif self.config.packed:
            # The mask of bits shows the compiler that there are only whole vectors, so it writes no remainder loop.
            size = minimum(maximum(whole_vectors(count), 0), self.width) & -VECTOR
            vector = VECTOR
        with loop(size, vector=vector) as k:
            # Neighbouring threads read neighbouring edges.
            yield k if self.team == 1 else k * self.team + self.t.block.member

    def own(self, edge: Scalar) -> Scalar:
        """Return the index of an edge among those that its thread visits, for an array in registers."""
        return edge // self.team

    def take_edges(self, at: Coords, slot: Value, mask: MaskWord, live: Value) -> None:
        """Allocate a new node's packed edges, one for each action of its mask.

        A node has none if its game is over (`live` is 0), or if it has more than `Spec.max_legal` legal actions.
        """
        root = self.root(at)
        node = self.node(at, slot)
        # Edges are taken from the front of the array and never freed.
        used = root.edge_words
        actions = self.lane(at) * self.sizes.edges + self.index(used)

        def put(number: Scalar, action: Scalar) -> None:
            self.edge_at(actions + minimum(number, self.width - 1), 0).set(0, action)

        # The row of actions comes first. A position of too many actions must not write beyond it, see `put`.
        num_legal = each_legal(mask, where(live, num_words(self.actions), 0), put)
        num_edges = where(num_legal > self.width, 0, num_legal)
        stride = whole_vectors(num_edges)
        node.set_edges(used + stride, num_edges)  # the statistics follow the row of actions
        root.edge_words = used + stride * self.config.edge_words


class Edges:
    """Edges of a node, indexed by their numbers.

    Attributes:
        at: coordinates of the root.
        slot: slot of the node.
        node: the node.
        count: number of edges, without padding.
        stride: number of edges, with padding.
        first: offset of the first edge, see `TreeMemory.edge_at`.
        num_legal: number of legal actions.
        mover: player to move.
    """

    count: Scalar
    stride: Scalar
    first: Scalar
    num_legal: Scalar
    mover: Scalar

    def __init__(self, tree: TreeMemory, at: Coords, slot: Value):
        self.tree = tree
        self.at = at
        self.slot = slot
        self.node = tree.node(at, slot)

    def offset(self, k: Value) -> Scalar:
        """Return the offset of an edge, see `TreeMemory.edge_at`."""
        return self.first + k

    def __getitem__(self, k: Value) -> Edge:
        return self.tree.edge_at(self.offset(k), self.stride)

    def action(self, k: Scalar) -> Scalar:
        """Return the action of an edge; any action for padding."""
        raise NotImplementedError

    def history(self, k: Scalar) -> ActionHistory:
        """Return the history of an edge's action, by the player to move."""
        return self.tree.history(self.at, maximum(self.mover, 0), self._action_index(k))

    def _action_index(self, k: Scalar) -> Scalar:
        """Return the index of an edge's action in an array of all actions, padded."""
        raise NotImplementedError

    def each(self, whole: bool = False) -> AbstractContextManager[tuple[Scalar, Scalar]]:
        """Iterate over the edges; yield the number of each, and whether its action is legal.

        The threads of a team share the edges: combine their results by `team_max` and the like.

        whole: whether to visit all padding; otherwise there may be some.
        """
        raise NotImplementedError


class PackedEdges(Edges):
    """Edges for the legal actions alone."""

    def __init__(self, tree: TreeMemory, at: Coords, slot: Value):
        super().__init__(tree, at, slot)
        # Clamping gives the compiler the bounds of loops and registers.
        self.count = self.num_legal = minimum(maximum(self.node.num_edges, 0), tree.width)
        self.stride = whole_vectors(self.count)
        self.first = tree.lane(at) * tree.sizes.edges + tree.index(self.node.first_edge)
        self.mover = self.node.mover

    def action(self, k: Scalar) -> Scalar:
        # Padding has any number, and is loaded with the rest of its vector.
        return clamp(self[k].action, self.tree.actions)

    def _action_index(self, k: Scalar) -> Scalar:
        return self.action(k)

    @contextmanager
    def each(self, whole: bool = False) -> Iterator[tuple[Scalar, Scalar]]:
        with self.tree.each_number(self.stride if whole else self.count) as k:
            yield k, k < self.count


class AllActions(Edges):
    """Edges for all actions of the game; a mask says which are legal."""

    def __init__(self, tree: TreeMemory, at: Coords, slot: Value, walk: Walk | None):
        super().__init__(tree, at, slot)
        # If simulations replay, the legal actions and the player to move differ between visits.
        position = walk or self.node
        self.mask = position.mask
        self.mover = position.mover
        self.count = self.stride = int32(tree.width)
        self.first = (tree.lane(at) * tree.slots + slot) * (tree.config.edge_words * tree.width)

    @property
    def num_legal(self) -> Scalar:  # type: ignore[override] # only ProgressiveHistory needs it
        return sum_in_range(num_words(self.tree.actions), lambda w: popcount(uint32(self.mask(w))))

    def action(self, k: Scalar) -> Scalar:
        return minimum(k, self.tree.actions - 1)

    def _action_index(self, k: Scalar) -> Scalar:
        return k

    @contextmanager
    def each(self, whole: bool = False) -> Iterator[tuple[Scalar, Scalar]]:
        if self.tree.team > 1:
            with self.tree.each_number(self.count) as k:
                yield k, (self.mask(k // WORD_BITS) >> k % WORD_BITS & 1) != 0
            return
        size = min(self.tree.width, WORD_BITS)
        with loop(self.tree.width // size) as w:
            word = self.mask(w)
            # clang would unroll a loop over eight actions instead of vectorising it.
            with loop(size, unroll=is_gpu() or size > VECTORS[0]) as bit:
                yield w * size + bit, (word >> bit & 1) != 0
