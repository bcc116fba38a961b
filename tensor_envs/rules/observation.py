"""Parts of an observation, which are concatenated: sets of bits, one-hot entries and numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tensor_envs._compiler.tape import BOOL, FLOAT32, UINT32, UINT64
from tensor_envs._validate import integer
from tensor_envs.rules.lists import MemoryArray, halves, num_words, pack_flags
from tensor_envs.rules.scalar import WORD_BITS, Scalar, Value, int32, refuse, scalar, uint32, where, whole

MAX_SIZE = 2**31 - 1


@dataclass(frozen=True)
class Bits:
    """Entries 0 or 1 for the members 0..size-1 of a set."""

    words: Any  # a list of words, or a MemoryArray
    size: int


@dataclass(frozen=True)
class OneHot:
    """One-hot entries: entry `value` is 1, the others are 0; all are 0 for a value out of range."""

    value: Scalar
    size: int


@dataclass(frozen=True)
class Number:
    """One entry, an int32 or a float32."""

    value: Scalar
    size: int = 1


Part = Bits | OneHot | Number
Observation = Mapping[str, Part | Sequence[Part]] | Sequence[Part]  # parts in order, with names or without


def bits(words: Any, size: int) -> Bits:
    """Observe a set with members 0..size-1: a uint32, a uint64, a list of words or of conditions, or a MemoryArray.

    Examples:
        >>> entries([bits(uint32(5), 4)])
        [1, 0, 1, 0]
    """
    size = integer("size", size, 0, MAX_SIZE)
    if isinstance(words, MemoryArray):
        return Bits(words, size)
    if isinstance(words, (list, tuple)):
        flags = [scalar(x, UINT32) for x in words]
        # An empty list has no conditions, but `all` of it is true.
        if flags and all(x.dtype is BOOL for x in flags):
            if len(flags) != size:
                refuse(f"{len(flags)} conditions are no {size} entries", ValueError)
            return Bits(pack_flags(flags), size)
        if any(x.dtype is not UINT32 for x in flags):
            kinds = ", ".join(sorted({x.kind for x in flags}))
            refuse(
                f"bits are a list of uint32 words or of bools, got {kinds}: write x != 0, or one_hot or number for each"
            )
        set_words = [uint32(x) for x in flags]
    else:
        x = scalar(words, UINT32)
        set_words = [*halves(x)] if x.dtype is UINT64 else [uint32(x)]
    # Further words are dropped: sets of a grid may have padding.
    if num_words(size) > len(set_words):
        refuse(f"{size} entries need {num_words(size)} words, got {len(set_words)}", ValueError)
    return Bits(set_words[: num_words(size)], size)


def constant(fact: Value, size: int) -> Bits:
    """Observe a condition as `size` equal entries, such as a plane of a board.

    Examples:
        >>> entries([constant(int32(3) > 2, 4)])
        [1, 1, 1, 1]
    """
    return bits([where(fact, uint32(2**WORD_BITS - 1), 0)] * num_words(size), size)


def digits(value: Scalar, count: int, size: int) -> list[Part]:
    """Observe the `count` lowest binary digits of a number, the lowest one first, as `size` equal entries each.

    Examples:
        >>> entries(digits(int32(2), 2, 3))
        [0, 0, 0, 1, 1, 1]
    """
    return [constant((value >> k & 1) != 0, size) for k in range(count)]


def one_hot(value: Value, size: int) -> OneHot:
    """Observe a value as `size` entries, of which entry `value` is 1; all are 0 for a value out of range.

    Examples:
        >>> entries([one_hot(1, 3)])
        [0, 1, 0]
    """
    size = integer("size", size, 0, MAX_SIZE)
    return OneHot(int32(whole("a one-hot value", value)), size)


def number(value: Value) -> Number:
    """Observe a number as one entry; `float32(x) * (1 / high)` scales it to 0..1.

    Examples:
        >>> entries([number(int32(7)), number(0.5)])
        [7, 0.5]
    """
    value = scalar(value)
    if value.dtype is UINT64:
        refuse("a number is an int32 or a float32, got a uint64: observe its bits(x, 64)")
    return Number(value if value.dtype is FLOAT32 else int32(value))


def named_parts(observation: Observation) -> dict[str, list[Part]]:
    """Return the parts of an observation by name; without names, by "part 0", "part 1", ...

    Raises:
        TypeError: it is no dictionary or list of parts.
    """
    if isinstance(observation, (list, tuple)):
        observation = {f"part {k}": part for k, part in enumerate(observation)}
    if isinstance(observation, Mapping):
        groups: dict[str, list[Any]] = {
            name: [*x] if isinstance(x, (list, tuple)) else [x] for name, x in observation.items()
        }
        if all(isinstance(part, Part) for group in groups.values() for part in group):
            return groups
    raise TypeError("observe must give a list of parts, or a dictionary: bits(...), one_hot(...) and number(...)")


def entries(parts: Sequence[Part]) -> list[Any]:
    """Return the entries of an observation of plain numbers.

    Examples:
        >>> entries([one_hot(0, 2), number(3)])
        [1, 0, 3]
    """
    values: list[Any] = []
    for part in parts:
        if isinstance(part, Bits):
            words = [int(uint32(part.words[w]).value) for w in range(num_words(part.size))]
            values += [words[i // WORD_BITS] >> i % WORD_BITS & 1 for i in range(part.size)]
        elif isinstance(part, OneHot):
            values += [int(part.value.value == i) for i in range(part.size)]
        else:
            values.append(part.value.value)
    return values
