"""Public functions and properties in threads other than the one that used tinygrad first."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from tinygrad import Tensor, dtypes

import tensor_envs as te
from tests.games.shared import shared_env


def network(state: te.State) -> tuple[Tensor, Tensor]:
    return state.legal_action_mask.cast(dtypes.float32) * 0.5, Tensor.zeros(state.batch)


def rollout(autoreset: bool = True, counts: bool = False) -> te.Rollout:
    env = shared_env("tic_tac_toe")
    return te.rollout(env, "uniform", batch=7, steps=12, seed=3, autoreset=autoreset, count_actions=counts)


def sampled() -> Tensor:
    state = shared_env("tic_tac_toe").init(5)
    return te.sample_action(network(state)[0], state.legal_action_mask, state.action_key, state.ply)


def searched() -> list[Any]:
    output = te.search.playout_policy(shared_env("tic_tac_toe").init(3), num_simulations=8)
    tree = output.search_tree
    columns = (output.action, output.action_weights, tree.visit_counts, tree.visit_probs, tree.qvalues, tree.value)
    return [column.tolist() for column in columns]


def counted() -> list[Any]:
    counts = rollout(counts=True)
    names = ("legal_counts", "action_counts", "action_plies", "width_counts", "turns")
    return [getattr(counts, name).tolist() for name in names]


CALLS: dict[str, Callable[[], Any]] = {
    "episodes": lambda: rollout().episodes.tolist(),
    "episodes without resets": lambda: rollout(autoreset=False).episodes.tolist(),
    "returns": lambda: rollout().returns.tolist(),
    "wins": lambda: rollout().wins.tolist(),
    "counts": counted,
    "playout": lambda: te.playout(shared_env("tic_tac_toe").init(5), 3).tolist(),
    "sample_action": lambda: sampled().tolist(),
    "search": searched,
    "greedy": lambda: te.agents.greedy(network)(shared_env("tic_tac_toe").init(3)).tolist(),
    "softmax": lambda: te.agents.softmax(network)(shared_env("tic_tac_toe").init(3)).tolist(),
    "a lazy tensor": lambda: te.to_numpy(rollout().episodes.sum()).tolist(),
    "masked_logits": lambda: te.to_numpy(te.masked_logits(Tensor.ones(4, 9), Tensor.ones(4, 9) > 0)).tolist(),
}


@pytest.fixture(scope="module", autouse=True)
def used_in_the_main_thread() -> Iterator[None]:
    """Open tinygrad's kernel cache in this thread, as any use of it does."""
    shared_env("tic_tac_toe").init(1)
    assert (Tensor([1, 2, 3]) * 3 + 1).tolist() == [4, 7, 10]
    yield


@pytest.mark.few("search", "playout", "sample_action", "counts")
@pytest.mark.parametrize("name", CALLS)
def test_in_another_thread(name: str) -> None:
    results: list[Any] = []

    def call() -> None:
        try:
            results.append(CALLS[name]())
        except Exception as error:
            results.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    assert results == [CALLS[name]()]


def test_in_three_threads_at_once() -> None:
    """What is read by `te.to_numpy` does not meet what other threads compile."""

    def call(size: int) -> Any:
        result = te.rollout(shared_env("tic_tac_toe"), "uniform", batch=size, steps=12)
        return te.to_numpy(result.episodes.sum()).item(), te.to_numpy(result.returns.max() + size).item()

    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(call, range(1, 13)))
    assert np.array_equal(found, [call(size) for size in range(1, 13)])
