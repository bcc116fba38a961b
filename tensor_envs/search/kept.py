"""Whole trees on the host: put by for the next search, which goes on from the part below what was played."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tensor_envs.core.backend.device import download, write
from tensor_envs.core.engine import Cut
from tensor_envs.search.memory import (
    CHILD,
    COUNT,
    HEAD,
    LARGEST,
    PAID,
    RAW,
    STEP,
    SUM,
    VISITS,
    Form,
    Sizes,
    TreeArrays,
)

ONE = int(np.float32(1).view(np.int32))


@dataclass(frozen=True)
class Kept:
    """Trees of a batch, row by row; reals by their bits.

    Attributes:
        form: of the search.
        heads: int32 [B, HEAD].
        nodes: int32 [B, slots, node].
        edges: int32 [B, slots, numbers, actions].
        states: uint32 [B, slots, words]; where simulations replay, the root's alone.
    """

    form: Form
    heads: np.ndarray
    nodes: np.ndarray
    edges: np.ndarray
    states: np.ndarray

    @classmethod
    def of(cls, form: Form, sizes: Sizes, whole: Cut, chunks: Sequence[Sequence[np.ndarray]]) -> Kept:
        """Trees that `fetch` has fetched, of all chunks of a batch."""
        joined = (np.concatenate(part, axis=1)[:, : whole.share] for part in zip(*chunks, strict=True))
        states, nodes, edges = (part.reshape(whole.batch, -1) for part in joined)
        rest, batch = nodes[:, HEAD : HEAD + form.slots * sizes.node], whole.batch
        return cls(
            form,
            nodes[:, :HEAD],
            rest.reshape(batch, form.slots, sizes.node),
            edges.reshape(batch, form.slots, form.numbers, -1),
            states.reshape(batch, 1 if form.replays else form.slots, -1),
        )

    @property
    def visits(self) -> np.ndarray:
        """int32 [B, slots, A]: of every action of a node."""
        return self.edges[:, :, COUNT]

    @property
    def values(self) -> np.ndarray:
        """float32 [B, slots, A]: the mean return of every action to who chose it; 0 of one that was not tried."""
        return self.edges[:, :, SUM].view(np.float32) / np.maximum(self.visits, 1).astype(np.float32)

    @property
    def children(self) -> np.ndarray:
        """int32 [B, slots, A]: the slot that an action leads to; 0 for none."""
        return self.edges[:, :, CHILD]

    def numbers(self, actions: int) -> np.ndarray:
        """int32 [B, 3 A + 1], as a search finds them: visits, their shares, values; the root's value."""
        visits, many = self.visits[:, 0, :actions], self.nodes[:, 0, VISITS].astype(np.float32)
        values, network = self.values[:, 0, :actions], self.form.method != "playout"
        parts = self.nodes[:, 0, [RAW]] * network, self.edges[:, 0, SUM, :actions]
        total = np.cumsum(np.concatenate(parts, axis=1).view(np.float32), axis=1, dtype=np.float32)[:, -1]
        share = visits / np.maximum(many, 1)[:, None]
        value = total / (many + 1 if network else np.maximum(many, 1))
        reals = np.concatenate([share, values, value[:, None]], axis=1).astype(np.float32)
        return np.concatenate([visits, reals.view(np.int32)], axis=1)

    def under(self, action: np.ndarray) -> Kept:
        """The trees below an action of every root, with room for a power of two of nodes; some may be empty."""
        batch, slots = self.nodes.shape[:2]
        rows, children = np.arange(batch), self.children
        parent = np.zeros((batch, slots), np.int32)
        row, node, through = np.nonzero(children)
        parent[row, children[row, node, through]] = node
        first = children[rows, 0, action]
        inside = np.arange(slots) == np.where(first > 0, first, -1)[:, None]
        for slot in range(1, slots):  # what a node leads to stands behind it
            inside[:, slot] |= inside[rows, parent[:, slot]]
        place = np.maximum(np.cumsum(inside, axis=1) - 1, 0)  # a node's after this
        row, old = np.nonzero(inside)
        new = place[row, old]
        root = np.where(first > 0, self.nodes[rows, first, VISITS], 0)
        room = 1 << int(max(1, root.max()) - 1).bit_length()  # its nodes are as many as its visits, at most
        form = Form(**(vars(self.form) | {"kept": room, "simulations": 0}))

        def moved(part: np.ndarray) -> np.ndarray:
            there = np.zeros((batch, room + 1, *part.shape[2:]), part.dtype)
            there[row, new] = part[row, old]
            return there

        nodes, edges = moved(self.nodes), moved(self.edges)
        states = self.states if self.form.replays else moved(self.states)
        edges[row, new, CHILD] = np.where(
            edges[row, new, CHILD] > 0, place[row[:, None], edges[row, new, CHILD]], 0
        )
        paid = nodes[:, :, PAID : nodes.shape[2] - self.mask_words].view(np.float32)
        paid[row, new] -= paid[row, 0].copy()
        heads = self.heads.copy()
        heads[:, LARGEST] = np.where(first > 0, heads[:, LARGEST], ONE)
        return Kept(form, heads, nodes, edges, states)

    @property
    def mask_words(self) -> int:
        return -(-self.edges.shape[3] // 32)

    def put(self, tree: TreeArrays, form: Form, whole: Cut, chunk: Cut, first: int) -> None:
        """Write the trees of a chunk, which begins with a block, into the memory of a search that goes on from them."""
        # blocks behind the last one search it, too: with its trees, since all of them write what they find
        blocks = np.minimum(first + np.arange(chunk.grid.blocks), whole.grid.blocks - 1)
        index = (blocks[:, None] * whole.grid.lanes + np.arange(whole.grid.lanes)).reshape(-1)

        def of_chunk(part: np.ndarray, more: int) -> np.ndarray:
            rows = whole.padded(part.reshape(whole.batch, -1)).reshape(whole.shards, whole.grid.rows, -1)
            return np.pad(rows[:, index].reshape(chunk.rows, -1), ((0, 0), (0, more)))

        new = form.simulations
        nodes = np.concatenate([self.heads, self.nodes.reshape(whole.batch, -1)], axis=1)
        write(tree.nodes, of_chunk(nodes, new * self.nodes.shape[2] + form.slots * STEP))
        write(tree.edges, of_chunk(self.edges, new * int(np.prod(self.edges.shape[2:]))))
        if not form.replays:
            states = of_chunk(self.states, new * self.states.shape[2])
            blocks = states.reshape(-1, chunk.grid.lanes, states.shape[1])
            write(tree.states, blocks.transpose(0, 2, 1))


def fetch(tree: TreeArrays, chunk: Cut) -> list[np.ndarray]:
    """The memory of a search on the host, [shards, rows, ...] each: states, nodes, edges."""
    lanes = download(tree.states).reshape(chunk.rows // chunk.grid.lanes, -1, chunk.grid.lanes)
    parts = lanes.transpose(0, 2, 1), download(tree.nodes), download(tree.edges)
    return [part.reshape(chunk.shards, chunk.grid.rows, -1) for part in parts]
