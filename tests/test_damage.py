"""Files under flipped bits and killed processes: a file loads as it was saved, or not at all, and nothing is lost."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tensor_envs.games.shed.solve import solve
from tensor_envs.games.shed.tablebase import Tablebase
from tests.games.shared import shared_env

ROOT = Path(__file__).parents[1]
FLIPS, KILLS = 500, 50
SAVE = """
import sys, tensor_envs as te
env = te.make("gomoku")
states = [te.rollout_from(env.init(2000, seed), "uniform", 9).state for seed in (1, 2)]
print("ready", flush=True)
while True:
    for state in states:
        te.save_state(state, sys.argv[1])
"""
SOLVE = """
import sys
from tensor_envs.games.shed.solve import solve
solve(5, "CPU", progress=False)  # larger games use the same kernels
print("ready", flush=True)
solve(12, "CPU", progress=False, path=sys.argv[1])
"""


def saved_state(path: Path) -> Callable[[], list[np.ndarray]]:
    state = shared_env("tic_tac_toe").step(shared_env("tic_tac_toe").init(5, seed=3), [4, 0, 99, 1, 2])
    te.save_state(state, path)
    return lambda: [state.buffers.layout.download(t) for t in te.load_state(path).tensors]


def saved_table(path: Path) -> Callable[[], list[np.ndarray]]:
    solve(5, "CPU", progress=False).write(path, 4)

    def load() -> list[np.ndarray]:
        cards, done, results = Tablebase.contents(path)
        return [np.array([cards, done]), *map(np.array, results)]

    return load


def saved_equilibrium(path: Path) -> Callable[[], list[np.ndarray]]:
    te.equilibrium(shared_env("kuhn_poker"), iterations=20).save(path)

    def load() -> list[np.ndarray]:
        found = te.Equilibrium.load(path)
        return [found.table, np.array(found.curve)]

    return load


@pytest.mark.few("state")
@pytest.mark.parametrize("saved", [saved_state, saved_table, saved_equilibrium], ids=["state", "table", "equilibrium"])
def test_flipped_bits(saved: Callable[[Path], Callable[[], list[Any]]], tmp_path: Path) -> None:
    path = tmp_path / "file"
    load = saved(path)
    whole, expected = path.read_bytes(), [np.array(x) for x in load()]
    for place in random.Random(1).sample(range(8 * len(whole)), FLIPS):
        damaged = bytearray(whole)
        damaged[place // 8] ^= 1 << place % 8
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match="file'") as caught:
            load()
        assert len(str(caught.value)) <= 300
    path.write_bytes(whole)
    assert all((a == b).all() for a, b in zip(load(), expected, strict=True))


def killed(program: str, path: Path, seconds: float) -> bool:
    """Run a program, kill it some seconds after it is ready, and return whether it had finished before."""
    process = subprocess.Popen([sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE, cwd=ROOT)
    with process:
        assert process.stdout is not None and process.stdout.readline() == b"ready\n"
        time.sleep(seconds)
        process.send_signal(signal.SIGKILL)
    return process.returncode == 0


@pytest.mark.slow
def test_killed_while_saving(tmp_path: Path) -> None:
    """The file is always one of the two states, complete."""
    env, path, chance = te.make("gomoku"), tmp_path / "state", random.Random(2)
    versions = [te.rollout_from(env.init(2000, seed), "uniform", 9).state.numpy() for seed in (1, 2)]
    te.save_state(te.rollout_from(env.init(2000, 1), "uniform", 9).state, path)
    for _ in range(KILLS):
        killed(SAVE, path, chance.uniform(0, 0.3))
        now = te.load_state(path).numpy()
        assert any(all((now[name] == one[name]).all() for name in one) for one in versions)
        assert len(list(tmp_path.iterdir())) <= 2, "at most one partial file, of the last process"
    te.save_state(te.load_state(path), path)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.slow
def test_killed_while_solving(tmp_path: Path) -> None:
    """No saved layer is lost, and a continued solve ends in the same table."""
    path, chance, digest = tmp_path / "table", random.Random(3), solve(12, "CPU", progress=False).sha256()
    saved = ends = 0
    for _ in range(KILLS):
        finished = killed(SOLVE, path, chance.uniform(0, 3))
        if path.exists():
            cards, done, _ = Tablebase.contents(path)
            assert cards == 12 and done >= saved
            saved = done
        if finished or saved == 13:
            assert Tablebase.load(path, "CPU").sha256() == digest
            path.unlink()
            saved, ends = 0, ends + 1
    assert solve(12, "CPU", progress=False, path=path).sha256() == digest
    assert ends, "a solve that is killed again and again comes to its end"
