"""Action selection: UCB, MuZero and Gumbel MuZero."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from tensor_envs._compiler.tape import FLOAT32, INT32, INT64
from tensor_envs._engine.kernels.base import Coords
from tensor_envs.rules.kernel import bitcast, branch, divide, loop, registers, sum_in_range
from tensor_envs.rules.lists import num_words, popcount
from tensor_envs.rules.scalar import Scalar, Value, float32, int32, maximum, minimum, scalar, uint32, where
from tensor_envs.search.memory import Edge, Mask, Node, PathStep, TreeMemory, wrap_index

LOWEST = -3.4e38  # logit of an illegal action
MIN_KEY, MAX_KEY = -(2**31) + 1, 2**31 - 1  # beyond the `sort_key` of every number
MIN_KEY_64 = -(2**63) + 1
GROUP_ACTIONS = 512  # of all roots of a group

# action -> its score, and whether it may be chosen if it is legal
Score = Callable[[Scalar], tuple[Scalar, Value]]
PerAction = Callable[[Scalar], Scalar]
Stage = Callable[[Scalar, Coords, Scalar], None]  # of a root's number in its group, the root and a slot


def sort_key(x: Scalar) -> Scalar:
    """Return the bits of a float32 as an int that sorts like it."""
    return _flip(bitcast(x, INT32))


def from_sort_key(key: Scalar) -> Scalar:
    """Return the float32 of a `sort_key`."""
    return bitcast(_flip(key), FLOAT32)


def _flip(bits: Scalar) -> Scalar:
    return bits ^ where(bits < 0, 0x7FFFFFFF, 0)


def is_finite(x: Scalar) -> Scalar:
    return bitcast(x, INT32) & 0x7F800000 != 0x7F800000


def exp(x: Scalar) -> Scalar:
    """Return e**x for x <= 0, about 0 below -80, as a power of two times a polynomial."""
    y = maximum(x, -80.0) * 1.4426950408889634
    whole = int32(y - 0.5)  # rounds towards 0: the rest is in -0.5..0.5
    rest, power = y - float32(whole), float32(1.0)
    for k in range(7, 0, -1):
        power = rest * power * (float32(0.6931471805599453) * (1.0 / k)) + 1.0
    return power * bitcast(whole + 127 << 23, FLOAT32)


class ActionSelection:
    """Strategy of a search: scores of actions, statistics of nodes, choice of the action to play.

    Attributes:
        name: name of the strategy.
        uses_network: whether a network gives values and priors.
        noise_count: noise values per action of the root.
        group: roots that run each stage of a selection in turn: their computations overlap, while those of one root
            wait for each other.
    """

    name: ClassVar[str]
    uses_network: ClassVar[bool] = True
    noise_count: ClassVar[int] = 0
    group = 1

    def __init__(self, tree: TreeMemory):
        self.tree = tree

    def prepare(self, each: Callable[[Stage], None], count: Value, below_root: Scalar) -> None:
        """Store what `score` needs for the roots of a group.

        Args:
            each: runs a stage for every root of the group.
            count: number of roots in the group.
            below_root: whether they choose an action of later nodes, not of their roots.
        """

    def score(self, k: Value, at: Coords, slot: Scalar, mask: Mask) -> Score:
        """Return the scores by which a simulation selects an action of a node, for root `k` of a group."""
        raise NotImplementedError

    def prior(self, at: Coords, slot: Scalar, action: Scalar, prior: Scalar, logit: Scalar) -> Scalar:
        """Return the prior of a new node's action, given the network's prior and its logit minus the highest one."""
        return prior

    def chosen(self, k: Scalar, edge: Edge) -> None:
        """Keep what `complete_steps` needs of the action that root `k` of a group has chosen."""

    def complete_steps(self, count: Scalar, step: Callable[[Scalar], PathStep]) -> None:
        """Store what `record` needs in the steps of the roots of a group."""

    def record(self, node: Node, step: PathStep, visits: Scalar, total: Scalar, gain: Scalar) -> None:
        """Update a node's statistics with a return, given the action's visits and sum of returns before it."""

    def final(self, at: Coords) -> tuple[PerAction, Score]:
        """Return the weights of the root's actions, and the scores by which the action to play is chosen."""
        total = float32(maximum(self.tree.node(at, 0).visits, 1))

        def score(action: Scalar) -> tuple[Scalar, Value]:
            return self.final_score(at, action, self.tree.edge(at, 0, action).visits), True

        return lambda action: divide(float32(self.tree.edge(at, 0, action).visits), total), score

    def final_score(self, at: Coords, action: Scalar, visits: Scalar) -> Scalar:
        """Return the final score of an action, given its visits."""
        return float32(visits)

    # *** shared by the strategies ***

    def best(self, mask: Mask, score: Score) -> Scalar:
        """Return the legal action of the highest score; ties go to the lowest action."""
        last, best = self.tree.width - 1, registers(1, INT64)
        best[0] = MIN_KEY_64
        with self.tree.each_action(mask) as (action, legal):
            value, allowed = score(action)
            key = (sort_key(value).to(INT64) << 32) | (last - action)
            best[0] = maximum(best[0], where(legal & allowed, key, MIN_KEY_64))
        return wrap_index(last - best[0].to(INT32), self.tree.width)

    def value_range(self, at: Coords, slot: Value) -> tuple[PerAction, Scalar, Scalar]:
        """Return the values of actions, with the lowest and the highest of the tried ones, or NaNs without any."""
        values, low, high = registers(self.tree.width, FLOAT32), registers(1, INT32), registers(1, INT32)
        low[0], high[0] = MAX_KEY, MIN_KEY
        with self.tree.each_action() as (action, _):
            edge = self.tree.edge(at, slot, action)
            value, tried = edge.value, edge.visits > 0
            values[action] = value
            low[0] = minimum(low[0], where(tried, sort_key(value), MAX_KEY))
            high[0] = maximum(high[0], where(tried, sort_key(value), MIN_KEY))
        return lambda action: values[action], from_sort_key(low[0]), from_sort_key(high[0])

    def softmax(self, mask: Mask, logit: PerAction) -> tuple[PerAction, PerAction]:
        """Return the probabilities of actions, 0 for illegal ones, and their logits minus the highest one."""
        softmax = Softmax(self.tree)
        softmax.set_logits(0, mask, logit)
        softmax.set_terms(1)
        return softmax.weights(0), lambda action: softmax.relative(0, action)


class Softmax:
    """Softmax over a node's actions for each of a few roots, in stages that store their results in registers."""

    def __init__(self, tree: TreeMemory, roots: int = 1):
        self.tree, self.width = tree, tree.width
        self.logits, self.terms = (registers(roots * self.width, FLOAT32) for _ in range(2))
        self.total = registers(roots, FLOAT32)

    def set_logits(self, k: Value, mask: Mask, logit: PerAction) -> None:
        """Store the logits of root `k` minus the highest one of a legal action."""
        base, top = k * self.width, registers(1, INT32)
        top[0] = MIN_KEY
        with self.tree.each_action(mask) as (action, legal):
            x = where(legal, logit(action), LOWEST)
            self.logits[base + action] = x
            top[0] = maximum(top[0], sort_key(x))
        highest = from_sort_key(top[0])
        with self.tree.each_action(mask) as (action, legal):
            self.logits[base + action] -= highest
            self.terms[base + action] = where(legal, 1.0, 0.0)

    def set_terms(self, count: Value) -> None:
        """Store the exponentials of the logits of the first `count` roots, 0 for illegal actions, and their sums.

        These loops over roots read no tree, so they are vectorised.
        """
        with loop(count * self.width) as index:
            self.terms[index] *= exp(self.logits[index])
        total = registers(1, INT32)
        fixed_point = 2.0 ** (31 - self.width.bit_length())  # no sum wraps: a term is 1 at most
        with loop(count) as k:
            total[0] = 0  # compilers vectorise sums of integers, but not those of floats
            with loop(self.width) as action:
                total[0] += int32(self.terms[k * self.width + action] * fixed_point + 0.5)
            self.total[k] = float32(maximum(total[0], 1)) * (1 / fixed_point)

    def weights(self, k: Value) -> PerAction:
        """Return the weights of root `k`; a sum that each action loaded would be gathered."""
        total = self.total[k]
        return lambda action: divide(self.terms[k * self.width + action], total)

    def relative(self, k: Value, action: Scalar) -> Scalar:
        """Return an action's logit minus the highest one."""
        return self.logits[k * self.width + action]


class UCB(ActionSelection):
    """Upper confidence bound: the mean return plus an exploration term that falls with an action's visits.

    The term is exploration * sqrt(visits / legal actions) / (1 + visits of the action). With v visits of each action it
    falls like 1 / sqrt(v), the standard error of a mean, whatever the number of actions is. An untried action has the
    mean return 0, so that a good action is visited again before all others are tried.
    Returns are divided by the largest absolute return so far, so that exploration keeps its weight in games with large
    returns.
    """

    name, uses_network = "playout", False

    def score(self, k: Value, at: Coords, slot: Scalar, mask: Mask) -> Score:
        tree = self.tree
        largest = tree.root(at).largest
        legal = sum_in_range(num_words(tree.actions), lambda w: popcount(uint32(mask(w))))
        exploration = tree.params.table(tree.index(tree.node(at, slot).visits))
        # `exploration_table` has the two factors of the term that do not depend on the action
        exploration *= tree.params.table(tree.slots + tree.index(minimum(legal, tree.actions)))

        def score(action: Scalar) -> tuple[Scalar, Value]:
            edge = tree.edge(at, slot, action)
            n = float32(edge.visits)
            return divide(edge.value_sum, maximum(n, 1.0) * largest) + divide(exploration, n + 1.0), True

        return score


class MuZero(ActionSelection):
    """MuZero's PUCT rule, with values normalised by the lowest and highest value of the node and its actions.

    A node's `value_sum` sums its actions' returns.
    """

    name, noise_count = "muzero", 2  # Dirichlet noise for the priors, Gumbel noise for the final choice

    def score(self, k: Value, at: Coords, slot: Scalar, mask: Mask) -> Score:
        tree, node = self.tree, self.tree.node(at, slot)
        visits = node.visits
        exploration = tree.params.table(tree.index(visits))
        value = divide(node.raw_value + node.value_sum, float32(visits) + 1.0)
        values, low, high = self.value_range(at, slot)
        low, high = minimum(value, low), maximum(value, high)
        spread = maximum(high - low, 1e-8)

        def score(action: Scalar) -> tuple[Scalar, Value]:
            edge = tree.edge(at, slot, action)
            n = edge.visits
            value = where(n > 0, divide(values(action) - low, spread), 0.0)
            return value + divide(exploration * edge.prior, float32(n) + 1.0), True

        return score

    def prior(self, at: Coords, slot: Scalar, action: Scalar, prior: Scalar, logit: Scalar) -> Scalar:
        fraction = where(slot == 0, self.tree.params.table(2 * self.tree.slots), 0.0)
        return prior * (1.0 - fraction) + self.tree.root_noise[self.tree.noise(at, 0, action)] * fraction

    def record(self, node: Node, step: PathStep, visits: Scalar, total: Scalar, gain: Scalar) -> None:
        node.value_sum += gain

    def final_score(self, at: Coords, action: Scalar, visits: Scalar) -> Scalar:
        power = self.tree.params.table(self.tree.slots + visits)
        return power + self.tree.root_noise[self.tree.noise(at, 1, action)]


class GumbelMuZero(ActionSelection):
    """Gumbel MuZero's rule: sequential halving at the root; below it, visits approach the improved policy.

    An edge's `prior` is a logit minus the node's highest one. A node's `prior_sum` and `value_sum` sum the exponentials
    of these, and their products with the values, for its tried actions. The root's noise includes the logits.
    """

    name, noise_count = "gumbel", 1

    def __init__(self, tree: TreeMemory):
        super().__init__(tree)
        self.group = max(1, min(tree.roots, GROUP_ACTIONS // tree.width))
        self.policy, self.values = Softmax(tree, self.group), registers(self.group * tree.width, FLOAT32)
        # of the nodes of a group; `low` and `high` are those of the tried actions, then of the scale
        kinds = {INT32: ("visits", "tried", "max_visits"), FLOAT32: ("raw_value", "prior_sum", "value_sum")}
        self.node = {name: registers(self.group, dtype) for dtype, names in kinds.items() for name in names}
        self.low, self.high, self.mixed, self.factor, self.priors = (registers(self.group, FLOAT32) for _ in range(5))

    def prepare(self, each: Callable[[Stage], None], count: Value, below_root: Scalar) -> None:
        """Store completed values with the logits of the improved policy, then its softmax, which no root needs."""
        each(self.load_values)
        with loop(count) as k:
            self.set_scale(k)
        each(self.scale_values)
        with branch(below_root):
            self.policy.set_terms(count)

    def load_values(self, k: Value, at: Coords, slot: Value) -> None:
        """Store the values of all actions, and what their scale depends on."""
        values, self.low[k], self.high[k] = self.value_range(at, slot)
        with self.tree.each_action() as (action, _):
            self.values[k * self.tree.width + action] = values(action)
        for name, array in self.node.items():
            array[k] = getattr(self.tree.node(at, slot), name)

    def set_scale(self, k: Value) -> None:
        """Store the mixed value of untried actions, and the scale of values. It reads no tree, so it is vectorised."""
        count, tried, max_visits, raw_value, prior_sum, value_sum = (array[k] for array in self.node.values())
        visits = float32(count)
        mixed = divide(raw_value + visits * divide(value_sum, maximum(prior_sum, 1e-37)), visits + 1.0)
        low, high = (where(tried > 0, array[k], mixed) for array in (self.low, self.high))
        complete = tried >= self.tree.actions
        low, high = where(complete, low, minimum(low, mixed)), where(complete, high, maximum(high, mixed))
        self.low[k], self.mixed[k] = low, mixed
        self.factor[k] = divide(float32(max_visits) + 50.0, maximum(high - low, 1e-8))

    def scale_values(self, k: Value, at: Coords, slot: Value) -> None:
        """Store the scaled values of all actions, and the logits of the improved policy: the sum with the priors."""
        tree, base = self.tree, k * self.tree.width
        mixed, low, factor = self.mixed[k], self.low[k], self.factor[k]

        def logit(action: Scalar) -> Scalar:
            edge = tree.edge(at, slot, action)
            scaled = factor * (where(edge.visits > 0, self.values[base + action], mixed) - low) * 0.1
            self.values[base + action] = scaled
            return edge.prior + scaled

        self.policy.set_logits(k, tree.node(at, slot).mask, logit)

    def score(self, k: Value, at: Coords, slot: Scalar, mask: Mask) -> Score:
        tree, visits = self.tree, self.tree.node(at, slot).visits
        considered = minimum(tree.root(at).num_legal, tree.considered)
        turn = considered * tree.simulations + minimum(visits, tree.simulations - 1)
        weight = self.policy.weights(k)
        wanted, at_root = tree.params.table(turn, INT32), slot == 0

        def score(action: Scalar) -> tuple[Scalar, Value]:
            n = tree.edge(at, slot, action).visits
            below_root = weight(action) - divide(float32(n), float32(visits) + 1.0)
            root = tree.root_noise[tree.noise(at, 0, action)] + self.values[k * tree.width + action]
            return where(at_root, root, below_root), ~at_root | (n == wanted)

        return score

    def prior(self, at: Coords, slot: Scalar, action: Scalar, prior: Scalar, logit: Scalar) -> Scalar:
        self.tree.root_noise[self.tree.noise(at, 0, action)] += where(slot == 0, logit, 0.0)
        return logit

    def chosen(self, k: Scalar, edge: Edge) -> None:
        self.priors[k] = edge.prior

    def complete_steps(self, count: Scalar, step: Callable[[Scalar], PathStep]) -> None:
        with loop(count) as k:  # reads no tree, so it is vectorised
            self.priors[k] = exp(self.priors[k])
        with loop(count) as k:
            step(k).weight = self.priors[k]

    def record(self, node: Node, step: PathStep, visits: Scalar, total: Scalar, gain: Scalar) -> None:
        first, weight = visits == 0, step.weight
        before = where(first, 0.0, divide(total, maximum(float32(visits), 1.0)))
        node.tried += int32(first)
        node.max_visits = maximum(node.max_visits, visits + 1)
        node.prior_sum += where(first, weight, 0.0)
        node.value_sum += weight * (divide(total + gain, float32(visits + 1)) - before)

    def final(self, at: Coords) -> tuple[PerAction, Score]:
        self.prepare(lambda stage: stage(int32(0), at, int32(0)), 1, scalar(True))
        max_visits = self.tree.node(at, 0).max_visits

        def score(action: Scalar) -> tuple[Scalar, Value]:
            noise = self.tree.root_noise[self.tree.noise(at, 0, action)]
            return noise + self.values[action], self.tree.edge(at, 0, action).visits == max_visits

        return self.policy.weights(0), score
