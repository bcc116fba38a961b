"""Who plays at a table when nobody clicks: the uniform player, and perfect play where a game is solved."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import tensor_envs as te

Choose = Callable[[te.State], int]  # the action of a batch of one game


def uniform(state: te.State) -> int:
    """A random legal action, a function of the game's seed and ply."""
    return int(te.random_policy(state).item())


def perfect(seed: int) -> Choose:
    """A player of random actions among those that keep the position's value.

    It wins what is won: of the actions that keep a win one at least brings it nearer, and sooner or later is drawn.
    """
    chance = np.random.default_rng(seed)
    return lambda state: int(chance.choice(np.flatnonzero(te.search.best_actions(state)[0])))
