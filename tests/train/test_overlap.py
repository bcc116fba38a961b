"""Self-play and learning at once: the same results whatever the timing, errors, and what cannot overlap."""

from __future__ import annotations

import re
import threading
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tensor_envs.files.arrays import read_arrays
from tensor_envs.train.__main__ import main
from tensor_envs.train.run import CHECKPOINT, FORMAT
from tests.games.shared import shared_env
from tests.scripts.here import run_here
from tests.train.sizes import ALPHAZERO, alphazero

pytestmark = pytest.mark.extra("torch")
torch = pytest.importorskip("torch")
networks: Any = pytest.importorskip("tests.train.networks")
from tensor_envs.train.torch_network import TorchNetwork  # noqa: E402

PATIENCE = 60  # seconds until a thread that waits for another one fails


@pytest.fixture(autouse=True, scope="module")
def one_core() -> Iterator[None]:
    """Have PyTorch use one core for each of both sides: its threads of more would wait for each other in loops."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


class Learner(networks.Small):  # type: ignore[misc]
    """Network that calls a function before it learns from a minibatch, and one before it evaluates positions."""

    learns: Callable[[], object] = staticmethod(lambda: None)
    plays: Callable[[], object] = staticmethod(lambda: None)

    def forward(self, observation: Any) -> Any:
        (self.learns if self.training else self.plays)()
        return super().forward(observation)


def overlapping(seed: int = 0, kind: Any = networks.Small, **settings: Any) -> te.train.AlphaZero:
    """Return a small trainer whose network has statistics of batches and dropout."""
    env = shared_env("tic_tac_toe")
    torch.manual_seed(seed)
    return alphazero(env, kind(env), overlap=True, **settings)


class AtOnce:
    """Executor whose calls are done before `submit` returns."""

    def __init__(self, *_: Any):
        pass

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        result = Future[Any]()
        result.set_result(function(*arguments))
        return result


class AtLast(AtOnce):
    """Executor whose calls are done when their results are read."""

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        self.result = lambda: function(*arguments)
        return self


def checkpoint(folder: Path) -> dict[str, np.ndarray]:
    return read_arrays(folder / CHECKPOINT, FORMAT)[1]


def assert_equal(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> None:
    assert one.keys() == other.keys() and "optimizer.0.exp_avg" in one and "replay.value" in one
    assert all(np.array_equal(one[key], other[key], equal_nan=True) for key in one)


ALL = {"ratings": 2, "bfloat16": True, "league_share": 0.5, "league_size": 2, "league_steps": 2}


@pytest.mark.parametrize("settings", [{}, pytest.param(ALL, marks=pytest.mark.slow)], ids=["fast", "slow"])
def test_results_do_not_depend_on_timing(
    settings: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Metrics and checkpoints are the same bit for bit: in a thread, and one after the other in both orders."""

    def finished(name: str) -> tuple[list[Any], dict[str, np.ndarray]]:
        metrics = list[Any]()
        trainer = overlapping(**settings)
        report = [lambda _, step: metrics.append(step | {"seconds": 0})]
        trainer.run(steps=4, folder=tmp_path / name, callbacks=report)
        assert len(metrics) == trainer.replay.added == 4 and ("score" in metrics[1]) == bool(settings)
        return metrics, checkpoint(tmp_path / name)

    metrics, arrays = finished("thread")
    for executor in (AtOnce, AtLast):
        monkeypatch.setattr("tensor_envs.train.overlap.ThreadPoolExecutor", executor)
        again, other = finished(executor.__name__)
        assert again == metrics
        assert_equal(other, arrays)


def test_an_interrupted_run_equals_one_without_a_break(tmp_path: Path) -> None:
    """The second run starts with other weights; a checkpoint has nothing in flight."""
    overlapping().run(steps=4, folder=tmp_path / "whole")

    def interrupt(trainer: te.train.Trainer, metrics: dict[str, float]) -> None:
        if trainer.steps == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        overlapping().run(steps=4, folder=tmp_path / "part", callbacks=[interrupt])
    torch.manual_seed(77)
    again = te.train.AlphaZero.load(tmp_path / "part")
    assert again.steps == 2 and again.config.overlap
    again.run(steps=4, folder=tmp_path / "part")
    assert_equal(checkpoint(tmp_path / "part"), checkpoint(tmp_path / "whole"))


def test_weights_of_self_play_are_those_of_the_step_before() -> None:
    """From the first search of a step to its last one, though the network learns meanwhile."""
    trainer = overlapping()
    search = trainer.search
    seen = list[dict[str, np.ndarray]]()

    def spied(state: te.State, seed: int) -> Any:
        seen.append(trainer.player.weights())
        return search(state, seed)

    trainer.search = spied  # type: ignore[method-assign]
    for _ in range(4):
        before = trainer.weights()
        added = trainer.replay.added
        trainer.step()
        assert trainer.replay.added == added + 1 and len(seen) == trainer.config.rollout_length + 1
        assert all(np.array_equal(weights[key], before[key]) for weights in seen for key in before)
        assert all(not np.array_equal(array, before[key]) for key, array in trainer.weights().items())
        seen.clear()


def test_both_run_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Self-play and learning wait for each other: one after the other they would wait in vain."""
    trainer = overlapping(kind=Learner)
    trainer.step()  # which plays before it learns
    playing = threading.Event()
    learning = threading.Event()
    threads = set[str]()

    def learns() -> None:
        threads.add(threading.current_thread().name)
        learning.set()
        assert playing.wait(PATIENCE), "self-play did not run meanwhile"

    def plays() -> None:
        assert threading.current_thread() is threading.main_thread()
        playing.set()
        assert learning.wait(PATIENCE), "learning did not run meanwhile"

    monkeypatch.setattr(Learner, "learns", staticmethod(learns))
    monkeypatch.setattr(Learner, "plays", staticmethod(plays))
    trainer.step()
    assert threads == {"learner_0"} and trainer.steps == 2


def fail() -> None:
    raise LookupError("in the network")


def test_order_on_a_card(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for streams records that the thread's stream follows the copy, has the learning, and ends with it."""
    calls = list[str]()

    class Stream:
        """Stream that records calls."""

        device = "cuda:0"

        def wait_stream(self, other: str) -> None:
            calls.append(f"wait for {other}")

        def synchronize(self) -> None:
            calls.append("end")

    @contextmanager
    def entered(stream: Any) -> Iterator[None]:
        calls.append(f"enter {type(stream).__name__}")
        yield
        calls.append("leave")

    trainer = overlapping(kind=Learner, updates=1)
    trainer.step()
    assert trainer.overlap is not None
    trainer.overlap.stream = Stream()
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: f"the caller's on {device}")
    monkeypatch.setattr(torch.cuda, "stream", entered)
    monkeypatch.setattr(Learner, "learns", staticmethod(lambda: calls.append("learn")))
    trainer.step()
    assert calls == ["wait for the caller's on cuda:0", "enter Stream", "learn", "end", "leave"]


def test_an_error_of_the_learner_is_raised_in_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its traceback has the line that failed, and no thread is left."""
    trainer = overlapping(kind=Learner)
    trainer.step()
    threads = threading.active_count()
    monkeypatch.setattr(Learner, "learns", staticmethod(fail))
    with pytest.raises(LookupError, match="in the network") as error:
        trainer.step()
    assert "fail" in [frame.name for frame in traceback.extract_tb(error.value.__traceback__)]
    assert trainer.steps == 1 and threading.active_count() == threads


def test_an_interruption_ends_the_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """The learner stops after its present minibatch."""
    trainer = overlapping(kind=Learner, updates=10**6)
    monkeypatch.setattr(trainer.trainable, "learn", lambda *_: (0.0, 0.0))
    trainer.step()
    monkeypatch.undo()
    threads = threading.active_count()
    learning = threading.Event()

    def plays() -> None:
        assert learning.wait(PATIENCE)
        raise KeyboardInterrupt

    monkeypatch.setattr(Learner, "learns", staticmethod(learning.set))
    monkeypatch.setattr(Learner, "plays", staticmethod(plays))
    with pytest.raises(KeyboardInterrupt):
        trainer.step()
    assert threading.active_count() == threads


def test_threads_do_not_share_converted_weights() -> None:
    """In bfloat16, gradients of weights are the same whether or not another thread evaluates a network meanwhile."""
    env = shared_env("tic_tac_toe")
    positions = torch.rand(8, 18)
    other = TorchNetwork(env, networks.Small(env), 1.0, None, bfloat16=True)

    def evaluated() -> None:
        thread = threading.Thread(target=other, args=[positions])
        thread.start()
        thread.join()

    gradients = []
    for between in (lambda: None, evaluated):
        torch.manual_seed(0)
        network = TorchNetwork(env, networks.Twice(between), 1.0, None, bfloat16=True)
        network(positions)[0].square().sum().backward()
        gradients.append(network.module.layer.weight.grad)
    assert torch.equal(*gradients)


def test_what_cannot_overlap(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    env = shared_env("tic_tac_toe")
    config = te.train.AlphaZeroConfig(**ALPHAZERO, overlap=True)
    with pytest.raises(ValueError, match=r"^overlap must be False for a network of tinygrad$"):
        te.train.AlphaZero(env, config)
    with pytest.raises(ValueError, match=r"^overlap must be False where compiled is True"):
        te.train.AlphaZeroConfig(overlap=True, compiled=True)
    with pytest.raises(TypeError, match="overlap must be of type bool, got 1"):
        te.train.AlphaZeroConfig(overlap=1)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^overlap must be False with Ray, whose actors always play"):
        te.train.distributed(env, config, steps=1, network=networks.Small(env))
    monkeypatch.setattr("tensor_envs.train.alphazero.num_learners", lambda: 2)
    with pytest.raises(ValueError, match=r"^overlap must be False where torchrun has started several learners"):
        te.train.AlphaZero(env, config, network=networks.Small(env))


def test_the_command_overlaps(tmp_path: Path) -> None:
    start = ["alphazero", "tic_tac_toe", f"--folder={tmp_path / 'run'}", "--overlap", "--steps=2"]
    sizes = [f"--{key.replace('_', '-')}={value}" for key, value in ALPHAZERO.items() if key != "hidden"]
    code, _, errors = run_here(main, [*start, *sizes])
    assert code == 2 and "overlap must be False for a network of tinygrad" in errors
    code, _, errors = run_here(main, [*start, *sizes, "--network=dense", "--hidden=8"])
    assert code == 0, errors
    assert re.search(r"^overlap = true$", (tmp_path / "run" / "config.toml").read_text(), re.M)
