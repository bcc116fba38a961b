"""Safe re-solving of subgames of games for two players with hidden information."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tensor_envs._validate import instance, integer, renames, shown, wrong_type
from tensor_envs.envs.state import State
from tensor_envs.equilibria.continuations import continuations, function_of
from tensor_envs.equilibria.game_tree import DEFAULT_NODES, MAX_NODES, tree_of
from tensor_envs.equilibria.tabular_policy import TabularPolicy, plans_of, strategies_of
from tensor_envs.equilibria.tree_parts import Cut
from tensor_envs.solve.branches import Branches
from tensor_envs.solve.packed import groups
from tensor_envs.solve.positions import MAX_DEPTH

if TYPE_CHECKING:
    from tensor_envs.equilibria.cfr import Algorithm
    from tensor_envs.equilibria.equilibrium import Equilibrium
    from tensor_envs.equilibria.tabular_policy import Probabilities
    from tensor_envs.search.outputs import Evaluate


@renames(method="algorithm")
def resolve(
    state: State,
    player: int,
    values: TabularPolicy | Probabilities | Any,
    weights: Any = None,
    *,
    depth: int | None = None,
    leaf: Sequence[TabularPolicy | Probabilities] | Evaluate | None = None,
    algorithm: Algorithm = "dcfr",
    iterations: int = 10_000,
    until: float | None = 1e-3,
    max_nodes: int = DEFAULT_NODES,
) -> Equilibrium:
    """Solve the rest of a game again for one player, safely: the opponent cannot gain by steering the game into it.

    Before the games begin, the opponent may end them for the returns that it expects (CFR-D). The player's new strategy
    therefore concedes no more than the one that it replaces, whatever the opponent did before. A solution by
    `te.equilibrium(te.game_tree(state, weights=...))` is unsafe: it relies on the opponent having followed a known
    strategy. Source: N. Burch, M. Johanson, M. Bowling, "Solving Imperfect Information Games Using Decomposition",
    AAAI 2014.

    With a depth limit, games that are unfinished there end with the values of `leaf`. The value of a state of hidden
    information depends on the opponent's later strategy. So at each leaf the opponent chooses one of several policies
    for the rest, by what it observes there, and the player is prepared for all of them. With a single policy the player
    can be exploited as soon as the opponent plays another one. Source: N. Brown, T. Sandholm, B. Amos, "Depth-Limited
    Solving for Imperfect-Information Games", NeurIPS 2018.

    Args:
        state: all games that may be the actual one, at the same ply, of a game for two players with zero sum. The
            players know nothing of the past but what they observe from then on.
        player: the player whose strategy is wanted.
        values: the opponent's expected returns [B], for example by a network; or a policy, as in `te.exploitability`:
            the returns are then those of the opponent's best response to it in these games, up to the depth limit.
        weights: likelihoods of the games by chance and the player's own actions, without those of the opponent, [B];
            None: all are equal.
        depth: number of plies until games are cut. None: they go to their ends.
        leaf: values of games where they are cut. Either policies, as in `te.exploitability`: the player follows the
            first one, and the opponent the one that it has chosen. Their exact values are computed in all states of the
            rest of the game. Or a network, as in `te.search.gumbel_muzero_policy`, which leaves the opponent no choice.
        algorithm, iterations, until: as in `te.equilibrium`.
        max_nodes: as in `te.game_tree`, and as in `te.exploitability` for the states beyond the depth limit.

    Returns:
        The solution, with the player's strategy. The opponent's part includes its choices before the games and at
        leaves, so it is no strategy for the game.

    Raises:
        TypeError, ValueError: another argument; another game; `depth` without `leaf`; a network's values of another
            shape.

    Examples:
        >>> env = te.make("kuhn_poker")
        >>> deals = [[a, b] for a in range(3) for b in range(3) if a != b]
        >>> deal = env.state_to_dict(env.init(1))
        >>> bets = env.step(env.state_from_dicts([deal | {"cards": cards} for cards in deals]), [1] * 6)
        >>> answers = te.resolve(bets, 1, te.equilibrium(env, until=1e-4), until=1e-4)
        >>> answers.table[answers.tree.player == 1].round(1).tolist()  # a jack folds, a queen calls one bet in three
        [[1.0, 0.0], [0.7, 0.3], [0.0, 1.0]]
    """
    # imported here, since the package's longest chain of imports is at its limit
    from tensor_envs.equilibria.equilibrium import equilibrium

    instance("state", state, State)
    spec = state.env.spec
    if spec.num_players != 2 or not spec.zero_sum:
        raise ValueError(f"state must be of a game for two players with zero sum, {state.env!r} is none")
    opponent = 1 - integer("player", player, 0, 1)
    if values is None:
        raise wrong_type("values", "numbers or a policy", values)
    max_nodes = integer("max_nodes", max_nodes, 1, MAX_NODES)
    if (depth is None) != (leaf is None):
        raise ValueError(f"depth and leaf must be given together, got depth {depth!r} and leaf {shown(leaf)}")
    cut = None
    if depth is not None:
        cut = Cut(integer("depth", depth, 1, MAX_DEPTH), continuations(leaf, opponent, max_nodes))
    # The opponent expects the value of its best response to the policy that is replaced.
    if isinstance(values, TabularPolicy) or callable(values):
        values, cut = _expected_values(state, opponent, values, weights, max_nodes, cut)
    tree = tree_of(state, max_nodes, False, weights, opponent, values, cut=cut, name="state")
    return equilibrium(tree, algorithm, iterations, until)


def _expected_values(
    state: State, opponent: int, policy: TabularPolicy | Probabilities, weights: Any, max_nodes: int, cut: Cut | None
) -> tuple[np.ndarray, Cut | None]:
    """Return the opponent's value of each game under its best response to a policy, float64 [B], and the depth limit.

    The value is the same in games that the opponent cannot distinguish. The limit has the values of its leaves.
    """
    from tensor_envs.equilibria.histories import views_of_start

    tree = tree_of(state, max_nodes, False, weights, opponent, cut=cut, name="state")
    form = tree.forms[opponent]
    payoffs = form.payoffs(plans_of(tree.forms, strategies_of(tree, function_of(policy, "values"), "values")))
    values, _ = form.action_values(payoffs, form.best_response(payoffs)[1])
    # Number the games' views as the tree does: its first states of the opponent are the offers, one for each view.
    number = groups(views_of_start(Branches(state), opponent)).number
    probabilities = np.bincount(number, tree.belief.weights)
    offers = len(probabilities)
    # Action 0 of each offer is to begin the game.
    begins = values[form.starts[:offers]]
    # Counterfactual values contain the probability of the state; divide by it for the value in the state.
    expected = np.divide(begins, probabilities, out=np.zeros(offers), where=probabilities > 0)
    return np.asarray(expected[number]), tree.cut
