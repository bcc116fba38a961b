"""Results of searches: visits and values of the roots, and host copies of trees with subtrees and pictures."""

from __future__ import annotations

import functools
import heapq
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from tinygrad import Tensor, dtypes

from tensor_envs._engine.batch_layout import BatchLayout
from tensor_envs._runtime.buffers import download, write
from tensor_envs._runtime.launch import eager
from tensor_envs._validate import integer, renames
from tensor_envs.envs.counts import DecisionCounts
from tensor_envs.render.drawing import Drawing
from tensor_envs.rules.lists import num_words
from tensor_envs.search.memory import PACKED_WORDS, SearchConfig, TreeArrays, TreeSizes, num_results, whole_vectors
from tensor_envs.search.records import DRAW, LOSS, OUTCOME_SHIFT, WIN, Edge, Entry, Node, Root

if TYPE_CHECKING:
    from tensor_envs.envs.state import State

SLOT_BITS = (1 << OUTCOME_SHIFT) - 1  # bits of `Edge.link` that hold the slot
# indices of the last words of a node with packed edges
FIRST_EDGE = -2
NUM_EDGES = -1
ONE = int(np.float32(1).view(np.int32))  # bits of the float32 1.0
# distances in a picture, in pixels
STEP = 58
LEVEL = 84
MARGIN = 40
GOOD = (44, 105, 176)
BAD = (196, 57, 50)
NEITHER = (230, 230, 230)


class SearchTree:
    """Visits and values of the roots after a search; with `keep_tree`, the whole trees.

    Attributes:
        playouts: counts of the decisions of all playouts, with `count_actions`.

    Examples:
        >>> output = te.search.playout_policy(te.make("tic_tac_toe").init(2), num_simulations=64)
        >>> output.search_tree.visit_counts.sum(1).tolist()
        [64, 64]
    """

    def __init__(
        self,
        state: State,
        layout: BatchLayout,
        numbers: Tensor,
        whole: HostTree | None = None,
        counted: BatchLayout | None = None,
    ):
        """Wrap the results of a batch.

        Args:
            state: the searched games.
            layout: layout of the batch.
            numbers: `Result.numbers`.
            whole: host copy of the trees, if the search kept them.
            counted: layout of the numbers if counts of decisions follow them.
        """
        self._counted = counted
        first = num_results(state.env.num_actions)
        self.playouts = DecisionCounts(state.env, counted or layout, numbers if counted else None, first)
        self._state = state
        self._layout = layout
        self._numbers = numbers
        self._whole = whole
        self._env = state.env
        self._actions = state.env.num_actions

    def _part(self, part: int) -> Tensor:
        """Return a part of the numbers as int32 bits.

        Parts 0 to 2 are visits, weights and values of actions, [B, A]; part 3 is the root's value and outcome, [B, 2].
        """
        size = self._actions
        rows = self._rows(self._numbers)
        return rows[:, :, part * size : min((part + 1) * size, num_results(size))].reshape(self._layout.batch, -1)

    def _rows(self, numbers: Any) -> Any:
        """Return the numbers of all games without their counts, [shards, share, 3 A + 2]."""
        layout = self._layout
        size = num_results(self._actions)
        counted = self._counted
        if counted is not None:
            blocks = numbers.reshape(counted.rows // counted.grid.lanes, -1)
            numbers = blocks[:, : counted.grid.lanes * size]
        return numbers.reshape(layout.shards, -1, size)[:, : layout.shard_size]

    @property
    def visit_counts(self) -> Tensor:
        """Simulations that start with each action, int32 [B, A]."""
        return eager(self._part(0))

    @property
    def visit_probs(self) -> Tensor:
        """Shares of the simulations, float32 [B, A]; all 0 in a game that is over."""
        counts = self.visit_counts
        return eager(counts / counts.sum(1, keepdim=True).maximum(1))

    @property
    def qvalues(self) -> Tensor:
        """Mean returns of each action for the player to move, float32 [B, A]; 0 for an untried action."""
        return eager(self._part(2).bitcast(dtypes.float32))

    @property
    def value(self) -> Tensor:
        """Value of the game for the player to move, float32 [B]; 0 in a game that is over."""
        return eager(self._part(3)[:, 0].bitcast(dtypes.float32))

    @property
    def proven(self) -> Tensor:
        """Whether the value is that of perfect play, bool [B]; False in a game that is over."""
        return eager(self._part(3)[:, 1] > 0)

    @property
    def _weights(self) -> Tensor:
        return eager(self._part(1).bitcast(dtypes.float32))

    def summary(self) -> dict[str, np.ndarray]:
        """Return visit_counts, visit_probs, qvalues, value, proven and action_weights, NumPy arrays by one download."""
        size = self._actions
        numbers = self._rows(download(self._numbers)).reshape(self._layout.batch, -1)
        visits = numbers[:, :size]
        floats = numbers.view(np.float32)
        probs = visits / np.maximum(visits.sum(1, keepdims=True), 1)
        return {
            "visit_counts": visits,
            "visit_probs": probs.astype(np.float32),
            "qvalues": floats[:, 2 * size : 3 * size],
            "value": floats[:, -2],
            "proven": numbers[:, -1] > 0,
            "action_weights": floats[:, size : 2 * size],
        }

    @renames(i="row")
    def to_svg(self, row: int = 0, nodes: int = 48) -> str:
        """Draw a game's tree: the most visited actions, with visits and mean returns.

        Args:
            row: row of the game in the batch.
            nodes: maximum number of actions, 1..1000. Without `keep_tree` there are only those of the root.

        Returns:
            An SVG document. Circles grow with visits; blue is good for the player who chose the action, red is bad.

        Raises:
            ValueError, TypeError: a number out of range or of another type.
        """
        row = integer("row", row, 0, self._layout.batch - 1)
        count = integer("nodes", nodes, 1, 1000)
        if (whole := self._whole) is not None:
            edges = whole.tried(slice(row, row + 1))
        else:
            summary = self.summary()
            visits, values = (summary[name][row] for name in ("visit_counts", "qvalues"))
            action = np.flatnonzero(visits)
            nothing = np.zeros_like(action)
            edges = TriedEdges(
                nothing, nothing, action, visits[action], values[action] * visits[action], nothing, nothing
            )
        return tree_svg(edges, count, functools.partial(self._names, row))

    def _names(self, row: int, paths: Sequence[tuple[int, ...]]) -> list[str]:
        """Return the name of the last action of each path from a root; a path comes after its beginnings."""
        env = self._env
        if not env.names_depend_on_position:
            return [env.action_names[path[-1]] for path in paths]
        states: dict[tuple[int, ...], State] = {(): env.state_from_dicts([env.state_to_dict(self._state, row)])}
        names = []
        for *before, action in paths:
            state = states[tuple(before)]
            names.append(env.legal_actions(state)[action])
            states[*before, action] = env.step(state, [action])
        return names

    def _repr_svg_(self) -> str:
        return self.to_svg()


class SearchOutput(NamedTuple):
    """Result of a search.

    Attributes:
        action: action to play, int32 [B]; 0 in a game that is over.
        search_tree: visits and values of the roots.

    Examples:
        >>> output = te.search.playout_policy(te.make("tic_tac_toe").init(2), num_simulations=64)
        >>> output.action.shape, output.action_weights.shape
        ((2,), (2, 9))
    """

    action: Tensor
    search_tree: SearchTree

    @property
    def action_weights(self) -> Tensor:
        """Improved policy, a target for learning, float32 [B, A]; all 0 in a game that is over."""
        return self.search_tree._weights


class TriedEdges(NamedTuple):
    """Edges that a search has visited, in the order of rows, slots and actions; each property is an array [edges]."""

    row: np.ndarray
    slot: np.ndarray  # slot of the edge's node
    action: np.ndarray
    visits: np.ndarray
    value_sum: np.ndarray  # sum of the returns of the player who chose the action
    child: np.ndarray  # slot that the action leads to; 0 for none
    outcome: np.ndarray  # proven outcome for the player who chose the action; 0 for none

    @property
    def value(self) -> np.ndarray:
        """Mean returns."""
        return self.value_sum / self.visits.astype(np.float32)


@dataclass(frozen=True)
class HostTree:
    """Host copy of the trees of a batch. Floats are stored by their bits.

    Attributes:
        config: options of the search.
        width: edges of a node if they are not packed.
        roots: headers of the trees, int32 [B, Root.size].
        nodes: int32 [B, slots, words of a node].
        edges: int32 [B, words], see the module `memory`.
        states: uint32 [B, slots, words]; only the root's slot if simulations replay.
    """

    config: SearchConfig
    width: int
    roots: np.ndarray
    nodes: np.ndarray
    edges: np.ndarray
    states: np.ndarray

    @classmethod
    def of(
        cls,
        config: SearchConfig,
        width: int,
        sizes: TreeSizes,
        whole: BatchLayout,
        chunks: Sequence[Sequence[np.ndarray]],
    ) -> HostTree:
        """Join the arrays of all chunks of a batch, as `fetch` returns them."""
        joined = (np.concatenate(part, axis=1)[:, : whole.shard_size] for part in zip(*chunks, strict=True))
        states, nodes, edges = (part.reshape(whole.batch, -1) for part in joined)
        rest = nodes[:, Root.size : sizes.steps].reshape(whole.batch, -1, sizes.node)
        by_slot = states.reshape(whole.batch, 1 if config.replays else rest.shape[1], -1)
        return cls(config, width, nodes[:, : Root.size], rest, edges, by_slot)

    @property
    def slots(self) -> int:
        return self.nodes.shape[1]

    def _by_slot(self) -> np.ndarray:
        """Return edges that are not packed as [B, slots, words, actions]."""
        return self.edges.reshape(*self.nodes.shape[:2], self.config.edge_words, self.width)

    def _packed_nodes(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the index of the first packed edge of each node, and the number of edges with padding, [B, slots]."""
        stride = whole_vectors(self.nodes[:, :, NUM_EDGES]).astype(np.int64)
        return self.nodes[:, :, FIRST_EDGE] - stride, stride

    def _tried_indices(self, rows: slice) -> tuple[np.ndarray, ...]:
        """Return row, slot and action of the tried edges of some rows, and where their entries are in `edges`.

        Entry k of an edge has the index first + k * stride; `first` and `stride` are the last two results.
        """
        first_row = rows.start or 0
        if not self.config.packed:
            row, slot, action = np.nonzero(self._by_slot()[rows, :, Edge.visits.index])
            first = slot * (self.config.edge_words * self.width) + action
            return row + first_row, slot, action, first, np.full_like(row, self.width)
        begin, strides = (part[rows] for part in self._packed_nodes())
        # The edges of a node are rows of `stride` words: the actions, then one row for each entry, visits first.
        row, slot, number = ragged(self.nodes[rows, :, NUM_EDGES])
        stride = strides[row, slot]
        actions = begin[row, slot] + number
        row += first_row
        tried = np.flatnonzero(self.edges[row, actions + stride])
        row = row[tried]
        slot = slot[tried]
        actions = actions[tried]
        stride = stride[tried]
        return row, slot, self.edges[row, actions], actions + stride, stride

    def tried(self, rows: slice = slice(None)) -> TriedEdges:
        """Return the tried edges of some rows."""
        row, slot, action, first, stride = self._tried_indices(rows)

        def values_of(entry: Entry) -> np.ndarray:
            return self.edges[row, first + entry.index * stride]

        sums = values_of(Edge.value_sum).view(np.float32)
        link = values_of(Edge.link)
        return TriedEdges(row, slot, action, values_of(Edge.visits), sums, link & SLOT_BITS, link >> OUTCOME_SHIFT)

    def numbers(self, actions: int) -> np.ndarray:
        """Return the numbers of the roots like `Result.numbers`, int32 [B, 3 A + 2].

        Weights are shares of visits, see `ActionSelection.visit_shares`.
        """
        batch = len(self.nodes)
        network = self.config.selection.uses_network
        tried = self.tried()
        root = TriedEdges(*(part[tried.slot == 0] for part in tried))
        visits = np.zeros((batch, actions), np.int32)
        values = np.zeros((batch, actions), np.float32)
        sums = np.zeros_like(values)
        visits[root.row, root.action] = root.visits
        values[root.row, root.action] = np.where(root.outcome > 0, root.outcome - DRAW, root.value)
        sums[root.row, root.action] = root.value_sum
        node_visits = self.nodes[:, 0, Node.visits.index].astype(np.float32)
        raw_value = self.nodes[:, 0, [Node.raw_value.index]].view(np.float32) * np.float32(network)
        # Add float32 numbers in the order of the kernel, so that values have the same bits.
        total = np.cumsum(np.concatenate([raw_value, sums], axis=1), axis=1, dtype=np.float32)[:, -1]
        value = total / (node_visits + 1 if network else np.maximum(node_visits, 1))
        proven = self.roots[:, [Root.proven.index]]
        value = np.where(proven > 0, proven - DRAW, value[:, None])
        outcome = np.zeros_like(visits)
        outcome[root.row, root.action] = root.outcome
        kept = visits * np.where(proven > 0, outcome == proven, outcome != LOSS)
        kept = np.where(kept.any(1, keepdims=True), kept, visits)
        share = kept / np.maximum(kept.sum(1, keepdims=True), 1)
        floats = np.concatenate([share, values, value], axis=1).astype(np.float32)
        return np.concatenate([visits, floats.view(np.int32), proven], axis=1)

    def under(self, action: np.ndarray) -> HostTree:
        """Return the trees below an action of every root; a tree may be empty.

        The number of slots is padded to a power of two, so that later searches can reuse memory and captures.
        """
        batch, slots = self.nodes.shape[:2]
        rows = np.arange(batch)
        edges = self.tried()
        # Find the new root of each row: the slot that its action leads to (0 for none), and its proven outcome.
        new_root = np.zeros(batch, np.int32)
        outcome = np.zeros(batch, np.int32)
        taken = (edges.slot == 0) & (edges.action == action[edges.row])
        new_root[edges.row[taken]] = edges.child[taken]
        outcome[edges.row[taken]] = edges.outcome[taken]
        inside = self._subtrees(edges, new_root)
        # Number the nodes of the subtrees in their old order.
        new_slots = np.maximum(np.cumsum(inside, axis=1) - 1, 0)
        row, old = np.nonzero(inside)
        new = new_slots[row, old]
        visits = np.where(new_root > 0, self.nodes[rows, new_root, Node.visits.index], 0)
        size = 1 << int(max(1, visits.max()) - 1).bit_length()  # a tree has at most as many nodes as visits

        def moved(part: np.ndarray) -> np.ndarray:
            result = np.zeros((batch, size + 1, *part.shape[2:]), part.dtype)
            result[row, new] = part[row, old]
            return result

        nodes = moved(self.nodes)
        roots = self.roots.copy()
        roots[:, Root.largest.index] = np.where(new_root > 0, roots[:, Root.largest.index], ONE)
        # Returns of nodes count from the root: subtract what was paid before the new one.
        returns = nodes[:, :, Node.size : Node.size + self._players].view(np.float32)
        paid = returns[:, 0].copy()
        returns[row, new] -= paid[row]
        # A proven outcome is a return since the root, too. It stays valid if nothing was paid before the new root.
        holds = (new_root > 0) & ~paid.any(1)
        # The outcome of an edge is for the player who chooses it, that of a root for its player to move.
        mover = np.stack([tree[:, 0, Node.mover.index] for tree in (self.nodes, nodes)])
        root_outcome = np.where(mover[0] == mover[1], outcome, LOSS + WIN - outcome)
        roots[:, Root.proven.index] = np.where(holds & (outcome > 0), root_outcome, 0)
        states = self.states if self.config.replays else moved(self.states)
        if self.config.packed:
            words = np.zeros((batch, self.edges.shape[1] // slots * (size + 1)), np.int32)
        else:
            words = moved(self._by_slot()).reshape(batch, -1)
        result = HostTree(self.config, self.width, roots, nodes, words, states)
        if self.config.packed:
            result._copy_packed(self, row, old, new)
        result._relink(new_slots, holds)
        return result

    def _subtrees(self, edges: TriedEdges, new_root: np.ndarray) -> np.ndarray:
        """Return whether each node is in the subtree of its row's new root, bool [B, slots]; none for slot 0."""
        batch, slots = self.nodes.shape[:2]
        linked = edges.child > 0
        parent = np.zeros((batch, slots), np.int32)
        parent[edges.row[linked], edges.child[linked]] = edges.slot[linked]
        inside = np.arange(slots) == np.where(new_root > 0, new_root, -1)[:, None]
        # A child's slot is higher than its parent's, so one pass in the order of slots reaches all descendants.
        for slot in range(1, slots):
            inside[:, slot] |= inside[np.arange(batch), parent[:, slot]]
        return inside

    def _relink(self, new_slots: np.ndarray, holds: np.ndarray) -> None:
        """Point the links of edges to new slots [B, slots], and drop outcomes in rows where they do not hold."""
        row, _, _, first, stride = self._tried_indices(slice(None))
        index = first + Edge.link.index * stride
        link = self.edges[row, index]
        child = np.where(link & SLOT_BITS, new_slots[row, link & SLOT_BITS], 0)
        self.edges[row, index] = child | np.where(holds[row], link >> OUTCOME_SHIFT, 0) << OUTCOME_SHIFT

    @property
    def _players(self) -> int:
        """Number of players, from the size of a node."""
        rest = PACKED_WORDS if self.config.packed else num_words(self.width)
        return self.nodes.shape[2] - Node.size - rest

    def _copy_packed(self, other: HostTree, row: np.ndarray, old: np.ndarray, new: np.ndarray) -> None:
        """Copy the packed edges of other trees' nodes (slots `old`) to nodes here (slots `new`), without gaps."""
        begin, stride = other._packed_nodes()
        # The words of a node's edges are contiguous: its row of actions, then its statistics.
        lengths, sources = (np.zeros(self.nodes.shape[:2], np.int64) for _ in range(2))
        lengths[row, new] = stride[row, old] * self.config.edge_words
        sources[row, new] = begin[row, old]
        ends = np.cumsum(lengths, axis=1)
        starts = ends - lengths
        self.nodes[:, :, FIRST_EDGE] = starts + lengths // self.config.edge_words  # after the row of actions
        self.roots[:, Root.edge_words.index] = ends[:, -1]
        row, slot, k = ragged(lengths)
        self.edges[row, starts[row, slot] + k] = other.edges[row, sources[row, slot] + k]

    def put(self, tree: TreeArrays, sizes: TreeSizes, whole: BatchLayout, chunk: BatchLayout, first: int) -> None:
        """Write the trees of a chunk into the memory of a search that resumes them.

        Args:
            tree: memory of the search.
            sizes: sizes of a tree of the search.
            whole: layout of the batch.
            chunk: layout of the chunk.
            first: first block of the chunk.
        """
        # The last chunk may have surplus blocks, which repeat the last block of the batch.
        blocks = np.minimum(first + np.arange(chunk.grid.blocks), whole.grid.blocks - 1)
        index = (blocks[:, None] * whole.grid.lanes + np.arange(whole.grid.lanes)).reshape(-1)

        def of_chunk(part: np.ndarray, words: int) -> np.ndarray:
            """Return an array of the chunk's trees, each padded to `words` words."""
            rows = whole.padded(part.reshape(whole.batch, -1)).reshape(whole.shards, whole.grid.rows, -1)
            own = rows[:, index].reshape(chunk.rows, -1)
            return np.pad(own, ((0, 0), (0, words - own.shape[1])))

        # Path steps and action histories, which follow the nodes, are not resumed.
        nodes = np.concatenate([self.roots, self.nodes.reshape(whole.batch, -1)], axis=1)
        write(tree.nodes, of_chunk(nodes, sizes.nodes))
        write(tree.edges, of_chunk(self.edges, sizes.edges))
        if not self.config.replays:
            states = of_chunk(self.states, sizes.states)
            blocks = states.reshape(-1, chunk.grid.lanes, states.shape[1])
            write(tree.states, blocks.transpose(0, 2, 1))


def fetch(tree: TreeArrays, chunk: BatchLayout) -> list[np.ndarray]:
    """Download the trees of a chunk: states, nodes and edges, [shards, rows, words] each."""
    lanes = download(tree.states).reshape(chunk.rows // chunk.grid.lanes, -1, chunk.grid.lanes)
    parts = lanes.transpose(0, 2, 1), download(tree.nodes), download(tree.edges)
    return [part.reshape(chunk.shards, chunk.grid.rows, -1) for part in parts]


def ragged(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the row, column and number of every item, int64 [items] each, given the number of items per cell."""
    counts = counts.astype(np.int64)
    row, column = np.nonzero(counts)
    each = counts[row, column]
    number = np.arange(each.sum()) - np.repeat(np.cumsum(each) - each, each)
    return np.repeat(row, each), np.repeat(column, each), number


class _DrawnNode(NamedTuple):
    """Node of a drawn tree."""

    path: tuple[int, ...]  # actions from the root
    visits: int
    value: float
    children: list[int]  # indices in the list of nodes


def _most_visited(edges: TriedEdges, count: int) -> list[_DrawnNode]:
    """Return the root and the nodes of the `count` most visited edges of the tree."""
    nodes = [_DrawnNode((), int(edges.visits[edges.slot == 0].sum()), 0.0, [])]
    begins = np.searchsorted(edges.slot, np.arange(edges.slot.max(initial=0) + 2))  # first edge of each node
    # Heap of the edges below nodes of the result: the most visited one comes first, then the one nearest to the root.
    waiting: list[tuple[int, int, int, int, int]] = []

    def push(slot: int, parent: int) -> None:
        depth = len(nodes[parent].path) + 1
        for k in range(*begins[slot : slot + 2].tolist()):
            heapq.heappush(waiting, (-int(edges.visits[k]), depth, parent, int(edges.action[k]), k))

    push(0, 0)
    while waiting and len(nodes) <= count:
        negative_visits, _, parent, action, k = heapq.heappop(waiting)
        nodes[parent].children.append(len(nodes))
        nodes.append(_DrawnNode((*nodes[parent].path, action), -negative_visits, float(edges.value[k]), []))
        child = int(edges.child[k])
        if 0 < child < len(begins) - 1:  # a node without visits has no edges
            push(child, len(nodes) - 1)
    return nodes


def _columns(nodes: Sequence[_DrawnNode]) -> list[float]:
    """Return the column of each node. Leaves have 0, 1, ... in depth-first order; others are centred above children."""
    columns = [0.0] * len(nodes)
    num_leaves = 0
    stack = [(0, False)]
    while stack:
        item, children_are_placed = stack.pop()
        children = nodes[item].children
        if children_are_placed:
            columns[item] = (columns[children[0]] + columns[children[-1]]) / 2
        elif children:
            stack += [(item, True), *((child, False) for child in reversed(children))]
        else:
            columns[item] = num_leaves
            num_leaves += 1
    return columns


def tree_svg(edges: TriedEdges, count: int, names: Callable[[Sequence[tuple[int, ...]]], list[str]]) -> str:
    """Draw the `count` most visited actions of a tree, each with its name, visits and mean return.

    Args:
        edges: edges of one tree.
        count: maximum number of actions.
        names: returns the names of the last actions of paths from the root.

    Returns:
        An SVG document.
    """
    nodes = _most_visited(edges, count)
    columns = _columns(nodes)
    width = max(max(columns), 1) * STEP + 2 * MARGIN
    height = max(len(node.path) for node in nodes) * LEVEL + 2 * MARGIN
    drawing = Drawing(width, height, title="Search tree")
    centres = [(x * STEP + MARGIN, len(node.path) * LEVEL + MARGIN) for x, node in zip(columns, nodes, strict=True)]
    visits = max(nodes[0].visits, 1)
    # Lines come first, so that nodes cover their ends.
    for centre, node in zip(centres, nodes, strict=True):
        for child in node.children:
            drawing.line(centre, centres[child], stroke="#8a8a8a", width=1 + 7 * nodes[child].visits / visits)
    # Colours are relative to the largest value, since returns of different games have different scales.
    largest = max(abs(node.value) for node in nodes) or 1.0
    labels = ["", *names([node.path for node in nodes[1:]])]
    for (x, y), label, node in zip(centres, labels, nodes, strict=True):
        part = node.value / largest
        ends = zip(NEITHER, GOOD if part > 0 else BAD, strict=True)
        colour = "#" + "".join(f"{round(a + (b - a) * abs(part)):02x}" for a, b in ends)
        radius = 8 + 10 * math.sqrt(node.visits / visits)
        drawing.circle((x, y), radius, fill=colour, stroke="#444444")
        drawing.text((x, y + radius + 8), f"{node.visits}", 10)
        if node.path:
            drawing.text((x, y - radius - 18), label[:10], 10, bold=True)
            drawing.text((x, y - radius - 7), f"{node.value:+.2f}", 9, "#444444")
    return drawing.to_svg()
