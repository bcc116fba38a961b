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

    Before the games begin, the opponent may end them for what it could expect (CFR-D). The player's new strategy
    therefore concedes no more than the one that it replaces, whatever the opponent did before. A solution by
    `te.equilibrium(te.game_tree(state, weights=...))` is unsafe: it trusts that the opponent has followed a known
    strategy. Source: N. Burch, M. Johanson, M. Bowling, "Solving Imperfect Information Games Using Decomposition",
    AAAI 2014.

    With a depth limit, games that go on there end with the values of `leaf`. A state of hidden information has no value
    of its own: it depends on what the opponent does later. So at each leaf the opponent chooses one of several policies
    for the rest, by what it observes there. The player is then prepared for all of them; with a single one it can be
    exploited as soon as the opponent plays otherwise. Source: N. Brown, T. Sandholm, B. Amos, "Depth-Limited Solving
    for Imperfect-Information Games", NeurIPS 2018.

    Args:
        state: all games that may have come about, at the same ply, of a game for two players with zero sum. The
            players know nothing of the past but what they observe from then on.
        player: the player whose strategy is wanted.
        values: what the opponent could expect: its returns [B], for example by a network; or a policy, as in
            `te.exploitability`, to which the opponent's best response in these games, up to the depth limit, has the
            values.
        weights: likelihoods of the games by chance and the player's own actions, without those of the opponent, [B];
            None: all are equal.
        depth: number of plies until games are cut. None: they go to their ends.
        leaf: what games are worth where they are cut. Policies, as in `te.exploitability`: the player follows the first
            one, and the opponent the one that it has chosen. Their exact values are computed in all states of the rest
            of the game. Or a network, as in `te.search.gumbel_muzero_policy`: its values leave the opponent no choice.
        algorithm, iterations, until: as in `te.equilibrium`.
        max_nodes: as in `te.game_tree`, and as in `te.exploitability` for the states beyond the depth limit.

    Returns:
        The solution. The player's part of it is what was wanted; the opponent's part has the choices before the games
        and at leaves, and is no strategy to play by.

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
    # The opponent could expect its best response to the policy that is replaced.
    if isinstance(values, TabularPolicy) or callable(values):
        values, cut = _expected(state, opponent, values, weights, max_nodes, cut)
    tree = tree_of(state, max_nodes, False, weights, opponent, values, cut=cut, name="state")
    return equilibrium(tree, algorithm, iterations, until)


def _expected(
    state: State, opponent: int, policy: TabularPolicy | Probabilities, weights: Any, max_nodes: int, cut: Cut | None
) -> tuple[np.ndarray, Cut | None]:
    """Return what the opponent expects in each game by its best response to a policy, float64 [B], and the known limit.

    It is the same in games that the opponent cannot tell apart.
    """
    from tensor_envs.equilibria.histories import first_views

    tree = tree_of(state, max_nodes, False, weights, opponent, cut=cut, name="state")
    form = tree.forms[opponent]
    payoffs = form.payoffs(plans_of(tree.forms, strategies_of(tree, function_of(policy, "values"), "values")))
    values, _ = form.action_values(payoffs, form.best_response(payoffs)[1])
    # These are the numbers of the offers in the tree, which come from the same views.
    number = groups(first_views(Branches(state), opponent)).number
    likely = np.bincount(number, tree.belief.weights)
    offers = len(likely)
    # The first states of the opponent are the offers, and action 0 of each is to play on.
    plays = values[form.starts[:offers]]
    # Counterfactual values contain the probability of the state. The opponent expects a value given that it is there.
    expected = np.divide(plays, likely, out=np.zeros(offers), where=likely > 0)
    return np.asarray(expected[number]), tree.cut
