"""The one source of chance: Threefry-2x32 with 20 rounds, a pure function of a key and a counter.

Source: J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011; tinygrad carries
the function as a primitive on 64-bit words (word 0 in the low half).

- The words of a seed S are (S mod 2^32, S div 2^32).
- Game key of batch row r in episode e: threefry(words(S), (r, e)).
- bits(key, c) is the first word of threefry(key, (c, 0)); draw(key, c, n) = bits * n >> 32 is uniform in 0..n-1.
- The uniform policy in row r has the key P = threefry(words(S), (r, 2^32 - 1)). Its n-th decision of episode e plays
  the x-th of the L legal actions in ascending order, where x = first word of threefry(P, (n, e)) * L >> 32.

Every function works alike on scalars of a kernel and on Tensors.
"""

from typing import TypeVar

from tinygrad import Tensor, UOp, dtypes

from tensor_envs.core.checks import integer

T = TypeVar("T", UOp, Tensor)
POLICY_EPISODE = 0xFFFFFFFF
ACTION_COUNTER = (
    0xFFFFFFFF  # no decision has this number: here the uniform policy's key makes keys for other policies
)
MAX_SEED = 2**64 - 1


def join(low: T, high: T) -> T:
    """Two uint32 words -> one uint64."""
    return low.cast(dtypes.uint64) | high.cast(dtypes.uint64) << 32


def split(x: T) -> tuple[T, T]:
    """One uint64 -> its low and high uint32 words."""
    return x.cast(dtypes.uint32), (x >> 32).cast(dtypes.uint32)


def threefry(key: tuple[T, T], counter: tuple[T, T]) -> tuple[T, T]:
    """Key words and counter words, uint32 -> two output words, uint32."""
    return split(join(*counter).threefry(join(*key)))


def scale(bits: T, n: T | int) -> T:
    """uint32 bits -> int32, uniform in 0..n-1 (n at most 2^31)."""
    wide = n if isinstance(n, int) else n.cast(dtypes.uint64)
    return (bits.cast(dtypes.uint64) * wide >> 32).cast(dtypes.int32)


class KeyedChance:
    """The chance events of one game: draws by counter under its game key (two uint32 scalars)."""

    def __init__(self, key: tuple[UOp, UOp]):
        self.key = key

    def bits(self, counter: UOp | int) -> UOp:
        """-> uint32, all values equally likely."""
        zero = self.key[0].const_like(0)
        word = zero + counter if isinstance(counter, int) else counter.cast(dtypes.uint32)
        return threefry(self.key, (word, zero))[0]

    def draw(self, counter: UOp | int, n: UOp | int) -> UOp:
        """-> int32, uniform in 0..n-1."""
        return scale(self.bits(counter), n)


class NoChance:
    """Stands in for the chance of a game whose Spec declares none."""

    def bits(self, counter: UOp | int) -> UOp:
        raise RuntimeError("these rules draw chance, so their Spec must say chance=True")

    def draw(self, counter: UOp | int, n: UOp | int) -> UOp:
        return self.bits(counter)


def seed_words(seed: int) -> tuple[int, int]:
    """The words of a seed. TypeError or ValueError unless it is an int in 0..2^64-1."""
    seed = integer("seed", seed, 0, MAX_SEED)
    return seed & 0xFFFFFFFF, seed >> 32
