"""Positions of a game, and their expansion in batches by the environment's kernels."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from tensor_envs._engine.batch_layout import BatchBuffers
from tensor_envs._runtime.threads import num_threads
from tensor_envs.envs.env import Env
from tensor_envs.envs.state import State
from tensor_envs.solve.branches import PARENTS, Branches
from tensor_envs.solve.field_maps import FieldMaps
from tensor_envs.solve.packed import Array, Groups, Packed, concat, groups

MAX_DEPTH = 2**31 - 1
CHUNK = 1 << 14  # rows whose images are computed at once: they stay in cache


class Positions(NamedTuple):
    """Set of different positions.

    Attributes:
        keys: keys that identify them.
        fields: state fields of each, or of a position that is equal up to symmetry; more words may follow.
        results: 0 for a game that is not over, else 1 + index in the expander's results, uint16 [n].
        orbits: number of positions that are equal up to symmetry, uint16 [n].
    """

    keys: Packed
    fields: Packed
    results: Array
    orbits: Array

    def __len__(self) -> int:
        return len(self.keys)

    def take(self, rows: Array) -> Positions:
        """Return the positions at some rows."""
        fields = self.fields[rows]
        keys = fields if self.keys is self.fields else self.keys[rows]
        return Positions(keys, fields, self.results[rows], self.orbits[rows])


class Rows(NamedTuple):
    """Games of a batch: columns of keys that identify positions, results as in `Positions`, and plies."""

    columns: list[Array]
    results: Array
    plies: Array


class Children(NamedTuple):
    """Edges of the game graph: `parents` and `number`, int32 [edges], index the parents and `positions`.

    `unmerged` numbers the positions of the edges as if symmetry made none of them equal.
    """

    parents: Array
    number: Array
    positions: Positions
    unmerged: Array


class Expander(Branches):
    """Expansion of positions: plays every legal action in many of them.

    Attributes:
        symmetry: the constructor's `symmetry`.
        start: initial positions, all equally likely, with one edge each and no parents.
        results: all different results of finished games so far.
        paid_early: whether an action paid without ending its game.
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
        # Equal boards of different plies are one position unless the rules, or the count, tell them apart.
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
            # The start must be unchanged: the first words of the permuted bits are compared with the table's own.
            # other symmetries would map to positions that the start does not lead to
            maps = [p for p in self._maps.permutations if (bits[:, p] == bits[:, : len(p)]).all()]
            self._images = [images(p) for p in maps] if len(maps) > 1 else []
        self.start = self._children(buffers, table, self._results(table), np.zeros(0, np.int32))
        self.symmetry = symmetry

    # *** batches ***

    def batch(self, state: State) -> tuple[BatchBuffers, Array]:
        """Return a state's buffers for this expander's engine, and their words. ValueError for another environment."""
        self.env.check_state(state)
        table = self.pack(state)
        return self.upload(table), table

    def player(self, fields: Packed) -> Array:
        """Return the players to move, int64 [rows]."""
        column = fields.columns()[self.player_slot.word]
        return self.number(column[:, None], self.player_slot._replace(word=0))

    def load(self, fields: Packed, ply: int) -> BatchBuffers:
        """Load positions as a batch; rows are repeated to fill up `padded_size`."""
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
        return Rows(columns, results, self.number(table, self.ply_slot))

    def _words(self, table: Array, results: Array) -> list[Array]:
        """Return the keys of a table: the fields without ply and episode, then the result."""
        return [*(table[:, w] & mask for w, mask in enumerate(self._key_masks)), results.astype(np.uint32)]

    def _canonical(self, table: Array, results: Array) -> tuple[list[Array], Array]:
        """Return canonical keys (least image of the fields, then the result) and orbit sizes."""
        smallest, orbits = canonical(self._maps.packed(table), self._images)
        return [*smallest, results.astype(np.uint32)], orbits

    def _children(self, buffers: BatchBuffers, table: Array, results: Array, parents: Array) -> Children:
        """Return the children of a batch with equal positions merged; the table holds the first games of the batch."""
        # Merge equal positions first, since images take more time than a comparison.
        words = Packed.of(self._words(table, results))
        same = groups(words)
        number = same.number
        first = same.first
        words = words[first]
        results = results[first]
        if not self._images:
            merged = Positions(words, words, results, np.ones(len(first), np.uint16))
            return Children(parents, number, merged, number)
        columns, orbits = self._canonical(table[first], results)
        keys = Packed.of(columns)
        same = groups(keys)
        first = same.first
        merged = Positions(keys[first], words[first], results[first], orbits[first])
        return Children(parents, same.number[number], merged, number)

    def _results(self, table: Array) -> Array:
        """Return the results of a table's games as in `Positions`, uint16 [rows], and register new results."""
        paid = self.paid(table)
        over = self.over(table)
        numbers = over.astype(np.uint16)
        remaining = np.flatnonzero(over)
        self.paid_early |= bool(paid[~over].any())
        paid = paid[remaining]
        index = 0
        while len(remaining):
            # A result that no earlier game had gets the next number.
            if index == len(self.results):
                self.results.append(tuple((paid[0] + 0.0).tolist()))
            same = (paid == np.array(self.results[index], np.float32)).all(1)
            index += 1
            numbers[remaining[same]] = index
            remaining = remaining[~same]
            paid = paid[~same]
        return numbers

    # *** children ***

    def expand(self, fields: Packed, ply: int) -> Iterator[Children]:
        """Yield the children of positions that are not over, in parts, with their edges in order."""
        # This thread plays the next edges while the others merge the last ones.
        threads = num_threads()
        with ThreadPoolExecutor(max(1, threads - 1)) as others:
            waiting = deque[Future[Children]]()
            for begin in range(0, len(fields), PARENTS):
                chunk = fields[begin : begin + PARENTS]
                for rows, _, after, table in self.after(self.load(chunk, ply), len(chunk)):
                    parents = (rows + begin).astype(np.int32)
                    results = self._results(table)
                    waiting.append(others.submit(self._children, after, table, results, parents))
                    # Parts are yielded in order, and only so many are held in memory.
                    if len(waiting) == threads:
                        yield waiting.popleft().result()
            yield from (children.result() for children in waiting)


def joined(parts: list[Positions]) -> tuple[Positions, Groups]:
    """Merge the positions of all parts. Returns them and the groups of equal ones."""
    if len(parts) == 1:
        each = np.arange(len(parts[0]))
        return parts[0], Groups(each, each)
    keys = concat([part.keys for part in parts])
    # Without symmetries the keys are the fields themselves.
    alike = parts[0].keys is parts[0].fields
    fields = keys if alike else concat([part.fields for part in parts])
    results, orbits = (np.concatenate([part[k] for part in parts]) for k in (2, 3))
    same = groups(keys)
    return Positions(keys, fields, results, orbits).take(same.first), same


def images(permutation: Array) -> Array:
    """Return a lookup table that permutes packed bits: the image of each byte's values, uint64 [bytes, 256, words]."""
    size = len(permutation)
    words = -(-size // 64)
    table = np.zeros((8 * words, 256, words), np.uint64)
    values = np.arange(256)
    for to, bit in enumerate(permutation.tolist()):
        # Bit `bit` of the source becomes bit `to`: all values of its byte that have it set it in the image.
        has = (values >> bit % 8 & 1).astype(np.uint64)
        table[bit // 8, :, to // 64] |= has << np.uint64(to % 64)
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
    for at in range(0, len(packed), CHUNK):
        chunk = packed[at : at + CHUNK]
        # Bytes that are 0 in all rows have no image and are skipped.
        columns = {int(j): np.ascontiguousarray(chunk[:, j], np.intp) for j in np.flatnonzero(chunk.any(0))}
        original = best = _image(maps[0], columns, len(chunk))
        fixed = np.ones(len(chunk), np.uint16)  # maps that leave the row unchanged; the identity is one
        for table in maps[1:]:
            image = _image(table, columns, len(chunk))
            fixed += np.logical_and.reduce([x == y for x, y in zip(image, original, strict=True)])
            less = np.zeros(len(fixed), bool)
            same = np.ones(len(fixed), bool)
            for x, y in zip(image, best, strict=True):
                less |= same & (x < y)
                same &= x == y
            best = [np.where(less, x, y) for x, y in zip(image, best, strict=True)]
        least[:, at : at + CHUNK] = best
        # The orbit has as many positions as there are maps for each map that fixes one (orbit-stabiliser theorem).
        orbits[at : at + CHUNK] = len(maps) // fixed
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
