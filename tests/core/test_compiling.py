"""Kernels that clang compiles while Python goes on; first runs, which have the kernels of the capture."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tinygrad import Device, Tensor, device
from tinygrad.codegen import to_program_cache
from tinygrad.helpers import GlobalCounters

import tensor_envs as te
from tensor_envs.core.backend import compiling
from tensor_envs.core.backend.device import upload
from tests.games.shared import shared_env

pytestmark = pytest.mark.cpu

ROOT = Path(__file__).parents[2]
TTT = shared_env("tic_tac_toe")


@pytest.fixture
def cold(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The compiler; no kernel is known."""
    monkeypatch.setattr(device, "diskcache_get", lambda *_: None)
    to_program_cache.clear()
    compiler: Any = Device["CPU"].renderer.compiler
    return compiler


def found() -> list[float]:
    """What a function of two kernels gives."""
    pair = te.jit(lambda x: (x * 3 + 1, x.sum()))
    return [y.tolist() for y in pair(upload(np.arange(3, dtype=np.float32), "CPU"))]


FOUND = [[1, 4, 7], 3]


def test_two_kernels_are_compiled_at_once(cold: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each waits for the other one's turn: one after the other they would wait for ever."""
    both, compile_ = threading.Barrier(2, timeout=60), cold.compile

    def waiting(source: str) -> Any:
        both.wait()
        return compile_(source)

    monkeypatch.setattr(compiling, "usable_cores", lambda: 2)
    monkeypatch.setattr(cold, "compile", waiting)
    compiling._pool.cache_clear()
    try:
        assert found() == FOUND
    finally:
        compiling._pool.cache_clear()


def test_a_compiler_that_fails_leaves_nothing_half_made(cold: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(source: str) -> bytes:
        raise subprocess.CalledProcessError(1, "clang")

    env, other = (te.make("hyper_tic_tac_toe", shape=(2, n), k=2) for n in (3, 4))
    state = other.init(3)
    step = te.jit(lambda state: other.step(state, [0] * 3).ply)
    with monkeypatch.context() as broken:
        broken.setattr(cold, "compile", failing)
        for call in (found, lambda: env.init(3), lambda: step(state)):
            with pytest.raises(subprocess.CalledProcessError):
                call()
    assert found() == FOUND
    assert env.step(env.init(3), [0, 1, 2]).ply.tolist() == step(state).tolist() == [1] * 3


def test_a_capture_needs_no_other_kernels_than_the_first_run(
    cold: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def play(state: te.State) -> tuple[te.State, Tensor, Tensor, Tensor]:
        after = TTT.step(state, te.random_policy(state))
        return after, TTT.observe(after), after.ply + 1, after.legal_action_mask

    step, state = te.jit(play), TTT.init(6, seed=2)
    first = [x.numpy() for x in step(state)[1:]]
    monkeypatch.setattr(cold, "compile", None)
    for _ in range(2):
        for x, expected in zip(step(state)[1:], first, strict=True):
            assert (x.numpy() == expected).all()


def test_what_a_first_run_keeps_is_there() -> None:
    """A state that no result needs, one that a result needs, and one from before an error."""
    kept: list[te.State] = []

    def play(state: te.State, fails: bool) -> Tensor:
        for _ in range(3):
            state = TTT.step(state, te.random_policy(state))
            kept.append(state)
        if fails:
            raise KeyError
        return kept[-2].ply

    state = TTT.init(4, seed=5)
    with pytest.raises(KeyError):
        te.jit(play)(state, True)
    assert te.jit(play)(state, False).tolist() == [2] * 4
    expected = state
    for one, other in zip(kept[:3], kept[3:], strict=True):
        expected = TTT.step(expected, te.random_policy(expected))
        for after in (one, other):
            assert (after.tensors[0].numpy() == expected.tensors[0].numpy()).all()
            assert TTT.step(after, te.random_policy(after)).ply.tolist() == (expected.ply + 1).tolist()


SCRIPT = """
import os, numpy as np, tensor_envs as te
from tensor_envs.core.backend.device import upload
from tinygrad.engine import worker
def total(k): return te.jit(lambda x: (x * k, (x + k).sum()))(upload(np.arange(3, dtype=np.float32), "CPU"))[1].item()
print(total(2))
child = os.fork()
if not child:
    print(total(3), flush=True)
    os._exit(0)
print(os.waitpid(child, 0)[1], worker.worker_pool)
"""


def test_no_process_is_started_and_a_forked_one_compiles(tmp_path: Path) -> None:
    known = {name: value for name, value in os.environ.items() if name != "PARALLEL"}
    known |= {"CACHEDB": str(tmp_path / "cache.db"), "PYTHONPATH": str(ROOT), "DEV": "CPU"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=known, capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["9.0", "12.0", "0", "None"], done.stderr


LATE = """
import threading, tensor_envs as te
def work():
    threading.main_thread().join()
    print(te.make("tic_tac_toe").init(3).ply.tolist())
threading.Thread(target=work).start()
"""


def test_a_thread_compiles_when_the_main_one_has_ended(tmp_path: Path) -> None:
    known = os.environ | {"CACHEDB": str(tmp_path / "cache.db"), "PYTHONPATH": str(ROOT), "DEV": "CPU"}
    done = subprocess.run(
        [sys.executable, "-c", LATE], env=known, capture_output=True, text=True, check=False
    )
    assert done.stdout == "[0, 0, 0]\n", done.stderr


def test_a_jit_whose_result_needs_no_kernel() -> None:
    """The states that it keeps, and what other threads run meanwhile, are no kernels of its own."""
    states, state = list[te.State](), TTT.init(4)

    @te.jit
    def keep(state: te.State) -> int:
        states.append(TTT.step(state, [0, 1, 2, 3]))
        return 1

    assert [keep(state) for _ in range(3)] == [1, 1, 1]
    assert [now.ply.tolist() for now in states] == [[1, 1, 1, 1]] * 3

    @te.jit
    def same(state: te.State) -> te.State:
        GlobalCounters.kernel_count += 1  # as another thread might
        return state

    assert all(same(state).tensors == state.tensors for _ in range(3))


def test_a_first_search_compiles_each_kernel_once(cold: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of its trees, of the network (a product, a copy of each result), of the noise."""
    sources, compile_ = [], cold.compile

    def counted(source: str) -> Any:
        sources.append(source)
        return compile_(source)

    env = te.make("hyper_tic_tac_toe", shape=(3, 4), k=3)
    state, weights = env.init(5, seed=1), upload(np.ones(24 * 13, np.float32), "CPU").reshape(24, 13)
    monkeypatch.setattr(cold, "compile", counted)

    def network(state: te.State) -> tuple[Tensor, Tensor]:
        out = (env.observe(state).flatten(1).float() @ weights).contiguous()
        return out[:, :12], out[:, 12]

    te.search.gumbel_muzero_policy(state, network, 4)
    names = [re.findall(r"^void (\w+)\(", source, re.M)[-1] for source in sources]
    trees = [name.split("_")[1] for name in names if name.startswith("HyperTicTacToe")]
    assert sorted(trees) == ["conclude", "grow", "observe", "plant"]
    assert len(names) == len(trees) + 4
    assert len(sources) == len(set(sources))
