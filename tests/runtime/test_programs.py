"""Programs: compilation in threads, each program once, and the first run of a captured function."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tinygrad import Device, Tensor
from tinygrad.codegen import to_program_cache
from tinygrad.helpers import GlobalCounters
from tinygrad.runtime.support.compiler_cpu import ClangCompiler

import tensor_envs as te
from tensor_envs._runtime import clang, programs
from tensor_envs._runtime.buffers import upload
from tests.games.shared import shared_env

pytestmark = pytest.mark.cpu

ROOT = Path(__file__).parents[2]
TTT = shared_env("tic_tac_toe")
COMPILE = clang.compile_object


@pytest.fixture
def sources(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Collect the compiled sources, with an empty cache of programs."""
    compiled: list[str] = []

    def compile_object(source: str, *options: Any) -> bytes:
        compiled.append(source)
        return COMPILE(source, *options)

    monkeypatch.setattr(programs, "_read", lambda file: None)
    monkeypatch.setattr(clang, "store", lambda *_: None)
    monkeypatch.setattr(clang, "compile_object", compile_object)
    # tinygrad's compiler for kernels that it launches alone
    monkeypatch.setattr(
        ClangCompiler, "compile", lambda self, source: clang.compile_object(source, self.arch, self.args)
    )
    programs.compiled_binary.cache_clear()
    to_program_cache.clear()
    yield compiled
    programs.compiled_binary.cache_clear()


def results() -> list[float]:
    """Return the results of a function of two kernels."""
    pair = te.jit(lambda x: (x * 3 + 1, x.sum()))
    return [y.tolist() for y in pair(upload(np.arange(3, dtype=np.float32), "CPU"))]


RESULTS = [[1, 4, 7], 3]


@pytest.mark.usefixtures("sources")
def test_two_kernels_are_compiled_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each compilation waits until the other one runs; one after the other would time out."""
    both = threading.Barrier(2, timeout=60)

    def waiting(source: str, *options: Any) -> bytes:
        both.wait()
        return COMPILE(source, *options)

    monkeypatch.setattr(programs, "usable_cores", lambda: 2)
    monkeypatch.setattr(clang, "compile_object", waiting)
    programs._pool.cache_clear()
    try:
        assert results() == RESULTS
    finally:
        programs._pool.cache_clear()


@pytest.mark.usefixtures("sources")
def test_a_compiler_that_fails_leaves_nothing_half_made(monkeypatch: pytest.MonkeyPatch) -> None:
    env, other = (te.make("hyper_tic_tac_toe", shape=(2, n), k=2) for n in (3, 4))
    state = other.init(3)
    step = te.jit(lambda state: other.step(state, [0] * 3).ply)
    with monkeypatch.context() as broken:
        broken.setattr(clang, "OPTIONS", ("--no-such-flag",))
        for call in (results, lambda: env.init(3), lambda: step(state)):
            with pytest.raises(RuntimeError, match=r"exits with 1: .*no-such-flag"):
                call()
    assert results() == RESULTS
    assert env.step(env.init(3), [0, 1, 2]).ply.tolist() == step(state).tolist() == [1] * 3


def test_a_kernel_that_is_the_same_in_many_games_is_compiled_once(sources: list[str]) -> None:
    for columns in (4, 5):
        state = te.make("connect_four", rows=4, columns=columns).init(3)
        state.env.take(state, [0, 2]).numpy()
    for name, count in (("seed", 1), ("gather", 1), ("ConnectFour_init", 2)):
        assert sum(f"void {name}(" in source for source in sources) == count


def test_a_capture_needs_no_other_kernels_than_the_first_run(sources: list[str]) -> None:
    def play(state: te.State) -> tuple[te.State, Tensor, Tensor, Tensor]:
        after = TTT.step(state, te.agents.uniform(state))
        return after, TTT.observe(after), after.ply + 1, after.legal_action_mask

    step, state = te.jit(play), TTT.init(6, seed=2)
    first = [x.numpy() for x in step(state)[1:]]
    count = len(sources)
    assert count
    for _ in range(2):
        for x, expected in zip(step(state)[1:], first, strict=True):
            assert (x.numpy() == expected).all()
    assert len(sources) == count


def test_states_of_a_first_run_have_values() -> None:
    """States from a first run have values, both needed and not needed by a result, and after an error."""
    states: list[te.State] = []

    def play(state: te.State, fails: bool) -> Tensor:
        for _ in range(3):
            state = TTT.step(state, te.agents.uniform(state))
            states.append(state)
        if fails:
            raise KeyError
        return states[-2].ply

    state = TTT.init(4, seed=5)
    with pytest.raises(KeyError):
        te.jit(play)(state, True)
    assert te.jit(play)(state, False).tolist() == [2] * 4
    expected = state
    for one, other in zip(states[:3], states[3:], strict=True):
        expected = TTT.step(expected, te.agents.uniform(expected))
        for after in (one, other):
            assert (after.tensors[0].numpy() == expected.tensors[0].numpy()).all()
            assert TTT.step(after, te.agents.uniform(after)).ply.tolist() == (expected.ply + 1).tolist()


def run(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a program whose caches are empty, and which may start processes."""
    environment = {name: value for name, value in os.environ.items() if name != "PARALLEL"}
    environment |= {"CACHEDB": str(folder / "cache.db"), "TENSOR_ENVS_CACHE": str(folder)}
    environment |= {"PYTHONPATH": str(ROOT), "DEV": "CPU"}
    return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)


SCRIPT = """
import os, numpy as np, tensor_envs as te
from tensor_envs._runtime.buffers import upload
from tinygrad.engine import worker
def total(k): return te.jit(lambda x: (x * k, (x + k).sum()))(upload(np.arange(3, dtype=np.float32), "CPU"))[1].item()
print(total(2), flush=True)  # a forked process would print it again
child = os.fork()
if not child:
    print(total(3), flush=True)
    os._exit(0)
print(os.waitpid(child, 0)[1], worker.worker_pool)
"""


def test_no_process_is_started_and_a_forked_one_compiles(tmp_path: Path) -> None:
    done = run(SCRIPT, tmp_path)
    assert done.stdout.split() == ["9.0", "12.0", "0", "None"], done.stderr


LATE = """
import threading, tensor_envs as te
def work():
    threading.main_thread().join()
    print(te.make("tic_tac_toe").init(3).ply.tolist())
threading.Thread(target=work).start()
"""


@pytest.mark.slow
def test_a_thread_compiles_when_the_main_one_has_ended(tmp_path: Path) -> None:
    done = run(LATE, tmp_path)
    assert done.stdout == "[0, 0, 0]\n", done.stderr


def test_a_jit_whose_result_needs_no_kernel() -> None:
    """Neither states that the function stores nor kernels of other threads count as kernels of the jit."""
    states, state = list[te.State](), TTT.init(4)

    @te.jit
    def keep(state: te.State) -> int:
        states.append(TTT.step(state, [0, 1, 2, 3]))
        return 1

    assert [keep(state) for _ in range(3)] == [1, 1, 1]
    assert [now.ply.tolist() for now in states] == [[1, 1, 1, 1]] * 3

    @te.jit
    def same(state: te.State) -> te.State:
        GlobalCounters.kernel_count += 1  # like a launch by another thread
        return state

    assert all(same(state).tensors == state.tensors for _ in range(3))


@pytest.mark.slow
def test_a_first_search_compiles_each_kernel_once(sources: list[str]) -> None:
    """A search compiles kernels of its trees, of the network (a product, a copy of each result) and of the noise."""
    env = te.make("hyper_tic_tac_toe", shape=(3, 4), k=3)
    state, weights = env.init(5, seed=1), upload(np.ones(24 * 13, np.float32), "CPU").reshape(24, 13)
    sources.clear()

    def network(state: te.State) -> tuple[Tensor, Tensor]:
        out = (env.observe(state).flatten(1).float() @ weights).contiguous()
        return out[:, :12], out[:, 12]

    te.search.gumbel_muzero_policy(state, network, 4)
    names = [re.findall(r"^void (\w+)\(", source, re.M)[-1] for source in sources]
    trees = [name.split("_")[1] for name in names if name.startswith("HyperTicTacToe")]
    assert sorted(trees) == ["expand", "finalize", "gather", "init", "observe"]
    assert len(names) == len(trees) + 4
    assert len(sources) == len(set(sources))


def test_a_long_compilation_is_announced(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Once; a program that is there is no work."""
    monkeypatch.setattr(programs, "LONG_SECONDS", 0.01)
    monkeypatch.setattr(programs.BinaryFuture, "_file", lambda self: None)
    monkeypatch.setattr(programs, "_compiles_in_threads", lambda renderer: False)

    def slow(self: programs.BinaryFuture) -> bytes:
        time.sleep(0.2)
        return b"program"

    monkeypatch.setattr(programs.BinaryFuture, "_compile", slow)
    binary = programs.BinaryFuture("", Device["CPU"].renderer)
    assert binary() == binary() == b"program"
    assert capsys.readouterr().err == "compiling a kernel, which later runs find in the cache ...\n"
