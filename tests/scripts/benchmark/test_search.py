"""scripts/benchmark.py --search prints a row per search, with the time of a process's first search."""

from __future__ import annotations

import argparse
import subprocess
import sys

import pytest

from benchmark import search
from benchmark.strength import RULES
from tests.scripts.here import SCRIPTS

pytestmark = pytest.mark.cpu


def test_other_programs_do_not_change_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fastest round counts, beside the upper bound of the time."""
    rounds = iter([3e-2, 64 * 32 * 5e-6, 2e-2])  # seconds of a search
    monkeypatch.setattr(search, "own_search", lambda *job: lambda: None)
    monkeypatch.setattr(search, "seconds", lambda *args: next(rounds))
    options = argparse.Namespace(runs=3, seconds=0.1)
    row = search.measured(("chess", "none, muzero", 64, 32, 64), options, 1.0, with_peer=False)
    assert row == ["chess", "none, muzero", "32", "64", "200,000", "5.000 (at most 6)", "1.00"]
    assert next(rounds, None) is None


@pytest.mark.slow
def test_rows() -> None:
    few = ["--batch", "8", "--simulations", "4", "--runs", "1", "--seconds", "0.01", "--hidden", "8"]
    command = [sys.executable, str(SCRIPTS / "benchmark.py"), "--search", "--env", "tic_tac_toe", *few]
    command += ["--evaluation", "playout", "gumbel", "numpy", "none"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rows = [line.split("|")[1:-1] for line in done.stdout.splitlines() if line.startswith("| tic")]
    null_searches = ["none, playout", "none, gumbel", "none, muzero"]
    assert [row[1].strip() for row in rows] == ["playout", "gumbel", "numpy", *null_searches]
    for *_, rate, each, first in rows:
        assert int(rate.replace(",", "")) > 1000
        assert float(each) * int(rate.replace(",", "")) == pytest.approx(1e6, rel=0.05)
        assert 0.05 < float(first) < 60  # includes compilation


@pytest.mark.slow
@pytest.mark.parametrize("game", RULES)
def test_matches_against_open_spiel(game: str) -> None:
    """A match ends with an error where legal actions differ, so that numbers of actions are checked, too."""
    pytest.importorskip("pyspiel")
    options = ["--strength", "--env", game, "--simulations", "8", "--games", "4"]
    done = subprocess.run([sys.executable, str(SCRIPTS / "benchmark.py"), *options], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    rows = [line.split("|")[1:-1] for line in done.stdout.splitlines() if line.startswith(f"| {game}")]
    assert [row[2].strip() for row in rows] == ["0.7", "1.4"]
    for *_, score, ours, theirs in rows:
        assert 0 <= float(score.split()[0]) <= 1 and float(ours) > 0 and float(theirs) > 0
