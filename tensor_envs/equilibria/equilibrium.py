"""Equilibria of small games with hidden information, by counterfactual regret minimisation."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np

from tensor_envs._engine.inputs import host_ints
from tensor_envs._validate import file_path, instance, integer, number, one_of, renames
from tensor_envs.envs.env import Env
from tensor_envs.envs.registry import env_of, words_metadata
from tensor_envs.envs.state import State
from tensor_envs.equilibria.cfr import Algorithm, Solver
from tensor_envs.equilibria.game_tree import MAX_NODES, GameTree, tree_for, tree_of
from tensor_envs.equilibria.tabular_policy import TabularPolicy, check_probabilities, plans_of
from tensor_envs.equilibria.tree_parts import Cut, belief_of
from tensor_envs.files.arrays import read_arrays, write_arrays
from tensor_envs.solve.branches import Branches, start_arrays, start_of
from tensor_envs.solve.packed import Array
from tensor_envs.solve.positions import MAX_DEPTH

FORMAT = "tensor_envs equilibrium 2"
OLD_FORMAT = "tensor_envs equilibrium 1"  # without beliefs
MAX_ITERATIONS = 2**31 - 1
CHECK_RATIO = 1.1  # ratio of consecutive iterations at which the exploitability is computed


class Equilibrium(TabularPolicy):
    """Approximate equilibrium: average policy of counterfactual regret minimisation, made by `te.equilibrium`.

    In a game for two players with zero sum it is an oracle (`te.Oracle`), with values of actions against this policy.

    Attributes:
        tree, strategies: as in `TabularPolicy`.
        algorithm: as in `te.equilibrium`.
        curve: iterations and the exploitability after them, in order.

    Examples:
        >>> equilibrium = te.equilibrium(te.make("kuhn_poker"), until=1e-4)
        >>> equilibrium.exploitability <= 1e-4, np.allclose(equilibrium.values, [-1 / 18, 1 / 18], atol=1e-4)
        (True, True)
    """

    def __init__(self, tree: GameTree, strategies: Sequence[Array], algorithm: str, curve: Sequence[tuple[int, float]]):
        super().__init__(tree, strategies)
        self.algorithm = algorithm
        self.curve = tuple(curve)

    @property
    def iterations(self) -> int:
        """Number of iterations."""
        return self.curve[-1][0]

    @functools.cached_property
    def _values(self) -> tuple[Array, Array]:
        """Values of actions [I, A], and the probability that chance and the other players lead to each state [I]."""
        plans = plans_of(self.tree.forms, self.strategies)
        values = list[Array]()
        reaches = list[Array]()
        for form, strategy in zip(self.tree.forms, self.strategies, strict=True):
            counterfactual, _ = form.action_values(form.payoffs(plans), strategy)
            # The probability of a state is its counterfactual value if every end pays 1.
            _, reach = form.action_values(form.sum_over_ends(form.ends.chance, plans), strategy)
            action_reach = np.append(1.0, reach)[form.state + 1] if len(reach) else np.ones(1)
            values.append(np.divide(counterfactual, action_reach, out=np.zeros(form.size), where=action_reach > 0))
            reaches.append(reach)
        return self.tree.table(values), np.concatenate(reaches)

    def action_values(self, state: State) -> Array:
        """Return the return of the player to move after each action if all follow this policy then, float64 [B, A].

        The value of an illegal action is NaN. In information states that the other players never lead to, values are 0.

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

        Any other action loses more over a whole game, if this policy is followed otherwise, than both players together
        can gain by best responses.
        """
        values = self.action_values(state)
        legal = np.asarray(state.legal_action_mask.numpy())
        reach = self._values[1][np.maximum(self.tree.find(state), 0)]
        best = np.where(legal, values, -np.inf).max(1)
        loss = np.where(legal, np.maximum(best, -np.finfo(float).max)[:, None] - values, 0)
        return legal & (reach[:, None] * loss <= 2 * self.exploitability)

    def regret(self, state: State, action: Any) -> Array:
        """Return the best action's value minus the action's, float64 [B]; that of an illegal action, or -1, is -1."""
        values = self.action_values(state)
        actions = host_ints("action", action, state.batch, self.tree.env.num_actions, low=-1)
        legal = np.asarray(state.legal_action_mask.numpy())
        best = np.where(legal, values, -np.inf).max(1)
        chosen = (np.arange(state.batch), actions)
        return np.where(legal.any(1), best - np.where(legal[chosen] & (actions >= 0), values[chosen], -1), 0)

    def save(self, path: str | Path) -> None:
        """Save the policy and its curve to a file with a digest; an existing file is replaced.

        Raises:
            TypeError: `path` is no path.
            OSError: the file cannot be written; an existing file stays as it was.
        """
        tree = self.tree
        metadata = {"env": words_metadata(tree.env), "method": self.algorithm, "nodes": tree.nodes}
        numbers = [np.concatenate(self.strategies), np.array([value for _, value in self.curve])]
        arrays = {"strategies": numbers[0].view(np.uint64), "exploitability": numbers[1].view(np.uint64)}
        arrays["iterations"] = np.array([count for count, _ in self.curve], np.int64)
        weights, player, values = tree.belief
        if isinstance(tree.start, State):
            metadata["player"] = player
            arrays |= {"weights": weights.view(np.uint64), "values": values.view(np.uint64)}
        if tree.cut is not None:
            metadata["depth"] = tree.cut.depth
            arrays["leaf"] = tree.cut.values.view(np.uint64)
        write_arrays(file_path("path", path), FORMAT, metadata, arrays | start_arrays(self.tree.start))

    @staticmethod
    def load(path: str | Path, tree: GameTree | None = None) -> Equilibrium:
        """Load a policy of a registered environment from a file.

        Args:
            path: path of the file.
            tree: the policy's tree, such as one in a folder. None: a tree is made in memory.

        Raises:
            FileNotFoundError: there is no such file.
            TypeError: `tree` is no GameTree.
            ValueError: the file is damaged or of another kind; `tree` is of another game or start.
        """
        if tree is not None:
            instance("tree", tree, GameTree)
        metadata, arrays = read_arrays(file_path("path", path), FORMAT, OLD_FORMAT)
        try:
            env = env_of(metadata["env"])
            start = start_of(env, arrays)
            algorithm = one_of("algorithm", metadata["method"], get_args(Algorithm))
            belief: list[Any] = [None, -1, None]
            if isinstance(start, State) and "player" in metadata:
                belief = [np.array(arrays["weights"]).view(np.float64), metadata["player"]]
                belief = [*belief, np.array(arrays["values"]).view(np.float64)]
                integer("player", belief[1], -1, env.num_players - 1)
            cut = None
            if "depth" in metadata:
                cut = Cut(integer("depth", metadata["depth"], 1, MAX_DEPTH), np.array(arrays["leaf"]).view(np.float64))
            if tree is None:
                nodes = integer("nodes", metadata["nodes"], 1, MAX_NODES)
                weights, player, values = belief
                tree = tree_of(start, nodes, False, weights, player, values, cut=cut)
            elif not tree.is_of(game := Branches(start), belief_of(game, *belief), cut):
                raise ValueError(f"tree must be of its game from its start, got {tree!r}")
            probabilities = np.array(arrays["strategies"]).view(np.float64)
            sizes = [form.size for form in tree.forms]
            values = np.array(arrays["exploitability"]).view(np.float64)
            if probabilities.shape != (sum(sizes),) or not len(values) == len(arrays["iterations"]) > 0:
                raise ValueError(f"its arrays are not those of {env!r}")
            strategies = np.split(probabilities, np.cumsum(sizes)[:-1])
            check_probabilities(tree.table(strategies), tree.legal_action_mask, "its strategies")
            if any(strategy[0] != 1 for strategy in strategies):
                raise ValueError("its empty sequences must have probability 1")
            curve = list(zip(np.array(arrays["iterations"]).tolist(), values.tolist(), strict=True))
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            raise ValueError(f"{str(path)!r} holds no equilibrium that can be read: {error}") from None
        return Equilibrium(tree, strategies, algorithm, curve)


@renames(method="algorithm")
def equilibrium(
    game: GameTree | Env | State,
    algorithm: Algorithm = "cfr+",
    iterations: int = 10_000,
    until: float | None = 1e-3,
    seed: int = 0,
) -> Equilibrium:
    """Compute an approximate equilibrium by counterfactual regret minimisation.

    In a game for two players with zero sum, the average policy converges to an equilibrium: its exploitability goes to
    0. In other games it need not. Information states and actions that are equal by symmetries are treated alike.

    Args:
        game: a tree by `te.game_tree`, or what that function takes.
        algorithm: "cfr+" has regrets that are never negative, and an average weighted by the iteration; "dcfr" is
            discounted CFR with the exponents 1.5, 0 and 2; "pcfr+" is predictive CFR+, with an average weighted by the
            iteration's square; "mccfr" samples the actions of the other players. Players are updated in turn.
        iterations: upper bound for the number of iterations.
        until: the exploitability at which to stop. It is computed whenever the number of iterations has grown by a
            tenth. None: run all iterations.
        seed: seed of "mccfr".

    Returns:
        The average policy, with its values and the curve of its exploitability.

    Raises:
        TypeError, ValueError: an argument of another type or out of range; as in `te.game_tree`.

    Examples:
        >>> equilibrium = te.equilibrium(te.make("leduc_poker"), algorithm="dcfr", until=1e-3)
        >>> equilibrium.iterations < 500, round(equilibrium.values[0].item(), 2)
        (True, -0.09)
    """
    tree = tree_for(game)
    one_of("algorithm", algorithm, get_args(Algorithm))
    iterations = integer("iterations", iterations, 1, MAX_ITERATIONS)
    until = -math.inf if until is None else number("until", until, 0.0, 1e9)
    solver = Solver(tree, algorithm, integer("seed", seed, 0, 2**64 - 1))
    curve = list[tuple[int, float]]()
    next_check = 1
    for count in range(1, iterations + 1):
        solver.iterate(count)
        if count in (next_check, iterations):
            # Exploitability takes about as long as an iteration, so it is computed ever less often.
            next_check = math.ceil(count * CHECK_RATIO) if count >= 1 / (CHECK_RATIO - 1) else count + 1
            curve.append((count, solver.exploitability()))
            if curve[-1][1] <= until:
                break
    return Equilibrium(tree, solver.average_strategies(), algorithm, curve)
