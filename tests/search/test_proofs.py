"""Proven outcomes of searches, against exact solutions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from tinygrad import Tensor

import tensor_envs as te
from tensor_envs.rules import Chance, GameState, Mask, Outcome, Part, Scalar, Spec, bits, next_player, where
from tensor_envs.search.records import LOSS
from tests.games.shared import shared_env
from tests.search.test_tree_search import every_position, network, played

BATCH = 256  # of searches with a network, whose kernels are compiled for every size


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


def test_values_of_a_network_beyond_a_win_hide_no_win() -> None:
    """A win ends the search of a position, since the game, unlike the network, has nothing better."""
    state, _ = every_position()
    state = state[::17][:BATCH]
    evaluate = network(state.env)

    def beyond(state: te.State) -> tuple[Tensor, Tensor]:
        logits, value = evaluate(state)
        return logits, value * 3

    output = te.search.gumbel_muzero_policy(state, beyond, 16, prove=True)
    after = state.env.step(state, output.action)
    wins = after.terminated.numpy() & (after.rewards.numpy() != 0).any(1)
    proven = output.search_tree.proven.numpy()
    assert wins.sum() > 50 and proven[wins].all() and not proven.all()


def test_sequential_halving_keeps_its_rounds_beside_proven_actions() -> None:
    """Actions that a round drops have the visits of the schedule; one that is proven takes no other's turn."""
    state = played(shared_env("tic_tac_toe"), BATCH, 3)
    out = te.search.gumbel_muzero_policy(state, network(state.env), 48, prove=True, keep_tree=True)
    tree = out.search_tree._whole
    assert tree is not None
    edges = tree.tried()
    is_open = (edges.slot == 0) & (edges.outcome == 0) & ~out.search_tree.proven.numpy()[edges.row]
    some_proven = np.unique(edges.row[(edges.slot == 0) & (edges.outcome > 0)])
    assert np.isin(edges.row[is_open], some_proven).sum() > 100
    # six actions: three rounds of sixteen simulations, with 2, 5 and 8 visits each; the last two survive
    survives = edges.visits >= 15
    # where all survivors are proven, others are searched again
    is_open &= np.isin(edges.row, edges.row[is_open & survives])
    assert (survives | (edges.visits == 2) | (edges.visits == 7))[is_open].all()
    assert (np.bincount(edges.row[is_open & survives]) <= 2).all()


@dataclass(frozen=True)
class Offer:
    """Each ply a player draws the game (action 0) or goes on, until the first player loses at the 40th ply."""

    @property
    def spec(self) -> Spec:
        return Spec(2, 3, (1,), ())

    def init(self, chance: Chance) -> dict[str, Any]:
        return {}

    def legal_action_mask(self, s: GameState) -> Mask:
        return [True, True, True]

    def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
        lost = (action != 0) & (s.ply >= 39)
        after = s.replace(current_player=next_player(s))
        return Outcome(after, [where(lost, -1.0, 0.0), where(lost, 1.0, 0.0)], lost | (action == 0))

    def observe(self, s: GameState, player: Scalar) -> list[Part]:
        return [bits(s.current_player, 1)]


def test_a_proven_draw_is_played_where_the_rest_seems_to_lose() -> None:
    """Although it was searched once and others often."""
    env = te.make(f"{__name__}:Offer")

    def evaluate(state: te.State) -> tuple[Tensor, Tensor]:
        return Tensor.zeros(state.batch, 3), (state.current_player == 0).where(-0.9, 0.9)

    out = te.search.gumbel_muzero_policy(env.init(3), evaluate, 24, prove=True)
    assert not out.search_tree.proven.numpy().any()
    assert out.search_tree.visit_counts.numpy()[:, 0].tolist() == [1, 1, 1]
    assert out.action.tolist() == [0, 0, 0]


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


def test_weights_are_of_actions_that_keep_what_is_proven() -> None:
    """The winning action has them all, whose search ends with its first visit."""
    env = shared_env("connect_four")
    state = played(env, 256, 20)
    output = te.search.playout_policy(state, 128, keep_tree=True)
    found, tree = output.search_tree.summary(), output.search_tree._whole
    assert tree is not None
    weights, action = found["action_weights"], output.action.numpy()
    won = found["proven"] & (found["value"] == 1)
    assert (weights[won, action[won]] == 1).all() and won.sum() > 40
    assert found["visit_probs"][won, action[won]].mean() < 0.5
    edges = tree.tried()
    loses = (edges.slot == 0) & (edges.outcome == LOSS) & ~(found["value"] == -1)[edges.row]
    assert loses.sum() > 40 and not weights[edges.row[loses], edges.action[loses]].any()
    assert weights[~state.terminated.numpy()].sum(1) == pytest.approx(1)


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
    for name in ("value", "action_weights"):
        assert (again[name] == known[name])[known["proven"]].all()
    assert (again["proven"] >= known["proven"]).all() and not again["proven"][~live].any()
