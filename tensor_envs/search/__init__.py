"""Search: choosing actions by playing ahead, many games at once; perfect play where a game is solved."""

from tensor_envs.search.exact import best_actions, is_solved
from tensor_envs.search.monte_carlo import flat_monte_carlo

__all__ = ["best_actions", "flat_monte_carlo", "is_solved"]
