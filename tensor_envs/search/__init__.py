"""Monte Carlo tree search in every game of a batch at once, with playouts or with a network."""

import importlib
import warnings
from typing import Any

from tensor_envs.search.monte_carlo import flat_monte_carlo
from tensor_envs.search.policies import gumbel_muzero_policy, muzero_policy, playout_policy
from tensor_envs.search.subtrees import subtree
from tensor_envs.search.tree import SearchOutput, SearchTree

__all__ = [
    "SearchOutput",
    "SearchTree",
    "flat_monte_carlo",
    "gumbel_muzero_policy",
    "muzero_policy",
    "playout_policy",
    "subtree",
]


def __getattr__(name: str) -> Any:
    """Return a function of version 0.2, until 0.4."""
    if name not in ("best_actions", "is_solved"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warnings.warn(
        f"{__name__}.{name} is gone: write te.solve(env) or te.agents.perfect()", DeprecationWarning, stacklevel=2
    )
    solution_of = importlib.import_module("tensor_envs.evaluation.agents").solution_of

    def is_solved(env: Any) -> bool:
        try:
            return bool(solution_of(env))
        except ValueError:
            return False

    return is_solved if name == "is_solved" else lambda state: solution_of(state.env).best_actions(state)
