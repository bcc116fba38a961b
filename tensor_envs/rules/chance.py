"""Threefry-2x32 with 20 rounds, the only source of chance: a pure function of a key and a counter.

Source: J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011; tinygrad carries
the function as a primitive on 64-bit words (word 0 in the low half).

- The words of a seed S are (S mod 2^32, S div 2^32).
- Game key of batch row r in episode e: threefry(words(S), (r, e)).
- bits(key, c) is the first word of threefry(key, (c, 0)); draw(key, c, n) = bits * n >> 32 is uniform in 0..n-1.
- The uniform policy in row r has the key P = threefry(words(S), (r, 2^32 - 1)). Its n-th decision of episode e plays
  the x-th of the L legal actions in ascending order, where x = first word of threefry(P, (n, e)) * L >> 32.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tensor_envs._compiler.tape import FLOAT32
from tensor_envs.rules.scalar import WORD_BITS, Scalar, Value, int32, is_gpu, refuse, scalar, uint32, uint64

POLICY_EPISODE = 0xFFFFFFFF
_WORD = 0xFFFFFFFF
_PARITY = 0x1BD11BDA
_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))


def threefry(key: Sequence[Value], counter: Sequence[Value]) -> tuple[Scalar, Scalar]:
    """Return two random words for two key words and two counter words.

    Examples:
        >>> threefry((0, 0), (0, 0))
        (uint32(1797259609), uint32(2579123966))
    """
    words = [uint32(number) for number in (*key, *counter)]
    if all(w.is_plain for w in words):  # plain ints are quicker than plain scalars
        words = [w.node for w in words]
    k0, k1, x, y = words
    schedule = (k0, k1, k0 ^ k1 ^ _PARITY)
    x = x + k0
    y = y + k1
    for group in range(5):
        for turn in _ROTATIONS[group % 2]:
            x = x + y & _WORD
            y = (y << turn & _WORD | (y & _WORD) >> WORD_BITS - turn) ^ x
        x = x + schedule[(group + 1) % 3]
        y = y + (schedule[(group + 2) % 3] + (group + 1))
    return uint32(x & _WORD), uint32(y & _WORD)


def scale(bits: Scalar, n: Value) -> Scalar:
    """Scale a random word to an int32 that is uniform in 0..n-1: bits * n >> 32, for n up to 2^31."""
    n = uint32(scalar(n))
    if not bits.is_plain and not is_gpu() and n.instruction().high <= 0xFFFF:
        # This is exact, and CPUs multiply vectors of 32 bits faster than those of 64.
        return int32((bits >> 16) * n + ((bits & 0xFFFF) * n >> 16) >> 16)
    return int32(uint32(uint64(bits) * uint64(n) >> WORD_BITS))


class Chance(Protocol):
    """Chance events of a game, by counter.

    A counter has the same value in the whole episode, in `init` and in every `step`: an event of every ply needs a
    counter that depends on `s.ply`.

    Examples:
        >>> from tensor_envs.rules.chance import KeyedChance
        >>> KeyedChance((0, 0)).draw(0, 6)
        int32(2)
    """

    def bits(self, counter: Value) -> Scalar:
        """Return a uniform random uint32."""

    def draw(self, counter: Value, n: Value) -> Scalar:
        """Return a uniform random int32 in 0..n-1."""


class KeyedChance:
    """Chance events of one game, given its game key of two words."""

    def __init__(self, key: Sequence[Value]):
        self.key = key

    def bits(self, counter: Value) -> Scalar:
        return threefry(self.key, (uint32(counter), 0))[0]

    def draw(self, counter: Value, n: Value) -> Scalar:
        # A computed number of values is not checked: it may be 0 where the draw is not used.
        if not isinstance(n, Scalar) and not 1 <= n <= 1 << 31:
            refuse(f"one of 1..2^31 values is drawn, got {n!r} of them", ValueError)
        if scalar(n).dtype is FLOAT32:
            refuse("a number of values is a whole number, got a float32: write int32(x)")
        return scale(self.bits(counter), n)


class NoChance:
    """Placeholder for the chance of a game whose Spec declares none."""

    def bits(self, counter: Value) -> Scalar:
        refuse("these rules draw chance, so their Spec must say chance=True", RuntimeError)

    def draw(self, counter: Value, n: Value) -> Scalar:
        return self.bits(counter)
