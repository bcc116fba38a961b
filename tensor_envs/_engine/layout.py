"""Bit layout of a state: field offsets, packing and unpacking, in kernels and on the host.

A state is a buffer of uint32 words, [blocks, words, lanes]. (The keys of its rows are in a second buffer, which no step
writes.) The words of a game are, in this order:

    fields and flags    ints have as many bits as their bounds need, bools and flags one bit; several share a word
    rewards             float32, one word for each player
    legal_action_mask   a bit for each action

Sets, keys and memory fields have whole words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from tinygrad import Tensor, dtypes

from tensor_envs._compiler.tape import BOOL, FLOAT32, LIMITS, UINT32, UINT64
from tensor_envs.rules.kernel import bitcast, loop
from tensor_envs.rules.lists import MemoryArray, flat, halves, joined, nested, num_words
from tensor_envs.rules.scalar import WORD_BITS, Scalar, int32, uint32
from tensor_envs.rules.spec import Field, GameState, Spec, wrong_shape

MaskWords = list[Scalar] | MemoryArray  # num_words(A) words of 32 actions each
Load = Callable[[Any], Scalar]  # function that loads the word with an index, which is plain or of a kernel
FLAGS = ("terminated", "truncated")


class Slot(NamedTuple):
    """Location of a number: bits shift..shift+width-1 of a word hold number - low. A uint64 has two words."""

    word: int
    shift: int
    width: int
    low: int = 0


class _WholeWords(Sequence[Slot]):
    """Slots of a memory field. It may have millions, so each is computed when it is accessed."""

    def __init__(self, first: int, size: int):
        self.words = range(first, first + size)

    def __len__(self) -> int:
        return len(self.words)

    def __getitem__(self, i: Any) -> Any:
        return Slot(self.words[i], 0, WORD_BITS)


class Layout:
    """Bit layout of a game's fields, flags, rewards and mask.

    Attributes:
        slots: the slots of each field's or flag's numbers, by its name.
        words: number of words of a state, rewards and mask included.
        field_words: number of words of the fields and flags, which come first.
        rewards: index of the first word of the rewards.
        mask: index of the first word of the mask.
        mask_words: number of words of the mask.
    """

    def __init__(self, spec: Spec):
        self.spec = spec
        self.fields = {field.name: field for field in spec.all_fields}
        self.slots: dict[str, Sequence[Slot]] = {}
        self._free: list[list[int]] = []  # words that numbers share: [word, bits used]
        self.words = 0
        for name, field in self.fields.items():
            if field.memory:
                # Loops index the words of a memory field, so its numbers do not share words.
                self.slots[name] = _WholeWords(self.words, field.size)
                self.words += field.size
            else:
                self.slots[name] = [self._allocate(field) for _ in range(field.size)]
        for name in FLAGS:
            self.slots[name] = [self._allocate_bits(1, 0)]
        # Fields and flags come first: kernels hold only these words in registers.
        self.field_words = self.words
        self.rewards = self.words
        self.mask = self.rewards + spec.num_players
        self.mask_words = num_words(spec.num_actions)
        self.words = self.mask + self.mask_words

    def _allocate(self, field: Field) -> Slot:
        """Return a new slot for a number of a field."""
        if field.kind == "int32":
            assert field.low is not None and field.high is not None
            width = max(1, (field.high - field.low).bit_length())
            if width < WORD_BITS:
                return self._allocate_bits(width, field.low)
        elif field.kind == "bool":
            return self._allocate_bits(1, 0)
        words = 2 if field.kind == "uint64" else 1
        self.words += words
        return Slot(self.words - words, 0, words * WORD_BITS)

    def _allocate_bits(self, width: int, low: int) -> Slot:
        """Return a new slot in the first word that has enough free bits."""
        for free in self._free:
            word, used = free
            if used + width <= WORD_BITS:
                free[1] += width
                return Slot(word, used, width, low)
        self._free.append([self.words, width])
        self.words += 1
        return Slot(self.words - 1, 0, width, low)

    # *** one game in a kernel ***

    def get(self, load: Load, name: str) -> Any:
        """Return a field as a scalar or nested lists of scalars, or a flag."""
        field = self.fields.get(name)
        if field is None:
            return _get(load, self.slots[name][0], BOOL)
        slots = self.slots[name]
        if field.memory:
            # A word is loaded when a loop of the kernel indexes it.
            first = slots[0].word
            return MemoryArray(lambda i: load(i + first), field.size)
        values = [_get(load, slot, field.dtype) for slot in slots]
        return nested(values, field.shape)

    def get_state(self, load: Load) -> GameState:
        """Return all fields."""
        return GameState({name: self.get(load, name) for name in self.fields}, self.spec.num_players)

    def get_flags(self, load: Load) -> list[Scalar]:
        """Return the flags terminated and truncated."""
        return [self.get(load, name) for name in FLAGS]

    def get_mask(self, load: Load) -> MaskWords:
        """Return the words of the legal action mask."""
        if any(field.memory for field in self.fields.values()):
            return MemoryArray(lambda i: load(i + self.mask), self.mask_words)
        return [load(self.mask + w) for w in range(self.mask_words)]

    def plain(self, words: Sequence[int]) -> dict[str, Any]:
        """Return fields and flags of one game as plain numbers and lists, without NumPy.

        The game must not have memory fields.
        """
        values = {name: self.get(lambda w: uint32(words[w]), name) for name in self.slots}
        shapes = {name: field.shape for name, field in self.fields.items()}
        return {name: nested([x.value for x in flat(value)], shapes.get(name, ())) for name, value in values.items()}

    def put(
        self,
        store: Callable[[Any, Scalar], None],
        s: GameState | None = None,
        flags: Sequence[Scalar] = (),
        rewards: Sequence[Scalar] = (),
        mask: MaskWords | None = None,
    ) -> None:
        """Store parts of a state. Fields and flags must be passed together, since they share words."""
        words: dict[int, Scalar] = {}
        if s is not None:
            for name, field in self.fields.items():
                value = getattr(s, name)
                if field.memory:
                    _put_memory(store, self.slots[name][0].word, value)
                    continue
                # Numbers that share a word are joined first, so that it is stored once.
                for slot, x in zip(self.slots[name], flat(value), strict=True):
                    _add(words, slot, x)
            for name, flag in zip(FLAGS, flags, strict=True):
                _add(words, self.slots[name][0], flag)
        for p, reward in enumerate(rewards):
            words[self.rewards + p] = bitcast(reward.to(FLOAT32), UINT32)
        if isinstance(mask, MemoryArray):
            _put_memory(store, self.mask, mask)
        elif mask is not None:
            words |= {self.mask + w: x for w, x in enumerate(mask)}
        # Store in the order of addresses.
        for w, x in sorted(words.items(), key=lambda item: item[0]):
            store(w, x)

    # *** a batch on the host, and as Tensors ***

    def unpack(self, table: np.ndarray) -> dict[str, np.ndarray]:
        """Unpack a table [B, words] to arrays by name: fields [B, *shape], flags, rewards and legal_action_mask."""
        values: dict[str, np.ndarray] = {}
        for name, slots in self.slots.items():
            field = self.fields.get(name)
            columns = np.stack([column_of(table, slot) for slot in slots], axis=1)
            dtype = bool if field is None or field.kind == "bool" else NUMPY_KINDS[field.kind]
            values[name] = columns.astype(dtype).reshape(len(table), *(field.shape if field else ()))
        values["legal_action_mask"] = self.unpack_mask(table)
        values["rewards"] = self.unpack_rewards(table)
        return values

    def unpack_mask(self, table: np.ndarray) -> np.ndarray:
        """Return the legal actions of a table [B, words], bool [B, A]."""
        bits = np.ascontiguousarray(table[:, self.mask :]).astype("<u4").view(np.uint8)
        return np.unpackbits(bits, axis=1, count=self.spec.num_actions, bitorder="little").view(bool)

    def unpack_rewards(self, table: np.ndarray) -> np.ndarray:
        """Return the rewards of a table [B, words], float32 [B, P]."""
        return np.ascontiguousarray(table[:, self.rewards : self.mask]).view(np.float32)

    def game(self, words: np.ndarray) -> dict[str, Any]:
        """Unpack one game's words to plain numbers and nested lists by name."""
        return {name: column[0].tolist() for name, column in self.unpack(words[np.newaxis]).items()}

    def pack(self, games: Sequence[Mapping[str, Any]]) -> np.ndarray:
        """Pack plain values of all fields and flags to a table, uint32 [B, words]; rewards and mask are 0.

        Raises:
            ValueError: a value has another shape than its field, or is out of its bounds.
        """
        table = np.zeros((len(games), self.words), np.uint32)
        for name, slots in self.slots.items():
            field = self.fields.get(name, Field(name, kind="bool"))
            for row, game in enumerate(games):
                numbers = np.array(game[name], object)
                if numbers.shape != field.shape:
                    raise ValueError(f"game {row}: {wrong_shape(field, numbers.shape)}")
                for slot, x in zip(slots, numbers.ravel().tolist(), strict=True):
                    for k, part in enumerate(_plain_words(field, row, x)):
                        table[row, slot.word + k] |= (part - slot.low) << slot.shift & 0xFFFFFFFF
        return table

    def check(self, table: np.ndarray) -> None:
        """Raise ValueError if a field of a table [B, words] is out of its bounds."""
        for name, field in self.fields.items():
            for slot in self.slots[name] if field.kind == "int32" else ():
                column = column_of(table, slot)
                # An int32 that fills its word is stored as it is, without the offset `low`.
                if slot.width == WORD_BITS:
                    column = column.astype(np.int32)
                low = int(column.min())
                high = int(column.max())
                if low < field.low or high > field.high:  # type: ignore[operator]
                    wrong = low if low < field.low else high  # type: ignore[operator]
                    raise ValueError(f"field {name!r} must be in {field.low}..{field.high}, got {wrong}")

    def lazy(self, word_of: Callable[[int, int], Tensor], name: str) -> Tensor:
        """Return a field, a flag, the mask or the rewards as a lazy expression [B, ...].

        Args:
            word_of: function `word_of(first, count)` that returns words from index `first` on, uint32 [B, count].
            name: name of the property.
        """
        if name == "legal_action_mask":
            words = word_of(self.mask, self.mask_words).unsqueeze(-1)
            bits = words >> Tensor.arange(WORD_BITS, dtype=dtypes.uint32) & 1
            return bits.reshape(words.shape[0], -1)[:, : self.spec.num_actions] != 0
        if name == "rewards":
            return word_of(self.rewards, self.spec.num_players).bitcast(dtypes.float32)
        field = self.fields.get(name, Field(name, kind="bool"))
        slots = self.slots[name]
        dtype = field.dtype
        if dtype is UINT64:
            pairs = word_of(slots[0].word, 2 * len(slots)).reshape(-1, len(slots), 2).cast(dtypes.uint64)
            values = pairs[:, :, 0] | pairs[:, :, 1] << WORD_BITS
        elif slots[0].width == WORD_BITS:
            values = word_of(slots[0].word, len(slots)).bitcast(dtype)
        else:
            columns = [_lazy_bits(word_of, slot, dtype) for slot in slots]
            values = columns[0].cat(*columns[1:], dim=1) if len(columns) > 1 else columns[0]
        return values.reshape(values.shape[0], *field.shape)


NUMPY_KINDS = {"int32": np.int32, "uint32": np.uint32, "uint64": np.uint64}


def _get(load: Load, slot: Slot, dtype: Any) -> Scalar:
    """Load the number in a slot."""
    if dtype is UINT64:
        return joined(load(slot.word), load(slot.word + 1))
    x = load(slot.word)
    if slot.width == WORD_BITS:
        return x.to(dtype)
    if slot.shift:
        x = x >> slot.shift
    # The number in the highest bits of a word needs no mask after its shift.
    if slot.shift + slot.width < WORD_BITS:
        x = x & (1 << slot.width) - 1
    return x != 0 if dtype is BOOL else int32(x) + slot.low if slot.low else int32(x)


def _add(words: dict[int, Scalar], slot: Slot, x: Scalar) -> None:
    """Add a number to the words that will be stored."""
    if x.dtype is UINT64:
        words[slot.word], words[slot.word + 1] = halves(x)
        return
    bits = uint32(x - slot.low if slot.low else x)
    if slot.shift:
        bits = bits << slot.shift
    words[slot.word] = words[slot.word] | bits if slot.word in words else bits


def _put_memory(store: Callable[[Any, Scalar], None], first: int, values: MemoryArray) -> None:
    """Store the words of an array from word `first` on, by a loop of the kernel."""
    with loop(len(values)) as k:
        store(k + first, values[k])


def column_of(table: np.ndarray, slot: Slot) -> np.ndarray:
    """Return the number in a slot of every game of a table, int64 [B], or uint64 for a field of this kind."""
    if slot.width == 64:
        return table[:, slot.word].astype(np.uint64) | table[:, slot.word + 1].astype(np.uint64) << np.uint64(32)
    return (table[:, slot.word].astype(np.int64) >> slot.shift & (1 << slot.width) - 1) + slot.low


def _plain_words(field: Field, row: int, x: Any) -> list[int]:
    """Convert a plain number to one or two words. ValueError if it is out of its field's bounds."""
    low, high = (field.low, field.high) if field.kind == "int32" else LIMITS[field.dtype]
    if isinstance(x, np.generic):
        x = x.item()
    if not isinstance(x, int) or not low <= x <= high:  # type: ignore[operator]
        raise ValueError(f"game {row}: field {field.name!r} must be an int in {low}..{high}, got {x!r}")
    return [x & 0xFFFFFFFF, x >> 32] if field.kind == "uint64" else [int(x)]


def _lazy_bits(word_of: Callable[[int, int], Tensor], slot: Slot, dtype: Any) -> Tensor:
    """Return the number in a slot of every game as a lazy expression, [B, 1]."""
    bits = word_of(slot.word, 1) >> slot.shift & (1 << slot.width) - 1
    return bits != 0 if dtype is BOOL else bits.cast(dtype) + slot.low
