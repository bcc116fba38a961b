"""Positions of a game, and their expansion in batches by the environment's kernels."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from tensor_envs._engine.batch_layout import BatchBuffers
from tensor_envs._engine.layout import column_of
from tensor_envs._runtime.threads import num_threads
from tensor_envs.envs.env import Env
from tensor_envs.envs.state import State
from tensor_envs.solve.branches import PARENTS, Branches
from tensor_envs.solve.canonical import precedes
from tensor_envs.solve.field_maps import FieldMaps
from tensor_envs.solve.packed import Array, Groups, Packed, concat, groups

MAX_DEPTH = 2**31 - 1
CHUNK = 1 << 14  # rows whose images are computed at once: they stay in cache


class Positions(NamedTuple):
    """Set of different positions.

    Attributes:
        keys: keys of the positions, which are equal for positions that are equal up to symmetry.
        fields: state fields of each position, or of one that is equal up to symmetry; more words may follow.
        results: 0 for an unfinished game, else 1 + the index of its result in `Expander.results`, uint16 [n].
        orbits: number of positions that are equal up to symmetry to each one, itself included, uint16 [n].
    """

    keys: Packed
    fields: Packed
    results: Array
    orbits: Array

    def __len__(self) -> int:
        return len(self.keys)

    def take(self, rows: Array) -> Positions:
        """Return the positions in some rows."""
        fields = self.fields[rows]
        keys = fields if self.keys is self.fields else self.keys[rows]
        return Positions(keys, fields, self.results[rows], self.orbits[rows])


class Rows(NamedTuple):
    """Games of a batch, for a lookup.

    Attributes:
        columns: columns of the keys, each uint32 [B].
        results: results as in `Positions`, uint16 [B].
        plies: plies of the games, int64 [B].
    """

    columns: list[Array]
    results: Array
    plies: Array


class Children(NamedTuple):
    """Edges of the game graph to the children of some positions.

    Attributes:
        parents: number of each edge's parent, int32 [edges].
        number: row of each edge's child in `positions`, int32 [edges].
        positions: the different children.
        unmerged: number of each edge's child if symmetries are ignored, int32 [edges].
    """

    parents: Array
    number: Array
    positions: Positions
    unmerged: Array


class Expander(Branches):
    """Kernels that play every legal action in many positions, and merge equal children.

    Attributes:
        symmetry: the constructor's `symmetry`.
        start: initial positions, all equally likely, with one edge each and no parents.
        results: all different results of finished games so far, as the players' rewards.
        paid_early: whether an action has paid without ending its game.
        by_ply: whether equal fields at different plies are different positions.
    """

    def __init__(self, start: Env | State, symmetry: bool, count_plies: bool):
        """Prepare the kernels and the initial positions.

        Args:
            start: an environment, or games of one environment at the same ply.
            symmetry: identify positions up to symmetry.
            count_plies: make the ply a part of every position even if the rules do not depend on it.

        Raises:
            TypeError, ValueError: a start that cannot be searched.
        """
        super().__init__(start)
        if not self.env.spec.perfect_information:
            raise ValueError(f"start must be of a game that hides nothing; {self.env!r} has hidden information")
        # Equal boards of different plies are one position unless the rules or the caller distinguish plies.
        self.by_ply = self.rules_read_ply or count_plies
        self.results: list[tuple[float, ...]] = []
        self.paid_early = False
        self._key_masks = FieldMaps(self.spec, self.layout, ()).masks
        table = self.first_table
        buffers = self.upload(table)
        self._images: list[Array] = []
        if symmetry:
            self._maps = FieldMaps(self.spec, self.layout, self.env.symmetries())
            packed = self._maps.packed(table)
            bits = np.unpackbits(packed, axis=1, bitorder="little")
            # Use only symmetries that leave the start unchanged: others map to positions that it does not lead to.
            maps = [p for p in self._maps.permutations if (bits[:, p] == bits[:, : len(p)]).all()]
            self._images = [images(p) for p in maps] if len(maps) > 1 else []
        self.start = self._children(buffers, table, self._results(table), np.zeros(0, np.int32))
        self.symmetry = symmetry

    # *** batches ***

    def batch(self, state: State) -> tuple[BatchBuffers, Array]:
        """Return a state's games as a batch of this engine, and their words. ValueError for another environment."""
        self.env.check_state(state)
        table = self.pack(state)
        return self.upload(table), table

    def player(self, fields: Packed) -> Array:
        """Return the player to move of each position, int64 [rows]."""
        column = fields.columns()[self.player_slot.word]
        return column_of(column[:, None], self.player_slot._replace(word=0))

    def load(self, fields: Packed, ply: int) -> BatchBuffers:
        """Upload positions as a batch, padded by repeated rows to `padded_size`."""
        table = np.zeros((len(fields), self.layout.words), np.uint32)
        for w, column in enumerate(fields.columns()[: self.layout.field_words]):
            table[:, w] = column
        # The ply is not part of a packed position; it is put back where the rules may read it.
        table[:, self.ply_slot.word] |= np.uint32((ply if self.by_ply else 0) << self.ply_slot.shift)
        return self.engine.refresh(self.upload(table))

    # *** keys of positions ***

    def rows(self, table: Array) -> Rows:
        """Return the keys, results and plies of a table, for a lookup."""
        results = self._results(table)
        columns = self._canonical(table, results)[0] if self._images else self._words(table, results)
        return Rows(columns, results, column_of(table, self.ply_slot))

    def _words(self, table: Array, results: Array) -> list[Array]:
        """Return the keys of a table: the fields without ply and episode, then the result."""
        return [*(table[:, w] & mask for w, mask in enumerate(self._key_masks)), results.astype(np.uint32)]

    def _canonical(self, table: Array, results: Array) -> tuple[list[Array], Array]:
        """Return canonical keys (least image of the fields, then the result) and orbit sizes."""
        smallest, orbits = canonical(self._maps.packed(table), self._images)
        return [*smallest, results.astype(np.uint32)], orbits

    def _children(self, buffers: BatchBuffers, table: Array, results: Array, parents: Array) -> Children:
        """Return the children of positions with equal ones merged.

        Args:
            buffers: batch of the games after the edges.
            table: words of these games without padding, uint32 [edges, words].
            results: their results, uint16 [edges].
            parents: numbers of the parents, int32 [edges].
        """
        # Merge equal positions first, since images take more time than a comparison.
        words = Packed.of(self._words(table, results))
        equal = groups(words)
        unmerged = equal.number
        first = equal.first
        words = words[first]
        results = results[first]
        if not self._images:
            merged = Positions(words, words, results, np.ones(len(first), np.uint16))
            return Children(parents, unmerged, merged, unmerged)
        columns, orbits = self._canonical(table[first], results)
        keys = Packed.of(columns)
        equal = groups(keys)
        first = equal.first
        merged = Positions(keys[first], words[first], results[first], orbits[first])
        return Children(parents, equal.number[unmerged], merged, unmerged)

    def _results(self, table: Array) -> Array:
        """Return the results of a table's games as in `Positions`, uint16 [rows], and register new results."""
        rewards = self.rewards(table)
        over = self.is_over(table)
        numbers = over.astype(np.uint16)
        self.paid_early |= bool(rewards[~over].any())
        remaining = np.flatnonzero(over)
        rewards = rewards[remaining]
        index = 0
        while len(remaining):
            # A result that no earlier game had gets the next number.
            if index == len(self.results):
                self.results.append(tuple((rewards[0] + 0.0).tolist()))  # adding 0 turns -0.0 into 0.0
            equal = (rewards == np.array(self.results[index], np.float32)).all(1)
            index += 1
            numbers[remaining[equal]] = index
            remaining = remaining[~equal]
            rewards = rewards[~equal]
        return numbers

    # *** children ***

    def expand(self, fields: Packed, ply: int) -> Iterator[Children]:
        """Yield the children of unfinished positions in parts, with their edges in order."""
        # This thread plays the next edges while others merge the children of earlier ones.
        threads = num_threads()
        with ThreadPoolExecutor(max(1, threads - 1)) as others:
            waiting = deque[Future[Children]]()
            for begin in range(0, len(fields), PARENTS):
                chunk = fields[begin : begin + PARENTS]
                for rows, _, after, table in self.play_all(self.load(chunk, ply), len(chunk)):
                    parents = (rows + begin).astype(np.int32)
                    results = self._results(table)
                    waiting.append(others.submit(self._children, after, table, results, parents))
                    # Parts are yielded in order, and no more than one per thread is held in memory.
                    if len(waiting) == threads:
                        yield waiting.popleft().result()
            yield from (children.result() for children in waiting)


def merge(parts: list[Positions]) -> tuple[Positions, Groups]:
    """Return the different positions of all parts, and the groups of equal ones among their concatenation."""
    if len(parts) == 1:
        rows = np.arange(len(parts[0]))
        return parts[0], Groups(rows, rows)
    keys = concat([part.keys for part in parts])
    # Without symmetries the keys are the fields themselves.
    fields = keys if parts[0].keys is parts[0].fields else concat([part.fields for part in parts])
    results = np.concatenate([part.results for part in parts])
    orbits = np.concatenate([part.orbits for part in parts])
    equal = groups(keys)
    return Positions(keys, fields, results, orbits).take(equal.first), equal


def images(permutation: Array) -> Array:
    """Return a lookup table that permutes packed bits: the image of each value of each byte.

    Args:
        permutation: source of each bit, int64 [bits].

    Returns:
        uint64 [bytes, 256, words].
    """
    size = len(permutation)
    words = -(-size // 64)
    table = np.zeros((8 * words, 256, words), np.uint64)
    values = np.arange(256)
    for target, source in enumerate(permutation.tolist()):
        # The target bit is set in the image of every value of the source's byte that has the source bit.
        has_source = (values >> source % 8 & 1).astype(np.uint64)
        table[source // 8, :, target // 64] |= has_source << np.uint64(target % 64)
    return table[: -(-size // 8)]


def canonical(packed: Array, maps: list[Array]) -> tuple[list[Array], Array]:
    """Return the least image of every row under some maps, as columns of 32-bit words, and the orbit sizes.

    Args:
        packed: bits of each row, packed into bytes, uint8 [rows, bytes].
        maps: tables by `images`, the identity first.
    """
    words = maps[0].shape[2]
    least = np.empty((words, len(packed)), np.uint64)
    orbits = np.empty(len(packed), np.uint16)
    for begin in range(0, len(packed), CHUNK):
        chunk = packed[begin : begin + CHUNK]
        # Bytes that are 0 in all rows have empty images and are skipped.
        columns = {int(j): np.ascontiguousarray(chunk[:, j], np.intp) for j in np.flatnonzero(chunk.any(0))}
        original = best = _image(maps[0], columns, len(chunk))
        fixed = np.ones(len(chunk), np.uint16)  # maps that leave the row unchanged; the identity is one
        for table in maps[1:]:
            image = _image(table, columns, len(chunk))
            fixed += np.logical_and.reduce([x == y for x, y in zip(image, original, strict=True)])
            less = precedes(image, best)
            best = [np.where(less, x, y) for x, y in zip(image, best, strict=True)]
        least[:, begin : begin + CHUNK] = best
        # The orbit has as many positions as there are maps for each map that fixes one (orbit-stabiliser theorem).
        orbits[begin : begin + CHUNK] = len(maps) // fixed
    halves = least.astype("<u8").view("<u4").reshape(words, -1, 2)
    return [halves[k, :, h].astype(np.uint32) for k in range(words) for h in (0, 1)], orbits


def _image(table: Array, columns: Mapping[int, Array], rows: int) -> list[Array]:
    """Return the image of rows under one symmetry, as columns of 64-bit words.

    table: uint64 [bytes, 256, words], the image of each value of each byte of a row.
    columns: bytes of the rows by their positions; bytes that are 0 in all rows are left out.
    """
    words = [np.zeros(rows, np.uint64) for _ in range(table.shape[2])]
    for k, word in enumerate(words):
        for j, column in columns.items():
            word |= table[j, :, k].take(column)
    return words
