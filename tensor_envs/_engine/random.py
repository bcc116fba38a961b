"""Seeds, and Threefry on Tensors for random numbers outside of kernels; `rules.chance` defines the generator."""

from __future__ import annotations

from tinygrad import Tensor, dtypes

from tensor_envs._validate import integer

MAX_SEED = 2**64 - 1
KEY_WORDS = 5  # words of a row's keys: seed (two words), number of the row, key of the uniform policy (two words)


def threefry(key: tuple[Tensor, Tensor], counter: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    """Return two random words, uint32, for two key words and two counter words."""
    x = _join(*counter).threefry(_join(*key))
    return x.cast(dtypes.uint32), (x >> 32).cast(dtypes.uint32)


def _join(low: Tensor, high: Tensor) -> Tensor:
    """Join a low and a high word to a uint64."""
    return low.cast(dtypes.uint64) | high.cast(dtypes.uint64) << 32


def seed_words(seed: int) -> tuple[int, int]:
    """Return the two words of a seed. TypeError or ValueError unless it is an int in 0..2^64-1."""
    seed = integer("seed", seed, 0, MAX_SEED)
    return seed & 0xFFFFFFFF, seed >> 32
