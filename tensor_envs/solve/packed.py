"""Many positions in little memory: the bits that differ among them, in as few 64-bit words as hold them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
KEY_BITS = 64


class Span(NamedTuple):
    """Bits `shift` to `shift + width - 1` of a word stand in a key, from bit `at` on."""

    word: int
    shift: int
    width: int
    key: int
    at: int


class Packed:
    """Rows of 32-bit words, immutable: keys uint64 [keys, rows] of the bits that differ, and what is common to all."""

    def __init__(self, base: Array, varying: Array, keys: Array):
        """base: uint32 [words], what all rows have in common. varying: uint32 [words], the bits that may differ."""
        self.base, self.varying, self.keys = base & ~varying, varying, keys
        self._spans = spans(varying)

    @staticmethod
    def of(columns: Sequence[Array]) -> Packed:
        """Rows by their words: uint32 [rows] each, one row at least."""
        base = np.array([column[0] for column in columns], np.uint32)
        varying = np.array([np.bitwise_or.reduce(c ^ c[0]) for c in columns], np.uint32)
        return Packed.like(base, varying, columns)

    @staticmethod
    def like(base: Array, varying: Array, columns: Sequence[Array]) -> Packed:
        """Rows packed with given bits, which must be among those that differ."""
        packed = Packed(base, varying, np.empty((0, 0), np.uint64))
        packed.keys = packed.encode(columns)
        return packed

    def encode(self, columns: Sequence[Array]) -> Array:
        """The keys of rows."""
        count = 1 + max((span.key for span in self._spans), default=0)
        keys = np.zeros((count, len(columns[0])), np.uint64)
        for word, shift, width, key, at in self._spans:
            bits = columns[word] >> np.uint32(shift) & np.uint32((1 << width) - 1)
            keys[key] |= bits.astype(np.uint64) << np.uint64(at)
        return keys

    def columns(self) -> list[Array]:
        """The rows' words."""
        words: list[Array] = [np.full(len(self), x, np.uint32) for x in self.base]
        for word, shift, width, key, at in self._spans:
            bits = self.keys[key] >> np.uint64(at) & np.uint64((1 << width) - 1)
            words[word] |= (bits << np.uint64(shift)).astype(np.uint32)
        return words

    def __len__(self) -> int:
        return int(self.keys.shape[1])

    def __getitem__(self, rows: Any) -> Packed:
        return Packed(self.base, self.varying, self.keys[:, rows])

    def agree(self, columns: Sequence[Array]) -> Array:
        """bool [rows]: whether rows have the words that these have in common."""
        same = np.ones(len(columns[0]), bool)
        for column, base, varying in zip(columns, self.base, self.varying, strict=True):
            same &= column & ~varying == base
        return same

    @property
    def nbytes(self) -> int:
        return int(self.keys.nbytes)


def spans(varying: Array) -> tuple[Span, ...]:
    """Of every word with bits that differ the range from the first to the last one, in the first key with room."""
    found, used = [], list[int]()
    for word, bits in enumerate(varying.tolist()):
        if not bits:
            continue
        shift = (bits & -bits).bit_length() - 1
        width = bits.bit_length() - shift
        key = next((k for k, n in enumerate(used) if n + width <= KEY_BITS), len(used))
        used += [0] * (key == len(used))
        found.append(Span(word, shift, width, key, used[key]))
        used[key] += width
    return tuple(found)


def concat(parts: Sequence[Packed]) -> Packed:
    """The rows of all parts, one after the other."""
    varying = parts[0].varying
    for part in parts:
        varying = varying | part.varying | part.base ^ parts[0].base
    alike = all((part.varying == varying).all() and (part.base == parts[0].base).all() for part in parts)
    if not alike:
        parts = [Packed.like(part.base, varying, part.columns()) for part in parts]
    return Packed(parts[0].base, varying, np.concatenate([part.keys for part in parts], axis=1))


class Groups(NamedTuple):
    """Equal rows together: `order` [rows] sorts them, groups begin at `starts` [groups] in it."""

    order: Array
    starts: Array

    @property
    def first(self) -> Array:
        """A row of every group, the first one."""
        return np.minimum.reduceat(self.order, self.starts)

    @property
    def number(self) -> Array:
        """int32 [rows]: the group of every row."""
        begins = np.zeros(len(self.order), np.int32)
        begins[self.starts[1:]] = 1
        found = np.empty(len(self.order), np.int32)
        found[self.order] = np.cumsum(begins, dtype=np.int32)
        return found

    def total(self, values: Array) -> Array:
        """The sum of int64 values [rows] over every group."""
        return np.add.reduceat(values[self.order], self.starts)


def groups(rows: Packed) -> Groups:
    """Equal rows found by sorting: exactly, whatever their hashes are."""
    keys, count = rows.keys, len(rows)
    bits, index = key_bits(rows), (count - 1).bit_length()
    if len(keys) == 1 and bits + index <= KEY_BITS:  # sorting numbers is faster than finding their order
        packed = np.sort(keys[0] << np.uint64(index) | np.arange(count, dtype=np.uint64))
        ordered, places = packed >> np.uint64(index), packed & np.uint64((1 << index) - 1)
        return Groups(places.astype(np.int32), _starts(ordered[1:] != ordered[:-1]))
    hashed = hashes(keys)
    order: Array = np.argsort(hashed)
    ordered = hashed[order]
    differ = ordered[1:] != ordered[:-1]
    if len(keys) > 1:
        same = np.flatnonzero(~differ)
        a, b = order[same], order[same + 1]
        if any((key[a] != key[b]).any() for key in keys):  # two positions of one hash
            order = np.lexsort(keys)
            differ = np.zeros(count - 1, bool)
            for key in keys:
                differ |= key[order[1:]] != key[order[:-1]]
    return Groups(order.astype(np.int32), _starts(differ))


def key_bits(rows: Packed) -> int:
    return sum(span.width for span in rows._spans)


def _starts(differ: Array) -> Array:
    return np.concatenate([[0], np.flatnonzero(differ) + 1])


def hashes(keys: Array) -> Array:
    """uint64 [rows]: one key is itself, several are mixed (the finalizer of MurmurHash3, 64 bits)."""
    mixed: Array = keys[0]
    for key in keys[1:]:
        mixed = _mixed(mixed) + key
    return mixed


def _mixed(x: Array) -> Array:
    x = (x ^ x >> np.uint64(33)) * np.uint64(0xFF51AFD7ED558CCD)
    x = (x ^ x >> np.uint64(33)) * np.uint64(0xC4CEB9FE1A85EC53)
    return x ^ x >> np.uint64(33)


class Index:
    """Finds rows among those of a table; those of `groups` stand in order already."""

    def __init__(self, rows: Packed):
        self.rows, self._order, self._hashes = rows, None, hashes(rows.keys)
        if (self._hashes[1:] < self._hashes[:-1]).any():
            self._order = np.argsort(self._hashes)
            self._hashes = self._hashes[self._order]
        ends = np.flatnonzero(np.append(self._hashes[1:] != self._hashes[:-1], True))
        self._longest = int(np.diff(ends, prepend=-1).max())

    def find(self, columns: Sequence[Array]) -> Array:
        """int64 [rows]: the row of the table that is the same; -1 where there is none."""
        keys, found = self.rows.encode(columns), np.full(len(columns[0]), -1, np.int64)
        agree = self.rows.agree(columns)
        at = np.searchsorted(self._hashes, hashes(keys))
        for step in range(self._longest):  # 1, unless rows share a hash
            place = np.minimum(at + step, len(self._hashes) - 1)
            place = place if self._order is None else self._order[place]
            same = agree & (self.rows.keys[:, place] == keys).all(0)
            found[same] = place[same]
        return found
