"""Counts as players observe them."""

from tensor_envs.rules import Part, Scalar, bits, uint64


def up_to(count: Scalar, most: int) -> Part:
    """Observe a count as that many ones, then zeros."""
    return bits((uint64(1) << count) - 1, most)
