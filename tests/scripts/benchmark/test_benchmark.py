"""scripts/benchmark.py: table, JSON, errors, and the NumPy games, in tiny batches."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import tensor_envs as te
from benchmark import main as script
from benchmark import numpy_games, peers, report
from benchmark.readers import READERS, reader
from tests.render.test_drawing import SVG
from tests.scripts.here import SCRIPTS, run_here, status

QUICK = ["--runs", "1", "--seconds", "0.01", "--batch", "64", "--steps", "64"]
MODES = ("step", "read", "rollout")
RATE = {"batch", "compile_seconds", "device", "env", "fastest", "games_per_second", "mode", "peak_mib"}
RATE |= {"slowest", "statistics", "steps_per_second", "system", "kernels_per_step", "bytes_per_step"}


def benchmark(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPTS / "benchmark.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


@pytest.mark.slow
def test_table_and_json(tmp_path: Path) -> None:
    files = ["--json", str(tmp_path / "out.json"), "--markdown", str(tmp_path / "out.md")]
    done = benchmark(*QUICK, "--mode", *MODES, "--device", "CPU", "NOWHERE", *files)
    assert done.returncode == 0, done.stderr
    figures = json.loads((tmp_path / "out.json").read_text())
    assert {"command", "commit", "compiler", "date", "machine", "versions", "results", "ratios"} <= figures.keys()
    step, read, rollout, *missing = figures["results"]
    assert step.keys() >= RATE and read.keys() >= RATE and rollout.keys() >= RATE
    assert step["kernels_per_step"] == 1 and step["bytes_per_step"] > 0 and step["steps_per_second"] > 0
    # a step's own kernel writes observation and mask: 18 and 9 bytes per game
    assert read["kernels_per_step"] == 1 and read["bytes_per_step"] - step["bytes_per_step"] >= 64 * 27
    assert rollout["kernels_per_step"] < 1
    text = (tmp_path / "out.md").read_text()
    assert text in done.stdout
    assert "| tic_tac_toe | 64 | CPU | 1 | tensor_envs | step |" in text and "rollout 64" in text
    # a missing device is a row with the reason
    assert [(row["device"], row["mode"]) for row in missing] == [("NOWHERE", m) for m in MODES]
    said = "| tic_tac_toe | 64 | NOWHERE | 1 | tensor_envs | step | device 'NOWHERE' cannot be opened here: "
    assert said in text


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("arguments", "output"),
    [
        (["--env", "tic_tac_tow"], "tic_tac_toe"),
        (["--batch", "0"], "must be at least 1"),
        (["--mode", "fly"], "fly"),
        (["--seconds", "-1"], "must be above 0"),
        (["--core", "4711"], "--core must be one of"),
        (["--json", "/no/such/folder/out.json"], "/no/such/folder is no directory to write out.json to"),
        ([*QUICK, "--mode", "step", "--device", "NOWHERE"], "NOWHERE"),
    ],
)
def test_bad_arguments_are_one_line(arguments: list[str], output: str) -> None:
    code, out, errors = run_here(script.main, arguments)
    assert (code, out) == (2, "") and errors.startswith("python scripts/benchmark.py: error: ")
    assert output in errors and errors.count("\n") == 1


@pytest.mark.slow
def test_wrong_statistics_are_refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(script.FACTS["tic_tac_toe"], "first_wins", (0.5, 0))
    assert status(script.main, [*QUICK, "--mode", "step"]) == 1
    out = capsys.readouterr()
    assert "first_wins" in out.err and out.out == ""


def test_peers_that_are_not_there_are_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    games = ("tic_tac_toe",)
    monkeypatch.setattr(script, "NAMES", {("numpy_bitboards", "tic_tac_toe"): "noughts"})
    absent = ("no_such_module", ("step", "rollout"), games)
    found = {"pgx": absent, "numpy_bitboards": ("numpy", ("step",), games)}
    monkeypatch.setattr(script, "PEERS", found)
    options = script.make_parser().parse_args(["--mode", "step", "--peers"])
    _, pgx, numpy = script.jobs(options, "tic_tac_toe", 64, "CPU")
    assert "error" not in numpy and (numpy["system"], numpy["game"]) == ("numpy_bitboards", "noughts")
    assert [job["system"] for job in script.jobs(options, "qubic", 64, "CPU")] == ["tensor_envs"]
    row = script.Worker(pgx, "").row()
    assert (row["system"], row["mode"], row["error"]) == ("pgx", "step", "no_such_module is not installed")


def test_readers_are_compared_with_a_step_that_observes() -> None:
    options = script.make_parser().parse_args(["--mode", "read", "--readers", "numpy"])
    own, numpy = script.jobs(options, "tic_tac_toe", 64, "CPU")
    assert (own["system"], own["mode"], numpy["system"], numpy["mode"]) == ("tensor_envs", "read", "numpy", "read")
    workers = [script.Worker({**job, "error": "not started"}, "") for job in (own, numpy)]
    workers[0].rates, workers[1].rates = [6.0, 8.0, 9.0], [3.0, 2.0, 3.0]
    (ratio,) = script.compare(workers)
    assert (ratio["peer"], ratio["ratio"], ratio["lowest"], ratio["highest"]) == ("numpy", 3, 2, 4)


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "name", ["numpy", *(pytest.param(name, marks=pytest.mark.extra(m)) for name, m in READERS.items() if m != "numpy")]
)
def test_a_reader_plays(name: str) -> None:
    job = {"env": "tic_tac_toe", "batch": 8, "device": "CPU", "system": name, "episodes": 64}
    runner = reader(te, job)
    for _ in range(3):
        runner.play()
    assert runner.steps == 8 and runner.episode_stats().summary()["unfinished"] == 0


@pytest.mark.extra("envpool")
def test_envpool_plays_in_the_form_that_is_fastest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers.EnvPool, "SECONDS", 0.01)
    job = {"game": "TicTacToe-v1", "batch": 300, "threads": 2, "episodes": 16384}
    player = peers.EnvPool(importlib.import_module("envpool"), job)
    forms = [(256, 256, 1), (256, 256, 2), (256, 128, 1), (256, 128, 2)]
    forms += [(300, 300, 1), (300, 300, 2), (300, 150, 1), (300, 150, 2)]
    assert player._forms(300, 2) == forms and player.form in forms and player.steps == player.form[1]
    for _ in range(20):
        player.play()
    games, call, threads = player.form
    assert player.metadata() == {"configuration": f"{games} games, {call} a call, threads: {threads}"}
    script.check_statistics("tic_tac_toe", player.episode_stats().summary())


@pytest.mark.extra("envpool")
@pytest.mark.few("TicTacToe-v1", "KuhnPoker-v1", "LeducHoldem-v1", "Play2048-v1", "Backgammon-v1")
@pytest.mark.parametrize("name", [name for peer, name in script.NAMES.items() if peer[0] == "envpool"])
def test_envpool_plays_the_standard_games_to_their_ends(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(peers.EnvPool, "SECONDS", 0)
    job = {"game": name, "batch": 8, "threads": 1, "episodes": 8}
    player = peers.EnvPool(importlib.import_module("envpool"), job)
    player.play()
    assert player.episode_stats().summary()["unfinished"] == 0


def metadata_and_rows() -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return results of three systems at two batch sizes."""
    metadata = dict.fromkeys(("command", "commit", "date", "machine", "compiler", "runs"), "")
    row = dict.fromkeys((*RATE, "state_bytes_per_game"), 1.0) | {"threads": 1, "env": "go", "mode": "step"}
    row |= {"device": "CPU"}
    rates = {"tensor_envs": (1e6, 1e8), "envpool": (2e5, 1e5), "numpy_bitboards": (1e5, 1.1e5)}
    rows = [
        row | {"system": system, "batch": batch, "steps_per_second": rate, "configuration": "64 games"}
        for system, found in rates.items()
        for batch, rate in zip((64, 4096), found, strict=True)
    ]
    return metadata | {"versions": {}, "seconds_a_run": 1, "pinned_to_core": 1}, rows


def test_the_table_says_how_a_peer_was_configured() -> None:
    text = report.markdown(*metadata_and_rows(), [])
    assert "| go | 64 | CPU | 1 | envpool (64 games) | step | 0.20 |" in text


def test_a_picture_has_a_line_for_everybody(tmp_path: Path) -> None:
    metadata, rows = metadata_and_rows()
    report.plot(tmp_path / "new", metadata, [*rows, rows[0] | {"system": "c", "error": "no C"}])
    svg = ElementTree.parse(tmp_path / "new" / "throughput_go.svg")
    points = [
        [tuple(map(float, point.split(","))) for point in e.attrib["points"].split()]
        for e in svg.iter(f"{SVG}polyline")
    ]
    # the axes: 10^5 to 10^8 steps per second, 64 and 4,096 games
    grid, drawn = points[:4], points[4:]
    assert [y for ((_, y), _) in grid] == [360, 260, 160, 60]
    assert drawn[0] == [(60, 260), (520, 60)] and drawn[2] == [(60, 329.9), (520, 360)]
    texts = {e.text: float(e.attrib["y"]) for e in svg.iter(f"{SVG}text")}
    # in the order of their last values
    names = [f"{system}, step" for system in ("tensor_envs", "numpy_bitboards", "envpool")]
    assert [name for name in texts if name in names] == names and "go: steps a second on one core" in texts
    assert texts[names[2]] - texts[names[1]] >= 12  # no overlap


@pytest.mark.parametrize("form", ["BitBoards", "PositionTable"])
def test_numpy_plays_by_the_rules(form: str) -> None:
    games = 20_000
    player: Any = getattr(numpy_games, form)(games)
    boards = np.zeros((games, 9), dtype=np.int8)
    mover = np.ones(games, dtype=np.int8)
    free, rows = np.full(games, 0b111_111_111), np.arange(games)
    lines = [[c for c in range(9) if line >> c & 1] for line in numpy_games.LINES]
    for _ in range(12):
        player.play()
        # the move is the lost free cell; a reset hides the last move
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
    script.check_statistics("tic_tac_toe", player.episode_stats().summary())
