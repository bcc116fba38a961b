"""Equilibria and exploitability of small games with hidden information, by counterfactual regret minimisation."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from tinygrad import Tensor

from tensor_envs._engine.inputs import host_ints
from tensor_envs._files import read_arrays, write_arrays
from tensor_envs._validate import file_path, function, instance, integer, number, one_of, shown, wrong_type
from tensor_envs.env import Env
from tensor_envs.interop import to_numpy
from tensor_envs.registry import env_metadata, env_of
from tensor_envs.solve.branches import start_arrays, start_of
from tensor_envs.solve.game_tree import DEFAULT_NODES, MAX_NODES, GameTree, game_tree, tree_of
from tensor_envs.solve.packed import Array
from tensor_envs.solve.response_values import ResponseValues
from tensor_envs.solve.sequence_form import SequenceForm, ranks
from tensor_envs.state import State

FORMAT = "tensor_envs equilibrium 1"
Method = Literal["cfr+", "dcfr", "pcfr+", "mccfr"]
Probabilities = Callable[[State], Any]  # float [B, A], a Tensor or what NumPy takes
MAX_ITERATIONS = 2**31 - 1
CHECKED = 1.1  # ratio of the iterations at which the exploitability is computed
ROWS = 4096  # games that a policy is asked about at once
TOLERANCE = 1e-3  # allowed deviation of a policy's probabilities from a sum of 1, and from 0 for illegal actions


class TabularPolicy:
    """Probabilities of every action in every information state of a game tree, for all players.

    Attributes:
        tree: the game tree.
        strategies: every player's strategy, float64 [sequences].

    Examples:
        >>> tree = te.game_tree(te.make("kuhn_poker"))
        >>> response = te.best_response(tree, lambda state: state.legal_action_mask.numpy() / 2, player=0)
        >>> response.values.round(6).tolist(), response.table.shape
        ([0.5, -0.5], (12, 2))
    """

    def __init__(self, tree: GameTree, strategies: Sequence[Array]):
        self.tree, self.strategies = tree, list(strategies)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.tree!r}>"

    @property
    def table(self) -> Array:
        """Probability of each action in each information state, float64 [I, A]."""
        return self.tree.table(self.strategies)

    @functools.cached_property
    def values(self) -> Array:
        """Expected return of every player, float64 [P]."""
        plans = plans_of(self.tree, self.strategies)
        pairs = zip(self.tree.forms, plans, strict=True)
        return np.array([form.payoffs(plans) @ plan for form, plan in pairs])

    @functools.cached_property
    def exploitability(self) -> float:
        """Mean over the players of what each can gain by a best response to the others."""
        return _exploitability(self.tree, plans_of(self.tree, self.strategies))

    def probabilities(self, state: State) -> Array:
        """Return the probabilities of the player to move, float64 [B, A]; 0 for a game that is over.

        Args:
            state: games of the tree.

        Raises:
            TypeError, ValueError: another state; a game whose information state depends on what was observed before.
        """
        return self._rows(self.table, state)

    def _rows(self, table: Array, state: State) -> Array:
        """Return the rows of a table [I, A] for the games of a state; 0 for games that are over."""
        instance("state", state, State)
        found, live = self.tree.find(state), np.asarray(state.legal_action_mask.numpy().any(1))
        if (wrong := live & (found < 0)).any():
            row = int(np.argmax(wrong))
            why = "is not in the tree" if found[row] == -1 else "may be in several information states"
            raise ValueError(f"state must have games that show their information state, row {row} {why}")
        return np.where(live[:, None], table[found], 0)


class Equilibrium(TabularPolicy):
    """Average policy of counterfactual regret minimisation, made by `te.equilibrium`: an approximate equilibrium.

    In a game for two players with zero sum it is an oracle (`te.Oracle`): values of actions are against this policy.

    Attributes:
        tree, strategies: as in `TabularPolicy`.
        method: the algorithm.
        curve: iterations and the exploitability after them, in order.

    Examples:
        >>> equilibrium = te.equilibrium(te.make("kuhn_poker"), until=1e-4)
        >>> equilibrium.exploitability <= 1e-4, np.allclose(equilibrium.values, [-1 / 18, 1 / 18], atol=1e-4)
        (True, True)
    """

    def __init__(self, tree: GameTree, strategies: Sequence[Array], method: str, curve: Sequence[tuple[int, float]]):
        super().__init__(tree, strategies)
        self.method, self.curve = method, tuple(curve)

    @property
    def iterations(self) -> int:
        """Number of iterations."""
        return self.curve[-1][0]

    @functools.cached_property
    def _values(self) -> tuple[Array, Array]:
        """Values of actions [I, A], and the probability that chance and the other players lead to each state [I]."""
        plans, values, reaches = plans_of(self.tree, self.strategies), list[Array](), list[Array]()
        for form, strategy in zip(self.tree.forms, self.strategies, strict=True):
            actions, _ = form.action_values(form.payoffs(plans), strategy)
            _, reach = form.action_values(form.summed(form.ends.chance, plans), strategy)
            of_actions = np.append(1.0, reach)[form.state + 1] if len(reach) else np.ones(1)
            values.append(np.divide(actions, of_actions, out=np.zeros(form.size), where=of_actions > 0))
            reaches.append(reach)
        return self.tree.table(values), np.concatenate(reaches)

    def action_values(self, state: State) -> Array:
        """Return the return of the player to move after each action if all follow this policy then, float64 [B, A].

        An illegal action has NaN. Information states that the other players never lead to have values 0.

        Args:
            state: games of the tree.

        Raises:
            TypeError, ValueError: as in `probabilities`; a game for other than two players with zero sum.
        """
        spec = self.tree.env.spec
        if spec.num_players != 2 or not spec.zero_sum:
            raise ValueError(f"an oracle needs a game for two players with zero sum, {self.tree.env!r} is none")
        return np.where(state.legal_action_mask.numpy(), self._rows(self._values[0], state), np.nan)

    def best_actions(self, state: State) -> Array:
        """Return the legal actions that are best up to the exploitability of this policy, bool [B, A].

        Playing another one loses more over a whole game, if all else follows this policy, than both players together
        can gain by best responses.
        """
        values, legal = self.action_values(state), np.asarray(state.legal_action_mask.numpy())
        reach = self._values[1][np.maximum(self.tree.find(state), 0)]
        best = np.where(legal, values, -np.inf).max(1)
        lost = np.where(legal, np.maximum(best, -np.finfo(float).max)[:, None] - values, 0)
        return legal & (reach[:, None] * lost <= 2 * self.exploitability)

    def regret(self, state: State, action: Any) -> Array:
        """Return how much less an action is worth than the best one, float64 [B]; an illegal one or -1 is worth -1."""
        actions = host_ints("action", action, state.batch, self.tree.env.num_actions, low=-1)
        values, legal = self.action_values(state), np.asarray(state.legal_action_mask.numpy())
        best, chosen = np.where(legal, values, -np.inf).max(1), (np.arange(state.batch), actions)
        return np.where(legal.any(1), best - np.where(legal[chosen] & (actions >= 0), values[chosen], -1), 0)

    def save(self, path: str | Path) -> None:
        """Save the policy and its curve to a file with a digest; an existing file is replaced.

        Raises:
            TypeError: `path` is no path.
            OSError: the file cannot be written; an existing file stays as it was.
        """
        tree = self.tree
        metadata = {"env": env_metadata(tree.env), "method": self.method, "nodes": tree.nodes}
        numbers = [np.concatenate(self.strategies), np.array([value for _, value in self.curve])]
        arrays = {"strategies": numbers[0].view(np.uint64), "exploitability": numbers[1].view(np.uint64)}
        arrays["iterations"] = np.array([count for count, _ in self.curve], np.int64)
        weights, player, values = tree.belief
        if isinstance(tree.start, State):
            metadata["player"] = player
            arrays |= {"weights": weights.view(np.uint64), "values": values.view(np.uint64)}
        write_arrays(file_path("path", path), FORMAT, metadata, arrays | start_arrays(self.tree.start))

    @staticmethod
    def load(path: str | Path) -> Equilibrium:
        """Load a policy of a registered environment from a file; the tree is made anew.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: the file is damaged or of another kind.
        """
        metadata, arrays = read_arrays(file_path("path", path), FORMAT)
        try:
            env = env_of(metadata["env"])
            start = start_of(env, arrays)
            method = one_of("method", metadata["method"], get_args(Method))
            belief: list[Any] = [None, -1, None]
            if isinstance(start, State):
                belief = [np.array(arrays["weights"]).view(np.float64), metadata["player"]]
                belief = [*belief, np.array(arrays["values"]).view(np.float64)]
                integer("player", belief[1], -1, env.num_players - 1)
            tree = tree_of(start, integer("nodes", metadata["nodes"], 1, MAX_NODES), False, *belief)
            whole, sizes = np.array(arrays["strategies"]).view(np.float64), [form.size for form in tree.forms]
            values = np.array(arrays["exploitability"]).view(np.float64)
            if whole.shape != (sum(sizes),) or not len(values) == len(arrays["iterations"]) > 0:
                raise ValueError(f"its arrays are not those of {env!r}")
            strategies = np.split(whole, np.cumsum(sizes)[:-1])
            _checked(tree.table(strategies), tree.legal_action_mask, "its strategies")
            if any(strategy[0] != 1 for strategy in strategies):
                raise ValueError("its empty sequences must have probability 1")
            curve = list(zip(np.array(arrays["iterations"]).tolist(), values.tolist(), strict=True))
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            raise ValueError(f"{str(path)!r} holds no equilibrium that can be read: {error}") from None
        return Equilibrium(tree, strategies, method, curve)


def equilibrium(
    game: GameTree | Env | State,
    method: Method = "cfr+",
    iterations: int = 10_000,
    until: float | None = 1e-3,
    seed: int = 0,
) -> Equilibrium:
    """Compute an approximate equilibrium by counterfactual regret minimisation.

    In a game for two players with zero sum, the average policy converges to an equilibrium: its exploitability goes to
    0. In other games it need not.

    Args:
        game: a tree by `te.game_tree`, or what that function takes.
        method: "cfr+" has regrets that are never negative, and an average weighted by the iteration; "dcfr" is
            discounted CFR with the exponents 1.5, 0 and 2; "pcfr+" is predictive CFR+, with an average weighted by the
            iteration's square; "mccfr" samples the actions of the other players. Players are updated in turn.
        iterations: upper bound for the number of iterations.
        until: the exploitability at which it stops. It is computed whenever the number of iterations has grown by a
            tenth. None: all iterations are done.
        seed: seed of "mccfr".

    Returns:
        The average policy, with its values and the curve of its exploitability.

    Raises:
        TypeError, ValueError: an argument of another type or out of range; as in `te.game_tree`.

    Examples:
        >>> equilibrium = te.equilibrium(te.make("leduc_poker"), method="dcfr", until=1e-3)
        >>> equilibrium.iterations < 500, round(equilibrium.values[0].item(), 2)
        (True, -0.09)
    """
    tree = _tree(game)
    one_of("method", method, get_args(Method))
    iterations = integer("iterations", iterations, 1, MAX_ITERATIONS)
    until = -math.inf if until is None else number("until", until, 0.0, 1e9)
    solver = Solver(tree, method, integer("seed", seed, 0, 2**64 - 1))
    curve, planned = list[tuple[int, float]](), 1
    for count in range(1, iterations + 1):
        solver.iterate(count)
        if count in (planned, iterations):
            planned = math.ceil(count * CHECKED) if count >= 1 / (CHECKED - 1) else count + 1
            curve.append((count, solver.exploitability()))
            if curve[-1][1] <= until:
                break
    pairs = zip(tree.forms, solver.averages(), strict=True)
    return Equilibrium(tree, [form.strategy(plan) for form, plan in pairs], method, curve)


def exploitability(
    game: GameTree | Env | State, policy: TabularPolicy | Probabilities, max_nodes: int = 10_000_000
) -> float:
    """Return the mean over the players of what each can gain by a best response to the others.

    In a game for two players with zero sum this is the usual exploitability: 0 for an equilibrium.

    A function is judged without a tree where `game` is none: histories in which the state and the responding player's
    information are the same are one, so that much larger games can be measured.

    Args:
        game: a tree by `te.game_tree`, or what that function takes.
        policy: a policy of the same tree; or a function of a State to probabilities [B, A], a Tensor or what NumPy
            takes. The function is called with one history of each information state, without a tree with one state of
            each observation, so it must depend on nothing else. It plays for all players.
        max_nodes: as in `te.game_tree`; without a tree, upper bound for the number of states.

    Returns:
        The exploitability.

    Raises:
        TypeError, ValueError: as in `te.game_tree`; a policy of another tree, or that gives no probabilities.

    Examples:
        >>> env = te.make("kuhn_poker")
        >>> round(te.exploitability(env, lambda state: state.legal_action_mask.numpy() / 2), 6)
        0.458333
        >>> search = lambda state: te.search.playout_policy(state, 64).action_weights
        >>> bool(0 < te.exploitability(env, search) < 0.458333)
        True
    """
    max_nodes = integer("max_nodes", max_nodes, 1, MAX_NODES)
    if isinstance(game, GameTree) or isinstance(policy, TabularPolicy):
        tree = _tree(game, max_nodes)
        return _exploitability(tree, plans_of(tree, strategies_of(tree, policy)))
    found = responses(game, policy, max_nodes)
    return sum(found.best(player) for player in range(found.players)) / found.players - float(found.values.mean())


def responses(game: Env | State, policy: Probabilities, max_nodes: int) -> ResponseValues:
    """Return what is known of the best responses to a policy without a tree; see `exploitability`."""
    if not isinstance(game, (Env, State)):
        raise wrong_type("game", "a GameTree, an Env or a State", game)
    function("policy", policy)
    return ResponseValues(game, lambda state: _asked(policy, state), max_nodes)


def best_response(game: GameTree | Env | State, policy: TabularPolicy | Probabilities, player: int) -> TabularPolicy:
    """Return a best response of one player to a policy of the others.

    Args:
        game, policy: as in `te.exploitability`.
        player: the player that responds.

    Returns:
        The policy, with the response in place of the player's own strategy; `values[player]` is its value.

    Raises:
        TypeError, ValueError: as in `te.exploitability`; another player.

    Examples:
        >>> env = te.make("kuhn_poker")
        >>> response = te.best_response(env, lambda state: state.legal_action_mask.numpy() / 2, player=1)
        >>> round(response.values[1].item(), 6)
        0.416667
    """
    tree = _tree(game)
    player = integer("player", player, 0, tree.env.num_players - 1)
    strategies = strategies_of(tree, policy)
    form = tree.forms[player]
    strategies[player] = form.best_response(form.payoffs(plans_of(tree, strategies)))[1]
    return TabularPolicy(tree, strategies)


def _tree(game: GameTree | Env | State, max_nodes: int = DEFAULT_NODES) -> GameTree:
    if isinstance(game, GameTree):
        return game
    if not isinstance(game, (Env, State)):
        raise wrong_type("game", "a GameTree, an Env or a State", game)
    return game_tree(game, max_nodes)


def plans_of(tree: GameTree, strategies: Sequence[Array]) -> list[Array]:
    return [form.plan(strategy) for form, strategy in zip(tree.forms, strategies, strict=True)]


def _exploitability(tree: GameTree, plans: Sequence[Array]) -> float:
    """Return the exploitability of plans of all players."""
    gains = []
    for form, plan in zip(tree.forms, plans, strict=True):
        payoffs = form.payoffs(plans)
        gains.append(form.best_response(payoffs)[0] - payoffs @ plan)
    return float(sum(gains)) / len(gains)


def strategies_of(tree: GameTree, policy: TabularPolicy | Probabilities) -> list[Array]:
    """Return every player's strategy under a policy. ValueError for a policy of another tree."""
    if isinstance(policy, TabularPolicy):
        if not tree.is_like(policy.tree):
            raise ValueError(f"policy must be of {tree!r}, got one of {policy.tree!r}")
        return list(policy.strategies)
    function("policy", policy)
    table = np.zeros((len(tree), tree.env.num_actions))
    playing = np.flatnonzero(~tree.offers)
    table[playing] = _asked(policy, tree.states[playing] if tree.offers.any() else tree.states)
    table[tree.offers, 0] = 1  # the games begin
    return tree.strategies(table)


def _asked(policy: Probabilities, states: State) -> Array:
    """Return a policy's probabilities in all games of a State, float64 [B, A]. ValueError for no probabilities."""
    tables, count = list[Array](), states.batch
    for begin in range(0, count, ROWS):
        rows = np.arange(begin, min(begin + ROWS, count))
        # one batch size for all, so that nothing is captured twice
        state = states[np.resize(rows, min(ROWS, count))]
        given = policy(state)
        given = np.asarray(to_numpy(given) if isinstance(given, Tensor) else given)
        shape = (state.batch, states.env.num_actions)
        if given.shape != shape or given.dtype.kind not in "biuf":
            raise ValueError(f"policy must give probabilities {shape}, got {given.dtype} {given.shape}")
        tables.append(given[: len(rows)].astype(np.float64))
    return _checked(np.concatenate(tables), states.legal_action_mask.numpy(), "a policy's probabilities")


def _checked(table: Array, legal: Array, name: str) -> Array:
    """Return a table of probabilities [I, A] of legal actions with sums of 1. ValueError for anything else."""
    wrong = ~np.isfinite(table).all(1) | (table < 0).any(1) | (np.where(legal, 0, table) > TOLERANCE).any(1)
    table = np.where(legal, table, 0)
    with np.errstate(invalid="ignore"):
        total = table.sum(1, keepdims=True)
        wrong |= ~(np.abs(total[:, 0] - 1) <= TOLERANCE)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(f"{name} must be those of legal actions, with a sum of 1, got {shown(table[row].tolist())}")
    return table / total


class Solver:
    """State of counterfactual regret minimisation for all players."""

    def __init__(self, tree: GameTree, method: Method = "cfr+", seed: int = 0):
        self.tree, self.forms, self.method = tree, tree.forms, method
        self.strategies = [form.uniform for form in tree.forms]
        self.plans = plans_of(tree, self.strategies)
        self.regrets = [np.zeros(form.size) for form in tree.forms]
        self.totals = [np.zeros(form.size) for form in tree.forms]  # weighted sums of plans
        self.rng = np.random.default_rng(seed)
        self.samplers = [_Sampler(form) for form in tree.forms] if method == "mccfr" else []

    def averages(self) -> list[Array]:
        """Return the average plans."""
        return [total / total[0] for total in self.totals]

    def exploitability(self) -> float:
        """Return the exploitability of the average policy."""
        return _exploitability(self.tree, self.averages())

    def iterate(self, count: int) -> None:
        """Update every player in turn; `count` is the number of this iteration, from 1."""
        for p, form in enumerate(self.forms):
            if self.method == "mccfr":
                payoffs = self.samplers[p].payoffs(self.pure_plans(p))
            else:
                payoffs = form.payoffs(self.plans)
            values, states = form.action_values(payoffs, self.strategies[p])
            if not len(states):
                self.totals[p] = self.plans[p]
                continue
            regret = values - states[form.state]
            regrets = self.regrets[p]
            regrets += regret
            if self.method == "dcfr":
                regrets *= np.where(regrets >= 0, count**1.5 / (count**1.5 + 1), 0.5)
            elif self.method != "mccfr":
                np.maximum(regrets, 0, out=regrets)
            weight = {"cfr+": count, "dcfr": count**2, "pcfr+": count**2, "mccfr": 1}[self.method]
            self.totals[p] += weight * self.plans[p]
            predicted = regrets + regret if self.method == "pcfr+" else regrets
            self.strategies[p] = form.strategy(np.maximum(predicted, 0))
            self.plans[p] = form.plan(self.strategies[p])

    def pure_plans(self, player: int) -> list[Array]:
        """Draw a pure strategy of every other player and return the plans, which are 0 or 1."""
        plans = list(self.plans)
        for p, form in enumerate(self.forms):
            if p != player and len(form.starts):
                total = np.cumsum(self.strategies[p])
                wanted = total[form.starts - 1] + self.rng.random(len(form.starts))
                last = np.append(form.starts[1:], form.size) - 1
                pure = np.zeros(form.size)
                pure[np.clip(np.searchsorted(total, wanted, "right"), form.starts, last)] = 1
                pure[0] = 1
                plans[p] = form.plan(pure)
        return plans


class _Sampler:
    """Ends of a player sorted by the sequences of another one, of which a sample has few."""

    def __init__(self, form: SequenceForm):
        self.form, ends = form, form.ends
        own = np.repeat(ends.sequences, np.diff(ends.starts, append=len(ends.payoffs)))
        order = np.argsort(ends.others[0], kind="stable") if len(ends.others) else np.arange(len(own))
        self.own, self.others, self.numbers = own[order], ends.others[:, order], ends.payoffs[order]
        self.rest = [p for p in range(len(ends.others) + 1) if p != form.player]

    def payoffs(self, plans: Sequence[Array]) -> Array:
        """Return `SequenceForm.payoffs` for plans of the other players that are 0 or 1."""
        if not self.rest:
            return self.form.payoffs(plans)
        played = np.flatnonzero(plans[self.rest[0]])
        first, end = (np.searchsorted(self.others[0], played, side) for side in ("left", "right"))
        rows = np.repeat(first, end - first) + ranks(end - first)
        numbers = self.numbers[rows]
        for k, p in enumerate(self.rest[1:], 1):
            numbers = numbers * plans[p][self.others[k][rows]]
        return np.bincount(self.own[rows], numbers, self.form.size)
