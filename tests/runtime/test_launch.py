"""Kernels in tinygrad's graph and launched directly: their arrays, statistics and shards."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from tinygrad import Tensor, TinyJit
from tinygrad.helpers import GlobalCounters

import tensor_envs as te
from tensor_envs._engine import engine
from tensor_envs._runtime import buffers, capture, context, devices
from tensor_envs._runtime.buffers import download, upload
from tensor_envs._runtime.capture import CapturedFunction
from tensor_envs._runtime.launch import compile_kernel, lazy_kernel, realize
from tensor_envs._runtime.launcher import ProgramLauncher, base_of, is_same_view, stored
from tensor_envs._runtime.threads import all_blocks
from tensor_envs.rules.kernel import Cells, loop, trace
from tests.games.shared import shared_env


def add_100(_: Cells, new: Cells, old: Cells) -> None:
    with loop(4) as k:
        new[k] = old[k] + 100


ADD = partial(trace, add_100)


def arrays(device: str = "CPU") -> list[Tensor]:
    return [upload(np.arange(4, dtype=np.int32) + 10 * k, device) for k in range(3)]


@pytest.mark.parametrize("device", ["CPU", "PYTHON"])
def test_arrays_of_one_size_are_not_taken_for_each_other(device: str) -> None:
    """Unused arrays are dropped, and later arrays move up."""
    first, _, last = before = arrays(device)
    after = lazy_kernel("added", ADD, *before)
    assert after[1].tolist() == [120, 121, 122, 123]
    assert [first.numpy()[0], last.numpy()[0]] == [0, 20]


def test_a_kernel_amid_a_graph() -> None:
    """In a TinyJit, other kernels write its inputs and read its outputs."""

    @TinyJit
    def function(x: Tensor) -> Tensor:
        (_, new, _) = lazy_kernel("added", ADD, x, (x * 0).contiguous(), (x + 1).contiguous())
        return (new * 2).realize()

    for k in range(4):
        assert function(upload(np.full(4, k, np.int32), "CPU")).tolist() == [2 * (k + 101)] * 4


def test_results_are_stored_in_given_buffers() -> None:
    """A kernel's own result is, without a copy; a view of it, and a number beside it, are copied."""
    first, new, old = arrays()
    given = [upload(np.zeros(4, np.int32), "CPU") for _ in range(3)]
    after = lazy_kernel("added", ADD, first, new, old)[1]
    before = GlobalCounters.kernel_count
    realize(*stored([after.reshape(2, 2), after.flip(0), old + 1], given))
    assert GlobalCounters.kernel_count == before + 3
    assert [x.tolist() for x in given] == [[120, 121, 122, 123], [123, 122, 121, 120], [21, 22, 23, 24]]
    assert new.tolist() == [10, 11, 12, 13]


def test_the_same_view() -> None:
    x = Tensor.arange(24).contiguous().realize().reshape(2, 3, 4)
    view = x.permute(0, 2, 1)
    assert is_same_view(view.uop, view.reshape(6, 4).detach().reshape(24).uop)
    for other in (x, x.permute(2, 0, 1), view.flip(0), view[:1], view + 0):
        assert not is_same_view(view.uop, other.uop)
    assert not is_same_view(x[:, :1].uop, x[:, 1:2].uop)


def test_a_kernel_has_no_gradient() -> None:
    x = upload(np.ones(4, np.float32), "CPU")

    def copy(new: Cells, old: Cells) -> None:
        with loop(4) as k:
            new[k] = old[k]

    new, _ = lazy_kernel("copied", partial(trace, copy), Tensor.zeros(4, device="CPU").contiguous(), x)
    weights = Tensor.ones(4, device="CPU")
    (weights * new).sum().backward()
    assert weights.grad is not None and weights.grad.tolist() == [1] * 4


@pytest.mark.cpu
def test_one_program_for_arrays_of_any_size() -> None:
    """The last argument selects the blocks, and statistics count the bytes of these alone."""

    def double(x: Cells, share: Cells) -> None:
        first = share[0]
        with loop(share[1]) as block, loop(8) as k:
            place = (first + block) * 8 + k
            x[place] = x[place] * 2

    def numbers(blocks: int) -> list[Tensor]:
        return [upload(np.arange(8 * blocks, dtype=np.int32), "CPU"), all_blocks(blocks, "CPU")]

    used, program = compile_kernel("doubled", partial(trace, double), *numbers(2), any_size=True)
    launcher = ProgramLauncher(lambda: [(program(), used)], "CPU", [base_of(t.uop) for t in numbers(2)])
    for blocks in (1, 2, 5):
        arguments, before = numbers(blocks), GlobalCounters.global_mem
        launcher(arguments)()
        assert download(arguments[0]).tolist() == [2 * n for n in range(8 * blocks)]
        assert GlobalCounters.global_mem - before == 2 * 4 * 8 * blocks
        captured = CapturedFunction(
            lambda *t: [realize(*lazy_kernel("doubled", partial(trace, double), *t, any_size=True))]
        )
        captured(*arguments)  # the second call captures
        before = GlobalCounters.global_mem
        captured(*arguments)
        assert download(arguments[0]).tolist() == [8 * n for n in range(8 * blocks)]
        assert GlobalCounters.global_mem - before == 2 * 4 * 8 * blocks


def test_shards_count_their_bytes() -> None:
    env = shared_env("tic_tac_toe")
    whole, parts = env.init(256, seed=1), env.init(256, seed=1, device=("CPU:0", "CPU:1"))
    moved = []
    for state in (whole, parts):
        actions = te.agents.uniform(state).numpy()
        for _ in range(2):
            before = GlobalCounters.global_mem
            after = env.step(state, actions)
        moved.append((GlobalCounters.global_mem - before, after.other.numpy().tolist()))
    assert moved[0] == moved[1]


class CountingLock:
    """Lock that counts how often it is acquired."""

    def __init__(self) -> None:
        self.lock, self.count = threading.RLock(), 0

    def __enter__(self) -> None:
        self.count += 1
        self.lock.acquire()

    def __exit__(self, *_: object) -> None:
        self.lock.release()


def test_a_warm_call_takes_the_lock_once(monkeypatch: pytest.MonkeyPatch) -> None:
    env = te.make("tic_tac_toe")
    state, actions, lock = env.init(64), np.zeros(64, np.int32), CountingLock()
    calls: list[Callable[[], object]] = [
        lambda: env.step(state, actions),
        lambda: env.observe(state),
        lambda: state.legal_action_mask,
        lambda: env.reset(state),
    ]
    for call in calls:
        call()
    for module in (context, buffers, devices, capture, engine, importlib.import_module("tensor_envs._runtime.jitted")):
        monkeypatch.setattr(module, "LOCK", lock)
    for call in calls:
        lock.count = 0
        call()
        assert lock.count == 1
