"""Counts of the decisions of a search's playouts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tensor_envs._engine.kernels.rollout import num_counts
from tensor_envs.search import policies, runners
from tensor_envs.search.memory import SearchSize
from tensor_envs.search.selection import ProgressiveHistory
from tests.engine.test_kernels import BATCH, cost
from tests.games import dice_race
from tests.games.shared import shared_env
from tests.search.reference import search_of

COUNTS = ("legal_counts", "action_counts", "action_plies", "width_counts", "turns")
GAMES = ["dice_race", "tic_tac_toe", "kuhn_poker", "shed"]


def env_of(name: str) -> te.Env:
    return dice_race.shared() if name == "dice_race" else shared_env(name)


def counts(state: te.State, simulations: int = 8, **options: Any) -> dict[str, np.ndarray]:
    """Return all counts of a search, also of events."""
    found = te.search.playout_policy(state, simulations, count_actions=True, **options).search_tree.playouts
    events = {name: count.numpy() for name, count in found.event_counts.items()}
    return {name: getattr(found, name).numpy() for name in COUNTS} | events


@pytest.mark.few("kuhn_poker")
@pytest.mark.parametrize("name", GAMES)
def test_counts_are_those_of_the_plain_search(name: str) -> None:
    """Count every decision of every playout in plain Python; what is hidden and chance are resampled."""
    env, simulations = env_of(name), 8
    start = env.init(3, seed=9)
    actions = te.agents.uniform(start).numpy().tolist()
    found = counts(env.step(start, actions), simulations, seed=4)
    for row in range(3):
        plain = search_of(env, 9, row, [actions[row]], simulations, 4, chance="open")
        expected = (plain.legal, plain.taken, plain.plies, plain.widths, plain.turns, *plain.events.values())
        for (what, own), value in zip(found.items(), expected, strict=True):
            np.testing.assert_array_equal(own[row], value, err_msg=f"{what} of row {row}")
    assert found["turns"].any() and len(found) == len(COUNTS) + len(env.spec.events)


@pytest.mark.slow
def test_counts_change_nothing_else() -> None:
    """Counts are those of any batch and any number of chunks, and the search is the one without them."""
    env = shared_env("tic_tac_toe")
    state = env.step(env.init(70, seed=1), [0, 4] * 35)
    plain, counted = (te.search.playout_policy(state, 8, count_actions=count) for count in (False, True))
    for what, values in plain.search_tree.summary().items():
        np.testing.assert_array_equal(counted.search_tree.summary()[what], values, err_msg=what)
    np.testing.assert_array_equal(counted.action.numpy(), plain.action.numpy())
    np.testing.assert_array_equal(counted.action_weights.numpy(), plain.action_weights.numpy())
    whole, part = counts(state), counts(env.take(state, [69, 3]))
    for what, values in part.items():
        np.testing.assert_array_equal(values, whole[what][[69, 3]], err_msg=what)


@pytest.mark.slow
def test_counts_of_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last chunk repeats the last block of the batch, whose decisions count once."""
    state = shared_env("tic_tac_toe").init(300)  # five blocks
    whole = counts(state)
    runners.chunk_of.cache_clear()
    runners.playout_runner.cache_clear()
    monkeypatch.setattr(runners, "TREE_BYTES", 1 << 19)
    config = policies.search_config(state.env, ProgressiveHistory)
    assert 5 % runners.chunk_of(state.env.engine, config, SearchSize(8), state.buffers.layout).grid.blocks
    chunked = counts(state)
    runners.chunk_of.cache_clear()
    runners.playout_runner.cache_clear()
    for what, values in whole.items():
        np.testing.assert_array_equal(chunked[what], values, err_msg=what)


def test_finished_games_count_nothing_and_resumed_trees_count_anew() -> None:
    env = shared_env("tic_tac_toe")
    state = env.init(2)
    for actions in ([0, 0], [3, 3], [1, 1], [4, 4]):
        state = env.step(state, actions)
    output = te.search.playout_policy(state, 16, keep_tree=True)
    state = env.step(state, [2, 8])  # a win of X, and another cell
    found = counts(state, tree=te.search.subtree(output.search_tree, [2, 8]))
    assert found["turns"][0] == 0 < found["turns"][1] <= 8 * 3 and not found["legal_counts"][0].any()


def test_counts_take_no_kernel() -> None:
    """One kernel writes them beside the result; without counts nothing is allocated for them."""
    env = shared_env("tic_tac_toe")
    state = env.init(BATCH)
    for count, words in ((False, 0), (True, num_counts(env.spec))):
        assert cost(lambda count=count: te.search.playout_policy(state, 8, count_actions=count))[0] == 1
        numbers = te.search.playout_policy(state, 8, count_actions=count).search_tree._numbers
        assert numbers.nbytes() == 4 * BATCH * (3 * 9 + 2 + words)


def test_counts_need_their_option() -> None:
    state = shared_env("tic_tac_toe").init(2)
    with pytest.raises(ValueError, match="count_actions must be True in a call whose decisions are counted"):
        te.search.playout_policy(state, 2).search_tree.playouts.turns  # noqa: B018
    with pytest.raises(TypeError, match="count_actions must be of type bool"):
        te.search.playout_policy(state, 2, count_actions=1)  # type: ignore[arg-type]
