"""Monte Carlo tree search in every game of a batch at once, with playouts or with a network."""

from tensor_envs.search.monte_carlo import flat_monte_carlo
from tensor_envs.search.policies import gumbel_muzero_policy, muzero_policy, playout_policy
from tensor_envs.search.tree import SearchOutput, SearchTree, subtree

__all__ = [
    "SearchOutput",
    "SearchTree",
    "flat_monte_carlo",
    "gumbel_muzero_policy",
    "muzero_policy",
    "playout_policy",
    "subtree",
]
