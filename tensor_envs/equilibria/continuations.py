"""Values of games at a depth limit, under policies for the rest of the game or by a network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tensor_envs._engine.inputs import host_array
from tensor_envs._validate import errors_at, function, shown, wrong_type
from tensor_envs.envs.state import State
from tensor_envs.equilibria.tabular_policy import Probabilities, TabularPolicy, batches, policy_table
from tensor_envs.solve.packed import Array

if TYPE_CHECKING:
    from tensor_envs.search.outputs import Evaluate


def continuations(leaf: Any, opponent: int, max_states: int) -> Callable[[State], Array]:
    """Return a function that computes the opponent's returns from leaves on, float64 [B, choices].

    Args:
        leaf: policies or a network, as in `te.resolve`.
        opponent: the player that chooses among the policies.
        max_states: upper bound for the number of states beyond the depth limit.

    Raises:
        TypeError: `leaf` is neither policies nor a network.
        ValueError: there are no policies.
    """
    if callable(leaf):
        return lambda leaves: _network_values(leaf, leaves, opponent)
    if not isinstance(leaf, Sequence):
        raise wrong_type("leaf", "a sequence of policies or a function", leaf)
    if not leaf:
        raise ValueError("leaf must be one policy or more, got none")
    # imported here, since the package's longest chain of imports is at its limit
    from tensor_envs.equilibria.response_values import ResponseValues

    policies = [_table_function(policy, f"leaf[{k}]") for k, policy in enumerate(leaf)]

    def values(leaves: State) -> Array:
        columns = list[Array]()
        for chosen in policies:
            # The opponent follows the policy that it has chosen, the player the first one.
            graph = ResponseValues(leaves, _joint_policy(policies[0], chosen, opponent), max_states)
            columns.append(graph.from_states()[:, opponent])
        return np.stack(columns, axis=1)

    return values


def function_of(policy: TabularPolicy | Probabilities, name: str) -> Probabilities:
    """Return a policy, the argument `name`, as a function of a State to probabilities [B, A]."""
    if not isinstance(policy, TabularPolicy):
        function(name, policy)
        return policy

    def probabilities(state: State) -> Array:
        with errors_at(name):  # the tree may lack a state, or be of another game
            return policy.probabilities(state)

    return probabilities


def _table_function(policy: TabularPolicy | Probabilities, name: str) -> Callable[[State], Array]:
    """Return a policy as a function of a State to checked probabilities, float64 [B, A]."""
    probabilities = function_of(policy, name)
    return lambda states: policy_table(probabilities, states, name)


def _joint_policy(
    own: Callable[[State], Array], chosen: Callable[[State], Array], opponent: int
) -> Callable[[State], Array]:
    """Return the policy of both players: the opponent follows `chosen`, and the player `own`."""

    def probabilities(states: State) -> Array:
        moves = states.current_player.numpy() == opponent
        return np.where(moves[:, None], chosen(states), own(states))

    return probabilities


def _network_values(evaluate: Evaluate, leaves: State, opponent: int) -> Array:
    """Return a network's estimates of the opponent's returns, float64 [B, 1]."""
    parts = list[Array]()
    for state, count in batches(leaves):
        output = evaluate(state)
        if not isinstance(output, tuple) or len(output) != 2:
            raise TypeError(f"leaf must return two arrays, logits and values, got {shown(output)}")
        values = host_array("the values of leaf", output[1])
        if values.shape not in ((state.batch,), (state.batch, 2)):
            raise ValueError(f"leaf must return values ({state.batch},) or ({state.batch}, 2), got {values.shape}")
        if values.dtype.kind not in "biuf" or not np.isfinite(values).all():
            raise ValueError(f"leaf must return finite values, got {values.dtype} {shown(values.tolist())}")
        if values.ndim == 1:
            values = np.where(state.current_player.numpy() == opponent, values, -values)
        else:
            values = values[:, opponent]
        parts.append(values[:count].astype(np.float64))
    return np.concatenate(parts)[:, None]
