"""Public functions and properties in threads other than the one that used tinygrad first."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tinygrad import Tensor, dtypes
from tinygrad.helpers import ALLOW_DEVICE_USAGE, TRAINING

import tensor_envs as te
from tensor_envs.envs.rollout import RolloutReset
from tensor_envs.ops import find_lines
from tensor_envs.train.trainable_tinygrad import assign
from tests.games.shared import shared_env
from tests.train.sizes import ppo


def network(state: te.State) -> tuple[Tensor, Tensor]:
    return state.legal_action_mask.cast(dtypes.float32) * 0.5, Tensor.zeros(state.batch)


def rollout(autoreset: RolloutReset = "same_step", counts: bool = False) -> te.Rollout:
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
    "episodes without resets": lambda: rollout(autoreset="disabled").episodes.tolist(),
    "returns": lambda: rollout().returns.tolist(),
    "wins": lambda: rollout().wins.tolist(),
    "counts": counted,
    "playout": lambda: te.playout(shared_env("tic_tac_toe").init(5), 3).tolist(),
    "sample_action": lambda: sampled().tolist(),
    "search": searched,
    "greedy": lambda: te.agents.greedy(network)(shared_env("tic_tac_toe").init(3)).tolist(),
    "softmax": lambda: te.agents.softmax(network)(shared_env("tic_tac_toe").init(3)).tolist(),
    "a lazy tensor": lambda: te.to_numpy(rollout().episodes.sum()).tolist(),
    "find_lines": lambda: find_lines(Tensor(np.eye(4, dtype=np.int32)) * 1, 3),
    "masked_logits": lambda: te.to_numpy(te.masked_logits(Tensor.ones(4, 9), Tensor.ones(4, 9) > 0)).tolist(),
}


@pytest.fixture(scope="module", autouse=True)
def used_in_the_main_thread() -> Iterator[None]:
    """Open tinygrad's kernel cache in this thread, as any use of it does."""
    shared_env("tic_tac_toe").init(1)
    assert (Tensor([1, 2, 3]) * 3 + 1).tolist() == [4, 7, 10]
    yield


@pytest.mark.few("counts")
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


def test_training_in_another_thread(tmp_path: Path) -> None:
    """A trainer assigns its learning rate, and saves weights in another unit, where tinygrad's cache is not."""

    def call() -> list[Any]:
        trainer = ppo(shared_env("kuhn_poker"), value_scale=2.0)
        assign(trainer.optimizer.lr, np.array([0.25]))
        trainer.save(tmp_path)
        return [trainer.optimizer.lr.tolist(), *(weights.tolist() for weights in trainer.weights().values())]

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(call).result() == call()


def test_one_thread_trains_at_a_time() -> None:
    """Whether tinygrad trains is a setting of all threads: a trainer that ends would end it for another."""
    first, second = (ppo(shared_env("kuhn_poker")) for _ in range(2))
    order, threads = list[str](), list[threading.Thread]()

    def slow(*_: Any) -> Tensor:
        order.append("first")
        threads.append(threading.Thread(target=second.learn, args=([[]],)))
        threads[0].start()
        threads[0].join(0.2)
        order.append(f"first, {TRAINING.value}")
        return losses

    def fast(*_: Any) -> Tensor:
        order.append("second")
        return losses

    losses = te.from_numpy(np.ones(2, np.float32))
    first.trainable.fit = slow  # type: ignore[attr-defined]
    second.trainable.fit = fast  # type: ignore[attr-defined]
    first.learn([[]])
    threads[0].join()
    assert order == ["first", "first, 1", "second"]


def test_devices_that_tinygrad_has_left_forbidden(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two threads in which tinygrad compiles may leave devices forbidden for the whole process."""
    env = shared_env("tic_tac_toe")
    for size in (31, 33):
        monkeypatch.setattr(ALLOW_DEVICE_USAGE, "value", 0)
        state = env.init(size)
        monkeypatch.setattr(ALLOW_DEVICE_USAGE, "value", 0)
        assert te.rollout(env, "uniform", batch=size, steps=3).episodes.tolist() == [0] * size
        monkeypatch.setattr(ALLOW_DEVICE_USAGE, "value", 0)
        assert te.to_numpy(state.ply + size).tolist() == [size] * size
        monkeypatch.setattr(ALLOW_DEVICE_USAGE, "value", 0)
        assert te.from_numpy(np.arange(size)).tolist() == [*range(size)]


@pytest.mark.slow
def test_in_three_threads_at_once() -> None:
    """What is read by `te.to_numpy` does not meet what other threads compile."""

    def call(size: int) -> Any:
        result = te.rollout(shared_env("tic_tac_toe"), "uniform", batch=size, steps=12)
        return te.to_numpy(result.episodes.sum()).item(), te.to_numpy(result.returns.max() + size).item()

    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(call, range(1, 13)))
    assert np.array_equal(found, [call(size) for size in range(1, 13)])
