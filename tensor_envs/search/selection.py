"""Action selection: progressive history for playouts, MuZero and Gumbel MuZero for networks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

from tensor_envs._compiler.tape import FLOAT32, INT32, INT64
from tensor_envs.rules.kernel import bitcast, branch, divide, do_while, loop, registers, team_max, team_min, team_sum
from tensor_envs.rules.lists import select
from tensor_envs.rules.scalar import Scalar, Value, float32, int32, maximum, minimum, scalar, where
from tensor_envs.search.records import DRAW, LOSS, WIN, Edge, Node, PathStep

if TYPE_CHECKING:
    from tensor_envs.search.memory import Edges, TreeMemory

LOWEST = -3.4e38  # logit of an illegal action
# beyond the `sort_key` of every number
MIN_KEY = -(2**31) + 1
MAX_KEY = 2**31 - 1
MIN_KEY_64 = -(2**63) + 1
TIER = 1e36  # distance of scores that proofs or visits decide, beyond all others
GROUP_EDGES = 512  # edges of all roots of a group
MAX_VALUE = 1e30  # largest value of a network: sums over all simulations stay finite
# statistics of a node that `GumbelMuZero` copies to registers, with their dtypes
COPIED = {
    **dict.fromkeys(("visits", "tried", "max_visits"), INT32),
    **dict.fromkeys(("raw_value", "prior_sum", "value_sum"), FLOAT32),
}

# number of an edge -> its score, and whether it may be chosen if its action is legal
Score = Callable[[Scalar], tuple[Scalar, Value]]
PerEdge = Callable[[Scalar], Scalar]
Stage = Callable[[Value, "Edges"], None]  # gets a root's number in its group, and the edges of its node


def sort_key(x: Scalar) -> Scalar:
    """Return the bits of a float32 as an int that sorts like it."""
    return _flip(bitcast(x, INT32))


def from_sort_key(key: Scalar) -> Scalar:
    """Return the float32 of a `sort_key`."""
    return bitcast(_flip(key), FLOAT32)


def _flip(bits: Scalar) -> Scalar:
    # negative floats grow with their bits in the other direction
    return bits ^ where(bits < 0, 0x7FFFFFFF, 0)


def is_finite(x: Scalar) -> Scalar:
    # infinities and NaNs have all bits of the exponent set
    return bitcast(x, INT32) & 0x7F800000 != 0x7F800000


def is_value(x: Scalar) -> Scalar:
    """Return whether a number is at most `MAX_VALUE` in magnitude, and no NaN."""
    return (x <= MAX_VALUE) & (x >= -MAX_VALUE)


def exp(x: Scalar) -> Scalar:
    """Return e**x for x <= 0, about 0 below -80, as a power of two times a polynomial."""
    y = maximum(x, -80.0) * 1.4426950408889634
    whole = int32(y - 0.5)  # rounds towards 0: the rest is in -0.5..0.5
    rest = y - float32(whole)
    power = float32(1.0)
    # Taylor's series of 2**rest by Horner's rule
    for k in range(7, 0, -1):
        power = rest * power * (float32(0.6931471805599453) * (1.0 / k)) + 1.0
    # the power of two is the exponent of a float, which has a bias of 127
    return power * bitcast(whole + 127 << 23, FLOAT32)


class ActionSelection:
    """Strategy of a search: scores of actions, statistics of nodes, choice of the action to play.

    Attributes:
        name: name of the strategy.
        uses_network: whether a network gives values and priors.
        noise_count: noise values per edge of the root.
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

    def score(self, k: Value, edges: Edges) -> Score:
        """Return the scores by which a simulation selects an edge of a node, for root `k` of a group."""
        raise NotImplementedError

    def prior(self, edges: Edges, edge: Scalar, prior: Scalar, logit: Scalar) -> Scalar:
        """Return the prior of a new node's edge, given the network's prior and its logit minus the highest one."""
        return prior

    def chosen(self, k: Value, edge: Edge) -> None:
        """Store the numbers of the action chosen by root `k` of a group that `complete_steps` needs."""

    def complete_steps(self, count: Value, step: Callable[[Scalar], PathStep]) -> None:
        """Store what `record` needs in the steps of the roots of a group."""

    def record(self, node: Node, step: PathStep, visits: Scalar, total: Scalar, gain: Scalar) -> None:
        """Update a node's statistics with a return, given the action's visits and sum of returns before it."""

    def final(self, edges: Edges) -> tuple[PerEdge, Score]:
        """Return the weights of the root's edges, and the scores by which the action to play is chosen."""
        # the most visited action is the best one: its visits are many because its value stayed high

        def score(edge: Scalar) -> tuple[Scalar, Value]:
            return self.final_score(edges, edge), True

        return self.shares_of_visits(edges), self.wins_first(edges, score)

    def final_score(self, edges: Edges, edge: Scalar) -> Scalar:
        """Return the final score of an edge of the root."""
        return float32(edges[edge].visits)

    # *** shared by the strategies ***

    def is_open(self, edge: Edge) -> Value:
        """Return whether a simulation may search an edge: proven ones are not searched again.

        A node that a simulation visits is not proven, so it has such an edge.
        """
        return edge.outcome == 0 if self.tree.config.proves else True

    def shares_of_visits(self, edges: Edges) -> PerEdge:
        """Return the shares of the root's visits of its edges; edges that lose what is proven have none.

        A proof ends the search of an edge: one that wins may have a single visit, one that loses may have had many.
        """
        total = edges.node.visits
        if not self.tree.config.proves:
            return lambda k: divide(float32(edges[k].visits), float32(maximum(total, 1)))
        proven = self.tree.root(edges.at).proven

        def keeps(edge: Edge) -> Scalar:
            """Return whether an edge has the proven outcome of the root or, without one, may yet be the best."""
            return where(proven > 0, edge.outcome == proven, edge.outcome != LOSS)

        kept = registers(1, INT32)
        kept[0] = 0
        with edges.each() as (k, legal):
            kept[0] += where(legal & keeps(edges[k]), edges[k].visits, 0)
        kept_visits = team_sum(kept[0])
        # after few simulations all that have been visited may lose
        keeps_all = kept_visits == 0
        total = float32(maximum(where(keeps_all, total, kept_visits), 1))
        return lambda k: divide(float32(where(keeps_all | keeps(edges[k]), edges[k].visits, 0)), total)

    def wins_first(self, edges: Edges, score: Score) -> Score:
        """Return final scores by which a proven win comes first, and a proven loss after all other edges."""
        if not self.tree.config.proves:
            return score

        def ranked(edge: Scalar) -> tuple[Scalar, Value]:
            value, allowed = score(edge)
            outcome = edges[edge].outcome
            # tiers are so far apart that no score crosses them
            tier = where(outcome == WIN, TIER, where(outcome == LOSS, -TIER, 0.0))
            return value + tier + where(allowed, 0.0, -0.1 * TIER), True

        return ranked

    def best(self, edges: Edges, score: Score) -> Scalar:
        """Return the legal edge of the highest score; ties go to the lowest action."""
        last = self.tree.width - 1
        best = registers(1, INT64)
        best[0] = MIN_KEY_64
        with edges.each() as (edge, legal):
            value, allowed = score(edge)
            # one integer holds score and action: a maximum of integers is vectorised, and settles ties
            key = (sort_key(value).to(INT64) << 32) | (last - edge)
            best[0] = maximum(best[0], where(legal & allowed, key, MIN_KEY_64))
        return self.tree.edge_number(last - team_max(best[0]).to(INT32))

    def value_range(self, edges: Edges) -> tuple[PerEdge, Scalar, Scalar]:
        """Return the values of edges, with the lowest and the highest of the tried ones, or NaNs without any."""
        values = registers(self.tree.own_width, FLOAT32)
        low = registers(1, INT32)
        high = registers(1, INT32)
        low[0] = MAX_KEY
        high[0] = MIN_KEY
        # an outcome is a sum of rewards since the root
        paid = select(edges.node.returns(), edges.node.mover) if self.tree.config.proves else scalar(0.0)
        with edges.each() as (k, _):
            edge = edges[k]
            value = edge.value
            tried = edge.visits > 0
            if self.tree.config.proves:
                value = where(edge.outcome > 0, float32(edge.outcome - DRAW) - paid, value)
            values[self.tree.own(k)] = value
            # an untried action has no value that could be the lowest
            low[0] = minimum(low[0], where(tried, sort_key(value), MAX_KEY))
            high[0] = maximum(high[0], where(tried, sort_key(value), MIN_KEY))
        lowest = from_sort_key(team_min(low[0]))
        highest = from_sort_key(team_max(high[0]))
        return lambda k: values[self.tree.own(k)], lowest, highest

    def softmax(self, edges: Edges, logit: PerEdge) -> tuple[PerEdge, PerEdge]:
        """Return the probabilities of edges, 0 for illegal actions, and their logits minus the highest one."""
        softmax = Softmax(self.tree)
        softmax.set_logits(0, edges, logit)
        softmax.set_terms(1)
        return softmax.weights(0), lambda edge: softmax.relative(0, edge)


class Softmax:
    """Softmax over a node's edges for each of a few roots, in stages that store their results in registers."""

    def __init__(self, tree: TreeMemory, roots: int = 1):
        self.tree = tree
        self.width = tree.own_width
        self.logits, self.terms = (registers(roots * self.width, FLOAT32) for _ in range(2))
        self.total = registers(roots, FLOAT32)
        self.counts = registers(roots, INT32)

    def set_logits(self, k: Value, edges: Edges, logit: PerEdge) -> None:
        """Store the logits of root `k` minus the highest one of a legal action."""
        base = k * self.width
        top = registers(1, INT32)
        self.counts[k] = edges.count
        top[0] = MIN_KEY
        with edges.each() as (edge, legal):
            x = where(legal, logit(edge), LOWEST)
            self.logits[base + self.tree.own(edge)] = x
            top[0] = maximum(top[0], sort_key(x))
        # relative to the highest logit, so that no exponential overflows and the largest term is 1
        highest = from_sort_key(team_max(top[0]))
        with edges.each() as (edge, legal):
            index = base + self.tree.own(edge)
            self.logits[index] -= highest
            self.terms[index] = where(legal, 1.0, 0.0)

    def set_terms(self, count: Value) -> None:
        """Store the exponentials of the logits of the first `count` roots, 0 for illegal actions, and their sums.

        These loops read no tree, so they are vectorised.
        """
        if not self.tree.config.packed:  # one loop for the edges of all roots
            with loop(count * self.width) as index:
                self.terms[index] *= exp(self.logits[index])
        total = registers(1, INT32)
        # no sum wraps: a term is 1 at most
        fixed_point = 2.0 ** (31 - self.tree.padded_actions.bit_length())
        with loop(count) as k:
            base = k * self.width
            num_edges = self.counts[k]
            if self.tree.config.packed:
                with self.tree.each_number(num_edges) as edge:
                    index = base + self.tree.own(edge)
                    self.terms[index] *= exp(self.logits[index])
            total[0] = 0  # compilers vectorise sums of integers, but not those of floats
            with self.tree.each_number(num_edges) as edge:
                total[0] += int32(self.terms[base + self.tree.own(edge)] * fixed_point + 0.5)
            self.total[k] = float32(maximum(team_sum(total[0]), 1)) * (1 / fixed_point)

    def weights(self, k: Value) -> PerEdge:
        """Return the weights of root `k`."""
        # loaded here once: a load in the loop over edges would become a gather
        total = self.total[k]
        return lambda edge: divide(self.terms[k * self.width + self.tree.own(edge)], total)

    def relative(self, k: Value, edge: Scalar) -> Scalar:
        """Return an edge's logit minus the highest one."""
        return self.logits[k * self.width + self.tree.own(edge)]


class ProgressiveHistory(ActionSelection):
    """PUCT with equal priors and progressive history: the mean return and two terms that fall with an action's visits.

    The first term is that of PUCT with equal priors, exploration * prior * sqrt(visits) / (1 + visits of the action)
    with the prior 1 / legal actions. The more actions there are, the fewer of them a search can try, and the less the
    term weighs against what it has found. An untried action has the mean return 0, so that a good action is visited
    again before all others are tried.
    The second term is history weight * history / (1 + losses). The history of an action is the mean return of all
    simulations in which the player took it, anywhere in the tree or in the playout. So a node knows something of an
    action before it tries it. Losses are n * (1 - mean) / 2 of n visits: the term stays with what wins.
    Returns are divided by the largest absolute return so far, so that both terms keep their weight in games with large
    returns.
    Sources: D. Silver et al., "Mastering the game of Go without human knowledge", 2017 (PUCT); J. Nijssen, M. Winands,
    "Enhancements for multi-player Monte-Carlo tree search", 2010 (progressive history).
    """

    name = "playout"
    uses_network = False
    history_weight: ClassVar[float] = 3.0

    def score(self, k: Value, edges: Edges) -> Score:
        # mean return / largest + exploration * sqrt(visits) / legal / (1 + n) + history weight * history / (1 + losses)
        tree = self.tree
        largest = tree.root(edges.at).largest
        # `exploration_table` has the two factors of the term that do not depend on the action
        exploration = tree.params.table(tree.index(edges.node.visits))
        exploration *= tree.params.table(tree.slots + tree.index(minimum(edges.num_legal, tree.actions)))

        def score(k: Scalar) -> tuple[Scalar, Value]:
            edge = edges[k]
            n = float32(edge.visits)
            # returns in -1..1, so that one constant serves games of small and of large returns
            value = divide(edge.value_sum, maximum(n, 1.0) * largest)
            bound = value + divide(exploration, n + 1.0)
            # mean return of the action elsewhere: it fades as visits here lose
            known = edges.history(k)
            history = divide(known.value_sum, maximum(float32(known.visits), 1.0) * largest)
            losses = n * (1.0 - value) * 0.5
            return bound + divide(self.history_weight * history, losses + 1.0), self.is_open(edge)

        return score

    def final(self, edges: Edges) -> tuple[PerEdge, Score]:
        """Return the weights and final scores of edges: a draw comes before an edge that seems to lose."""
        weight, visits = super().final(edges)
        # without proofs the most visited edge is played. A win comes first, then the likely edge or a draw, whichever
        # seems better, then other edges, and losses last.
        if not self.tree.config.proves:
            return weight, visits
        # the most visited edge that is not proven, if there is one
        likely = self.best(edges, lambda k: (float32(edges[k].visits), edges[k].outcome == 0))
        # a value below that of a draw makes the draw the better choice
        likely_edge = edges[likely]
        beats_draws = (likely_edge.visits > 0) & (likely_edge.value_sum >= 0)

        def score(k: Scalar) -> tuple[Scalar, Value]:
            edge = edges[k]
            outcome = edge.outcome
            among_losses = float32(edge.visits) * 2.0**-30 - 1.0  # the most visited one took longest to refute
            unproven = where(k == likely, 1.0, 0.0)
            draw = where(beats_draws, 0.5, 2.0)
            proven = where(outcome == WIN, 3.0, where(outcome == DRAW, draw, among_losses))
            return where(outcome == 0, unproven, proven), True

        return weight, score


class MuZero(ActionSelection):
    """MuZero's PUCT rule, with values normalised by the lowest and highest value of the node and its actions.

    A node's `value_sum` sums its actions' returns.
    """

    name = "muzero"
    noise_count = 2  # Dirichlet noise for the priors, Gumbel noise for the final choice

    def score(self, k: Value, edges: Edges) -> Score:
        node = edges.node
        visits = node.visits
        exploration = self.tree.params.table(self.tree.index(visits))
        # the node's own value: the mean of the network's and of all simulations through it
        value = divide(node.raw_value + node.value_sum, float32(visits) + 1.0)
        values, low, high = self.value_range(edges)
        # values are scaled to 0..1, so that the exploration has the same weight in games of small and large returns
        low = minimum(value, low)
        high = maximum(value, high)
        spread = maximum(high - low, 1e-8)

        def score(k: Scalar) -> tuple[Scalar, Value]:
            edge = edges[k]
            n = edge.visits
            # an untried action counts as the worst one, as in mctx
            value = where(n > 0, divide(values(k) - low, spread), 0.0)
            # PUCT: the bonus is large for likely actions and falls with their visits
            return value + divide(exploration * edge.prior, float32(n) + 1.0), self.is_open(edge)

        return score

    def prior(self, edges: Edges, edge: Scalar, prior: Scalar, logit: Scalar) -> Scalar:
        # only the root explores by noise: priors of later nodes stay the network's
        fraction = where(edges.slot == 0, self.tree.params.table(2 * self.tree.slots), 0.0)
        return prior * (1.0 - fraction) + self.tree.root_noise[self.tree.noise(edges.at, 0, edge)] * fraction

    def record(self, node: Node, step: PathStep, visits: Scalar, total: Scalar, gain: Scalar) -> None:
        node.value_sum += gain

    def final_score(self, edges: Edges, edge: Scalar) -> Scalar:
        # the logarithm of visits ** (1 / temperature): with Gumbel noise its maximum is a draw by these weights
        power = self.tree.params.table(self.tree.slots + edges[edge].visits)
        return power + self.tree.root_noise[self.tree.noise(edges.at, 1, edge)]


class GumbelMuZero(ActionSelection):
    """Gumbel MuZero's rule: sequential halving at the root; below it, visits approach the improved policy.

    An edge's `prior` is its logit minus the highest logit of the node. Over the tried actions of a node, `prior_sum` is
    the sum of exp(prior), and `value_sum` that of exp(prior) * value. The root's noise includes the logits.
    """

    name = "gumbel"
    noise_count = 1

    def __init__(self, tree: TreeMemory):
        super().__init__(tree)
        self.group = max(1, min(tree.roots, GROUP_EDGES // tree.width))
        self.policy = Softmax(tree, self.group)
        self.values = registers(self.group * tree.own_width, FLOAT32)
        # copies of statistics of the group's nodes
        self.node = {name: registers(self.group, dtype) for name, dtype in COPIED.items()}
        # `low` and `high` bound the tried values at first, later the scale
        self.low = registers(self.group, FLOAT32)
        self.high = registers(self.group, FLOAT32)
        self.mixed = registers(self.group, FLOAT32)
        self.factor = registers(self.group, FLOAT32)
        self.priors = registers(self.group, FLOAT32)

    def prepare(self, each: Callable[[Stage], None], count: Value, below_root: Scalar) -> None:
        """Store completed values with the logits of the improved policy, and below the roots its softmax."""
        # values of tried actions
        each(self.load_values)
        # the value that untried actions get, and the scale of both
        with loop(count) as k:
            self.set_scale(k)
        # logits of the improved policy: logits of the network plus scaled values
        each(self.scale_values)
        with branch(below_root):
            self.policy.set_terms(count)

    def index(self, k: Value, edge: Scalar) -> Scalar:
        """Return where the value of an edge of a group's root `k` stands."""
        return k * self.tree.own_width + self.tree.own(edge)

    def load_values(self, k: Value, edges: Edges) -> None:
        """Store the values of all edges, and what their scale depends on."""
        values, self.low[k], self.high[k] = self.value_range(edges)
        with self.tree.each_number(edges.count) as edge:
            self.values[self.index(k, edge)] = values(edge)
        # copies, since the next stage must not read the tree
        for name, array in self.node.items():
            array[k] = getattr(edges.node, name)

    def set_scale(self, k: Value) -> None:
        """Store the mixed value of untried actions, and the scale of values. It reads no tree, so it is vectorised."""
        node = {name: array[k] for name, array in self.node.items()}
        tried = node["tried"]
        visits = float32(node["visits"])
        # the network's value counts as one visit beside the mean of the tried actions, which their priors weigh
        mean = divide(node["value_sum"], maximum(node["prior_sum"], 1e-37))
        mixed = divide(node["raw_value"] + visits * mean, visits + 1.0)
        # without tried actions there is no range: all have the mixed value
        low, high = (where(tried > 0, array[k], mixed) for array in (self.low, self.high))
        # the scale includes the value of untried actions, if there are any
        complete = tried >= self.tree.actions
        low = where(complete, low, minimum(low, mixed))
        high = where(complete, high, maximum(high, mixed))
        self.low[k] = low
        self.mixed[k] = mixed
        # values weigh the more, the more visits they rest on: (50 + the most visits) * 0.1 in mctx
        self.factor[k] = divide(float32(node["max_visits"]) + 50.0, maximum(high - low, 1e-8))

    def scale_values(self, k: Value, edges: Edges) -> None:
        """Store the scaled values of all edges, and the logits of the improved policy: the sum with the priors."""
        mixed = self.mixed[k]
        low = self.low[k]
        factor = self.factor[k]

        def logit(number: Scalar) -> Scalar:
            edge = edges[number]
            index = self.index(k, number)
            scaled = factor * (where(edge.visits > 0, self.values[index], mixed) - low) * 0.1
            self.values[index] = scaled
            return edge.prior + scaled

        self.policy.set_logits(k, edges, logit)

    def score(self, k: Value, edges: Edges) -> Score:
        tree = self.tree
        visits = edges.node.visits
        weight = self.policy.weights(k)
        at_root = scalar(edges.slot == 0)
        is_planned = self.plan(edges, at_root)

        def score(edge: Scalar) -> tuple[Scalar, Value]:
            n = edges[edge].visits
            # the action that lags most behind the improved policy
            below_root = weight(edge) - divide(float32(n), float32(visits) + 1.0)
            # the root compares noise plus logit plus value: the best of these is a draw from the improved policy
            root = tree.root_noise[tree.noise(edges.at, 0, edge)] + self.values[self.index(k, edge)]
            planned = ~at_root | is_planned(n)
            if not tree.config.proves:
                return where(at_root, root, below_root), planned
            # once all edges of the plan are proven, a simulation takes another one
            return where(at_root, root, below_root) + where(planned, 0.0, -TIER), self.is_open(edges[edge])

        return score

    def plan(self, edges: Edges, at_root: Scalar) -> Callable[[Scalar], Scalar]:
        """Return the condition on the visits of an edge of the root under which sequential halving searches it next.

        A round visits every action that is still considered equally often. The turns of proven edges are skipped, so
        that the others keep equal visits; simulations after the last turn search the edges that survived all rounds.
        """
        tree = self.tree
        root = tree.root(edges.at)
        visits = edges.node.visits
        # the schedule depends on how many actions the root considers
        schedule = minimum(root.num_legal, tree.considered) * tree.num_simulations

        def wanted(turn: Scalar) -> Scalar:
            return tree.params.table(schedule + minimum(turn, tree.num_simulations - 1), INT32)

        if not tree.config.proves:
            planned = wanted(visits)
            return lambda n: n == planned
        # The schedule has the number of visits that the searched edge has at each visit of the root. A proven edge is
        # not open: visits of the root for which no open edge has this number are skipped.
        with branch(at_root), do_while() as search:
            turn = visits + root.skipped
            planned = wanted(turn)
            num_open = registers(1, INT32)
            num_open[0] = 0
            with edges.each() as (edge, legal):
                num_open[0] += int32(legal & self.is_open(edges[edge]) & (edges[edge].visits == planned))
            skips = (team_sum(num_open[0]) == 0) & (turn < tree.num_simulations)
            root.skipped += int32(skips)
            search.again = skips
        turn = visits + root.skipped
        planned = wanted(turn)
        return lambda n: where(turn < tree.num_simulations, n == planned, n > planned)

    def prior(self, edges: Edges, edge: Scalar, prior: Scalar, logit: Scalar) -> Scalar:
        self.tree.root_noise[self.tree.noise(edges.at, 0, edge)] += where(edges.slot == 0, logit, 0.0)
        return logit

    def chosen(self, k: Value, edge: Edge) -> None:
        self.priors[k] = edge.prior

    def complete_steps(self, count: Value, step: Callable[[Scalar], PathStep]) -> None:
        with loop(count) as k:  # reads no tree, so it is vectorised
            self.priors[k] = exp(self.priors[k])
        with loop(count) as k:
            step(k).weight = self.priors[k]

    def record(self, node: Node, step: PathStep, visits: Scalar, total: Scalar, gain: Scalar) -> None:
        first = visits == 0
        weight = step.weight
        before = where(first, 0.0, divide(total, maximum(float32(visits), 1.0)))
        node.tried += int32(first)
        node.max_visits = maximum(node.max_visits, visits + 1)
        # both sums change by one action's part, so that a selection needs no loop over all actions
        node.prior_sum += where(first, weight, 0.0)
        node.value_sum += weight * (divide(total + gain, float32(visits + 1)) - before)

    def final(self, edges: Edges) -> tuple[PerEdge, Score]:
        self.prepare(lambda stage: stage(int32(0), edges), 1, scalar(True))
        # the action of the highest noise + logit + value, among those that survived all rounds
        tree = self.tree
        least = edges.node.max_visits
        if tree.config.proves:
            # simulations after the last turn do not visit all survivors equally often
            last = (
                minimum(tree.root(edges.at).num_legal, tree.considered) * tree.num_simulations
                + tree.num_simulations
                - 1
            )
            least = minimum(least, tree.params.table(last, INT32) + 1)

        def score(number: Scalar) -> tuple[Scalar, Value]:
            edge = edges[number]
            noise = tree.root_noise[tree.noise(edges.at, 0, number)]
            survives = edge.visits >= least
            if tree.config.proves:  # a proven edge is not searched any more, but a draw may be the best
                survives |= edge.outcome == DRAW
            return noise + self.values[self.index(0, number)], survives

        return self.policy.weights(0), self.wins_first(edges, score)
