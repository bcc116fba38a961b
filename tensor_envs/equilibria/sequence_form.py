"""Sequence form: a player's information states and sequences of own actions, with the payoffs at the ends.

A sequence is a list of a player's own actions from the start on; sequence 0 is empty. With perfect recall, exactly one
sequence leads to an information state. A plan has, for every sequence, the probability that the player takes all of its
actions; a strategy has the probability of the last one. Source: B. von Stengel, "Efficient computation of behavior
strategies", Games and Economic Behavior 14 (1996).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from tensor_envs.equilibria.ends import SortedEnds
from tensor_envs.equilibria.storage import Storage
from tensor_envs.solve.packed import Array

# views of information states that are choices outside the game, see `te.resolve`
OFFER = -1  # a player begins the game, or ends it for its value
LEAF = -2  # a player chooses a continuation at the depth limit


class Level(NamedTuple):
    """Information states of a player after equally many own actions.

    Attributes:
        states, sequences: ranges of the numbers of the states and of the sequences that end in them.
        starts: first sequence of each state, counted from the start of `sequences`, intp [states].
        before: sequence before each state, counted from the start of `earlier`, intp [states].
        earlier: range of the sequences of the level before, and for the first level the empty sequence.
    """

    states: slice
    sequences: slice
    starts: Array
    before: Array
    earlier: slice


def ranks(counts: Array) -> Array:
    """Return the numbers 0 to n - 1 for each count n, concatenated, intp [sum of counts]."""
    return np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)


class SequenceForm:
    """Information states and sequences of one player.

    Attributes:
        player: number of the player.
        size: number of sequences.
        before: sequence before each sequence's information state, intp [size]; 0 for the empty one.
        state: information state of each sequence, intp [size]; 0 for the empty one.
        starts: first sequence of each information state, intp [states].
        levels: information states by the number of own actions before them.
        ends: ends of the game.
        storage: memory or files with the ends.
        uniform: strategy that plays every action with equal probability, float64 [size].
    """

    def __init__(
        self, player: int, depths: Sequence[int], before: Array, counts: Array, ends: SortedEnds, storage: Storage
    ):
        """Build the levels.

        Args:
            player: number of the player.
            depths: number of information states of each level.
            before: sequence before each state, [states].
            counts: number of actions of each state, [states].
            ends: ends of the game.
            storage: memory or files with the ends.
        """
        self.player = player
        self.ends = ends
        self.storage = storage
        self._parts = [(rows, *ends.in_rows(rows)) for rows in storage.slices(len(ends.payoffs))]
        self.starts = 1 + np.cumsum(counts, dtype=np.intp) - counts
        self.size = 1 + int(counts.sum())
        # Sequence 0 is the empty one, before the first action.
        empty = np.zeros(1, np.intp)
        self.state = np.concatenate([empty, np.repeat(np.arange(len(counts)), counts)])
        self.before = np.concatenate([empty, np.repeat(before, counts)]).astype(np.intp)
        self.uniform = np.concatenate([[1.0], np.repeat(1 / counts, counts)])
        self.levels = list[Level]()
        first = 0
        earlier = slice(0, 1)
        for count in depths:
            states = slice(first, first + count)
            sequences = slice(earlier.stop, earlier.stop + int(counts[states].sum()))
            starts = self.starts[states] - sequences.start
            self.levels.append(Level(states, sequences, starts, before[states] - earlier.start, earlier))
            first = first + count
            earlier = sequences

    def plan(self, strategy: Array) -> Array:
        """Return the plan of a strategy, float64 [size]."""
        plan = np.empty(self.size)
        plan[0] = 1
        for level in self.levels:
            rows = level.sequences
            # The sequences before this level have their probabilities already.
            np.multiply(plan[self.before[rows]], strategy[rows], out=plan[rows])
        return plan

    def strategy(self, weights: Array) -> Array:
        """Return the strategy in proportion to weights [size] of at least 0; uniform in states where all are 0."""
        if not len(self.starts):
            return self.uniform
        total = np.add.reduceat(weights, self.starts)[self.state]
        strategy = np.divide(weights, total, out=self.uniform.copy(), where=total > 0)
        strategy[0] = 1
        return strategy

    def payoffs(self, plans: Sequence[Array]) -> Array:
        """Return the payoff of every sequence at its own ends, weighted by chance and the other players, [size]."""
        return self.sum_over_ends(self.ends.payoffs, plans)

    def sum_over_ends(self, numbers: Array, plans: Sequence[Array], absolute: bool = False) -> Array:
        """Sum numbers over the ends of every sequence, weighted by the other players' plans, [size].

        Args:
            numbers: numbers of the ends, [ends].
            plans: plans of all players, [size] each.
            absolute: sum absolute values.
        """
        sums = np.zeros(self.size)
        ends = self.ends
        others_plans = [plan for player, plan in enumerate(plans) if player != self.player]
        for rows, sequences, starts in self._parts:
            weighted = np.abs(numbers[rows]) if absolute else numbers[rows]
            for plan, other in zip(others_plans, ends.others, strict=True):
                weighted = weighted * plan.take(other[rows])
            part = np.add.reduceat(weighted, starts)
            # The first sequence of a part may have ends in the part before as well.
            part[0] += sums[sequences[0]]
            sums[sequences] = part
        return sums

    def action_values(self, payoffs: Array, strategy: Array) -> tuple[Array, Array]:
        """Return the counterfactual values of every sequence [size] and information state [states]."""
        values = payoffs.copy()
        state_values = np.empty(len(self.starts))
        # Go from the last decisions to the first, so that the values of later states are known.
        for level in reversed(self.levels):
            rows = level.sequences
            earlier = level.earlier
            # The value of a state is the mean over its actions under the strategy.
            means = np.add.reduceat(values[rows] * strategy[rows], level.starts)
            state_values[level.states] = means
            values[earlier] += np.bincount(level.before, means, earlier.stop - earlier.start)
        return values, state_values

    def best_response(self, payoffs: Array) -> tuple[float, Array]:
        """Return the value of a best response and the response, a deterministic strategy [size]."""
        values = payoffs.copy()
        best = np.zeros(self.size)
        best[0] = 1
        for level in reversed(self.levels):
            rows = level.sequences
            earlier = level.earlier
            # The responding player takes the best action of each state, the first of equally good ones.
            highest = np.maximum.reduceat(values[rows], level.starts)
            is_best = np.flatnonzero(values[rows] == highest[self.state[rows] - level.states.start])
            first = is_best[np.unique(self.state[rows][is_best], return_index=True)[1]]
            best[rows.start + first] = 1
            values[earlier] += np.bincount(level.before, highest, earlier.stop - earlier.start)
        return float(values[0]), best


def forms_of(states: Mapping[str, Array], ends: Sequence[SortedEnds], storage: Storage) -> list[SequenceForm]:
    """Return the sequence form of every player.

    Args:
        states: columns of the information states, sorted by player and level: "player", "level", "before" (sequence
            before the state) and "counts" (number of actions).
        ends: for each player, the ends sorted by its sequences.
        storage: memory or files with the ends.
    """
    forms = []
    for p, player_ends in enumerate(ends):
        rows = slice(*np.searchsorted(states["player"], [p, p + 1]))
        level, before, counts = (states[name][rows] for name in ("level", "before", "counts"))
        forms.append(SequenceForm(p, np.bincount(level).tolist(), before, counts, player_ends, storage))
    return forms
