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
# outside the range of `sort_key`, and of the keys in `best`
MIN_KEY = -(2**31) + 1
MAX_KEY = 2**31 - 1
MIN_KEY_64 = -(2**63) + 1
TIER = 1e36  # distance between tiers of scores; it is larger than all other scores
GROUP_EDGES = 512  # upper bound for the edges of all roots of a group
MAX_VALUE = 1e30  # largest value of a network, so that sums over all simulations stay finite
# statistics of a node that `GumbelMuZero` copies to registers, with their dtypes
NODE_STATISTICS = {
    **dict.fromkeys(("visits", "tried", "max_visits"), INT32),
    **dict.fromkeys(("raw_value", "prior_sum", "value_sum"), FLOAT32),
}

# In this module `k` is the number of an edge at its node, and `root` the number of a root in its group.
# function from the number of an edge to its score, and to whether it may be selected if its action is legal
Score = Callable[[Scalar], tuple[Scalar, Value]]
PerEdge = Callable[[Scalar], Scalar]  # function from the number of an edge to a number
Stage = Callable[[Value, "Edges"], None]  # function of the number of a root in its group, and of its node's edges


def sort_key(x: Scalar) -> Scalar:
    """Return the bits of a float32 as an int that sorts like it."""
    return _flip(bitcast(x, INT32))


def from_sort_key(key: Scalar) -> Scalar:
    """Return the float32 of a `sort_key`."""
    return bitcast(_flip(key), FLOAT32)


def _flip(bits: Scalar) -> Scalar:
    # Larger bits mean a smaller number among negative floats, so their order is reversed.
    return bits ^ where(bits < 0, 0x7FFFFFFF, 0)


def is_finite(x: Scalar) -> Scalar:
    # Infinities and NaNs have all bits of the exponent set.
    return bitcast(x, INT32) & 0x7F800000 != 0x7F800000


def is_value(x: Scalar) -> Scalar:
    """Return whether a number is at most `MAX_VALUE` in magnitude; a NaN is not."""
    return (x <= MAX_VALUE) & (x >= -MAX_VALUE)


def exp(x: Scalar) -> Scalar:
    """Return e**x for x <= 0, as a power of two times a polynomial; below -80 it is about 0."""
    # e**x = 2**y = 2**whole * 2**rest
    y = maximum(x, -80.0) * 1.4426950408889634  # 1 / ln 2
    whole = int32(y - 0.5)  # The cast rounds towards 0, so the rest is in -0.5..0.5.
    rest = y - float32(whole)
    power = float32(1.0)
    # Taylor series of 2**rest by Horner's rule; the constant is ln 2
    for k in range(7, 0, -1):
        power = rest * power * (float32(0.6931471805599453) * (1.0 / k)) + 1.0
    # 2**whole is a float with this exponent, which is stored with a bias of 127.
    return power * bitcast(whole + 127 << 23, FLOAT32)


class ActionSelection:
    """Strategy of a search: it scores edges, keeps statistics of nodes, and chooses the action to play.

    Attributes:
        name: name of the strategy.
        uses_network: whether a network gives values and priors.
        noise_count: noise values per edge of the root.
        group: number of roots that select together. Each stage runs in all of them before the next stage: computations
            of different roots overlap, while the stages of one root wait for each other.
    """

    name: ClassVar[str]
    uses_network: ClassVar[bool] = True
    noise_count: ClassVar[int] = 0
    group = 1

    def __init__(self, tree: TreeMemory):
        self.tree = tree

    def prepare(self, each: Callable[[Stage], None], count: Value, below_root: Scalar) -> None:
        """Compute what `score` needs, for all roots of a group.

        Args:
            each: function that runs a stage for every root of the group.
            count: number of roots in the group.
            below_root: whether the simulations have left their roots and select at later nodes.
        """

    def score(self, root: Value, edges: Edges) -> Score:
        """Return the scores of a node's edges; a simulation selects the highest."""
        raise NotImplementedError

    def edge_prior(self, edges: Edges, k: Scalar, prior: Scalar, logit: Scalar) -> Scalar:
        """Return what a new edge stores as its prior, given the network's prior and its logit minus the highest one."""
        return prior

    def note_selected(self, root: Value, edge: Edge) -> None:
        """Keep what `complete_steps` needs of the edge that a root has selected."""

    def complete_steps(self, count: Value, step: Callable[[Scalar], PathStep]) -> None:
        """Store what `update_node` needs in the latest path steps of a group's roots."""

    def update_node(self, node: Node, step: PathStep, visits: Scalar, value_sum: Scalar, gain: Scalar) -> None:
        """Update a node's statistics in the backup of a simulation.

        Args:
            node: the node.
            step: step of the simulation's path at this node.
            visits: visits of the step's edge before this simulation.
            value_sum: sum of the edge's returns before this simulation.
            gain: return of the node's player from this step on.
        """

    def final(self, edges: Edges) -> tuple[PerEdge, Score]:
        """Return the weights of the root's edges, and the scores by which the action to play is chosen."""
        # The most visited action is the best one: it has many visits because its value stayed high.

        def score(k: Scalar) -> tuple[Scalar, Value]:
            return self.final_score(edges, k), True

        return self.visit_shares(edges), self.wins_first(edges, score)

    def final_score(self, edges: Edges, k: Scalar) -> Scalar:
        """Return the final score of an edge of the root."""
        return float32(edges[k].visits)

    # *** shared by the strategies ***

    def is_open(self, edge: Edge) -> Value:
        """Return whether a simulation may select an edge: proven edges are not searched again.

        Simulations visit no proven nodes, so every visited node has an open edge.
        """
        return edge.outcome == 0 if self.tree.config.proves else True

    def visit_shares(self, edges: Edges) -> PerEdge:
        """Return the share of each edge in the visits of the root.

        A proof ends the search of an edge, so that a win may have a single visit and a loss many. If the root is
        proven, only edges of its outcome have a share. Otherwise proven losses have none.
        """
        total = edges.node.visits
        if not self.tree.config.proves:
            return lambda k: divide(float32(edges[k].visits), float32(maximum(total, 1)))
        proven = self.tree.root(edges.at).proven

        def counts(edge: Edge) -> Scalar:
            """Return whether an edge has the proven outcome of the root or, without one, may yet be the best."""
            return where(proven > 0, edge.outcome == proven, edge.outcome != LOSS)

        counted = registers(1, INT32)
        counted[0] = 0
        with edges.each() as (k, legal):
            counted[0] += where(legal & counts(edges[k]), edges[k].visits, 0)
        counted_visits = team_sum(counted[0])
        # After few simulations all visited edges may be losses. Then all visits count.
        all_count = counted_visits == 0
        total = float32(maximum(where(all_count, total, counted_visits), 1))
        return lambda k: divide(float32(where(all_count | counts(edges[k]), edges[k].visits, 0)), total)

    def wins_first(self, edges: Edges, score: Score) -> Score:
        """Return final scores that put a proven win before all other edges, and a proven loss after them."""
        if not self.tree.config.proves:
            return score

        def ranked(k: Scalar) -> tuple[Scalar, Value]:
            value, allowed = score(k)
            outcome = edges[k].outcome
            # The distance of the tiers is larger than any difference of scores.
            tier = where(outcome == WIN, TIER, where(outcome == LOSS, -TIER, 0.0))
            # An edge that `score` excludes may be the only win, so it comes after the others of its tier.
            return value + tier + where(allowed, 0.0, -0.1 * TIER), True

        return ranked

    def best(self, edges: Edges, score: Score) -> Scalar:
        """Return the number of the legal edge with the highest score; ties go to the lowest action."""
        last = self.tree.width - 1
        best = registers(1, INT64)
        best[0] = MIN_KEY_64
        with edges.each() as (k, legal):
            value, allowed = score(k)
            # One integer holds the score and, below it, the edge: a maximum of integers is vectorised.
            key = (sort_key(value).to(INT64) << 32) | (last - k)
            best[0] = maximum(best[0], where(legal & allowed, key, MIN_KEY_64))
        return self.tree.edge_number(last - team_max(best[0]).to(INT32))

    def value_range(self, edges: Edges) -> tuple[PerEdge, Scalar, Scalar]:
        """Return the values of edges, with the lowest and the highest of visited edges, or NaNs without any."""
        values = registers(self.tree.own_width, FLOAT32)
        low = registers(1, INT32)
        high = registers(1, INT32)
        low[0] = MAX_KEY
        high[0] = MIN_KEY
        # An outcome is the sum of all rewards since the root. A value begins at this node, so earlier rewards are
        # subtracted.
        paid = select(edges.node.returns(), edges.node.mover) if self.tree.config.proves else scalar(0.0)
        with edges.each() as (k, _):
            edge = edges[k]
            value = edge.value
            visited = edge.visits > 0
            if self.tree.config.proves:
                value = where(edge.outcome > 0, float32(edge.outcome - DRAW) - paid, value)
            values[self.tree.own(k)] = value
            # Edges without visits have no value yet.
            low[0] = minimum(low[0], where(visited, sort_key(value), MAX_KEY))
            high[0] = maximum(high[0], where(visited, sort_key(value), MIN_KEY))
        lowest = from_sort_key(team_min(low[0]))
        highest = from_sort_key(team_max(high[0]))
        return lambda k: values[self.tree.own(k)], lowest, highest

    def softmax(self, edges: Edges, logit: PerEdge) -> tuple[PerEdge, PerEdge]:
        """Return the probabilities of edges, 0 for illegal actions, and their logits minus the highest one."""
        softmax = Softmax(self.tree)
        softmax.set_logits(0, edges, logit)
        softmax.set_terms(1)
        return softmax.weights(0), lambda k: softmax.relative_logit(0, k)


class Softmax:
    """Softmax over the edges of a node, for each root of a group, in stages whose results lie in registers."""

    def __init__(self, tree: TreeMemory, roots: int = 1):
        self.tree = tree
        self.width = tree.own_width
        self.logits = registers(roots * self.width, FLOAT32)
        self.terms = registers(roots * self.width, FLOAT32)
        self.totals = registers(roots, FLOAT32)
        self.counts = registers(roots, INT32)

    def set_logits(self, root: Value, edges: Edges, logit: PerEdge) -> None:
        """Store the logits of a root's node minus the highest one of a legal action."""
        first = root * self.width
        highest_key = registers(1, INT32)
        self.counts[root] = edges.count
        highest_key[0] = MIN_KEY
        with edges.each() as (k, legal):
            x = where(legal, logit(k), LOWEST)
            self.logits[first + self.tree.own(k)] = x
            highest_key[0] = maximum(highest_key[0], sort_key(x))
        # Logits are relative to the highest one, so that no exponential overflows and the largest term is 1.
        highest = from_sort_key(team_max(highest_key[0]))
        with edges.each() as (k, legal):
            index = first + self.tree.own(k)
            self.logits[index] -= highest
            self.terms[index] = where(legal, 1.0, 0.0)

    def set_terms(self, count: Value) -> None:
        """Store the exponentials of the logits of the first `count` roots, 0 for illegal actions, and their sums.

        Compilers vectorise these loops, since they read no tree.
        """
        if not self.tree.config.packed:  # All nodes have the same number of edges: one loop serves all roots.
            with loop(count * self.width) as index:
                self.terms[index] *= exp(self.logits[index])
        # Terms are summed as fixed-point integers: compilers vectorise sums of integers, but not those of floats.
        total = registers(1, INT32)
        # A term is 1 at most, so that no sum of all actions wraps around.
        fixed_point = 2.0 ** (31 - self.tree.padded_actions.bit_length())
        with loop(count) as root:
            first = root * self.width
            num_edges = self.counts[root]
            if self.tree.config.packed:
                with self.tree.each_number(num_edges) as k:
                    index = first + self.tree.own(k)
                    self.terms[index] *= exp(self.logits[index])
            total[0] = 0
            with self.tree.each_number(num_edges) as k:
                total[0] += int32(self.terms[first + self.tree.own(k)] * fixed_point + 0.5)
            self.totals[root] = float32(maximum(team_sum(total[0]), 1)) * (1 / fixed_point)

    def weights(self, root: Value) -> PerEdge:
        """Return the probabilities of the edges of a root's node."""
        # The total is loaded here, once: in the loop over edges the load would become a gather.
        total = self.totals[root]
        return lambda k: divide(self.terms[root * self.width + self.tree.own(k)], total)

    def relative_logit(self, root: Value, k: Scalar) -> Scalar:
        """Return an edge's logit minus the highest one."""
        return self.logits[root * self.width + self.tree.own(k)]


class ProgressiveHistory(ActionSelection):
    """PUCT with equal priors and progressive history, for searches without a network.

    The score of an edge is the sum of three terms:

        mean return + exploration * sqrt(node's visits) / legal actions / (1 + visits) + weight * history / (1 + losses)

    The second term is that of PUCT with the prior 1 / legal actions. The more actions there are, the fewer of them a
    search can try, and the less this term counts against the mean returns. An edge without visits has the mean return
    0, so that a good action is visited again before all others have been tried.
    The history of an action is the mean return of all simulations in which the player took it, anywhere in the tree or
    in a playout. It ranks actions before they are tried at this node. Of n visits n * (1 - mean return) / 2 are losses,
    so that the term fades unless the action wins here.
    Returns are divided by the largest absolute one so far, so that terms keep their proportion in all games.
    Sources: D. Silver et al., "Mastering the game of Go without human knowledge", 2017 (PUCT); J. Nijssen, M. Winands,
    "Enhancements for multi-player Monte-Carlo tree search", 2010 (progressive history).
    """

    name = "playout"
    uses_network = False
    history_weight: ClassVar[float] = 3.0

    def score(self, root: Value, edges: Edges) -> Score:
        tree = self.tree
        largest = tree.root(edges.at).largest
        # The table has exploration * sqrt(visits), then 1 / legal actions, see `exploration_table`.
        exploration = tree.params.table(tree.index(edges.node.visits))
        exploration *= tree.params.table(tree.slots + tree.index(minimum(edges.num_legal, tree.actions)))

        def score(k: Scalar) -> tuple[Scalar, Value]:
            edge = edges[k]
            visits = float32(edge.visits)
            mean = divide(edge.value_sum, maximum(visits, 1.0) * largest)
            puct = mean + divide(exploration, visits + 1.0)
            known = edges.history(k)
            history = divide(known.value_sum, maximum(float32(known.visits), 1.0) * largest)
            losses = visits * (1.0 - mean) * 0.5
            return puct + divide(self.history_weight * history, losses + 1.0), self.is_open(edge)

        return score

    def final(self, edges: Edges) -> tuple[PerEdge, Score]:
        """Return the weights and final scores of edges; a proven draw beats an edge that seems to lose.

        Where outcomes are proven, the order is: a win; the most visited open edge and the draws, the better one of
        these first; other open edges; losses.
        """
        weight, visits = super().final(edges)
        if not self.tree.config.proves:
            return weight, visits
        most_visited = self.best(edges, lambda k: (float32(edges[k].visits), edges[k].outcome == 0))
        open_edge = edges[most_visited]
        # A draw has the value 0.
        beats_draws = (open_edge.visits > 0) & (open_edge.value_sum >= 0)

        def score(k: Scalar) -> tuple[Scalar, Value]:
            edge = edges[k]
            outcome = edge.outcome
            # Among losses the most visited one comes first: it took longest to refute.
            loss = float32(edge.visits) * 2.0**-30 - 1.0
            unproven = where(k == most_visited, 1.0, 0.0)
            draw = where(beats_draws, 0.5, 2.0)
            proven = where(outcome == WIN, 3.0, where(outcome == DRAW, draw, loss))
            return where(outcome == 0, unproven, proven), True

        return weight, score


class MuZero(ActionSelection):
    """MuZero's PUCT rule, with values normalised by the lowest and highest value of the node and its edges.

    A node's `value_sum` is the sum of its edges' returns.
    """

    name = "muzero"
    noise_count = 2  # Dirichlet noise for the priors, Gumbel noise for the final choice

    def score(self, root: Value, edges: Edges) -> Score:
        node = edges.node
        node_visits = node.visits
        exploration = self.tree.params.table(self.tree.index(node_visits))
        # The node's value is a mean: the network's value counts like one simulation.
        node_value = divide(node.raw_value + node.value_sum, float32(node_visits) + 1.0)
        values, low, high = self.value_range(edges)
        # Values are scaled to 0..1, so that exploration has the same weight in games of small and large returns.
        low = minimum(node_value, low)
        high = maximum(node_value, high)
        spread = maximum(high - low, 1e-8)

        def score(k: Scalar) -> tuple[Scalar, Value]:
            edge = edges[k]
            visits = edge.visits
            # As in mctx, an edge without visits has the lowest value.
            value = where(visits > 0, divide(values(k) - low, spread), 0.0)
            # PUCT adds a bonus that grows with the prior and falls with the visits.
            return value + divide(exploration * edge.prior, float32(visits) + 1.0), self.is_open(edge)

        return score

    def edge_prior(self, edges: Edges, k: Scalar, prior: Scalar, logit: Scalar) -> Scalar:
        # Dirichlet noise makes the root explore. Later nodes keep the network's priors.
        fraction = where(edges.slot == 0, self.tree.params.table(2 * self.tree.slots), 0.0)
        return prior * (1.0 - fraction) + self.tree.root_noise[self.tree.noise(edges.at, 0, k)] * fraction

    def update_node(self, node: Node, step: PathStep, visits: Scalar, value_sum: Scalar, gain: Scalar) -> None:
        node.value_sum += gain

    def final_score(self, edges: Edges, k: Scalar) -> Scalar:
        # The table has the logarithms of visits ** (1 / temperature). The maximum of logarithm plus Gumbel noise is a
        # sample in proportion to these powers.
        power = self.tree.params.table(self.tree.slots + edges[k].visits)
        return power + self.tree.root_noise[self.tree.noise(edges.at, 1, k)]


class GumbelMuZero(ActionSelection):
    """Gumbel MuZero's rule: sequential halving at the root; at other nodes, visits follow the improved policy.

    The improved policy is the softmax of logits plus scaled values. The value of an edge is its mean return; an edge
    without visits has the node's mixed value. Source: I. Danihelka et al., "Policy improvement by planning with
    Gumbel", 2022.
    An edge stores as `prior` its logit minus the highest logit of the node. A node stores two sums over its visited
    edges: `prior_sum` of exp(prior), and `value_sum` of exp(prior) * value. The root's noise includes the logits.
    """

    name = "gumbel"
    noise_count = 1

    def __init__(self, tree: TreeMemory):
        super().__init__(tree)
        self.group = max(1, min(tree.roots, GROUP_EDGES // tree.width))
        self.policy = Softmax(tree, self.group)
        self.values = registers(self.group * tree.own_width, FLOAT32)
        self.node = {name: registers(self.group, dtype) for name, dtype in NODE_STATISTICS.items()}
        # lowest and highest value of visited edges, then the range of all values
        self.low = registers(self.group, FLOAT32)
        self.high = registers(self.group, FLOAT32)
        self.mixed_value = registers(self.group, FLOAT32)
        self.value_factor = registers(self.group, FLOAT32)
        self.priors = registers(self.group, FLOAT32)  # of the selected edges

    def prepare(self, each: Callable[[Stage], None], count: Value, below_root: Scalar) -> None:
        """Compute the scaled values and, below the root, the improved policy.

        Only the stages for each root read trees; the loops between them do not, so compilers vectorise them.
        """
        each(self.load_values)
        with loop(count) as root:
            self.set_value_scale(root)
        each(self.scale_values)
        # The root's scores need no policy, only scaled values.
        with branch(below_root):
            self.policy.set_terms(count)

    def value_index(self, root: Value, k: Scalar) -> Scalar:
        """Return the index of an edge's value in `values`."""
        return root * self.tree.own_width + self.tree.own(k)

    def load_values(self, root: Value, edges: Edges) -> None:
        """Load the values of a node's edges, and the node's statistics."""
        values, self.low[root], self.high[root] = self.value_range(edges)
        with self.tree.each_number(edges.count) as k:
            self.values[self.value_index(root, k)] = values(k)
        for name, array in self.node.items():
            array[root] = getattr(edges.node, name)

    def set_value_scale(self, root: Value) -> None:
        """Compute the mixed value of edges without visits, and the scale of all values, as mctx does."""
        node = {name: array[root] for name, array in self.node.items()}
        tried = node["tried"]
        visits = float32(node["visits"])
        # The mixed value is a mean: the network's value of the node has the weight 1, and the mean value of visited
        # edges, weighted by their priors, has the weight of all visits.
        mean = divide(node["value_sum"], maximum(node["prior_sum"], 1e-37))
        mixed = divide(node["raw_value"] + visits * mean, visits + 1.0)
        # Without visited edges, all edges have the mixed value.
        low, high = (where(tried > 0, array[root], mixed) for array in (self.low, self.high))
        # The range includes the mixed value unless all actions have been tried. As in mctx, illegal ones never are.
        all_tried = tried >= self.tree.actions
        low = where(all_tried, low, minimum(low, mixed))
        high = where(all_tried, high, maximum(high, mixed))
        self.low[root] = low
        self.mixed_value[root] = mixed
        # Values count the more, the more visits they rest on. mctx's factor is (50 + most visits) * 0.1.
        self.value_factor[root] = divide(float32(node["max_visits"]) + 50.0, maximum(high - low, 1e-8))

    def scale_values(self, root: Value, edges: Edges) -> None:
        """Scale the values of a node's edges, and store logits plus scaled values as logits of the improved policy."""
        mixed = self.mixed_value[root]
        low = self.low[root]
        factor = self.value_factor[root]

        def logit(k: Scalar) -> Scalar:
            edge = edges[k]
            index = self.value_index(root, k)
            scaled = factor * (where(edge.visits > 0, self.values[index], mixed) - low) * 0.1
            self.values[index] = scaled
            return edge.prior + scaled

        self.policy.set_logits(root, edges, logit)

    def score(self, root: Value, edges: Edges) -> Score:
        tree = self.tree
        node_visits = edges.node.visits
        policy = self.policy.weights(root)
        at_root = scalar(edges.slot == 0)
        is_planned = self.plan(edges, at_root)

        def score(k: Scalar) -> tuple[Scalar, Value]:
            visits = edges[k].visits
            # Below the root, visits follow the policy: the edge that is furthest behind it comes first.
            below_root = policy(k) - divide(float32(visits), float32(node_visits) + 1.0)
            # At the root, the maximum of Gumbel noise plus logit plus scaled value is a sample of the improved policy.
            sample = tree.root_noise[tree.noise(edges.at, 0, k)] + self.values[self.value_index(root, k)]
            planned = ~at_root | is_planned(visits)
            if not tree.config.proves:
                return where(at_root, sample, below_root), planned
            # Once all planned edges are proven, a simulation takes another open edge.
            return where(at_root, sample, below_root) + where(planned, 0.0, -TIER), self.is_open(edges[k])

        return score

    def plan(self, edges: Edges, at_root: Scalar) -> Callable[[Scalar], Scalar]:
        """Return a function from an edge's visits to whether sequential halving searches the edge next.

        Sequential halving visits all considered actions equally often in each round, and drops the worse half of them
        after it. Its schedule has a turn for each visit of the root: the visits that the searched edge has by then.
        Proven edges have no turns: these are skipped, so that the other edges keep equal visits. After the last turn,
        simulations search the edges that survived all rounds.
        """
        tree = self.tree
        root = tree.root(edges.at)
        node_visits = edges.node.visits
        # The table has a schedule for each number of considered actions, see `_considered_visits`.
        schedule = minimum(root.num_legal, tree.considered) * tree.num_simulations

        def planned_visits(turn: Scalar) -> Scalar:
            return tree.params.table(schedule + minimum(turn, tree.num_simulations - 1), INT32)

        if not tree.config.proves:
            planned = planned_visits(node_visits)
            return lambda visits: visits == planned
        # Skip the turns whose number of visits no open edge has.
        with branch(at_root), do_while() as search:
            turn = node_visits + root.skipped
            planned = planned_visits(turn)
            num_open = registers(1, INT32)
            num_open[0] = 0
            with edges.each() as (k, legal):
                num_open[0] += int32(legal & self.is_open(edges[k]) & (edges[k].visits == planned))
            skips = (team_sum(num_open[0]) == 0) & (turn < tree.num_simulations)
            root.skipped += int32(skips)
            search.again = skips
        turn = node_visits + root.skipped
        planned = planned_visits(turn)
        return lambda visits: where(turn < tree.num_simulations, visits == planned, visits > planned)

    def edge_prior(self, edges: Edges, k: Scalar, prior: Scalar, logit: Scalar) -> Scalar:
        self.tree.root_noise[self.tree.noise(edges.at, 0, k)] += where(edges.slot == 0, logit, 0.0)
        return logit

    def note_selected(self, root: Value, edge: Edge) -> None:
        self.priors[root] = edge.prior

    def complete_steps(self, count: Value, step: Callable[[Scalar], PathStep]) -> None:
        # Exponentials have a loop of their own, which reads no tree and is vectorised.
        with loop(count) as root:
            self.priors[root] = exp(self.priors[root])
        with loop(count) as root:
            step(root).weight = self.priors[root]

    def update_node(self, node: Node, step: PathStep, visits: Scalar, value_sum: Scalar, gain: Scalar) -> None:
        is_first = visits == 0
        weight = step.weight
        mean_before = where(is_first, 0.0, divide(value_sum, maximum(float32(visits), 1.0)))
        node.tried += int32(is_first)
        node.max_visits = maximum(node.max_visits, visits + 1)
        # Both sums change by the part of one edge, so that a selection needs no loop over all edges.
        node.prior_sum += where(is_first, weight, 0.0)
        node.value_sum += weight * (divide(value_sum + gain, float32(visits + 1)) - mean_before)

    def final(self, edges: Edges) -> tuple[PerEdge, Score]:
        """Return the improved policy as weights, and noise plus logit plus scaled value of the surviving edges."""
        self.prepare(lambda stage: stage(int32(0), edges), 1, scalar(True))
        tree = self.tree
        # The edges that survived all rounds have the most visits.
        least = edges.node.max_visits
        if tree.config.proves:
            # Simulations after the last turn do not visit all survivors equally often.
            schedule = minimum(tree.root(edges.at).num_legal, tree.considered) * tree.num_simulations
            visits_of_last_turn = tree.params.table(schedule + tree.num_simulations - 1, INT32)
            least = minimum(least, visits_of_last_turn + 1)

        def score(k: Scalar) -> tuple[Scalar, Value]:
            edge = edges[k]
            noise = tree.root_noise[tree.noise(edges.at, 0, k)]
            survives = edge.visits >= least
            # A proven draw gets no more visits, but may be the best edge.
            if tree.config.proves:
                survives |= edge.outcome == DRAW
            return noise + self.values[self.value_index(0, k)], survives

        return self.policy.weights(0), self.wins_first(edges, score)
