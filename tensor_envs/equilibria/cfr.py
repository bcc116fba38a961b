"""Counterfactual regret minimisation on the sequence form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from tensor_envs.equilibria.ends import sorted_rows
from tensor_envs.equilibria.merging import MergedForms
from tensor_envs.equilibria.sequence_form import SequenceForm, ranks
from tensor_envs.equilibria.tabular_policy import exploitability_of, plans_of
from tensor_envs.solve.packed import Array

if TYPE_CHECKING:
    from tensor_envs.equilibria.game_tree import GameTree

Algorithm = Literal["cfr+", "dcfr", "pcfr+", "mccfr"]


class Solver:
    """State of counterfactual regret minimisation for all players.

    Sequences that are equal by symmetries are merged. This changes only the random samples of "mccfr".
    """

    def __init__(self, tree: GameTree, algorithm: Algorithm = "cfr+", seed: int = 0):
        self.merged = MergedForms(tree.forms)
        self.algorithm = algorithm
        self.forms = self.merged.forms
        self.strategies = [form.uniform for form in self.forms]
        self.plans = plans_of(self.forms, self.strategies)
        self.regrets = [np.zeros(form.size) for form in self.forms]
        self.plan_sums = [np.zeros(form.size) for form in self.forms]  # weighted sums of plans
        self.rng = np.random.default_rng(seed)
        self.samplers = [Sampler(form) for form in self.forms] if algorithm == "mccfr" else []

    def averages(self) -> list[Array]:
        """Return the average plan of every player."""
        return [plan_sum / plan_sum[0] for plan_sum in self.plan_sums]

    def exploitability(self) -> float:
        """Return the exploitability of the average policy."""
        return exploitability_of(self.forms, self.averages())

    def average_strategies(self) -> list[Array]:
        """Return the average strategy of every player of the tree."""
        pairs = zip(self.forms, self.averages(), strict=True)
        return self.merged.strategies([form.strategy(plan) for form, plan in pairs])

    def iterate(self, count: int) -> None:
        """Update every player in turn; `count` is the number of this iteration, from 1."""
        for p, form in enumerate(self.forms):
            if self.algorithm == "mccfr":
                # External sampling: pure plans of the others, sampled each time, estimate the payoffs without bias from
                # few ends.
                payoffs = self.samplers[p].payoffs(self.pure_plans(p))
            else:
                payoffs = form.payoffs(self.plans)
            values, states = form.action_values(payoffs, self.strategies[p])
            # A player without decisions has one plan, which needs no update.
            if not len(states):
                self.plan_sums[p] = self.plans[p]
                continue
            # The counterfactual regret of an action is its value minus that of its state under the strategy.
            regret = values - states[form.state]
            regrets = self.regrets[p]
            regrets += regret
            if self.algorithm == "dcfr":
                # Discounted CFR discounts old regrets, negative ones faster (N. Brown and T. Sandholm, AAAI 2019).
                regrets *= np.where(regrets >= 0, count**1.5 / (count**1.5 + 1), 0.5)
            elif self.algorithm != "mccfr":
                # CFR+ clips negative regrets to 0, so that an action that becomes good is played at once.
                np.maximum(regrets, 0, out=regrets)
            weight = {"cfr+": count, "dcfr": count**2, "pcfr+": count**2, "mccfr": 1}[self.algorithm]
            # Later plans are better and weigh more in the average.
            self.plan_sums[p] += weight * self.plans[p]
            # Predictive CFR+ predicts that the next regret equals the last one.
            predicted = regrets + regret if self.algorithm == "pcfr+" else regrets
            # Every action of a class has the regret of the class, so the class counts once for each of them.
            self.strategies[p] = form.strategy(np.maximum(predicted, 0) * self.merged.counts[p])
            self.plans[p] = form.plan(self.strategies[p])

    def pure_plans(self, player: int) -> list[Array]:
        """Sample a pure strategy of every other player, and return the plans of all players, 0 or 1 for the others."""
        plans = list(self.plans)
        for p, form in enumerate(self.forms):
            if p != player and len(form.starts):
                # In one cumulative sum of all probabilities, the actions of each state cover an interval of length 1.
                # A random point of the interval chooses the action.
                sums = np.cumsum(self.strategies[p])
                points = sums[form.starts - 1] + self.rng.random(len(form.starts))
                last = np.append(form.starts[1:], form.size) - 1
                pure = np.zeros(form.size)
                pure[np.clip(np.searchsorted(sums, points, "right"), form.starts, last)] = 1
                pure[0] = 1
                plans[p] = form.plan(pure)
        return plans


class Sampler:
    """Ends of the game for one player, sorted by the sequences of another one, to find the few ends of a sample."""

    def __init__(self, form: SequenceForm):
        self.form = form
        ends = form.ends
        count = len(ends.payoffs)
        keys = int(max((other.max() for other in ends.others[:1]), default=0)) + 1

        def key(rows: slice) -> Array:
            return ends.others[0][rows] if ends.others else np.zeros(rows.stop - rows.start, np.int64)

        def columns(rows: slice) -> list[Array]:
            return [ends.own(rows), ends.payoffs[rows], *(other[rows] for other in ends.others)]

        (self.own, self.end_payoffs, *self.others), _ = sorted_rows(count, key, columns, keys, form.storage)
        self.other_players = [p for p in range(len(ends.others) + 1) if p != form.player]

    def payoffs(self, plans: Sequence[Array]) -> Array:
        """Return `SequenceForm.payoffs` if the plans of the other players are 0 or 1."""
        if not self.other_players:
            return self.form.payoffs(plans)
        # The ends are sorted by the sequences of the first other player, so those of a sequence are a range.
        played = np.flatnonzero(plans[self.other_players[0]])
        first, end = (np.searchsorted(self.others[0], played, side) for side in ("left", "right"))
        rows = np.repeat(first, end - first) + ranks(end - first)
        payoffs = self.end_payoffs[rows]
        # Further players' plans are 0 at the ends to which they do not play.
        for k, p in enumerate(self.other_players[1:], 1):
            payoffs = payoffs * plans[p][self.others[k][rows]]
        return np.bincount(self.own[rows], payoffs, self.form.size)
