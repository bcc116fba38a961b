"""scripts/benchmark.py: its table and JSON, what it refuses, and its own NumPy games, in tiny batches."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"
QUICK = ["--runs", "1", "--seconds", "0.01", "--batch", "64", "--steps", "64"]
RATE = {"batch", "compile_seconds", "device", "env", "fastest", "games_per_second", "mode", "peak_mib"}
RATE |= {"slowest", "statistics", "steps_per_second", "system", "kernels_per_step", "bytes_per_step"}


def benchmark(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPTS / "benchmark.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def module(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    return importlib.import_module(name)


def test_table_and_json(tmp_path: Path) -> None:
    files = ["--json", str(tmp_path / "out.json"), "--markdown", str(tmp_path / "out.md")]
    done = benchmark(*QUICK, "--mode", "step", "rollout", "--device", "CPU", *files)
    assert done.returncode == 0, done.stderr
    figures = json.loads((tmp_path / "out.json").read_text())
    assert {"command", "compiler", "date", "machine", "versions", "results", "ratios"} <= figures.keys()
    step, rollout = figures["results"]
    assert step.keys() >= RATE and rollout.keys() >= RATE
    assert step["kernels_per_step"] == 1 and step["bytes_per_step"] > 0 and step["steps_per_second"] > 0
    assert rollout["kernels_per_step"] < 1
    text = (tmp_path / "out.md").read_text()
    assert text in done.stdout
    assert "| tic_tac_toe | 64 | CPU | tensor_envs | step |" in text and "rollout 64" in text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--env", "tic_tac_tow"], "tic_tac_toe"),
        (["--batch", "0"], "must be at least 1"),
        (["--mode", "fly"], "fly"),
        (["--seconds", "-1"], "must be above 0"),
        (["--core", "4711"], "--core must be one of"),
        (["--json", "/no/such/folder/out.json"], "there is no folder"),
        ([*QUICK, "--mode", "step", "--device", "NOWHERE"], "NOWHERE"),
    ],
)
def test_bad_arguments_are_one_line(arguments: list[str], said: str) -> None:
    done = benchmark(*arguments)
    assert done.returncode == 2
    assert said in done.stderr.strip().split("\n")[-1]
    assert "Traceback" not in done.stderr and done.stdout == ""


def test_wrong_statistics_are_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = module("benchmark", monkeypatch)
    monkeypatch.setitem(script.FACTS["tic_tac_toe"], "first_wins", (0.5, 0))
    with pytest.raises(SystemExit) as exit_:
        script.main([*QUICK, "--mode", "step"])
    out = capsys.readouterr()
    assert exit_.value.code == 1 and "first_wins" in out.err and out.out == ""


@pytest.mark.parametrize("form", ["BitBoards", "Positions"])
def test_numpy_plays_by_the_rules(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    players, games = module("benchmark_numpy", monkeypatch), 20_000
    player: Any = getattr(players, form)(games)
    boards = np.zeros((games, 9), dtype=np.int8)
    mover = np.ones(games, dtype=np.int8)
    free, rows = np.full(games, 0b111_111_111), np.arange(games)
    lines = [[c for c in range(9) if line >> c & 1] for line in players.LINES]
    for _ in range(12):
        player.play()
        # what a game that goes on has lost of its free cells is the move; one that starts again hides its last one
        going = ~player.ended
        cell = np.log2(np.where(going, free & ~player.mask.astype(int), 1)).astype(int)
        assert ((1 << cell) & free)[going].all()
        boards[rows[going], cell[going]] = mover[going]
        won = np.any([(boards[:, line] == mover[:, None]).all(1) for line in lines], axis=0)
        assert not (won & going).any() and (player.rewards[going] == 0).all()
        assert set(map(tuple, player.rewards[player.ended])) <= {(0, 0), (1, -1), (-1, 1)}
        wins = player.ended & (player.rewards[:, 0] != 0)
        assert (player.rewards[wins, 0] == mover[wins]).all()
        boards[player.ended], mover = 0, np.where(player.ended, 1, -mover).astype(np.int8)
        free = player.mask.astype(int)
        assert (free[player.ended] == 0b111_111_111).all()
    module("benchmark", monkeypatch).check_statistics("tic_tac_toe", player.tally().summary())
