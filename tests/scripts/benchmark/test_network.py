"""scripts/benchmark.py --network compares values and weights with NumPy's before it prints their times."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.scripts.here import SCRIPTS

pytestmark = pytest.mark.cpu


@pytest.mark.slow
@pytest.mark.parametrize("blocks", (0, 1))
def test_rows(blocks: int) -> None:
    few = ["--batch", "5", "--hidden", "8", "--channels", "4", "--steps", "3", "--runs", "1", "--blocks", str(blocks)]
    command = [sys.executable, str(SCRIPTS / "benchmark.py"), "--network", "--env", "tic_tac_toe", *few]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rows = [
        [cell.strip() for cell in line.split("|")[1:-1]] for line in done.stdout.splitlines() if "tic_tac_toe" in line
    ]
    assert [row[2] for row in rows] == ["evaluation", "call", "learning"]
    assert all(float(row[-1]) > 0 for row in rows)
