"""Comparison of a game with another engine: the first difference in random games, as short as it can be made."""

from tensor_envs.compare.search import Difference, first_difference

__all__ = ["Difference", "first_difference"]
