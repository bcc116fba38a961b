"""scripts/benchmark.py --training prints positions per second."""

from __future__ import annotations

import re

import pytest

from benchmark import training
from tests.scripts.here import run_here


@pytest.mark.slow
def test_positions() -> None:
    code, out, _ = run_here(training.main, ["--training", "--env", "tic_tac_toe", "--runs", "2"])
    found = re.search(r"tic_tac_toe on CPU: ([\d,]+) positions/s", out)
    assert code == 0 and found is not None and int(found[1].replace(",", "")) > 100
