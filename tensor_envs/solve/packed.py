"""Compact tables of positions: only the bits that differ among the rows, packed into 64-bit keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
KEY_BITS = 64


class Span(NamedTuple):
    """Bits `shift` to `shift + width - 1` of a word, stored in a key from bit `key_shift` on."""

    word: int
    shift: int
    width: int
    key: int
    key_shift: int


class Packed:
    """Immutable rows of 32-bit words: the common bits, and keys uint64 [keys, rows] of the bits that differ."""

    def __init__(self, base: Array, varying: Array, keys: Array):
        """Wrap rows that are packed already.

        Args:
            base: the common bits, uint32 [words].
            varying: mask of the bits that may differ, uint32 [words].
            keys: the bits that differ, uint64 [keys, rows].
        """
        self.base = base & ~varying
        self.varying = varying
        self.keys = keys
        self._spans = spans(varying)

    @staticmethod
    def of(columns: Sequence[Array]) -> Packed:
        """Pack rows, given by columns uint32 [rows] of words."""
        # The first row is the base, and 0 without rows.
        base = np.array([np.bitwise_or.reduce(c[:1]) for c in columns], np.uint32)
        # Every bit in which any row differs from the first one must be in the keys.
        varying = np.array([np.bitwise_or.reduce(c ^ x) for c, x in zip(columns, base, strict=True)], np.uint32)
        return Packed.like(base, varying, columns)

    @staticmethod
    def like(base: Array, varying: Array, columns: Sequence[Array]) -> Packed:
        """Pack rows that agree with `base` except in the bits of `varying`."""
        packed = Packed(base, varying, np.empty((0, 0), np.uint64))
        packed.keys = packed.encode(columns)
        return packed

    def encode(self, columns: Sequence[Array]) -> Array:
        """Return the keys of rows, uint64 [keys, rows]."""
        count = 1 + max((span.key for span in self._spans), default=0)
        keys = np.zeros((count, len(columns[0])), np.uint64)
        for word, shift, width, key, key_shift in self._spans:
            bits = columns[word] >> np.uint32(shift) & np.uint32((1 << width) - 1)
            keys[key] |= bits.astype(np.uint64) << np.uint64(key_shift)
        return keys

    def columns(self) -> list[Array]:
        """Return the unpacked rows: one column, uint32 [rows], for each word."""
        words: list[Array] = [np.full(len(self), x, np.uint32) for x in self.base]
        for word, shift, width, key, key_shift in self._spans:
            bits = self.keys[key] >> np.uint64(key_shift) & np.uint64((1 << width) - 1)
            words[word] |= (bits << np.uint64(shift)).astype(np.uint32)
        return words

    def __len__(self) -> int:
        return int(self.keys.shape[1])

    def __getitem__(self, rows: Any) -> Packed:
        return Packed(self.base, self.varying, self.keys[:, rows])

    def can_hold(self, columns: Sequence[Array]) -> Array:
        """Return whether each row has the common bits of this table, so that its keys identify it, bool [rows]."""
        agrees = np.ones(len(columns[0]), bool)
        for column, base, varying in zip(columns, self.base, self.varying, strict=True):
            agrees &= column & ~varying == base
        return agrees


def spans(varying: Array) -> tuple[Span, ...]:
    """Assign the varying bits of every word to a range of bits of a key."""
    result = []
    used = list[int]()  # bits of each key that are taken
    for word, bits in enumerate(varying.tolist()):
        if not bits:
            continue
        # The range from the lowest to the highest varying bit moves as one piece, with a shift and a mask.
        shift = (bits & -bits).bit_length() - 1
        width = bits.bit_length() - shift
        # First fit: most games' positions need one key, so that sorting compares one integer.
        key = next((k for k, n in enumerate(used) if n + width <= KEY_BITS), len(used))
        if key == len(used):
            used.append(0)
        result.append(Span(word, shift, width, key, used[key]))
        used[key] += width
    return tuple(result)


def concat(parts: Sequence[Packed]) -> Packed:
    """Concatenate the rows of all parts."""
    varying = parts[0].varying
    for part in parts:
        # Bits that differ between the parts' common bits vary in the whole table.
        varying = varying | part.varying | part.base ^ parts[0].base
    alike = all((part.varying == varying).all() and (part.base == parts[0].base).all() for part in parts)
    # Keys with the same layout are concatenated as they are, which is the usual case.
    if not alike:
        parts = [Packed.like(part.base, varying, part.columns()) for part in parts]
    return Packed(parts[0].base, varying, np.concatenate([part.keys for part in parts], axis=1))


class Groups(NamedTuple):
    """Groups of equal rows: `order` [rows] sorts the rows, and `starts` [groups] are the groups' starts in it."""

    order: Array
    starts: Array

    @property
    def first(self) -> Array:
        """First row of every group, [groups]."""
        return np.minimum.reduceat(self.order, self.starts)

    @property
    def number(self) -> Array:
        """Group of every row, int32 [rows]."""
        begins = np.zeros(len(self.order), np.int32)
        begins[self.starts[1:]] = 1
        number = np.empty(len(self.order), np.int32)
        number[self.order] = np.cumsum(begins, dtype=np.int32)
        return number

    def total(self, values: Array) -> Array:
        """Return the sum of int64 values [rows] over every group, [groups]."""
        return np.add.reduceat(values[self.order], self.starts)


def groups(rows: Packed) -> Groups:
    """Group equal rows by sorting; exact even if hashes collide."""
    keys = rows.keys
    count = len(rows)
    bits = key_bits(rows)
    index = (count - 1).bit_length()
    order: Array
    # A key and its row number fit into one word: np.sort of the words is faster than np.argsort of the keys.
    if len(keys) == 1 and bits + index <= KEY_BITS:
        packed = np.sort(keys[0] << np.uint64(index) | np.arange(count, dtype=np.uint64))
        ordered = packed >> np.uint64(index)
        order = packed & np.uint64((1 << index) - 1)
        return Groups(order.astype(np.int32), _starts(ordered[1:] != ordered[:-1]))
    hashed = hashes(keys)
    order = np.argsort(hashed)
    ordered = hashed[order]
    differ = ordered[1:] != ordered[:-1]
    if len(keys) > 1:
        equal = np.flatnonzero(~differ)
        row = order[equal]
        next_row = order[equal + 1]
        # Rows of equal hashes that differ are a collision, and only then is every key compared.
        if any((key[row] != key[next_row]).any() for key in keys):
            order = np.lexsort(keys)
            differ = np.zeros(count - 1, bool)
            for key in keys:
                differ |= key[order[1:]] != key[order[:-1]]
    return Groups(order.astype(np.int32), _starts(differ))


def key_bits(rows: Packed) -> int:
    """Return the number of bits that may differ among the rows of a table."""
    return sum(span.width for span in rows._spans)


def _starts(differ: Array) -> Array:
    """Return the start of each group, given whether each sorted row but the first differs from the one before."""
    return np.concatenate([[0], np.flatnonzero(differ) + 1])


def hashes(keys: Array) -> Array:
    """Hash rows to uint64 [rows]: a single key is its own hash, several are mixed by MurmurHash3's finalizer."""
    mixed: Array = keys[0]
    for key in keys[1:]:
        # Adding the last key unmixed keeps a single key as its own hash, so that its order is that of the rows.
        mixed = _mixed(mixed) + key
    return mixed


def _mixed(x: Array) -> Array:
    x = (x ^ x >> np.uint64(33)) * np.uint64(0xFF51AFD7ED558CCD)
    x = (x ^ x >> np.uint64(33)) * np.uint64(0xC4CEB9FE1A85EC53)
    return x ^ x >> np.uint64(33)


class Numbering:
    """Numbering of the distinct rows of several tables.

    Attributes:
        rows: the distinct rows, by their numbers.
    """

    def __init__(self) -> None:
        self.rows = Packed(np.zeros(0, np.uint32), np.zeros(0, np.uint32), np.zeros((1, 0), np.uint64))
        self._tables = 0

    def add(self, rows: Packed) -> Array:
        """Return the number of each row of a table, int64 [rows]; new rows take the next numbers."""
        count = len(self.rows)
        self._tables = self._tables + 1
        union = concat([self.rows, rows]) if count else rows
        equal = groups(union)
        first = equal.first
        if not count:
            self.rows = union[first]
            return equal.number.astype(np.int64)
        # New rows keep the order in which they came.
        new = np.sort(first[first >= count])
        self.rows = union[np.concatenate([np.arange(count), new])]
        numbers = np.where(first < count, first, count + np.searchsorted(new, first))
        return np.asarray(numbers[equal.number[count:]])

    def ranks(self) -> Array:
        """Return the rank of each numbered row in sorted order, int64 [numbers]."""
        # The rows of one table are sorted already, by `groups`.
        if self._tables < 2:
            return np.arange(len(self.rows))
        return groups(self.rows).number.astype(np.int64)


class Index:
    """Index of a table of different rows by their hashes."""

    def __init__(self, rows: Packed):
        self.rows = rows
        self._order = None
        self._hashes = hashes(rows.keys)
        # Tables from `groups` are sorted by their hashes and need no order of their own.
        if (self._hashes[1:] < self._hashes[:-1]).any():
            self._order = np.argsort(self._hashes)
            self._hashes = self._hashes[self._order]
        ends = np.flatnonzero(np.append(self._hashes[1:] != self._hashes[:-1], True))
        # The longest run of equal hashes bounds the number of rows to compare for a lookup.
        self._longest = int(np.diff(ends, prepend=-1).max())

    def find(self, columns: Sequence[Array]) -> Array:
        """Return the row of the table that equals each row, int64 [rows]; -1 if there is none."""
        keys = self.rows.encode(columns)
        result = np.full(len(columns[0]), -1, np.int64)
        can_hold = self.rows.can_hold(columns)
        first = np.searchsorted(self._hashes, hashes(keys))
        # Compare with all rows of the same hash: one step if there are no collisions.
        for step in range(self._longest):
            row = np.minimum(first + step, len(self._hashes) - 1)
            row = row if self._order is None else self._order[row]
            equal = can_hold & (self.rows.keys[:, row] == keys).all(0)
            result[equal] = row[equal]
        return result


def view_columns(ply: Array, player: Array, legal: Array, observation: Array) -> list[Array]:
    """Return the information visible to the players to move as columns of 32-bit words.

    Args:
        ply, player: ply and player to move of each position, [n].
        legal: legal actions, bool [n, A].
        observation: observations of the players to move, [n, ...].
    """
    if observation.dtype != bool:
        # Adding 0 turns -0.0 into 0.0, which is equal and has other bits.
        observation = np.ascontiguousarray(observation + 0).view(np.uint8).reshape(len(ply), -1)
        packed = observation
    else:
        packed = np.packbits(observation, axis=1, bitorder="little")
    bits = np.concatenate([np.packbits(legal, axis=1, bitorder="little"), packed], axis=1)
    bits = np.pad(bits, ((0, 0), (0, -bits.shape[1] % 4)))
    words = np.ascontiguousarray(bits).view("<u4")
    return [ply.astype(np.uint32), player.astype(np.uint32), *words.T]
