"""Search: choosing actions by playing ahead, many games at once; perfect play where a game is solved."""

from tensor_envs.search.exact import best_actions, is_solved
from tensor_envs.search.monte_carlo import flat_monte_carlo
from tensor_envs.search.policies import (
    SearchOutput,
    SearchTree,
    gumbel_muzero_policy,
    muzero_policy,
    playout_policy,
    subtree,
)

__all__ = [
    "SearchOutput",
    "SearchTree",
    "best_actions",
    "flat_monte_carlo",
    "gumbel_muzero_policy",
    "is_solved",
    "muzero_policy",
    "playout_policy",
    "subtree",
]
