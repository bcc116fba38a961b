"""Safe re-solving of subgames of games for two players with hidden information."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tensor_envs._validate import instance, integer
from tensor_envs.solve.branches import Branches
from tensor_envs.solve.game_tree import DEFAULT_NODES, MAX_NODES, tree_of
from tensor_envs.solve.packed import groups
from tensor_envs.solve.tabular_policy import TabularPolicy, plans_of, strategies_of
from tensor_envs.state import State

if TYPE_CHECKING:
    from tensor_envs.solve.equilibrium import Equilibrium
    from tensor_envs.solve.regret import Method
    from tensor_envs.solve.tabular_policy import Probabilities


def resolve(
    state: State,
    player: int,
    values: TabularPolicy | Probabilities | Any,
    weights: Any = None,
    *,
    method: Method = "dcfr",
    iterations: int = 10_000,
    until: float | None = 1e-3,
    max_nodes: int = DEFAULT_NODES,
) -> Equilibrium:
    """Solve the rest of a game anew for one player, so that the opponent gains nothing by having led there.

    Before the games begin, the opponent may end them for what it could expect (CFR-D). The player's new strategy
    therefore concedes no more than the one that it replaces, whatever the opponent did before. A solution by
    `te.equilibrium(te.game_tree(state, weights=...))` is unsafe: it trusts that the opponent has followed a known
    strategy. Source: N. Burch, M. Johanson, M. Bowling, "Solving Imperfect Information Games Using Decomposition",
    AAAI 2014.

    Args:
        state: all games that may have come about, at the same ply, of a game for two players with zero sum. The
            players know nothing of the past but what they observe from then on.
        player: the player whose strategy is wanted.
        values: what the opponent could expect: its returns [B], for example by a network; or a policy, as in
            `te.exploitability`, to which the opponent's best response in these games has the values.
        weights: likelihoods of the games by chance and the player's own actions, without those of the opponent, [B];
            None: all are equal.
        method, iterations, until: as in `te.equilibrium`.
        max_nodes: as in `te.game_tree`.

    Returns:
        The solution. The player's part of it is what was wanted; the opponent's part has the choice before the games,
        and is no strategy to play by.

    Raises:
        TypeError, ValueError: another argument; another game.

    Examples:
        >>> env = te.make("kuhn_poker")
        >>> deals = [[a, b] for a in range(3) for b in range(3) if a != b]
        >>> deal = env.state_to_dict(env.init(1))
        >>> bets = env.step(env.state_from_dicts([deal | {"cards": cards} for cards in deals]), [1] * 6)
        >>> answers = te.resolve(bets, 1, te.equilibrium(env, until=1e-4), until=1e-4)
        >>> answers.table[answers.tree.player == 1].round(1).tolist()  # a jack folds, a queen calls one bet in three
        [[1.0, 0.0], [0.7, 0.3], [0.0, 1.0]]
    """
    # the package's longest chain of imports has room for no other link
    from tensor_envs.solve.equilibrium import equilibrium

    instance("state", state, State)
    spec = state.env.spec
    if spec.num_players != 2 or not spec.zero_sum:
        raise ValueError(f"state must be of a game for two players with zero sum, {state.env!r} is none")
    if state.env.num_actions < 2:
        raise ValueError(f"state must be of a game with two actions or more, {state.env!r} has one")
    opponent = 1 - integer("player", player, 0, 1)
    max_nodes = integer("max_nodes", max_nodes, 1, MAX_NODES)
    if isinstance(values, TabularPolicy) or callable(values):
        values = _expected(state, opponent, values, weights, max_nodes)
    tree = tree_of(state, max_nodes, False, weights, opponent, values)
    return equilibrium(tree, method, iterations, until)


def _expected(
    state: State, opponent: int, policy: TabularPolicy | Probabilities, weights: Any, max_nodes: int
) -> np.ndarray:
    """Return what the opponent expects in each game by its best response to a policy, float64 [B].

    It is the same in games that the opponent cannot tell apart.
    """
    from tensor_envs.solve.histories import first_views

    tree = tree_of(state, max_nodes, False, weights, opponent)
    form = tree.forms[opponent]
    known = policy.probabilities if isinstance(policy, TabularPolicy) else policy
    payoffs = form.payoffs(plans_of(tree.forms, strategies_of(tree, known)))
    found, _ = form.action_values(payoffs, form.best_response(payoffs)[1])
    number = groups(first_views(Branches(state), opponent)).number
    likely = np.bincount(number, tree.belief.weights)
    offers = len(likely)
    plays = found[form.starts[:offers]]
    expected = np.divide(plays, likely, out=np.zeros(offers), where=likely > 0)
    return np.asarray(expected[number])
