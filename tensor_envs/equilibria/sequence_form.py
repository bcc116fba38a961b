"""Sequence form: a player's information states and sequences of own actions, with the payoffs at the ends.

A sequence is a player's last action with all own actions before it; perfect recall makes an information state follow
exactly one sequence. Sequence 0 is empty. A plan gives every sequence the probability that the player's own actions
are those; a strategy gives every sequence the probability of its last action. Source: B. von Stengel, "Efficient
computation of behavior strategies", Games and Economic Behavior 14 (1996).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from tensor_envs.equilibria.ends import SortedEnds
from tensor_envs.equilibria.storage import Storage
from tensor_envs.solve.packed import Array

# views of information states without a decision of the game: a player may decline the game, or chooses at a leaf
OFFER = -1
LEAF = -2


class Level(NamedTuple):
    """Information states of a player after equally many own actions.

    Attributes:
        states, sequences: ranges of their numbers.
        starts: first sequence of each state within the range, intp [states].
        before: sequence before each state, counted from the start of the range `earlier`, intp [states].
        earlier: range of sequences that hold those before.
    """

    states: slice
    sequences: slice
    starts: Array
    before: Array
    earlier: slice


def ranks(counts: Array) -> Array:
    """Return 0, 1, ... up to each count, concatenated, intp [sum of counts]."""
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
        storage: place of the ends.
        uniform: strategy that plays every action with equal probability, float64 [size].
    """

    def __init__(
        self, player: int, depths: Sequence[int], before: Array, counts: Array, ends: SortedEnds, storage: Storage
    ):
        """Build the levels from the number of states of each, and each state's sequence before it and its actions."""
        self.player = player
        self.ends = ends
        self.storage = storage
        self._parts = [(rows, *ends.among(rows)) for rows in storage.slices(len(ends.payoffs))]
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
            at = level.sequences
            # Levels go from the first decisions on: the sequence before each one has its plan already.
            np.multiply(plan[self.before[at]], strategy[at], out=plan[at])
        return plan

    def strategy(self, weights: Array) -> Array:
        """Return the strategy in proportion to weights [size] that are not negative; uniform where all are 0."""
        if not len(self.starts):
            return self.uniform
        total = np.add.reduceat(weights, self.starts)[self.state]
        strategy = np.divide(weights, total, out=self.uniform.copy(), where=total > 0)
        strategy[0] = 1
        return strategy

    def payoffs(self, plans: Sequence[Array]) -> Array:
        """Return the payoff of every sequence at its own ends, weighted by chance and the other players, [size]."""
        return self.summed(self.ends.payoffs, plans)

    def summed(self, numbers: Array, plans: Sequence[Array], absolute: bool = False) -> Array:
        """Sum numbers [ends], or their absolute values, over the ends of every sequence, [size].

        They are weighted by the plans of the other players.
        """
        sums = np.zeros(self.size)
        ends = self.ends
        rest = [plan for player, plan in enumerate(plans) if player != self.player]
        for rows, sequences, starts in self._parts:
            part = np.abs(numbers[rows]) if absolute else numbers[rows]
            # An end counts with the probabilities of chance, which its payoff contains, and of the other players.
            for plan, other in zip(rest, ends.others, strict=True):
                part = part * plan.take(other[rows])
            parts = np.add.reduceat(part, starts)
            # A sequence may have ends in the part before as well.
            parts[0] += sums[sequences[0]]
            sums[sequences] = parts
        return sums

    def action_values(self, payoffs: Array, strategy: Array) -> tuple[Array, Array]:
        """Return the counterfactual values of every sequence [size] and information state [states]."""
        values = payoffs.copy()
        states = np.empty(len(self.starts))
        for level in reversed(self.levels):
            at = level.sequences
            earlier = level.earlier
            # From the last decisions back: a state is worth the mean of its actions under the strategy.
            states[level.states] = of_states = np.add.reduceat(values[at] * strategy[at], level.starts)
            values[earlier] += np.bincount(level.before, of_states, earlier.stop - earlier.start)
        return values, states

    def best_response(self, payoffs: Array) -> tuple[float, Array]:
        """Return the value of a best response and the response, a strategy [size] without chance."""
        values = payoffs.copy()
        best = np.zeros(self.size)
        best[0] = 1
        for level in reversed(self.levels):
            at = level.sequences
            earlier = level.earlier
            # The responding player takes the best action of each state.
            highest = np.maximum.reduceat(values[at], level.starts)
            is_best = np.flatnonzero(values[at] == highest[self.state[at] - level.states.start])
            # The first of equally good actions is taken, so that the response is a single plan.
            first = is_best[np.unique(self.state[at][is_best], return_index=True)[1]]
            best[at.start + first] = 1
            values[earlier] += np.bincount(level.before, highest, earlier.stop - earlier.start)
        return float(values[0]), best


def forms_of(states: Mapping[str, Array], ends: Sequence[SortedEnds], storage: Storage) -> list[SequenceForm]:
    """Return the sequence form of every player.

    states: columns of the information states: player, level, number of actions and preceding sequence, sorted by
        player and level.
    ends: for each player, the ends sorted by its sequences.
    """
    forms = []
    for p, mine in enumerate(ends):
        rows = slice(*np.searchsorted(states["player"], [p, p + 1]))
        level, before, counts = (states[name][rows] for name in ("level", "before", "counts"))
        forms.append(SequenceForm(p, np.bincount(level).tolist(), before, counts, mine, storage))
    return forms
