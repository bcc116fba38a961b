"""Symmetries of a game as permutations of the bits of its states' fields."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tensor_envs._engine.layout import Layout, Slot
from tensor_envs.rules.scalar import WORD_BITS
from tensor_envs.rules.spec import Field, Spec, Symmetry
from tensor_envs.solve.canonical import BitMaps, BitMove
from tensor_envs.solve.packed import Array

NO_KEY = ("ply", "episode")  # fields that do not distinguish positions of a ply


class FieldMaps:
    """Bits that identify a position, and their permutations under symmetries.

    The bits are those of a state's words, without the fields in `NO_KEY` and those that follow from others. A number
    whose values a symmetry maps has one bit for each value instead.

    Attributes:
        masks: bits of each word that belong to keys, uint32 [words].
        permutations: source of each bit, int64 [bits], for each symmetry with field maps.
    """

    def __init__(self, spec: Spec, layout: Layout, symmetries: Iterable[Symmetry]):
        """Translate the field maps of symmetries into permutations of bits.

        Args:
            spec: fields of the game.
            layout: words of its states.
            symmetries: symmetries of the game; those without field maps are left out.

        Raises:
            ValueError: a map of an unknown field, or one that is no permutation of its bits or values.
        """
        declared = [symmetry for symmetry in symmetries if symmetry.fields is not None]
        fields = {field.name: field for field in spec.all_fields}
        for symmetry in declared:
            for name in (*(symmetry.fields or ()), *symmetry.values, *symmetry.derived):
                if name not in fields:
                    raise ValueError(f"a symmetry must map fields of {sorted(fields)}, got {name!r}")
            for name, order in symmetry.values.items():
                low = fields[name].low
                high = fields[name].high
                if low is None or high is None or sorted(order) != list(range(high - low + 1)):
                    raise ValueError(f"a symmetry must permute the values of {name!r}, an int32, got {order}")
        self._layout = layout
        self._derived = {name for symmetry in declared for name in symmetry.derived}
        # A map of values is no permutation of a number's bits, so the number is stored in unary instead.
        by_value = {name for symmetry in declared for name in symmetry.values} - self._derived
        self.masks = np.full(layout.field_words, 0xFFFFFFFF, np.uint32)
        for name in {*NO_KEY, *self._derived, *by_value} & layout.slots.keys():
            for slot in layout.slots[name]:
                for bit in range(slot.width):
                    index = bit_index(slot, bit)
                    self.masks[index // WORD_BITS] &= np.uint32(0xFFFFFFFF ^ 1 << index % WORD_BITS)
        self._numbers = [(name, slot) for name in sorted(by_value) for slot in layout.slots[name]]
        # All values of the slot's bits are permuted, also those that the field does not use.
        self._sizes = [1 << slot.width for _, slot in self._numbers]
        self.permutations = [self._permutation(symmetry, fields) for symmetry in declared]

    def _permutation(self, symmetry: Symmetry, fields: dict[str, Field]) -> Array:
        """Return the source of each bit, int64 [bits]."""
        # A bit that no map names stays where it is.
        sources = np.arange(WORD_BITS * len(self.masks) + sum(self._sizes))
        for name, order in (symmetry.fields or {}).items():
            for row in rows_of(fields[name], list(self._layout.slots[name])):
                if sorted(order) != list(range(len(order))) or len(order) > len(row):
                    raise ValueError(f"a symmetry must permute the {len(row)} entries of {name!r}, got {order}")
                for target, source in zip(row, order, strict=False):
                    sources[target] = row[source]
        # The unary numbers follow the words.
        first = WORD_BITS * len(self.masks)
        for (name, _), size in zip(self._numbers, self._sizes, strict=True):
            order = symmetry.values.get(name, ())
            sources[first : first + len(order)] = first + np.array(order, np.int64)
            first += size
        return sources

    def packed(self, table: Array) -> Array:
        """Return the bits that identify positions, packed into bytes, uint8 [rows, bytes].

        Args:
            table: words of states, uint32 [rows, words].
        """
        words = np.ascontiguousarray(table[:, : len(self.masks)] & self.masks, "<u4")
        parts = [words.view(np.uint8)]
        if self._numbers:
            # One bit for each value: a map of the values is then a permutation of these bits.
            unary = np.zeros((len(table), sum(self._sizes)), bool)
            first = 0
            for (_, slot), size in zip(self._numbers, self._sizes, strict=True):
                value = table[:, slot.word] >> np.uint32(slot.shift) & np.uint32(size - 1)
                unary[np.arange(len(table)), first + value.astype(np.int64)] = True
                first += size
            parts.append(np.packbits(unary, axis=1, bitorder="little"))
        return np.concatenate(parts, axis=1)

    def bit_maps(self, words: list[int]) -> BitMaps:
        """Return the symmetries as permutations of the bits of some of the layout's words.

        There are none if a field is derived from others, or if a symmetry maps values, not bits.
        """
        if self._derived or self._numbers:
            return BitMaps()
        maps = []
        for sources in self.permutations:
            moved = np.flatnonzero(sources != np.arange(len(sources)))
            if len(moved):
                locations = [(location(words, int(sources[target])), location(words, int(target))) for target in moved]
                # A kernel moves all bits of one distance together, by a mask and a shift.
                maps.append(group_moves(locations))
        return BitMaps(tuple(maps))


def bit_index(slot: Slot, bit: int) -> int:
    """Return the number of a slot's bit among all bits of a state."""
    return WORD_BITS * slot.word + slot.shift + bit


def rows_of(field: Field, slots: list[Slot]) -> list[list[int]]:
    """Return lists of bits, each of which a map of a field permutes: rows of its last axis, or a number's bits.

    A map of a list of int32 permutes whole numbers, so that each of their bits has a row of its own.
    """
    count = field.shape[-1] if field.shape else 1
    lists = [slots[k : k + count] for k in range(0, len(slots), count)]
    if field.shape and field.kind == "int32":
        return [[bit_index(slot, bit) for slot in row] for row in lists for bit in range(row[0].width)]
    return [[bit_index(slot, bit) for slot in row for bit in range(slot.width)] for row in lists]


def location(words: list[int], bit: int) -> tuple[int, int]:
    """Return the index of a bit's word in `words`, and the bit's number in that word."""
    return words.index(bit // WORD_BITS), bit % WORD_BITS


def group_moves(moves: list[tuple[tuple[int, int], tuple[int, int]]]) -> tuple[BitMove, ...]:
    """Join the moves of single bits, from one location to another, that have the same words and distance."""
    masks: dict[tuple[int, int, int], int] = {}
    for (source, source_bit), (target, target_bit) in moves:
        key = source, target, target_bit - source_bit
        masks[key] = masks.get(key, 0) | 1 << source_bit
    return tuple(BitMove(*key, mask) for key, mask in masks.items())
