"""Whole trees on the host, which a later search resumes below the actions played."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tensor_envs._compiler.devices import download, write
from tensor_envs._engine.batch_layout import BatchLayout
from tensor_envs.rules.bits import num_words
from tensor_envs.search.tables import Edge, Node, Root, SearchConfig, Step, TreeArrays, TreeSizes

ONE = int(np.float32(1).view(np.int32))


@dataclass(frozen=True)
class HostTree:
    """Host copy of the trees of a batch, row by row; reals are kept by their bits.

    Attributes:
        config: of the search.
        roots: int32 [B, Root.size].
        nodes: int32 [B, slots, node].
        edges: int32 [B, slots, words, actions].
        states: uint32 [B, slots, words]; of the root alone where simulations replay.
    """

    config: SearchConfig
    roots: np.ndarray
    nodes: np.ndarray
    edges: np.ndarray
    states: np.ndarray

    @classmethod
    def of(
        cls,
        config: SearchConfig,
        sizes: TreeSizes,
        whole: BatchLayout,
        chunks: Sequence[Sequence[np.ndarray]],
    ) -> HostTree:
        """Join what `fetch` has fetched of all chunks of a batch."""
        joined = (np.concatenate(part, axis=1)[:, : whole.share] for part in zip(*chunks, strict=True))
        states, nodes, edges = (part.reshape(whole.batch, -1) for part in joined)
        rest, batch = nodes[:, Root.size : Root.size + config.slots * sizes.node], whole.batch
        return cls(
            config,
            nodes[:, : Root.size],
            rest.reshape(batch, config.slots, sizes.node),
            edges.reshape(batch, config.slots, config.edge_words, -1),
            states.reshape(batch, 1 if config.replays else config.slots, -1),
        )

    @property
    def visits(self) -> np.ndarray:
        """int32 [B, slots, A], visits of every action of a node."""
        return self.edges[:, :, Edge.visits.index]

    @property
    def values(self) -> np.ndarray:
        """float32 [B, slots, A], mean return of every action to its player; 0 of an action that was not tried."""
        return self._sums.view(np.float32) / np.maximum(self.visits, 1).astype(np.float32)

    @property
    def _sums(self) -> np.ndarray:
        return self.edges[:, :, Edge.value_sum.index]

    @property
    def children(self) -> np.ndarray:
        """int32 [B, slots, A], the slot that an action leads to; 0 for none."""
        return self.edges[:, :, Edge.child.index]

    def numbers(self, actions: int) -> np.ndarray:
        """Return int32 [B, 3 A + 1], as `Result.numbers`; weights are shares of visits."""
        visits, many = self.visits[:, 0, :actions], self.nodes[:, 0, Node.visits.index].astype(np.float32)
        values, network = self.values[:, 0, :actions], self.config.selection.uses_network
        parts = self.nodes[:, 0, [Node.raw_value.index]] * network, self._sums[:, 0, :actions]
        total = np.cumsum(np.concatenate(parts, axis=1).view(np.float32), axis=1, dtype=np.float32)[:, -1]
        share = visits / np.maximum(many, 1)[:, None]
        value = total / (many + 1 if network else np.maximum(many, 1))
        reals = np.concatenate([share, values, value[:, None]], axis=1).astype(np.float32)
        return np.concatenate([visits, reals.view(np.int32)], axis=1)

    def under(self, action: np.ndarray) -> HostTree:
        """Return the trees below an action of every root, with room for a power of two of nodes; some may be empty."""
        batch, slots = self.nodes.shape[:2]
        rows, children = np.arange(batch), self.children
        parent = np.zeros((batch, slots), np.int32)
        row, node, through = np.nonzero(children)
        parent[row, children[row, node, through]] = node
        first = children[rows, 0, action]
        inside = np.arange(slots) == np.where(first > 0, first, -1)[:, None]
        for slot in range(1, slots):  # a child's slot is higher than its parent's
            inside[:, slot] |= inside[rows, parent[:, slot]]
        place = np.maximum(np.cumsum(inside, axis=1) - 1, 0)  # new slots
        row, old = np.nonzero(inside)
        new = place[row, old]
        root = np.where(first > 0, self.nodes[rows, first, Node.visits.index], 0)
        room = 1 << int(max(1, root.max()) - 1).bit_length()  # a tree has at most as many nodes as visits

        def moved(part: np.ndarray) -> np.ndarray:
            result = np.zeros((batch, room + 1, *part.shape[2:]), part.dtype)
            result[row, new] = part[row, old]
            return result

        nodes, edges = moved(self.nodes), moved(self.edges)
        states = self.states if self.config.replays else moved(self.states)
        child = edges[row, new, Edge.child.index]
        edges[row, new, Edge.child.index] = np.where(child > 0, place[row[:, None], child], 0)
        returns = nodes[:, :, Node.size : nodes.shape[2] - num_words(edges.shape[3])].view(np.float32)
        returns[row, new] -= returns[row, 0].copy()
        roots = self.roots.copy()
        roots[:, Root.largest.index] = np.where(first > 0, roots[:, Root.largest.index], ONE)
        return HostTree(replace(self.config, resumed=room, simulations=0), roots, nodes, edges, states)

    def put(
        self, tree: TreeArrays, config: SearchConfig, whole: BatchLayout, chunk: BatchLayout, first: int
    ) -> None:
        """Write the trees of a chunk, which starts at block `first`, into the memory of a search that resumes them."""
        # a chunk may exceed the batch: its last blocks repeat the batch's last one, as all of them write results
        blocks = np.minimum(first + np.arange(chunk.grid.blocks), whole.grid.blocks - 1)
        index = (blocks[:, None] * whole.grid.lanes + np.arange(whole.grid.lanes)).reshape(-1)

        def of_chunk(part: np.ndarray, more: int) -> np.ndarray:
            rows = whole.padded(part.reshape(whole.batch, -1)).reshape(whole.shards, whole.grid.rows, -1)
            return np.pad(rows[:, index].reshape(chunk.rows, -1), ((0, 0), (0, more)))

        new = config.simulations
        nodes = np.concatenate([self.roots, self.nodes.reshape(whole.batch, -1)], axis=1)
        write(tree.nodes, of_chunk(nodes, new * self.nodes.shape[2] + config.slots * Step.size))
        write(tree.edges, of_chunk(self.edges, new * int(np.prod(self.edges.shape[2:]))))
        if not config.replays:
            states = of_chunk(self.states, new * self.states.shape[2])
            blocks = states.reshape(-1, chunk.grid.lanes, states.shape[1])
            write(tree.states, blocks.transpose(0, 2, 1))


def fetch(tree: TreeArrays, chunk: BatchLayout) -> list[np.ndarray]:
    """Download the memory of a search: states, nodes and edges, [shards, rows, ...] each."""
    lanes = download(tree.states).reshape(chunk.rows // chunk.grid.lanes, -1, chunk.grid.lanes)
    parts = lanes.transpose(0, 2, 1), download(tree.nodes), download(tree.edges)
    return [part.reshape(chunk.shards, chunk.grid.rows, -1) for part in parts]
