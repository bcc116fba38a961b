"""scripts/ray_rollout.py: workers on several machines play the games of one process, bit for bit."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import ray_rollout as script
import tensor_envs as te
from tests.scripts.here import SCRIPTS, complaints, run_here, status

SCRIPT = SCRIPTS / "ray_rollout.py"


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    for name, value in (script.QUIET | script.LOOPBACK).items():
        monkeypatch.setenv(name, value)
    ray = pytest.importorskip("ray")
    yield ray
    ray.shutdown()


def same(found: Any, env: str, batch: int, steps: int, seed: int) -> None:
    true = te.rollout(te.make(env), "uniform", batch, steps, seed, "CPU")
    for name in ("returns", "wins", "episodes"):
        rows, expected = getattr(found, name), getattr(true, name).numpy()
        assert rows.dtype == expected.dtype and np.array_equal(rows, expected), name
    assert found.episodes.any() and found.wins.any()


@pytest.mark.extra("ray")
def test_two_machines_play_the_games_of_one_process(ray: Any) -> None:
    cluster = pytest.importorskip("ray.cluster_utils").Cluster()
    try:
        for first in (True, False):
            only_once = {"include_dashboard": False} if first else {}
            cluster.add_node(num_cpus=1, object_store_memory=script.STORE_BYTES, **only_once)
        found = script.rollout(te.make("tic_tac_toe"), 200, 40, 2, seed=2**40 + 5, address=cluster.address)
        assert found.nodes == 2 and found.seconds > 0
        same(found, "tic_tac_toe", 200, 40, 2**40 + 5)
        with pytest.raises(ValueError, match="workers must be at most the 2 cores of the cluster, got 3"):
            script.rollout(te.make("tic_tac_toe"), 200, 40, 3, address=cluster.address)
    finally:
        cluster.shutdown()


@pytest.mark.slow
@pytest.mark.extra("ray")
def test_a_worker_that_dies_is_started_again(ray: Any) -> None:
    script.connect(ray, None, 1)
    actor = script.worker(ray).remote(te.make("tic_tac_toe"), te.Shard(0, 64), 0)
    first = ray.get(actor.process.remote())
    before = ray.get(actor.play.remote(60))
    ray.kill(actor, no_restart=False)
    after = ray.get(actor.play.remote(60))
    assert ray.get(actor.process.remote()) != first
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))


@pytest.mark.slow
@pytest.mark.extra("ray")
def test_the_command(ray: Any) -> None:
    command = [sys.executable, str(SCRIPT), "--batch", "128", "--steps", "200", "--workers", "2"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0 and complaints(done.stderr) == "", done.stderr
    assert done.stdout.startswith("tic_tac_toe: 128 rows x 200 steps, ")
    assert re.search(
        r"2 workers on 1 nodes, each on its CPU, [\d.]+ s: [\d,]+ games/s, [\d,]+ steps/s\n$", done.stdout
    )


def test_the_table(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    whole = te.rollout(te.make("tic_tac_toe"), "uniform", 64, 300)
    rows = [getattr(whole, name).numpy() for name in ("returns", "wins", "episodes")]
    monkeypatch.setattr(
        script, "rollout", lambda env, **options: script.Results(rows[0], rows[1], rows[2], 2.0, 3)
    )
    assert status(script.main, ["--batch", "64", "--steps", "300", "--workers", "5"]) == 0
    lines, games, wins = capsys.readouterr().out.strip().split("\n"), rows[2].sum(), rows[1].sum(0)
    assert lines[0] == f"tic_tac_toe: 64 rows x 300 steps, {games:,} games ended"
    mean = (int(wins[1]) - int(wins[0])) / games
    assert lines[4] == f"| 1 | {wins[1]:,} | {wins[1] / games:.4f} | {mean:+.4f} |"
    assert (
        lines[5] == f"5 workers on 3 nodes, each on its CPU, 2.00 s: {games / 2:,.0f} games/s, 9,600 steps/s"
    )


@pytest.mark.parametrize(
    ("arguments", "output"),
    [
        (["--env", "tic_tac_tow"], "tic_tac_toe"),
        (["--batch", "0"], "--batch: must be in 1..2147483647, got 0"),
        (["--steps", "-1"], "--steps: must be in 1..2147483647, got -1"),
        (["--batch", "4", "--workers", "9"], "workers must be in 1..4, got 9"),
        (["--seed", "-1"], "--seed: must be in 0..18446744073709551615, got -1"),
        (["--address", "nowhere"], "address must be 'auto' or host:port, got 'nowhere'"),
        (["--address", "127.0.0.1:1"], "there is no Ray cluster at address '127.0.0.1:1'"),
    ],
)
def test_wrong_arguments(arguments: list[str], output: str) -> None:
    code, out, errors = run_here(script.main, ["--workers", "1", *arguments])
    assert (code, out) == (2, "") and errors.startswith("ray_rollout.py: error: ")
    assert output in errors and errors.count("\n") == 1


def test_without_ray(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    assert status(script.main, ["--workers", "1"]) == 2
    assert capsys.readouterr().err == (
        "ray_rollout.py: error: Ray is not installed; install it with `pip install 'tensor_envs[ray]'`\n"
    )
