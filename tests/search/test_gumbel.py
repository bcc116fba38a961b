"""Gumbel MuZero's improved policy under adversarial priors, against decimal arithmetic of 60 digits."""

from __future__ import annotations

from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pytest
from tinygrad import Tensor

import tensor_envs as te
from tensor_envs.search.records import Node
from tensor_envs.search.tree import TriedEdges
from tests.games.shared import shared_env

MOVES, WINS = (0, 3, 1, 4), 2  # after these moves the first player wins there; other moves lose, but for one
LOWERED = (*range(0, 106, 2), 1e4, 3e38)  # 64 rows in all: one call of the network, on one core, too


def played(actions: tuple[int, ...], batch: int) -> te.State:
    env = shared_env("tic_tac_toe")
    state = env.init(batch)
    for action in actions:
        state = env.step(state, [action] * batch)
    return state


def adversarial_logits() -> np.ndarray:
    """Return logits [B, 9]: winning moves that the network all but rules out, and extreme numbers."""
    random = np.random.default_rng(3)
    rows = [np.where(np.arange(9) == WINS, -lowered, 0) for lowered in LOWERED]
    rows += [random.normal(size=9) * scale for scale in (1, 10, 100, 1e5, 1e30)]
    rows += [np.full(9, x) for x in (0, 1e-30, 88, -3e38)]
    return np.array(rows, np.float32)


def network(logits: np.ndarray, value: float) -> Any:
    rows = Tensor(logits).realize()

    def evaluate(state: te.State) -> tuple[Tensor, Tensor]:
        return rows.contiguous(), (state.ply.float() * 3).sin() * 0.5 + value

    return evaluate


def improved_policy(logits: Any, legal: Any, visits: Any, values: Any, raw_value: float) -> list[float]:
    """Return the policy of a node by the paper's formulas; logits, legality, visits and values are its actions'."""
    with localcontext() as context:
        context.prec, context.Emin, context.Emax = 60, -(10**17), 10**17
        logits, values = ([Decimal(float(x)) for x in row] for row in (logits, values))
        top = max(x for x, allowed in zip(logits, legal, strict=True) if allowed)
        weights = [(x - top).exp() if allowed else Decimal(0) for x, allowed in zip(logits, legal, strict=True)]
        tried, total = np.flatnonzero(visits), int(np.sum(visits))
        mixed = Decimal(float(raw_value))
        if total:
            mean = sum(weights[a] * values[a] for a in tried) / sum(weights[a] for a in tried)
            mixed = (mixed + total * mean) / (total + 1)
        completed = [values[a] if visits[a] else mixed for a in range(len(logits))]
        low, high = min(completed), max(completed)
        scale = (int(np.max(visits)) + 50) / max(high - low, Decimal("1e-8")) / 10
        exponents = [x - top + scale * (q - low) for x, q in zip(logits, completed, strict=True)]
        highest = max(x for x, allowed in zip(exponents, legal, strict=True) if allowed)
        terms = [(x - highest).exp() if allowed else Decimal(0) for x, allowed in zip(exponents, legal, strict=True)]
        return [float(x / sum(terms)) for x in terms]


@pytest.mark.few(1)
@pytest.mark.parametrize("value", [0.0, 5.0, -5.0])  # beyond the returns, so that no tried action has the highest value
def test_weights(value: float) -> None:
    """Illegal actions have weight 0, the weights sum to 1, and each is that of exact arithmetic."""
    logits = adversarial_logits()
    state = played(MOVES, len(logits))
    found = te.search.gumbel_muzero_policy(state, network(logits, value), 1024, keep_tree=True)
    weights, tree = found.action_weights.numpy(), found.search_tree
    legal, visits, values = (x.numpy() for x in (state.legal_action_mask, tree.visit_counts, tree.qvalues))
    assert np.allclose(weights.sum(1), 1, atol=1e-6) and not weights[~legal].any()
    for row in range(len(logits)):
        expected = improved_policy(logits[row], legal[row], visits[row], values[row], np.sin(12) * 0.5 + value)
        np.testing.assert_allclose(weights[row], expected, rtol=2e-3, atol=1e-5, err_msg=str(logits[row]))
    assert ((weights > 0.01) & (weights < 0.99)).sum() >= 2


def by_action(edges: TriedEdges, batch: int) -> tuple[np.ndarray, np.ndarray]:
    """Return visits and mean returns of all actions in the first 501 slots, [B, 501, 9]."""
    visits, values = (np.zeros((batch, 502, 9), dtype) for dtype in (np.int32, np.float32))
    visits[edges.row, edges.slot, edges.action] = edges.visits
    values[edges.row, edges.slot, edges.action] = edges.value
    return visits[:, :501], values[:, :501]


def test_choices_below_the_root() -> None:
    """One more simulation follows, at every node below the root, the action by which its weight exceeds its visits."""
    logits = adversarial_logits()
    logits[:, MOVES[-1]] = logits.max(1) + 1  # which the root plays in every simulation
    state, checked = played(MOVES[:-1], len(logits)), 0
    before, after = (
        te.search.gumbel_muzero_policy(
            state, network(logits, 0.0), simulations, max_num_considered_actions=1, gumbel_scale=0.0, keep_tree=True
        ).search_tree._whole
        for simulations in (500, 501)
    )
    assert before is not None and after is not None
    (visits_before, values), (visits_after, _) = (by_action(tree.tried(), len(logits)) for tree in (before, after))
    gained = visits_after - visits_before
    rows, slots = np.nonzero(gained[:, 1:].any(2))
    for row, slot in zip(rows, slots + 1, strict=True):
        node, visits = before.nodes[row, slot], visits_before[row, slot]
        legal = [bool(node[-1] >> action & 1) for action in range(9)]
        raw_value = node.view(np.float32)[Node.raw_value.index]
        policy = improved_policy(logits[row], legal, visits, values[row, slot], raw_value)
        scores = np.where(legal, policy - visits / (visits.sum() + 1), -9)
        assert scores[gained[row, slot].argmax()] > scores.max() - 1e-4
        checked += 1
    assert checked > len(logits)


@pytest.mark.slow
def test_hundreds_of_equal_priors() -> None:
    env = te.make("hyper_tic_tac_toe", shape=(8, 8, 8), k=3)
    found = te.search.gumbel_muzero_policy(env.init(1), network(np.zeros((1, 512), np.float32), 0.0), 2)
    assert np.isclose(found.action_weights.numpy().sum(), 1, atol=1e-5)
