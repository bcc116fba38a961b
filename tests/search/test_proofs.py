"""Proven outcomes of searches, against exact solutions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tests.games.shared import shared_env
from tests.search.test_tree_search import every_position, network, played


def test_proofs_are_right_in_every_position() -> None:
    """Compare proven values and the actions played there with the solution of tic-tac-toe."""
    state, best = every_position()
    state, best = state[::4], best[::4]
    output = te.search.playout_policy(state, num_simulations=512)
    summary, action = output.search_tree.summary(), output.action.numpy()
    proven, values = summary["proven"], te.solve(state.env).value(state)
    assert proven.mean() > 0.9 and (proven == output.search_tree.proven.numpy()).all()
    assert (summary["value"] == values)[proven].all()
    assert best[np.arange(state.batch), action][proven].all()
    ended = summary["visit_counts"].sum(1) < 512
    assert (proven[ended]).all() and ended.sum() > 500
    plain = te.search.playout_policy(state, num_simulations=512, prove=False).search_tree.summary()
    assert not plain["proven"].any() and (plain["visit_counts"].sum(1) == 512).all()


@pytest.mark.slow
@pytest.mark.parametrize("search", [te.search.gumbel_muzero_policy, te.search.muzero_policy])
def test_proofs_with_a_network(search: Any) -> None:
    """Proofs are right whatever the network is; without them, no value is proven."""
    state, best = every_position()
    state, best = state[::8], best[::8]
    evaluate, values = network(state.env), te.solve(state.env).value(state)
    output = search(state, evaluate, 200, prove=True)
    summary, action = output.search_tree.summary(), output.action.numpy()
    proven = summary["proven"]
    assert proven.mean() > 0.8 and (summary["value"] == values)[proven].all()
    assert best[np.arange(state.batch), action][proven].all()
    assert (summary["visit_counts"].sum(1) == 200)[~proven].all()
    assert (summary["visit_counts"].sum(1) < 200)[proven].any()
    assert not search(state, evaluate, 20).search_tree.proven.numpy().any()


@pytest.mark.slow
def test_no_mistake_in_critical_positions_of_connect_four() -> None:
    """With at most 16 empty cells; an exact search is the judge."""
    env = shared_env("connect_four")
    state = played(env, 600, 26)
    state = state[np.flatnonzero(~state.terminated.numpy())]
    best, mask = te.solve(env, method="search").best_actions(state), state.legal_action_mask.numpy()
    critical = np.flatnonzero((best & mask).any(1) & ~(best | ~mask).all(1))
    assert len(critical) > 60
    output = te.search.playout_policy(env.take(state, critical), 8192)
    action = output.action.numpy()
    assert best[critical, action].all() and output.search_tree.proven.numpy().mean() > 0.8


def test_a_subtree_keeps_its_proofs() -> None:
    """A resumed search of a proven position ends at once; an unproven one goes on."""
    env = shared_env("tic_tac_toe")
    state = played(env, 64, 4)
    out = te.search.playout_policy(state, 300, keep_tree=True)
    tree = te.search.subtree(out.search_tree, out.action)
    state = env.step(state, out.action)
    known, again = tree.summary(), te.search.playout_policy(state, 8, tree=tree).search_tree.summary()
    live = ~state.terminated.numpy()
    more = again["visit_counts"].sum(1) - known["visit_counts"].sum(1)
    assert known["proven"][live].any() and (more[known["proven"]] == 0).all()
    assert (again["value"] == known["value"])[known["proven"]].all()
    assert (again["proven"] >= known["proven"]).all() and not again["proven"][~live].any()
