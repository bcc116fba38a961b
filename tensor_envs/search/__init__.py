"""Search: choosing actions by playing ahead, many games at once."""

from tensor_envs.search.monte_carlo import flat_monte_carlo

__all__ = ["flat_monte_carlo"]
