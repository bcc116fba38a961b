"""Parts of a game tree, and the belief about the games that it starts from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from tinygrad import Tensor

from tensor_envs._validate import shown
from tensor_envs.env import Env
from tensor_envs.interop import to_numpy
from tensor_envs.solve.packed import Array, Packed
from tensor_envs.solve.sequence_form import SequenceForm

if TYPE_CHECKING:
    from tensor_envs.solve.branches import Branches


class Belief(NamedTuple):
    """Distribution of the games that a tree starts from, and what a player is offered to leave them.

    Attributes:
        weights: probability of each game, float64 [n], with a sum of 1.
        player: player that may end the games before they begin, as in `te.resolve`; -1 for none.
        values: return of that player if it does, float64 [n].
    """

    weights: Array
    player: int
    values: Array

    def is_like(self, other: Belief) -> bool:
        """Return whether another belief is the same, up to rounding."""
        pairs = zip(self[::2], other[::2], strict=True)
        return self.player == other.player and all(a.shape == b.shape and np.allclose(a, b) for a, b in pairs)


def belief_of(game: Branches, weights: Any = None, player: int = -1, values: Any = None) -> Belief:
    """Return the belief of weights and values [n], or of equally likely games. ValueError for other numbers."""
    count = len(game.first_table)
    if weights is not None and isinstance(game.origin, Env):
        raise ValueError("weights must be None where start is an Env, whose first states are equally likely")
    likely = np.ones(count) if weights is None else reals("weights", weights, count)
    if (likely < 0).any() or not (total := likely.sum()) > 0:
        raise ValueError(f"weights must be at least 0, and one of them more, got {shown(likely.tolist())}")
    return Belief(likely / total, player, np.zeros(count) if values is None else reals("values", values, count))


def reals(name: str, value: Any, count: int) -> Array:
    """Return finite numbers, float64 [count]. ValueError for anything else."""
    array = np.asarray(to_numpy(value) if isinstance(value, Tensor) else value)
    if array.shape != (count,) or array.dtype.kind not in "biuf" or not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite numbers ({count},), got {array.dtype} {array.shape}")
    return array.astype(np.float64)


class Parts(NamedTuple):
    """Parts of a tree, the arguments of `GameTree`."""

    game: Branches
    belief: Belief
    states: dict[str, Array]
    views: Packed
    forms: list[SequenceForm]
    nodes: int
