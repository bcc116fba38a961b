"""Search in 300 games of 2048 and of each larger game: against the plain search, and what holds of any tree."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import tensor_envs as te
from tensor_envs.search.records import Node
from tests.games.shared import shared_env
from tests.search.reference import Search

ROOT = Path(__file__).parents[2]
BATCH, SEED, SEARCH_SEED = 300, 5, 4  # no multiple of the 64 games of a block
STAGES = 6


class Case(NamedTuple):
    """Options of a game's searches.

    Attributes:
        plies: played before the search in the games that are furthest on.
        limit: actions of a playout, few enough for plain Python.
        long: actions of a playout, where kernels alone search.
        bound: of returns; None where they have none.
    """

    plies: int
    limit: int = 8
    long: int = 2**31 - 1
    bound: float | None = 1.0


CASES = {
    "2048": Case(60, bound=None),
    "backgammon": Case(120, bound=3.0),
    "chess": Case(400, limit=6, long=40),
    "go": Case(110),
    "gomoku": Case(70, limit=30),
    "othello": Case(58),
    "qubic": Case(24),
    "shed": Case(40),
    "tensor_equilibrium": Case(160, limit=12),
    "tensor_stars": Case(15),
    "three_will": Case(150),
}
QUICK = 16  # simulations
MANY = 2000


def positions(name: str) -> te.State:
    """Return games at all stages; a few of the last ones may be over."""
    env, plies = shared_env(name), CASES[name].plies
    state, stage = env.init(BATCH, SEED), np.arange(BATCH) % STAGES
    for ply in range(plies):
        after = env.step(state, te.agents.uniform(state))
        state = te.where(stage * plies > ply * (STAGES - 1), after, state)
    return state


def search(state: te.State, simulations: int, limit: int, keep_tree: bool = False) -> te.search.SearchOutput:
    return te.search.playout_policy(state, simulations, seed=SEARCH_SEED, limit=limit, keep_tree=keep_tree)


def check_roots(name: str, state: te.State, found: te.search.SearchOutput, simulations: int) -> None:
    legal, action = state.legal_action_mask.numpy(), found.action.numpy()
    summary = found.search_tree.summary()
    counts, values, live = summary["visit_counts"], summary["qvalues"], legal.any(1)
    assert live.sum() > 100 and (np.unique(state.ply.numpy()).size >= STAGES)
    assert (counts.sum(1) == np.where(live, simulations, 0))[~summary["proven"]].all()
    assert (counts.sum(1) <= simulations).all()
    assert not counts[~legal].any() and not values[counts == 0].any()
    assert legal[live, action[live]].all() and not action[~live].any()
    unproven = live & ~summary["proven"]
    played = counts[np.arange(len(action)), action]
    assert (played == counts.max(1))[unproven].mean() > 0.9, "a proven loss may have more visits"
    many = unproven & (8 * legal.sum(1) < simulations)
    assert ((counts > 0) == legal)[many].all()
    bound = CASES[name].bound
    assert (values >= 0).all() if bound is None else (abs(values) <= bound).all()
    assert np.isfinite(values).all() and values.any()
    mean = (counts * values).sum(1) / np.maximum(counts.sum(1), 1)
    exact = ~summary["proven"] & (abs(values) < 1).all(1)  # no action can be proven
    np.testing.assert_allclose(summary["value"][exact], mean[exact], rtol=1e-4, atol=1e-4)


def check_same(found: te.search.SearchOutput, rows: np.ndarray | slice, other: te.search.SearchOutput) -> None:
    """Check that the rows of a search are another search, bit for bit."""
    one, two = found.search_tree.summary(), other.search_tree.summary()
    assert (found.action.numpy()[rows] == other.action.numpy()).all()
    for key, values in two.items():
        np.testing.assert_array_equal(one[key][rows], values, err_msg=key)


def check_reference(name: str, state: te.State, found: te.search.SearchOutput, simulations: int, row: int) -> None:
    """Compare a row with the search in plain Python."""
    env, summary = state.env, found.search_tree.summary()
    plain = te.debug(env, SEED, row, game=env.state_to_dict(state, row))
    reference = Search(plain, row, SEARCH_SEED, limit=CASES[name].limit, chance="open")
    for simulation in range(1, simulations + 1):
        reference.simulate(simulation)
    root = reference.root
    assert summary["visit_counts"][row].tolist() == root.counts
    assert summary["qvalues"][row].tolist() == [reference.value(action) for action in range(reference.actions)]
    assert any(root.sums), "a search that met no return compares nothing"


def rows_to_compare(state: te.State, found: te.search.SearchOutput, count: int) -> list[int]:
    """Return rows whose search met returns, spread over the stages; of the last block, too."""
    met = np.flatnonzero((found.search_tree.summary()["qvalues"] != 0).sum(1) > 1)
    assert len(met) >= count and met[-1] >= 256
    return met[np.linspace(0, len(met) - 1, count + 1).astype(int)[1:]].tolist()


def check_batches(state: te.State, found: te.search.SearchOutput, simulations: int, limit: int) -> None:
    """Check that neither the number of threads nor the other games of a batch make a difference."""
    before = te.num_threads()
    try:
        for threads in (1, 3):
            te.set_num_threads(threads)
            check_same(found, slice(None), search(state, simulations, limit))
    finally:
        te.set_num_threads(before)
    rows = np.array([299, 3, 64, 130, 131, 257, 0])
    check_same(found, rows, search(state.env.take(state, rows), simulations, limit))


def check_trees(name: str, found: te.search.SearchOutput, simulations: int) -> None:
    """Check how visits of nodes and of their actions add up, in every tree of a search that keeps them."""
    whole, env = found.search_tree._whole, shared_env(name)
    assert whole is not None
    edges, shape = whole.tried(), (len(found.action.numpy()), simulations + 1)
    assert whole.nodes.shape[:2] == shape
    assert edges.action.min() >= 0 and edges.action.max() < env.num_actions, "padding is never chosen"
    counts = np.zeros(shape, np.int32)
    np.add.at(counts, (edges.row, edges.slot), edges.visits)
    np.testing.assert_array_equal(whole.nodes[:, :, Node.visits.index], counts)
    linked = edges.child > 0
    row, node, child, through = (part[linked] for part in (edges.row, edges.slot, edges.child, edges.visits))
    assert (child > node).all() and child.max() <= simulations and len(row) > 10
    assert len(set(zip(row.tolist(), child.tolist(), strict=True))) == len(row), "a node has one parent"
    below = counts[row, child]
    if whole.config.replays:  # a sequence of actions may end one game and not another
        assert (through > below).all()
    else:
        assert (through == 1 + below).all()
    is_linked = np.zeros(shape, bool)
    is_linked[:, 0] = is_linked[row, child] = True
    assert not counts[~is_linked].any(), "what was never reached again has no visits"


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_few_simulations(name: str) -> None:
    state, limit = positions(name), CASES[name].limit
    found = search(state, QUICK, limit)
    check_roots(name, state, found, QUICK)
    for row in rows_to_compare(state, found, 2):
        check_reference(name, state, found, QUICK, row)
    check_batches(state, found, QUICK, limit)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_many_simulations(name: str) -> None:
    state, limit = positions(name), CASES[name].long
    found = search(state, MANY, limit)
    check_roots(name, state, found, MANY)
    check_batches(state, found, MANY, limit)
    rows = np.flatnonzero(state.legal_action_mask.numpy().any(1))[[-2, 60]]
    taken = state.env.take(state, rows)
    trees = search(taken, MANY, limit, keep_tree=True)
    check_same(found, rows, trees)
    check_trees(name, trees, MANY)
    alone = search(state.env.take(state, rows[:1]), MANY, limit)
    check_same(found, rows[:1], alone)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_many_simulations_as_the_plain_search(name: str) -> None:
    state = positions(name)
    found = search(state, MANY, CASES[name].limit)
    check_roots(name, state, found, MANY)
    (row,) = rows_to_compare(state, found, 1)
    check_reference(name, state, found, MANY, row)


PROGRAM = """
import hashlib, sys
import numpy as np
import tensor_envs as te
state = te.make(sys.argv[1]).init(300, seed=5)
for _ in range(20):
    state = state.env.step(state, te.agents.uniform(state))
found = te.search.playout_policy(state, 100, seed=4).search_tree.summary()
print(te.num_threads(), hashlib.sha256(b"".join(np.ascontiguousarray(x).tobytes() for x in found.values())).hexdigest())
"""


@pytest.mark.slow
@pytest.mark.cpu
@pytest.mark.parametrize("name", ["2048", "othello"])
def test_processes_of_other_numbers_of_threads(name: str) -> None:
    """Compare searches with different values of TENSOR_ENVS_THREADS."""
    found = []
    for threads in ("1", "2", "5"):
        environment = {**os.environ, "TENSOR_ENVS_THREADS": threads, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, name], env=environment, capture_output=True, text=True, check=True
        )
        found.append(done.stdout.split())
    assert [threads for threads, _ in found] == ["1", "2", "5"]
    assert len({digest for _, digest in found}) == 1
