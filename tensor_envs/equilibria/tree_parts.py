"""Parts of a game tree, and the belief about the games that it starts from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tensor_envs._engine.inputs import host_array
from tensor_envs._validate import shown
from tensor_envs.envs.state import State
from tensor_envs.equilibria.sequence_form import SequenceForm
from tensor_envs.solve.packed import Array, Packed

if TYPE_CHECKING:
    from tensor_envs.solve.branches import Branches


class Belief(NamedTuple):
    """Distribution of the games that a tree starts from, and the values for which a player may end them.

    Attributes:
        weights: probability of each game, float64 [n], with a sum of 1.
        player: player that may end the games before they begin, as in `te.resolve`; -1 for none.
        values: return of that player if it ends each game, float64 [n].
    """

    weights: Array
    player: int
    values: Array

    def is_like(self, other: Belief) -> bool:
        """Return whether another belief is the same, up to rounding."""
        pairs = ((self.weights, other.weights), (self.values, other.values))
        return self.player == other.player and all(a.shape == b.shape and np.allclose(a, b) for a, b in pairs)


def belief_of(game: Branches, weights: Any = None, player: int = -1, values: Any = None) -> Belief:
    """Return the belief with these weights and values, each [n].

    Without weights the games are equally likely, and without values these are 0. ValueError for wrong numbers.
    """
    count = len(game.first_table)
    if weights is not None and not isinstance(game.origin, State):
        raise ValueError("weights must be None where start is an Env, whose first states are equally likely")
    likely = np.ones(count) if weights is None else reals("weights", weights, count)
    if (likely < 0).any() or not (total := likely.sum()) > 0:
        raise ValueError(f"weights must be at least 0, and one of them more, got {shown(likely.tolist())}")
    return Belief(likely / total, player, np.zeros(count) if values is None else reals("values", values, count))


def reals(name: str, value: Any, count: int) -> Array:
    """Return the argument `name` as finite numbers, float64 [count]. ValueError for anything else."""
    array = host_array(name, value)
    if array.shape != (count,) or array.dtype.kind not in "biuf" or not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite numbers ({count},), got {array.dtype} {array.shape}")
    return array.astype(np.float64)


class Cut(NamedTuple):
    """Depth limit of a tree, at which the belief's player chooses how the rest is played.

    Attributes:
        depth: number of plies from the start.
        values: return of that player from each leaf on after each choice, float64 [leaves, choices]; before the leaves
            are known, a function that computes them from a State of all leaves.
    """

    depth: int
    values: Any

    def with_leaves(self, leaves: State) -> Cut:
        """Return the limit with the values of these leaves. ValueError for values of another shape."""
        values = self.values(leaves) if callable(self.values) else self.values
        if values.ndim != 2 or len(values) != leaves.batch or not values.size or not np.isfinite(values).all():
            raise ValueError(f"the values of {leaves.batch} leaves must be finite, got shape {values.shape}")
        return Cut(self.depth, values)

    def is_like(self, other: Cut | None) -> bool:
        """Return whether another limit is the same, up to rounding."""
        if other is None or self.depth != other.depth or self.values.shape != other.values.shape:
            return False
        return np.allclose(self.values, other.values)


class Parts(NamedTuple):
    """Parts of a tree, the arguments of `GameTree`."""

    game: Branches
    belief: Belief
    states: dict[str, Array]  # columns of the information states
    views: Packed  # different views of the players to move, see `Branches.view_columns`
    forms: list[SequenceForm]
    nodes: int  # number of histories
    cut: Cut | None = None
