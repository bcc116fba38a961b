"""scripts/benchmark.py --search prints a row per search, with the time of a process's first search."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.scripts.here import SCRIPTS

pytestmark = pytest.mark.cpu


@pytest.mark.slow
def test_rows() -> None:
    few = ["--batch", "8", "--simulations", "4", "--runs", "1", "--seconds", "0.01", "--hidden", "8"]
    command = [sys.executable, str(SCRIPTS / "benchmark.py"), "--search", "--env", "tic_tac_toe", *few]
    command += ["--evaluation", "playout", "gumbel", "numpy"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rows = [line.split("|")[1:-1] for line in done.stdout.splitlines() if line.startswith("| tic")]
    assert [row[1].strip() for row in rows] == ["playout", "gumbel", "numpy"]
    for *_, rate, first in rows:
        assert int(rate.replace(",", "")) > 1000
        assert 0.05 < float(first) < 60  # includes compilation
