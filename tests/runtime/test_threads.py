"""Threads of the pool give the results of one thread; Python threads and forked processes do not interfere."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from tinygrad import Tensor, dtypes
from tinygrad.helpers import GlobalCounters

import tensor_envs as te
from tensor_envs._engine.batch_layout import NARROW_LANES
from tensor_envs._runtime import buffers, capture, context, threads
from tensor_envs._runtime.capture import CapturedFunction
from tensor_envs._runtime.launcher import ProgramLauncher
from tests.games.shared import shared_env

pytestmark = pytest.mark.cpu

TTT, SHED = shared_env("tic_tac_toe"), shared_env("shed")


@pytest.fixture(autouse=True)
def split_everything() -> Iterator[None]:
    """Split even launches that are too small to gain from threads."""
    before = te.num_threads()
    pool = threads._native().pool
    pool.min_work = 1
    yield
    pool.min_work = threads.WORTH_NS
    te.set_num_threads(before)


def played(env: te.Env, batch: int) -> list[np.ndarray]:
    """Return arrays of steps, resets, rollouts, observations, copies and playouts."""
    state = env.init(batch, seed=5)
    vector = te.VectorEnv(env, batch, seed=2, observe=True)
    for _ in range(12):
        state = env.reset(env.step(state, te.agents.uniform(state)))
        vector.step_uniform()
    out = te.rollout_from(state, "uniform", 9)
    results = [*state.numpy().values(), *vector.state.numpy().values(), *vector.numpy().values()]
    results += [out.returns.numpy(), *out.state.numpy().values(), env.observe(state).numpy()]
    results += env.take(state, [1, 2, 0] * 40).numpy().values()
    return [*results, te.playout(state, 2).numpy()]


@pytest.mark.few(1)
@pytest.mark.parametrize("env", [TTT, SHED], ids=lambda env: env.id)
@pytest.mark.parametrize("batch", [65, 1000])
def test_any_number_of_threads_plays_the_same(env: te.Env, batch: int) -> None:
    te.set_num_threads(1)
    expected = played(env, batch)
    pool = threads._native().pool
    for n in (2, 3, 8):
        te.set_num_threads(n)
        launches = pool.generation
        for one, other in zip(expected, played(env, batch), strict=True):
            assert (one == other).all()
        assert pool.generation > launches + 20 and pool.workers >= n - 1  # launches were split


@pytest.mark.slow
def test_a_network_beside_it() -> None:
    """tinygrad's kernels have slices of another kind, which threads of the pool must not confuse."""
    weights = Tensor.randn(27, 512, device="CPU").realize()

    @te.jit
    def values(state: te.State) -> Tensor:
        seen = TTT.observe(state).reshape(4096, -1).float()
        return (seen.pad(((0, 0), (0, 27 - seen.shape[1]))) @ weights).relu().sum(1)

    state = TTT.init(4096)
    for _ in range(4):
        state = TTT.reset(TTT.step(state, te.agents.uniform(state)))
        seen = TTT.observe(state).numpy().reshape(4096, -1)
        expected = np.maximum(seen @ weights.numpy()[: seen.shape[1]], 0).sum(1)
        for n in (1, 4):
            te.set_num_threads(n)
            np.testing.assert_allclose(values(state).numpy(), expected, rtol=1e-4)


def test_cheap_launches_stay_on_one_thread() -> None:
    pool = threads._native().pool
    pool.min_work = threads.WORTH_NS * 1000
    te.set_num_threads(2)
    vector, launches = te.VectorEnv(TTT, 256), pool.generation
    for _ in range(20):
        vector.step_uniform()
    assert pool.generation == launches


def test_python_threads() -> None:
    """Python threads play different games with the same environments, captured functions and buffers."""

    @te.jit
    def step(state: te.State) -> te.State:
        return TTT.reset(TTT.step(state, te.agents.uniform(state)))

    def play(seed: int) -> Any:
        state = TTT.init(70 + seed, seed)
        for _ in range(8):
            state = TTT.reset(TTT.step(step(state), te.agents.uniform(state)))
        return state.numpy()["episode"].tolist(), TTT.observe(state).numpy().sum()

    expected = [play(seed) for seed in range(3)]
    for _ in range(8):
        results: list[Any] = [None] * 3

        def run(seed: int, results: list[Any] = results) -> None:
            results[seed] = play(seed)

        running = [threading.Thread(target=run, args=(seed,)) for seed in range(3)]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
        assert results == expected


def test_what_another_thread_captures_is_not_here() -> None:
    """Nor at the moment when it begins or ends."""
    end, found, interval = time.monotonic() + 0.3, list[object](), sys.getswitchinterval()

    def look() -> None:
        while time.monotonic() < end and not found:
            for _ in range(100):
                try:
                    context.realize_before_capture()
                    if context.stays_lazy():
                        found.append("lazy")
                except IndexError as error:
                    found.append(error)

    looking = [threading.Thread(target=look) for _ in range(2)]
    sys.setswitchinterval(1e-6)
    try:
        for thread in looking:
            thread.start()
        while time.monotonic() < end and not found:
            with capture.before_capture():
                assert context.stays_lazy() and not context.is_capturing()
    finally:
        sys.setswitchinterval(interval)
        for thread in looking:
            thread.join()
    assert not found


def test_what_would_disturb_a_capture_waits_for_it() -> None:
    """A capture takes kernels that run meanwhile, and goes through a table of buffers."""
    state = TTT.step(TTT.init(5), [0, 1, 2, 3, 4])
    ply, array, x = state.ply, np.arange(64), buffers.upload(np.arange(3, dtype=np.int32), "CPU")
    add = CapturedFunction(lambda x: [x.assign(x + 1).realize()])
    add(x)
    calls: list[Callable[[], Any]] = [
        lambda: te.to_numpy(ply + 1).tolist(),
        lambda: te.to_numpy(ply[1::2], copy=True).tolist(),
        lambda: buffers.download(ply * 2).tolist(),
        lambda: TTT.put(state, range(5), state).numpy()["ply"].tolist(),
        lambda: TTT.take(state, Tensor([1, 2]) + 1).batch,
        lambda: buffers.empty_buffer(12345, dtypes.int32, "CPU").shape,
        lambda: te.from_numpy(array, copy=False).shape,
        lambda: add.bind(x)(),
    ]
    results: dict[int, Any] = {}
    running = [threading.Thread(target=lambda k=k: results.update({k: calls[k]()})) for k in range(len(calls))]

    @te.jit
    def capture(x: Tensor) -> Tensor:
        if is_capturing := context.is_capturing():
            for thread in running:
                thread.start()
            for thread in running:
                thread.join(0.1)
            lock = getattr(ProgramLauncher.__dict__["loaded"], "lock", threading.RLock())  # Python 3.11 has one for all
            assert not results and lock.acquire(timeout=10) and is_capturing
            lock.release()
        return x + 1

    for _ in range(2):
        assert capture(ply).numpy().tolist() == [2] * 5
    for thread in running:
        thread.join()
    before = GlobalCounters.kernel_count
    assert capture(ply).shape == (5,) and GlobalCounters.kernel_count == before + 1
    assert [results[k] for k in range(7)] == [[2] * 5, [1, 1], [2] * 5, [1] * 5, 2, (12345,), (64,)]
    assert x.numpy().tolist() == [2, 3, 4]


def in_process(program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


@pytest.mark.slow
def test_kernels_are_compiled_in_any_thread(tmp_path: Any) -> None:
    program = """
        import threading, tensor_envs as te
        shapes = []
        def play():
            shapes.append(te.rollout(te.make("tic_tac_toe"), "uniform", 8, 4).returns.shape)
        for _ in range(2):
            threads = [threading.Thread(target=play) for _ in range(2)]
            [t.start() for t in threads], [t.join() for t in threads]
        print(shapes)
    """
    done = in_process(program, CACHEDB=str(tmp_path / "kernels.db"))
    assert done.stdout == f"{[(8, 2)] * 4}\n", done.stderr


def in_fork(action: Callable[[], bytes], before: Callable[[], object] = lambda: None) -> bytes:
    """Return an action's result in a forked process. `before` runs in this process after the fork."""
    read, write = os.pipe()
    go_read, go_write = os.pipe()
    child = os.fork()
    if child == 0:  # nothing of pytest may run here
        try:
            os.read(go_read, 1)
            os.write(write, action())
        finally:
            os._exit(0)
    os.close(write)
    before()
    os.write(go_write, b"!")
    result = os.read(read, 1000)
    os.waitpid(child, 0)
    return result


def test_a_forked_process_has_threads_of_its_own() -> None:
    te.set_num_threads(3)
    expected = played(TTT, 300)

    def play() -> bytes:
        same = all((a == b).all() for a, b in zip(expected, played(TTT, 300), strict=True))
        return bytes([same, threads._native().pool.workers])

    assert in_fork(play) == bytes([True, 2])


def test_a_forked_process_has_private_memory() -> None:
    """Parent and child can reuse the same freed buffer independently."""
    state = TTT.init(4)
    again = TTT.step(state, [0, 1, 2, 3])
    del again
    mine: list[te.State] = []
    in_fork(lambda: bytes([TTT.step(state, [4] * 4).batch]), lambda: mine.append(TTT.step(state, [8] * 4)))
    assert mine[0].other.numpy().tolist() == [[1 << 8]] * 4


def test_writes_of_a_forked_process_stay_private() -> None:
    """Steps in place and intermediate results of captured functions stay private to the forked process."""
    step = te.jit(lambda state: (TTT.step(state, te.agents.uniform(state)), TTT.observe(state).float().sum(0) * 2))
    vector, state, total = te.VectorEnv(TTT, 70, seed=1, observe=True), TTT.init(70, seed=2), Tensor.zeros(1)
    for _ in range(3):
        state, total = step(state)

    def digest() -> bytes:
        arrays = [*vector.state.numpy().values(), *vector.numpy().values(), *state.numpy().values(), total.numpy()]
        return hashlib.sha256(b"".join(array.tobytes() for array in arrays)).digest()

    def play() -> bytes:
        nonlocal state, total
        for _ in range(3):
            vector.step_uniform()
            state, total = step(state)
        return digest()

    before = digest()
    theirs = in_fork(play)
    assert digest() == before != theirs
    assert play() == theirs


def test_a_bound_call_leaves_the_intermediate_results_of_other_processes() -> None:
    """A forked process captures anew and then launches with its own memory, not with its parent's."""
    x, y = (buffers.upload(np.full(4, value, np.int32), "CPU") for value in (1, 0))

    def function(x: Tensor, y: Tensor) -> None:
        Tensor.realize(y.assign((x * 3).contiguous() + 1))

    captured = CapturedFunction(function)
    captured(x, y)
    call = captured.bind(x, y)
    call()
    assert captured.launcher is not None
    ((part,),) = captured.launcher.internal_memory
    intermediate = np.frombuffer(part.as_memoryview(force_zero_copy=True), np.int32)
    assert intermediate.tolist() == [3] * 4

    def play() -> bytes:
        buffers.write(x, np.full(4, 5, np.int32))
        for _ in range(3):
            call()
        return bytes(buffers.download(y).astype(np.uint8))

    assert in_fork(play) == bytes([16] * 4)
    assert intermediate.tolist() == [3] * 4
    call()
    assert y.tolist() == [4] * 4


def test_a_fork_while_another_thread_captures() -> None:
    """The lock is free in a forked process, which lacks the thread that would release it."""
    inside, leave = threading.Event(), threading.Event()

    def capture() -> None:
        with context.LOCK:
            inside.set()
            leave.wait(60)

    thread = threading.Thread(target=capture)
    thread.start()
    inside.wait(60)
    threading.Timer(0.2, leave.set).start()
    assert in_fork(lambda: bytes(te.jit(lambda x: x + 1)(TTT.init(3).ply).numpy().astype(np.uint8))) == b"\1\1\1"
    thread.join()


def test_ctrl_c_waits_for_the_launch() -> None:
    program = """
        import os, signal, threading, time, tensor_envs as te
        signal.signal(signal.SIGINT, signal.default_int_handler)  # background processes ignore it
        env = te.make("tic_tac_toe")
        te.set_num_threads(2)
        te.rollout(env, "uniform", 8192, 2)
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            while True:
                te.rollout(env, "uniform", 8192, 500)
        except KeyboardInterrupt:
            print("interrupted", te.rollout(env, "uniform", 8192, 3).returns.numpy().shape)
    """
    done = in_process(program)
    assert (done.returncode, done.stdout) == (0, "interrupted (8192, 2)\n"), done.stderr


@pytest.mark.parametrize("n", [0, 1025, 1.5, "2", True, None])
def test_wrong_numbers_of_threads(n: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=r"^n must be"):
        te.set_num_threads(n)


def test_the_environment_variable() -> None:
    program = "import tensor_envs as te; print(te.num_threads())"
    assert in_process(program, TENSOR_ENVS_THREADS="3").stdout == "3\n"
    wrong = in_process(program, TENSOR_ENVS_THREADS="0")
    assert "TENSOR_ENVS_THREADS must be a number from 1 to 1024, got '0'" in wrong.stderr


def test_a_new_batch_size_compiles_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of blocks is a parameter of kernels, so that they fit every batch size."""
    played(TTT, 200)
    captures, recorded = dict(TTT.engine._launchers), []
    monkeypatch.setattr("tensor_envs._runtime.capture.CapturedFunction._record", lambda *_: recorded.append(1))
    for batch in (201, 330, 5000):
        state = TTT.init(batch)
        state = TTT.reset(TTT.step(state, te.agents.uniform(state)))
        te.VectorEnv(TTT, batch, observe=True).step_uniform()
        te.playout(state, 2)
        TTT.take(state, [1, 2, 0] * 40)
    assert TTT.engine._launchers == captures and not recorded


def test_small_batches_share_their_kernels() -> None:
    TTT.observe(TTT.step(TTT.init(2), [0] * 2))
    captures = dict(TTT.engine._launchers)
    for batch in range(3, NARROW_LANES):
        TTT.observe(TTT.step(TTT.init(batch), [0] * batch))
    assert TTT.engine._launchers == captures
