"""Values of games at a depth limit, by policies for the rest or by a network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tensor_envs._engine.inputs import host_array
from tensor_envs._validate import errors_at, function, shown, wrong_type
from tensor_envs.envs.state import State
from tensor_envs.equilibria.tabular_policy import GAMES_AT_ONCE, Probabilities, TabularPolicy, asked
from tensor_envs.solve.packed import Array

if TYPE_CHECKING:
    from tensor_envs.search.outputs import Evaluate


def continuations(leaf: Any, opponent: int, max_states: int) -> Callable[[State], Array]:
    """Return a function of leaves to the opponent's returns from there on, float64 [B, choices]; see `te.resolve`.

    TypeError for a leaf that is neither policies nor a network, ValueError for no policies.
    """
    if callable(leaf):
        return lambda leaves: _by_network(leaf, leaves, opponent)
    if not isinstance(leaf, Sequence):
        raise wrong_type("leaf", "a sequence of policies or a function", leaf)
    if not leaf:
        raise ValueError("leaf must be one policy or more, got none")
    # imported here, since the package's longest chain of imports is at its limit
    from tensor_envs.equilibria.response_values import ResponseValues

    policies = [_answers(policy, f"leaf[{k}]") for k, policy in enumerate(leaf)]

    def values(leaves: State) -> Array:
        every = [ResponseValues(leaves, _mixed(policies[0], chosen, opponent), max_states) for chosen in policies]
        return np.stack([continuation.from_states()[:, opponent] for continuation in every], axis=1)

    return values


def function_of(policy: TabularPolicy | Probabilities, name: str) -> Probabilities:
    """Return a policy, an argument of that name, as a function of a State to probabilities [B, A]."""
    if not isinstance(policy, TabularPolicy):
        function(name, policy)
        return policy

    def probabilities(state: State) -> Array:
        with errors_at(name):  # a state that its tree does not have, or of another game
            return policy.probabilities(state)

    return probabilities


def _answers(policy: TabularPolicy | Probabilities, name: str) -> Callable[[State], Array]:
    """Return a policy as a function of a State to checked probabilities, float64 [B, A]."""
    probabilities = function_of(policy, name)
    return lambda states: asked(probabilities, states, name)


def _mixed(own: Callable[[State], Array], chosen: Callable[[State], Array], opponent: int) -> Callable[[State], Array]:
    """Return the policy in which the opponent follows `chosen`, and the player `own`."""

    def probabilities(states: State) -> Array:
        moves = states.current_player.numpy() == opponent
        return np.where(moves[:, None], chosen(states), own(states))

    return probabilities


def _by_network(evaluate: Evaluate, leaves: State, opponent: int) -> Array:
    """Return the opponent's returns by a network, float64 [B, 1]."""
    parts = list[Array]()
    count = leaves.batch
    for begin in range(0, count, GAMES_AT_ONCE):
        # Networks take large batches in parts.
        rows = np.arange(begin, min(begin + GAMES_AT_ONCE, count))
        state = leaves[np.resize(rows, min(GAMES_AT_ONCE, count))]  # one batch size for all
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
        parts.append(values[: len(rows)].astype(np.float64))
    return np.concatenate(parts)[:, None]
