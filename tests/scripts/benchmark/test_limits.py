"""scripts/benchmark/limits: the hand-written C plays the same games bit for bit, on any machine, and is measured."""

from __future__ import annotations

import ctypes
import json
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tensor_envs as te
from benchmark import c_baseline as limits
from tests.scripts.here import SCRIPTS

GAMES = ("tic_tac_toe", "gomoku")
# instruction sets besides the machine's own: without 512-bit vectors, without variable shifts and bit deposit
OLDER = ("-march=x86-64-v3", "-march=x86-64-v2")

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the C is built on Linux alone")


@pytest.mark.slow
@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize(("batch", "seed", "steps"), [(100, 0, 150), (1, 2**40 + 5, 40), (70, 2**64 - 1, 1)])
def test_a_rollout_is_ours(game: str, batch: int, seed: int, steps: int) -> None:
    for flags in ((), *((flag,) for flag in OLDER if platform.machine() == "x86_64")):
        limits.compare(te, limits.FORMS[game](batch, seed, flags), steps)


@pytest.mark.few(1)
@pytest.mark.parametrize("game", GAMES)
def test_single_steps_are_ours(game: str) -> None:
    games, vector = limits.FORMS[game](80, 3), te.VectorEnv(te.make(game), 80, seed=3, device="CPU")
    for _ in range(20):
        games.play(1)
        done, output, state = vector.step_uniform(), games.numpy(), vector.state.numpy()
        assert (output["action"] == done.actions.numpy()).all()
        assert (output["rewards"] == done.rewards.numpy()).all()
        assert (output["terminated"] == done.terminated.numpy()).all()
        assert (output["legal_action_mask"] == state["legal_action_mask"]).all()


@pytest.mark.few(1)
@pytest.mark.parametrize("game", GAMES)
def test_other_games_are_noticed(game: str, monkeypatch: pytest.MonkeyPatch) -> None:
    games = limits.FORMS[game](64, 0)
    begin = games.begin

    def begin_otherwise() -> None:
        begin()
        games.games["key"][0] ^= 1

    monkeypatch.setattr(games, "begin", begin_otherwise)
    with pytest.raises(RuntimeError, match="plays other games"):
        limits.compare(te, games, 30)


def test_a_row_is_the_same_in_any_batch() -> None:
    few, many = limits.TicTacToe(3, 9), limits.TicTacToe(300, 9)
    for games in (few, many):
        games.play(1000)
    for name, rows in few.numpy().items():
        assert np.array_equal(rows, many.numpy()[name][:3]), name


def test_what_cannot_be_built_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="no-such-flag"):
        limits.library("gomoku", "--no-such-flag")
    for game in GAMES:
        assert isinstance(limits.library(game), ctypes.CDLL)


def benchmark(*arguments: str) -> subprocess.CompletedProcess[str]:
    quick = ["--runs", "1", "--seconds", "0.01", "--batch", "100", "--steps", "64", "--device", "CPU"]
    command = [sys.executable, str(SCRIPTS / "benchmark.py"), *quick, "--limits", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


@pytest.mark.slow
def test_benchmark_measures_the_limits(tmp_path: Path) -> None:
    done = benchmark("--mode", "step", "rollout", "--json", str(tmp_path / "out.json"))
    assert done.returncode == 0, done.stderr
    figures = json.loads((tmp_path / "out.json").read_text())
    rows = {(row["system"], row["mode"]): row for row in figures["results"]}
    assert rows.keys() == {(system, mode) for system in ("tensor_envs", "c") for mode in ("step", "rollout")}
    assert all(row["steps_per_second"] > 0 for row in rows.values())
    # a step reads 28 bytes of state and writes 20 of them, 18 of rewards, mask, flags and action; blocks are full
    played, rest = divmod(rows["c", "step"]["bytes_per_step"], 28 + 20 + 18)
    assert rest == 0 and 100 <= played <= 128
    assert [(ratio["peer"], ratio["mode"]) for ratio in figures["ratios"]] == [("c", "step"), ("c", "rollout")]


def test_no_c_of_a_game_is_one_line() -> None:
    done = benchmark("--env", "qubic")
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert "--limits has C for tic_tac_toe, gomoku" in done.stderr.strip().split("\n")[-1]
