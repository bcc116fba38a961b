"""Retrograde analysis: values of all positions of a game, from the ends back to the start."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tensor_envs.solve.packed import Array
from tensor_envs.solve.proof import WIN_SCORE
from tensor_envs.solve.values import SETTLED, one_ply_earlier

EDGES_AT_ONCE = 1 << 20  # edges per batch
SWEEPS = 100_000  # limit of the iteration in games with cycles
MAX_GAP = 1e-9  # maximum difference between values from above and from below


class PlyGraph(NamedTuple):
    """Unfinished positions that a ply of the exploration adds, and their edges.

    Attributes:
        number: numbers of the positions, int32 [n].
        player: whether player 0 is to move, bool [n].
        edges: numbers of the children, position by position, int32 [sum of degrees].
        degrees: number of edges of each position, int32 [n].
    """

    number: Array
    player: Array
    edges: Array
    degrees: Array


def first_values(numbers: Array, results: Array, wins: bool) -> Array:
    """Return the values of finished games, given the numbers of their results; 0 for all others."""
    return (results * WIN_SCORE).astype(np.int16)[numbers] if wins else results[numbers]


def compute_values(layers: Sequence[PlyGraph], values: Array, outcomes: int, once: bool) -> None:
    """Compute the values of unfinished positions in place, from the last layer to the first.

    In games with cycles the computation is repeated until no value changes. It starts from draws, so every win or loss
    comes from a finished game. With chance this would let a player keep a draw by waiting where a loss is not found
    yet. So it starts there both from the highest and from the lowest result, between which the values are.

    Args:
        layers: edges of all plies.
        values: values of all positions for player 0; those of finished games are given, others are 0.
        outcomes: number of outcomes of an action.
        once: whether every edge leads to a later layer, so that one sweep is enough.

    Raises:
        ValueError: the values do not settle, or the two iterations with cycles and chance do not meet.
    """
    if once or outcomes == 1:
        _sweep(layers, values, outcomes, once)
        return
    bounds = []
    # The iterations from below and from above must meet. A player who can play on for ever could keep either bound.
    for bound in (min(0.0, values.min()), max(0.0, values.max())):
        bounds.append(values.copy())
        for layer in layers:
            bounds[-1][layer.number] = bound
        _sweep(layers, bounds[-1], outcomes, once)
    if np.abs(bounds[1] - bounds[0]).max() > MAX_GAP:
        raise ValueError("start must be of a game in which, with chance, no player can play on for ever")
    values[:] = (bounds[0] + bounds[1]) / 2


def _sweep(layers: Sequence[PlyGraph], values: Array, outcomes: int, once: bool) -> None:
    """Replace values by those that follow from the children, once or until they settle."""
    for _ in range(SWEEPS):
        change = 0.0
        # Later plies come first, so that one sweep suffices where every edge leads to a later ply.
        for layer in reversed(layers):
            new = _backed_up(layer, values, outcomes)
            if not once:
                change = max(change, float(np.abs(new - values[layer.number]).max()))
            values[layer.number] = new
        # Scores are integers and settle exactly, expectations up to rounding.
        if change <= (0 if values.dtype == np.int16 else SETTLED):
            return
    raise ValueError(f"start must be of a game whose values settle in {SWEEPS} sweeps")


def _backed_up(layer: PlyGraph, values: Array, outcomes: int) -> Array:
    """Return the values of a layer's positions, given the values of all positions."""
    ends = np.cumsum(layer.degrees, dtype=np.int64)
    best = np.empty(len(layer.degrees), values.dtype)
    begin = 0
    # Batches of whole positions with at most `EDGES_AT_ONCE` edges bound the memory.
    while begin < len(best):
        before = int(ends[begin - 1]) if begin else 0
        end = max(begin + 1, int(np.searchsorted(ends, before + EDGES_AT_ONCE, "right")))
        child = one_ply_earlier(values[layer.edges[before : ends[end - 1]]])
        if outcomes > 1:
            # The outcomes of an action are consecutive edges and equally likely.
            child = child.reshape(-1, outcomes).mean(1)
        starts = (ends[begin:end] - layer.degrees[begin:end] - before) // outcomes
        best[begin:end] = _best(child, starts, layer.player[begin:end])
        begin = end
    return best


def _best(values: Array, starts: Array, player: Array) -> Array:
    """Return the highest value of each run of values where player 0 moves, and the lowest of other runs.

    values: float64 or int16 [edges].
    starts: start of each position's run, [n].
    player: whether player 0 is to move, bool [n].
    """
    if player.all():
        return np.maximum.reduceat(values, starts)
    if not player.any():
        return np.minimum.reduceat(values, starts)
    return np.where(player, np.maximum.reduceat(values, starts), np.minimum.reduceat(values, starts))
