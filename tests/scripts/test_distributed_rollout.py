"""scripts/distributed_rollout.py: workers play the games of one process, bit for bit."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from distributed_rollout import main as script
from tests.scripts.here import SCRIPTS, complaints, run_here

SCRIPT = SCRIPTS / "distributed_rollout.py"
GAME = "tests.games.dice_race:DiceRace"  # a game with chance in every step, and not registered


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    for name, value in (script.RAY_SETTINGS | script.RAY_LOOPBACK).items():
        monkeypatch.setenv(name, value)
    ray = pytest.importorskip("ray")
    yield ray
    ray.shutdown()


def assert_same(results: script.Results, env: te.Env, batch: int, steps: int, seed: int) -> None:
    expected = te.rollout(env, "uniform", batch, steps, seed, "CPU")
    for name in ("returns", "wins", "episodes"):
        rows, values = getattr(results, name), getattr(expected, name).numpy()
        assert rows.dtype == values.dtype and np.array_equal(rows, values), name
    assert results.episodes.any() and results.wins.any() and results.seconds > 0


@pytest.mark.slow
def test_processes_play_the_games_of_one() -> None:
    env = te.make(GAME)
    assert_same(script.rollout(env, 130, 60, 2, 2**40 + 5, None), env, 130, 60, 2**40 + 5)


@pytest.mark.slow
@pytest.mark.extra("ray")
def test_two_machines_play_the_games_of_one_process(ray: Any) -> None:
    cluster = pytest.importorskip("ray.cluster_utils").Cluster()
    env = te.make("tic_tac_toe")
    try:
        for first in (True, False):
            only_once = {"include_dashboard": False} if first else {}
            cluster.add_node(num_cpus=1, object_store_memory=100 * 2**20, **only_once)
        results = script.rollout(env, 200, 40, 2, 2**40 + 5, cluster.address)
        assert_same(results, env, 200, 40, 2**40 + 5)
    finally:
        cluster.shutdown()


@pytest.mark.slow
@pytest.mark.parametrize("options", [[], pytest.param(["--ray"], marks=pytest.mark.extra("ray"))], ids=str)
def test_the_command(options: list[str]) -> None:
    command = [sys.executable, str(SCRIPT), "--batch", "128", "--steps", "200", "--workers", "2", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0 and complaints(done.stderr) == "", done.stderr
    assert done.stdout.startswith("tic_tac_toe: 128 rows x 200 steps, ")
    assert re.search(r"2 workers, [\d.]+ s: [\d,]+ games/s, [\d,]+ steps/s\n$", done.stdout)


def test_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = te.rollout(te.make("tic_tac_toe"), "uniform", 64, 300)
    rows = [getattr(whole, name).numpy() for name in ("returns", "wins", "episodes")]
    monkeypatch.setattr(script, "rollout", lambda *_: script.Results(rows[0], rows[1], rows[2], 2.0))
    code, out, _ = run_here(script.main, ["--batch", "64", "--steps", "300", "--workers", "5"])
    lines, games, wins = out.strip().split("\n"), rows[2].sum(), rows[1].sum(0)
    assert code == 0
    assert lines[0] == f"tic_tac_toe: 64 rows x 300 steps, {games:,} games ended"
    mean = (int(wins[1]) - int(wins[0])) / games
    assert lines[4] == f"| 1 | {wins[1]:,} | {wins[1] / games:.4f} | {mean:+.4f} |"
    assert lines[5] == f"5 workers, 2.00 s: {games / 2:,.0f} games/s, 9,600 steps/s"


@pytest.mark.parametrize(
    ("arguments", "output"),
    [
        (["--env", "tic_tac_tow"], "tic_tac_toe"),
        (["--batch", "0"], "--batch: must be in 1..2147483647, got 0"),
        (["--steps", "-1"], "--steps: must be in 1..2147483647, got -1"),
        (["--workers", "0"], "--workers: must be in 1..4096, got 0"),
        (["--seed", "-1"], "--seed: must be in 0..18446744073709551615, got -1"),
        (["--ray", "nowhere"], "--ray must be auto or host:port, got 'nowhere'"),
        (["--ray", "127.0.0.1:1"], "--ray must be auto or host:port, got '127.0.0.1:1': [Errno 111]"),
    ],
)
def test_wrong_arguments(arguments: list[str], output: str) -> None:
    code, out, errors = run_here(script.main, ["--workers", "1", *arguments])
    assert (code, out) == (2, "") and errors.startswith("python scripts/distributed_rollout.py: error: ")
    assert output in errors and errors.count("\n") == 1


def test_without_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    message = "python scripts/distributed_rollout.py: error: --ray needs Ray: pip install 'tensor_envs[ray]'\n"
    assert run_here(script.main, ["--workers", "1", "--ray"]) == (2, "", message)
